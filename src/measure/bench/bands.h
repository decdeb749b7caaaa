/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is usual for known hardware: measured by somebody on a healthy machine, with source and
 * date. A band is no limit: what lies above is good news, what lies below is a reason to look.
 */
#ifndef BENCH_BANDS_H
#define BENCH_BANDS_H

#include "measure/bench/record.h"
#include "machine/model/machine.h"
#include "measure/bench/bench.h"

struct band {
	/* platform.kind, a part of the processor's model name, or a GPU's name as NVML tells it. */
	const char *hardware;
	const char *bench;
	const char *name;   /* of the case, on any GPU where it names none; '*' and '?' as in file
			       names */
	const char *figure; /* key */
	const char *unit;   /* key's suffix; a figure of another unit has no band */
	unsigned sockets;   /* so many, with all their CPUs; 0: whatever their number */
	double low, high;
	const char *source, *date; /* date: year-month, or the year */
};

extern const struct band bands[];
extern const size_t band_count;

/*
 * The band of one figure. whole: all of the machine's CPUs may be used. hardware: as in bench_case.
 * A processor's or platform's band does not count in a virtual machine, which has a part of it; a
 * GPU's does. Sources live in a.
 */
struct record_band band_of(struct arena *a, const struct machine *m, bool whole,
			   const char *hardware, const char *bench, const char *name,
			   const struct record_series *figure);

/* What the hardware could do at best: data sheets as one table, and what facts tell. */

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
