/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is usual for known hardware: measured by somebody on a healthy machine, with source and
 * date. A band is no limit: what lies above is good news, what lies below is a reason to look.
 */
#ifndef BENCH_BANDS_H
#define BENCH_BANDS_H

#include "knowledge/bands.h"
#include "measure/bench/record.h"
#include "machine/model/machine.h"
#include "measure/bench/bench.h"

/*
 * The band of one figure. whole: all of the machine's CPUs may be used. hardware: as in bench_case.
 * A processor's or platform's band does not count in a virtual machine, which has a part of it; a
 * GPU's does. Sources live in a.
 */
struct record_band band_of(struct arena *a, const struct machine *m, bool whole,
			   const char *hardware, const char *bench, const char *name,
			   const struct record_series *figure);

/* What the hardware could do at best: data sheets, and what facts tell. */

/* GB/s of so many sockets' memory, a node's part of one too. Unknown in a virtual machine, which
 * does not tell its memory. */
struct bench_limit limit_memory(const struct bench_env *env, double sockets);
/* Of how many sockets these CPUs use the memory, each CPU that of its own node; node >= 0: that
 * node's alone. 0: a node without CPUs, whose memory is of another kind. */
double limit_sockets(const struct machine *m, const struct idset *cpus, int node);
/* MHz: the highest frequency that the kernel tells for any of these CPUs. */
struct bench_limit limit_frequency(const struct bench_env *env, const struct idset *cpus);

#endif
