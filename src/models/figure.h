/* SPDX-License-Identifier: Apache-2.0 */
/* A predicted figure with its interval, which four of five lie in. */
#ifndef MODELS_FIGURE_H
#define MODELS_FIGURE_H

#include "base/json.h"
#include "base/shape.h"

struct figure {
	double value, low, high;
};

extern const struct shape figure_shape;

static inline json_t *figure_json(const struct figure *f)
{
	return json_interval(f->value, f->low, f->high);
}

#endif
