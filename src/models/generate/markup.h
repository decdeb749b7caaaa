/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML or JSON file as a tree that knows where each part of it stands, for judging it by line and
 * for changing single places. Other people's text: bounded, and nothing in it is followed. Pure.
 */
#ifndef GENERATE_MARKUP_H
#define GENERATE_MARKUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

enum {
	MARKUP_TEXT_MAX = 1 << 20,
	MARKUP_NODES_MAX = 1 << 16,
	MARKUP_DEPTH_MAX = 64,
};

enum markup_kind { MARKUP_MAP, MARKUP_LIST, MARKUP_SCALAR, MARKUP_ALIAS };

struct markup_node {
	enum markup_kind kind;
	const char *text;   /* of a scalar, unquoted; the name of an alias; "" */
	const char *anchor; /* NULL: none */
	bool quoted;	    /* a scalar in quotes: always a text */
	bool block;	    /* a scalar of several lines (| or >) */
	bool flow;	    /* a map or list in braces */
	bool tagged;
	size_t begin, end;	 /* bytes in the file; a block map ends behind its last child */
	unsigned line;		 /* from 1 */
	size_t column;		 /* characters before it in its line */
	struct markup_node *key; /* of a map's entry: a scalar, or something else that is no name */
	struct markup_node *parent, *first, *last, *next;
	const struct markup_node *target; /* what an alias stands for; NULL: unknown */
};

struct markup {
	const char *text;
	size_t len;
	bool json;
	bool bom;		  /* begins with a byte-order mark */
	bool crlf;		  /* lines end in CR LF */
	size_t documents;	  /* the tree is of the first */
	unsigned second;	  /* line where the second begins; 0: there is none */
	bool anchors;		  /* some node has an anchor or is an alias */
	struct markup_node *root; /* NULL: empty */
};

/* text has to live as long as out. json: by the rules of JSON, else YAML 1.1. -EINVAL with a
 * sentence, and in *line (may be NULL) where; -E2BIG when it is too large or too deep. */
int markup_read(struct arena *a, const char *text, size_t len, bool json, struct markup *out,
		unsigned *line, struct err *e);

/* An entry of a map by name; aliases and "<<" are followed. NULL: not there. */
const struct markup_node *markup_get(const struct markup_node *map, const char *key);
/* "a.b.c", from map on. */
const struct markup_node *markup_find(const struct markup_node *map, const char *path);
/* The node itself, or what an alias stands for. */
const struct markup_node *markup_real(const struct markup_node *n);

/* Scalars as YAML 1.1's core and JSON have them. false: it is something else. */
bool markup_bool(const struct markup_node *n, bool *out);
bool markup_number(const struct markup_node *n, double *out);
bool markup_null(const struct markup_node *n);
/* A scalar that is neither number, switch nor null; NULL: it is. */
const char *markup_text(const struct markup_node *n);

/*
 * Changes of single places of a text: everything else stays byte for byte. The text after them, and
 * what changes as a unified diff with the reason of each hunk. Pure.
 */

enum { EDITS_MAX = 256 };

/* with instead of the n bytes at at. */
struct edit {
	size_t at, n;
	const char *with;
	const char *what;   /* "gradient_accumulation_steps: 4 -> 2" */
	const char *reason; /* a sentence */
	unsigned line;	    /* of the text before, from 1 */
};

struct edits {
	const char *text;
	size_t len;
	struct edit *at;
	size_t n;
};

/* Texts are kept as pointers. -EINVAL: it is outside of the text, or changes what another changes;
 * -E2BIG: too many. */
int edit_add(struct arena *a, struct edits *e, const struct edit *one, struct err *err);
/* The text after all changes; ordered by place on the way. */
void edits_apply(struct edits *e, struct text *out);
/* "--- NAME\n+++ NAME\n" and hunks with three lines around; nothing when nothing changes. patch
 * takes it. */
void edits_diff(struct arena *a, struct edits *e, const char *before, const char *after,
		struct text *out);

#endif
