/* SPDX-License-Identifier: Apache-2.0 */
/* JSON for whoever reads it next, a terminal among them. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "base/err.h"
#include "base/text.h"

/*
 * As json_dumpf, with what is not harmless (utf8_harmless) written as \u escapes: the same value to
 * every reader of JSON, and no order to a terminal that it is shown on. -1 when out fails.
 */
int json_print(FILE *out, const json_t *j, size_t flags);
/* The same at the end of a text. -1: j cannot be written. */
int json_add(struct text *out, const json_t *j, size_t flags);

/* What json_dumps writes of j, in the arena; the caller's reference goes. NULL: j is NULL, or
 * cannot be written. */
char *json_take_text(struct arena *a, json_t *j, size_t flags);

/* A file that a user names, of at most max bytes. 0, or -errno and *e with the path, and the line
 * of what is not JSON. */
int json_from_file(const char *path, size_t max, json_t **out, struct err *e);

/* Values as they stand in our JSON: what is not known is null, never a word or a zero. */

/* Bytes that are no UTF-8 are replaced (JSON has no others); null for NULL. */
json_t *json_text(const char *s);
/* null for what is no number or has no bound. */
json_t *json_figure(double v);
/* A list of texts. */
json_t *json_texts(const char *const *items, size_t n);

/* The same as a member of an object. */
static inline void json_put_text(json_t *o, const char *key, const char *s)
{
	json_object_set_new(o, key, json_text(s));
}

static inline void json_put_int(json_t *o, const char *key, json_int_t v)
{
	json_object_set_new(o, key, json_integer(v));
}

#endif
