/* SPDX-License-Identifier: Apache-2.0 */
/* What the watcher reports, and how: lines for people, JSON lines, the system's
 * journal. */
#ifndef WATCH_EVENT_H
#define WATCH_EVENT_H

#include <jansson.h>
#include <stdio.h>

#include "tune/watch/item.h"

enum event_kind {
	EVENT_STARTED,
	EVENT_RELOADED, /* the policy, or what is watched */
	EVENT_TROUBLE,	/* the journal or the policy cannot be read */
	EVENT_CHANGED,
	EVENT_LOST,	/* at a reboot */
	EVENT_RETURNED, /* ours again, and not by us */
	EVENT_REAPPLIED,
	EVENT_REFUSED, /* setting it again failed or did not hold */
	EVENT_LEFT,    /* an administrator's now */
	EVENT_GAVE_UP,
	EVENT_GONE,
	EVENT_BACK,   /* the device is there again */
	EVENT_UNSEEN, /* it cannot be read any more */
	EVENT_STOPPED,
	EVENT_KINDS,
};

struct event {
	enum event_kind kind;
	const struct watched_knob *item; /* NULL: of the watcher itself */
	const char *from, *to;		 /* NULL: not known */
	enum reaction policy;
	const char *via;    /* "poll", "start", "fanotify", ... */
	struct who who;	    /* who.pid 0: unknown */
	const char *likely; /* a running service that sets such knobs; NULL */
	const char *note;   /* the rest of the sentence; NULL */
};

struct reporter {
	FILE *out;	/* NULL: nowhere */
	bool json;	/* a JSON object a line, schema gputune.watch/1; else lines for people */
	int journal_fd; /* a socket of the system's journal; -1: none */
	/* Writes such a line to out, and takes its reference; NULL: all of it is written. */
	void (*line)(void *ctx, json_t *j);
	void *ctx;
};

struct result_shape;
extern const struct result_shape watch_result;
/* Says all events of one look; the same change of many targets is one line. */
void report_events(struct reporter *r, long long time_s, const struct event *list, size_t n);

/* --- the service manager and its journal, each a datagram socket ------------------------------ */

/* NULL or "": -1. '@' begins an abstract name. */
int datagram_open(const char *path);
/* One datagram; what cannot be sent is lost, as nobody is there to hear it. */
void datagram_send(int fd, const char *text, size_t len);
/* KEY=VALUE in the journal's own form, for datagram_send. */
struct text;
void journal_field(struct text *t, const char *key, const char *value);

#endif
