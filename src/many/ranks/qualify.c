/* SPDX-License-Identifier: Apache-2.0 */
/* Each node by itself, and beside the others. */
#include "many/ranks/qualify.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "many/cluster/node.h"

enum { SELF_MS = 60000, PRODUCTS_PEERS = 2, WHY_MAX = 300, FIGURES_MAX = 256, TERM_MAX = 64 };
/* Of the budget: benches, then links. */
#define SELF_PART 0.5

/* --- bits of products ------------------------------------------------------------------------- */

struct vote {
	const struct self_product *p;
	size_t same, other;
};

static void count_votes(const struct qualify *q, struct vote *v)
{
	for (size_t i = 0; i < q->n; i++)
		for (size_t k = 0; k < q->nodes[i].n_products; k++) {
			const struct self_product *p = &q->nodes[i].products[k];

			if (strcmp(p->gpu, v->p->gpu) != 0)
				continue;
			v->same += strcmp(p->bits, v->p->bits) == 0;
			v->other += strcmp(p->bits, v->p->bits) != 0;
		}
}

/* Who computes otherwise than twice as many of its kind, which agree, is wrong; without such a
 * majority nobody can say who is. */
static void compare_products(struct arena *a, struct qualify *q)
{
	for (size_t i = 0; i < q->n; i++)
		for (size_t k = 0; k < q->nodes[i].n_products; k++) {
			struct vote v = { .p = &q->nodes[i].products[k] };

			count_votes(q, &v);
			if (!v.other)
				continue;
			if (v.other >= PRODUCTS_PEERS && v.other >= 2 * v.same)
				qualify_reason(a, &q->nodes[i], QUALIFY_DRAIN,
					       arena_printf(a,
							    "%s: its matrix product differs from "
							    "that of %zu equal GPUs",
							    v.p->place, v.other));
			else if (2 * v.other > v.same)
				qualify_reason(a, &q->nodes[i], QUALIFY_UNKNOWN,
					       arena_printf(a,
							    "%s: equal GPUs compute different "
							    "matrix products",
							    v.p->place));
		}
}

/* --- benches beside those of peers ------------------------------------------------------------ */

static struct qualify_node *node_named(struct qualify *q, const char *name)
{
	for (size_t i = 0; i < q->n; i++)
		if (strcmp(q->nodes[i].name, name) == 0)
			return &q->nodes[i];
	return NULL;
}

static void add_documents(struct fleet *f, const struct qualify_node *n, const json_t *answer)
{
	static const char *const keys[] = { "check", "bench" };

	for (size_t i = 0; i < 2; i++) {
		const json_t *j = json_object_get(answer, keys[i]);
		char *text = json_is_object(j) ? json_dumps(j, JSON_COMPACT) : NULL;

		if (text)
			fleet_add(f, n->name, n->name, text, strlen(text));
		free(text);
	}
}

static void compare_benches(struct arena *a, struct qualify *q, struct fleet *f)
{
	fleet_settle(f);
	for (size_t i = 0; i < f->n_benches; i++) {
		const struct fleet_bench *b = f->benches[i];

		for (size_t k = 0; k < b->n; k++) {
			const struct fleet_value *v = b->by[k];
			struct qualify_node *n =
				v->outlier && v->worse ? node_named(q, v->machine->name) : NULL;

			if (n)
				qualify_reason(
					a, n, QUALIFY_DRAIN,
					arena_printf(a, "%s: %.4g %s, while %zu peers have %.4g",
						     b->name, v->value, b->unit, b->n - 1,
						     b->median));
		}
	}
	fleet_free(f);
}

/* Of its bench document: checked as any result is, by the fleet that it was added to. */
static void take_figures(struct arena *a, struct qualify_node *n, const json_t *bench)
{
	const json_t *cases = json_object_get(bench, "cases"), *c;
	size_t i;

	json_array_foreach(cases, i, c)
	{
		const json_t *f = json_array_get(json_object_get(c, "figures"), 0);
		const char *unit = json_string_value(json_object_get(f, "unit")),
			   *shown = json_string_value(json_object_get(f, "unit_text")),
			   *name = json_string_value(json_object_get(c, "case")),
			   *of = json_string_value(json_object_get(c, "bench"));
		const json_t *v =
			unit ? json_object_get(f, arena_printf(a, "median_%s", unit)) : NULL;
		const char *better = json_string_value(json_object_get(f, "better"));

		if (!of || !name || !better || !shown || !json_is_number(v) ||
		    n->n_figures == FIGURES_MAX)
			continue;
		n->figures = arena_grow(a, n->figures, n->n_figures, sizeof(*n->figures));
		n->figures[n->n_figures++] = (struct qualify_figure){
			cluster_clean_text(a, of, TERM_MAX), cluster_clean_text(a, name, TERM_MAX),
			cluster_clean_text(a, shown, TERM_MAX), json_number_value(v),
			strcmp(better, "higher") == 0
		};
	}
}

/* --- beside an earlier result ----------------------------------------------------------------- */

static const json_t *row_with(const json_t *list, const char *const keys[], const char *const of[],
			      size_t n)
{
	const json_t *row;
	size_t i, k;

	json_array_foreach(list, i, row)
	{
		for (k = 0; k < n; k++) {
			const char *s = json_string_value(json_object_get(row, keys[k]));

			if (!s || strcmp(s, of[k]) != 0)
				break;
		}
		if (k == n)
			return row;
	}
	return NULL;
}

static void compare_value(struct arena *a, struct qualify *q, const char *what, const json_t *row,
			  double now, const char *unit)
{
	double then = json_number_value(json_object_get(row, "value"));

	if (then > 0 && isfinite(now) && now < QUALIFY_EARLIER * then)
		qualify_add_fault(
			a, q,
			&(struct qualify_fault){
				.what = what,
				.evidence = arena_printf(a, "%.4g %s, %.4g in the earlier result",
							 now, unit, then) });
}

void qualify_compare(struct arena *a, const json_t *before, struct qualify *q)
{
	static const char *const node_keys[] = { "node" };
	static const char *const figure_keys[] = { "bench", "case", "unit" };
	static const char *const pair_keys[] = { "test", "network", "from", "to" };
	const json_t *own = json_object_get(before, "qualify");

	before = own ? own : before;
	for (size_t i = 0; i < q->n; i++) {
		const struct qualify_node *n = &q->nodes[i];
		const json_t *row = row_with(json_object_get(before, "nodes"), node_keys,
					     (const char *[]){ n->name }, 1);

		for (size_t k = 0; row && k < n->n_figures; k++) {
			const struct qualify_figure *f = &n->figures[k];

			if (f->higher)
				compare_value(
					a, q,
					arena_printf(a, "%s %s of %s", f->bench, f->name, n->name),
					row_with(json_object_get(row, "figures"), figure_keys,
						 (const char *[]){ f->bench, f->name, f->unit }, 3),
					f->value, f->unit);
		}
	}
	for (size_t i = 0; i < q->n_pairs; i++) {
		const struct qualify_pair *p = &q->pairs[i];
		const char *test = qualify_pair_name(p->test);

		compare_value(a, q,
			      arena_printf(a, "%s between %s and %s (%s)", test, p->from, p->to,
					   p->network),
			      row_with(json_object_get(before, "pairs"), pair_keys,
				       (const char *[]){ test, p->network, p->from, p->to }, 4),
			      p->value, p->test == PAIR_NCCL ? "GB/s" : "Gbit/s");
	}
}

/* --- all of them ------------------------------------------------------------------------------ */

static void take_self(struct arena *a, const struct channel *c, struct qualify *q, size_t i,
		      const struct rsh_reply *reply, struct fleet *f)
{
	struct qualify_node *n = &q->nodes[i];
	struct self_answer *self = ARENA_NEW(a, struct self_answer);
	struct err e = { 0 };

	if (!reply->answer || shape_read(a, &self_answer_shape, reply->answer, self, &e)) {
		qualify_reason(a, n, QUALIFY_UNKNOWN,
			       reply->answer	? cluster_clean_text(a, e.text, WHY_MAX)
			       : reply->failure ? reply->failure
						: "no answer");
		return;
	}
	n->answered = true;
	if (!c->named && *self->host && !node_named(q, self->host))
		n->name = cluster_clean_text(a, self->host, CLUSTER_NAME_MAX);
	n->platform = self->platform;
	n->gpu = self->gpu;
	n->products = self->products;
	n->n_products = self->n_products;
	if (self->unknown)
		n->unreadable = cluster_clean_text(a, self->unknown, WHY_MAX);
	if (self->unfit)
		qualify_reason(a, n, QUALIFY_DRAIN, cluster_clean_text(a, self->unfit, WHY_MAX));
	add_documents(f, n, reply->answer);
	take_figures(a, n, json_object_get(reply->answer, "bench"));
}

/* What its counters of errors say now, after data went over its ports and its GPUs worked. */
static int ask_again(struct arena *a, const struct channel *c, struct qualify *q)
{
	struct rsh_reply *replies = arena_array(a, c->n, sizeof(*replies));
	json_t **with = arena_array(a, c->n, sizeof(json_t *));
	int r;

	for (size_t i = 0; i < c->n; i++)
		if (q->nodes[i].answered)
			with[i] = shape_object_json(&self_ask_shape,
						    &(struct self_ask){ .again = true });
	r = c->ask(c->ctx, "self", with, SELF_MS, replies);
	for (size_t i = 0; i < c->n && r == 0; i++) {
		struct self_answer *self = ARENA_NEW(a, struct self_answer);
		struct err e;

		if (q->nodes[i].answered && replies[i].answer &&
		    shape_read(a, &self_answer_shape, replies[i].answer, self, &e) == 0 &&
		    self->unfit)
			qualify_reason(a, &q->nodes[i], QUALIFY_DRAIN,
				       arena_printf(a, "during the tests: %s",
						    cluster_clean_text(a, self->unfit, WHY_MAX)));
	}
	return r;
}

/* Of those that are unreadable in part the first, and how many. */
static void note_unreadable(struct arena *a, struct qualify *q)
{
	const struct qualify_node *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		if (q->nodes[i].unreadable) {
			first = first ? first : &q->nodes[i];
			n++;
		}
	if (first)
		qualify_note(a, q,
			     arena_printf(a,
					  "not read or not measured on %zu of %zu nodes; on %s: %s",
					  n, q->n, first->name, first->unreadable));
}

int qualify_nodes(struct arena *a, const struct channel *c, const struct qualify_how *how,
		  struct qualify *out)
{
	double seconds = how->no_bench ? 0 : SELF_PART * how->budget_s;
	struct rsh_reply *replies = arena_array(a, c->n, sizeof(*replies));
	json_t **with = arena_array(a, c->n, sizeof(json_t *));
	struct fleet *f = fleet_new(a, false);
	int r;

	out->nodes = arena_array(a, c->n, sizeof(*out->nodes));
	out->n = c->n;
	for (size_t i = 0; i < c->n; i++) {
		out->nodes[i].name = c->names[i];
		with[i] = shape_object_json(&self_ask_shape,
					    &(struct self_ask){ .seconds = seconds });
	}
	if (how->say)
		how->say(how->ctx, "each node separately");
	/* A case of a bench may take longer than it is given, by its set-up. */
	r = c->ask(c->ctx, "self", with, SELF_MS + (int)(1500 * seconds), replies);
	for (size_t i = 0; i < c->n && r == 0; i++)
		take_self(a, c, out, i, &replies[i], f);
	compare_benches(a, out, f);
	compare_products(a, out);
	return r;
}

int qualify_run(struct arena *a, const struct channel *c, const struct qualify_how *given,
		struct qualify *out)
{
	struct qualify_how how = *given;
	double begin = (double)clock_mono_ns() / 1e9, spent;
	int r;

	*out = (struct qualify){ 0 };
	how.budget_s = how.budget_s > 0 ? how.budget_s : QUALIFY_BUDGET_S;
	r = qualify_nodes(a, c, &how, out);
	spent = (double)clock_mono_ns() / 1e9 - begin;
	if (r == 0 && c->n > 1 && !how.no_links)
		r = qualify_links(a, c, &how, how.budget_s - spent, out);
	if (r == 0 && (!how.no_bench || out->n_rails))
		r = ask_again(a, c, out);
	if (how.before)
		qualify_compare(a, how.before, out);
	note_unreadable(a, out);
	for (size_t i = 0; i < out->n; i++) {
		out->drained += out->nodes[i].state == QUALIFY_DRAIN;
		out->unknown += out->nodes[i].state == QUALIFY_UNKNOWN;
	}
	out->interrupted = r == -EINTR;
	out->seconds = (double)clock_mono_ns() / 1e9 - begin;
	return r;
}
