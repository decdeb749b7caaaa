/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/predict/fit_train.py, by enum train_fit_id. */
#ifndef TRAIN_FIT_TABLE_H
#define TRAIN_FIT_TABLE_H

#include "train/fit.h"

/* clang-format off */
static const struct train_fit train_fit_table = { {
	0.7725, 0.6509, 0.5173, 0.8692, 1.088, 0.5866, 0.6803, 0.7602,
	271.8, 0.3373, 0.1908, 0.4458, 0.45, 0.736, 0.5806, 23.65,
	0.5, 0.7952, 0.8575, 8.043, 0.8692, 0.1807, 0.6099, 0.8214,
	0.7624, 31.56, 0.01311,
}, "published measurements (docs/TRAIN.md)" };
/* clang-format on */

#endif
