/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data package: rows that are newer than those of the build, in one signed JSON file.
 * docs/design/KNOWLEDGE.md describes it. What is kept is the signature's text and the package
 * behind it.
 */
#ifndef KNOWLEDGE_PACKAGE_H
#define KNOWLEDGE_PACKAGE_H

#include <jansson.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct host;

#define PACKAGE_MACHINE                                                                            \
	"/var/lib/gputune-data" /* its folder; a user's own is below XDG_DATA_HOME */
#define PACKAGE_NAME "package"
#define PACKAGE_PREVIOUS "package.previous"

enum { PACKAGE_BYTES_MAX = 16 << 20, PACKAGE_STALE_DAYS = 90 };

struct data_package {
	const char *date; /* 2026-11-27 */
	long long serial;
	const json_t *files; /* "defects/nccl.json": a list of rows; "models.rows": a text */
	json_t *all;	     /* package_close */
	const char *path;    /* where it is kept; NULL: it is not */
	const char *text, *signature; /* its own bytes, and those of its signature */
	size_t len;
};

extern const char package_key[];   /* of the build; "": it trusts none */
extern const char package_floor[]; /* the date of the build's newest row */

/* Parses a package and the rows that this group knows: -EINVAL and *e for the first wrong thing. */
int package_open(struct arena *a, const char *text, size_t len, struct data_package *out,
		 struct err *e);
/* NULL does nothing. */
void package_close(struct data_package *p);
/* One that is kept, by its path: -ENOENT where there is none. */
int package_stored(struct arena *a, struct host *h, const char *path, struct data_package *out,
		   struct err *e);
/* The machine's or the user's own (root has none), whichever has the higher serial. -ENOENT: none.
 * Others: *e says which is not used, and why; one that is older than the build's rows is not. */
int package_read(struct arena *a, struct host *h, struct data_package *out, struct err *e);
/* The user's own folder; NULL: it has no home. */
const char *package_folder(struct arena *a, struct host *h);
/* Below the folder that the variable names, or the one of that name below HOME. NULL: neither. */
const char *knowledge_home(struct arena *a, struct host *h, const char *variable, const char *usual,
			   const char *below);
/* Days from a date (2026, 2026-08 or 2026-08-27) to now; -1: no date. 0 for one that is to come. */
int package_age_days(const char *date, long long now);

#endif
