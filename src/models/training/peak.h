/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/predict/fit_train.py: experts, FP8, BF16, Transformers' Trainer, everything
 * else. */
#ifndef TRAINING_PEAK_H
#define TRAINING_PEAK_H

#include "models/training/work.h"

/* clang-format off */
static const struct train_spread train_spreads[] = {
	{ 0.689, 1.31, 129, 4,
	  "129 measurements of mixtures of experts from 4 sources, each predicted from the other sources" },
	{ 0.878, 1.21, 90, 4,
	  "90 measurements of FP8 from 4 sources, each predicted from the other sources" },
	{ 0.77, 1.08, 267, 10,
	  "267 measurements of BF16 from 10 sources, each predicted from the other sources" },
	{ 0.81, 1.12, 50, 1,
	  "50 runs of Transformers' Trainer on one H100 host; its CPU time is fitted to a third of them" },
	{ 0.6, 1.4, 0, 0,
	  "too few measurements of this precision or kind of GPU: a guess" },
};
/* clang-format on */

#endif
