/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which modules of a checkpoint are not in its format: names, globs and expressions from its
 * configuration, counted by matrix and by layer.
 */
#ifndef INFERENCE_CONFIG_KEPT_H
#define INFERENCE_CONFIG_KEPT_H

#include "base/arena.h"
#include "models/inference/arch.h"
#include "models/inference/format.h"

struct kept;

/* The shape has to be whole: shares follow from it. */
struct kept *kept_new(struct arena *a, const struct arch *arch);
/* The modules of this name have so many bytes a parameter. What an earlier one names stays. */
void kept_add(struct kept *k, const char *name, double bytes);
/* The parts' bytes, where everything not named has base; a sentence about it, or NULL. */
const char *kept_apply(struct kept *k, double base, struct format *f);

#endif
