/* SPDX-License-Identifier: Apache-2.0 */
/* Looks into a job's GPU work by an object that CUDA's driver loads (src/models/inject). */
#ifndef FRONT_INJECT_H
#define FRONT_INJECT_H

#include <stdbool.h>

#include "base/arena.h"
#include "front/kineto.h"

enum tracer { TRACER_CUPTI, TRACER_PYTORCH, TRACER_NSYS };

struct injection {
	enum tracer by;
	bool on;	       /* there is looking */
	const char *path;      /* of the trace; TRACER_NSYS: of its export */
	struct kineto *kineto; /* TRACER_PYTORCH */
};

/* Sets the environment of the job that is started next, and returns the words to start it by: its
 * own, or nsys's before them. Where there is no looking it is said why: a profiler of its own, or
 * what looks is not installed. */
char **inject_begin(struct arena *a, struct injection *j, const char *recording, char **command);
/* Our own environment is as it was. */
void inject_environment_back(const struct injection *j);
/* Says what was seen, or why nothing was. */
void inject_end(struct injection *j, bool quiet);

#endif
