/* SPDX-License-Identifier: Apache-2.0 */
/* A host that stores every answer of another one, and writes them as a capture (docs/CAPTURE.md).
 */
#ifndef HOST_RECORD_H
#define HOST_RECORD_H

#include <jansson.h>

#include "base/map.h"
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
 * Writes what was recorded to path: a tar when path ends in ".tar", otherwise a new folder. With
 * redact, secrets are replaced first (redact.h). Nothing half-written stays: -errno and *e.
 */
int record_save(struct host *record, const char *path, bool redact, struct err *e);

#endif
