/* SPDX-License-Identifier: Apache-2.0 */
/* Facts as people read them: figures with their unit, scaled; ranges; and words for what was not
 * seen. */
#ifndef RENDER_FIGURE_H
#define RENDER_FIGURE_H

#include "base/fact.h"
#include "render/doc.h"

/* A figure in the unit of a row: ("bytes", 137438953472) is "128 GiB", ("kHz", 3900000) "3.9
 * GHz". */
const char *figure(struct arena *a, const char *unit, long long v);
/*
 * Values as settings and knobs have them, for people: "4294967296" of unit bytes is "4 GiB",
 * ">= 16777216 bytes" is ">= 16 MiB", "128" of KiB "128 KiB". unit: of numbers that name none;
 * NULL: none is known. Two values that differ stay different. NULL stays NULL.
 */
void figure_values(struct arena *a, const char *unit, const char **now, const char **wanted);
/* A figure with four digits that count, three below 1: "43.21", "1,234" is "1234", "0.000300". */
const char *figure_number(struct arena *a, double v);
/* "43.21 ms"; from ten seconds on "12.3 s". */
const char *figure_ms(struct arena *a, double ms);
/* Seconds since 1970 as "2026-11-21 04:50 UTC". */
const char *figure_time(struct arena *a, long long seconds);
/* Generation of a PCI Express link: 5 for 32000 MT/s; 0 when it is none. */
int pcie_generation(long long mts);
/* "Gen5 x16" from transfers and lanes; NULL unless both were seen. */
const char *figure_link(struct arena *a, const struct fact_int *mts, const struct fact_int *lanes);

/* "absent", "n/a", "denied", "error": how a fact was not seen. */
struct cell cell_unseen(const struct fact *f);
struct cell cell_int(struct doc *d, const struct fact_int *f, const char *unit);
struct cell cell_bool(const struct fact_int *f, const char *yes, const char *no);
struct cell cell_str(const struct fact_str *f);
struct cell cell_set(struct doc *d, const struct fact_set *f);
/* "1200 / 1980 MHz"; the second alone is not shown. */
struct cell cell_now_max(struct doc *d, const struct fact_int *now, const struct fact_int *max,
			 const char *unit);

#endif
