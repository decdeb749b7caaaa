/* SPDX-License-Identifier: Apache-2.0 */
/* Results of bench by file or id, for the verbs that read them. */
#ifndef CMD_BENCH_H
#define CMD_BENCH_H

#include "bench/record.h"
#include "cmd/cmd.h"

/* --state made absolute, or the default. */
const char *bench_state(struct run *r);
/* "bench list" and "bench show ID". */
int bench_list(struct run *r, struct host *h);
int bench_show(struct run *r, struct host *h);
/* In the asked format. m: who asks. */
int bench_print(struct run *r, const struct machine *m, const struct record *record, int code);

#endif
