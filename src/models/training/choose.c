/* SPDX-License-Identifier: Apache-2.0 */
/* Batches and sharding of a question: what follows from what was given, and what is chosen so that
 * the model fits. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/training/work.h"

#define MOST_MICRO 65536
/* What is chosen by itself where no global batch is told: more changes how a model learns. */
#define MOST_CHOSEN 64
#define BUCKET_DDP (25.0 * 1024 * 1024)
#define BUCKET_ZERO 500e6

bool train_parallelism_fp32(enum train_parallelism way)
{
	return way == TRAIN_DDP || way == TRAIN_FSDP || way == TRAIN_HSDP;
}

bool train_parallelism_shards(enum train_parallelism way)
{
	return way == TRAIN_ZERO3 || way == TRAIN_FSDP || way == TRAIN_HSDP;
}

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
		train_note(q, arena_printf(a, "activation checkpointing %s: %s (--checkpointing)",
					   train_recompute_names[q->recompute],
					   q->recompute == TRAIN_KEEP_ALL ? "it fits without"
					   : done ? "with less it does not fit"
						  : "even with this it does not fit"));
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
		err_hint(e, "with --pp %d no --interleave divides them", q->pp);
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
		train_note(q, "micro-batch 1: even this does not fit (--micro-batch)");
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
		train_note(q,
			   q->precision == TRAIN_BF16
				   ? "BF16 multiplications, FP32 master weights (--precision)"
				   : "FP16 multiplications with loss scaling, FP32 master weights: "
				     "this GPU has no BF16 (--precision)");
	if (!w->attention)
		train_note(q, "flash attention kernel, PyTorch's default (--attention)");
	if (w->compile < 0)
		train_note(q, "no fused kernels: no torch.compile (--compile)");
	if (!w->optimizer)
		train_note(q, "AdamW with two FP32 states (--optimizer)");
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

/* Memory of the fullest GPU: what is kept all the time, and what a step needs besides. */

/* CUDA context and libraries, and what NCCL keeps for its channels; measured on H100 with
 * PyTorch 2.x. */
#define CONTEXT 0.9e9
#define NCCL 0.5e9
/* What the caching allocator cannot use, of what comes and goes. */
#define WASTE 0.02
/* Bytes of a logit at the worst moment: as multiplied, as FP32, its gradient. */
#define LOGIT 8
/* Of unified memory: the rest is the system's, the loader's and the page cache's. */
#define UNIFIED_PART 0.9

static double shards(const struct train_config *q, const struct train_shape *s)
{
	return q->way == TRAIN_HSDP ? q->shard : s->ranks;
}

/* Bytes of optimizer state for a trained parameter, the FP32 copy apart. */
static double state_bytes(enum train_optimizer o)
{
	switch (o) {
	case TRAIN_ADAMW:
		return 8;
	case TRAIN_ADAMW_BF16:
		return 4;
	case TRAIN_ADAMW_8BIT:
		return 2;
	case TRAIN_ADAFACTOR:
		return 0.02;
	default:
		return 4;
	}
}

/* FP32 weights are their own master copy; FSDP keeps FP32 weights and gathers BF16 ones; ZeRO and
 * DDP with a mixed optimizer keep both, stage 3 each rank its part. */
static void weights(const struct train_config *q, const struct train_shape *s,
		    struct train_memory *m)
{
	double n = shards(q, s), w = train_weight_bytes(q), g = train_gradient_bytes(q);
	double frozen = s->params - s->trained;
	bool own = w >= 4 || q->optimizer == TRAIN_ADAMW_BF16;

	/* What each rank has of it where it is sharded. */
	n = s->params / (s->dense / n + s->experts / fmin(n, s->expert_ranks));
	m->weights = s->params * w;
	m->master = own ? 0 : s->trained * 4;
	m->gradients = s->trained * g;
	m->states = s->trained * state_bytes(q->optimizer);
	if (q->way == TRAIN_ZERO1 || q->way == TRAIN_ZERO2 || train_parallelism_shards(q->way))
		m->states /= n, m->master /= n;
	if (q->way == TRAIN_ZERO2 || train_parallelism_shards(q->way))
		m->gradients /= n;
	/* With FP32 shards the gathered BF16 copy is a buffer, not a weight. */
	if (train_parallelism_shards(q->way))
		m->weights = (own || q->way == TRAIN_ZERO3 ? s->params : frozen) * w / n;
}

/*
 * Elements times bytes that a layer of a transformer keeps of a token: inputs of norms, of the
 * projections and of the activation; queries, keys, values; the attention's output. Kernels of
 * their own keep what fused ones compute again.
 */
static double train_stored_bytes(const struct train_config *q, const struct train_shape *s)
{
	const struct arch *a = &q->arch;
	double w = train_weight_bytes(q), h = a->hidden;
	double qkv = ((double)a->heads + 2.0 * a->kv_heads) * a->head_dim / q->tp;
	double out = (double)a->heads * a->head_dim / q->tp, along = h / (q->sp ? q->tp : 1);
	bool gated = a->ffn_mats != 2;
	double blocks = s->widest * (q->compile ? (gated ? 3 : 2) : (gated ? 3.4 : 2));
	double rows = along * (q->compile || !gated ? 4 : 5);

	/* Latent attention keeps what it projects down as well, on each tensor rank. */
	if (a->kv_lora) {
		qkv = a->heads * (2.0 * (a->nope_dim + a->rope_dim) + a->v_dim) / q->tp +
		      a->q_lora + a->kv_lora + a->rope_dim;
		out = (double)a->heads * a->v_dim / q->tp;
	}
	if (a->moe_layers)
		rows += 2.0 * a->top * along;
	return w * (rows + qkv + out + blocks);
}

static double scores(const struct train_config *q, const struct train_shape *s)
{
	if (q->attention != TRAIN_EAGER)
		return 0;
	return 3 * train_weight_bytes(q) * s->tokens * q->sequence * q->arch.heads / q->tp;
}

static void choose_activations(const struct train_config *q, const struct train_shape *s,
			       struct train_memory *m)
{
	double layer = s->tokens * train_stored_bytes(q, s) + scores(q, s), kept = layer;
	double row = s->tokens * q->arch.hidden * train_weight_bytes(q) / (q->sp ? q->tp : 1);
	double flight = 1;

	if (q->recompute == TRAIN_FULL)
		kept = row;
	else if (q->recompute == TRAIN_SELECTIVE)
		kept = q->way == TRAIN_FSDP || q->way == TRAIN_HSDP ? 0.5 * layer
								    : layer - scores(q, s);
	/* 1F1B: the first stage has as many micro-batches under way as there are stages. */
	if (q->pp > 1) {
		flight = fmin(q->accumulation, q->pp);
		if (q->interleave > 1)
			flight *= 1 + (q->pp - 1.0) / ((double)q->pp * q->interleave);
	}
	m->activations = kept * s->layers * flight;
	m->working = q->recompute == TRAIN_KEEP_ALL ? row * 2 : layer;
	m->logits = s->tokens * q->arch.vocab / q->tp * LOGIT;
	if (q->pp > 1) /* on the last stage, which keeps one micro-batch alone */
		m->logits = fmax(0, m->logits - kept * s->layers * (flight - 1));
}

static void choose_buffers(const struct train_config *q, const struct train_shape *s,
			   struct train_memory *m)
{
	double layer = s->params / fmax(s->layers, 1), w = train_weight_bytes(q);

	if (s->ranks > 1 && !train_parallelism_shards(q->way)) {
		m->buffers = fmin(q->bucket_bytes * 2, s->trained * train_gradient_bytes(q));
		/* PyTorch's DDP keeps copies of all gradients in its buckets: to have them there
		 * alone (gradient_as_bucket_view) is not what it does by itself. */
		if (q->way == TRAIN_DDP && q->reduce_fp32)
			m->buffers = s->trained * train_gradient_bytes(q);
	}
	if (train_parallelism_shards(q->way) && s->ranks > 1) {
		double largest = fmax(layer, s->head);

		m->buffers = 2 * largest * w + largest * train_gradient_bytes(q);
		if (!q->reshard)
			m->buffers += s->params * w;
	}
	m->context = CONTEXT + (q->place.gpus > 1 ? NCCL : 0);
}

/* What a stage of so many layers holds; in all but the first each has experts, if those without are
 * few enough to be the first one's. */
static double stage_experts(const struct train_config *q, const struct train_shape *s,
			    double layers)
{
	double moe = q->arch.moe_layers;

	if (moe <= 0 || q->arch.layers - moe >= s->layers)
		return s->experts * layers * q->pp / q->arch.layers;
	return s->experts * fmin(moe, layers) * q->pp / moe;
}

/* Layers that do not divide leave one more to some stages than to the last, which has the output
 * head besides. */
static void fullest_stage(const struct train_config *q, struct train_shape *s)
{
	double mean = q->arch.layers / (double)q->pp, least = floor(mean);
	double layer = (s->dense - s->head) / mean;
	double middle = stage_experts(q, s, s->layers), last = stage_experts(q, s, least);

	if (q->pp <= 1)
		return;
	if (layer * s->layers + middle > layer * least + s->head + last) {
		s->dense = layer * s->layers;
		s->experts = middle;
	} else {
		s->dense = layer * least + s->head;
		s->experts = last;
	}
	s->params = s->dense + s->experts;
	s->trained = s->params * train_trained_part(q);
}

void train_memory_of(const struct train_config *q, struct train_memory *m)
{
	struct train_shape s;

	*m = (struct train_memory){ 0 };
	train_shape_of(q, &s);
	fullest_stage(q, &s);
	weights(q, &s, m);
	choose_activations(q, &s, m);
	choose_buffers(q, &s, m);
	m->waste = WASTE * (m->activations + m->working + m->logits + m->buffers);
	m->total = m->weights + m->master + m->gradients + m->states + m->activations + m->working +
		   m->logits + m->buffers + m->context + m->waste;
	/* Unified memory is shared with everything else, be it read or by data sheet. */
	m->limit = place_memory_bytes(&q->place);
	m->shown = q->place.gpu->unified ? m->limit : 0;
	if (m->shown > 0)
		m->limit *= UNIFIED_PART;
	m->all = (struct figure){ m->total, m->total * 0.87, m->total * 1.13 };
	m->fits = m->total <= m->limit;
}

/* From words that people write to a question about training: names, model, machines, switches. */

const char *const train_way_names[TRAIN_WAYS] = { "ddp",    "zero-1", "zero-2",
						  "zero-3", "fsdp",   "hsdp" };
const char *const train_precision_names[TRAIN_PRECISIONS] = { "fp32", "tf32", "bf16", "fp16",
							      "fp8" };
const char *const train_recompute_names[TRAIN_RECOMPUTES] = { "none", "selective", "full" };
const char *const train_optimizer_names[TRAIN_OPTIMIZERS] = {
	"adamw", "adamw-bf16", "adamw-8bit", "adafactor", "lion", "sgd", "muon"
};
const char *const train_attention_names[TRAIN_ATTENTIONS] = { "eager", "flash", "flash3" };
const char *const train_collective_names[TRAIN_COLLECTIVES] = { "all-reduce", "all-gather",
								"reduce-scatter", "all-to-all",
								"send" };

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

static int find_words(struct arena *a, const struct train_options *w, struct train_config *q,
		      struct err *e)
{
	int precision = (int)train_half_precision(q->place.gpu), recompute = TRAIN_KEEP_ALL,
	    attention = TRAIN_FLASH;
	int optimizer = TRAIN_ADAMW, way = TRAIN_DDP, r;

	if ((r = choose_pick(a, "--precision", w->precision, train_precision_names,
			     TRAIN_PRECISIONS, &precision, e)) < 0 ||
	    (r = choose_pick(a, "--checkpointing", w->recompute, train_recompute_names,
			     TRAIN_RECOMPUTES, &recompute, e)) < 0 ||
	    (r = choose_pick(a, "--attention", w->attention, train_attention_names,
			     TRAIN_ATTENTIONS, &attention, e)) < 0 ||
	    (r = choose_pick(a, "--optimizer", w->optimizer, train_optimizer_names,
			     TRAIN_OPTIMIZERS, &optimizer, e)) < 0 ||
	    (r = choose_pick(a, "--parallel", w->way, train_way_names, TRAIN_WAYS, &way, e)) < 0)
		return r;
	q->precision = (enum train_precision)precision;
	q->recompute = (enum train_recompute)recompute;
	q->attention = (enum train_attention)attention;
	q->optimizer = (enum train_optimizer)optimizer;
	q->way = (enum train_parallelism)way;
	if (train_peak(q->place.gpu, q->precision) <= 0)
		return err_set(e, -EINVAL, "%s has no tensor cores for %s", q->place.gpu->name,
			       train_precision_names[q->precision]);
	return 0;
}

static int value_or(int value, int otherwise)
{
	return value >= 0 ? value : otherwise;
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
	q->compile = value_or(w->compile, false);
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
	/* "8.03B" of 8.0299 is meant as all. */
	if (q->trained > arch_parts(&q->arch).total * 1.01)
		return err_set(e, -EINVAL, "--trained: %.6g G exceeds the %.6g G parameters of %s",
			       q->trained / 1e9, arch_parts(&q->arch).total / 1e9,
			       q->arch.name && *q->arch.name ? q->arch.name : "the model");
	return train_choose(a, w, q, e);
}
