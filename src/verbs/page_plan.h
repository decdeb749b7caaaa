/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for people: what they want to see before they agree to it. */
#ifndef PAGES_PAGE_PLAN_H
#define PAGES_PAGE_PLAN_H

#include "tune/plan/plan.h"
#include "measure/prove/ledger.h"
#include "render/doc.h"

struct plan_view {
	bool verbose;		     /* also why, by what source, the place, and how it is undone */
	const struct ledger *ledger; /* what was proven here; NULL: nobody looked */
	const char *apply; /* "apply --only net": makes these changes; NULL: is being asked */
};

struct doc *page_plan(struct arena *a, const struct machine *m, const struct plan *p,
		      const struct plan_view *how);
/* "15 changes of 12 settings now, 2 need a reboot, 3 refused, 5 to do by hand", for prompts and
 * summaries. */
const char *plan_sentence(struct arena *a, const struct plan *p);

#endif
