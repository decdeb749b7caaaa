/* SPDX-License-Identifier: Apache-2.0 */
/* How far measurements lie from what was predicted without their source; which constants count. */
#include "models/training/fit_table.h"
#include "models/training/spread_table.h"
#include "models/training/work.h"

const struct train_fit *train_fit_of(const struct train_question *q)
{
	return q->fit ? q->fit : &train_fit_table;
}

const struct train_spread *train_spread_of(const struct train_question *q)
{
	size_t n = sizeof(train_spreads) / sizeof(train_spreads[0]), at = n - 1;

	if (train_family_of(q->place.gpu) == FAMILY_OTHER)
		at = n - 1;
	else if (q->arch.moe_layers)
		at = 0;
	else if (q->precision == TRAIN_FP8)
		at = 1;
	else if (q->precision == TRAIN_BF16 || q->precision == TRAIN_FP16)
		at = 2;
	return &train_spreads[at < n ? at : n - 1];
}
