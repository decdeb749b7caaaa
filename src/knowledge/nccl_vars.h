/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of variables that communication libraries read: which release of NCCL knows a
 * name, which values it takes, and when it does harm. Data with its source; pure.
 */
#ifndef KNOWLEDGE_NCCL_VARS_H
#define KNOWLEDGE_NCCL_VARS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/rows.h"

/* --- every name that NCCL reads: nccl_releases.rows ------------------------------------------- */
struct nccl_release {
	const char *version;
	const char *until; /* the first that has these names no more; NULL: they are still there */
	const char *names; /* that it has first, without "NCCL_", blank-separated */
};

extern const struct row_table nccl_release_table;
extern const struct nccl_release nccl_releases[];
extern const size_t n_nccl_releases;

enum nccl_knows {
	NCCL_KNOWN,
	NCCL_NOT_YET,  /* a later release does */
	NCCL_NO_MORE,  /* an earlier one did */
	NCCL_NEVER,    /* no release from nccl_oldest to nccl_newest reads it */
	NCCL_NOT_TOLD, /* the version is not known, or is newer than the list */
};

extern const char nccl_oldest[], nccl_newest[]; /* releases that were looked through */

/* False: not in the list. *since NULL: nccl_oldest or earlier. *until: the first release without
 * it; NULL: it is still there. */
bool nccl_name(const char *name, const char **since, const char **until);
/* version NULL: not known. */
enum nccl_knows nccl_knows(const char *name, const char *version);
/* The name that somebody may have meant; NULL. In the arena. */
const char *nccl_near(struct arena *a, const char *name);

/* "2.30.7" is less than "2.31". 0 when equal, or when one is no version. */
int version_order(const char *a, const char *b);

/* --- variables about which more is known: known_vars.rows ------------------------------------- */
enum var_values {
	VALUES_ANY,
	VALUES_INT,   /* digits, maybe with a sign: "4MB" is read as 4 */
	VALUES_BOOL,  /* 0 or 1 */
	VALUES_WORDS, /* one of words, in any case */
	VALUES_LIST,  /* some of them with commas between, or all but those behind "^" */
};

enum {
	VAR_WATCHED = 1, /* read out of this shell's and GPU processes' environments */
	VAR_FORCES = 2,	 /* for finding faults: forces an algorithm or a path */
	VAR_OFF = 4,	 /* takes the fast way away when it is neither "" nor 0 */
	VAR_SET = 8,	 /* takes it away whenever it is set, to nothing and 0 too */
};

struct known_var {
	const char *name;
	const char *library; /* "NCCL", "PyTorch (gloo)", ... */
	unsigned flags;
	enum var_values values;
	const char *words; /* VALUES_WORDS: blank-separated; VALUES_LIST: as well */
	const char *does;  /* what it sets */
	const char *harm;  /* a sentence: when the variable does harm; NULL: nothing is known */
	const char *instead;
	const char *source;
	int least, most; /* VALUES_INT; most 0: no bounds are told */
};

extern const struct row_table known_var_table;
extern const struct known_var known_vars[];
extern const size_t n_known_vars;

/* NULL: nothing more than its name is known. */
const struct known_var *known_var(const char *name);
/* Whether that value takes the fast way away: VAR_OFF, VAR_SET. */
bool var_takes_away(const struct known_var *k, const char *value);

/* NCCL_IB_HCA and its like: "=a:1,b" names exactly, "a" all that begin so; "^" is not looked at. */
bool var_list_names(const char *list, const char *device);
/* The next name of such a list: *list goes behind it, *n is its length without ":port". NULL at the
 * end. The leading "^" and "=" have to be skipped before. */
const char *var_list_next(const char **list, size_t *n);

#endif
