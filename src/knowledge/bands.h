/* SPDX-License-Identifier: Apache-2.0 */
/* What known hardware reached, and what it could: rows of bands.rows and
 * memory_limits.rows. */
#ifndef KNOWLEDGE_BANDS_H
#define KNOWLEDGE_BANDS_H

#include "base/rows.h"

struct band {
	/* platform.kind, a part of the CPU's model name, or a GPU's name as NVML reports it.
	 */
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

extern const struct row_table band_table;
extern const struct band bands[];
extern const size_t n_bands;

/* Memory bandwidth by a data sheet. */
struct limit_row {
	const char *part; /* a part of the CPU's model name, or platform.kind */
	bool platform;	  /* that */
	double gb_s;	  /* of one socket, all channels filled */
	const char *what; /* "8 channels of DDR5-4800" */
	const char *source, *date;
};

extern const struct row_table memory_limit_table;
extern const struct limit_row memory_limits[];
extern const size_t n_memory_limits;

#endif
