/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "measure" runs one case of a network bench against every peer (a server of another node) at the
 * same time; the frame of the benches is for one case at a time, so set-up, windows and
 * verification are called here, and windows begin together.
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
#include "many/cluster/messages.h"
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
	w->r = err_set(&w->e, -ENODATA, "%s", all.none ? all.none : "unknown case in this version");
	return NULL;
}

static void node_measure_run_windows(struct way *w, void *state)
{
	struct bench_sample s = { 0 };

	/* The first one may hold the beginning of slow start. */
	for (size_t i = 0; i <= w->windows && w->r == 0; i++) {
		w->r = w->bench->run(state, &s, &w->e);
		if (w->r == 0 && !isfinite(s.value[0]))
			w->r = err_set(&w->e, -EDOM, "a sample is not a number");
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
			ways[i].r =
				err_set(&ways[i].e, -r, "cannot create a thread: %s", strerror(r));
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

static void node_measure_traffic(struct arena *a, const struct passed *before, size_t n_before,
				 const struct passed *after, size_t n_after,
				 struct measure_answer *out)
{
	out->traffic = arena_array(a, n_after, sizeof(*out->traffic));
	for (size_t i = 0; i < n_after; i++)
		for (size_t k = 0; k < n_before; k++) {
			const struct passed *x = &before[k], *y = &after[i];
			double rx = grown(x->bytes.rx, y->bytes.rx) + grown(x->rdma_rx, y->rdma_rx);
			double tx = grown(x->bytes.tx, y->bytes.tx) + grown(x->rdma_tx, y->rdma_tx);

			if (strcmp(x->name, y->name) != 0 || (rx <= 0 && tx <= 0))
				continue;
			out->traffic[out->n_traffic++] =
				(struct measured_traffic){ y->name, rx, tx };
			break;
		}
}

/* --- the request ------------------------------------------------------------------------------ */

/* In the arena; the way's own is free afterwards. */
static struct measured_path node_measure_path(struct arena *a, struct way *w)
{
	struct measured_path out = { .how = w->how ? arena_strdup(a, w->how) : NULL,
				     .error = w->r ? w->e.text : NULL };

	for (size_t i = 0; i < w->n && w->r == 0; i++)
		out.values[out.n++] = w->values[i];
	arena_free(&w->arena);
	return out;
}

struct measure_request {
	struct measure_ask ask;
	const struct bench *bench;
	struct token token;
};

static int node_measure_read_target(struct arena *a, const json_t *with,
				    struct measure_request *out, struct err *e)
{
	const struct measure_ask *ask = &out->ask;
	struct net_address at;
	int r = shape_read(a, &measure_ask_shape, with, &out->ask, e);

	out->bench = NULL;
	r = r ? r : measure_token(ask->token, &out->token, e);
	if (r)
		return r;
	if (ask->windows < 1 || ask->windows >= MEASURE_WINDOWS_MAX)
		return err_set(e, -EINVAL, "\"windows\" must be 1 to %d", MEASURE_WINDOWS_MAX - 1);
	for (size_t i = 0; i < bench_count; i++)
		if (strcmp(benches[i]->name, ask->bench) == 0)
			out->bench = benches[i];
	/* Those of the network alone: nobody measures disks from afar. */
	if (!out->bench || (out->bench != &bench_tcp && out->bench != &bench_tcp_latency &&
			    out->bench != &bench_rdma && out->bench != &bench_rdma_latency))
		return err_set(e, -EINVAL, "unknown network bench");
	if (!ask->n)
		return err_set(e, -EINVAL, "\"peers\" is empty");
	for (size_t i = 0; i < ask->n; i++)
		if (net_address_parse(ask->peers[i], true, &at, e))
			return err_set(e, -EINVAL, "a peer is not an address with a port");
	return 0;
}

static json_t *node_measure_measure(struct ask_node *n, const struct measure_request *w,
				    const char *token_path)
{
	size_t k = w->ask.n, n_before, n_after;
	struct passed *before = arena_array(n->arena, PORTS_MAX, sizeof(*before)),
		      *after = arena_array(n->arena, PORTS_MAX, sizeof(*after));
	struct way *ways = arena_array(n->arena, k, sizeof(*ways));
	struct measure_answer answer = { .paths = arena_array(n->arena, k, sizeof(*answer.paths)),
					 .n = k };
	struct bench_env env;

	measure_env(n, &env);
	env.ask.token = token_path;
	env.ask.name = w->ask.name;
	for (size_t i = 0; i < k; i++) {
		ways[i] = (struct way){ .env = env,
					.bench = w->bench,
					.name = w->ask.name,
					.windows = (size_t)w->ask.windows };
		ways[i].env.a = &ways[i].arena;
		ways[i].env.ask.peer = w->ask.peers[i];
	}
	n_before = look_at_ports(n, env.m, before);
	run_ways(ways, k);
	n_after = look_at_ports(n, env.m, after);
	for (size_t i = 0; i < k; i++)
		answer.paths[i] = node_measure_path(n->arena, &ways[i]);
	node_measure_traffic(n->arena, before, n_before, after, n_after, &answer);
	return shape_object_json(&measure_answer_shape, &answer);
}

int answer_measure(struct ask_node *n, void **state, const json_t *with, json_t **out,
		   struct err *e)
{
	struct measure_request w;
	char path[64];
	int r = node_measure_read_target(n->arena, with, &w, e), fd;

	(void)state;
	fd = r ? r : measure_token_file(&w.token, path, e);
	explicit_bzero(&w.token, sizeof(w.token));
	if (fd < 0)
		return fd;
	*out = node_measure_measure(n, &w, path);
	close(fd);
	return 0;
}

/* "counters" reads what these ports count of errors: the interface's own (/proc/net/dev), its
 * driver's (ethtool) and the RDMA port's, where there is one. All are totals since some time; only
 * what grows tells. */

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

struct counting {
	struct ask_node *n;
	struct counters_answer answer;
};

static void add(struct counting *c, const char *port, const char *name, unsigned long long value)
{
	struct counters_answer *out = &c->answer;

	if (out->n == MEASURE_COUNTERS_MAX)
		return;
	out->counters = arena_grow(c->n->arena, out->counters, out->n, sizeof(*out->counters));
	out->counters[out->n++] = (struct counter){ port, arena_strdup(c->n->arena, name),
						    (long long)(value & INT64_MAX) };
}

/* Received: bytes packets errs drop fifo frame compressed multicast; sent: bytes packets errs drop
 * fifo colls carrier compressed. */
static void from_interface(struct counting *list, const char *port)
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

static void from_driver(struct counting *list, int fd, const char *port)
{
	struct ask_node *n = list->n;
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

static void from_folder(struct counting *list, const char *port, const char *folder)
{
	struct ask_node *n = list->n;
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
static void from_rdma(struct counting *list, const char *port, const char *device, long long number)
{
	static const char *const folders[] = { "counters", "hw_counters" };

	for (size_t i = 0; !list->n->captured && i < 2; i++)
		from_folder(list, port,
			    arena_printf(list->n->arena, "/sys/class/infiniband/%s/ports/%lld/%s",
					 device, number, folders[i]));
}

static bool counted_port_valid(const struct counted_port *p)
{
	return strlen(p->port) < IF_NAMESIZE && p->number >= 0 && p->number <= 255 &&
	       (!p->device || (*p->device && *p->device != '.' && !strchr(p->device, '/')));
}

int answer_counters(struct ask_node *n, void **state, const json_t *with, json_t **out,
		    struct err *e)
{
	struct counting list = { .n = n };
	struct counters_ask ask;
	int fd, r = shape_read(n->arena, &counters_ask_shape, with, &ask, e);

	(void)state;
	for (size_t i = 0; r == 0 && i < ask.n; i++)
		if (!counted_port_valid(&ask.ports[i]))
			r = err_set(e, -EINVAL, "invalid port");
	if (r)
		return r;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (size_t i = 0; i < ask.n; i++) {
		const struct counted_port *p = &ask.ports[i];

		from_interface(&list, p->port);
		if (fd >= 0)
			from_driver(&list, fd, p->port);
		if (p->device)
			from_rdma(&list, p->port, p->device, p->number ? p->number : 1);
	}
	if (fd >= 0)
		close(fd);
	*out = shape_object_json(&counters_answer_shape, &list.answer);
	return 0;
}
