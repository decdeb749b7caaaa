/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile: which recommendations hold. A built-in one by name, or an INI file that starts from
 * one and overrides, waives or narrows it. Files are untrusted input: bounded, unknown sections,
 * keys and ids are errors with their line.
 */
#ifndef SETTINGS_PROFILE_H
#define SETTINGS_PROFILE_H

#include "base/err.h"
#include "base/ini_file.h"
#include "look/settings/settings.h"

struct profile_override {
	const struct setting *s;
	struct recommendation
		o; /* profile and on are not used; value "" and WANT_LEAVE for "leave" */
	bool has_want;
	const char *waive;   /* reason; NULL when not waived */
	const char *expires; /* "2027-01-31"; NULL: never */
	const char *target;  /* pattern of target names the waiver is for; NULL: all */
	int line;
};

struct profile {
	const char *name;
	enum profile_id base;
	struct profile_override *overrides;
	size_t n_overrides;
	/* Id patterns; an empty list of the first two selects all. within is what the file has as
	 * "only": what is asked for besides narrows it and never adds to it. */
	const char **within, **only, **skip;
	size_t n_within, n_only, n_skip;
};

/* Name of a built-in profile, or the path of a file (recognised by a slash or an existing file name
 * in the profile directories). -EINVAL, -ENOENT, ... and *e. */
int profile_load(struct arena *a, const char *name_or_path, struct profile *out, struct err *e);
/* A profile's part of a file that has more: its keys, as ini_key, and in the end whether its
 * waivers are whole. */
struct profile_file {
	struct arena *a;
	struct profile *p;
	struct ini_file ini;
};
int profile_on_key(void *file, const char *section, const char *key, const char *value);
int profile_check_waivers(struct profile_file *f);
/* For --only and --skip: comma-separated ids or prefixes; each must match at least one setting. A
 * list that names none is no list for --only; for --skip it skips nothing. */
int profile_narrow(struct arena *a, struct profile *p, const char *list, bool skip, struct err *e);
/* For explain: this setting, an id, also where the profile's own "only" leaves it out. */
void profile_one(struct arena *a, struct profile *p, const char *id);
/* -EINVAL and a sentence when nothing is selected: to judge nothing is not to find nothing. */
int profile_check_some(struct arena *a, const struct profile *p, struct err *e);
bool profile_selects(const struct profile *p, const char *id);
const struct profile_override *profile_override_of(const struct profile *p,
						   const struct setting *s);

/* Turns a FAIL that the profile waives into NA with code "waived"; an expired waiver leaves the
 * FAIL and says so in its reason. now_s is seconds since 1970. */
void waive(struct arena *a, const struct profile *p, const struct setting *s, const char *target,
	   long long now_s, struct verdict *v);
/* Seconds since 1970 of the end of "YYYY-MM-DD" (UTC); -EINVAL when it is not a date. */
int waive_deadline(const char *date, long long *out);

#endif
