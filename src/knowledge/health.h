/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What health is measured by: figures that somebody publishes for a kind of hardware, each with its
 * source and date (health_limits.rows), and what the driver's error numbers mean (xids.rows). Rules
 * look figures up here and hold none themselves.
 */
#ifndef KNOWLEDGE_HEALTH_H
#define KNOWLEDGE_HEALTH_H

#include "base/rows.h"

struct health_limit {
	const char *setting; /* id of the row that uses it */
	const char *key;     /* of the figure within the row */
	const char *gpu;     /* a word of the GPU's name that it holds for; NULL: any */
	double value;
	const char *unit;	   /* of value: "links", "MB/s", "a minute" */
	const char *what;	   /* in words: "NVLinks of the chip" */
	const char *source, *date; /* where it stands, and when that was read: "2026-05" */
};

extern const struct row_table health_limit_table;
extern const struct health_limit health_limits[];
extern const size_t n_health_limits;

/* What an Xid is a sign of. */
enum xid_kind {
	XID_PROGRAM, /* of a program: its own fault, or the trace of its end */
	XID_EVENT,   /* hardware, mended or survived: counts while it is fresh */
	XID_LASTING, /* hardware, and the GPU needs a reset, a reboot or a person */
};

struct xid_row {
	const char *what;
	unsigned first, last; /* numbers that mean the same */
	enum xid_kind kind;
	const char *todo; /* NULL for programs */
};

extern const struct row_table xid_table;
extern const struct xid_row xid_rows[];
extern const size_t n_xid_rows;

/* The row for this GPU, one that names it before one for any; NULL when there is none. gpu may be
 * NULL. */
const struct health_limit *health_limit(const char *setting, const char *key, const char *gpu);
/* Its value; fallback where there is no row. */
double health_figure(const char *setting, const char *key, const char *gpu, double fallback);

extern const char xid_source[], xid_date[];

/* NULL for a number that the table does not have. */
const struct xid_row *xid_find(unsigned number);

#endif
