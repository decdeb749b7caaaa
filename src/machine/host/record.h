/* SPDX-License-Identifier: Apache-2.0 */
/* A host that stores every answer of another one, and writes them as a capture
 * (docs/design/CAPTURE.md).
 */
#ifndef HOST_RECORD_H
#define HOST_RECORD_H

#include <stdbool.h>

#include "base/arena.h"
#include "machine/host/host.h"

/* What stands at one place of the machine. */
struct recorded {
	enum host_kind kind;
	bool listed; /* a folder whose names were all asked for */
	int refused; /* positive errno instead of content; 0 */
	char *data;  /* a file's bytes, or a link's target */
	size_t len;
};

/* Wraps inner, which it owns from then on: closing the record closes it. */
struct host *record_open(struct host *inner);
/* Places (struct recorded) and api pages (json_t) so far; owned by the record. */
const struct map *record_places(const struct host *record);
const struct map *record_pages(const struct host *record);

/*
 * A record of no machine, to be filled by what follows: of what somebody posted (posted.h). Its
 * identity is the caller's to set. Paths are absolute and plain; one that would make a file of a
 * folder, or a folder of a file, is left out. The first that stands at a place stays.
 */
struct host *record_posted(const char *about);
void record_put_file(struct host *record, const char *path, const char *data, size_t len);
void record_put_link(struct host *record, const char *path, const char *target);
/* The machine answers so there (a positive errno). */
void record_put_refusal(struct host *record, const char *path, int code);
/* The folder holds what was put there, and nothing else. */
void record_put_names(struct host *record, const char *path);
/* An answer (code 0), or a negative errno. */
void record_put_answer(struct host *record, const char *api, const char *object, const char *field,
		       int code, const struct answer *answer);

/*
 * Writes what was recorded to path: a tar when path ends in ".tar", otherwise a new folder. With
 * redact, secrets are replaced first (redact.c). Nothing half-written stays: -errno and *e.
 */
int record_save(struct host *record, const char *path, bool redact, struct err *e);

/*
 * Replacing what identifies a machine or its owner by pseudonyms that are the same wherever the
 * same secret stands, so that "this MAC is that one" survives: MAC addresses, UUIDs, InfiniBand
 * GUIDs, IP addresses in interface answers, host names, serial numbers, user names in home folders.
 * PCI addresses, versions and figures stay.
 */

struct redactor {
	struct arena *arena;
	const char *nodename; /* replaced by "host" where it stands as a word; shorter than 3
				 letters: left */
	bool is_word; /* it could as well be a word: replaced only where named_here, by case */
	bool named_here;
	struct map macs, uuids, guids, words, subnets, subnets6, hosts, serials, odd_serials;
};

/* A shorter serial number is not looked for in other texts: it may well mean something else there.
 */
enum { REDACT_SERIAL_MIN = 6 };

/* The text with its secrets replaced, in arena memory; *len is updated. Bytes that are no text are
 * left as they are. */
char *redact_text(struct redactor *r, const char *s, size_t *len);
/* Also IPv4 and IPv6 addresses: for answers that hold addresses and little else. */
char *redact_addresses(struct redactor *r, const char *s);
/* The pseudonym of a whole serial number, tag or identifier, one to one; from then on redact_text
 * knows the number as a word too, where it is long enough to mean nothing else. "None" and the like
 * stay. */
const char *redact_serial(struct redactor *r, const char *s, size_t len);
/* True for files whose whole content is a serial number or asset tag. */
bool redact_is_secret_file(const char *path);
/* PCI configuration space: zeroes the device serial number capability in place. */
void redact_config_space(unsigned char *config, size_t len);

/*
 * Where a machine's name is a name. One that could as well be a word ("spark", "nvme") is replaced
 * only there: elsewhere it is a module, a product or a service.
 */

/* The kernel, a module, a driver or the product is called so, as far as the recorded places (paths
 * to struct recorded) tell. */
bool redact_host_is_word(const char *nodename, const struct map *places);
/* Whether machines are named in the file, or in its path. */
bool redact_names_host(const char *path);

#endif
