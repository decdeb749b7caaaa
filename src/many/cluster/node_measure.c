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

#include "base/text.h"
#include "measure/bench/net/link.h"
#include "measure/bench/bench.h"
#include "many/cluster/node_measure.h"

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

static void meet(struct meeting *m)
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

static const struct bench_case *find_case(struct way *w)
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

static void run_windows(struct way *w, void *state)
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
	const struct bench_case *c = find_case(w);
	const char *variant = NULL;
	void *state = NULL;

	if (c)
		w->r = bench_set_up(w->bench, &w->env, c, &state, &variant, &w->e);
	if (w->r) {
		leave(w->meeting);
		return NULL;
	}
	meet(w->meeting);
	run_windows(w, state);
	/* Others may still be measuring: nobody stops before all have. */
	meet(w->meeting);
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

/* --- what went through the ports ----------------------------------------------------------------
 */

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

static json_t *traffic(const struct passed *before, size_t n_before, const struct passed *after,
		       size_t n_after)
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

/* --- the request --------------------------------------------------------------------------------
 */

static json_t *way_json(const struct way *w)
{
	json_t *values = json_array();

	for (size_t i = 0; i < w->n && w->r == 0; i++)
		json_array_append_new(values, json_real(w->values[i]));
	return json_pack("{s:o, s:s?, s:s?}", "values", values, "how", w->how, "error",
			 w->r ? w->e.text : NULL);
}

struct wish {
	const struct bench *bench;
	const char *name;
	long long windows;
	const json_t *peers;
	struct token token;
};

static int read_wish(const json_t *with, struct wish *out, struct err *e)
{
	const char *bench = NULL;
	size_t i;
	json_t *one;
	int r = ask_text(with, "bench", 32, &bench, e);

	*out = (struct wish){ .windows = 5, .peers = json_object_get(with, "peers") };
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

static json_t *measure(struct ask_node *n, const struct wish *w, const char *token_path)
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
		json_array_append_new(paths, way_json(&ways[i]));
		arena_free(&ways[i].arena);
	}
	return json_pack("{s:o, s:o}", "paths", paths, "traffic",
			 traffic(before, n_before, after, n_after));
}

int answer_measure(struct ask_node *n, void **state, const json_t *with, json_t **out,
		   struct err *e)
{
	struct wish w;
	char path[64];
	int r = read_wish(with, &w, e), fd;

	(void)state;
	fd = r ? r : measure_token_file(&w.token, path, e);
	explicit_bzero(&w.token, sizeof(w.token));
	if (fd < 0)
		return fd;
	*out = measure(n, &w, path);
	close(fd);
	return 0;
}
