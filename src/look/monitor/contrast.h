/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two recordings against each other: each quantity that both have, its spread on both sides, and
 * whether its mean differs by more than chance. What is better is not judged here: more power may
 * be good or bad.
 */
#ifndef MONITOR_CONTRAST_H
#define MONITOR_CONTRAST_H

#include "base/shape.h"
#include "base/stat.h"
#include "look/monitor/recording.h"
#include "render/doc.h"

enum contrast_verdict { CONTRAST_HIGHER, CONTRAST_LOWER, CONTRAST_SAME, CONTRAST_CANNOT };

/* Below this share of the larger mean a difference is none, however certain. */
#define CONTRAST_THRESHOLD 0.01
/* Chance of calling any row of two like recordings different; divided among the rows. */
#define CONTRAST_ALPHA 0.05

struct contrast_figures {
	size_t n;
	/* Of the gauge, or of the rate a second of a total. */
	double mean, deviation, p5, median, p95;
	double effective; /* how many independent samples these are worth */
};

struct contrast_row {
	const struct column_type *type;
	const char *target;
	struct contrast_figures a, b;
	double difference;	       /* of the means, b - a; NAN: CONTRAST_CANNOT */
	struct stat_interval interval; /* of it */
	enum contrast_verdict verdict;
	const char *reason; /* of CONTRAST_CANNOT */
};

struct contrast_side {
	const char *path;
	struct recording rec;
	size_t every;	 /* rows that one is looked at of: long recordings are thinned */
	double **series; /* by column */
	size_t *n;
};

struct contrast {
	struct contrast_side a, b;
	struct contrast_row *rows;
	size_t n;
	size_t count[4]; /* by verdict */
	double level;	 /* of each interval */
	const char **differs;
	size_t n_differs;
};

/* Reads both; everything lives in the arena. 0, or -errno and *e. */
int contrast_read(struct arena *a, const char *path_a, const char *path_b, struct contrast *out,
		  struct err *e);

/* Two recordings against each other (look/monitor/contrast.h): a page, and a result. */

/* A table for each kind of thing; what stood still at one value on both sides is only counted. */
struct doc *page_contrast(struct arena *a, const struct contrast *v);
/* Of a struct contrast. */
extern const struct result_shape contrast_result;

#endif
