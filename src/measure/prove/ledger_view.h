/* SPDX-License-Identifier: Apache-2.0 */
/* What was proven here of a setting, beside what is said of it. */
#ifndef PROVE_LEDGER_VIEW_H
#define PROVE_LEDGER_VIEW_H

#include "look/settings/vendor.h"
#include "tune/plan/plan.h"
#include "measure/prove/ledger.h"
#include "render/doc.h"

/* Whether the ledger has anything at all to say of this machine. */
bool measured_any(const struct ledger *l);
/* "+3.1 % [2.4, 3.9] on disk/sequential, kernel 6.17"; NULL: unmeasured. */
const char *measured_change(struct arena *a, const struct ledger *l, const struct change *c);
/* What check and explain answer: schemas gputune.check/1 and gputune.explain/1. */
struct judged;
struct check_answer {
	const struct profile *profile;
	const struct findings *findings;
	const struct judged *rows;
	size_t n;
};
struct explain_answer {
	const struct setting *s;
	const struct health_limit *limits;
	const struct vendor_opinion *vendors;
	const struct judged *rows; /* its findings on this machine */
	const struct ledger_answer *verdicts;
	size_t n_limits, n_vendors, n, n_verdicts;
};
/* l NULL: without what was measured. */
struct check_answer check_answer_of(struct arena *a, const struct profile *p,
				    const struct findings *f, const struct ledger *l);
struct explain_answer explain_answer_of(struct arena *a, const struct setting *s,
					const struct findings *f, const struct ledger *l);
/* The same as JSON. The caller owns the reference. */
json_t *measured_check_json(struct arena *a, const struct machine *m, const struct profile *p,
			    const struct findings *f, const struct ledger *l, int exit_code);
extern const struct result_shape check_result, explain_result;
/* What was proven here of a finding; no text: nothing. */
struct cell measured_finding(struct arena *a, const struct ledger *l, const struct finding *f);
/* The number of findings without a measurement on this machine; no text where it has none at all.
 */
void measured_missing(struct doc *d, const struct findings *f, const struct ledger *l);
/* Every verdict on this setting (NULL: on any) on this machine, the newest first. */
void measured_verdicts(struct doc *d, const char *id, const struct ledger *l);
/* The same for people: where it shows, and what was found. */
void measured_setting_page(struct doc *d, const struct setting *s, const struct ledger *l,
			   bool here);

#endif
