/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is usual for known hardware: measured by somebody on a healthy machine, with source and
 * date. A band is no limit: what lies above is good news, what lies below is a reason to look.
 */
#ifndef BENCH_BANDS_H
#define BENCH_BANDS_H

#include "measure/bench/record.h"
#include "machine/model/machine.h"

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

#endif
