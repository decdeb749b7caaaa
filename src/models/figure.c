/* SPDX-License-Identifier: Apache-2.0 */
/* What a predicted figure is made of. */
#include "models/figure.h"

static const struct shape_row figure_rows[] = {
	{ "value", NULL, SHAPE_REAL(figure, value) },
	{ "low", "80 % prediction interval: low to high.", SHAPE_REAL(figure, low) },
	{ "high", NULL, SHAPE_REAL(figure, high) },
};

const struct shape figure_shape = SHAPE(figure, figure);
