/* SPDX-License-Identifier: Apache-2.0 */
/* A predicted figure with its interval, which four of five lie in. */
#ifndef MODELS_FIGURE_H
#define MODELS_FIGURE_H

#include "base/shape.h"

struct figure {
	double value, low, high;
};

extern const struct shape figure_shape;

#endif
