/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/predict/fit_train.py: experts, FP8, BF16, Transformers' Trainer, everything
 * else. */
#ifndef TRAINING_PEAK_H
#define TRAINING_PEAK_H

#include "models/training/work.h"

/* clang-format off */
static const struct train_spread train_spreads[] = {
	{ 0.688, 1.31, 166, 4,
	  "166 measurements of mixtures of experts from 4 sources, each predicted from the other sources" },
	{ 0.862, 1.2, 103, 4,
	  "103 measurements of FP8 from 4 sources, each predicted from the other sources" },
	{ 0.899, 1.15, 273, 11,
	  "273 measurements of BF16 from 11 sources, each predicted from the other sources" },
	{ 0.761, 1.11, 101, 3,
	  "101 measurements of Transformers' Trainer from 3 sources, each predicted from the other sources" },
	{ 0.6, 1.4, 0, 0,
	  "too few measurements of this precision or kind of GPU: a guess" },
};
/* clang-format on */

#endif
