/* SPDX-License-Identifier: Apache-2.0 */
/* Records of measurements and their comparison as JSON. */
#ifndef BENCH_BENCH_JSON_H
#define BENCH_BENCH_JSON_H

#include "base/shape.h"
#include "measure/bench/bench.h"
#include "measure/bench/record.h"

/* Of a struct record, with every sample. */
extern const struct result_shape bench_result;
/*
 * The reverse. Files are untrusted: sizes are bounded, samples are finite, figures are computed
 * again. name is for the sentence. -EINVAL and *e.
 */
int bench_from_json(struct arena *a, const char *name, const char *text, struct record *out,
		    struct err *e);
/* Of a list of pairs: its names as keys, with SHAPE_BY. */
extern const struct shape record_pair_shape;
struct bench_list {
	const struct bench *const *benches;
	size_t n_benches;
	const struct record *kept;
	size_t n;
	bool unreadable; /* a folder of saved results is */
};
extern const struct result_shape bench_list_result;
/* Of a struct compare. */
extern const struct result_shape compare_result;

#endif
