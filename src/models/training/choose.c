/* SPDX-License-Identifier: Apache-2.0 */
/* Batches and sharding of a question: what follows from what was told, and what is chosen so that
 * the model fits. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/training/words.h"

#define MOST_MICRO 65536
/* What is chosen by itself where no global batch is told: more changes how a model learns. */
#define MOST_CHOSEN 64
#define BUCKET_DDP (25.0 * 1024 * 1024)
#define BUCKET_ZERO 500e6

bool train_way_fp32(enum train_way way)
{
	return way == TRAIN_DDP || way == TRAIN_FSDP || way == TRAIN_HSDP;
}

bool train_way_shards(enum train_way way)
{
	return way == TRAIN_ZERO3 || way == TRAIN_FSDP || way == TRAIN_HSDP;
}

/* What follows from the way to share. */
static void follow_way(const struct train_words *w, struct train_question *q)
{
	bool sharded = train_way_shards(q->way);

	q->bucket_bytes = w->bucket_bytes > 0	? w->bucket_bytes
			  : q->way == TRAIN_DDP ? BUCKET_DDP
						: BUCKET_ZERO;
	q->reduce_fp32 = w->reduce_fp32 >= 0 ? w->reduce_fp32 : train_way_fp32(q->way);
	q->sync_each_micro =
		w->sync_each_micro >= 0 ? w->sync_each_micro : sharded || q->way == TRAIN_ZERO2;
	q->reshard = w->reshard >= 0 ? w->reshard : sharded;
	if (q->way == TRAIN_HSDP && q->shard <= 0)
		q->shard = place_per_node(&q->place) / q->tp;
	if (q->shard <= 0)
		q->shard = 1;
}

static bool fits_one(const struct train_question *q)
{
	struct train_question one = *q;
	struct train_memory m;

	one.micro_batch = one.micro_batch > 0 ? one.micro_batch : 1;
	one.accumulation = one.accumulation > 0 ? one.accumulation : one.pp;
	train_memory_of(&one, &m);
	return m.fits;
}

/* The least sharding that fits, and recomputing where even full sharding does not. */
static void choose_way(struct arena *a, const struct train_words *w, struct train_question *q)
{
	static const enum train_way ways[] = { TRAIN_DDP, TRAIN_ZERO1, TRAIN_FSDP };
	bool done = false;

	for (int again = 0; again < (w->recompute ? 1 : TRAIN_RECOMPUTES) && !done; again++) {
		if (again)
			q->recompute = (enum train_recompute)again;
		for (size_t i = 0; i < 3 && !done; i++) {
			if (!w->way)
				q->way = ways[q->dp * q->cp > 1 ? i : 0];
			follow_way(w, q);
			done = fits_one(q);
			if (w->way || q->dp * q->cp <= 1)
				break;
		}
	}
	if (!w->way && q->dp * q->cp > 1)
		train_note(q, arena_printf(a, "%s: %s (--parallel)", train_way_names[q->way],
					   done ? "the least sharding with which it fits"
						: "not even this fits"));
	if (!w->recompute)
		train_note(q, arena_printf(a, "activation checkpointing %s: %s (--checkpointing)",
					   train_recompute_names[q->recompute],
					   q->recompute == TRAIN_KEEP_ALL ? "it fits without"
					   : done ? "with less it does not fit"
						  : "not even with this it fits"));
}

bool train_interleave_divides(const struct train_question *q)
{
	long long chunks = (long long)q->pp * q->interleave;
	int more = q->arch.moe_layers ? 3 : 2;

	for (int i = 0; i <= more && q->interleave > 1; i++)
		if ((q->arch.layers + i) % chunks == 0)
			return true;
	return q->interleave <= 1;
}

/* Says which chunks there could be instead. */
static int odd_chunks(const struct train_question *q, struct err *e)
{
	struct train_question t = *q;
	char fit[64] = "";

	for (t.interleave = 2; t.interleave <= q->arch.layers / q->pp + 1; t.interleave++)
		if (train_interleave_divides(&t) && strlen(fit) + 8 < sizeof(fit))
			snprintf(fit + strlen(fit), sizeof(fit) - strlen(fit), "%s%d",
				 *fit ? ", " : "", t.interleave);
	err_set(e, -EINVAL,
		"%d layers, embedding and head counted or not, cannot be cut evenly into %lld "
		"chunks (%d stages of %d): Megatron refuses them",
		q->arch.layers, (long long)q->pp * q->interleave, q->pp, q->interleave);
	if (*fit)
		err_hint(e, "with --pp %d, --interleave can be %s", q->pp, fit);
	else
		err_hint(e, "with --pp %d no --interleave does", q->pp);
	return -EINVAL;
}

static int check_layout(struct train_question *q, struct err *e)
{
	long long cut = 1;

	if (q->tp <= 4096 && q->pp <= 4096 && q->cp <= 4096)
		cut = (long long)q->tp * q->pp * q->cp;
	if (q->tp > 4096 || q->pp > 4096 || q->cp > 4096 || q->place.gpus % cut)
		return err_set(e, -EINVAL,
			       "%d GPUs cannot be cut into tensor %d x stages %d x context %d",
			       q->place.gpus, q->tp, q->pp, q->cp);
	q->dp = (int)(q->place.gpus / cut);
	if (q->arch.heads && q->arch.heads % q->tp)
		return err_set(e, -EINVAL, "%d attention heads cannot be cut into %d",
			       q->arch.heads, q->tp);
	/* Embedding and head count as layers where stages are balanced with them. */
	if ((long long)q->pp * q->interleave > q->arch.layers + 2)
		return err_set(e, -EINVAL, "%d layers cannot be cut into %d stages of %d chunks",
			       q->arch.layers, q->pp, q->interleave);
	if (!train_interleave_divides(q))
		return odd_chunks(q, e);
	if (q->ep > 1 && !q->arch.moe_layers)
		return err_set(e, -EINVAL, "%s has no experts to spread (--ep)", q->arch.name);
	if (q->ep > 1 && (q->arch.experts % q->ep || (q->dp * q->cp * q->tp) % q->ep))
		return err_set(e, -EINVAL, "%d experts cannot be spread over %d of %d ranks",
			       q->arch.experts, q->ep, q->dp * q->cp * q->tp);
	if (q->sequence % q->cp)
		return err_set(e, -EINVAL, "%d tokens cannot be cut into %d parts (--cp)",
			       q->sequence, q->cp);
	return 0;
}

int train_largest_micro_batch(struct arena *a, const struct train_question *q, bool hold)
{
	struct train_question t = *q;
	struct train_memory m;
	int each = q->global_batch / (q->dp > 0 ? q->dp : 1), best = 0;

	(void)a;
	for (int b = 1; b <= MOST_MICRO && (!hold || b <= each); b++) {
		if (hold && each % b)
			continue;
		t.micro_batch = b;
		if (hold)
			t.accumulation = each / b;
		train_memory_of(&t, &m);
		if (!m.fits)
			break;
		best = b;
	}
	return best;
}

int train_question_settle(struct arena *a, struct train_question *q, struct err *e)
{
	int r = check_layout(q, e), each;

	(void)a;
	if (r < 0)
		return r;
	if (q->way == TRAIN_HSDP && (q->shard < 1 || (q->dp * q->cp) % q->shard))
		return err_set(e, -EINVAL, "%d ranks cannot be cut into groups of %d (--shard)",
			       q->dp * q->cp, q->shard);
	if (q->global_batch % q->dp)
		return err_set(e, -EINVAL, "a global batch of %d does not divide by %d ranks",
			       q->global_batch, q->dp);
	each = q->global_batch / q->dp;
	if (q->micro_batch < 1 || each % q->micro_batch)
		return err_set(e, -EINVAL,
			       "%d sequences of a rank do not divide by micro-batches of %d", each,
			       q->micro_batch);
	q->accumulation = each / q->micro_batch;
	return 0;
}

static void choose_micro(struct arena *a, int most, bool held, struct train_question *q)
{
	if (most < 1) {
		q->micro_batch = 1;
		train_note(q, "micro-batch 1: not even this fits (--micro-batch)");
	} else if (most > MOST_CHOSEN && !held) {
		q->micro_batch = MOST_CHOSEN;
		train_note(q,
			   arena_printf(a,
					"micro-batch %d: up to %d would fit; more than %d is not "
					"chosen unasked (--micro-batch)",
					MOST_CHOSEN, most, MOST_CHOSEN));
	} else {
		q->micro_batch = most;
		train_note(q, arena_printf(
				      a, "micro-batch %d: the largest that fits%s (--micro-batch)",
				      most, held ? " and divides the global batch" : ""));
	}
}

/* Batches: any two of three that were told give the third. */
static int batches(struct arena *a, const struct train_words *w, struct train_question *q,
		   struct err *e)
{
	int each;

	q->accumulation = w->accumulation > 0 ? w->accumulation : 0;
	q->micro_batch = w->micro_batch > 0 ? w->micro_batch : 0;
	q->global_batch = w->global_batch > 0 ? w->global_batch : 0;
	if (q->global_batch && q->global_batch % q->dp)
		return err_set(e, -EINVAL, "a global batch of %d does not divide by %d ranks",
			       q->global_batch, q->dp);
	each = q->global_batch / q->dp;
	if (!q->micro_batch && each && q->accumulation) {
		if (each % q->accumulation)
			return err_set(e, -EINVAL,
				       "%d sequences of a rank do not divide by accumulation %d",
				       each, q->accumulation);
		q->micro_batch = each / q->accumulation;
	}
	if (!q->micro_batch) {
		struct train_question t = *q;

		t.accumulation = q->accumulation ? q->accumulation : q->pp;
		choose_micro(a, train_largest_micro_batch(a, &t, each > 0), each > 0, q);
	}
	if (!q->global_batch) {
		if (!q->accumulation)
			q->accumulation = q->pp > 1 ? 4 * q->pp : 1;
		if ((double)q->micro_batch * q->accumulation * q->dp > 1e9)
			return err_set(e, -EINVAL, "a global batch of more than a billion");
		q->global_batch = q->micro_batch * q->accumulation * q->dp;
		train_note(q, arena_printf(a,
					   "global batch %d: micro-batch x accumulation x ranks "
					   "(--global-batch)",
					   q->global_batch));
	} else if (w->accumulation > 0 && w->micro_batch > 0 &&
		   (long long)w->accumulation * w->micro_batch * q->dp != q->global_batch) {
		return err_set(e, -EINVAL,
			       "micro-batch %d x accumulation %d x %d ranks is not a global batch "
			       "of %d",
			       w->micro_batch, w->accumulation, q->dp, q->global_batch);
	}
	return 0;
}

static void say_defaults(struct arena *a, const struct train_words *w, struct train_question *q)
{
	if (!w->sequence)
		train_note(q, arena_printf(a, "samples of %d tokens (--sequence)", q->sequence));
	if (!w->precision)
		train_note(q,
			   q->precision == TRAIN_BF16
				   ? "BF16 multiplications, FP32 master weights (--precision)"
				   : "FP16 multiplications with loss scaling, FP32 master weights: "
				     "this GPU has no BF16 (--precision)");
	if (!w->attention)
		train_note(q, "attention by a flash kernel, as PyTorch chooses (--attention)");
	if (w->compile < 0)
		train_note(q, "kernels are not fused: no torch.compile (--compile)");
	if (!w->optimizer)
		train_note(q, "AdamW with two FP32 states (--optimizer)");
	if (q->loader_s <= 0)
		train_note(q, "the loader is taken to keep up: measure it (--loader)");
}

int train_choose(struct arena *a, const struct train_words *w, struct train_question *q,
		 struct err *e)
{
	int r = check_layout(q, e);

	if (r < 0)
		return r;
	q->micro_batch = w->micro_batch > 0 ? w->micro_batch : 1;
	choose_way(a, w, q);
	if ((r = batches(a, w, q, e)) < 0 || (r = train_question_settle(a, q, e)) < 0)
		return r;
	say_defaults(a, w, q);
	return 0;
}
