/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a result is printed: --fields names members, --compact leaves out what a script
 * does not need. Pure. */
#ifndef FRONT_RESULT_PART_H
#define FRONT_RESULT_PART_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct result_shape;

/*
 * Fields are members' keys through objects and lists, "exit_code,findings.id". -EINVAL names the
 * first that none of the n results has, and the key that is nearest.
 */
int result_fields_check(struct arena *a, const struct result_shape *const *results, size_t n,
			const char *fields, struct err *e);
/* The same, for a result without a shape: what its empty lists would hold is not known. */
int result_fields_in(struct arena *a, const json_t *result, const char *fields, struct err *e);
/* Of check, what is right and what does not apply are taken out, as on its page. */
void result_drop_right(json_t *result);
/* All other members are taken out. */
void result_keep(struct arena *a, json_t *result, const char *fields);
/* Members without a value are taken out, and what explains unless all is asked for; facts are their
 * values alone. */
void result_compact(struct arena *a, json_t *result, bool all);

/* How much of a result is printed; 0: all of it. */
struct result_bound {
	size_t top;    /* items of each list */
	size_t tokens; /* of RESULT_TOKEN_BYTES bytes, on one line */
};
enum { RESULT_TOKEN_BYTES = 4, RESULT_DIGITS = 6 /* of numbers, where tokens are counted */ };
/*
 * The same with less: lists begin with what matters most (verdict, then severity, then the order of
 * the result), what lies deep and far down goes first, and "omitted" says what went and how to ask
 * for it. The caller owns the reference.
 */
json_t *result_bounded(json_t *result, struct result_bound b);

#endif
