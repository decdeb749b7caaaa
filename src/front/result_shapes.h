/* SPDX-License-Identifier: Apache-2.0 */
/* Every result that is described by a shape: its schema is made of that, not written. */
#ifndef FRONT_RESULT_SHAPES_H
#define FRONT_RESULT_SHAPES_H

#include "base/shape.h"

/* By name; NULL ends them. */
const struct result_shape *const *result_shapes(struct arena *a);

#endif
