/* SPDX-License-Identifier: Apache-2.0 */
/* Each node by itself, and beside the others. */
#include "many/ranks/qualify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "many/cluster/node.h"
#include "many/read/read.h"

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

struct taking {
	struct arena *a;
	struct qualify_node *n;
};

/* The first of each case. */
static void take_figure(void *ctx, const struct read_figure *r)
{
	struct arena *a = ((struct taking *)ctx)->a;
	struct qualify_node *n = ((struct taking *)ctx)->n;
	struct qualify_figure f = { cluster_clean_text(a, r->bench, TERM_MAX),
				    cluster_clean_text(a, r->name, TERM_MAX),
				    cluster_clean_text(a, r->unit_text ? r->unit_text : r->unit,
						       TERM_MAX),
				    r->median, !r->lower },
			      *last = n->n_figures ? &n->figures[n->n_figures - 1] : NULL;

	if (n->n_figures == FIGURES_MAX ||
	    (last && strcmp(last->bench, f.bench) == 0 && strcmp(last->name, f.name) == 0))
		return;
	ARENA_ADD(a, n->figures, n->n_figures) = f;
}

/* --- beside an earlier result ----------------------------------------------------------------- */

static void compare_value(struct arena *a, struct qualify *q, const char *what, double then,
			  double now, const char *unit)
{
	if (then > 0 && now < QUALIFY_EARLIER * then)
		qualify_add_fault(
			a, q,
			&(struct qualify_fault){
				.what = what,
				.evidence = arena_printf(a, "%.4g %s, %.4g in the earlier result",
							 now, unit, then) });
}

static void compare_node(struct arena *a, struct qualify *q, const struct qualify_node *then,
			 const struct qualify_node *now)
{
	for (size_t i = 0; i < now->n_figures; i++)
		for (size_t k = 0; k < then->n_figures; k++) {
			const struct qualify_figure *f = &now->figures[i], *g = &then->figures[k];

			if (f->higher && strcmp(f->bench, g->bench) == 0 &&
			    strcmp(f->name, g->name) == 0 && strcmp(f->unit, g->unit) == 0)
				compare_value(a, q,
					      arena_printf(a, "%s %s of %s", f->bench, f->name,
							   now->name),
					      g->value, f->value, f->unit);
		}
}

static void qualify_compare(struct arena *a, const struct qualify *before, struct qualify *q)
{
	for (size_t i = 0; i < before->n; i++) {
		const struct qualify_node *now = node_named(q, before->nodes[i].name);

		if (now)
			compare_node(a, q, &before->nodes[i], now);
	}
	for (size_t i = 0; i < q->n_pairs; i++)
		for (size_t k = 0; k < before->n_pairs; k++) {
			const struct qualify_pair *p = &q->pairs[i], *x = &before->pairs[k];

			if (p->test == x->test && strcmp(p->network, x->network) == 0 &&
			    strcmp(p->from, x->from) == 0 && strcmp(p->to, x->to) == 0)
				compare_value(a, q,
					      arena_printf(a, "%s between %s and %s (%s)",
							   qualify_pair_name(p->test), p->from,
							   p->to, p->network),
					      x->value, p->value,
					      p->test == PAIR_NCCL ? "GB/s" : "Gbit/s");
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
	(void)read_figures(a, json_object_get(reply->answer, "bench"), take_figure,
			   &(struct taking){ a, n }, &e);
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

static int qualify_nodes(struct arena *a, const struct channel *c, const struct qualify_how *how,
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
		how->say(how->ctx, SELF_MS / 1e3 + 1.5 * seconds, "each node separately");
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
