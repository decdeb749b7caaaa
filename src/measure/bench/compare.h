/* SPDX-License-Identifier: Apache-2.0 */
/* Two records against each other: which figures differ, by how much, and how sure that is. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "measure/bench/record.h"

enum compare_verdict { COMPARE_BETTER, COMPARE_WORSE, COMPARE_SAME, COMPARE_CANNOT };

struct compare_row {
	const char *bench, *name, *figure;
	const char *unit_text;
	enum bench_better better;
	double a, b; /* medians; only where has_medians */
	bool has_medians;
	struct stat_ratio ratio; /* b over a; only where the verdict is not COMPARE_CANNOT */
	enum compare_verdict verdict;
	const char *reason;
};

struct compare {
	const struct record *a, *b;
	struct compare_row *rows;
	size_t n;
	size_t count[4];      /* by verdict */
	const char *cannot;   /* nothing compares, and why; NULL otherwise */
	const char **differs; /* what else is not the same: kernel, settings; sentences */
	size_t n_differs;
	double threshold; /* the least difference that counts */
};

/* Figures below this difference are called the same even when it is certain. */
#define COMPARE_THRESHOLD 0.01
#define COMPARE_LEVEL 0.99

/* Needs summaries. */
void compare_records(struct arena *a, const struct record *x, const struct record *y,
		     struct compare *out);
const char *compare_verdict_name(enum compare_verdict v);

#endif
