/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration: for people, for programs, and as it is kept and read back. */
#ifndef INFERENCE_PAGE_CALIBRATE_H
#define INFERENCE_PAGE_CALIBRATE_H

#include "base/shape.h"
#include "measure/bench/record.h"
#include "models/inference/calibrate.h"
#include "render/doc.h"

/* What is said besides the fit itself. */
struct calibrate_page {
	const struct calibration *c;
	const char *taken, *gpu;
	const char *stored; /* the file; NULL: it was not kept */
	bool asked_bench;
	size_t bench_cases, hints;
	int code;
};

struct calibration_value {
	const char *name;
	double value;
};

/* Constants of one engine on one kind of hardware. */
struct calibration_set {
	const char *engine, *hardware;
	struct calibration_value *values;
	size_t n;
	const char *lines;   /* the same, as fits_read takes them */
	const char **models; /* NULL: for every model */
	size_t n_models, runs;
	double built_in, fitted, left_out; /* errors; NAN */
};

/* What is kept of a calibration. Later sets go over earlier ones. */
struct calibration_file {
	const char *path, *version, *time, *taken, *from;
	struct calibration_set *sets;
	size_t n_sets;
	struct record_pair *pairs; /* the machine's fingerprint then */
	size_t n_pairs;
	const char *why_not; /* it is not used, in a sentence; NULL: it is */
};

/* The set is for example: a model with such a name. */
bool calibration_for(const struct calibration_set *s, const char *model);

struct doc *page_calibrate(struct arena *a, const struct calibrate_page *p, bool verbose);

/* What is kept for a machine. */
struct calibration_stored {
	const char *taken;
	const struct calibration_file *file; /* NULL: nothing */
};

struct doc *page_calibration_stored(struct arena *a, const struct calibration_stored *kept);

/* Of a struct calibrate_page, a struct calibration_stored and, the file, a struct calibration_file.
 */
extern const struct result_shape calibrate_result, calibration_show_result, calibration_result;

/* What is to be kept of it: fills sets. */
void calibration_file_make(struct arena *a, const struct calibration *c,
			   struct calibration_file *out);
/* A kept file as text; what it names is checked. Path stays. -EINVAL and *e. */
int calibration_file_read(struct arena *a, const char *text, struct calibration_file *out,
			  struct err *e);
/* "12 runs: vllm bench serve 10, llama-bench 2; 3 figures of benches" */
const char *calibration_from(struct arena *a, const struct calibration *c);

#endif
