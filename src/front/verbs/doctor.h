/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor's looking and its fixing share. */
#ifndef VERBS_DOCTOR_H
#define VERBS_DOCTOR_H

#include "measure/bench/conditions.h"
#include "front/verbs/cmd.h"
#include "measure/doctor/test.h"
#include "measure/doctor/page_doctor.h"

struct doctoring {
	struct run *r;
	struct host *h;
	struct machine *m;
	struct profile profile;
	struct findings findings;
	struct chosen chosen;
	struct doctor_plan plan; /* of the tests */
	struct bench_ask ask;
	struct idset cpus;
	struct signs first, now;
	struct record record;
	struct rule_facts e;
	struct examined *results;
	struct doctor_fix *fixes;
	size_t n_fixes;
	atomic_bool stop;
};

/* Runs tests into a record of its own, with its conditions; summarised. */
void doctoring_measure(struct doctoring *g, const struct doctor_plan *p, struct record *out,
		       const char *why[TESTS], struct path_look **path);
/* Facts, findings and signs as they are now. */
void doctoring_look(struct doctoring *g, struct machine **m, struct findings *f, struct signs *s);
/* What doctor says without fixing anything; with --passive nothing is tested. 0, or an exit code
 * after complaining. */
int doctor_see(struct run *r, struct host *h, struct doctor_view *out);
/* Fixes what was found and can be fixed, one diagnosis after the other: exit code, 0 when all went
 * as it should. */
int doctoring_fix(struct doctoring *g);

#endif
