/* SPDX-License-Identifier: Apache-2.0 */
/* What the hardware could do at best: data sheets as one table, and what facts tell. */
#ifndef BENCH_LIMIT_TABLE_H
#define BENCH_LIMIT_TABLE_H

#include "measure/bench/bench.h"

/* Memory bandwidth by a data sheet. */
struct limit_row {
	const char *platform; /* platform.kind; NULL: by processor */
	const char *model;    /* a part of the processor's model name; NULL: by platform */
	double gb_s;	      /* of one socket, all channels filled */
	const char *what;     /* "8 channels of DDR5-4800" */
	const char *source, *date;
};

extern const struct limit_row memory_limits[];
extern const size_t memory_limit_count;

/* GB/s of so many sockets' memory, a node's part of one too. Unknown in a virtual machine, which
 * does not tell its memory. */
struct bench_limit limit_memory(const struct bench_env *env, double sockets);
/* Of how many sockets these CPUs use the memory, each CPU that of its own node; node >= 0: that
 * node's alone. 0: a node without CPUs, whose memory is of another kind. */
double limit_sockets(const struct machine *m, const struct idset *cpus, int node);
/* MHz: the highest frequency that the kernel tells for any of these CPUs. */
struct bench_limit limit_frequency(const struct bench_env *env, const struct idset *cpus);

#endif
