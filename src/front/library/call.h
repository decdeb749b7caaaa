/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of the library share: their options, one look at a machine, errors outwards. */
#ifndef LIBRARY_CALL_H
#define LIBRARY_CALL_H

#include <gputune/gputune.h>
#include <jansson.h>
#include <locale.h>

#include "machine/host/host.h"
#include "machine/model/machine.h"
#include "look/settings/profile.h"

enum option_key {
	KEY_PROFILE = 1 << 0,
	KEY_ONLY = 1 << 1,
	KEY_SKIP = 1 << 2,
	KEY_DEEP = 1 << 3,
	KEY_ALLOW = 1 << 4,
	KEY_FACTS = 1 << 5,
};

/* One call, from its beginning to its result. */
struct call {
	struct arena arena;
	struct err err;
	int code;	   /* negative errno once something went wrong */
	locale_t callers;  /* of the calling thread */
	struct host *host; /* NULL: the call is not about a machine */
	struct machine m;
	struct profile profile;
	bool named; /* a profile was asked for */
	bool deep, facts;
	struct profile allow; /* its only list */
};

/* What a machine is opened with; it never changes. */
struct gputune_machine {
	char *capture; /* NULL: the live one */
};

/* Reads the options, of which allowed (bits of option_key) may be there; then opens the machine
 * when there is one. False: c->err says why, and call_end has to follow all the same. */
bool call_begin(struct call *c, const struct gputune_machine *m, const char *options,
		unsigned allowed);
/* Looks at it. lean, config and session as in struct probe. */
void call_look(struct call *c, bool lean, bool config);
/* Closes what was opened; takes result and returns its text for the caller, or NULL and *error. */
char *call_end(struct call *c, json_t *result, struct gputune_error *error);

/* options.c: false and c->err when they are not valid. */
bool options_read(struct call *c, const char *options, unsigned allowed);
/* NULL and *e: it cannot be opened. */
struct host *call_open_host(const char *capture, struct err *e, int *code);
/* *error (may be NULL) gets code and texts. */
void call_error(struct gputune_error *error, int code, const struct err *e);

#endif
