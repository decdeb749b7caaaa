/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What wakes the watcher: time, signals, and hints that something may have changed. A hint is never
 * believed: what it names is looked at. Implementations: this machine (live.h), and what a test
 * says.
 */
#ifndef WATCH_SOURCE_H
#define WATCH_SOURCE_H

#include "tune/watch/who.h"

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

/* A file whose writing is to be heard of, or (folder) every change in a folder. */
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
	/* What is to be heard of from now on; asked for again after anything has changed. The texts
	 * are the caller's. gpus: also what the driver says. */
	void (*listen)(struct source *s, const struct mark *marks, size_t n, bool gpus);
	void (*close)(struct source *s);
};

struct source {
	const struct source_ops *ops;
};

#endif
