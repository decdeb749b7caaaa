/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnoses for people and for programs. */
#ifndef DOCTOR_PAGE_DOCTOR_H
#define DOCTOR_PAGE_DOCTOR_H

#include "base/shape.h"
#include "measure/doctor/listen.h"
#include "render/doc.h"

/* What became of the fixes of one diagnosis. */
struct doctor_fix {
	const char *diagnosis;
	const char *settings; /* ids, comma-separated */
	unsigned long txn;    /* 0: nothing was written */
	bool measured;	      /* v holds */
	struct fix_verdict v;
	bool kept;
	const char *left;    /* what was not set besides, and why; NULL */
	const char *trouble; /* why it was not made, or not taken back; NULL */
};

struct doctor_view {
	const struct machine *m;
	const struct rule_facts *e;
	const struct examined *items;
	size_t n;
	size_t count[DOCTOR_STATES]; /* of them */
	const struct doctor_fix *fixes;
	size_t n_fixes;
	unsigned tests;		    /* that were asked for */
	bool named;		    /* somebody asked for these: all causes are shown */
	bool all;		    /* --all */
	bool unknown;		    /* words or a log were given and nothing fits them */
	const char *const *sources; /* what was read of programs' output */
	size_t n_sources;
	const struct log_defect *defects; /* that print lines which were read */
	size_t n_defects;
};

struct doc *page_doctor(struct arena *a, const struct doctor_view *v);
extern const struct result_shape doctor_result; /* of a struct doctor_view */
/* Every diagnosis with its symptom. */
struct doc *page_doctor_list(struct arena *a, const struct chosen *all);
extern const struct result_shape doctor_list_result; /* of a struct chosen */

#endif
