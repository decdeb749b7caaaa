/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrations that are kept, and what kept results of our benches say of the constants of
 * predictions. Each "0, or as answers": below 0 an exit code. */
#ifndef VERBS_CALIBRATIONS_H
#define VERBS_CALIBRATIONS_H

#include "measure/bench/record.h"
#include "models/inference/calibrate.h"
#include "models/inference/page_calibrate.h"
#include "verbs/model_ask.h"

/* --calibration, --no-calibration, --state. */
struct constants_ask {
	const char *calibration;
	bool no_calibration;
	struct state_ask state;
};
extern const struct ask_shape constants_ask_shape;

/*
 * The constants of a prediction of the model (NULL: none is named) on that machine: the built-in
 * ones, over them the kept calibration, or that of --calibration. fits->origin says so, and why one
 * that is there was not used. 0, or as answers.
 */
int door_fits(struct door *d, const struct constants_ask *ask, const char *on,
	      const struct machine_ask *from, const char *model, struct fits *fits);

/* --- kept calibrations ------------------------------------------------------------------------ */

/* Which machine a calibration is of: this one with its fingerprint, or the one that --on names. */
struct calibrate_place {
	const char *key;	   /* the file's name without its end */
	const char *taken;	   /* in words */
	struct record_pair *pairs; /* what predictions depend on; none of a named machine */
	size_t n;
};

/* h and m: this or a captured machine; NULL where --on names another one, which place is. */
void calibrate_place_of(struct arena *a, struct host *h, const struct machine *m,
			const struct target_hw *place, struct calibrate_place *out);
/* Writes what is kept of c, where h is this machine; *path gets where. 0, or as answers. */
int calibrate_keep(struct door *d, struct host *h, const struct state_ask *state,
		   const struct calibrate_place *at, const struct calibration *c,
		   const char **path);
/* Removes it. 0, or as answers. */
int calibrate_forget(struct door *d, struct host *h, const struct state_ask *state,
		     const struct calibrate_place *at);
/* What is kept for the place. True: there is something, good or not; out->why_not says why not. */
bool calibrate_stored(struct door *d, struct host *h, const struct state_ask *state,
		      const struct calibrate_place *at, struct calibration_file *out);

/* --- kept results of benches ------------------------------------------------------------------ */

/* Results of our benches about one machine, newest first of each case. */
struct bench_facts {
	const struct record_case **cases;
	const char **ids;
	size_t n;
};

/* machine: the digest of this one; NULL: any whose first GPU is named gpu. Never fails: what cannot
 * be read is not there. */
void bench_facts_of(struct door *d, struct host *h, const struct state_ask *state,
		    const char *machine, const char *gpu, struct bench_facts *out);
/* The newest case of a bench that is called so, on whichever GPU: "bf16:8192", "read:gpu"; NULL:
 * none. Sound ones alone: verified, no error. */
const struct record_case *bench_fact(const struct bench_facts *f, const char *bench,
				     const char *wanted, const char **id);
/* What they say of constants, for these GPUs. */
void calibrate_hints(struct arena *a, const struct bench_facts *f, const struct target_hw *place,
		     struct calibrate_hint **out, size_t *n);

#endif
