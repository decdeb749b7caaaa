/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/predict/fit_train.py: experts, FP8, BF16, everything else. */
#ifndef TRAIN_SPREAD_TABLE_H
#define TRAIN_SPREAD_TABLE_H

#include "train/work.h"

/* clang-format off */
static const struct train_spread train_spreads[] = {
	{ 0.601, 1.27, 111, 2,
	  "111 measurements of mixtures of experts from 2 sources, each predicted without its source" },
	{ 0.873, 1.2, 90, 5,
	  "90 measurements of FP8 from 5 sources, each predicted without its source" },
	{ 0.789, 1.1, 238, 7,
	  "238 measurements of BF16 from 7 sources, each predicted without its source" },
	{ 0.6, 1.4, 0, 0,
	  "too few measurements of this precision or kind of GPU: a guess" },
};
/* clang-format on */

#endif
