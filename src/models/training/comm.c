/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks tell each other in a step: which collectives, how large, and what computation hides.
 */
#include <math.h>

#include "models/training/work.h"

/*
 * One collective's time: a latency and a bandwidth, from a measured curve where there is one that
 * fits, else from data sheets and the fitted part of them. Bandwidths are bus bandwidths.
 */

/* Latency of a small collective inside a machine, and of each more rank, us: nccl-tests on
 * H100/H200 machines show 15 to 30 us below 64 KiB. */
#define START_US 14.0
#define RANK_US 1.0
/* A machine without a fast link between its GPUs. */
#define NET_START_US 25.0

/* From bytes on the bus to bytes of the call, as nccl-tests defines it. */
static double train_link_factor(enum train_collective what, int n)
{
	switch (what) {
	case TRAIN_ALL_REDUCE:
		return 2 * (n - 1.0) / n;
	case TRAIN_SEND:
		return 1;
	default:
		return (n - 1.0) / n;
	}
}

/* Linear between the points over the logarithm of the size; flat behind the last one; below the
 * first one the time of the first one. */
static double curve_at(const struct train_curve *c, double bytes)
{
	size_t i = 0;
	double x;

	if (bytes <= c->at[0].bytes)
		return c->at[0].busbw_gbs * bytes / c->at[0].bytes;
	while (i + 1 < c->n && c->at[i + 1].bytes < bytes)
		i++;
	if (i + 1 >= c->n)
		return c->at[c->n - 1].busbw_gbs;
	x = log(bytes / c->at[i].bytes) / log(c->at[i + 1].bytes / c->at[i].bytes);
	return c->at[i].busbw_gbs + x * (c->at[i + 1].busbw_gbs - c->at[i].busbw_gbs);
}

/* The same collective in the same place; one with as many ranks goes before another. */
static const struct train_curve *curve_for(const struct train_config *q, enum train_collective what,
					   bool between, int ranks)
{
	const struct train_curve *best = NULL;

	for (size_t i = 0; i < q->n_curves; i++) {
		const struct train_curve *c = &q->curves[i];

		if (!c->n || c->what != what || c->between != between)
			continue;
		if (!best || (c->ranks == ranks && best->ranks != ranks))
			best = c;
	}
	return best;
}

static void by_sheet(struct arena *a, const struct train_config *q, enum train_collective what,
		     double bytes, int ranks, int per_node, struct train_link *l)
{
	const struct train_fit *f = train_fit_of(q);
	double inside = train_link_gbs(q) * f->v[TFIT_LINK], most = inside, us;
	double nodes = ceil(ranks / (double)per_node);

	us = START_US + RANK_US * per_node;
	if (l->between) {
		/* Each rank of a machine sends over an adapter of its own; a ring passes each
		 * machine once over each of them. */
		double net = train_network_gbs(q) * f->v[TFIT_NET];
		double lanes = what == TRAIN_ALL_TO_ALL ? 1 : per_node;

		most = per_node > 1 ? fmin(inside, net * lanes) : net;
		/* Trees and doubling take as many steps as the count has doublings. */
		us += NET_START_US +
		      f->v[TFIT_HOP_US] *
			      (what == TRAIN_ALL_REDUCE ? 2 * log2(nodes) : fmin(nodes, 64) - 1);
		l->from = arena_printf(
			a, "%.4g GB/s per direction of %.0f adapter%s, %.0f %% of it",
			train_network_gbs(q) * lanes, lanes, PLURAL(lanes), 100 * f->v[TFIT_NET]);
	} else {
		l->from = arena_printf(a, "%.4g GB/s link bandwidth per direction, %.0f %% of it",
				       train_link_gbs(q), 100 * f->v[TFIT_LINK]);
	}
	l->seconds = 1e-6 * us + train_link_factor(what, ranks) * bytes / (most * 1e9);
	l->busbw_gbs = train_link_factor(what, ranks) * bytes / l->seconds / 1e9;
}

/* One collective of bytes (as nccl-tests counts them) over ranks, of which per_node share a
 * machine. */
static void train_link_of(struct arena *a, const struct train_config *q, enum train_collective what,
			  double bytes, int ranks, int per_node, struct train_link *out)
{
	const struct train_curve *c;

	*out = (struct train_link){ .between = ranks > per_node };
	c = curve_for(q, what, out->between, ranks);
	if (!c) {
		by_sheet(a, q, what, bytes, ranks, per_node, out);
		return;
	}
	out->busbw_gbs = curve_at(c, bytes);
	out->seconds = train_link_factor(what, ranks) * bytes / (out->busbw_gbs * 1e9);
	out->from = c->from;
}

/* What one way to train sends, while it is collected. */
struct sum {
	struct arena *a;
	const struct train_config *q;
	struct train_answer *out;
};

/* Adds count calls of so many bytes; returns their seconds. */
static struct train_comm *comm_add(struct sum *c, enum train_collective what, const char *purpose,
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
static void hide(const struct train_config *q, struct train_comm *t, double *room,
		 struct train_exposed *x, double *exposed)
{
	double part = q->overlap ? fmin(t->total_s, fmax(0, *room)) : 0;

	*room -= part;
	t->exposed_s = t->total_s - part;
	*exposed += t->exposed_s;
	x->contend_s += part * train_fit_of(q)->v[TFIT_CONTEND];
	x->total_s += t->total_s;
}

/* What cannot be hidden, whatever room there is: the first or the last of them. */
static void comm_at_least(struct train_comm *t, double seconds, struct train_exposed *x)
{
	double more = fmin(seconds, t->total_s) - t->exposed_s;

	if (more <= 0)
		return;
	t->exposed_s += more;
	x->step_s += more;
}

/* Parameters of the embedding on this rank: the first that are needed, the last whose gradients are
 * there. */
static double edge_of(const struct train_config *q)
{
	return q->pp > 1 ? 0 : (double)q->arch.hidden * q->arch.vocab / q->tp;
}

/* Parameters that the same ranks hold: those outside experts, or experts. */
struct part {
	double params, trained;
	int ranks, near; /* near: of them in one machine */
	const char *gradients, *updated, *forward, *backward;
};

/* Both parts; experts that nobody else holds need no exchange of weights. */
static int comm_parts_of(const struct train_config *q, const struct train_shape *s, struct part *p)
{
	double part = train_trained_part(q);
	int in_node = place_per_node(&q->place), n = 1;

	p[0] = (struct part){ s->dense,		  s->dense * part,    s->ranks,
			      s->per_node,	  "gradients",	      "updated weights",
			      "weights, forward", "weights, backward" };
	if (q->ep <= 1) {
		p[0].params = s->params;
		p[0].trained = s->trained;
	} else if (s->expert_ranks > 1) {
		p[n++] = (struct part){
			s->experts,
			s->experts * part,
			(int)s->expert_ranks,
			(int)fmin(s->expert_ranks, fmax(1, floor((double)in_node / q->ep))),
			"experts' gradients",
			"updated experts",
			"experts, forward",
			"experts, backward"
		};
	}
	return n;
}

/* Gradients that are summed at the end of a step, in buckets, behind the last backward pass. */
static void comm_copies(struct sum *c, const struct part *p, double *forward, double *back,
			struct train_exposed *x)
{
	const struct train_config *q = c->q;
	double bytes = p->trained * train_gradient_bytes(q), buckets;
	double times = q->sync_each_micro ? q->accumulation : 1;
	struct train_comm *t;

	buckets = ceil(bytes / fmin(fmax(q->bucket_bytes, 1e5), bytes + 1));
	t = comm_add(c, q->way == TRAIN_DDP ? TRAIN_ALL_REDUCE : TRAIN_REDUCE_SCATTER, p->gradients,
		     buckets * times, bytes / fmax(buckets, 1), p->ranks, p->near);
	if (t)
		hide(q, t, back, x, &x->step_s);
	if (q->way == TRAIN_DDP) {
		/* The last bucket waits for the last gradient: that of the embedding. */
		if (t)
			comm_at_least(t,
				      t->total_s *
					      fmax(1 / t->count,
						   edge_of(q) * train_trained_part(q) / p->params),
				      x);
		return;
	}
	bytes = p->trained * train_weight_bytes(q);
	buckets = ceil(bytes / fmin(fmax(q->bucket_bytes, 1e5), bytes + 1));
	t = comm_add(c, TRAIN_ALL_GATHER, p->updated, buckets, bytes / fmax(buckets, 1), p->ranks,
		     p->near);
	if (t)
		hide(q, t, forward, x, &x->step_s);
}

/* Weights gathered layer by layer, gradients scattered; all of it again for each micro-batch. */
static void comm_shards(struct sum *c, const struct train_shape *s, const struct part *p,
			double *forward, double *back, struct train_exposed *x)
{
	const struct train_config *q = c->q;
	int n = q->way == TRAIN_HSDP ? (q->shard < p->ranks ? q->shard : p->ranks) : p->ranks;
	int near = n < p->near ? n : p->near;
	double micros = q->accumulation, layers = fmax(s->layers, 1);
	double syncs = q->sync_each_micro ? micros : 1;
	double layer = p->params / layers * train_weight_bytes(q);
	double scattered = p->trained / layers * train_gradient_bytes(q);
	/* Embedding and head are a unit of their own: gathered before anything runs, scattered when
	 * nothing is left. */
	double edge = edge_of(q) * (q->arch.tied ? 1 : 2) / p->params;
	struct train_comm *t;

	if (p->params < s->dense) /* experts */
		edge = 0;
	t = comm_add(c, TRAIN_ALL_GATHER, p->forward, layers * micros, layer, n, near);
	if (t) {
		hide(q, t, forward, x, &x->step_s);
		comm_at_least(t, t->total_s * edge, x);
	}
	t = q->reshard ? comm_add(c, TRAIN_ALL_GATHER, p->backward, layers * micros, layer, n, near)
		       : NULL;
	if (t)
		hide(q, t, back, x, &x->step_s);
	t = comm_add(c, TRAIN_REDUCE_SCATTER, p->gradients, layers * syncs, scattered, n, near);
	if (t) {
		hide(q, t, back, x, &x->step_s);
		comm_at_least(t, t->total_s * edge * train_trained_part(q), x);
	}
	if (q->way != TRAIN_HSDP || n >= p->ranks)
		return;
	t = comm_add(c, TRAIN_ALL_REDUCE, "gradients between groups", layers * syncs, scattered / n,
		     p->ranks / n, p->near / n > 1 ? p->near / n : 1);
	if (t)
		hide(q, t, back, x, &x->step_s);
}

/* Weights and gradients between the ranks that hold the same parameters. */
static void exchanges(struct sum *c, const struct train_shape *s, const struct train_micro *m,
		      struct train_exposed *x)
{
	const struct train_config *q = c->q;
	bool sharded = train_parallelism_shards(q->way);
	double hidden = train_fit_of(q)->v[TFIT_HIDE], forward, back;
	double times = q->sync_each_micro ? q->accumulation : 1;
	struct part parts[2];
	int n = comm_parts_of(q, s, parts);

	back = m->backward + m->recompute;
	if (sharded) {
		forward = hidden * q->accumulation * (m->forward + m->launch / 3);
		back = hidden * q->accumulation * (back + m->launch * 2 / 3);
	} else {
		forward = hidden * m->forward;
		back *= times * hidden;
	}
	for (int i = 0; i < n; i++) {
		if (sharded)
			comm_shards(c, s, &parts[i], &forward, &back, x);
		else
			comm_copies(c, &parts[i], &forward, &back, x);
	}
}

/* Two sums forward and two backward in each layer, of one micro-batch's activations. */
static void tensor(struct sum *c, const struct train_shape *s, struct train_exposed *x)
{
	const struct train_config *q = c->q;
	double bytes = s->tokens * q->arch.hidden * train_weight_bytes(q), hidden;
	double sums = q->recompute == TRAIN_FULL ? 6 : 4;
	int in_node = place_per_node(&q->place);
	struct train_comm *t;

	/* With sequence parallelism a sum is a scatter and a gather: the same bytes. */
	t = comm_add(c, q->sp ? TRAIN_REDUCE_SCATTER : TRAIN_ALL_REDUCE, "tensor parallel",
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

static int near_of(const struct train_config *q, int ranks)
{
	int room = place_per_node(&q->place) / q->tp;

	room = room < 1 ? 1 : room;
	return ranks < room ? ranks : room;
}

/*
 * Each token goes to its experts and back, forward and backward. Plain all-to-all sends a copy for
 * each choice; fused dispatchers (DeepEP, HybridEP) send one to each machine and copy there, so
 * that the network carries what a token's choices reach of the other machines.
 */
static void comm_experts(struct sum *c, const struct train_shape *s, struct train_exposed *x)
{
	const struct train_config *q = c->q;
	double width = train_weight_bytes(q) * train_expert_in(q) / q->tp;
	double top = q->arch.top, in_node = place_per_node(&q->place);
	int near = (int)fmax(1, fmin(q->ep, in_node));
	double nodes = ceil(q->ep / (double)near), copies = top;
	struct train_comm *t;

	/* As many bytes as with all of them going to other ranks alike. */
	if (q->compile && nodes > 1)
		copies = fmin(top, (nodes * (1 - pow(1 - 1 / nodes, top))) * (nodes - 1) / nodes *
					   q->ep / (q->ep - 1.0));
	t = comm_add(c, TRAIN_ALL_TO_ALL, "experts",
		     4.0 * q->arch.moe_layers / q->pp * q->accumulation, s->tokens * copies * width,
		     q->ep, near);
	if (!t)
		return;
	t->exposed_s = t->total_s * (q->overlap ? train_fit_of(q)->v[TFIT_EP_EXPOSED] : 1);
	x->micro_s += t->exposed_s / q->accumulation;
	x->total_s += t->total_s;
}

/* Keys and values travel around the ranks of one sequence, behind attention. */
static void comm_context(struct sum *c, const struct train_shape *s, const struct train_micro *m,
			 struct train_exposed *x)
{
	const struct train_config *q = c->q;
	double kv = 2.0 * q->arch.kv_heads * q->arch.head_dim / q->tp * train_weight_bytes(q);
	double micros = q->accumulation, exposed = 0, room;
	struct train_comm *t =
		comm_add(c, TRAIN_ALL_GATHER, "sequence (context) parallel", 3 * s->layers * micros,
			 s->tokens * q->cp * kv, q->cp, near_of(q, q->cp));

	if (!t)
		return;
	room = 3.5 * m->attention * micros * train_fit_of(q)->v[TFIT_HIDE];
	hide(q, t, &room, x, &exposed);
	x->micro_s += exposed / micros;
}

static void stages(struct sum *c, const struct train_shape *s, struct train_exposed *x)
{
	const struct train_config *q = c->q;
	double bytes = s->tokens * q->arch.hidden * train_weight_bytes(q) / (q->sp ? q->tp : 1);
	int in_node = place_per_node(&q->place);
	bool near = q->tp * q->dp * q->cp * 2 <= in_node;
	struct train_comm *t =
		comm_add(c, TRAIN_SEND, "stages", 2.0 * q->interleave * q->accumulation, bytes,
			 q->pp > 1 ? 2 : 1, near ? 2 : 1);

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
	const struct train_config *q = &out->q;
	struct sum c = { a, q, out };

	*x = (struct train_exposed){ 0 };
	exchanges(&c, s, m, x);
	if (q->tp > 1)
		tensor(&c, s, x);
	if (q->ep > 1)
		comm_experts(&c, s, x);
	if (q->cp > 1)
		comm_context(&c, s, m, x);
	if (q->pp > 1)
		stages(&c, s, x);
}
