/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/predict/fit_train.py, by enum train_fit_id. */
#ifndef TRAIN_FIT_TABLE_H
#define TRAIN_FIT_TABLE_H

#include "train/fit.h"

/* clang-format off */
static const struct train_fit train_fit_table = { {
	0.7725, 0.6453, 0.5414, 0.8598, 0.5934, 0.6575, 0.76, 925.3,
	0.3401, 0.2004, 0.5, 0.4574, 0.8193, 0.5712, 900, 0.5,
	0.8096, 0.9244, 7.829, 0.8513, 0.1638, 0.6, 0.4723, 0.5106,
	70.94, 0.01273,
}, "published measurements (docs/TRAIN.md)" };
/* clang-format on */

#endif
