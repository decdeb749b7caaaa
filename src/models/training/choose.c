/* SPDX-License-Identifier: Apache-2.0 */
/* Batches and sharding of a question: what follows from what was given, and what is chosen so that
 * the model fits. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/training/work.h"

/* Parameters of low-rank adapters, of all: rank 16 on all matrices of a model of 8 G. */
#define LORA_PART 0.005
#define MOST_MICRO 65536
/* What is chosen by itself where no global batch is told: more changes how a model learns. */
#define MOST_CHOSEN 64
#define BUCKET_DDP (25.0 * 1024 * 1024)
#define BUCKET_ZERO 500e6

/* What follows from the way to share. */
static void follow_way(const struct train_options *w, struct train_config *q)
{
	bool sharded = train_parallelism_shards(q->way);

	q->bucket_bytes = w->bucket_bytes > 0	? w->bucket_bytes
			  : q->way == TRAIN_DDP ? BUCKET_DDP
						: BUCKET_ZERO;
	q->reduce_fp32 = w->reduce_fp32 >= 0 ? w->reduce_fp32 : train_parallelism_fp32(q->way);
	q->sync_each_micro =
		w->sync_each_micro >= 0 ? w->sync_each_micro : sharded || q->way == TRAIN_ZERO2;
	q->reshard = w->reshard >= 0 ? w->reshard : sharded;
	if (q->way == TRAIN_HSDP && q->shard <= 0)
		q->shard = place_per_node(&q->place) / q->tp;
	if (q->shard <= 0)
		q->shard = 1;
}

static bool fits_one(const struct train_config *q)
{
	struct train_config one = *q;
	struct train_memory m;

	one.micro_batch = one.micro_batch > 0 ? one.micro_batch : 1;
	one.accumulation = one.accumulation > 0 ? one.accumulation : one.pp;
	train_memory_of(&one, &m);
	return m.fits;
}

static void train_note(struct train_config *q, const char *text)
{
	if (q->n_notes < TRAIN_NOTES)
		q->notes[q->n_notes++] = text;
}

/* The least sharding that fits, and recomputing where even full sharding does not. */
static void choose_way(struct arena *a, const struct train_options *w, struct train_config *q)
{
	static const enum train_parallelism ways[] = { TRAIN_DDP, TRAIN_ZERO1, TRAIN_FSDP };
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
					   done ? "the least sharding that fits"
						: "even this does not fit"));
	if (!w->recompute)
		train_note(q,
			   arena_printf(a, "activation checkpointing %s: %s (--checkpointing)",
					train_recompute_names[q->recompute],
					q->recompute == TRAIN_KEEP_ALL ? "training fits without it"
					: done ? "with less sharding it does not fit"
					       : "even this does not fit"));
}

bool train_interleave_divides(const struct train_config *q)
{
	long long chunks = (long long)q->pp * q->interleave;
	int more = q->arch.moe_layers ? 3 : 2;

	for (int i = 0; i <= more && q->interleave > 1; i++)
		if ((q->arch.layers + i) % chunks == 0)
			return true;
	return q->interleave <= 1;
}

/* Says which chunks there could be instead. */
static int odd_chunks(const struct train_config *q, struct err *e)
{
	struct train_config t = *q;
	char fit[64] = "";

	for (t.interleave = 2; t.interleave <= q->arch.layers / q->pp + 1; t.interleave++)
		if (train_interleave_divides(&t) && strlen(fit) + 8 < sizeof(fit))
			snprintf(fit + strlen(fit), sizeof(fit) - strlen(fit), "%s%d",
				 *fit ? ", " : "", t.interleave);
	err_set(e, -EINVAL,
		"%d layers, with or without embedding and head, cannot be split evenly into %lld "
		"chunks (%d stages of %d): Megatron refuses them",
		q->arch.layers, (long long)q->pp * q->interleave, q->pp, q->interleave);
	if (*fit)
		err_hint(e, "with --pp %d, use --interleave %s", q->pp, fit);
	else
		err_hint(e, "no --interleave fits with --pp %d", q->pp);
	return -EINVAL;
}

static int check_layout(struct train_config *q, struct err *e)
{
	long long cut = 1;

	if (q->tp <= 4096 && q->pp <= 4096 && q->cp <= 4096)
		cut = (long long)q->tp * q->pp * q->cp;
	if (q->tp > 4096 || q->pp > 4096 || q->cp > 4096 || q->place.gpus % cut)
		return err_set(e, -EINVAL,
			       "%d GPUs cannot be split into tensor %d x pipeline %d x context %d",
			       q->place.gpus, q->tp, q->pp, q->cp);
	q->dp = (int)(q->place.gpus / cut);
	if (q->arch.heads && q->arch.heads % q->tp)
		return err_set(e, -EINVAL, "%d attention heads cannot be split into %d",
			       q->arch.heads, q->tp);
	/* Embedding and head count as layers where stages are balanced with them. */
	if ((long long)q->pp * q->interleave > q->arch.layers + 2)
		return err_set(e, -EINVAL, "%d layers cannot be split into %d stages of %d chunks",
			       q->arch.layers, q->pp, q->interleave);
	if (!train_interleave_divides(q))
		return odd_chunks(q, e);
	if (q->ep > 1 && !q->arch.moe_layers)
		return err_set(e, -EINVAL, "%s has no experts to distribute (--ep)", q->arch.name);
	if (q->ep > 1 && (q->arch.experts % q->ep || (q->dp * q->cp * q->tp) % q->ep))
		return err_set(e, -EINVAL, "%d experts cannot be distributed over %d of %d ranks",
			       q->arch.experts, q->ep, q->dp * q->cp * q->tp);
	if (q->sequence % q->cp)
		return err_set(e, -EINVAL, "%d tokens cannot be split into %d parts (--cp)",
			       q->sequence, q->cp);
	return 0;
}

int train_largest_micro_batch(struct arena *a, const struct train_config *q, bool hold)
{
	struct train_config t = *q;
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

int train_config_complete(struct arena *a, struct train_config *q, struct err *e)
{
	int r = check_layout(q, e), each;

	(void)a;
	if (r < 0)
		return r;
	if (q->way == TRAIN_HSDP && (q->shard < 1 || (q->dp * q->cp) % q->shard))
		return err_set(e, -EINVAL, "%d ranks cannot be split into groups of %d (--shard)",
			       q->dp * q->cp, q->shard);
	if (q->global_batch % q->dp)
		return err_set(e, -EINVAL, "global batch %d is not divisible by %d ranks",
			       q->global_batch, q->dp);
	each = q->global_batch / q->dp;
	if (q->micro_batch < 1 || each % q->micro_batch)
		return err_set(e, -EINVAL,
			       "%d sequences per rank are not divisible by micro-batch %d", each,
			       q->micro_batch);
	q->accumulation = each / q->micro_batch;
	return 0;
}

static void choose_micro(struct arena *a, int most, bool held, struct train_config *q)
{
	if (most < 1) {
		q->micro_batch = 1;
		train_note(q, "micro-batch 1, which does not fit either (--micro-batch)");
	} else if (most > MOST_CHOSEN && !held) {
		q->micro_batch = MOST_CHOSEN;
		train_note(q, arena_printf(a,
					   "micro-batch %d: up to %d would fit; the default is at "
					   "most %d (--micro-batch)",
					   MOST_CHOSEN, most, MOST_CHOSEN));
	} else {
		q->micro_batch = most;
		train_note(q, arena_printf(
				      a, "micro-batch %d: the largest that fits%s (--micro-batch)",
				      most, held ? " and divides the global batch" : ""));
	}
}

/* Batches: any two of three that were told give the third. */
static int choose_batches(struct arena *a, const struct train_options *w, struct train_config *q,
			  struct err *e)
{
	int each;

	q->accumulation = w->accumulation > 0 ? w->accumulation : 0;
	q->micro_batch = w->micro_batch > 0 ? w->micro_batch : 0;
	q->global_batch = w->global_batch > 0 ? w->global_batch : 0;
	if (q->global_batch && q->global_batch % q->dp)
		return err_set(e, -EINVAL, "global batch %d is not divisible by %d ranks",
			       q->global_batch, q->dp);
	each = q->global_batch / q->dp;
	if (!q->micro_batch && each && q->accumulation) {
		if (each % q->accumulation)
			return err_set(e, -EINVAL,
				       "%d sequences per rank are not divisible by accumulation %d",
				       each, q->accumulation);
		q->micro_batch = each / q->accumulation;
	}
	if (!q->micro_batch) {
		struct train_config t = *q;

		t.accumulation = q->accumulation ? q->accumulation : q->pp;
		choose_micro(a, train_largest_micro_batch(a, &t, each > 0), each > 0, q);
	}
	if (!q->global_batch) {
		if (!q->accumulation)
			q->accumulation = q->pp > 1 ? 4 * q->pp : 1;
		if ((double)q->micro_batch * q->accumulation * q->dp > 1e9)
			return err_set(e, -EINVAL, "the global batch exceeds a billion");
		q->global_batch = q->micro_batch * q->accumulation * q->dp;
		train_note(q, arena_printf(a,
					   "global batch %d: micro-batch x accumulation x ranks "
					   "(--global-batch)",
					   q->global_batch));
	} else if (w->accumulation > 0 && w->micro_batch > 0 &&
		   (long long)w->accumulation * w->micro_batch * q->dp != q->global_batch) {
		return err_set(
			e, -EINVAL,
			"micro-batch %d x accumulation %d x %d ranks is not the global batch %d",
			w->micro_batch, w->accumulation, q->dp, q->global_batch);
	}
	return 0;
}

static void note_defaults(struct arena *a, const struct train_options *w, struct train_config *q)
{
	if (!w->sequence)
		train_note(q,
			   arena_printf(a, "sequence length %d tokens (--sequence)", q->sequence));
	if (!w->precision)
		train_note(q, q->precision == TRAIN_BF16
				      ? "BF16 multiplications, FP32 master weights (--precision)"
				      : "FP16 multiplications with loss scaling, FP32 master "
					"weights: this GPU has no BF16 (--precision)");
	if (!w->attention)
		train_note(q, "flash attention kernel, PyTorch's default (--attention)");
	if (!q->compile)
		train_note(q, "no fused kernels: no torch.compile (--compile)");
	if (!w->optimizer)
		train_note(q, q->optimizer == TRAIN_ADAMW_FUSED
				      ? "fused AdamW with two FP32 states (--optimizer)"
				      : "AdamW with two FP32 states (--optimizer)");
	if (q->loader_s <= 0)
		train_note(q, "assuming the loader keeps up: measure it (--loader)");
}

/* What was not told of batches, sharding and checkpointing: chosen so that it fits, and said. */
static int train_choose(struct arena *a, const struct train_options *w, struct train_config *q,
			struct err *e)
{
	int r = check_layout(q, e);

	if (r < 0)
		return r;
	q->micro_batch = w->micro_batch > 0 ? w->micro_batch : 1;
	choose_way(a, w, q);
	if ((r = choose_batches(a, w, q, e)) < 0 || (r = train_config_complete(a, q, e)) < 0)
		return r;
	note_defaults(a, w, q);
	return 0;
}

/* From words that people write to a question about training: names, model, machines, switches. */

const char *const train_way_names[TRAIN_WAYS] = { "ddp",    "zero-1", "zero-2",
						  "zero-3", "fsdp",   "hsdp" };
const char *const train_precision_names[TRAIN_PRECISIONS] = { "fp32", "tf32", "bf16", "fp16",
							      "fp8" };
const char *const train_recompute_names[TRAIN_RECOMPUTES] = { "none", "selective", "full" };
const char *const train_optimizer_names[TRAIN_OPTIMIZERS] = {
	"adamw", "adamw-fused", "adamw-bf16", "adamw-8bit", "adafactor", "lion", "sgd", "muon"
};
const char *const train_attention_names[TRAIN_ATTENTIONS] = { "eager", "flash1", "flash",
							      "flash3" };
const char *const train_collective_names[TRAIN_COLLECTIVES] = { "all-reduce", "all-gather",
								"reduce-scatter", "all-to-all",
								"send" };

const char *const train_frozen_names[TRAIN_FROZENS] = { "bf16", "int8", "nf4" };

/* Each framework documents which kernels it brings. The CPU's time is measured for two: plain loops
 * on one H200 host (two others took 1.3 to 1.9 times as long); runs of Transformers 5.17 on one
 * H100 host beside published ones on an A100. For the others no measurement decides it. */
/* clang-format off */
static const struct train_framework train_frameworks[TRAIN_FRAMEWORKS] = {
	{ "pytorch", "a plain PyTorch loop", false, false, false, 1, 0 },
	{ "hf-trainer", "Transformers' Trainer, also with PEFT or TRL", false, true, true, 1.7, 0.025 },
	{ "unsloth", "Unsloth: its own kernels for norms, rotations, loss", true, false, false, 1, 0 },
	{ "automodel", "NeMo AutoModel with Transformer Engine", true, false, true, 1, 0 },
	{ "megatron", "Megatron-LM, Megatron Bridge, NeMo", true, false, true, 1, 0 },
	{ "torchtitan", "torchtitan with torch.compile", true, false, true, 1, 0 },
	{ "deepspeed", "DeepSpeed's engine around a PyTorch model", false, false, true, 1, 0 },
};
/* clang-format on */
const char *const train_framework_names[TRAIN_FRAMEWORKS] = {
	"pytorch", "hf-trainer", "unsloth", "automodel", "megatron", "torchtitan", "deepspeed"
};

void train_switches_none(struct train_options *w)
{
	w->sp = w->overlap = w->tp_overlap = w->compile = -1;
	w->reshard = w->reduce_fp32 = w->sync_each_micro = -1;
}

void train_words_none(struct train_options *w)
{
	*w = (struct train_options){ 0 };
	train_switches_none(w);
}

static bool choose_same(const char *a, const char *b)
{
	while (*a || *b) {
		if (*a == '-' || *a == '_' || *a == ' ')
			a++;
		else if (*b == '-' || *b == '_' || *b == ' ')
			b++;
		else if (tolower((unsigned char)*a++) != tolower((unsigned char)*b++))
			return false;
	}
	return true;
}

/* Which of n names a word is; *out stays where there is none. */
static int choose_pick(struct arena *a, const char *what, const char *word,
		       const char *const *names, int n, int *out, struct err *e)
{
	const char *all = "";

	if (!word || !*word)
		return 0;
	for (int i = 0; i < n; i++) {
		if (choose_same(names[i], word)) {
			*out = i;
			return 0;
		}
		all = arena_printf(a, "%s%s%s", all,
				   i == 0	? ""
				   : i + 1 == n ? " or "
						: ", ",
				   names[i]);
	}
	return err_set(e, -ENOENT, "%s: expected %.200s, got \"%.40s\"", what, all, word);
}

static int choose_find_model(struct arena *a, const struct train_options *w, struct train_config *q,
			     struct err *e)
{
	const char *taken = NULL;
	int r;

	q->model = w->model ? w->model : "";
	if (w->file) {
		q->arch = w->file->arch;
		if (w->file->taken)
			train_note(q, w->file->taken);
		return 0;
	}
	if (!w->model)
		return err_set(e, -EINVAL, "no model given");
	r = model_find(a, w->known, w->model, &w->hint, &q->arch, &taken, e);
	if (r == 0 && taken)
		train_note(q, taken);
	return r;
}

static int choose_find_place(struct arena *a, const struct train_options *w, struct train_config *q,
			     struct err *e)
{
	int r;

	if (w->on) {
		if ((r = place_parse(a, w->known, w->on, &q->place, e)) < 0)
			return r;
	} else if (w->place) {
		q->place = *w->place;
	} else {
		return err_set(e, -EINVAL, "no machine given");
	}
	if (w->gpus > 0) {
		int each = q->place.gpu->per_node;

		q->place.gpus = w->gpus;
		q->place.nodes = (w->gpus + each - 1) / each;
		if (each == 1 && q->place.gpu->link > 0)
			q->place.nodes = 1;
		q->place.taken = arena_printf(a, "%d x %s", w->gpus, q->place.gpu->name);
	}
	if (w->nodes > 0)
		q->place.nodes = w->nodes;
	if (q->place.gpus > 100000 || q->place.nodes > q->place.gpus)
		return err_set(e, -EINVAL, "invalid: %d GPUs in %d machines", q->place.gpus,
			       q->place.nodes);
	if (w->network_gbs > 0)
		q->place.network = w->network_gbs;
	else if (q->place.nodes > 1)
		train_note(q, arena_printf(a,
					   "between machines: %.4g GB/s per GPU and direction, "
					   "usual for such machines (--network)",
					   train_network_gbs(q)));
	return 0;
}

static int value_or(int value, int otherwise)
{
	return value >= 0 ? value : otherwise;
}

/* Bits of a frozen weight with its scales: LLM.int8() has one a row, QLoRA's NF4 one of 8 bits for
 * 64 weights and one of 32 for 256 of those. */
static const double frozen_bits[TRAIN_FROZENS] = { 0, 8, 4.127 };

static int find_words(struct arena *a, const struct train_options *w, struct train_config *q,
		      struct err *e)
{
	int precision = (int)train_half_precision(q->place.gpu), recompute = TRAIN_KEEP_ALL,
	    attention = TRAIN_FLASH;
	int optimizer = -1, way = TRAIN_DDP, framework = -1, frozen = 0, r;

	if ((r = choose_pick(a, "--precision", w->precision, train_precision_names,
			     TRAIN_PRECISIONS, &precision, e)) < 0 ||
	    (r = choose_pick(a, "--checkpointing", w->recompute, train_recompute_names,
			     TRAIN_RECOMPUTES, &recompute, e)) < 0 ||
	    (r = choose_pick(a, "--attention", w->attention, train_attention_names,
			     TRAIN_ATTENTIONS, &attention, e)) < 0 ||
	    (r = choose_pick(a, "--optimizer", w->optimizer, train_optimizer_names,
			     TRAIN_OPTIMIZERS, &optimizer, e)) < 0 ||
	    (r = choose_pick(a, "--framework", w->framework, train_framework_names,
			     TRAIN_FRAMEWORKS, &framework, e)) < 0 ||
	    (r = choose_pick(a, "--frozen", w->frozen, train_frozen_names, TRAIN_FROZENS, &frozen,
			     e)) < 0 ||
	    (r = choose_pick(a, "--parallel", w->way, train_way_names, TRAIN_WAYS, &way, e)) < 0)
		return r;
	q->precision = (enum train_precision)precision;
	q->recompute = (enum train_recompute)recompute;
	q->attention = (enum train_attention)attention;
	q->way = (enum train_parallelism)way;
	q->frozen_bits = frozen_bits[frozen];
	if (framework < 0) {
		framework = w->compile > 0 ? 0 : 1;
		train_note(q, arena_printf(a, "framework %s: %s (--framework)",
					   train_framework_names[framework],
					   train_frameworks[framework].what));
	}
	q->framework = &train_frameworks[framework];
	q->compile = value_or(w->compile, q->framework->compile);
	if (optimizer < 0)
		optimizer = q->framework->fused ? TRAIN_ADAMW_FUSED : TRAIN_ADAMW;
	q->optimizer = (enum train_optimizer)optimizer;
	if (train_peak(q->place.gpu, q->precision) <= 0)
		return err_set(e, -EINVAL, "%s has no tensor cores for %s", q->place.gpu->name,
			       train_precision_names[q->precision]);
	return 0;
}

static void switches(const struct train_options *w, struct train_config *q)
{
	q->tp = w->tp > 0 ? w->tp : 1;
	q->pp = w->pp > 0 ? w->pp : 1;
	q->cp = w->cp > 0 ? w->cp : 1;
	q->ep = w->ep > 0 ? w->ep : 1;
	q->interleave = w->interleave > 0 ? w->interleave : 1;
	q->sp = value_or(w->sp, q->tp > 1);
	q->overlap = value_or(w->overlap, true);
	q->tp_overlap = value_or(w->tp_overlap, false);
	q->trained = w->trained;
	q->loader_s = w->loader_s;
	q->workers = w->workers > 0 ? w->workers : 1;
	q->sequence = w->sequence > 0 ? w->sequence : 2048;
	q->shard = w->shard;
}

int train_config_make(struct arena *a, const struct train_options *w, struct train_config *q,
		      struct err *e)
{
	int r;

	*q = (struct train_config){ .model = w->model };
	if ((r = choose_find_model(a, w, q, e)) < 0 || (r = choose_find_place(a, w, q, e)) < 0 ||
	    (r = find_words(a, w, q, e)) < 0)
		return r;
	switches(w, q);
	if (w->lora && !(q->trained > 0))
		q->trained = LORA_PART * arch_parts(&q->arch).total;
	/* "8.03B" of 8.0299 is meant as all. */
	if (q->trained > arch_parts(&q->arch).total * 1.01)
		return err_set(e, -EINVAL, "--trained: %.6g G exceeds the %.6g G parameters of %s",
			       q->trained / 1e9, arch_parts(&q->arch).total / 1e9,
			       q->arch.name && *q->arch.name ? q->arch.name : "the model");
	if (q->frozen_bits > 0 && !train_adapters(q))
		return err_set(
			e, -EINVAL,
			"--frozen %s needs adapters (--lora, or --trained with their parameters)",
			w->frozen);
	return train_choose(a, w, q, e);
}
