/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the verbs calibrate and roofline, and what predictions take of a kept calibration. */
#ifndef VERBS_CALIBRATE_H
#define VERBS_CALIBRATE_H

#include "measure/bench/record.h"
#include "front/session.h"
#include "models/inference/calibrate.h"
#include "models/inference/page_calibrate.h"

/* Which machine a calibration is of: this one with its fingerprint, or the one that --on names. */
struct calibrate_place {
	const char *key;	   /* the file's name without its end */
	const char *taken;	   /* in words */
	struct record_pair *pairs; /* what predictions depend on; none of a named machine */
	size_t n;
};

/* h and m: this or a captured machine; NULL where --on names another one, which place is. */
void calibrate_place_of(struct run *r, struct host *h, const struct machine *m,
			const struct target_hw *place, struct calibrate_place *out);
/* Writes what is kept of c; *path gets where. 0 or an exit code after complaining. */
int calibrate_keep(struct run *r, const struct calibrate_place *at, const struct calibration *c,
		   const char **path);
/* Removes it. 0, or an exit code after complaining. */
int calibrate_forget(struct run *r, const struct calibrate_place *at);
/* What is kept for the place. True: there is something, good or not; out->why_not says why not. */
bool calibrate_stored(struct run *r, struct host *h, const struct calibrate_place *at,
		      struct calibration_file *out);
/*
 * Puts the kept calibration of the machine that is asked about (--on, or this one) over fits, and
 * says so in fits->origin; also why one that is there was not used. Nothing with --no-calibration
 * or --calibration.
 */
void calibration_use(struct run *r, struct fits *fits);

/* Results of our benches about one machine, newest first of each case. */
struct bench_facts {
	const struct record_case **cases;
	const char **ids;
	size_t n;
};

/* machine: the digest of this one; NULL: any whose first GPU is named gpu. Never fails: what cannot
 * be read is not there. */
void bench_facts_of(struct run *r, struct host *h, const char *machine, const char *gpu,
		    struct bench_facts *out);
/* The newest case of a bench that is called so, on whichever GPU: "bf16:8192", "read:gpu"; NULL:
 * none. Sound ones alone: verified, no error. */
const struct record_case *bench_fact(const struct bench_facts *f, const char *bench,
				     const char *wanted, const char **id);
/* What they say of constants, for these GPUs. */
void calibrate_hints(struct run *r, const struct bench_facts *f, const struct target_hw *place,
		     struct calibrate_hint **out, size_t *n);

#endif
