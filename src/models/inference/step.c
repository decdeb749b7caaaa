/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a decoding step, of a prompt, and of what goes between GPUs meanwhile.
 *
 * A step: every weight that a token needs is read once, however many sequences take part; experts
 * as far as anyone chooses them; each sequence's cache and state.
 */
#include <math.h>
#include <string.h>

#include "models/inference/work.h"

/*
 * What GPUs tell each other: an all-reduce behind each block with tensor parallelism, activations
 * between stages. Each costs a latency and the bytes that a ring sends.
 */

/* Ethernet between two machines of this kind: 200 Gb/s over both halves of the adapter. */
#define NETWORK 24.0

int place_per_node(const struct target_hw *p)
{
	int each = p->gpu->per_node, even = (p->gpus + p->nodes - 1) / p->nodes;

	/* Full machines but for the last, unless somebody told how many there are. */
	return p->nodes > 1 && each > even && (p->gpus + each - 1) / each == p->nodes ? each : even;
}

/* All-reduces of a step, and the time of one over these bytes, us. */
static int link_reduces(const struct ask *q)
{
	const struct arch *a = q->arch;
	int mixers = a->linear_layers + arch_full_layers(a) + a->window_layers;

	if (q->tp < 2)
		return 0;
	return mixers + (q->dp > 1 ? 0 : a->moe_layers) + arch_dense_layers(a);
}

/* A ring passes each machine once over each of its adapters: a server has one for each GPU. */
static double infer_step_bandwidth(const struct ask *q, bool between, int gpus, int adapters)
{
	const struct gpu_kind *g = q->place.gpu;
	double link = gpu_link_gbs(g, gpus), net = q->place.network;

	if (!between && link > 0)
		return link * 1e9;
	if (net <= 0)
		net = g->server ? NETWORK_SERVER : NETWORK;
	if (adapters > 1 && g->server)
		net = fmin(link > 0 ? link : net, net * adapters);
	return net * 1e9;
}

static double link_reduce_us(const struct ask *q, double bytes)
{
	int each = place_per_node(&q->place);
	bool between = q->place.nodes > 1 && q->tp > each;
	double n = q->tp, latency = q->fit->v[between ? FIT_NET_US : FIT_LINK_US];

	/* Steps over the network go from machine to machine. */
	if (between)
		latency *= sqrt(fmax(1, ceil(n / each) / 2));
	return latency +
	       1e6 * 2 * (n - 1) / n * bytes /
		       (infer_step_bandwidth(q, between, q->tp, each) * q->fit->v[FIT_LINK]);
}

/*
 * Milliseconds in which groups send each layer's tokens to the GPUs that have their experts, in 8
 * bits, and get them back in 16: once a GPU, however many experts of it they chose.
 */
static double link_exchange(const struct ask *q, double tokens)
{
	double n = q->tp * q->dp, each = place_per_node(&q->place);
	bool between = q->place.nodes > 1 && n > each;
	double copies = n * (1 - pow(1 - 1 / n, q->arch->top));

	if (q->dp < 2)
		return 0;
	return 1e-3 * q->arch->moe_layers *
	       (2 * q->fit->v[between ? FIT_NET_US : FIT_LINK_US] +
		1e6 * tokens / q->tp * copies * q->arch->hidden * 3 /
			(infer_step_bandwidth(q, between, (int)n, 1) * q->fit->v[FIT_LINK]));
}

/* Milliseconds from one stage to the next. */
static double handed_on(const struct ask *q, double bytes, bool between)
{
	int each = place_per_node(&q->place), gpus = q->tp * q->pp < each ? q->tp * q->pp : each;

	return 1e3 * (1e-6 * q->fit->v[between ? FIT_NET_US : FIT_LINK_US] +
		      bytes / (infer_step_bandwidth(q, between, gpus, 1) * q->fit->v[FIT_LINK]));
}

double link_stage(const struct ask *q, double tokens)
{
	int borders = q->pp - 1, across = borders, each = place_per_node(&q->place);
	double bytes = tokens * q->arch->hidden * 2;

	if (borders < 1)
		return 0;
	/* Stages stand one after the other: the network is passed from machine to machine. */
	if (q->tp < each)
		across = q->place.nodes > 1 ? borders * q->tp / each : 0;
	return (across ? across * handed_on(q, bytes, true) : 0) +
	       (borders - across ? (borders - across) * handed_on(q, bytes, false) : 0);
}

enum hardware hardware_of(const struct gpu_kind *g)
{
	return !g->server ? HARDWARE_UNIFIED : g->fp4 > 0 ? HARDWARE_BLACKWELL : HARDWARE_SERVER;
}

enum hardware measured_class(const struct gpu_kind *g)
{
	return g->measured ? hardware_of(g) : HARDWARES;
}

double weights_by_format(const struct ask *q)
{
	struct arch_parts p = arch_parts(q->arch);
	const struct format *f = q->weights;

	return p.attention * f->attention + p.linear * f->linear + p.dense * f->dense +
	       p.shared * f->shared + p.experts * f->experts + p.router * 2 + p.head * f->head +
	       (p.embed + p.aside) * f->embed;
}

/* Exact bytes of a file scale all parts alike. */
static double exactly(const struct ask *q)
{
	double by_format = q->weight_bytes > 0 ? weights_by_format(q) : 0;

	return by_format > 0 ? q->weight_bytes / by_format : 1;
}

static double weights_dense(const struct ask *q)
{
	struct arch_parts p = arch_parts(q->arch);
	const struct format *f = q->weights;
	bool fp4 = f->math == MATH_FP4;
	double linear = fp4 && q->arch->fp4_linear > 0 ? q->arch->fp4_linear : f->linear;
	double shared = fp4 && q->arch->fp4_shared > 0 ? q->arch->fp4_shared : f->shared;

	return exactly(q) *
	       (p.attention * f->attention + p.linear * linear + p.dense * f->dense +
		p.shared * shared + p.router * 2) /
	       (q->tp * q->pp);
}

double weights_experts(const struct ask *q)
{
	return exactly(q) * arch_parts(q->arch).experts * q->weights->experts /
	       (q->tp * q->pp * q->dp);
}

static double weights_head(const struct ask *q)
{
	return exactly(q) * arch_parts(q->arch).head * q->weights->head / q->tp;
}

double weights_total(const struct ask *q)
{
	struct arch_parts p = arch_parts(q->arch);
	double split = q->tp * q->pp;

	return (weights_dense(q) + weights_experts(q) * q->dp) * split + weights_head(q) * q->tp +
	       exactly(q) * (p.embed + p.aside) * q->weights->embed;
}

/* Of whole numbers, which cards without FP8 have, or of FP8. */
static double eight_bits(const struct ask *q)
{
	return strcmp(q->weights->name, "int8") == 0 ? q->place.gpu->int8 : q->place.gpu->fp8;
}

/*
 * The type that a part's multiplications run in: what a checkpoint leaves in BF16 runs so; experts
 * in FP4 are unpacked first where the chip's own FP4 instructions serve dense matrices alone.
 */
static enum math infer_step_math_of(const struct ask *q, bool experts)
{
	const struct gpu_kind *g = q->place.gpu;
	enum math m = q->weights->math;

	if (!experts && q->arch->experts && q->weights->attention >= 2 && !q->weights->gguf)
		return MATH_HALF;
	if (m == MATH_FP4 && (g->fp4 <= 0 || (experts && g->unified)))
		return MATH_WEIGHT_ONLY;
	if ((m == MATH_FP8 || m == MATH_FP8_BLOCK) && eight_bits(q) <= 0)
		return MATH_WEIGHT_ONLY;
	return m;
}

static double infer_step_peak(const struct ask *q, enum math m)
{
	const struct gpu_kind *g = q->place.gpu;

	switch (m) {
	case MATH_FP8:
	case MATH_FP8_BLOCK:
		return eight_bits(q);
	case MATH_FP4:
		return g->fp4;
	case MATH_GGML:
		return g->int8 > 0 ? g->int8 : g->half;
	default:
		return g->half;
	}
}

/* Operations a second that a multiplication of these rows reaches; experts or not. */
static double math_rate(const struct ask *q, double rows, bool experts)
{
	static const enum fit_id ids[] = { FIT_MATH_HALF, FIT_MATH_FP8,	   FIT_MATH_BLOCK,
					   FIT_MATH_FP4,  FIT_MATH_WEIGHT, FIT_MATH_GGML };
	enum math m = infer_step_math_of(q, experts);
	double part = q->fit->v[ids[m]] * (experts ? q->fit->v[FIT_MATH_EXPERT] : 1);
	/* Tensor parallelism cuts matrices into slices; groups hold whole experts. */
	double width = experts ? q->arch->expert_ffn / (q->dp > 1 ? 1.0 : q->tp)
			       : fmax(q->arch->ffn, q->arch->hidden) / (double)q->tp;

	part /= 1 + q->fit->v[FIT_NARROW] / fmax(1, width);
	return infer_step_peak(q, m) * 1e12 * part * rows /
	       (rows + q->fit->v[experts ? FIT_EXPERT_ROWS : FIT_ROWS]);
}

double bandwidth_of(const struct ask *q, enum fit_id part, double bytes_each)
{
	double wide =
		part == FIT_CACHE ? 1 : q->arch->hidden / (q->arch->hidden + q->fit->v[FIT_WIDTH]);
	double four = bytes_each < 0.6 && !q->weights->gguf ? q->fit->v[FIT_FOUR] : 1;

	if (part != FIT_CACHE && q->weights->read > 0)
		four *= q->weights->read;
	return q->place.gpu->bandwidth * 1e9 * q->fit->v[part] * wide * four;
}

static double seconds_to_read(const struct ask *q, double bytes, enum fit_id part, double each)
{
	return bytes / bandwidth_of(q, part, each);
}

/* All heads of a GPU multiply with each token of a latent cache: in 8 bits on Blackwell, if it has
 * 8 bits. */
static double latent_time(const struct ask *q, double tokens, double context)
{
	const struct arch *a = q->arch;
	double seen = a->index_top ? fmin(context, a->index_top) : context;
	bool eight = q->cache_bytes < 2 && hardware_of(q->place.gpu) == HARDWARE_BLACKWELL;

	return 2e-9 * tokens * arch_full_layers(a) * seen * (a->kv_lora ? a->heads : 0) / q->tp *
	       (2.0 * a->kv_lora + a->rope_dim) /
	       ((eight ? q->place.gpu->fp8 : q->place.gpu->half) * q->fit->v[FIT_MATH_CACHE]);
}

/* own: tokens of the GPU's group. */
static void infer_step_compute(const struct ask *q, double tokens, double own,
			       struct decode_step *s)
{
	struct arch_parts p = arch_parts(q->arch);
	double per_expert =
		q->arch->experts ? fmax(1, tokens * q->arch->top / (q->arch->experts * s->reached))
				 : 1;
	double chosen = q->arch->moe_layers * (double)q->arch->top * p.one_expert;
	double plain = p.active - chosen;

	s->ops = 2 * (own * plain + tokens * chosen / q->dp) / q->tp;
	s->compute = 1e3 * (2 * own * plain / q->tp / math_rate(q, own, false) +
			    2 * tokens * chosen / q->tp / q->dp / math_rate(q, per_expert, true));
}

/*
 * The GPU's step and the CPU's work for it run side by side: the longer one counts, and somewhat
 * more where both are about as long, because neither is the same in every step. More GPUs shorten
 * the one and not the other, which is where tensor parallelism ends with many requests.
 */
static double side_by_side(double gpu, double cpu)
{
	double more = fmax(gpu, cpu), less = fmin(gpu, cpu), part = less / more;

	return more * sqrt(sqrt(1 + part * part * part * part));
}

double step_bytes(const struct decode_step *s)
{
	return s->dense_bytes + s->expert_bytes + s->head_bytes + s->cache_read + s->state_read;
}

void step_time(const struct ask *q, double batch, double context, double width,
	       struct decode_step *s)
{
	const struct arch *a = q->arch;
	const struct fit *f = q->fit;
	double each = q->dp > 1 ? fmax(1, batch / q->dp) : batch, tokens = batch * width;

	*s = (struct decode_step){ .reached = arch_experts_reached(a, tokens, f->v[FIT_SPREAD]) };
	s->dense_bytes = weights_dense(q) * q->pp;
	s->expert_bytes = weights_experts(q) * q->pp * s->reached;
	s->head_bytes = weights_head(q);
	/* Keys and values cannot be split further than their heads. */
	s->cache_read = each * arch_cache_read(a, context) * q->cache_bytes /
			fmax(1, a->kv_lora ? 1 : fmin(q->tp, a->kv_heads));
	s->state_read = 2 * each * arch_state_bytes(a) / q->tp; /* read and written */
	s->dense = 1e3 * seconds_to_read(q, s->dense_bytes, FIT_DENSE, q->weights->dense);
	s->expert = 1e3 * seconds_to_read(q, s->expert_bytes, FIT_EXPERT, q->weights->experts);
	s->head = 1e3 * seconds_to_read(q, s->head_bytes, FIT_DENSE, q->weights->head);
	s->cache = 1e3 * seconds_to_read(q, s->cache_read, FIT_CACHE, 2);
	s->state = 1e3 * seconds_to_read(q, s->state_read, FIT_CACHE, 4);
	s->cache = fmax(s->cache, latent_time(q, each * width, context));
	s->memory = s->dense + s->expert + s->head + s->cache + s->state;
	infer_step_compute(q, tokens, each * width, s);
	s->launch = f->v[FIT_STEP_MS] +
		    1e-3 * ((a->layers - a->moe_layers) * f->v[FIT_LAYER_US] +
			    a->moe_layers * f->v[FIT_MOE_US] +
			    (a->kv_lora ? arch_full_layers(a) : 0) * f->v[FIT_MLA_US] +
			    (a->index_top ? arch_full_layers(a) : 0) * f->v[FIT_INDEX_US] +
			    (a->linear_state > 65536 ? a->linear_layers : 0) * f->v[FIT_LINEAR_US]);
	if (q->weights->math == MATH_FP8 || q->weights->math == MATH_FP8_BLOCK ||
	    q->weights->math == MATH_FP4)
		s->launch += 1e-3 * a->layers * f->v[FIT_CAST_US];
	if (a->experts)
		s->launch += 1e-3 * a->moe_layers * a->experts * s->reached * f->v[FIT_TOUCH_US];
	if (q->eager)
		s->launch *= 2;
	s->sequence = 1e-3 * (each - 1) * f->v[FIT_SEQ_US];
	s->reduces = link_reduces(q);
	s->reduce_us = q->tp > 1 ? link_reduce_us(q, each * width * a->hidden * 2) : 0;
	s->link = 1e-3 * s->reduces * s->reduce_us + link_stage(q, tokens) +
		  link_exchange(q, each * width);
	s->host = f->v[FIT_STEP_MS] + 1e-3 * each * f->v[FIT_HOST_US];
	s->total = side_by_side(fmax(s->memory, s->compute) + s->launch + s->sequence + s->link,
				s->host);
}

/*
 * Prompts: taken in chunks; each chunk multiplies with all weights of its layers (reading them
 * once), and attention looks back on everything before.
 */

/* One chunk of m tokens, own of them in one group, in seconds: multiplications, and reading. */
static void chunk_time(const struct ask *q, double m, double own, double *multiply, double *weights)
{
	const struct arch *a = q->arch;
	struct arch_parts p = arch_parts(a);
	double chosen = a->moe_layers * (double)a->top * p.one_expert;
	double plain = p.active - chosen - p.head;
	double reached = arch_experts_reached(a, m, q->fit->v[FIT_SPREAD]);
	double rows = a->experts ? fmax(1, m * a->top / (a->experts * reached)) : m;
	double split = q->tp;

	*multiply = 2 * own * plain / split / math_rate(q, own, false) +
		    (chosen > 0 ? 2 * m * chosen / split / q->dp / math_rate(q, rows, true) : 0);
	*weights = weights_dense(q) * q->pp / bandwidth_of(q, FIT_DENSE, q->weights->dense) +
		   weights_experts(q) * q->pp * reached /
			   bandwidth_of(q, FIT_EXPERT, q->weights->experts);
}

/* Kernels for sparse attention multiply with the latent cache itself, 64 heads at a time. */
static double sparse_effort(const struct ask *q)
{
	const struct arch *a = q->arch;

	return fmax(1, 64.0 * q->tp / a->heads) * (2.0 * a->kv_lora + a->rope_dim) /
	       (a->nope_dim + a->rope_dim + a->v_dim);
}

struct ask ask_of_prompts(const struct ask *q)
{
	struct ask first = *q;

	if (q->prefills > 0)
		first.tp = q->prefill_tp, first.dp = q->prefill_dp, first.pp = 1;
	first.prefills = 0;
	return first;
}

void prompt_time(const struct ask *q, double count, double n, double depth, struct prompt *out)
{
	const struct arch *a = q->arch;
	/* A prompt is one group's; what the slowest of them has to do counts. */
	double part = fmin(1, fmax(1.0 / q->dp, 1 / count)), tokens = count * n;
	double own = part * tokens, multiply, weights;
	double half = q->place.gpu->half * 1e12 * q->fit->v[FIT_MATH_CACHE];

	*out = (struct prompt){ 0 };
	if (tokens <= 0)
		return;
	out->chunks = fmax(1, ceil(own / fmin(q->chunk, own) - 1e-9));
	own /= out->chunks;
	chunk_time(q, tokens / out->chunks, own, &multiply, &weights);
	out->multiply = 1e3 * multiply * out->chunks;
	out->weights = 1e3 * weights * out->chunks;
	out->ops = 2 * tokens * (arch_parts(a).active - arch_parts(a).head) / q->tp;
	out->attention_ops = part * count * arch_attention_ops(a, n, depth) / q->tp;
	out->attention = 1e3 * part * count * arch_attention_effort(a, n, depth) / q->tp / half;
	if (a->index_top && a->kv_lora && n + depth > a->index_top)
		out->attention *= sparse_effort(q);
	out->scan =
		part * tokens * arch_state_bytes(a) / (q->fit->v[FIT_SCAN] * 1e12) * 1e3 / q->tp;
	/* Layers, with one more for each kind of kernels that a dense layer lacks. */
	out->launch = 1e-3 * out->chunks * q->fit->v[FIT_CHUNK_US] *
		      (a->layers + a->moe_layers + a->linear_layers +
		       arch_full_layers(a) * ((a->kv_lora > 0) + (a->index_top > 0)));
	out->weights += 1e-3 * out->chunks * a->moe_layers * (double)a->experts *
			arch_experts_reached(a, tokens / out->chunks, q->fit->v[FIT_SPREAD]) *
			q->fit->v[FIT_FILL_US];
	if (q->tp > 1)
		out->link = 1e-3 * out->chunks * link_reduces(q) *
			    link_reduce_us(q, own * a->hidden * 2);
	out->link += out->chunks * (link_stage(q, tokens / out->chunks) + link_exchange(q, own));
	/* Prompts are not launched as one graph: short ones wait for the CPU. */
	out->total = side_by_side(
		out->multiply + out->weights + out->attention + out->scan + out->link, out->launch);
}
