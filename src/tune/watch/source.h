/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What wakes the watcher: time, signals, and hints that something may have changed. A hint is never
 * believed: what it names is looked at. Implementations: this machine (live.h), and what a test
 * says.
 */
#ifndef WATCH_SOURCE_H
#define WATCH_SOURCE_H

#include "machine/host/host.h"
#include "machine/knob/knob.h"

/* Who changed a setting, as far as anybody can know: a process, its service, its login session. */

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

enum hint_kind {
	HINT_PATH,   /* what: a file that was asked about, or one in a folder that was */
	HINT_LINK,   /* what: a network interface */
	HINT_DEVICE, /* what: a device's place, "/sys/devices/..."; it came, went or changed */
	HINT_GPU,    /* what: a GPU's PCI address, "" for any */
	HINT_ALL,    /* events were lost: anything may have changed */
	HINT_RELOAD,
	HINT_STOP,
};

struct hint {
	enum hint_kind kind;
	const char *via; /* "fanotify", "inotify", "netlink", "uevent", "nvml", "signal"; static */
	char what[256];
	struct who who;
};

/* A file whose writing is watched for, or (folder) every change in a folder. */
struct mark {
	const char *path;
	bool folder;
};

struct source;

struct source_ops {
	/* Milliseconds of a clock that only runs forward, and seconds since 1970. */
	long long (*now)(struct source *s);
	long long (*time)(struct source *s);
	/* Until now() is until at the latest. How many hints there are; 0: time is up. */
	size_t (*wait)(struct source *s, long long until, struct hint *out, size_t cap);
	/* Whether some gputune is changing the machine at this moment. */
	bool (*busy)(struct source *s);
	/* Another number when the journal has changed. */
	unsigned long long (*stamp)(struct source *s);
	/* What is watched for from now on; asked for again after anything has changed. The texts
	 * are the caller's. gpus: also the driver's events. */
	void (*listen)(struct source *s, const struct mark *marks, size_t n, bool gpus);
	void (*close)(struct source *s);
};

struct source {
	const struct source_ops *ops;
};

#endif
