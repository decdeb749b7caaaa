/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "measure": {"token": HEX, "bench": TEXT, "case": TEXT, "windows": N, "peers": [TEXT...]} runs one
 * case of a network bench against every peer ("ADDRESS:PORT", a server of another node) at the same
 * time; the frame of the benches is for one case at a time, so set-up, windows and verification are
 * called here, and windows begin together. The answer: {"paths": [{"values": [...], "how": TEXT,
 * "error": TEXT or null}...], "traffic": [{"port", "rx_bytes", "tx_bytes"}...]}.
 */
#include <errno.h>
#include <math.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/text.h"
#include "measure/bench/net/socket.h"
#include "many/cluster/ask.h"
#include "many/cluster/node.h"
#include "measure/bench/bench.h"

enum { PORTS_MAX = 256 };

/* Where all paths wait for each other; who goes is not waited for. */
struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t all_here;
	size_t expected, here;
	unsigned times;
};

/* One path, in a thread of its own. */
struct way {
	struct arena arena;
	struct bench_env env;
	const struct bench *bench;
	const char *name;
	size_t windows;
	struct meeting *meeting;
	pthread_t thread;
	bool started;
	double values[MEASURE_WINDOWS_MAX];
	size_t n;
	const char *how;
	struct err e;
	int r;
};

void measure_env(struct ask_node *n, struct bench_env *out)
{
	*out = (struct bench_env){ .a = n->arena,
				   .m = n->look(n, false),
				   .cpus = bench_allowed(n->arena),
				   .stop = n->stop,
				   .h = n->h };
}

static void open_meeting(struct meeting *m)
{
	m->here = 0;
	m->times++;
	pthread_cond_broadcast(&m->all_here);
}

static void node_measure_meet(struct meeting *m)
{
	unsigned now;

	pthread_mutex_lock(&m->lock);
	now = m->times;
	if (++m->here >= m->expected)
		open_meeting(m);
	while (m->times == now)
		pthread_cond_wait(&m->all_here, &m->lock);
	pthread_mutex_unlock(&m->lock);
}

static void leave(struct meeting *m)
{
	pthread_mutex_lock(&m->lock);
	m->expected--;
	if (m->expected && m->here >= m->expected)
		open_meeting(m);
	pthread_mutex_unlock(&m->lock);
}

static const struct bench_case *node_measure_find_case(struct way *w)
{
	struct bench_cases all = { 0 };

	w->bench->cases(&w->env, &all);
	for (size_t i = 0; i < all.n; i++)
		if (strcmp(all.items[i].name, w->name) == 0)
			return &all.items[i];
	w->r = err_set(&w->e, -ENODATA, "%s",
		       all.none ? all.none : "this version does not know the case");
	return NULL;
}

static void node_measure_run_windows(struct way *w, void *state)
{
	struct bench_sample s = { 0 };

	/* The first one may hold the beginning of slow start. */
	for (size_t i = 0; i <= w->windows && w->r == 0; i++) {
		w->r = w->bench->run(state, &s, &w->e);
		if (w->r == 0 && !isfinite(s.value[0]))
			w->r = err_set(&w->e, -EDOM, "a sample that is no number");
		if (w->r == 0 && i)
			w->values[w->n++] = s.value[0];
	}
}

static void *way_main(void *arg)
{
	struct way *w = arg;
	const struct bench_case *c = node_measure_find_case(w);
	const char *variant = NULL;
	void *state = NULL;

	if (c)
		w->r = bench_set_up(w->bench, &w->env, c, &state, &variant, &w->e);
	if (w->r) {
		leave(w->meeting);
		return NULL;
	}
	node_measure_meet(w->meeting);
	node_measure_run_windows(w, state);
	/* Others may still be measuring: nobody stops before all have. */
	node_measure_meet(w->meeting);
	if (w->r == 0)
		w->r = w->bench->verify(state, &w->e);
	if (variant)
		w->how = arena_strdup(&w->arena, variant);
	bench_tear_down(w->bench, state);
	return NULL;
}

static void run_ways(struct way *ways, size_t n)
{
	struct meeting m = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, n, 0, 0 };

	for (size_t i = 0; i < n; i++) {
		int r;

		ways[i].meeting = &m;
		r = pthread_create(&ways[i].thread, NULL, way_main, &ways[i]);
		ways[i].started = r == 0;
		if (r) {
			ways[i].r = err_set(&ways[i].e, -r, "no thread: %s", strerror(r));
			leave(&m);
		}
	}
	for (size_t i = 0; i < n; i++)
		if (ways[i].started)
			pthread_join(ways[i].thread, NULL);
	pthread_cond_destroy(&m.all_here);
	pthread_mutex_destroy(&m.lock);
}

/* --- what went through the ports -------------------------------------------------------------- */

struct passed {
	char name[IF_NAMESIZE];
	struct link_bytes bytes;
	uint64_t rdma_rx, rdma_tx;
};

/* RDMA passes by the interface's own counts; the port's are in units of four bytes. */
static uint64_t rdma_count(struct ask_node *n, const struct rdma_port *p, const char *name)
{
	unsigned long long v;
	char line[64], path[256];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%.64s/ports/%u/counters/%s", p->device,
		 p->number, name);
	if (n->captured || host_read_line(n->h, path, line, sizeof(line)) || parse_u64(line, &v))
		return 0;
	return 4 * v;
}

static size_t look_at_ports(struct ask_node *n, const struct machine *m, struct passed *out)
{
	struct if_nameindex *all = if_nameindex();
	size_t k = 0;

	for (size_t i = 0; all && all[i].if_index && k < PORTS_MAX; i++) {
		struct passed *p = &out[k++];
		struct net_link l = { 0 };

		*p = (struct passed){ 0 };
		snprintf(p->name, sizeof(p->name), "%s", all[i].if_name);
		snprintf(l.name, sizeof(l.name), "%s", all[i].if_name);
		p->bytes = link_count(&l);
		LIST_FOR_EACH (const struct rdma_port, r, &m->net.rdma) {
			if (strcmp(fact_text(&r->netdev, ""), p->name) != 0)
				continue;
			p->rdma_rx += rdma_count(n, r, "port_rcv_data");
			p->rdma_tx += rdma_count(n, r, "port_xmit_data");
		}
	}
	if (all)
		if_freenameindex(all);
	return k;
}

static double grown(uint64_t before, uint64_t after)
{
	return after > before ? (double)(after - before) : 0;
}

static json_t *node_measure_traffic(const struct passed *before, size_t n_before,
				    const struct passed *after, size_t n_after)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n_after; i++)
		for (size_t k = 0; k < n_before; k++) {
			const struct passed *x = &before[k], *y = &after[i];
			double rx = grown(x->bytes.rx, y->bytes.rx) + grown(x->rdma_rx, y->rdma_rx);
			double tx = grown(x->bytes.tx, y->bytes.tx) + grown(x->rdma_tx, y->rdma_tx);

			if (strcmp(x->name, y->name) == 0 && (rx > 0 || tx > 0))
				json_array_append_new(list,
						      json_pack("{s:s, s:f, s:f}", "port", y->name,
								"rx_bytes", rx, "tx_bytes", tx));
		}
	return list;
}

/* --- the request ------------------------------------------------------------------------------ */

static json_t *node_measure_way_json(const struct way *w)
{
	json_t *values = json_array();

	for (size_t i = 0; i < w->n && w->r == 0; i++)
		json_array_append_new(values, json_real(w->values[i]));
	return json_pack("{s:o, s:s?, s:s?}", "values", values, "how", w->how, "error",
			 w->r ? w->e.text : NULL);
}

struct measure_request {
	const struct bench *bench;
	const char *name;
	long long windows;
	const json_t *peers;
	struct token token;
};

static int node_measure_read_target(const json_t *with, struct measure_request *out, struct err *e)
{
	const char *bench = NULL;
	size_t i;
	json_t *one;
	int r = ask_text(with, "bench", 32, &bench, e);

	*out = (struct measure_request){ .windows = 5, .peers = json_object_get(with, "peers") };
	r = r ? r : ask_text(with, "case", 64, &out->name, e);
	r = r ? r : ask_int(with, "windows", 1, MEASURE_WINDOWS_MAX - 1, &out->windows, e);
	r = r ? r : measure_token(with, &out->token, e);
	if (r)
		return r;
	for (i = 0; bench && i < bench_count; i++)
		if (strcmp(benches[i]->name, bench) == 0)
			out->bench = benches[i];
	/* Those of the network alone: nobody measures disks from afar. */
	if (!out->bench || !out->name ||
	    (out->bench != &bench_tcp && out->bench != &bench_tcp_latency &&
	     out->bench != &bench_rdma && out->bench != &bench_rdma_latency))
		return err_set(e, -EINVAL, "no network bench of that name");
	if (!json_is_array(out->peers) || !json_array_size(out->peers) ||
	    json_array_size(out->peers) > MEASURE_PATHS_MAX)
		return err_set(e, -EINVAL, "\"peers\" is no list of 1 to %d", MEASURE_PATHS_MAX);
	json_array_foreach(out->peers, i, one)
	{
		struct net_address a;

		if (!json_is_string(one) || net_address_parse(json_string_value(one), true, &a, e))
			return err_set(e, -EINVAL, "a peer that is no address with a port");
	}
	return 0;
}

static json_t *node_measure_measure(struct ask_node *n, const struct measure_request *w,
				    const char *token_path)
{
	size_t k = json_array_size(w->peers), n_before, n_after;
	struct passed *before = arena_array(n->arena, PORTS_MAX, sizeof(*before)),
		      *after = arena_array(n->arena, PORTS_MAX, sizeof(*after));
	struct way *ways = arena_array(n->arena, k, sizeof(*ways));
	json_t *paths = json_array();
	struct bench_env env;

	measure_env(n, &env);
	env.ask.token = token_path;
	env.ask.name = w->name;
	for (size_t i = 0; i < k; i++) {
		ways[i] = (struct way){ .env = env,
					.bench = w->bench,
					.name = w->name,
					.windows = (size_t)w->windows };
		ways[i].env.a = &ways[i].arena;
		ways[i].env.ask.peer = json_string_value(json_array_get(w->peers, i));
	}
	n_before = look_at_ports(n, env.m, before);
	run_ways(ways, k);
	n_after = look_at_ports(n, env.m, after);
	for (size_t i = 0; i < k; i++) {
		json_array_append_new(paths, node_measure_way_json(&ways[i]));
		arena_free(&ways[i].arena);
	}
	return json_pack("{s:o, s:o}", "paths", paths, "traffic",
			 node_measure_traffic(before, n_before, after, n_after));
}

int answer_measure(struct ask_node *n, void **state, const json_t *with, json_t **out,
		   struct err *e)
{
	struct measure_request w;
	char path[64];
	int r = node_measure_read_target(with, &w, e), fd;

	(void)state;
	fd = r ? r : measure_token_file(&w.token, path, e);
	explicit_bzero(&w.token, sizeof(w.token));
	if (fd < 0)
		return fd;
	*out = node_measure_measure(n, &w, path);
	close(fd);
	return 0;
}

/*
 * "counters": {"ports": [{"port": TEXT, "device": TEXT, "number": N}...]} reads what these ports
 * count of errors: the interface's own (/proc/net/dev), its driver's (ethtool) and the RDMA port's,
 * where there is one. All are totals since some time; only what grows tells. The answer:
 * {"counters": [{"port", "name", "value"}...]}.
 */

enum { DRIVER_COUNTERS_MAX = 32768 };

/* Words in the names of counters that tell of something going wrong. */
static bool is_error_counter(const char *name)
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
		if (is_error_counter(name))
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
		if (is_error_counter(names[i]) && strlen(names[i]) < 64 &&
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

static bool device_valid(const char *s)
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
		if (r || !port || (device && !device_valid(device))) {
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
