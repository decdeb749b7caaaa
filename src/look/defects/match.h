/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known defects against what is here. A row is an object of a file of knowledge/defects, and the
 * same keys as in the examples of rows say what a machine and its places hold;
 * docs/design/DEFECTS.md describes both. Pure but for what a world's functions read on demand.
 */
#ifndef DEFECTS_MATCH_H
#define DEFECTS_MATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum answer3 { ANSWER_NO, ANSWER_YES, ANSWER_UNKNOWN };

/* Where software lies: the host, a container, an image, or a Python environment in one of them. */
struct defect_place {
	const char *name;   /* "host", "container web (3f2a...)", "/opt/venv of host" */
	const char *prefix; /* before paths: the container's name and ": "; "" */
	json_t *holds;	    /* pip, packages, libraries ... as in an example; what is unread null */
	json_t *where;	    /* "pip/torch" -> where it was read; NULL */
	const struct defect_place *root; /* of an environment: the place it lies in; NULL */
	void *own;			 /* of whoever made it */
};

struct defect_world {
	struct arena *a;
	json_t *machine; /* the same keys; NULL: those of the place */
	const struct defect_place *places;
	size_t n_places;
	/* Makes machine[key][name], or null where it cannot be seen. NULL: there is no more. */
	void (*fill)(struct defect_world *w, const char *key, const char *name);
	/* The same of holds["files"] of a place. */
	void (*fill_file)(struct defect_world *w, const struct defect_place *p, const char *path);
	/* Adds machine, comment, build_id, code (what) to a library of the place, or null. */
	void (*fill_library)(struct defect_world *w, const struct defect_place *p, json_t *library,
			     const char *what);
	/* Whether the library holds the text, or defines the symbol. */
	enum answer3 (*library_has)(struct defect_world *w, const struct defect_place *p,
				    json_t *library, const char *what, const char *pattern);
	void *ctx;
};

/* A row: parsed, or where the build's text has it, from which it is parsed when it is asked for. */
struct defect_row {
	json_t *json;
	const unsigned *keys, *cells; /* where they begin, by column; keys[0]: how many columns */
};
/* Parsed for as long as the process lives. */
const json_t *defect_row_keep(struct defect_row *row);
/* A new reference to those keys ("when only"; NULL: all of them; of a parsed row always all). NULL
 * where the text of these has none of the words ("\"env\""; NULL: any text). */
json_t *defect_row_part(const struct defect_row *row, const char *keys, const char *const *words);

struct defect_proof {
	const char *text; /* "nvidia-nccl-cu13 2.28.9" */
	const char *from; /* where it was read; NULL */
};

enum defect_state {
	DEFECT_HERE,
	DEFECT_EXPOSED,	  /* it is in range; what sets it off cannot be seen (the row's "only") */
	DEFECT_MITIGATED, /* something covers it */
	DEFECT_POSSIBLE,  /* what decides was not seen */
	DEFECT_STATES,
};

struct defect_match {
	const json_t *row;
	const struct defect_place *place;
	enum defect_state state;
	struct defect_proof *proofs;
	size_t n_proofs;
	const char *unseen;  /* of DEFECT_POSSIBLE: what decides and was not seen */
	const char *covered; /* of DEFECT_MITIGATED: by what */
};

struct defect_matches {
	struct defect_match *items; /* in the order of their states */
	size_t n, count[DEFECT_STATES];
	const char **orderless; /* versions that are in no range: "pip torch 0+unknown" */
	size_t n_orderless;
};

/* "nvidia-nccl-cu13 2.28.9 (/opt/venv/...); ..."; NULL where there are none. */
const char *defect_proofs_text(struct arena *a, const struct defect_proof *proofs, size_t n);
/* Every row in every place; a row that holds of the machine alone is said once. What matches stays
 * parsed. */
void defects_match(struct defect_world *w, struct defect_row *const *rows, size_t n,
		   struct defect_matches *out);
/* One row in one place: "yes", "exposed", "mitigated", "unknown" or "no". */
const char *defect_example(struct arena *a, const json_t *row, json_t *example);
/* The first thing that is wrong with a condition; -EINVAL and *e. */
int defect_condition_check(const json_t *condition, struct err *e);
/* text has the pattern in it ('*': anything; '#': a number; "#<900", "#>85": a decimal number of
 * such a value), whatever the case. */
bool defect_signature_in(const char *pattern, const char *text);
/* The longest part of a pattern that stands for itself. */
const char *defect_literal(struct arena *a, const char *pattern);
/* The whole name fits the pattern ('*': anything). */
bool defect_name_fits(const char *pattern, const char *name);

#endif
