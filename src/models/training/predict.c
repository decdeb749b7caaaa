/* SPDX-License-Identifier: Apache-2.0 */
/* A step put together: micro-batches on stages, bubbles, what stays exposed, the update. */
#include <math.h>

#include "models/training/work.h"

/* The equations with the numbers put in. */

static void line(struct train_answer *p, const char *text)
{
	if (p->n_lines < TRAIN_LINES)
		p->lines[p->n_lines++] = text;
}

const char *train_plain(struct arena *a, double v, int figures)
{
	double m = fabs(v);
	int before = m > 0 && isfinite(m) ? (int)floor(log10(m)) + 1 : figures;
	int digits = figures - before;

	if (!isfinite(v))
		return "endless";
	return arena_printf(a, "%.*f", digits < 0 ? 0 : digits > 12 ? 12 : digits, v);
}

/* Milliseconds. */
static const char *ms(struct arena *a, double seconds)
{
	return train_plain(a, 1e3 * seconds, 4);
}

static void train_explain_operations(struct arena *a, struct train_answer *p)
{
	double part = train_trained_part(&p->q);

	line(p, arena_printf(a,
			     "per token: %.4g x %s G parameters + attention = %s GFLOP forward and "
			     "backward%s; with recomputation %s",
			     2 * (2 + part), train_plain(a, p->active / 1e9, 4),
			     train_plain(a, p->model_flops / 1e9, 4),
			     part < 1 ? ", frozen weights without gradients" : "",
			     train_plain(a, p->hardware_flops / 1e9, 4)));
}

/* The passes of a micro-batch, each with all of its parts. */
static void train_explain_passes(struct arena *a, struct train_answer *p,
				 const struct train_micro *m)
{
	const char *routes = "";

	if (m->routing > 0)
		routes = arena_printf(a, " + routing %s", ms(a, m->routing));
	line(p, arena_printf(a,
			     "forward: layers %s + attention %s + norms, residuals, activations "
			     "%s%s + output head %s + loss %s + weight casts %s = %s ms",
			     ms(a, m->linear), ms(a, m->attention), ms(a, m->small), routes,
			     ms(a, m->head), ms(a, m->logits), ms(a, m->casts), ms(a, m->forward)));
	if (m->routing > 0)
		routes = arena_printf(a, " + 2 x routing %s", ms(a, m->routing));
	line(p, arena_printf(a,
			     "backward: %.4g x (layers %s + output head %s) + 2.5 x attention %s + "
			     "2 x norms, residuals, activations %s%s + 2 x loss %s + gradient "
			     "casts and accumulation %s = %s ms",
			     m->back, ms(a, m->linear), ms(a, m->head), ms(a, m->attention),
			     ms(a, m->small), routes, ms(a, m->logits), ms(a, m->accumulated),
			     ms(a, m->backward)));
	if (m->recompute > 0)
		line(p, arena_printf(a, "recomputed before the backward pass: %s ms",
				     ms(a, m->recompute)));
}

/* Heads that kernels are not made for. */
static const char *wide(struct arena *a, const struct train_shape *s)
{
	double more = s->effort_attention / s->flops_attention;

	return more > 1.005 ? arena_printf(a, " x %.2f for heads wider than 128", more) : "";
}

static void train_explain_compute(struct arena *a, struct train_answer *p,
				  const struct train_shape *s, const struct train_micro *m)
{
	const struct train_config *q = &p->q;
	double rate = train_gemm_rate(q, q->precision);

	train_explain_operations(a, p);
	line(p,
	     arena_printf(a,
			  "layers forward, one micro-batch of %.0f tokens: %s TFLOP / (%s TFLOP/s "
			  "x size factor %.2f) = %s ms",
			  s->tokens, train_plain(a, (s->flops_dense + s->flops_expert) / 1e12, 4),
			  train_plain(a, rate / 1e12, 4), m->size, ms(a, m->linear)));
	line(p, arena_printf(a, "attention forward: %s TFLOP / %s TFLOP/s%s%s = %s ms",
			     train_plain(a, s->flops_attention / 1e12, 4),
			     train_plain(a, train_flash_rate(q) / 1e12, 4), wide(a, s),
			     q->attention == TRAIN_EAGER ? " x 2, plus traffic of the scores" : "",
			     ms(a, m->attention)));
	train_explain_passes(a, p, m);
	if (m->launch > 0)
		line(p, arena_printf(a,
				     "the CPU needs %s ms more than the GPU to launch the kernels "
				     "of a micro-batch",
				     ms(a, m->launch)));
}

static void train_explain_step(struct arena *a, struct train_answer *p, const struct train_micro *m)
{
	const struct train_config *q = &p->q;
	const struct train_time *t = &p->time;

	if (t->contention > 0)
		line(p, arena_printf(a,
				     "contention: overlapped communication slows computation by "
				     "%.4g of its time = %s ms",
				     train_fit_of(q)->v[TFIT_CONTEND], ms(a, t->contention)));
	if (q->pp > 1)
		line(p, arena_printf(a,
				     "bubble: (%d - 1) / (%d micro-batches x %d chunks) of the "
				     "work = %s ms",
				     q->pp, q->accumulation, q->interleave, ms(a, t->bubble)));
	line(p, arena_printf(a,
			     "step: %d x (%s + %s + %s) + launches %s + update %s + exposed %s + "
			     "contention %s + bubble %s + waiting %s + loader %s = %s ms",
			     q->accumulation, ms(a, m->forward), ms(a, m->backward),
			     ms(a, m->recompute), ms(a, t->launch), ms(a, t->optimizer),
			     ms(a, t->exposed), ms(a, t->contention), ms(a, t->bubble),
			     ms(a, t->slack), ms(a, t->loader), ms(a, t->total.value)));
}

static void train_explain(struct arena *a, struct train_answer *p, const struct train_shape *s,
			  const struct train_micro *m)
{
	train_explain_compute(a, p, s, m);
	for (size_t i = 0; i < p->n_comms; i++) {
		const struct train_comm *c = &p->comms[i];

		line(p, arena_printf(a,
				     "%s (%s, %d ranks%s): %.0f x %s MB at %s GB/s (%s) = %s ms, "
				     "%s exposed",
				     train_collective_names[c->what], c->purpose, c->ranks,
				     c->between ? ", over the network" : "", c->count,
				     train_plain(a, c->bytes / 1e6, 4),
				     train_plain(a, c->busbw_gbs, 4), c->from, ms(a, c->total_s),
				     ms(a, c->exposed_s)));
	}
	train_explain_step(a, p, m);
}

/* Time of one micro-batch on one stage: multiplications by their size, attention, small kernels,
 * what the CPU cannot launch in time. */

/* What frameworks do besides the model: the CPU's time for launches, by counting kernels, and the
 * passes over weights that mixed precision makes in every micro-batch. */

/* Kernels of a layer's forward pass, beside its multiplications, where they are not fused: two
 * norms, two residuals, an activation, attention; written-out norms, gates and rotations. */
#define KERNELS 6.0
#define KERNELS_GATED 22.0
#define KERNELS_EAGER 5.0
/* Norms of queries and keys: kernels; passes over the heads' width, written out and fused. */
#define KERNELS_QK 16.0
#define QK_PASSES 40.0
#define QK_FUSED 8.0
/* Autocast casts the input of each multiplication that has another type: two of them a layer. */
#define KERNELS_CAST 2.0
/* Routing, permuting, counting and scattering of a layer with experts. */
#define KERNELS_EXPERTS 25.0
/* Backward: a bit more than two kernels for each of the forward pass, from C++ and not from Python:
 * each costs half. */
#define BACK 1.2
/* What FSDP's hooks around a layer cost, in kernels: gathering, freeing, scattering, streams that
 * wait for each other (measured: PyTorch 2.11's first FSDP). */
#define HOOKS 100.0
/* One parameter tensor in an update that is not fused, and in DDP's buckets, in kernels. */
#define UPDATED 0.7
#define REDUCED 0.5

/* Bytes of passes over a parameter: FP32 to 16 bits forward, its gradient back; adding a gradient
 * to another. */
#define CAST 6.0
#define ADD 12.0
/* A multiplication that adds its result to FP32 gradients by itself. */
#define FUSED_ADD 8.0
/* What widens frozen weights (bitsandbytes, GPTQ, torchao) reaches a fifth of the others. */
#define WIDENED 5.0
/* DDP copies gradients into buckets and back, one small kernel for each: 16 bytes, at two thirds of
 * what large ones reach. */
#define BUCKETED 24.0

/* Matrices of a layer; a model with two of them in a block has joined queries, keys and values. */
static double matrices(const struct train_config *q)
{
	return q->arch.ffn_mats == 2 ? 4 : 7;
}

/* Parameter tensors of a layer: matrices and norms, in older models with biases. FSDP has one. */
static double tensors(const struct train_config *q)
{
	if (train_parallelism_shards(q->way))
		return 1;
	return q->arch.ffn_mats == 2 ? 12 : 9;
}

/* An adapted matrix: a cast of its input, two multiplications, a scale and a sum. */
#define KERNELS_ADAPTER 5.0

/* Kernels of a layer's forward pass. */
static double train_host_kernels(const struct train_config *q)
{
	double mats = matrices(q), n = mats;

	n += q->arch.ffn_mats == 2 ? KERNELS : KERNELS_GATED;
	if (q->attention == TRAIN_EAGER)
		n += KERNELS_EAGER;
	n += KERNELS_QK * q->arch.qk_norm;
	n += KERNELS_EXPERTS * q->arch.moe_layers / q->arch.layers;
	if (train_adapters(q))
		n += KERNELS_ADAPTER * mats;
	/* Weights and, in older models, as many biases. */
	if (train_autocast(q))
		n += KERNELS_CAST + mats * (q->arch.ffn_mats == 2 ? 2 : 1);
	return q->compile ? n * train_fit_of(q)->v[TFIT_LAUNCH_FUSED] : n;
}

/* The CPU's time to launch one micro-batch's kernels, with its part of the update. */
static double train_host_s(const struct train_config *q, const struct train_shape *s)
{
	double each = 1e-6 * train_fit_of(q)->v[TFIT_LAUNCH_US] * q->framework->host, layer;

	layer = train_host_kernels(q) * (1 + BACK + (q->recompute == TRAIN_FULL ? 1 : 0));
	if (train_parallelism_shards(q->way) && s->ranks > 1)
		layer += HOOKS;
	if (!q->compile && q->optimizer != TRAIN_ADAMW_FUSED)
		layer += UPDATED * tensors(q) / q->accumulation;
	if (q->way == TRAIN_DDP && s->ranks > 1)
		layer += REDUCED * tensors(q) / q->accumulation;
	return each * layer * s->layers + q->framework->step_s / q->accumulation;
}

/* Adds casts and sums over the weights to the passes of m; what a step does once is spread over its
 * micro-batches. */
static void train_weights_passes(const struct train_config *q, const struct train_shape *s,
				 struct train_micro *m)
{
	double micros = q->accumulation, forward = 0, backward = 0;
	double rate = q->place.gpu->bandwidth * 1e9 * train_fit_of(q)->v[TFIT_MEMORY];

	if (train_weight_bytes(q) > 2)
		return;
	if (train_autocast(q)) {
		forward = CAST * s->params;
		backward = CAST * s->trained + ADD * s->trained * (micros - 1) / micros;
		if (s->ranks > 1)
			backward += BUCKETED * s->trained / micros;
		if (q->recompute == TRAIN_FULL)
			m->recompute += CAST * s->params / rate;
	} else if (train_parallelism_shards(q->way)) {
		double n = q->way == TRAIN_HSDP ? q->shard : s->ranks;

		forward = CAST * s->params / n;
		backward = (q->reshard ? CAST * s->params / n : 0) +
			   (train_gradient_bytes(q) + 2) * s->trained;
	} else {
		/* Frameworks that keep gradients in FP32 add each micro-batch's to them. */
		backward = FUSED_ADD * s->trained;
	}
	if (q->frozen_bits > 0) {
		/* Made 16 bits wide for each multiplication, forward and backward. */
		double layers =
			s->params - s->trained - (s->parts.embed + s->parts.head) / q->tp / q->pp;
		double wide = fmax(0, layers) * (q->frozen_bits / 8 + 2) * WIDENED;

		forward += wide;
		backward += wide;
		if (q->recompute == TRAIN_FULL)
			m->recompute += wide / rate;
	}
	m->casts = forward / rate;
	m->accumulated = backward / rate;
	m->forward += m->casts;
	m->backward += m->accumulated;
}

/* Passes over a vector of the hidden width, of the heads' width, and of the inner width, that
 * norms, residuals, rotations and activations make forward and backward, each a read or a write. */
#define ROW_PASSES 26.0
#define HEAD_PASSES 7.0
#define INNER_PASSES 12.0
/* Norms by root mean square, rotations and gates written out make so many more of them when kernels
 * are not fused. */
#define WRITTEN_OUT 1.9
/* Bytes more where autocast leaves residuals and norms in FP32, casts included. */
#define WIDE 84.0
/* Bytes a logit costs: cast, softmax, its gradient; with fused losses. */
#define LOGIT 36.0
#define LOGIT_FUSED 20.0
/* Bytes of traffic for a parameter in one update: read and write FP32 weights and both states, read
 * the gradient, write the BF16 copy. */
#define UPDATE 30.0
/* AdamW by lists of tensors, PyTorch's default: eight kernels pass over 84 bytes, at less than the
 * bandwidth of others. */
#define UPDATE_LISTS 100.0

/* Bytes of traffic for an inner element of GELU written out in FP32, its backward pass twice that
 * of its forward one: nine kernels of 4 to 10 bytes. */
#define GELU_PASSES 204.0
/* Bytes of traffic for each element that goes into or comes out of an adapted matrix, all passes of
 * a step: its input cast to FP32 and back, its output scaled and added. */
#define ADAPTER 36.0

/* The backward pass of frozen weights over their forward one, with small adapters beside. */
#define ADAPTED 1.05

/* A multiplication of this size reaches this part of what large ones do. */
static double size_part(const struct train_config *q, double rows, double inner, double columns,
			double rate)
{
	double side = 3 / (1 / fmax(rows, 1) + 1 / fmax(inner, 1) + 1 / fmax(columns, 1));
	double half = train_fit_of(q)->v[TFIT_SIZE] * sqrt(rate / 1e15);

	return side / (side + half);
}

static double bandwidth(const struct train_config *q)
{
	return q->place.gpu->bandwidth * 1e9 * train_fit_of(q)->v[TFIT_MEMORY];
}

static double linear_s(const struct train_config *q, const struct train_shape *s,
		       struct train_micro *m)
{
	double rate = train_gemm_rate(q, q->precision), h = q->arch.hidden;
	double per_layer = 2 * s->tokens * h * fmax(s->layers, 1);
	double columns = s->flops_dense / per_layer / 4, seconds = 0;

	/* A layer has four to seven matrices; their width by what they hold together. */
	m->size = size_part(q, s->tokens, h, fmax(columns, 64.0), rate);
	if (s->flops_dense > 0)
		seconds = s->flops_dense / (rate * m->size);
	if (s->flops_expert > 0) {
		/* Spread experts are whole, and tensor ranks bring different tokens to them. */
		double cut = q->ep > 1 ? 1 : q->tp, share = cut / q->tp * q->ep;
		double rows = s->tokens * share * q->arch.top / fmax(q->arch.experts, 1);
		double part =
			size_part(q, rows, train_expert_in(q), q->arch.expert_ffn / cut, rate);

		seconds += s->flops_expert / (rate * part * train_fit_of(q)->v[TFIT_EXPERT]);
		/* Each choice's copy of a token is permuted, quantised, weighed and brought back.
		 */
		m->routing = train_fit_of(q)->v[TFIT_EXPERT_PASSES] / 3 * s->tokens * q->arch.top *
			     train_expert_in(q) * 2 / (q->sp ? (double)q->tp : 1) *
			     q->arch.moe_layers / q->pp / bandwidth(q);
	}
	return seconds;
}

/* Widths of the inputs and of the outputs of a layer's matrices together. */
static double adapted_widths(const struct train_config *q, const struct train_shape *s)
{
	double h = q->arch.hidden, kv = (double)q->arch.kv_heads * q->arch.head_dim;

	return 9 * h + 2 * kv + 3 * s->widest;
}

/* Forward and backward together. */
static double small_s(const struct train_config *q, const struct train_shape *s)
{
	const struct arch *a = &q->arch;
	double along = a->hidden / (q->sp ? (double)q->tp : 1);
	double heads = (a->heads + 2.0 * a->kv_heads) * a->head_dim / q->tp;
	double elements = ROW_PASSES * along + INNER_PASSES * s->widest +
			  (HEAD_PASSES + (q->compile ? QK_FUSED : QK_PASSES) * a->qk_norm) * heads;
	double fused = q->compile	  ? train_fit_of(q)->v[TFIT_FUSED]
		       : a->ffn_mats != 2 ? WRITTEN_OUT
					  : 1;
	double cast = q->precision == TRAIN_FP8 ? 6 * (along + s->widest) : 0;

	elements = train_weight_bytes(q) * (elements * fused + cast);
	if (train_autocast(q))
		elements += WIDE * along * fmin(fused, 1);
	if (a->ffn_mats == 2 && q->framework->transformers && !q->compile)
		elements += GELU_PASSES * s->widest;
	if (train_adapters(q) && !q->compile)
		elements += ADAPTER * adapted_widths(q, s);
	elements += train_fit_of(q)->v[TFIT_SCAN] * arch_state_bytes(a) / a->layers / q->tp;
	return s->tokens * s->layers * elements / bandwidth(q);
}

static double head_s(const struct train_config *q, const struct train_shape *s)
{
	enum train_precision p = q->precision == TRAIN_FP8 ? TRAIN_BF16 : q->precision;
	double rate = train_gemm_rate(q, p);

	return s->flops_head / (rate * size_part(q, s->tokens, q->arch.hidden,
						 q->arch.vocab / (double)q->tp, rate));
}

static double attention_s(const struct train_config *q, const struct train_shape *s)
{
	double seconds = s->effort_attention / train_flash_rate(q);
	double scores = s->tokens * q->sequence * q->arch.heads / q->tp * s->layers;

	if (q->attention == TRAIN_EAGER) /* twice the work, and scores that come and go */
		seconds = seconds * 2 + scores * train_weight_bytes(q) * 5 / bandwidth(q);
	return seconds;
}

/* What launching takes longer than the GPU, with a CPU that needs cpu times as long for it. */
static double train_launch_s(const struct train_micro *m, double cpu)
{
	return fmax(0, m->host * cpu - m->busy);
}

static double train_optimizer_s(const struct train_config *q, const struct train_shape *s)
{
	double part = train_trained_part(q), n = s->trained;
	bool own = q->way == TRAIN_DDP || q->way == TRAIN_FSDP || q->way == TRAIN_HSDP;
	bool fused = q->compile || q->optimizer == TRAIN_ADAMW_FUSED;
	double bytes = own && !fused ? UPDATE_LISTS : UPDATE;

	if (q->optimizer == TRAIN_ADAMW_BF16 || q->optimizer == TRAIN_ADAMW_8BIT)
		bytes = 18;
	else if (q->optimizer == TRAIN_SGD || q->optimizer == TRAIN_LION)
		bytes = 22;
	/* The gradients' norm is one more pass. */
	bytes += train_gradient_bytes(q);
	if (q->way != TRAIN_DDP)
		n = train_shard(q, s, s->dense, s->experts) * part;
	return n * bytes / bandwidth(q);
}

static void train_micro_of(const struct train_config *q, const struct train_shape *s,
			   struct train_micro *m)
{
	double small = small_s(q, s), logits = s->tokens * q->arch.vocab / q->tp / q->pp;
	double inner;

	*m = (struct train_micro){ 0 };
	m->linear = linear_s(q, s, m);
	m->attention = attention_s(q, s);
	m->small = small / 3;
	m->head = head_s(q, s);
	inner = m->linear + m->attention + m->small + m->routing;
	logits *= (q->compile ? LOGIT_FUSED : LOGIT) / bandwidth(q);
	m->forward = inner + m->head + logits / 3;
	m->logits = logits / 3;
	/* Weights that are not trained have no gradient of their own; adapters are small. */
	m->back = q->trained > 0 ? ADAPTED + (2 - ADAPTED) * train_trained_part(q) : 2;
	m->backward = (m->linear + m->head) * m->back + m->attention * 2.5 + 2 * m->small +
		      2 * m->routing + 2 * m->logits;
	if (q->recompute == TRAIN_FULL)
		m->recompute = inner;
	else if (q->recompute == TRAIN_SELECTIVE)
		m->recompute =
			q->way == TRAIN_FSDP || q->way == TRAIN_HSDP
				? 0.4 * m->linear + m->small
				: m->small * 0.3 + (q->attention == TRAIN_EAGER ? m->attention : 0);
	train_weights_passes(q, s, m);
	m->host = train_host_s(q, s);
	m->busy =
		m->forward + m->backward + m->recompute + train_optimizer_s(q, s) / q->accumulation;
	m->launch = train_launch_s(m, 1);
}

const char *const train_limit_names[TRAIN_LIMITS] = {
	"memory-capacity", "compute", "memory-bandwidth", "launch", "link", "bubble", "loader"
};

static double max_of(const double *v, size_t n, size_t *at)
{
	double most = -1;

	for (size_t i = 0; i < n; i++)
		if (v[i] > most)
			most = v[i], *at = i;
	return most;
}

static void name_limit(struct arena *a, struct train_answer *p, const struct train_micro *m)
{
	const struct train_time *t = &p->time;
	double micros = p->q.accumulation, parts[TRAIN_LIMITS] = { 0 };
	size_t at = TRAIN_LIMIT_COMPUTE;

	parts[TRAIN_LIMIT_COMPUTE] = t->forward + t->backward + t->recompute;
	parts[TRAIN_LIMIT_BANDWIDTH] = 3 * m->small * micros + t->optimizer;
	parts[TRAIN_LIMIT_COMPUTE] -= 3 * m->small * micros;
	parts[TRAIN_LIMIT_LAUNCH] = t->launch;
	parts[TRAIN_LIMIT_LINK] = t->exposed + t->contention;
	parts[TRAIN_LIMIT_BUBBLE] = t->bubble;
	parts[TRAIN_LIMIT_LOADER] = t->loader;
	max_of(parts, TRAIN_LIMITS, &at);
	p->limit = p->memory.fits ? (enum train_limit)at : TRAIN_LIMIT_MEMORY;
	if (!p->memory.fits)
		p->limit_why = arena_printf(a, "%.1f GB required per GPU, %.1f GB available",
					    p->memory.total / 1e9, p->memory.limit / 1e9);
	else
		p->limit_why = arena_printf(a, "%.0f %% of the step time of %s ms",
					    100 * parts[at] / t->total.value,
					    train_plain(a, 1e3 * t->total.value, 4));
}

static struct figure scaled(struct figure f, double by)
{
	return (struct figure){ f.value * by, f.low * by, f.high * by };
}

/* Operations of a token that the hardware does. */
static double hardware_flops(const struct train_answer *p)
{
	const struct train_config *q = &p->q;
	struct arch_parts parts;

	if (q->recompute == TRAIN_FULL)
		return p->model_flops + arch_recomputed_ops(&q->arch, q->sequence);
	if (q->recompute != TRAIN_SELECTIVE || (q->way != TRAIN_FSDP && q->way != TRAIN_HSDP))
		return p->model_flops;
	parts = arch_parts(&q->arch);
	return p->model_flops + 0.4 * 2 * (parts.active - parts.head);
}

static void train_predict_rates(struct train_answer *p)
{
	const struct train_config *q = &p->q;

	p->peak_flops = train_peak(q->place.gpu, q->precision);
	p->tokens_s_gpu = scaled(p->tokens_s, 1.0 / q->place.gpus);
	p->mfu = scaled(p->tokens_s_gpu, p->model_flops / p->peak_flops);
	p->hfu = scaled(p->tokens_s_gpu, p->hardware_flops / p->peak_flops);
}

/* A step may not begin before its samples are there; workers fetch ahead meanwhile. */
static double loader_wait(const struct train_config *q, double step)
{
	double samples = (double)q->micro_batch * q->accumulation;

	if (q->loader_s <= 0)
		return 0;
	return fmax(0, samples * q->loader_s / fmax(1, q->workers) - step);
}

static void train_predict_put_together(const struct train_config *q, const struct train_shape *s,
				       const struct train_micro *m, const struct train_exposed *x,
				       struct train_time *t)
{
	double micros = q->accumulation, work, machines;

	t->forward = micros * m->forward;
	t->backward = micros * m->backward;
	t->recompute = micros * m->recompute;
	t->launch = micros * m->launch;
	t->optimizer = train_optimizer_s(q, s);
	t->comm = x->total_s;
	t->exposed = x->step_s + micros * x->micro_s;
	t->contention = x->contend_s;
	work = t->forward + t->backward + t->recompute + t->launch + micros * x->micro_s;
	t->bubble = work * (q->pp - 1) / (micros * q->interleave);
	work = t->forward + t->backward + t->recompute + t->launch + t->optimizer + t->exposed +
	       t->contention + t->bubble;
	machines = fmax(1, q->place.nodes);
	t->slack = work * train_fit_of(q)->v[TFIT_SLACK] * log2(machines);
	t->loader = loader_wait(q, work + t->slack);
	t->total.value = work + t->slack + t->loader;
}

/* Nobody states the CPU, and launching rests on that of one machine: on two other hosts of H200s it
 * took 1.3 to 1.9 times as long. */
#define CPU_UNKNOWN 2.0

/* What a step would take with a CPU that needs that many times as long to launch. */
static double step_with(const struct train_answer *p, const struct train_shape *s,
			struct train_micro m, const struct train_exposed *x, double cpu)
{
	struct train_time t;

	m.launch = train_launch_s(&m, cpu);
	train_predict_put_together(&p->q, s, &m, x, &t);
	return t.total.value;
}

/* Two errors that know nothing of each other, as factors. */
static double both(double a, double b)
{
	return exp(hypot(log(a), log(b)));
}

static void intervals(struct arena *a, struct train_answer *p, const struct train_shape *shape,
		      const struct train_micro *m, const struct train_exposed *x)
{
	const struct train_spread *s = train_spread_of(&p->q);
	double tokens = (double)p->q.global_batch * p->q.sequence, step = p->time.total.value;
	double slower = step_with(p, shape, *m, x, CPU_UNKNOWN) / step;
	double faster = step / step_with(p, shape, *m, x, 1 / CPU_UNKNOWN);

	p->time.total.low = step / both(s->high, faster);
	p->time.total.high = step * both(1 / s->low, slower);
	p->tokens_s = (struct figure){ tokens / step, tokens / p->time.total.high,
				       tokens / p->time.total.low };
	p->interval_of = slower > 1.01 || faster > 1.01
				 ? arena_printf(a,
						"%s; and CPU launch times from half to twice the "
						"estimate, which gives steps of %s to %s ms",
						s->of, train_plain(a, 1e3 * step / faster, 4),
						train_plain(a, 1e3 * step * slower, 4))
				 : s->of;
}

void train_predict(struct arena *a, const struct train_config *q, struct train_answer *out)
{
	struct train_shape s;
	struct train_micro m;
	struct train_exposed x;
	struct arch_parts parts = arch_parts(&q->arch);

	*out = (struct train_answer){ .q = *q, .parameters = parts.total, .active = parts.active };
	train_shape_of(q, &s);
	train_micro_of(q, &s, &m);
	train_memory_of(q, &out->memory);
	train_comms_of(a, &s, &m, out, &x);
	train_predict_put_together(q, &s, &m, &x, &out->time);
	out->model_flops = train_model_flops(q);
	out->hardware_flops = hardware_flops(out);
	intervals(a, out, &s, &m, &x);
	train_predict_rates(out);
	name_limit(a, out, &m);
	train_explain(a, out, &s, &m);
}
