/* SPDX-License-Identifier: Apache-2.0 */
/* Findings for programs: JSON, JUnit and Prometheus text. What people read is in page_check.c. */
#ifndef SETTINGS_FINDINGS_H
#define SETTINGS_FINDINGS_H

#include <jansson.h>
#include <stdio.h>

#include "base/shape.h"
#include "look/settings/check.h"

/* What the host object of every JSON result holds. */
extern const struct shape host_shape;
/* A result about a machine, by its shape. */
json_t *machine_result_json(const struct result_shape *r, const struct machine *m,
			    const void *answer, int exit_code);
/* One test case a finding: FAIL is a failure, UNKNOWN an error, NA skipped. */
void findings_junit(FILE *out, const struct findings *f);
/* node_exporter textfile: one sample a finding, value 1, verdict as label; and the score. */
void findings_prom(FILE *out, const struct findings *f, const struct machine *m);

/* Findings for monitors that take one line and an exit code, and for schedulers: is the machine fit
 * for work? */

/* "gpu.xid (gpu3): ...; gpu.ecc: ...": ids, targets and reasons of the findings that are unfit, or
 * with any, of all that failed. NULL when there are none. */
const char *findings_unfit(struct arena *a, const struct findings *f, bool any);
/* One line and performance data. Returns 0 OK, 1 WARNING (something is not as wanted), 2 CRITICAL
 * (unfit), 3 UNKNOWN (nothing wrong, but not everything could be seen). */
int findings_nagios(FILE *out, const struct findings *f);
/* For node-problem-detector: one short line. Returns 0 no problem, 1 unfit, 2 unknown. */
int findings_npd(FILE *out, const struct findings *f);

/* What there is to ask about: schema gputune.list/1. */

struct listed_fact {
	const char *path; /* as in show --format json without list indices: "gpu.gpus.bar1_bytes" */
	const char *title, *kind;
	const char *unit; /* NULL: none */
};

struct listed_name {
	const char *name, *what;
};

/* One of them. */
struct listing {
	const struct setting **settings;
	struct listed_fact *facts;
	size_t n_settings, n_facts;
	const char *kind; /* of the names: "models"; NULL: none are listed */
	struct listed_name *names;
	size_t n_names;
};

extern const struct result_shape list_result;
/* Adds every setting that the profile selects; p NULL: every fact. */
void list_make(struct arena *a, const struct profile *p, struct listing *out);
/* Adds every setting with that text in its id or title, whatever the case. */
void list_find(struct arena *a, const char *text, struct listing *out);
void list_name(struct arena *a, struct listing *out, const char *name, const char *what);

#endif
