/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why something could not be done: one sentence that names the object, and a hint what to do next.
 * What could not be *seen* is not an error but a fact state (base/fact.h).
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

struct err {
	int code; /* as it was set; 0: none */
	char text[512];
	char hint[256];
};

/* Sets the sentence, clears the hint, returns code (a negative errno) so that it can be returned.
 */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* so that it does not follow a refusal that returns 0 */
#define err_set(e, code, ...) ((err_set)(e, code, __VA_ARGS__), (code))
#endif
void err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Hints at the word that was probably meant (NULL: none), then says rest. */
void err_hint_near(struct err *e, const char *word, const char *rest);
/* "ENOENT" for 2 or -2; "E123" style text for numbers without a name. Static storage. */
const char *errno_name(int code);
/* The reverse, positive; 0 when the name is unknown. */
int errno_number(const char *name);

#endif
