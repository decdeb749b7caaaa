/* SPDX-License-Identifier: Apache-2.0 */
/* Results of bench by file or id, for the verbs that read them. */
#ifndef VERBS_BENCH_H
#define VERBS_BENCH_H

#include "measure/bench/bench.h"
#include "front/verbs/cmd.h"

/* --state made absolute, or the default. */
const char *bench_state(struct run *r);
/* What benches are asked besides their names, and --cpus among those that this process may use. 0,
 * or the exit code of a complaint. */
int bench_asked(struct run *r, struct bench_ask *ask, struct idset *cpus);
/* "bench list" and "bench show ID". */
int bench_list(struct run *r, struct host *h);
int bench_show(struct run *r, struct host *h);
/* In the asked format. m: who asks. */
int bench_print(struct run *r, const struct machine *m, const struct record *record, int code);

/* gputune bench serve. */

/* Serves until SIGINT or SIGTERM; an exit code. */
int bench_serve(struct run *r);

#endif
