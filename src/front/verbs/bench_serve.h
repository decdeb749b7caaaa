/* SPDX-License-Identifier: Apache-2.0 */
/* gputune bench serve. */
#ifndef VERBS_BENCH_SERVE_H
#define VERBS_BENCH_SERVE_H

#include "front/verbs/cmd.h"

/* Serves until SIGINT or SIGTERM; an exit code. */
int bench_serve(struct run *r);

#endif
