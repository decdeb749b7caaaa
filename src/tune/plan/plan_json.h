/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as files: what was reviewed is what is applied. */
#ifndef PLAN_PLAN_JSON_H
#define PLAN_PLAN_JSON_H

#include <jansson.h>

#include "tune/plan/plan.h"

/* schema gputune.plan/1; the caller owns the reference. */
json_t *plan_json(const struct plan *p, int exit_code);
/*
 * Reads one. It is untrusted: each change must name a setting that exists, the knob must be one
 * that this setting has on a target of this machine, and the value must be sound. *e names the file
 * and the change. Gates are judged anew by the caller (plan_gates).
 */
int plan_from_json(struct arena *a, const struct machine *m, const json_t *j, const char *file,
		   struct plan *out, struct err *e);

#endif
