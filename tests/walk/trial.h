/* SPDX-License-Identifier: Apache-2.0 */
/* A trial as prove makes it, without what it measures. */
#ifndef WALK_TRIAL_H
#define WALK_TRIAL_H

#include "machine/host/host.h"

/* Makes the changes of the profile (only: those of this group) and takes them back, twice; keep:
 * the second time they stay. Errors are the trial's own business. Closes h. */
void trial_run(struct host *h, const char *profile, const char *only, bool keep);

#endif
