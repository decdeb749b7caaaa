/* SPDX-License-Identifier: Apache-2.0 */
/* Running the short tests of diagnoses through the frame of the benches. */
#ifndef DOCTOR_TEST_H
#define DOCTOR_TEST_H

#include "measure/bench/bench.h"
#include "measure/doctor/doctor.h"

struct doctor_plan {
	unsigned tests;	       /* bits */
	bool named;	       /* somebody asked for these symptoms */
	double seconds;	       /* --for: a case; 0: each test's own */
	const char *forbidden; /* why no test may run; NULL: they may */
};

/*
 * Runs what can run; the frame must have been started. why[t] says of each other test that was
 * asked for why it did not run. path is filled when TEST_PATH ran.
 */
void doctor_run_tests(struct frame *f, const struct doctor_plan *p, struct record *r,
		      const char *why[TESTS], struct path_look **path);
/* Why a test of this need must not run now; NULL: it may. Pure. */
const char *doctor_test_gate(struct arena *a, const struct machine *m, const struct bench_ask *ask,
			     enum doctor_need need);
/* About how long they take. */
double doctor_tests_seconds(const struct doctor_plan *p);

#endif
