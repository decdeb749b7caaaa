/* SPDX-License-Identifier: Apache-2.0 */
/* Single changes of the way to train: what each does to a question, and whether it can be made. */
#include "models/training/work.h"
#include "models/training/change.h"

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
	if (q->attention != TRAIN_EAGER && q->way != TRAIN_FSDP && q->way != TRAIN_HSDP)
		return false;
	return set_recompute(q, TRAIN_SELECTIVE);
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
	*name = arena_printf(a, "HSDP: sharded over the %d ranks of a machine", each);
	return true;
}

static bool keep_weights(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "weights kept after the forward pass (no resharding)";
	if (!q->reshard)
		return false;
	q->reshard = false;
	return true;
}

static bool sync_last(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "gradients summed once a step (no_sync)";
	/* Sharded gradients that are not summed are kept whole: another memory model. */
	if (!q->sync_each_micro || q->accumulation <= 1 || q->way != TRAIN_DDP)
		return false;
	q->sync_each_micro = false;
	return true;
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
	if (q->overlap || q->place.gpus <= 1)
		return false;
	q->overlap = true;
	return true;
}

static bool tp_overlap(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "tensor parallel communication overlapped";
	if (q->tp_overlap || q->tp <= 1)
		return false;
	q->tp_overlap = true;
	return true;
}

static bool train_change_compile(struct arena *a, struct train_config *q, const char **name)
{
	(void)a;
	*name = "torch.compile (fused kernels)";
	if (q->compile)
		return false;
	q->compile = true;
	return true;
}

static bool train_change_attention(struct arena *a, struct train_config *q, const char **name)
{
	enum train_family f = train_family_of(q->place.gpu);

	(void)a;
	if (q->attention == TRAIN_EAGER) {
		q->attention = TRAIN_FLASH;
		*name = "flash attention";
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

	if (q->optimizer != TRAIN_ADAMW)
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
	*name = arena_printf(a, "%d interleaved chunks a stage", q->interleave);
	return train_interleave_divides(q);
}

static bool less_tensor(struct arena *a, struct train_config *q, const char **name)
{
	struct err e;

	if (q->tp <= 1 || q->tp % 2)
		return false;
	q->tp /= 2;
	q->sp = q->sp && q->tp > 1;
	*name = arena_printf(a, "tensor parallel %d", q->tp);
	return train_config_complete(a, q, &e) == 0;
}

static bool loaders(struct arena *a, struct train_config *q, const char **name)
{
	if (q->loader_s <= 0)
		return false;
	q->workers *= 2;
	*name = arena_printf(a, "%d loader workers a rank", q->workers);
	return true;
}

const struct train_change_kind train_change_kinds[] = {
	{ "micro-batch", micro_double, true, "larger multiplications, fewer passes", NULL },
	{ "micro-batch-most", micro_most, true, "the largest micro-batch that fits", NULL },
	{ "no-checkpointing", keep_all, true, "nothing is computed twice", NULL },
	{ "selective-checkpointing", selective, true, "less is computed twice", NULL },
	{ "full-checkpointing", recompute_most, true, "memory for a larger micro-batch",
	  "less memory; the micro-batch stays" },
	{ "ddp", ddp, true, "one sum of gradients a step, no gathering of weights", NULL },
	{ "zero-1", zero1, true, "memory of optimizer states, at the bytes of a sum", NULL },
	{ "fsdp", fsdp, true, "memory of weights, gradients and states, at more communication",
	  NULL },
	{ "hsdp", hsdp, true, "gathering of weights stays inside machines", NULL },
	{ "no-reshard", keep_weights, true, "weights are gathered once, not twice", NULL },
	{ "no-sync", sync_last, true, "gradients are sent once a step, not once a micro-batch",
	  NULL },
	{ "buckets", buckets, true, "fewer and larger messages, the last one later", NULL },
	{ "overlap", train_change_overlap, true, "communication runs beside computation", NULL },
	{ "tp-overlap", tp_overlap, true, "tensor parallel sums run beside multiplications", NULL },
	{ "compile", train_change_compile, true,
	  "small kernels move fewer bytes and are fewer, those of the update too (fused=True)",
	  NULL },
	{ "attention", train_change_attention, true, "attention reaches more of the tensor cores",
	  NULL },
	{ "tf32", tf32, false, "tensor cores; 10 bits of mantissa", NULL },
	{ "bf16", change_half_precision, false,
	  "tensor cores and half of the bytes; fewer bits of mantissa", NULL },
	{ "fp8", train_change_fp8, false, "faster tensor cores; needs a check of the loss", NULL },
	{ "8-bit-states", states8, false,
	  "memory for a larger micro-batch; needs a check of the loss",
	  "fewer bytes an update and less memory; the micro-batch stays; needs a check of the "
	  "loss" },
	{ "interleave", chunks, true, "a smaller pipeline bubble, more sends", NULL },
	{ "less-tensor", less_tensor, true, "fewer sums in each layer, larger multiplications",
	  NULL },
	{ "loader", loaders, true, "samples are there in time", NULL },
};
const size_t train_change_kind_count = sizeof(train_change_kinds) / sizeof(train_change_kinds[0]);
