/* SPDX-License-Identifier: Apache-2.0 */
/* Records of measurements and their comparison as JSON. */
#ifndef BENCH_BENCH_JSON_H
#define BENCH_BENCH_JSON_H

#include <jansson.h>

#include "base/err.h"
#include "base/shape.h"
#include "measure/bench/record.h"
#include "machine/model/machine.h"

/* Schema gputune.bench/1, with every sample. The caller owns the reference. */
json_t *bench_json(const struct machine *m, const struct record *r, int exit_code);
/*
 * The reverse. Files are untrusted: sizes are bounded, samples are finite, figures are computed
 * again. name is for the sentence. -EINVAL and *e.
 */
int bench_from_json(struct arena *a, const char *name, const char *text, struct record *out,
		    struct err *e);
/* Of a struct compare. */
extern const struct result_shape compare_result;

#endif
