/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks tell each other in a step: which collectives, how large, and what computation hides.
 */
#include <math.h>

#include "train/work.h"

/* What one way to train sends, while it is collected. */
struct sum {
	struct arena *a;
	const struct train_question *q;
	struct train_answer *out;
};

/* Adds count calls of so many bytes; returns their seconds. */
static struct train_comm *add(struct sum *c, enum train_collective what, const char *purpose,
			      double count, double bytes, int ranks, int per_node)
{
	struct train_comm *t;
	struct train_link link;

	if (ranks <= 1 || count <= 0 || bytes <= 0 || c->out->n_comms >= TRAIN_COMMS)
		return NULL;
	train_link_of(c->a, c->q, what, bytes, ranks, per_node, &link);
	t = &c->out->comms[c->out->n_comms++];
	*t = (struct train_comm){ .what = what,
				  .purpose = purpose,
				  .ranks = ranks,
				  .between = link.between,
				  .count = count,
				  .bytes = bytes,
				  .busbw_gbs = link.busbw_gbs,
				  .total_s = count * link.seconds,
				  .from = link.from };
	return t;
}

/* Hides seconds behind what is left of computation; what cannot be hidden is exposed. */
static void hide(const struct train_question *q, struct train_comm *t, double *room,
		 struct train_exposed *x, double *exposed)
{
	double part = q->overlap ? fmin(t->total_s, fmax(0, *room)) : 0;

	*room -= part;
	t->exposed_s = t->total_s - part;
	*exposed += t->exposed_s;
	x->contend_s += part * train_fit_of(q)->v[TFIT_CONTEND];
	x->total_s += t->total_s;
}

/* Gradients that are summed at the end of a step, in buckets, behind the last backward pass. */
static void copies(struct sum *c, const struct train_shape *s, const struct train_micro *m,
		   struct train_exposed *x)
{
	const struct train_question *q = c->q;
	double bytes = s->trained * train_gradient_bytes(q), buckets;
	double times = q->sync_each_micro ? q->accumulation : 1;
	double hide_part = train_fit_of(q)->v[TFIT_HIDE];
	double back = times * hide_part * (m->backward + m->recompute), forward;
	struct train_comm *t;

	buckets = ceil(bytes / fmin(fmax(q->bucket_bytes, 1e5), bytes + 1));
	if (q->way == TRAIN_DDP) {
		t = add(c, TRAIN_ALL_REDUCE, "gradients", buckets * times, bytes / buckets,
			s->ranks, s->per_node);
		if (!t)
			return;
		/* The last bucket waits for the last gradient. */
		hide(q, t, &back, x, &x->step_s);
		if (t->exposed_s < t->total_s / t->count) {
			x->step_s += t->total_s / t->count - t->exposed_s;
			t->exposed_s = t->total_s / t->count;
		}
		return;
	}
	t = add(c, TRAIN_REDUCE_SCATTER, "gradients", buckets * times, bytes / buckets, s->ranks,
		s->per_node);
	if (t)
		hide(q, t, &back, x, &x->step_s);
	bytes = s->trained * train_weight_bytes(q);
	buckets = ceil(bytes / fmin(fmax(q->bucket_bytes, 1e5), bytes + 1));
	forward = hide_part * m->forward;
	t = add(c, TRAIN_ALL_GATHER, "updated weights", buckets, bytes / buckets, s->ranks,
		s->per_node);
	if (t)
		hide(q, t, &forward, x, &x->step_s);
}

/* Weights gathered layer by layer, gradients scattered; all of it again for each micro-batch. */
static void shards(struct sum *c, const struct train_shape *s, const struct train_micro *m,
		   struct train_exposed *x)
{
	const struct train_question *q = c->q;
	int n = q->way == TRAIN_HSDP ? q->shard : s->ranks;
	int near = n < s->per_node ? n : s->per_node;
	double micros = q->accumulation, layers = fmax(s->layers, 1), part;
	double syncs = q->sync_each_micro ? micros : 1;
	double layer = s->params / layers * train_weight_bytes(q), room;
	double scattered = s->trained / layers * train_gradient_bytes(q);
	struct train_comm *t;

	part = train_fit_of(q)->v[TFIT_HIDE] * micros;
	room = part * (m->forward + m->launch / 3);
	t = add(c, TRAIN_ALL_GATHER, "weights, forward", layers * micros, layer, n, near);
	if (t)
		hide(q, t, &room, x, &x->step_s);
	room = part * (m->backward + m->recompute + m->launch * 2 / 3);
	t = q->reshard
		    ? add(c, TRAIN_ALL_GATHER, "weights, backward", layers * micros, layer, n, near)
		    : NULL;
	if (t)
		hide(q, t, &room, x, &x->step_s);
	t = add(c, TRAIN_REDUCE_SCATTER, "gradients", layers * syncs, scattered, n, near);
	if (t)
		hide(q, t, &room, x, &x->step_s);
	if (q->way != TRAIN_HSDP || n >= s->ranks)
		return;
	t = add(c, TRAIN_ALL_REDUCE, "gradients between groups", layers * syncs, scattered / n,
		s->ranks / n, s->per_node / n > 1 ? s->per_node / n : 1);
	if (t)
		hide(q, t, &room, x, &x->step_s);
}

/* Two sums forward and two backward in each layer, of one micro-batch's activations. */
static void tensor(struct sum *c, const struct train_shape *s, struct train_exposed *x)
{
	const struct train_question *q = c->q;
	double bytes = s->tokens * q->arch.hidden * train_weight_bytes(q), hidden;
	double sums = q->recompute == TRAIN_FULL ? 6 : 4;
	int in_node = q->place.gpus / q->place.nodes;
	struct train_comm *t;

	/* With sequence parallelism a sum is a scatter and a gather: the same bytes. */
	t = add(c, q->sp ? TRAIN_REDUCE_SCATTER : TRAIN_ALL_REDUCE, "tensor parallel",
		sums * (q->sp ? 2 : 1) * s->layers * q->accumulation, bytes, q->tp,
		q->tp < in_node ? q->tp : in_node);
	if (!t)
		return;
	hidden = q->tp_overlap ? train_fit_of(q)->v[TFIT_TP_HIDDEN] : 0;
	t->exposed_s = t->total_s * (1 - hidden);
	x->micro_s += t->exposed_s / q->accumulation;
	x->total_s += t->total_s;
	x->contend_s += t->total_s * hidden * train_fit_of(q)->v[TFIT_CONTEND];
}

static int near_of(const struct train_question *q, int ranks)
{
	int room = q->place.gpus / q->place.nodes / q->tp;

	room = room < 1 ? 1 : room;
	return ranks < room ? ranks : room;
}

/* Each token goes to its experts and back, forward and backward. */
static void experts(struct sum *c, const struct train_shape *s, struct train_exposed *x)
{
	const struct train_question *q = c->q;
	double width = train_weight_bytes(q) * q->arch.hidden / q->tp;
	double reached = fmin(q->arch.top, q->ep);
	struct train_comm *t = add(c, TRAIN_ALL_TO_ALL, "experts",
				   4.0 * q->arch.moe_layers / q->pp * q->accumulation,
				   s->tokens * reached * width, q->ep, near_of(q, q->ep));

	if (!t)
		return;
	t->exposed_s = t->total_s * (q->overlap ? train_fit_of(q)->v[TFIT_EP_EXPOSED] : 1);
	x->micro_s += t->exposed_s / q->accumulation;
	x->total_s += t->total_s;
}

/* Keys and values travel around the ranks of one sequence, behind attention. */
static void context(struct sum *c, const struct train_shape *s, const struct train_micro *m,
		    struct train_exposed *x)
{
	const struct train_question *q = c->q;
	double kv = 2.0 * q->arch.kv_heads * q->arch.head_dim / q->tp * train_weight_bytes(q);
	double micros = q->accumulation, exposed = 0, room;
	struct train_comm *t =
		add(c, TRAIN_ALL_GATHER, "sequence (context) parallel", 3 * s->layers * micros,
		    s->tokens * q->cp * kv, q->cp, near_of(q, q->cp));

	if (!t)
		return;
	room = 3.5 * m->attention * micros * train_fit_of(q)->v[TFIT_HIDE];
	hide(q, t, &room, x, &exposed);
	x->micro_s += exposed / micros;
}

static void stages(struct sum *c, const struct train_shape *s, struct train_exposed *x)
{
	const struct train_question *q = c->q;
	double bytes = s->tokens * q->arch.hidden * train_weight_bytes(q) / (q->sp ? q->tp : 1);
	int in_node = q->place.gpus / q->place.nodes;
	bool near = q->tp * q->dp * q->cp * 2 <= in_node;
	struct train_comm *t = add(c, TRAIN_SEND, "stages", 2.0 * q->interleave * q->accumulation,
				   bytes, q->pp > 1 ? 2 : 1, near ? 2 : 1);

	if (!t)
		return;
	/* Interleaved schedules send while they compute; 1F1B waits for what it needs next. */
	t->exposed_s = t->total_s * (q->overlap && q->interleave > 1 ? 0.25 : 0.5);
	x->micro_s += t->exposed_s / q->accumulation;
	x->total_s += t->total_s;
}

void train_comms_of(struct arena *a, const struct train_shape *s, const struct train_micro *m,
		    struct train_answer *out, struct train_exposed *x)
{
	const struct train_question *q = &out->q;
	struct sum c = { a, q, out };

	*x = (struct train_exposed){ 0 };
	if (q->way == TRAIN_ZERO3 || q->way == TRAIN_FSDP || q->way == TRAIN_HSDP)
		shards(&c, s, m, x);
	else
		copies(&c, s, m, x);
	if (q->tp > 1)
		tensor(&c, s, x);
	if (q->ep > 1)
		experts(&c, s, x);
	if (q->cp > 1)
		context(&c, s, m, x);
	if (q->pp > 1)
		stages(&c, s, x);
}
