/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decoding step: every weight that a token needs is read once, however many sequences take
 * part; experts as far as anyone chooses them; each sequence's cache and state.
 */
#include <math.h>
#include <string.h>

#include "models/inference/work.h"

enum hardware hardware_of(const struct gpu_kind *g)
{
	return g->server ? HARDWARE_SERVER : HARDWARE_UNIFIED;
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

double weights_dense(const struct ask *q)
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
	return exactly(q) * arch_parts(q->arch).experts * q->weights->experts / (q->tp * q->pp);
}

static double weights_head(const struct ask *q)
{
	return exactly(q) * arch_parts(q->arch).head * q->weights->head / q->tp;
}

double weights_total(const struct ask *q)
{
	struct arch_parts p = arch_parts(q->arch);
	double split = q->tp * q->pp;

	return (weights_dense(q) + weights_experts(q)) * split + weights_head(q) * q->tp +
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
static enum math math_of(const struct ask *q, bool experts)
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

static double peak(const struct ask *q, enum math m)
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

double math_rate(const struct ask *q, double rows, bool experts)
{
	static const enum fit_id ids[] = { FIT_MATH_HALF, FIT_MATH_FP8,	   FIT_MATH_BLOCK,
					   FIT_MATH_FP4,  FIT_MATH_WEIGHT, FIT_MATH_GGML };
	enum math m = math_of(q, experts);
	double part = q->fit->v[ids[m]] * (experts ? q->fit->v[FIT_MATH_EXPERT] : 1);

	return peak(q, m) * 1e12 * part * rows /
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

/* Keys and values cannot be split further than their heads. */
static double cache_split(const struct ask *q)
{
	int heads = q->arch->kv_lora ? 1 : q->arch->kv_heads;

	return fmax(1, fmin(q->tp, heads));
}

static void compute(const struct ask *q, double tokens, struct step *s)
{
	struct arch_parts p = arch_parts(q->arch);
	double per_expert =
		q->arch->experts ? fmax(1, tokens * q->arch->top / (q->arch->experts * s->reached))
				 : 1;
	double chosen = q->arch->moe_layers * (double)q->arch->top * p.one_expert;
	double plain = p.active - chosen;

	s->ops = 2 * tokens * p.active / q->tp;
	s->compute = 1e3 * (2 * tokens * plain / q->tp / math_rate(q, tokens, false) +
			    2 * tokens * chosen / q->tp / math_rate(q, per_expert, true));
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

double step_bytes(const struct step *s)
{
	return s->dense_bytes + s->expert_bytes + s->head_bytes + s->cache_read + s->state_read;
}

void step_time(const struct ask *q, double batch, double context, double width, struct step *s)
{
	const struct arch *a = q->arch;
	const struct fit *f = q->fit;
	double tokens = batch * width;

	*s = (struct step){ .reached =
				    arch_experts_reached(a, 1 + (tokens - 1) * f->v[FIT_SPREAD]) };
	s->dense_bytes = weights_dense(q) * q->pp;
	s->expert_bytes = weights_experts(q) * q->pp * s->reached;
	s->head_bytes = weights_head(q);
	s->cache_read = batch * arch_cache_read(a, context) * q->cache_bytes / cache_split(q);
	s->state_read = 2 * batch * arch_state_bytes(a) / q->tp; /* read and written */
	s->dense = 1e3 * seconds_to_read(q, s->dense_bytes, FIT_DENSE, q->weights->dense);
	s->expert = 1e3 * seconds_to_read(q, s->expert_bytes, FIT_EXPERT, q->weights->experts);
	s->head = 1e3 * seconds_to_read(q, s->head_bytes, FIT_DENSE, q->weights->head);
	s->cache = 1e3 * seconds_to_read(q, s->cache_read, FIT_CACHE, 2);
	s->state = 1e3 * seconds_to_read(q, s->state_read, FIT_CACHE, 4);
	s->memory = s->dense + s->expert + s->head + s->cache + s->state;
	compute(q, tokens, s);
	s->launch = f->v[FIT_STEP_MS] +
		    1e-3 * (a->layers * f->v[FIT_LAYER_US] +
			    (a->linear_state > 65536 ? a->linear_layers : 0) * f->v[FIT_LINEAR_US]);
	if (q->weights->math == MATH_FP8 || q->weights->math == MATH_FP8_BLOCK ||
	    q->weights->math == MATH_FP4)
		s->launch += 1e-3 * a->layers * f->v[FIT_CAST_US];
	if (a->experts)
		s->launch += 1e-3 * a->moe_layers * a->experts * s->reached * f->v[FIT_TOUCH_US];
	if (q->eager)
		s->launch *= 2;
	s->sequence = 1e-3 * (batch - 1) * f->v[FIT_SEQ_US];
	s->reduces = q->tp > 1 ? link_reduces(a) : 0;
	s->reduce_us = q->tp > 1 ? link_reduce_us(q, tokens * a->hidden * 2) : 0;
	s->link = 1e-3 * s->reduces * s->reduce_us + link_stage(q, tokens);
	s->host = f->v[FIT_STEP_MS] + 1e-3 * batch * f->v[FIT_HOST_US];
	s->total = side_by_side(fmax(s->memory, s->compute) + s->launch + s->sequence + s->link,
				s->host);
}
