/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's own signs: memory, load, the kernel's log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/doctor/observations.h"
#include "base/text.h"
#include "knowledge/nccl_vars.h"

enum { SMALL_FILE = 64 << 10 };

static struct fact_int sign_int(long long v, const char *from)
{
	return (struct fact_int){ .f = { .seen = SEEN_OK, .dir = "", .leaf = from }, .v = v };
}

static struct fact_str sign_text(const char *v, const char *from)
{
	return (struct fact_str){ .f = { .seen = SEEN_OK, .dir = "", .leaf = from }, .v = v };
}

static struct fact_int sign_unseen(int r, const char *from)
{
	return (struct fact_int){
		.f = { .seen = seen_from_errno(r), .err = -r, .dir = "", .leaf = from }
	};
}

/* The whole file as a number. from: path. */
static struct fact_int sign_file(struct arena *a, struct host *h, const char *path)
{
	char line[64];
	long long v;
	int r = host_read_line(h, path, line, sizeof(line));

	path = arena_strdup(a, path);
	if (r == 0 && parse_i64(line, &v))
		r = -EPROTO;
	return r ? sign_unseen(r, path) : sign_int(v, path);
}

/* "key value" on a line of its own. */
static struct fact_int of_lines(const char *text, int r, const char *key, const char *from)
{
	size_t n = strlen(key);

	for (const char *at = text; r == 0 && at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, n) == 0 && at[n] == ' ')
			return sign_int(strtoll(at + n, NULL, 10), from);
	}
	return sign_unseen(r ? r : -ENOENT, from);
}

static void read_vmstat(struct arena *a, struct host *h, struct observations *s)
{
	static const char path[] = "/proc/vmstat";
	char *text = NULL;
	int r = host_read(h, path, SMALL_FILE, a, &text, NULL);

	s->swapped_in = of_lines(text, r, "pswpin", path);
	s->swapped_out = of_lines(text, r, "pswpout", path);
	s->compaction_stalls = of_lines(text, r, "compact_stall", path);
	s->thp_fallback = of_lines(text, r, "thp_fault_fallback", path);
	s->numa_moved = of_lines(text, r, "numa_pages_migrated", path);
}

/* "some avg10=1.25 ...": hundredths of a per cent. */
static struct fact_int pressure(struct host *h, const char *path)
{
	char line[160];
	const char *at;
	int r = host_read_line(h, path, line, sizeof(line));
	unsigned whole, part;

	if (r)
		return sign_unseen(r, path);
	at = strstr(line, "some avg10=");
	if (!at || sscanf(at, "some avg10=%3u.%2u", &whole, &part) != 2)
		return sign_unseen(-EPROTO, path);
	return sign_int(100LL * whole + part, path);
}

static struct fact_int observations_load(struct host *h)
{
	static const char path[] = "/proc/loadavg";
	char line[128];
	unsigned whole, part;
	int r = host_read_line(h, path, line, sizeof(line));

	if (r == 0 && sscanf(line, "%6u.%2u", &whole, &part) != 2)
		r = -EPROTO;
	return r ? sign_unseen(r, path) : sign_int(100LL * whole + part, path);
}

/* How many names of a folder begin so. */
static struct fact_int observations_names(struct arena *a, struct host *h, const char *path,
					  const char *begin)
{
	long long count = 0;
	char **list;
	size_t n;
	int r = host_list(h, path, a, &list, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		count += str_starts(list[i], begin);
	return r ? sign_unseen(r, path) : sign_int(count, path);
}

/* 1 or 0; not known where a capture was never asked. */
static struct fact_int observations_there(struct host *h, const char *path)
{
	enum host_kind kind;
	int r = host_kind(h, path, &kind);

	if (r && r != -ENOENT && r != -ENOTDIR)
		return sign_unseen(r, path);
	return sign_int(r == 0, path);
}

static void observations_read_log(struct host *h, struct observations *s)
{
	const struct {
		struct fact_int *to;
		const char *field;
	} rows[] = {
		{ &s->log_no_memory, "lines(NV_ERR_NO_MEMORY)" },
		{ &s->log_xid, "lines(NVRM: Xid)" },
		{ &s->log_nic_wedged, "lines(irisc not responding)" },
		{ &s->log_nic_health, "lines(assert_var)" },
		{ &s->log_doe, "lines(DOE:)" },
		{ &s->log_aer, "lines(PCIe Bus Error)" },
		{ &s->log_oom, "lines(Out of memory: Killed)" },
		{ &s->log_throttled, "lines(clock throttled)" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		long long v;
		int r = host_ask_int(h, "kernel-log", "", rows[i].field, &v);

		*rows[i].to = r ? sign_unseen(r, rows[i].field) : sign_int(v, rows[i].field);
	}
}

static void read_home(struct arena *a, struct host *h, struct observations *s)
{
	struct answer home;
	int r = host_ask(h, "env", "", "HOME", &home);

	if (r == 0 && (home.kind != ANSWER_TEXT || home.text[0] != '/'))
		r = -EPROTO;
	s->ssh_folder = r ? sign_unseen(r, "HOME")
			  : observations_there(h, arena_printf(a, "%s/.ssh", home.text));
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release ...": the first
 * word of two points. */
static struct fact_str module_version(struct arena *a, struct host *h)
{
	static const char path[] = "/proc/driver/nvidia/version";
	char line[512], *save = NULL;
	int r = host_read_line(h, path, line, sizeof(line));

	if (r == 0) {
		line[strcspn(line, "\n")] = '\0';
		for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save))
			if (*w >= '0' && *w <= '9' && strchr(w, '.'))
				return sign_text(arena_strdup(a, w), path);
		r = -EPROTO;
	}
	return (struct fact_str){
		.f = { .seen = seen_from_errno(r), .err = -r, .dir = "", .leaf = path }
	};
}

/* Counters of interfaces and RDMA ports, and what decides which interface answers. */

static struct fact_int at(struct arena *a, struct host *h, const char *folder, const char *leaf)
{
	return sign_file(a, h, arena_printf(a, "%s/%s", folder, leaf));
}

static void observations_read_port(struct arena *a, struct host *h, const struct rdma_port *p,
				   struct observed_port *s)
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
static struct fact_int observations_power_save(struct arena *a, struct host *h)
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

static void read_link(struct arena *a, struct host *h, const struct nic *n, struct observed_link *s)
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
		s->wifi_power_save = observations_power_save(a, h);
}

static void observations_read_links(struct arena *a, struct host *h, const struct machine *m,
				    struct observations *out)
{
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		observations_read_port(a, h, p,
				       list_add(a, &out->ports, sizeof(struct observed_port)));
	LIST_FOR_EACH (struct nic, n, &m->net.nics)
		if (!fact_is(&n->type, "loopback"))
			read_link(a, h, n, list_add(a, &out->links, sizeof(struct observed_link)));
}

/*
 * What programs are told: NCCL's files, this shell, and the processes that use GPUs. Of
 * environments only the names that the table of variables watches are kept; they may hold secrets.
 */

enum { ENVIRON_MAX = 1 << 20, CONF_MAX = 1 << 16, MAPS_MAX = 8 << 20, PROCESSES_MAX = 32 };

static void add(struct arena *a, struct observations *s, const char *name, const char *value,
		size_t n, const char *origin)
{
	struct observed_var *v = list_add(a, &s->vars, sizeof(*v));

	v->name = name;
	v->value = sign_text(arena_strndup(a, value, n), origin);
	v->origin = sign_text(origin, origin);
}

/* "NAME=value" when NAME is one of ours, or (prefix) any of NCCL's, which its files may hold. */
static void observations_add_line(struct arena *a, struct observations *s, const char *line,
				  size_t n, bool all_nccl, const char *origin)
{
	const char *is = memchr(line, '=', n);
	size_t len, len_value;
	const char *name = is ? str_trim(line, (size_t)(is - line), &len) : NULL;
	const char *value = is ? str_trim(is + 1, n - (size_t)(is + 1 - line), &len_value) : NULL;

	if (!name || !len || *name == '#')
		return;
	for (size_t i = 0; i < n_known_vars; i++)
		if ((known_vars[i].flags & VAR_WATCHED) && strlen(known_vars[i].name) == len &&
		    strncmp(known_vars[i].name, name, len) == 0) {
			add(a, s, known_vars[i].name, value, len_value, origin);
			return;
		}
	if (all_nccl && len > 5 && strncmp(name, "NCCL_", 5) == 0)
		add(a, s, arena_strndup(a, name, len), value, len_value, origin);
}

static void read_conf(struct arena *a, struct host *h, struct observations *s, const char *path)
{
	char *text, *line;

	if (host_read(h, path, CONF_MAX, a, &text, NULL))
		return;
	while ((line = strsep(&text, "\n")) != NULL)
		observations_add_line(a, s, line, strlen(line), true, path);
}

static void read_environ(struct arena *a, struct host *h, struct observations *s, const char *path,
			 const char *origin)
{
	char *text;
	size_t len;

	if (host_read(h, path, ENVIRON_MAX, a, &text, &len))
		return;
	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		observations_add_line(a, s, text + at, strlen(text + at), false, origin);
}

/* The path at the end of the first line that names NCCL's library. */
static struct fact_str loaded_nccl(struct arena *a, struct host *h, const char *path)
{
	char *text, *at;
	int r = host_read(h, path, MAPS_MAX, a, &text, NULL);

	if (r == 0) {
		at = strstr(text, "libnccl.so");
		if (at) {
			char *begin = at;

			while (begin > text && begin[-1] != ' ' && begin[-1] != '\n')
				begin--;
			return sign_text(arena_strndup(a, begin, strcspn(begin, "\n")), path);
		}
		r = -ENOENT;
	}
	return (struct fact_str){
		.f = { .seen = seen_from_errno(r), .err = -r, .dir = "", .leaf = path }
	};
}

static struct fact_int memlock_of(struct arena *a, struct host *h, const char *path)
{
	static const char key[] = "Max locked memory";
	char *text, *at;
	int r = host_read(h, path, CONF_MAX, a, &text, NULL);

	if (r == 0) {
		at = strstr(text, key);
		if (at) {
			at += sizeof(key) - 1;
			at += strspn(at, " ");
			return sign_int(str_starts(at, "unlimited") ? -1 : strtoll(at, NULL, 10),
					path);
		}
		r = -EPROTO;
	}
	return sign_unseen(r, path);
}

static struct fact_set cpus_of(struct arena *a, struct host *h, const char *path)
{
	struct fact_set out = { .f = { .seen = SEEN_OK, .dir = "", .leaf = path } };
	char *text, *cpus;
	int r = host_read(h, path, CONF_MAX, a, &text, NULL);

	cpus = r ? NULL : str_value(a, text, "Cpus_allowed_list", ':');
	if (r == 0)
		r = cpus ? idset_parse(a, cpus, &out.v) : -EPROTO;
	if (r)
		out.f = sign_unseen(r, path).f;
	return out;
}

/* By IPv4 or IPv6. */
static struct fact_set listening(struct arena *a, struct host *h)
{
	enum { LISTEN = 10 };
	static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	struct fact_set out = { .f = { .seen = SEEN_OK, .dir = "", .leaf = tables[0] } };
	unsigned port, state;
	char *text, *line;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		int r = host_read(h, tables[i], MAPS_MAX, a, &text, NULL);

		if (r && i == 0)
			out.f = sign_unseen(r, tables[0]).f;
		while (r == 0 && (line = strsep(&text, "\n")))
			if (sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &port, &state) ==
				    2 &&
			    state == LISTEN)
				idset_add(a, &out.v, port);
	}
	return out;
}

static void read_process(struct arena *a, struct host *h, struct observations *s,
			 const struct gpu_process *p)
{
	const char *base = arena_printf(a, "/proc/%u", p->index);
	struct observed_process *out;

	LIST_FOR_EACH (struct observed_process, known, &s->processes)
		if (known->index == p->index)
			return;
	out = list_add(a, &s->processes, sizeof(*out));
	out->index = p->index;
	out->command = p->command;
	out->nccl = loaded_nccl(a, h, arena_printf(a, "%s/maps", base));
	out->memlock = memlock_of(a, h, arena_printf(a, "%s/limits", base));
	out->cpus = cpus_of(a, h, arena_printf(a, "%s/status", base));
	read_environ(
		a, h, s, arena_printf(a, "%s/environ", base),
		arena_printf(a, "process %u (%s)", p->index, fact_text(&p->command, "unnamed")));
	read_conf(a, h, s, arena_printf(a, "%s/root/etc/nccl.conf", base));
}

static void observations_read_vars(struct arena *a, struct host *h, const struct machine *m,
				   struct observations *out)
{
	struct answer v;

	if (host_ask(h, "env", "", "HOME", &v) == 0 && v.kind == ANSWER_TEXT && v.text[0] == '/')
		read_conf(a, h, out, arena_printf(a, "%s/.nccl.conf", v.text));
	for (size_t i = 0; i < n_known_vars; i++) {
		const char *name = known_vars[i].name;

		if ((known_vars[i].flags & VAR_WATCHED) && host_ask(h, "env", "", name, &v) == 0 &&
		    v.kind == ANSWER_TEXT)
			add(a, out, name, v.text, strlen(v.text), "this shell");
	}
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		LIST_FOR_EACH (struct gpu_process, p, &g->processes)
			if (out->processes.n < PROCESSES_MAX)
				read_process(a, h, out, p);
}

void observations_read_machine(struct arena *a, struct host *h, const struct machine *m,
			       struct observations *out)
{
	*out = (struct observations){ 0 };
	out->ksm_run = sign_file(a, h, "/sys/kernel/mm/ksm/run");
	out->ksm_sharing = sign_file(a, h, "/sys/kernel/mm/ksm/pages_sharing");
	read_vmstat(a, h, out);
	out->pressure_memory = pressure(h, "/proc/pressure/memory");
	out->pressure_cpu = pressure(h, "/proc/pressure/cpu");
	out->load = observations_load(h);
	out->rdma_devices = observations_names(a, h, "/dev/infiniband", "uverbs");
	out->ip_forward = sign_file(a, h, "/proc/sys/net/ipv4/ip_forward");
	out->crash_dumps = observations_names(a, h, "/sys/fs/pstore", "");
	out->avahi = observations_there(h, "/run/avahi-daemon/pid");
	out->module = module_version(a, h);
	observations_read_log(h, out);
	read_conf(a, h, out, "/etc/nccl.conf");
	observations_read_links(a, h, m, out);
}

void observations_read(struct arena *a, struct host *h, const struct machine *m, bool listens,
		       struct observations *out)
{
	observations_read_machine(a, h, m, out);
	read_home(a, h, out);
	out->listens = listens ? listening(a, h) : out->listens;
	observations_read_vars(a, h, m, out);
}

/* The tables behind measure/doctor/observations.h. */

/* clang-format off */
static const struct shape observed_var_shape = SHAPE_OF(observed_var, observed_var,
	FACT_NAME(observed_var, name, "Variable"),
	FACT(observed_var, value, "Value", NULL),
	FACT(observed_var, origin, "Set in", NULL));

static const struct shape observed_process_shape = SHAPE_OF(observed_process, observed_process,
	{ "pid", NULL, "Process", NULL, SHAPE_COUNT(observed_process, index) },
	FACT(observed_process, command, "Command", NULL),
	FACT(observed_process, nccl, "NCCL in use", NULL),
	{ "memlock_bytes", NULL, "Locked memory", "bytes", SHAPE_FACT(observed_process, memlock) },
	FACT(observed_process, cpus, "May run on CPUs", NULL));

const struct shape observed_port_shape = SHAPE_OF(observed_port, observed_port,
	FACT_NAME(observed_port, name, "Port"),
	FACT(observed_port, retransmits, "Adaptive retransmits", NULL),
	FACT(observed_port, sequence_errors, "Sequence errors", NULL),
	FACT(observed_port, timeouts, "Acknowledge timeouts", NULL),
	FACT(observed_port, rnr_retries, "Receiver not ready", NULL),
	FACT(observed_port, congestion_marks, "Congestion marks", NULL),
	FACT(observed_port, out_of_sequence, "Out of sequence", NULL),
	FACT(observed_port, symbol_errors, "Symbol errors", NULL),
	FACT(observed_port, link_downed, "Link-down count", NULL),
	FACT(observed_port, receive_errors, "Receive errors", NULL),
	{ "sent_words", NULL, "Sent", "4-byte words", SHAPE_FACT(observed_port, sent) },
	{ "received_words", NULL, "Received", "4-byte words", SHAPE_FACT(observed_port, received) });

const struct shape observed_link_shape = SHAPE_OF(observed_link, observed_link,
	FACT_NAME(observed_link, name, "Interface"),
	FACT(observed_link, receive_errors, "Receive errors", NULL),
	FACT(observed_link, crc_errors, "CRC errors", NULL),
	FACT(observed_link, missed, "Missed", NULL),
	FACT(observed_link, dropped, "Dropped", NULL),
	FACT(observed_link, arp_ignore, "arp_ignore", NULL),
	FACT(observed_link, arp_announce, "arp_announce", NULL),
	FACT(observed_link, rp_filter, "rp_filter", NULL),
	FACT(observed_link, wifi_power_save, "Wi-Fi power save", NULL));

const struct shape observations_shape = SHAPE_OF(observations, observations,
	FACT(observations, ksm_run, "KSM", NULL),
	{ "ksm_sharing_pages", NULL, "KSM shares", "pages", SHAPE_FACT(observations, ksm_sharing) },
	{ "swapped_in_pages", NULL, "Swapped in", "pages", SHAPE_FACT(observations, swapped_in) },
	{ "swapped_out_pages", NULL, "Swapped out", "pages",
	  SHAPE_FACT(observations, swapped_out) },
	FACT(observations, compaction_stalls, "Compaction stalls", NULL),
	FACT(observations, thp_fallback, "Failed huge-page faults", NULL),
	{ "numa_moved_pages", NULL, "Pages moved between nodes", "pages",
	  SHAPE_FACT(observations, numa_moved) },
	FACT(observations, pressure_memory, "Memory pressure", "1/100 %"),
	FACT(observations, pressure_cpu, "CPU pressure", "1/100 %"),
	FACT(observations, load, "Load", "1/100"),
	FACT(observations, rdma_devices, "RDMA device files", NULL),
	FACT(observations, ip_forward, "Forwarding", NULL),
	FACT(observations, crash_dumps, "Crash records", NULL),
	FACT(observations, ssh_folder, "~/.ssh", NULL),
	FACT(observations, avahi, "Discovery daemon", NULL),
	FACT(observations, log_no_memory, "Log: driver out of memory", "lines"),
	FACT(observations, log_xid, "Log: Xid", "lines"),
	FACT(observations, log_nic_wedged, "Log: NIC firmware", "lines"),
	FACT(observations, log_nic_health, "Log: NIC health", "lines"),
	FACT(observations, log_doe, "Log: PCI DOE", "lines"),
	FACT(observations, log_aer, "Log: PCI errors", "lines"),
	FACT(observations, log_oom, "Log: killed for memory", "lines"),
	FACT(observations, log_throttled, "Log: CPU thermal throttling", "lines"),
	FACT(observations, module, "Loaded nvidia module", NULL),
	FACT(observations, listens, "Listening TCP ports", NULL),
	FACT_LIST(observations, vars, "Variables", observed_var),
	FACT_LIST(observations, processes, "Processes", observed_process),
	FACT_LIST(observations, ports, "RDMA counters", observed_port),
	FACT_LIST(observations, links, "Interface counters", observed_link));
/* clang-format on */
