/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few constants of training that are fitted to measurements and not derived. Each is a part of
 * a physical limit, a time, or a share; docs/PREDICT.md says what each was fitted on and which are
 * taken from elsewhere because no measurement decides them.
 */
#ifndef TRAINING_FIT_H
#define TRAINING_FIT_H

#include "base/err.h"

enum train_fit_id {
	TFIT_HALF_AMPERE, /* part of the dense BF16 peak that large multiplications reach */
	TFIT_HALF_HOPPER,
	TFIT_HALF_BLACKWELL,
	TFIT_HALF_OTHER, /* cards without HBM */
	TFIT_HALF_H200,	 /* what H200 reach of H100's rates, of the same data sheet's peak */
	TFIT_FP8_HOPPER, /* part of the FP8 peak */
	TFIT_FP8_BLACKWELL,
	TFIT_FP32,	   /* part of the FP32 peak, without tensor cores; TF32: of its own */
	TFIT_SIZE,	   /* side of a matrix at which half of that is reached, at 1 PFLOP/s */
	TFIT_FLASH_AMPERE, /* part of the BF16 peak that attention reaches */
	TFIT_FLASH_HOPPER, /* FlashAttention 2 there */
	TFIT_FLASH3,	   /* FlashAttention 3, cuDNN */
	TFIT_FLASH_BLACKWELL,
	TFIT_FLASH1,	/* what FlashAttention 1 reaches of FlashAttention 2 */
	TFIT_SCAN,	/* passes over the state of a linear layer for each token, all of a step */
	TFIT_MEMORY,	/* part of the memory's bandwidth that small kernels reach */
	TFIT_FUSED,	/* bytes that fused small kernels move, of what single ones do */
	TFIT_LAUNCH_US, /* the CPU's time for a kernel of a forward pass, its module and views */
	TFIT_LAUNCH_FUSED,  /* kernels that are left where they are fused, part of all */
	TFIT_LINK,	    /* part of the link that collectives inside a machine reach */
	TFIT_NET,	    /* part of the adapters that collectives between machines reach */
	TFIT_HOP_US,	    /* one more machine in a ring, us */
	TFIT_HIDE,	    /* part of computation that can hide communication */
	TFIT_CONTEND,	    /* hidden communication takes this part of its time from computation */
	TFIT_TP_HIDDEN,	    /* part of tensor parallel communication that overlapping hides */
	TFIT_EP_EXPOSED,    /* part of the experts' exchange that nothing hides */
	TFIT_EXPERT,	    /* what grouped multiplications of experts reach of one large one */
	TFIT_EXPERT_PASSES, /* over the copies of tokens that experts get, all passes of a step */
	TFIT_SLACK,	    /* time lost for each doubling of machines, part of a step */
	TFITS,
};

struct train_fit {
	double v[TFITS];
	const char *origin;
};

void train_fit_default(struct train_fit *f);
/* Lines "name = value"; blank lines and # are skipped. -EINVAL names the line. */
int train_fit_read(struct train_fit *f, const char *text, struct err *e);

/* Written by tests/predict/fit_train.py, by enum train_fit_id. */

/* clang-format off */
static const struct train_fit train_fit_table = { {
	0.7592, 0.6397, 0.5292, 0.9444, 1.001, 0.607, 0.5934, 0.7602,
	268.1, 0.5517, 0.3045, 0.4683, 0.4574, 0.5889, 0.9081, 0.7316,
	0.6566, 25.08, 0.4518, 0.8, 0.8408, 8, 0.8653, 0.1854,
	0.6407, 0.8488, 0.7426, 27.11, 0.01165,
}, "published measurements (docs/design/TRAINING.md)" };
/* clang-format on */

#endif
