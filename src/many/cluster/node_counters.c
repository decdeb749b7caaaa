/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "counters": {"ports": [{"port": TEXT, "device": TEXT, "number": N}...]} reads what these ports
 * count of errors: the interface's own (/proc/net/dev), its driver's (ethtool) and the RDMA port's,
 * where there is one. All are totals since some time; only what grows tells. The answer:
 * {"counters": [{"port", "name", "value"}...]}.
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "many/cluster/node.h"
#include "many/cluster/node_measure.h"

enum { DRIVER_COUNTERS_MAX = 32768 };

/* Words in the names of counters that tell of something going wrong. */
static bool tells(const char *name)
{
	static const char *const words[] = { "err",	 "drop",       "discard",     "crc",
					     "symbol",	 "timeout",    "out_of_buff", "link_down",
					     "retrans",	 "out_of_seq", "_cnp_",	      "pause",
					     "recovery", "integrity",  "overrun",     "rnr_" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

static void add(json_t *list, const char *port, const char *name, unsigned long long value)
{
	if (json_array_size(list) < MEASURE_COUNTERS_MAX)
		json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "port", port, "name", name,
						      "value", (json_int_t)(value & INT64_MAX)));
}

/* Received: bytes packets errs drop fifo frame compressed multicast; sent: bytes packets errs drop
 * fifo colls carrier compressed. */
static void from_interface(const char *port, json_t *list)
{
	static const char *const names[16] = {
		[2] = "rx_errors", [3] = "rx_dropped",	   [4] = "rx_fifo",
		[5] = "rx_frame",  [10] = "tx_errors",	   [11] = "tx_dropped",
		[12] = "tx_fifo",  [13] = "tx_collisions", [14] = "tx_carrier"
	};
	FILE *f = fopen("/proc/thread-self/net/dev", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		char *at = line + strspn(line, " "), *colon = strchr(at, ':'), *save = NULL;
		size_t i = 0;

		if (!colon || (size_t)(colon - at) != strlen(port) ||
		    strncmp(at, port, strlen(port)) != 0)
			continue;
		for (char *w = strtok_r(colon + 1, " \n", &save); w && i < 16;
		     w = strtok_r(NULL, " \n", &save), i++) {
			unsigned long long v;

			if (names[i] && parse_u64(w, &v) == 0)
				add(list, port, names[i], v);
		}
	}
	if (f)
		fclose(f);
}

static int ethtool(int fd, const char *port, void *data)
{
	struct ifreq ask = { 0 };

	snprintf(ask.ifr_name, sizeof(ask.ifr_name), "%s", port);
	ask.ifr_data = data;
	return ioctl(fd, SIOCETHTOOL, &ask) < 0 ? -errno : 0;
}

static void from_driver(struct ask_node *n, int fd, const char *port, json_t *list)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_gstrings *names;
	struct ethtool_stats *values;
	uint32_t k;

	if (ethtool(fd, port, &info) || !info.n_stats || info.n_stats > DRIVER_COUNTERS_MAX)
		return;
	k = info.n_stats;
	/* The kernel writes as many as there are by then, whatever was asked for: with a queue
	 * more come. */
	names = arena_alloc(n->arena,
			    sizeof(*names) + (size_t)DRIVER_COUNTERS_MAX * ETH_GSTRING_LEN);
	values = arena_alloc(n->arena,
			     sizeof(*values) + (size_t)DRIVER_COUNTERS_MAX * sizeof(__u64));
	*names = (struct ethtool_gstrings){ .cmd = ETHTOOL_GSTRINGS,
					    .string_set = ETH_SS_STATS,
					    .len = k };
	*values = (struct ethtool_stats){ .cmd = ETHTOOL_GSTATS, .n_stats = k };
	if (ethtool(fd, port, names) || names->len != k || ethtool(fd, port, values) ||
	    values->n_stats != k)
		return;
	for (uint32_t i = 0; i < k; i++) {
		char name[ETH_GSTRING_LEN + 1] = "";

		memcpy(name, names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		for (char *c = name; *c; c++)
			*c = *c > ' ' && *c <= '~' ? *c : '_';
		if (tells(name))
			add(list, port, name, values->data[i]);
	}
}

static void from_folder(struct ask_node *n, const char *port, const char *folder, json_t *list)
{
	char **names, line[64];
	size_t k = 0;
	unsigned long long v;

	if (host_list(n->h, folder, n->arena, &names, &k))
		return;
	for (size_t i = 0; i < k; i++)
		if (tells(names[i]) && strlen(names[i]) < 64 &&
		    host_read_line(n->h, arena_printf(n->arena, "%s/%s", folder, names[i]), line,
				   sizeof(line)) == 0 &&
		    parse_u64(line, &v) == 0)
			add(list, port, names[i], v);
}

/* Not of a capture: what it counts never grows. */
static void from_rdma(struct ask_node *n, const char *port, const char *device, long long number,
		      json_t *list)
{
	static const char *const folders[] = { "counters", "hw_counters" };

	for (size_t i = 0; !n->captured && i < 2; i++)
		from_folder(n, port,
			    arena_printf(n->arena, "/sys/class/infiniband/%s/ports/%lld/%s", device,
					 number, folders[i]),
			    list);
}

static bool device_sound(const char *s)
{
	return *s && *s != '.' && !strchr(s, '/');
}

int answer_counters(struct ask_node *n, void **state, const json_t *with, json_t **out,
		    struct err *e)
{
	const json_t *ports = json_object_get(with, "ports");
	json_t *list, *one;
	int fd, r = 0;
	size_t i;

	(void)state;
	if (!json_is_array(ports) || json_array_size(ports) > CLUSTER_PORTS_MAX)
		return err_set(e, -EINVAL, "\"ports\" is no list of at most %d", CLUSTER_PORTS_MAX);
	list = json_array();
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	json_array_foreach(ports, i, one)
	{
		const char *port = NULL, *device = NULL;
		long long number = 1;

		r = ask_text(one, "port", IF_NAMESIZE - 1, &port, e);
		r = r ? r : ask_text(one, "device", 63, &device, e);
		r = r ? r : ask_int(one, "number", 1, 255, &number, e);
		if (r || !port || (device && !device_sound(device))) {
			r = r ? r : err_set(e, -EINVAL, "a port without a name");
			break;
		}
		from_interface(port, list);
		if (fd >= 0)
			from_driver(n, fd, port, list);
		if (device)
			from_rdma(n, port, device, number, list);
	}
	if (fd >= 0)
		close(fd);
	if (r)
		json_decref(list);
	else
		*out = json_pack("{s:o}", "counters", list);
	return r;
}
