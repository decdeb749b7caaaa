/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One axis of a chart: its range from the data, its ticks at 1, 2 and 5, at powers of ten or, of
 * bytes, at powers of two, and where a value lies on it. The same for letters and for SVG.
 */
#ifndef RENDER_SCALE_H
#define RENDER_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum scale_kind { SCALE_LINEAR, SCALE_LOG, SCALE_BYTES };
enum { SCALE_TICKS = 24 };

/* Begin with scale_of, widen by each value, settle once, then ask. */
struct scale {
	enum scale_kind kind;
	double from, to;	  /* as logarithms of base 10 where the axis is logarithmic */
	double tick[SCALE_TICKS]; /* values that get a number, ascending */
	size_t n;
};

struct scale scale_of(enum scale_kind kind);
/* Whether v can lie on it: finite, not beyond all bounds, positive on a logarithmic axis. */
bool scale_takes(const struct scale *s, double v);
/* Values that it does not take change nothing. */
void scale_widen(struct scale *s, double v);
/* False: there was no value. most: about how many ticks have room, 2 at least. tight: the range
 * stays what it is and does not grow to the next ticks. */
bool scale_settle(struct scale *s, size_t most, bool tight);
/* 0 at its beginning, 1 at its end; beyond them for values outside. */
double scale_on(const struct scale *s, double v);
/* A tick's number: "0.5", "250k", "64 MiB". */
const char *scale_number(struct arena *a, const struct scale *s, double v);

#endif
