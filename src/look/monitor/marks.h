/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the live page marks as wrong. A moment of the machine is made facts again, and the settings
 * say of them what "gputune check" would say then: nothing is judged here.
 */
#ifndef MONITOR_MARKS_H
#define MONITOR_MARKS_H

#include "look/monitor/monitor.h"
#include "look/settings/check.h"

struct monitor_mark {
	const char *what;    /* the column that is marked: "gpu.temperature" */
	const char *setting; /* by blanks */
};
extern const struct monitor_mark monitor_marks[];
extern const size_t monitor_marks_n;

/* In the arena. */
void monitor_judge(struct arena *a, const struct instant *f, struct findings *out);
/* The finding that decides whether a column of this target is marked, a failed one before others;
 * NULL: nothing judges it. */
const struct finding *monitor_finding(const struct findings *all, const char *what,
				      const char *target);

#endif
