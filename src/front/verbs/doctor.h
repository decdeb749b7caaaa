/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor's looking and its fixing share. */
#ifndef VERBS_DOCTOR_H
#define VERBS_DOCTOR_H

#include "front/session.h"
#include "measure/doctor/doctor.h"
#include "measure/doctor/page_doctor.h"
#include "measure/bench/conditions.h"

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
	struct observations first, now;
	struct record record;
	struct rule_facts e;
	struct examined *results;
	struct doctor_fix *fixes;
	size_t n_fixes;
	atomic_bool stop;
};

/* What doctor says without fixing anything; with --passive nothing is tested. 0, or an exit code
 * after complaining. */
int doctor_collect(struct run *r, struct host *h, struct doctor_view *out);

#endif
