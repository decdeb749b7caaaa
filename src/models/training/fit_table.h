/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/predict/fit_train.py, by enum train_fit_id. */
#ifndef TRAINING_FIT_TABLE_H
#define TRAINING_FIT_TABLE_H

#include "models/training/fit.h"

/* clang-format off */
static const struct train_fit train_fit_table = { {
	0.7793, 0.6453, 0.5173, 0.8692, 1.088, 0.5866, 0.621, 0.7602,
	271.8, 0.3318, 0.1908, 0.4531, 0.4214, 0.7404, 0.5902, 23.65,
	0.5, 0.7905, 0.865, 8.043, 0.8679, 0.1807, 0.6, 0.8488,
	0.7426, 28.52, 0.01311,
}, "published measurements (docs/TRAIN.md)" };
/* clang-format on */

#endif
