/* SPDX-License-Identifier: Apache-2.0 */
/* Each change alone, and the best combination; how sure a predicted gain is. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "models/training/train.h"
#include "models/training/work.h"

/* Single changes of the way to train: what each does to a question, and whether it can be made. */

static const char *micro_name(struct arena *a, const struct train_config *q)
{
	return arena_printf(a, "micro-batch %d, accumulation %d", q->micro_batch, q->accumulation);
}

static bool set_micro(struct train_config *q, int micro)
{
	int each = q->global_batch / q->dp;

	if (micro < 1 || micro == q->micro_batch || each % micro)
		return false;
	q->micro_batch = micro;
	q->accumulation = each / micro;
	return true;
}

static bool micro_double(struct arena *a, struct train_config *q, const char **name)
{
	if (!set_micro(q, q->micro_batch * 2))
		return false;
	*name = micro_name(a, q);
	return true;
}

static bool micro_most(struct arena *a, struct train_config *q, const char **name)
{
	int most = train_largest_micro_batch(a, q, true);

	if (most <= q->micro_batch * 2 || !set_micro(q, most))
		return false;
	*name = micro_name(a, q);
	return true;
}

static bool set_recompute(struct train_config *q, enum train_recompute r)
{
	if (q->recompute == r)
		return false;
	q->recompute = r;
	return true;
}

static bool keep_all(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "no activation checkpointing";
	return set_recompute(q, TRAIN_KEEP_ALL);
}

static bool selective(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "selective activation checkpointing";
	/* Elsewhere it means the scores of attention, which flash kernels do not keep. */
	return (q->attention == TRAIN_EAGER || q->way == TRAIN_FSDP || q->way == TRAIN_HSDP) &&
	       set_recompute(q, TRAIN_SELECTIVE);
}

static bool recompute_most(struct arena *a, struct train_config *q, const char **name)
{
	int most, was = q->micro_batch;

	if (!set_recompute(q, TRAIN_FULL))
		return false;
	most = train_largest_micro_batch(a, q, true);
	if (most > q->micro_batch)
		set_micro(q, most);
	*name = "full activation checkpointing";
	if (q->micro_batch != was)
		*name = arena_printf(a, "%s, %s", *name, micro_name(a, q));
	return true;
}

static bool set_way(struct train_config *q, enum train_parallelism way)
{
	bool sharded = train_parallelism_shards(way);

	if (q->way == way || q->dp * q->cp <= 1)
		return false;
	/* Who told the type that gradients are summed in means it with any way. */
	if (q->reduce_fp32 == train_parallelism_fp32(q->way))
		q->reduce_fp32 = train_parallelism_fp32(way);
	q->bucket_bytes = way == TRAIN_DDP ? 25.0 * 1024 * 1024 : 500e6;
	q->way = way;
	q->reshard = sharded;
	q->sync_each_micro = sharded;
	return true;
}

static bool ddp(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "DDP: nothing sharded";
	return set_way(q, TRAIN_DDP);
}

static bool zero1(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "ZeRO-1: optimizer states sharded";
	return set_way(q, TRAIN_ZERO1);
}

static bool fsdp(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "FSDP (ZeRO-3): everything sharded";
	return q->way != TRAIN_ZERO3 && set_way(q, TRAIN_FSDP);
}

static bool hsdp(struct arena *a, struct train_config *q, const char **name)
{
	int each = place_per_node(&q->place) / q->tp;

	if (q->place.nodes <= 1 || each <= 1 || (q->dp * q->cp) % each || !set_way(q, TRAIN_HSDP))
		return false;
	q->shard = each;
	*name = arena_printf(a, "HSDP: sharded over the %d ranks of one machine", each);
	return true;
}

/* A switch that can be moved, and is not there yet. */
static bool turn(bool *what, bool to, bool can)
{
	bool moves = can && *what != to;

	*what = moves ? to : *what;
	return moves;
}

static bool keep_weights(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "weights kept after the forward pass (no resharding)";
	return turn(&q->reshard, false, true);
}

static bool sync_last(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "gradients reduced once per step (no_sync)";
	/* Sharded gradients that are not summed are kept whole: another memory model. */
	return turn(&q->sync_each_micro, false, q->accumulation > 1 && q->way == TRAIN_DDP);
}

static bool buckets(struct arena *a, struct train_config *q, const char **name)
{
	bool bucketed = q->way == TRAIN_DDP || q->way == TRAIN_ZERO1 || q->way == TRAIN_ZERO2;

	if (!bucketed || q->dp * q->cp <= 1 || q->bucket_bytes > 200e6)
		return false;
	q->bucket_bytes *= 4;
	*name = arena_printf(a, "buckets of %.0f MB", q->bucket_bytes / 1e6);
	return true;
}

static bool train_change_overlap(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "communication overlapped with computation";
	return turn(&q->overlap, true, q->place.gpus > 1);
}

static bool tp_overlap(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "tensor-parallel communication overlapped";
	return turn(&q->tp_overlap, true, q->tp > 1);
}

static bool train_change_compile(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "torch.compile (fused kernels)";
	return turn(&q->compile, true, true);
}

static bool train_change_attention(struct arena *a, struct train_config *q, const char **name)
{
	enum train_family f = train_family_of(q->place.gpu);

	(void)a;
	if (q->attention < TRAIN_FLASH) {
		*name = q->attention == TRAIN_EAGER ? "flash attention" : "FlashAttention 2";
		q->attention = TRAIN_FLASH;
		return true;
	}
	if (q->attention == TRAIN_FLASH3 || f != FAMILY_HOPPER || train_weight_bytes(q) >= 4)
		return false;
	q->attention = TRAIN_FLASH3;
	*name = "FlashAttention 3 or cuDNN's attention";
	return true;
}

static bool change_half_precision(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	if (q->precision != TRAIN_FP32 && q->precision != TRAIN_TF32)
		return false;
	q->precision = train_half_precision(q->place.gpu);
	*name = q->precision == TRAIN_BF16 ? "BF16 mixed precision" : "FP16 mixed precision";
	return true;
}

static bool tf32(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	if (q->precision != TRAIN_FP32 || train_peak(q->place.gpu, TRAIN_TF32) <= 0)
		return false;
	q->precision = TRAIN_TF32;
	*name = "TF32 multiplications";
	return true;
}

static bool train_change_fp8(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	if (q->precision != TRAIN_BF16 || train_peak(q->place.gpu, TRAIN_FP8) <= 0)
		return false;
	q->precision = TRAIN_FP8;
	*name = "FP8 linear layers";
	return true;
}

static bool states8(struct arena *a, struct train_config *q, const char **name)
{
	int was = q->micro_batch;

	if (q->optimizer != TRAIN_ADAMW && q->optimizer != TRAIN_ADAMW_FUSED)
		return false;
	q->optimizer = TRAIN_ADAMW_8BIT;
	set_micro(q, train_largest_micro_batch(a, q, true));
	*name = q->micro_batch == was ? "8-bit AdamW"
				      : arena_printf(a, "8-bit AdamW, %s", micro_name(a, q));
	return true;
}

static bool chunks(struct arena *a, struct train_config *q, const char **name)
{
	if (q->pp <= 1 || q->pp * q->interleave * 2 > q->arch.layers)
		return false;
	q->interleave *= 2;
	*name = arena_printf(a, "%d interleaved chunks per stage", q->interleave);
	return train_interleave_divides(q);
}

static bool less_tensor(struct arena *a, struct train_config *q, const char **name)
{
	struct err e;

	if (q->tp <= 1 || q->tp % 2)
		return false;
	q->tp /= 2;
	q->sp = q->sp && q->tp > 1;
	*name = arena_printf(a, "tensor parallelism %d", q->tp);
	return train_config_complete(a, q, &e) == 0;
}

static bool loaders(struct arena *a, struct train_config *q, const char **name)
{
	if (q->loader_s <= 0)
		return false;
	q->workers *= 2;
	*name = arena_printf(a, "%d loader workers per rank", q->workers);
	return true;
}

static const struct train_change_kind train_change_kinds[] = {
	{ "micro-batch", micro_double, true, "larger multiplications, fewer passes", NULL },
	{ "micro-batch-most", micro_most, true, "the largest micro-batch that fits", NULL },
	{ "no-checkpointing", keep_all, true, "no recomputation", NULL },
	{ "selective-checkpointing", selective, true, "less recomputation", NULL },
	{ "full-checkpointing", recompute_most, true, "frees memory for a larger micro-batch",
	  "less memory; the micro-batch stays the same" },
	{ "ddp", ddp, true, "one gradient all-reduce per step, and no weight gathering", NULL },
	{ "zero-1", zero1, true,
	  "saves memory of optimizer states, with the traffic of an all-reduce", NULL },
	{ "fsdp", fsdp, true,
	  "saves memory of weights, gradients and states, but adds communication", NULL },
	{ "hsdp", hsdp, true, "weight gathering stays inside machines", NULL },
	{ "no-reshard", keep_weights, true, "weights are gathered once, not twice", NULL },
	{ "no-sync", sync_last, true, "gradients are sent once per step, not once per micro-batch",
	  NULL },
	{ "buckets", buckets, true, "fewer and larger messages; the last one starts later", NULL },
	{ "overlap", train_change_overlap, true, "communication overlaps with computation", NULL },
	{ "tp-overlap", tp_overlap, true,
	  "tensor-parallel reductions overlap with matrix multiplications", NULL },
	{ "compile", train_change_compile, true,
	  "fewer small kernels and less memory traffic, also in the optimizer update (fused=True)",
	  NULL },
	{ "attention", train_change_attention, true, "attention uses the tensor cores better",
	  NULL },
	{ "tf32", tf32, false, "uses tensor cores; the mantissa has 10 bits", NULL },
	{ "bf16", change_half_precision, false,
	  "uses tensor cores and half of the bytes; the mantissa has fewer bits", NULL },
	{ "fp8", train_change_fp8, false, "faster tensor cores; check the loss", NULL },
	{ "8-bit-states", states8, false, "frees memory for a larger micro-batch; check the loss",
	  "fewer bytes per update and less memory; the micro-batch stays the same; check the "
	  "loss" },
	{ "interleave", chunks, true, "a smaller pipeline bubble, but more sends", NULL },
	{ "less-tensor", less_tensor, true, "fewer reductions per layer, larger multiplications",
	  NULL },
	{ "loader", loaders, true, "samples arrive in time", NULL },
};
static const size_t train_change_kind_count =
	sizeof(train_change_kinds) / sizeof(train_change_kinds[0]);

/* What measurements leave open of a fitted constant, up and down. */
#define OPEN 1.25
/* What two runs of the same differ by. */
#define NOISE 0.02
/* A combination takes a further change only for this much. */
#define WORTH 1.01
#define MOST_ROUNDS 6

static double what_if_rate(struct arena *a, const struct train_config *q,
			   const struct train_fit *fit)
{
	struct train_answer *p = ARENA_NEW(a, struct train_answer);
	struct train_config *x = ARENA_NEW(a, struct train_config);

	*x = *q;
	x->fit = fit;
	train_predict(a, x, p);
	return p->tokens_s.value / q->place.gpus;
}

struct figure train_ratio(const struct train_config *after, const struct train_config *before)
{
	ARENA_AUTO a = { 0 };
	struct train_fit fit = *train_fit_of(before);
	double value = what_if_rate(&a, after, &fit) / what_if_rate(&a, before, &fit),
	       sum = NOISE * NOISE;

	for (int i = 0; i < TFITS; i++) {
		double was = fit.v[i], most = 0;

		for (int up = 0; up < 2; up++) {
			double moved = up ? was * OPEN : was / OPEN;

			/* Parts stay parts. */
			if (was <= 1)
				moved = fmin(moved, 1);
			fit.v[i] = moved;
			most = fmax(most, fabs(log(what_if_rate(&a, after, &fit) /
						   what_if_rate(&a, before, &fit) / value)));
			fit.v[i] = was;
			arena_free(&a);
		}
		sum += most * most;
	}
	return (struct figure){ value, value * exp(-sqrt(sum)), value * exp(sqrt(sum)) };
}

static int by_gain(const void *x, const void *y)
{
	double a = ((const struct train_change *)x)->gain.value;
	double b = ((const struct train_change *)y)->gain.value;

	return a > b ? -1 : a < b;
}

static void what_if_fill(struct arena *a, const struct train_config *before, struct train_change *c)
{
	struct train_answer *p = ARENA_NEW(a, struct train_answer);

	train_predict(a, &c->q, p);
	c->tokens_s = p->tokens_s.value;
	c->memory = p->memory.total;
	c->fits = p->memory.fits;
	c->gain = train_ratio(&c->q, before);
}

static const char *reason(struct arena *a, const struct train_change_kind *k,
			  const struct train_answer *before, const struct train_change *c)
{
	bool same = k->why_same && c->q.micro_batch <= before->q.micro_batch;

	return arena_printf(a, "%s; %.1f to %.1f GB per GPU%s", same ? k->why_same : k->why,
			    before->memory.total / 1e9, c->memory / 1e9,
			    c->fits ? "" : ", which exceeds the memory");
}

/* The best of what was tried. */
struct search {
	struct arena *a;
	const bool *made;
	double most;
	int first, second; /* -1: none */
	struct train_config q;
	const char *name;
};

static bool try_one(struct search *s, size_t i, struct train_config *q, const char **name)
{
	return !s->made[i] && train_change_kinds[i].combine &&
	       train_change_kinds[i].make(s->a, q, name);
}

static void keep_better(struct search *s, const struct train_config *q, int first, int second,
			const char *name)
{
	struct train_memory m;
	double v;

	train_memory_of(q, &m);
	v = m.fits ? what_if_rate(s->a, q, q->fit) : 0;
	if (v <= s->most)
		return;
	s->most = v;
	s->q = *q;
	s->first = first;
	s->second = second;
	s->name = name;
}

/* The change that brings the most to *q of those that fit; or two, where the first makes room for
 * the second. */
static void what_if_best_of(struct search *s, const struct train_config *q)
{
	const int n = (int)train_change_kind_count;

	s->most = what_if_rate(s->a, q, q->fit) * WORTH;
	s->first = s->second = -1;
	for (int i = 0; i < n; i++) {
		struct train_config one = *q;
		const char *name = "", *more = "";

		if (!try_one(s, (size_t)i, &one, &name))
			continue;
		keep_better(s, &one, i, -1, name);
		for (int k = 0; k < n; k++) {
			struct train_config two = one;

			if (k != i && try_one(s, (size_t)k, &two, &more))
				keep_better(s, &two, i, k,
					    arena_printf(s->a, "%s; %s", name, more));
		}
	}
}

static void combine(struct arena *a, struct train_what_if *out)
{
	struct train_config *q = &out->best.q;
	bool made[64] = { false };
	int n = 0;

	*q = out->before.q;
	out->words = "";
	for (; n < MOST_ROUNDS; n++) {
		struct search *found = ARENA_NEW(a, struct search);

		*found = (struct search){ .a = a, .made = made };
		what_if_best_of(found, q);
		if (found->first < 0)
			break;
		made[found->first] = true;
		if (found->second >= 0)
			made[found->second] = true;
		*q = found->q;
		out->words = arena_printf(a, "%s%s%s", out->words, n ? "; " : "", found->name);
	}
	if (n == 0)
		return;
	out->has_best = true;
	out->best.key = "all";
	out->best.name = "the best combination";
	what_if_fill(a, &out->before.q, &out->best);
	out->best.why = out->words;
}

void train_what_if(struct arena *a, const struct train_config *q, struct train_what_if *out)
{
	*out = (struct train_what_if){ 0 };
	train_predict(a, q, &out->before);
	for (size_t i = 0; i < train_change_kind_count && out->n < TRAIN_CHANGES; i++) {
		struct train_change *c = &out->changes[out->n];

		*c = (struct train_change){ .key = train_change_kinds[i].key, .q = *q };
		if (!train_change_kinds[i].make(a, &c->q, &c->name))
			continue;
		what_if_fill(a, q, c);
		c->why = reason(a, &train_change_kinds[i], &out->before, c);
		out->n++;
	}
	qsort(out->changes, out->n, sizeof(out->changes[0]), by_gain);
	combine(a, out);
}

/* The same training with more and fewer GPUs. */

/* Where a step's time goes that does no work for the model. */
static const char *train_scale_causes(struct arena *a, const struct train_answer *p)
{
	const struct train_time *t = &p->time;
	const struct {
		const char *name;
		double s;
	} parts[] = { { "exposed communication", t->exposed },
		      { "contention with communication", t->contention },
		      { "pipeline bubble", t->bubble },
		      { "launches", t->launch },
		      { "loader", t->loader },
		      { "rank wait", t->slack },
		      { "update", t->optimizer } };
	const char *out = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].s > 0.01 * t->total.value)
			out = arena_printf(a, "%s%s%s %.0f %%", out, *out ? ", " : "",
					   parts[i].name, 100 * parts[i].s / t->total.value);
	return *out ? out : "nothing above 1 %";
}

static bool train_scale_sized(struct arena *a, const struct train_config *q, int gpus, bool strong,
			      struct train_config *out, struct err *e)
{
	int each = (q->place.gpus + q->place.nodes - 1) / q->place.nodes;
	int cut = q->tp * q->pp * q->cp;

	if (each < q->place.gpu->per_node)
		each = q->place.gpu->per_node;
	*out = *q;
	out->place.gpus = gpus;
	out->place.nodes = (gpus + each - 1) / each;
	if (out->place.nodes < 1)
		out->place.nodes = 1;
	if (!strong && (double)q->micro_batch * q->accumulation * gpus > 1e9)
		return err_set(e, -EINVAL, "the global batch exceeds a billion") == 0;
	if (!strong && gpus % cut == 0)
		out->global_batch = q->micro_batch * q->accumulation * (gpus / cut);
	if (train_config_complete(a, out, e) < 0)
		return false;
	if (out->dp * out->cp == 1 && out->way == TRAIN_HSDP)
		out->shard = 1;
	return true;
}

void train_scale(struct arena *a, const struct train_config *q, const double *gpus, size_t n,
		 bool strong, struct train_point *out)
{
	const struct train_config *first = NULL;

	for (size_t i = 0; i < n; i++) {
		struct train_config *t = ARENA_NEW(a, struct train_config);
		struct train_answer *p = ARENA_NEW(a, struct train_answer);
		struct err e = { 0 };

		out[i] = (struct train_point){ .gpus = (int)gpus[i] };
		if (!train_scale_sized(a, q, (int)gpus[i], strong, t, &e)) {
			out[i].nodes = t->place.nodes;
			out[i].why = arena_strdup(a, e.text);
			continue;
		}
		train_predict(a, t, p);
		out[i].nodes = t->place.nodes;
		out[i].step_s = p->time.total.value;
		out[i].tokens_s = p->tokens_s.value;
		out[i].exposed_part = p->time.exposed / p->time.total.value;
		out[i].causes = train_scale_causes(a, p);
		out[i].possible = p->memory.fits;
		if (!p->memory.fits) {
			out[i].why = arena_printf(a, "does not fit: %s", p->limit_why);
			continue;
		}
		if (!first)
			first = t;
		out[i].efficiency = t == first ? (struct figure){ 1, 1, 1 } : train_ratio(t, first);
	}
}
