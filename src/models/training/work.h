/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the training model ask of each other. */
#ifndef TRAINING_WORK_H
#define TRAINING_WORK_H

#include "models/training/fit.h"
#include "models/training/train.h"

/* --- peak.c: what a GPU can do ---------------------------------------------------------------- */

enum train_family { FAMILY_AMPERE, FAMILY_HOPPER, FAMILY_BLACKWELL, FAMILY_OTHER };

enum train_family train_family_of(const struct gpu_kind *g);
/* FLOP/s by data sheet, dense; 0: the GPU has no such units. */
double train_peak(const struct gpu_kind *g, enum train_precision p);
/* What mixed precision is on it: BF16, or FP16 where there is no BF16. */
enum train_precision train_half_precision(const struct gpu_kind *g);
/* FLOP/s that the largest multiplications reach; attention. */
double train_gemm_rate(const struct train_config *q, enum train_precision p);
double train_flash_rate(const struct train_config *q);
/* GB/s one way of a GPU: inside a machine, between machines. */
double train_link_gbs(const struct train_config *q);
double train_network_gbs(const struct train_config *q);

const struct train_fit *train_fit_of(const struct train_config *q);
/* Bytes of a weight as it is multiplied with, and of a gradient as it is summed. */
double train_weight_bytes(const struct train_config *q);
double train_gradient_bytes(const struct train_config *q);

/* --- shape.c: one GPU's part of the model ----------------------------------------------------- */

struct train_shape {
	struct arch_parts parts;
	double layers;	/* of one stage */
	double dense;	/* parameters of one stage outside experts, of one tensor rank */
	double experts; /* its experts' parameters, of one expert rank */
	double params;	/* both */
	double trained; /* of them, trained */
	double head;	/* of the output head, of one tensor rank */
	double tokens;	/* of one micro-batch on this rank */
	double widest;	/* inner width of a layer that activations have, of a tensor rank */
	double flops_dense, flops_expert, flops_head, flops_attention; /* forward, one micro */
	double effort_attention; /* more than its operations where heads are wide */
	int ranks;		 /* that sum gradients: dp x cp */
	double expert_ranks;	 /* that hold the same experts */
	int per_node;		 /* of them inside one machine */
};

void train_shape_of(const struct train_config *q, struct train_shape *s);
/* Width of what experts take: that of the model, or a narrower one. */
double train_expert_in(const struct train_config *q);
/* Of so many parameters outside experts and in them, what one rank has of what is sharded; the
 * ranks that hold the same experts are fewer. */
double train_shard(const struct train_config *q, const struct train_shape *s, double dense,
		   double experts);
/* Of the parameters, those that are trained: 1 without adapters. */
double train_trained_part(const struct train_config *q);
/* Small adapters beside frozen weights. */
bool train_adapters(const struct train_config *q);
/* FP32 weights that are cast for each multiplication (torch.autocast). */
bool train_autocast(const struct train_config *q);
/* Operations of one token, forward and backward, that training the whole model needs: without the
 * gradients of frozen weights, and none twice. */
double train_model_flops(const struct train_config *q);

/* --- memory.c --------------------------------------------------------------------------------- */

void train_memory_of(const struct train_config *q, struct train_memory *m);

/* --- predict.c: one micro-batch of one stage, seconds ----------------------------------------- */

struct train_micro {
	double linear, attention, small, head, routing; /* forward */
	double logits;					/* the loss, forward; twice that backward */
	double casts, accumulated; /* passes over the weights, forward and backward */
	double back;		   /* backward multiplications over forward ones */
	double forward, backward, recompute;
	double host, busy; /* the CPU's time to launch it all, the GPU's own */
	double launch;	   /* of host, what exceeds busy */
	double size;	   /* part of the rate that matrices of this size reach */
};

/* --- comm.c ----------------------------------------------------------------------------------- */

struct train_link {
	double busbw_gbs; /* at that size */
	double seconds;	  /* of one call */
	bool between;
	const char *from;
};

/* What a step's communication leaves exposed; fills out->comms. micro_s: exposed in each
 * micro-batch; step_s: once a step; contend_s: what hidden communication takes. */
struct train_exposed {
	double micro_s, step_s, contend_s, total_s;
};

void train_comms_of(struct arena *a, const struct train_shape *s, const struct train_micro *m,
		    struct train_answer *out, struct train_exposed *x);

/* --- predict.c, what_if.c --------------------------------------------------------------------- */

/* A number for people: so many figures that mean something, never an exponent. */
const char *train_plain(struct arena *a, double v, int figures);
/* Measured over predicted tokens/s, ten to ninety of a hundred, for a question like this one. */
struct train_spread {
	double low, high;
	int rows, sources;
	const char *of;
};
const struct train_spread *train_spread_of(const struct train_config *q);

/* Whether the layers can be cut evenly into the stages' chunks, as Megatron wants them: alone, with
 * embedding, head or both as a layer each, and of models with experts with one that predicts a
 * further token. Without --interleave stages may differ. */
bool train_interleave_divides(const struct train_config *q);

#endif
