/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step of training takes: memory of one GPU by part, time by part, communication that
 * nothing hides, tokens a second, and how that changes with more GPUs or another way to train.
 * Pure: a question goes in, an answer with intervals comes out. Times are seconds, sizes bytes,
 * rates tokens/s or FLOP/s, unless a name says otherwise.
 *
 * Every answer is predicted, never measured. An interval is where four of five measurements of
 * other people's runs lay beside what was predicted without their source.
 */
#ifndef TRAINING_TRAIN_H
#define TRAINING_TRAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "models/figure.h"
#include "models/inference/arch.h"
#include "models/inference/config.h"
#include "models/inference/gpu.h"

/* What the data-parallel ranks share. */
enum train_parallelism {
	TRAIN_DDP,   /* everything on every rank; gradients are all-reduced in buckets */
	TRAIN_ZERO1, /* optimizer states sharded */
	TRAIN_ZERO2, /* and gradients */
	TRAIN_ZERO3, /* and weights, gathered layer by layer */
	TRAIN_FSDP,  /* full shard: as ZeRO-3 */
	TRAIN_HSDP,  /* sharded inside a group of shard ranks, copied between groups */
	TRAIN_WAYS
};

enum train_precision {
	TRAIN_FP32, /* no tensor cores */
	TRAIN_TF32,
	TRAIN_BF16, /* mixed: BF16 multiplications and weights, FP32 master weights */
	TRAIN_FP16, /* the same with loss scaling */
	TRAIN_FP8,  /* linear layers in FP8, the rest as BF16 */
	TRAIN_PRECISIONS
};

enum train_recompute { TRAIN_KEEP_ALL, TRAIN_SELECTIVE, TRAIN_FULL, TRAIN_RECOMPUTES };

enum train_optimizer {
	TRAIN_ADAMW,	   /* two FP32 states */
	TRAIN_ADAMW_FUSED, /* the same, updated in one pass */
	TRAIN_ADAMW_BF16,  /* two BF16 states and no master weights */
	TRAIN_ADAMW_8BIT,  /* two states of a byte */
	TRAIN_ADAFACTOR,   /* rows and columns of the second state */
	TRAIN_LION,	   /* one FP32 state */
	TRAIN_SGD,	   /* one momentum */
	TRAIN_MUON,	   /* one state; orthogonalised updates */
	TRAIN_OPTIMIZERS
};

struct train_fit;

/* What runs the training: what the CPU does for it, and which kernels it brings. */
struct train_framework {
	const char *name;  /* "hf-trainer" */
	const char *what;  /* in words, with those that work alike */
	bool compile;	   /* fused kernels by itself */
	bool transformers; /* models as Hugging Face's Transformers writes them */
	bool fused;	   /* its AdamW is the fused one by default */
	double host;	   /* the CPU's time for a kernel, of that of a plain PyTorch loop */
	double step_s;	   /* of the CPU, besides, for a step: batches, callbacks, clipping */
};

#define TRAIN_FRAMEWORKS 7
extern const char *const train_framework_names[TRAIN_FRAMEWORKS];
/* Formats of frozen weights, for adapters: "nf4" ... */
#define TRAIN_FROZENS 3
extern const char *const train_frozen_names[TRAIN_FROZENS];

enum train_attention {
	TRAIN_EAGER,  /* scores are written to memory */
	TRAIN_FLASH1, /* FlashAttention 1, kernels of Triton */
	TRAIN_FLASH,  /* FlashAttention 2, SDPA's flash kernel */
	TRAIN_FLASH3, /* FlashAttention 3, cuDNN on Hopper and newer */
	TRAIN_ATTENTIONS
};

enum train_collective {
	TRAIN_ALL_REDUCE,
	TRAIN_ALL_GATHER,
	TRAIN_REDUCE_SCATTER,
	TRAIN_ALL_TO_ALL,
	TRAIN_SEND, /* between stages */
	TRAIN_COLLECTIVES
};

extern const char *const train_way_names[TRAIN_WAYS]; /* "ddp", "zero-1", "fsdp" */
/* Whether gradients are summed as FP32 with mixed precision by default. */
bool train_parallelism_fp32(enum train_parallelism way);
/* No GPU holds all the weights: they are gathered where they are used. */
bool train_parallelism_shards(enum train_parallelism way);
extern const char *const train_precision_names[TRAIN_PRECISIONS];   /* "bf16" */
extern const char *const train_recompute_names[TRAIN_RECOMPUTES];   /* "none" ... */
extern const char *const train_optimizer_names[TRAIN_OPTIMIZERS];   /* "adamw", "adamw-8bit" */
extern const char *const train_attention_names[TRAIN_ATTENTIONS];   /* "eager", "flash" ... */
extern const char *const train_collective_names[TRAIN_COLLECTIVES]; /* "all-reduce" ... */

#define TRAIN_CURVE_POINTS 40

/* A collective's speed by message size: bus bandwidth as nccl-tests defines it (1e9 bytes/s). */
struct train_curve {
	enum train_collective what;
	bool between;	  /* over the network; else inside one machine */
	int ranks;	  /* that it was measured with; 0: not known */
	const char *from; /* "collectives all-reduce, measured (20261121-...)" */
	size_t n;	  /* sorted by size */
	struct {
		double bytes, busbw_gbs;
	} at[TRAIN_CURVE_POINTS];
};

#define TRAIN_CURVES 12
#define TRAIN_NOTES 24

struct train_config {
	struct arch arch;
	const char *model;	/* as it was named */
	struct target_hw place; /* kind of GPU, gpus of all machines, nodes, network (GB/s, one way,
			       of one GPU; 0: usual) */
	enum train_parallelism way;
	int shard;	    /* ranks of a shard group of HSDP; 0: those of a machine */
	int tp, pp, cp, ep; /* 1: none */
	int interleave;	    /* model chunks of a stage; 1: plain 1F1B */
	bool sp;	    /* sequence parallel: norms and residuals split over tp */
	int dp;		    /* gpus / (tp pp cp): follows from the others */
	int micro_batch;    /* sequences of one forward pass */
	int accumulation;   /* micro-batches of a step and pipeline */
	int global_batch;   /* micro_batch x accumulation x dp */
	int sequence;	    /* tokens of a sample */
	enum train_precision precision;
	enum train_recompute recompute;
	enum train_optimizer optimizer;
	enum train_attention attention;
	bool reduce_fp32;     /* gradients are summed as FP32, else in the type of weights */
	bool sync_each_micro; /* gradients are reduced after each micro-batch, not each step */
	bool overlap;	      /* communication beside computation */
	bool tp_overlap;      /* tensor parallel collectives run beside the multiplications */
	bool compile;	      /* torch.compile or fused kernels (Transformer Engine, Megatron) */
	bool reshard;	      /* FSDP: weights are dropped after forward, gathered again */
	double bucket_bytes;  /* of gradients */
	double trained;	      /* parameters that are trained (LoRA); 0: all */
	double frozen_bits;   /* of a weight of a frozen layer, scales included (QLoRA); 0: 16 */
	const struct train_framework *framework;
	double loader_s;   /* one sample in one loader worker, measured; 0: unknown */
	int workers;	   /* loader workers of a rank */
	double gemm_flops; /* of one GPU, measured by our bench; 0: by data sheet */
	const char *gemm_from;
	struct train_curve curves[TRAIN_CURVES];
	size_t n_curves;
	const struct train_fit *fit;	/* NULL: the built-in constants (fit.h) */
	const char *notes[TRAIN_NOTES]; /* what was taken for what was not given */
	size_t n_notes;
};

/* What people write; NULL, 0: not given, then chosen, and the choice is a note. -1 of a switch:
 * not given. */
struct train_options {
	const struct knowledge *known; /* models and GPUs; NULL: what is compiled in */
	const char *model, *on;
	const struct model_file *file; /* what was read: the name is not looked up */
	const struct target_hw *place; /* of facts: on is not read */
	struct model_hint hint;
	const char *way, *precision, *recompute, *optimizer, *attention, *framework, *frozen;
	int gpus, nodes; /* over what "on" says: gpus of all machines */
	int shard, tp, pp, cp, ep, interleave, sp;
	int micro_batch, accumulation, global_batch, sequence;
	bool lora; /* adapters of the usual rank, where trained is not given */
	int overlap, tp_overlap, compile, reshard, reduce_fp32, sync_each_micro;
	double bucket_bytes, trained, loader_s, network_gbs;
	int workers;
};

/* All switches -1, everything else not given. */
void train_words_none(struct train_options *w);
/* All switches -1. */
void train_switches_none(struct train_options *w);
/* -EINVAL (does not divide, out of range), -ENOENT (unknown word) with a sentence that names it. */
int train_config_make(struct arena *a, const struct train_options *w, struct train_config *q,
		      struct err *e);
/* After a field was changed: dp, accumulation or global_batch anew (global_batch is held where it
 * divides). -EINVAL with the sentence. */
int train_config_complete(struct arena *a, struct train_config *q, struct err *e);

/* Bytes of the fullest GPU. */
struct train_memory {
	double weights; /* as the forward pass has them, gathered ones apart */
	double master;	/* FP32 copies */
	double gradients, states;
	double activations; /* kept for the backward pass */
	double working;	    /* of the layer at work, of recomputation */
	double logits;
	double buffers; /* buckets, gathered weights */
	double context; /* CUDA context, libraries, NCCL */
	double waste;	/* fragmentation of the allocator */
	double reused;	/* gradients that take the place of activations; negative */
	double total, limit;
	/* Of unified memory, what the kernel shows: limit is the part of it that training can have,
	 * the rest the system's. 0: the GPU's own memory. */
	double shown;
	struct figure all; /* total with its interval */
	bool fits;
};

/* One kind of collective in one step. */
struct train_comm {
	enum train_collective what;
	const char *purpose; /* "gradients", "weights", "tensor parallel", "experts", "stages" */
	int ranks;
	bool between;	  /* over the network */
	double count;	  /* calls a step */
	double bytes;	  /* of one call, as nccl-tests counts them */
	double busbw_gbs; /* at that size */
	double total_s, exposed_s;
	const char *from; /* where the bandwidth is from: a measured curve, or which figures */
};

#define TRAIN_COMMS 14

enum train_limit {
	TRAIN_LIMIT_MEMORY, /* does not fit */
	TRAIN_LIMIT_COMPUTE,
	TRAIN_LIMIT_BANDWIDTH, /* of the GPU's memory: norms, logits, optimizer */
	TRAIN_LIMIT_LAUNCH,    /* the CPU does not launch kernels fast enough */
	TRAIN_LIMIT_LINK,
	TRAIN_LIMIT_BUBBLE,
	TRAIN_LIMIT_LOADER,
	TRAIN_LIMITS
};
extern const char *const train_limit_names[TRAIN_LIMITS];

/* Seconds of one step (one update of the weights). They add up to total. */
struct train_time {
	double forward, backward, recompute;
	double launch; /* the GPU waits for the CPU's launches, of all passes */
	double optimizer;
	double exposed;	   /* communication that nothing hides */
	double contention; /* what hidden communication takes from the computation beside it */
	double comm;	   /* communication, hidden or not; no part of the sum */
	double bubble;
	double loader; /* waiting for samples */
	double slack;  /* ranks that wait for the slowest, unaccounted */
	struct figure total;
};

#define TRAIN_LINES 40

struct train_answer {
	struct train_config q;
	double parameters, active; /* counted from the shape */
	double model_flops;	   /* of a token, forward and backward, without recomputation */
	double hardware_flops;	   /* with it */
	struct train_memory memory;
	struct train_time time;
	struct train_comm comms[TRAIN_COMMS];
	size_t n_comms;
	struct figure tokens_s, tokens_s_gpu, mfu, hfu; /* mfu of the precision's dense peak */
	double peak_flops; /* of one GPU by data sheet, in that precision */
	enum train_limit limit;
	const char *limit_why;		/* in a sentence, with the figures */
	const char *interval_of;	/* of how many measurements the interval is */
	const char *lines[TRAIN_LINES]; /* the equations with the numbers put in */
	size_t n_lines;
};

/* FLOP/s of large BF16 multiplications by data sheet and constants, whatever gemm_flops says. */
double train_gemm_usual(const struct train_config *q);

/* Never fails. Texts live in a. */
void train_predict(struct arena *a, const struct train_config *q, struct train_answer *out);

/* The largest micro-batch that fits, accumulation lowered to hold the global batch where that
 * divides; 0: not even one sequence. hold: only such ones that divide the global batch. */
int train_largest_micro_batch(struct arena *a, const struct train_config *q, bool hold);

/* One change of the way to train, or the best combination of them. */
struct train_change {
	const char *name;	 /* "micro-batch 4, accumulation 2" */
	const char *key;	 /* "micro-batch", "zero-1", "no-checkpointing", ... "all" */
	const char *why;	 /* what it does, in a sentence with figures */
	struct train_config q;	 /* after it */
	double tokens_s, memory; /* of all GPUs; bytes of a GPU */
	bool fits;
	struct figure gain; /* tokens/s after over before: 1.1 is 10 % more */
};

#define TRAIN_CHANGES 24

struct train_what_if {
	struct train_answer before;
	struct train_change changes[TRAIN_CHANGES]; /* the largest gain first */
	size_t n;
	bool has_best;
	struct train_change best; /* the best combination; its q is ready for files */
	const char *words;	  /* which of them it holds */
};

void train_what_if(struct arena *a, const struct train_config *q, struct train_what_if *out);

struct train_point {
	int gpus, nodes;
	bool possible;	 /* it divides and fits; else why */
	const char *why; /* NULL, or why not */
	double step_s, tokens_s;
	struct figure efficiency; /* per GPU, against the first possible point */
	double exposed_part;	  /* of the step */
	const char *causes;	  /* where the rest goes, in words */
};

/* The same work per GPU (weak: global batch grows) or the same global batch (strong). */
void train_scale(struct arena *a, const struct train_config *q, const double *gpus, size_t n,
		 bool strong, struct train_point *out);

/*
 * A measured pair of runs held beside the model: what it would predict for the second, whether the
 * communication at the bandwidth of the curves can explain the loss, and what else can.
 */
struct train_cause {
	const char *what;    /* "ranks on one GPU", "loader", ... */
	const char *measure; /* which measurement decides it */
	double needs; /* what it would have to be to explain all, in the unit of needs_unit */
	const char *needs_unit;
	bool excluded; /* by the figures alone */
	const char *why;
};

#define TRAIN_CAUSES 10

struct train_judgement {
	struct train_answer predicted;
	double measured;	 /* tokens/s of all GPUs */
	double lost_s;		 /* seconds of a step beyond the prediction */
	double busbw_needed_gbs; /* bus bandwidth at which communication alone gives it; 0: none */
	bool inside;		 /* of the interval */
	const char *verdict;	 /* a sentence */
	struct train_cause causes[TRAIN_CAUSES];
	size_t n;
};

/* claim: tokens/s of all GPUs that somebody measured for this question. */
void train_judge(struct arena *a, const struct train_config *q, double claim,
		 struct train_judgement *out);

/* The table of single changes. */

struct train_change_kind {
	const char *key;
	/* Changes *q and names what was done; false: cannot be made, *q is then of no use. */
	bool (*make)(struct arena *a, struct train_config *q, const char **name);
	bool combine; /* may be part of the best combination: numbers stay the same */
	const char *why;
	const char *why_same; /* NULL: why; else where the micro-batch did not grow */
};

/*
 * How much the quotient of two predictions moves when each fitted constant is moved by what
 * measurements leave open: value, low, high. What both have in common cancels.
 */
struct figure train_ratio(const struct train_config *after, const struct train_config *before);

#endif
