/* SPDX-License-Identifier: Apache-2.0 */
/* Findings for people: the page of `check`, and everything about one setting. */
#ifndef PAGES_PAGE_CHECK_H
#define PAGES_PAGE_CHECK_H

#include "tune/plan/plan.h"
#include "measure/prove/ledger.h"
#include "look/settings/check.h"
#include "render/doc.h"

struct check_view {
	bool all;     /* also what is right and what does not apply */
	bool reasons; /* why, for every setting; failed health checks always say it */
	bool verbose; /* where each value was read, and the risk of changing it */
	const struct ledger *ledger; /* what was proven here; NULL: nobody looked */
	bool fixes;		     /* a column with the one command that fixes it */
	const struct plan *plan; /* what can be written here, and what is against it; with fixes */
};

struct doc *page_check(struct arena *a, const struct machine *m, const struct profile *p,
		       const struct findings *f, const struct check_view *how);
/* f holds the findings of this one setting on this machine; by_profile, PROFILES of them, what each
 * built-in profile says of it here; l what was proven. */
struct doc *page_explain(struct arena *a, const struct setting *s, const struct machine *m,
			 const struct findings *f, const struct findings *by_profile,
			 const struct ledger *l);

#endif
