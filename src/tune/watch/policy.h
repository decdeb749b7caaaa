/* SPDX-License-Identifier: Apache-2.0 */
/* What is done about a setting that somebody changed: the file that says so. */
#ifndef WATCH_POLICY_H
#define WATCH_POLICY_H

#include "machine/host/host.h"

#define WATCH_CONF "/etc/gputune/watch.conf"

enum reaction {
	REACT_REPORT,
	REACT_REAPPLY,
	/* Re-applies what was reset to the value before; what a person set, or any third value, is
	 * somebody's decision: said once, and left alone. */
	REACT_BACK_OFF,
};

enum { POLICY_LIMIT_MAX = 12 };

struct policy_row {
	const char *pattern; /* an id or a prefix */
	int reaction;	     /* enum reaction; -1: not given */
	int limit;	     /* -1: not given */
};

struct policy {
	enum reaction reaction; /* of what no row names */
	int limit;		/* of re-applying, an hour and setting */
	long long interval_ms, max_interval_ms;
	bool gpu_events; /* NVML stays loaded, and says at once when something happens */
	struct policy_row *rows;
	size_t n;
};

void policy_default(struct policy *p);
/* What the site's policy says (look/settings/site.h), and over it the INI file at path, through the
 * host interface; without both it is the default. -EINVAL with the line in *e; *out is untouched
 * then. Texts live in a. */
int policy_load(struct host *h, struct arena *a, const char *path, struct policy *out,
		struct err *e);
/* Of all rows that match the id the longest decides. */
void policy_of(const struct policy *p, const char *id, enum reaction *reaction, int *limit);
const char *reaction_name(enum reaction r);

#endif
