/* SPDX-License-Identifier: Apache-2.0 */
/* Looks into a job's GPU work by an object that CUDA's driver loads (src/models/inject). */
#ifndef FRONT_INJECT_H
#define FRONT_INJECT_H

#include <stdbool.h>

#include "base/arena.h"

/* Sets the environment of the job that is started next. False: there is no looking, and it is said
 * why: a profiler of its own, or an object that is not installed. */
bool inject_begin(struct arena *a, const char *recording, char *const *command);
/* Our own environment is as it was. */
void inject_environment_back(void);
/* Says what was seen, or why nothing was. */
void inject_end(struct arena *a, const char *recording, bool quiet);

#endif
