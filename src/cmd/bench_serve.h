/* SPDX-License-Identifier: Apache-2.0 */
/* gputune bench serve. */
#ifndef CMD_BENCH_SERVE_H
#define CMD_BENCH_SERVE_H

#include "cmd/cmd.h"

/* Serves until SIGINT or SIGTERM; an exit code. */
int bench_serve(struct run *r);

#endif
