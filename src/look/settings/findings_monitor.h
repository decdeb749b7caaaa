/* SPDX-License-Identifier: Apache-2.0 */
/* Findings for monitors that take one line and an exit code, and for schedulers: is the machine fit
 * for work? */
#ifndef SETTINGS_FINDINGS_MONITOR_H
#define SETTINGS_FINDINGS_MONITOR_H

#include <stdio.h>

#include "look/settings/check.h"

/* "gpu.xid (gpu3): ...; gpu.ecc: ...": ids, targets and reasons of the findings that are unfit, or
 * with any, of all that failed. NULL when there are none. */
const char *findings_unfit(struct arena *a, const struct findings *f, bool any);
/* One line and performance data. Returns 0 OK, 1 WARNING (something is not as wanted), 2 CRITICAL
 * (unfit), 3 UNKNOWN (nothing wrong, but not everything could be seen). */
int findings_nagios(FILE *out, const struct findings *f);
/* For node-problem-detector: one short line. Returns 0 no problem, 1 unfit, 2 unknown. */
int findings_npd(FILE *out, const struct findings *f);

#endif
