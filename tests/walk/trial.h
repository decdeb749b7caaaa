/* SPDX-License-Identifier: Apache-2.0 */
/* A trial as prove and tune make it, without what they measure. */
#ifndef WALK_TRIAL_H
#define WALK_TRIAL_H

#include "machine/host/host.h"

/* Makes every second change of the profile (only: those of this group), as a mixture, then the
 * others, then all, and takes them back; keep: at last all stay. Errors are the trial's own
 * business. Closes h. */
void trial_run(struct host *h, const char *profile, const char *only, bool keep);

#endif
