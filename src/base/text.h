/* SPDX-License-Identifier: Apache-2.0 */
/* Texts: growing, strictly parsed, UTF-8, CSV, paths. A parser takes all of it or refuses it. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

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
/* As fnmatch, with its flags, but quick where the text differs before the pattern's first sign or
 * behind its last. */
bool str_matches(const char *pattern, const char *s, int flags);
/* Orders "cpu2" before "cpu10": digits compare as numbers. For qsort over char *. */
int str_natural(const char *a, const char *b);
int str_natural_qsort(const void *a, const void *b);
/* Edit distance, for "did you mean"; gives up (returns max + 1) above max. */
size_t str_distance(const char *a, const char *b, size_t max);
/* The same word: capitals and an s at its end make no difference. */
bool str_same_word(const char *a, const char *b);
/* Whether it stands in the text between blanks; it may have blanks itself. words NULL: no. */
bool str_has_word(const char *words, const char *word);
/* Whether one of the words between '|' is a part of the text; words NULL: yes. text NULL: no. */
bool str_has_any(const char *words, const char *text);
/* Whether a list with blanks between its words has one that is the same word. */
bool words_name(const char *words, const char *word);
/* The nearest of several words to one that is none of them, for "did you mean". Capitals make no
 * difference, and what begins like a word is near it. */
enum { NEAR_WORD_SIZE = 97 };
struct near_word {
	const char *asked;
	size_t distance;	    /* a word is near when its distance is less than this */
	const char *word;	    /* the nearest so far; NULL: none is near */
	char lower[NEAR_WORD_SIZE]; /* asked in small letters */
};
struct near_word near_word_to(const char *asked);
/* Takes word when its spelling is nearer than all before. */
void near_word_try(struct near_word *n, const char *spelling, const char *word);
/* True when id equals pattern or lies below it: "gpu" matches "gpu.bar1-size"; '*' and '?' work. */
bool id_matches(const char *id, const char *pattern);

/* UTF-8 of unknown origin: what a machine names may hold any bytes, what we write may not. */

/* What stands for a byte that is not part of UTF-8. */
enum { UTF8_BAD = 0xfffd };

/*
 * The first code point of the NUL-terminated s and how many bytes it takes: 0 at the end; a byte
 * that starts no valid sequence (overlong, surrogate, beyond U+10FFFF, cut off) counts alone, as
 * UTF8_BAD.
 */
size_t utf8_next(const char *s, uint32_t *cp);
/* s with every bad byte replaced by U+FFFD; in the arena when anything had to be replaced, else s.
 */
const char *utf8_clean(struct arena *a, const char *s);
/* At most max bytes of s, and no part of a character: how many. */
size_t utf8_cut(const char *s, size_t max);
/* False for control characters (newline and tab too) and for those that turn the direction of
 * writing. */
bool utf8_harmless(uint32_t cp);
/* A field of CSV (RFC 4180), quoted where it has to be. */
void text_csv(struct text *out, const char *s);

/*
 * Records of comma-separated text (RFC 4180), as measuring programs write them: fields may be
 * quoted, a quoted one may hold commas, doubled quotes and line ends. Nothing is trimmed.
 */

/* A quoted field longer than this is refused. */
enum { CSV_FIELD_MAX = 65536 };

/*
 * The record at s: at most most fields in arena memory, the rest of them skipped; *n gets how many
 * there are in field. Returns what follows its line end; NULL: a quote is not closed, or a field is
 * too long.
 */
const char *csv_record(struct arena *a, const char *s, const char **field, size_t most, size_t *n);
/* Line ends between two places of a text: from counting records to counting lines. */
long csv_lines(const char *from, const char *to);

/* text has word as a word of its own: "GB10" is in "NVIDIA GB10", not in "NVIDIA GB100". */
static inline bool word_in(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = text; (s = strstr(s, word)); s += n)
		if ((s == text || !isalnum((unsigned char)s[-1])) && !isalnum((unsigned char)s[n]))
			return true;
	return false;
}

/* Whether a list with blanks or line ends between its words has the n bytes at word as one. */
static inline bool words_have(const char *words, const char *word, size_t n)
{
	for (const char *s = words; *s; s += strcspn(s, " \n")) {
		s += strspn(s, " \n");
		if (n && strcspn(s, " \n") == n && strncmp(s, word, n) == 0)
			return true;
	}
	return false;
}

/* s without what terminals take for colours and other control characters, but tabs; to: n + 1
 * bytes, or s itself. Its length. */
size_t text_plain(char *to, const char *s, size_t n);

/* Parts of paths, as text: nothing is looked up. */

/* What follows the last '/'; all of it where there is none. */
static inline const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folder of that name, as open() takes it: "." where there is no '/', "/" right below it. */
static inline const char *path_folder(struct arena *a, const char *path)
{
	size_t n = (size_t)(path_name(path) - path);

	return n ? arena_strndup(a, path, n > 1 ? n - 1 : 1) : ".";
}

/* Value of "Key: value" or "Key=value" in a text, trimmed, in arena memory; NULL when it is not
 * there. */
char *str_value(struct arena *a, const char *text, const char *key, char separator);

#endif
