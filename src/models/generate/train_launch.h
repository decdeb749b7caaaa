/* SPDX-License-Identifier: Apache-2.0 */
/* What a training needs beside its launcher's words: threads, NUMA binding, its arguments. Pure. */
#ifndef GENERATE_TRAIN_LAUNCH_H
#define GENERATE_TRAIN_LAUNCH_H

#include "models/generate/launch.h"
#include "models/generate/train_setup.h"

/* Adds to the variables of every machine, in front of the program in every command, and to the
 * notes. */
void train_launch_fill(struct arena *a, const struct train_setup *s, struct gen_envs *envs,
		       struct gen_launch *l);

#endif
