/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a check: counters, echoes, then what paths carry, in rounds of disjoint pairs; what
 * is bad once more, by itself; counters again. Then the pure parts say what it means.
 */
#include "many/cluster/check_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Windows of 100 ms a measurement: as many as let all rounds end in time. */
enum { WINDOWS_LEAST = 2, WINDOWS_MOST = 10, JOBS_MAX = 256, AGAIN_WINDOWS = 5, AGAIN_ALONE = 8 };
#define MEASURING_S 30.0
#define WINDOW_S 0.1
#define AROUND_S 0.25 /* opening, the first window, closing */

static void check_run_say(const struct check_run *r, const char *text)
{
	if (r->how->say)
		r->how->say(r->how->ctx, text);
}

/* Of Gbit/s, GB/s and microseconds alike. */
#define FIGURE_LEAST 1e-6
#define FIGURE_MOST 1e12

double check_run_figure(const json_t *told)
{
	double v = json_number_value(told);

	return v >= FIGURE_LEAST && v <= FIGURE_MOST ? v : 0;
}

bool check_run_lives(const struct check_run *r, size_t node)
{
	return !*check_node(r->c, node)->failure && !rsh_failure(r->rsh, node);
}

static bool echoed(const struct check *c, size_t path, enum check_test test)
{
	for (int back = 0; back < 2; back++) {
		const struct check_path *p = &c->paths[path];
		struct check_result like = { .test = test,
					     .from = back ? p->b.node : p->a.node,
					     .to = back ? p->a.node : p->b.node,
					     .path = path };
		const struct check_result *r = check_newest(c, &like);

		if (!r || r->state != CHECK_GOOD)
			return false;
	}
	return true;
}

/* Why RDMA is not tried on a path; "": there is no such thing on it; NULL: it is. */
static const char *no_rdma(struct arena *a, const struct check *c, size_t path)
{
	const struct check_path *p = &c->paths[path];
	const struct cluster_end ends[] = { p->a, p->b };
	size_t devices = 0;

	for (int i = 0; i < 2; i++)
		devices += seen_ok(&check_port(c, ends[i])->rdma_device.f);
	for (int i = 0; i < 2 && devices; i++) {
		const struct cluster_port *x = check_port(c, ends[i]);
		const char *node = check_node(c, ends[i].node)->name;

		if (fact_or(&check_node(c, ends[i].node)->captured, 0))
			return "RDMA devices are known from a capture alone";
		if (!seen_ok(&x->rdma_device.f))
			return arena_printf(a, "%s of %s has no RDMA device", x->name, node);
		if (!fact_is(&x->rdma_state, "ACTIVE"))
			return arena_printf(a, "%s of %s is %s, not ACTIVE", x->rdma_device.v, node,
					    fact_text(&x->rdma_state, "in no known state"));
	}
	if (devices && !echoed(c, path, CHECK_JUMBO))
		return "packets as large as the MTU do not come through, so writes would end in "
		       "retries";
	return devices ? NULL : "";
}

/* --- which measurements -------------------------------------------------------------------------
 */

struct jobs {
	struct check_job *items;
	size_t n;
};

static void add_job(struct check_run *r, struct jobs *j, const struct check_result *want)
{
	struct check_job job;

	if (!check_job_of(r->c, want, &job))
		return;
	j->items = arena_grow(r->a, j->items, j->n, sizeof(*j->items));
	j->items[j->n++] = job;
}

static void want_test(struct check_run *r, struct jobs *j, size_t path, enum check_test test,
		      bool together, bool both_ways)
{
	const struct check_path *p = &r->c->paths[path];

	for (int back = 0; back < (both_ways ? 2 : 1); back++)
		add_job(r, j,
			&(struct check_result){ .test = test,
						.from = back ? p->b.node : p->a.node,
						.to = back ? p->a.node : p->b.node,
						.path = path,
						.together = together,
						.pass = 1 });
}

static void want_path(struct check_run *r, struct jobs *j, size_t path)
{
	const char *why = no_rdma(r->a, r->c, path);

	want_test(r, j, path, CHECK_TCP, false, true);
	want_test(r, j, path, CHECK_TCP_LATENCY, false, false);
	if (!why) {
		want_test(r, j, path, CHECK_RDMA_WRITE, false, true);
		want_test(r, j, path, CHECK_RDMA_READ, false, true);
		want_test(r, j, path, CHECK_RDMA_LATENCY, false, false);
	} else if (*why) {
		check_add(r->a, r->c,
			  &(struct check_result){ .test = CHECK_RDMA_WRITE,
						  .from = r->c->paths[path].a.node,
						  .to = r->c->paths[path].b.node,
						  .path = path,
						  .pass = 1,
						  .state = CHECK_LEFT_OUT,
						  .why = why });
	}
}

/* Twins of one cable at once: what the two together carry is what the cable can. */
static void want_together(struct check_run *r, struct jobs *j, const struct pair *p)
{
	for (size_t i = 0; i < r->c->n_paths; i++) {
		const struct check_path *x = &r->c->paths[i];
		struct check_job all;
		bool good = true, first = true;

		if (x->a.node != p->a || x->b.node != p->b || x->untestable ||
		    x->wire == CLUSTER_NONE)
			continue;
		for (size_t k = 0; k < i; k++)
			first = first &&
				!(r->c->paths[k].wire == x->wire && r->c->paths[k].a.node == p->a &&
				  r->c->paths[k].b.node == p->b);
		if (!first ||
		    !check_job_of(r->c,
				  &(struct check_result){ .test = CHECK_TCP,
							  .from = p->a,
							  .to = p->b,
							  .path = i,
							  .together = true },
				  &all) ||
		    all.n_paths < 2)
			continue;
		for (size_t k = 0; k < all.n_paths; k++)
			good = good && echoed(r->c, all.paths[k], CHECK_PING);
		if (!good)
			continue;
		want_test(r, j, i, CHECK_TCP, true, true);
		for (size_t k = 0; k < all.n_paths; k++)
			good = good && !no_rdma(r->a, r->c, all.paths[k]);
		if (good)
			want_test(r, j, i, CHECK_RDMA_WRITE, true, true);
	}
}

static struct jobs jobs_of_pair(struct check_run *r, const struct pair *p)
{
	struct jobs j = { 0 };

	for (size_t i = 0; i < r->c->n_paths; i++) {
		const struct check_path *x = &r->c->paths[i];

		if (x->a.node == p->a && x->b.node == p->b && !x->untestable &&
		    echoed(r->c, i, CHECK_PING))
			want_path(r, &j, i);
	}
	want_together(r, &j, p);
	return j;
}

static bool measurable(void *ctx, size_t a, size_t b)
{
	const struct check_run *r = ctx;

	for (size_t i = 0; i < r->c->n_paths; i++)
		if (r->c->paths[i].a.node == a && r->c->paths[i].b.node == b &&
		    !r->c->paths[i].untestable)
			return check_run_lives(r, a) && check_run_lives(r, b);
	return false;
}

/* --- rounds -------------------------------------------------------------------------------------
 */

static int measure_round(struct check_run *r, const struct pairs *all, const struct jobs *jobs,
			 size_t round)
{
	struct check_job now[CLUSTER_NODES_MAX];
	size_t most = 0;
	int code = 0;

	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].round == round && jobs[i].n > most)
			most = jobs[i].n;
	/* All pairs do the same kind of thing at a time. */
	for (size_t step = 0; step < most && code == 0; step++) {
		size_t n = 0;

		for (size_t i = 0; i < all->n && n < CLUSTER_NODES_MAX; i++)
			if (all->items[i].round == round && step < jobs[i].n)
				now[n++] = jobs[i].items[step];
		code = check_run_jobs(r, now, n);
	}
	return code;
}

static int measure_all(struct check_run *r, const struct pairs *all)
{
	struct jobs *jobs = arena_array(r->a, all->n, sizeof(*jobs));
	size_t steps = 0;
	double room;
	int code = 0;

	for (size_t i = 0; i < all->n; i++)
		jobs[i] = jobs_of_pair(r, &all->items[i]);
	for (size_t round = 0; round < all->rounds; round++) {
		size_t most = 0;

		for (size_t i = 0; i < all->n; i++)
			if (all->items[i].round == round && jobs[i].n > most)
				most = jobs[i].n;
		steps += most;
	}
	if (r->how->seconds > 0)
		room = r->how->seconds / WINDOW_S;
	else
		room = steps ? (MEASURING_S / (double)steps - AROUND_S) / WINDOW_S : 0;
	r->windows = room < WINDOWS_LEAST && r->how->seconds > 0 ? 1
		     : room < WINDOWS_LEAST			 ? WINDOWS_LEAST
		     : room > WINDOWS_MOST			 ? WINDOWS_MOST
								 : (size_t)room;
	for (size_t round = 0; round < all->rounds && code == 0; round++) {
		check_run_say(r, arena_printf(r->a, "round %zu of %zu", round + 1, all->rounds));
		code = measure_round(r, all, jobs, round);
	}
	return code;
}

/* What was bad, once more: while others rest, so that only what is really bad stays so. */
static int measure_again(struct check_run *r)
{
	struct check_result *list;
	size_t n = check_again(r->a, r->c, &list), k = 0;
	struct pair *pairs = arena_array(r->a, n, sizeof(*pairs));
	struct check_job *jobs = arena_array(r->a, n, sizeof(*jobs)), now[CLUSTER_NODES_MAX];
	struct pairs rounds;
	int code = 0;

	if (!n)
		return 0;
	check_run_say(r, arena_printf(r->a, "%zu tests once more", n));
	code = check_run_echoes_again(r, list, n);
	for (size_t i = 0; i < n && k < JOBS_MAX; i++) {
		if (!check_job_of(r->c, &list[i], &jobs[k]))
			continue;
		pairs[k] = (struct pair){ .a = jobs[k].client, .b = jobs[k].server, .tag = k };
		k++;
	}
	/* Longer, and few of them one after the other: nothing else goes on then. */
	if (r->how->seconds > 0)
		r->windows *= 2;
	else if (r->windows < AGAIN_WINDOWS)
		r->windows = AGAIN_WINDOWS;
	for (size_t i = 0; i < k && k <= AGAIN_ALONE && code == 0; i++)
		code = check_run_jobs(r, &jobs[i], 1);
	if (k <= AGAIN_ALONE)
		return code;
	rounds = pairs_of(r->a, pairs, k);
	for (size_t round = 0; round < rounds.rounds && code == 0; round++) {
		size_t m = 0;

		for (size_t i = 0; i < rounds.n && m < CLUSTER_NODES_MAX; i++)
			if (rounds.items[i].round == round)
				now[m++] = jobs[rounds.items[i].tag];
		code = check_run_jobs(r, now, m);
	}
	return code;
}

static int make_token(struct check_run *r, struct err *e)
{
	uint8_t secret[WIRE_SECRET];
	int code = random_bytes(secret, sizeof(secret));

	if (code)
		return err_set(e, code, "the kernel gives no random bytes");
	for (size_t i = 0; i < sizeof(secret); i++)
		snprintf(r->token + 2 * i, 3, "%02x", secret[i]);
	explicit_bzero(secret, sizeof(secret));
	return 0;
}

static int echoes_alone(struct check_run *r)
{
	struct check_result *list;
	size_t n = check_again(r->a, r->c, &list);
	int code = n ? check_run_echoes_again(r, list, n) : 0;

	return code ? code : check_run_count(r, true);
}

static int run_all(struct check_run *r)
{
	struct pairs all;
	int code;

	check_run_say(r, "echoes");
	code = check_run_count(r, false);
	code = code ? code : check_run_echoes(r);
	if (code == 0 && r->how->quick)
		return echoes_alone(r);
	code = code ? code : check_run_servers(r);
	if (code)
		return code;
	all = pairs_make(r->a, r->c->cluster->n_nodes, measurable, r);
	code = measure_all(r, &all);
	check_judge(r->a, r->c);
	code = code ? code : measure_again(r);
	if (code == 0 && !r->how->no_gpus) {
		check_run_say(r, "GPUs");
		code = check_run_nccl(r, &all);
	}
	if (code)
		return code;
	check_run_servers_end(r);
	return check_run_count(r, true);
}

int cluster_check(struct arena *a, struct rsh *rsh, const struct check_how *how, struct check *c,
		  struct err *e)
{
	struct check_run r = { .a = a, .rsh = rsh, .how = how, .c = c };
	double begin = clock_mono_s();
	int code = make_token(&r, e);

	if (code)
		return code;
	r.replies = arena_array(a, c->cluster->n_nodes, sizeof(*r.replies));
	c->quick = how->quick;
	check_paths(a, c);
	code = run_all(&r);
	explicit_bzero(r.token, sizeof(r.token));
	c->partial = code == -EINTR;
	c->seconds = clock_mono_s() - begin;
	check_judge(a, c);
	check_blame(a, c);
	return code && code != -EINTR ? err_set(e, code, "the nodes could not be asked") : code;
}
