/* SPDX-License-Identifier: Apache-2.0 */
/* Who changed a setting, as far as anybody can know: a process, its service, its login session. */
#ifndef WATCH_WHO_H
#define WATCH_WHO_H

#include "machine/host/host.h"
#include "machine/knob/knob.h"

enum { WHO_NAME_MAX = 32, WHO_UNIT_MAX = 96 };

struct who {
	long pid;		 /* 0: not known, and nothing below is */
	char name[WHO_NAME_MAX]; /* of the program; "" when the process has ended */
	char unit[WHO_UNIT_MAX]; /* "tuned.service", "session-4.scope"; "" : not known */
	long long login_uid;	 /* whose login session it belongs to; -1: nobody's, or not known */
};

/* Fills w for a process of this machine; it may be gone already. */
void who_look(struct host *h, long pid, struct who *w);
/* What is known, as part of a sentence: "sysctl (pid 12, in the login session of uid 1000)". */
const char *who_text(struct arena *a, const struct who *w);
enum { WHO_LIKELY_MAX = 16 };

/* Which of those programs run, as far as it was asked: zero-initialised, good for one moment. */
struct who_running {
	signed char is[WHO_LIKELY_MAX];
};

/* A running service that is known to set knobs like this one; NULL: none. */
const char *who_likely(struct host *h, struct arena *a, const struct knob *k,
		       struct who_running *running);

#endif
