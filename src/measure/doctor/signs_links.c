/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of interfaces and RDMA ports, and what decides which interface answers. */
#include "measure/doctor/signs.h"

#include <string.h>

#include "base/text.h"

static struct fact_int at(struct arena *a, struct host *h, const char *folder, const char *leaf)
{
	return sign_file(a, h, arena_printf(a, "%s/%s", folder, leaf));
}

static void read_port(struct arena *a, struct host *h, const struct rdma_port *p,
		      struct sign_port *s)
{
	const char *base = arena_printf(a, "/sys/class/infiniband/%s/ports/%u", p->device,
					p->number),
		   *hw = arena_printf(a, "%s/hw_counters", base),
		   *basic = arena_printf(a, "%s/counters", base);

	s->name = p->name;
	s->retransmits = at(a, h, hw, "roce_adp_retrans");
	s->sequence_errors = at(a, h, hw, "packet_seq_err");
	s->timeouts = at(a, h, hw, "local_ack_timeout_err");
	s->rnr_retries = at(a, h, hw, "rnr_nak_retry_err");
	s->congestion_marks = at(a, h, hw, "np_ecn_marked_roce_packets");
	s->out_of_sequence = at(a, h, hw, "out_of_sequence");
	s->symbol_errors = at(a, h, basic, "symbol_error");
	s->link_downed = at(a, h, basic, "link_downed");
	s->receive_errors = at(a, h, basic, "port_rcv_errors");
	s->sent = at(a, h, basic, "port_xmit_data");
	s->received = at(a, h, basic, "port_rcv_data");
}

/* The last file that says it stands; NetworkManager reads them in the order of their names. */
static struct fact_int power_save(struct arena *a, struct host *h)
{
	static const char folder[] = "/etc/NetworkManager/conf.d", key[] = "wifi.powersave";
	struct fact_int out = sign_unseen(-ENOENT, folder);
	char **list;
	size_t n;
	int r = host_list(h, folder, a, &list, &n);

	if (r)
		return sign_unseen(r, folder);
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(a, "%s/%s", folder, list[i]);
		char *text, *line;

		if (!str_ends(list[i], ".conf") || host_read(h, path, 1 << 16, a, &text, NULL))
			continue;
		for (; (line = strsep(&text, "\n")) != NULL;) {
			const char *is = strchr(line, '=');
			long long v;
			size_t len;
			const char *word = is ? str_trim(line, (size_t)(is - line), &len) : NULL;

			if (word && len == sizeof(key) - 1 && strncmp(word, key, len) == 0 &&
			    parse_i64(is + 1, &v) == 0)
				out = sign_int(v, path);
		}
	}
	return out;
}

static void read_link(struct arena *a, struct host *h, const struct nic *n, struct sign_link *s)
{
	const char *base = arena_printf(a, "/sys/class/net/%s/statistics", n->name),
		   *conf = arena_printf(a, "/proc/sys/net/ipv4/conf/%s", n->name);

	s->name = n->name;
	s->receive_errors = at(a, h, base, "rx_errors");
	s->crc_errors = at(a, h, base, "rx_crc_errors");
	s->missed = at(a, h, base, "rx_missed_errors");
	s->dropped = at(a, h, base, "rx_dropped");
	s->arp_ignore = at(a, h, conf, "arp_ignore");
	s->arp_announce = at(a, h, conf, "arp_announce");
	s->rp_filter = at(a, h, conf, "rp_filter");
	if (fact_or(&n->wireless, 0))
		s->wifi_power_save = power_save(a, h);
}

void signs_read_links(struct arena *a, struct host *h, const struct machine *m, struct signs *out)
{
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		read_port(a, h, p, list_add(a, &out->ports, sizeof(struct sign_port)));
	LIST_FOR_EACH (struct nic, n, &m->net.nics)
		if (!fact_is(&n->type, "loopback"))
			read_link(a, h, n, list_add(a, &out->links, sizeof(struct sign_link)));
}
