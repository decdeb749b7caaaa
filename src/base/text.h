/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text buffers and strict parsing. A parser takes the whole string or refuses it. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Heap text, always NUL-terminated once anything was added. Zero-initialise; text_free to release.
 */
struct text {
	char *s;
	size_t len;
	size_t cap;
};

void text_reserve(struct text *t, size_t more);
void text_add(struct text *t, const char *s);
void text_addn(struct text *t, const char *s, size_t n);
void text_addc(struct text *t, char c);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *t, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
void text_clear(struct text *t);
void text_free(struct text *t);
#define TEXT_AUTO __attribute__((cleanup(text_free))) struct text

/*
 * The decimal number that s begins with, and where it ends: digits with a point and an exponent, as
 * people and programs write them. No blanks before it, no inf, nan or 0x. -EINVAL: s begins with
 * none; -ERANGE: no finite number is that large. "-0" is 0. The only way from a text that somebody
 * gave us to a double.
 */
int parse_decimal(const char *s, double *out, const char **end);
/* The same where nothing may follow. */
int parse_real(const char *s, double *out);
/* A time like 10s, 500ms, 2m, 1.5 or 24h, which is the most; above 0. -EINVAL, -ERANGE. */
int parse_seconds(const char *s, double *out);
/* Decimal (or, for parse_hex, hexadecimal with or without 0x); surrounding blanks are allowed,
 * nothing else is. 0 or -EINVAL / -ERANGE; *out is untouched on failure. */
int parse_i64(const char *s, long long *out);
int parse_u64(const char *s, unsigned long long *out);
int parse_hex(const char *s, unsigned long long *out);
/* A byte count with an optional suffix K M G T (powers of 1024), as kernel arguments take it. */
int parse_size(const char *s, unsigned long long *out);

/* The first n bytes of s without leading and trailing white space; *len gets the length. */
const char *str_trim(const char *s, size_t n, size_t *len);
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Orders "cpu2" before "cpu10": digits compare as numbers. For qsort over char *. */
int str_natural(const char *a, const char *b);
int str_natural_qsort(const void *a, const void *b);
/* Edit distance, for "did you mean"; gives up (returns max + 1) above max. */
size_t str_distance(const char *a, const char *b, size_t max);
/* True when id equals pattern or lies below it: "gpu" matches "gpu.bar1-size"; '*' and '?' work. */
bool id_matches(const char *id, const char *pattern);

#endif
