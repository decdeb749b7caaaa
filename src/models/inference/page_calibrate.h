/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration: for people, for programs, and as it is kept and read back. */
#ifndef INFERENCE_PAGE_CALIBRATE_H
#define INFERENCE_PAGE_CALIBRATE_H

#include <jansson.h>

#include "measure/bench/record.h"
#include "models/inference/calibrate.h"
#include "render/doc.h"

/* What is said besides the fit itself. */
struct calibrate_page {
	const char *taken, *gpu;
	const char *stored; /* the file; NULL: it was not kept */
	bool asked_bench, verbose;
	size_t bench_cases, hints;
	long long now;
	int code;
};

/* Constants of one engine on one kind of hardware, as fits_read takes them. */
struct calibration_set {
	const char *constants;
	size_t n;
	const char **models; /* NULL: for every model */
	size_t n_models;
};

/* What is kept of a calibration: texts are bounded. Later sets go over earlier ones. */
struct calibration_file {
	const char *path, *time, *taken, *from;
	struct calibration_set *sets;
	size_t n_sets;
	struct record_pair *pairs; /* the machine's fingerprint then */
	size_t n_pairs;
	const char *why_not; /* it is not used, in a sentence; NULL: it is */
};

/* The set is for a model of that name. */
bool calibration_for(const struct calibration_set *s, const char *model);

struct doc *page_calibrate(struct arena *a, const struct calibration *c,
			   const struct calibrate_page *p);
/* Schema gputune.calibrate/1; the caller owns the reference. */
json_t *calibrate_json(const struct calibration *c, const struct calibrate_page *p);

/* k NULL: nothing is kept for that machine. */
struct doc *page_calibration_file(struct arena *a, const struct calibration_file *k,
				  const char *taken);
/* Schema gputune.calibration-show/1. */
json_t *calibration_show_json(const struct calibration_file *k, const char *taken, long long now,
			      int code);

/* Schema gputune.calibration/1: the file. */
json_t *calibration_file_json(const struct calibration *c, const char *taken,
			      const struct record_pair *pairs, size_t n, long long now);
/* The reverse: fills all but path and why_not. -EINVAL and *e. */
int calibration_file_read(struct arena *a, const char *text, struct calibration_file *out,
			  struct err *e);
/* "12 runs: vllm bench serve 10, llama-bench 2; 3 figures of benches" */
const char *calibration_from(struct arena *a, const struct calibration *c);

#endif
