/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of NCCL between the GPUs of two nodes at a time, from 8 bytes up. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/stat.h"
#include "many/cluster/check_run.h"
#include "many/cluster/node_measure.h"

/* A team that does not come together ends by itself after a minute. */
enum { ANSWER_MS = 100000, PORT = 21190, WINDOWS = 3 };

static const struct {
	const char *name;
	bool small; /* its time counts, not what it carries */
} operations[] = {
	{ "all-reduce:8B", true },     { "all-reduce:1KiB", true },   { "all-reduce:8KiB", true },
	{ "all-reduce:64KiB", true },  { "all-reduce:1MiB", false },  { "all-reduce:16MiB", false },
	{ "all-reduce:64MiB", false }, { "all-gather:64MiB", false },
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* Why these two cannot; NULL: they can. */
static const char *hindrance(struct arena *a, const struct cluster_node *x,
			     const struct cluster_node *y)
{
	const struct cluster_node *both[] = { x, y };

	for (int i = 0; i < 2; i++) {
		if (fact_or(&both[i]->gpus, 0) < 1)
			return arena_printf(a, "%s has no GPU", both[i]->name);
		if (!seen_ok(&both[i]->nccl.f))
			return arena_printf(a, "%s has no NCCL", both[i]->name);
	}
	if (strcmp(x->nccl.v, y->nccl.v) != 0)
		return arena_printf(a, "%s has NCCL %.32s, %s has %.32s", x->name, x->nccl.v,
				    y->name, y->nccl.v);
	return NULL;
}

/* Where rank 0 is to be met: its address on a path to the other. */
static const char *meeting(const struct check *c, const struct pair *p)
{
	for (size_t i = 0; i < c->n_paths; i++) {
		const struct check_path *x = &c->paths[i];

		if (!x->untestable && x->a.node == p->a && x->b.node == p->b)
			return x->address_a;
	}
	return NULL;
}

static json_t *request(const struct check_run *r, const char *address, size_t pair, int rank)
{
	json_t *list = json_array();
	char meet[NET_TEXT];

	snprintf(meet, sizeof(meet), strchr(address, ':') ? "[%.50s]:%u" : "%.50s:%u", address,
		 (unsigned)(PORT + pair % 64));
	for (size_t i = 0; i < OPERATIONS; i++)
		json_array_append_new(list, json_string(operations[i].name));
	return json_pack("{s:s, s:i, s:i, s:s, s:i, s:o}", "token", r->token, "rank", rank, "ranks",
			 2, "meet", meet, "windows", WINDOWS, "operations", list);
}

static size_t numbers(const json_t *list, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(list) && n < WINDOWS; i++) {
		double v = check_run_figure(json_array_get(list, i));

		if (v > 0)
			out[n++] = v;
	}
	stat_sort(out, n);
	return n;
}

static void hear(struct check_run *r, const struct pair *p, size_t operation, const json_t *one)
{
	bool small = operations[operation].small;
	const char *error = json_string_value(json_object_get(one, "error"));
	const char *how = json_string_value(json_object_get(one, "how"));
	double x[WINDOWS];
	size_t n = numbers(json_object_get(one, small ? "time_us" : "bus_gb_per_s"), x);
	struct check_result out = { .test = small ? CHECK_NCCL_LATENCY : CHECK_NCCL,
				    .from = p->a,
				    .to = p->b,
				    .path = CHECK_NONE,
				    .operation = operations[operation].name,
				    .pass = 1,
				    .state = error || !n ? CHECK_FAILED : CHECK_GOOD };

	out.how = how ? cluster_said(r->a, how, 160) : NULL;
	out.why = error ? cluster_said(r->a, error, 300) : n ? NULL : "it measured nothing";
	if (out.state == CHECK_GOOD) {
		out.n = n;
		out.low = x[0];
		out.high = x[n - 1];
		out.value = stat_quantile(x, n, 0.5);
	}
	check_add(r->a, r->c, &out);
}

static void left_out(struct check_run *r, const struct pair *p, const char *why,
		     enum check_state state)
{
	check_add(r->a, r->c,
		  &(struct check_result){ .test = CHECK_NCCL,
					  .from = p->a,
					  .to = p->b,
					  .path = CHECK_NONE,
					  .operation = "all",
					  .pass = 1,
					  .state = state,
					  .why = why });
}

static void hear_all(struct check_run *r, const struct pair *p)
{
	const struct rsh_reply *lead = &r->replies[p->a];
	const json_t *list = json_object_get(lead->answer, "operations");

	if (!lead->answer) {
		/* The GPUs of a capture need not be here. */
		bool captured = fact_or(&check_node(r->c, p->a)->captured, 0);

		left_out(r, p, cluster_said(r->a, lead->failure ? lead->failure : "?", 300),
			 captured ? CHECK_LEFT_OUT : CHECK_FAILED);
		return;
	}
	for (size_t i = 0; i < OPERATIONS && i < json_array_size(list); i++)
		hear(r, p, i, json_array_get(list, i));
}

static int one_round(struct check_run *r, const struct pairs *all, size_t round)
{
	bool *which = arena_array(r->a, r->c->cluster->n_nodes, sizeof(*which));
	int code;

	for (size_t i = 0; i < all->n; i++) {
		const struct pair *p = &all->items[i];
		const char *address = meeting(r->c, p), *why;

		if (p->round != round || !address || !check_run_lives(r, p->a) ||
		    !check_run_lives(r, p->b))
			continue;
		why = hindrance(r->a, check_node(r->c, p->a), check_node(r->c, p->b));
		if (why) {
			left_out(r, p, why, CHECK_LEFT_OUT);
			continue;
		}
		r->replies[p->a] = r->replies[p->b] = (struct rsh_reply){ 0 };
		which[p->a] = rsh_send(r->rsh, p->a, "collective", request(r, address, i, 0)) == 0;
		which[p->b] = which[p->a] &&
			      rsh_send(r->rsh, p->b, "collective", request(r, address, i, 1)) == 0;
	}
	code = rsh_wait(r->rsh, which, ANSWER_MS, r->replies);
	for (size_t i = 0; i < all->n && code == 0; i++)
		if (all->items[i].round == round && which[all->items[i].a])
			hear_all(r, &all->items[i]);
	return code;
}

int check_run_nccl(struct check_run *r, const struct pairs *pairs)
{
	bool any = false;
	int code = 0;

	for (size_t i = 0; i < r->c->cluster->n_nodes; i++)
		any = any || fact_or(&check_node(r->c, i)->gpus, 0) > 0;
	for (size_t round = 0; any && code == 0 && round < pairs->rounds; round++)
		code = one_round(r, pairs, round);
	return code;
}
