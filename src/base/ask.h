/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a verb is asked: one row an option or argument, one table a struct. The command line and
 * JSON are read by these rows into the struct; help, manual page and completion are made from them,
 * so that a new option is one member and one row. Tables are const; a table may hold others
 * (ASK_PART), which several verbs share. A member of another type than the row's kind does not
 * compile.
 *
 *     struct example_ask {
 *         struct profile_ask profile;
 *         double least_s;
 *         bool all;
 *     };
 *     static const struct ask_row example_rows[] = {
 *         { ASK_PART(example_ask, profile, profile_ask) },
 *         { "least", "not below this time", ASK_TIME(example_ask, least_s), .fallback = "1s" },
 *         { "all", "also what is right", ASK_FLAG(example_ask, all), .letter = 'a' },
 *     };
 *     const struct ask_shape example_ask_shape = ASK_SHAPE(example_ask, "Selection", example_rows);
 */
#ifndef BASE_ASK_H
#define BASE_ASK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum ask_row_kind {
	ASK_KIND_FLAG,	  /* bool */
	ASK_KIND_TEXT,	  /* const char *; not given: NULL */
	ASK_KIND_TEXTS,	  /* struct ask_texts: may be given several times */
	ASK_KIND_COUNT,	  /* int, unsigned, size_t, long long: a whole number; 8k is 8000 */
	ASK_KIND_REAL,	  /* double; 8e9 and 8B are the same */
	ASK_KIND_NUMBERS, /* struct ask_numbers: 1,2,4 or 1-16 or 8k */
	ASK_KIND_TIME,	  /* double, seconds: 10s, 500ms, 2m, up to 24h or to the row's bounds */
	ASK_KIND_SHARE,	  /* double: 0.01 is given as 1 or 1% */
	ASK_KIND_CHOICE,  /* an enum: one of the names; not given: their number */
	ASK_KIND_PART,	  /* a struct with a table of its own */
	ASK_KIND_NOTE,	  /* no member: the help of a part's row of that name, for this verb */
};
/*
 * Not given, and without a fallback: of counts and reals 0 where the least that may be given is
 * above 0, otherwise -1 and NAN; times are 0, shares as reals.
 */

/* What is proposed for a value, by number from 0 on; NULL ends it. Static storage. */
typedef const char *ask_proposal(size_t i);

/* What may stand behind a number, and what it is multiplied by; a NULL name ends them. */
struct ask_unit {
	const char *name;
	double factor;
};

struct ask_texts {
	const char *const *items;
	size_t n;
};

struct ask_numbers {
	const double *items;
	size_t n;
};

struct ask_shape;

struct ask_row {
	const char *name; /* "min-effect"; of arguments what help calls them: "ID" */
	const char *help; /* a sentence without its end, for --help and the manual page */
	enum ask_row_kind kind;
	char letter;		      /* 0: none */
	const char *arg;	      /* what help calls the value: "PERCENT"; NULL: by the kind */
	const char *unit;	      /* of counts and reals: "bytes"; NULL: none */
	const struct ask_unit *units; /* others besides; NULL: none */
	const char *fallback;	      /* taken where it is not given; help shows it */
	const char *example;	      /* of a value */
	const char *listed; /* "gputune list" names the values by this word; NULL: it does not */
	const char *words;  /* other names that people try, by blanks: "users" for --batch */
	bool argument;	    /* stands without a name; in the order of rows */
	bool required;	    /* of arguments */
	bool behind;	    /* of texts: all words behind "--", and none before it */
	bool files;	    /* a path may be given */
	bool strict;	    /* nothing but a proposal may be given */
	bool may_be_empty;
	char join;	 /* of texts: given several times, they are joined by this; 0: once only. An
			    argument joins what an option of the same member has */
	double min, max; /* both 0: no bounds; of times in seconds */
	bool whole;	 /* of lists of numbers: each of them is */
	size_t most;	 /* of lists of numbers: so many; 0: 4096 */
	const char *const *names;
	size_t n_names;
	ask_proposal *proposal;
	/* What a word that is not proposed stands for: "gpus" is "gpu"; NULL: nothing. */
	const char *(*meant)(const char *word);
	/* What else holds of the value: 0, or -EINVAL and a sentence that follows "--NAME ". */
	int (*check)(const char *value, struct err *e);
	size_t offset, size; /* of the member */
	const struct ask_shape *part;
};

struct ask_shape {
	const char *group; /* help's heading of the rows: "Selection"; NULL: "Options" */
	const struct ask_row *rows;
	size_t n, size;
};

#define ASK_SHAPE(type, heading, list)                                                             \
	{                                                                                          \
		.group = (heading), .rows = (list), .n = sizeof(list) / sizeof((list)[0]),         \
		.size = sizeof(struct type)                                                        \
	}

#define ASK_AT(type, m) (((struct type *)0)->m)
#define ASK_SIZED(type, m, is)                                                                     \
	.offset = offsetof(struct type, m), .size = _Generic(ASK_AT(type, m), is : sizeof(is))
#define ASK_FLAG(type, m) .kind = ASK_KIND_FLAG, ASK_SIZED(type, m, bool)
#define ASK_TEXT(type, m) .kind = ASK_KIND_TEXT, ASK_SIZED(type, m, const char *)
#define ASK_TEXTS(type, m) .kind = ASK_KIND_TEXTS, ASK_SIZED(type, m, struct ask_texts)
#define ASK_COUNT(type, m, low, high)                                                              \
	.kind = ASK_KIND_COUNT, .offset = offsetof(struct type, m),                                \
	.size = _Generic(ASK_AT(type, m), int                                                      \
			 : sizeof(int), unsigned                                                   \
			 : sizeof(unsigned), size_t                                                \
			 : sizeof(size_t), long long                                               \
			 : sizeof(long long)),                                                     \
	.min = (low), .max = (high)
#define ASK_REAL(type, m, low, high)                                                               \
	.kind = ASK_KIND_REAL, ASK_SIZED(type, m, double), .min = (low), .max = (high)
#define ASK_NUMBERS(type, m, low, high)                                                            \
	.kind = ASK_KIND_NUMBERS, ASK_SIZED(type, m, struct ask_numbers), .min = (low),            \
	.max = (high)
#define ASK_TIME(type, m) .kind = ASK_KIND_TIME, ASK_SIZED(type, m, double)
#define ASK_SHARE(type, m, low, high)                                                              \
	.kind = ASK_KIND_SHARE, ASK_SIZED(type, m, double), .min = (low), .max = (high)
/* list: an array of the names. Enumerations are unsigned where none of their values is below 0. */
#define ASK_CHOICE(type, m, list)                                                                  \
	.kind = ASK_KIND_CHOICE, ASK_SIZED(type, m, unsigned), .names = (list),                    \
	.n_names = sizeof(list) / sizeof((list)[0])
/* The struct m inside, of which the table named has rows; in ASK_PART it is INNER_shape. */
#define ASK_PART_OF(type, m, table)                                                                \
	.kind = ASK_KIND_PART, .offset = offsetof(struct type, m),                                 \
	.size = sizeof(ASK_AT(type, m)), .part = &(table)
#define ASK_PART(type, m, inner)                                                                   \
	.kind = ASK_KIND_PART, .offset = offsetof(struct type, m),                                 \
	.size = _Generic(ASK_AT(type, m), struct inner                                             \
			 : sizeof(struct inner)),                                                  \
	.part = &inner##_shape

/* What the row's help says in the table s, which may have a note for it. */
const char *ask_help(const struct ask_shape *s, const struct ask_row *r);

/* Calls each for every row, those of parts in their place, with the object's member (NULL where
 * object is NULL) and the table that has the row; until one returns false. */
typedef bool ask_each(void *ctx, const struct ask_row *r, const struct ask_shape *s, void *member);
bool ask_for_each(const struct ask_shape *s, void *object, ask_each *each, void *ctx);

/* Everything as it is when nothing is given; object has s->size bytes. */
void ask_init(struct arena *a, const struct ask_shape *s, void *object);
/* Puts what was given into the member; again: it was given before. flags have no text.
 * -EINVAL with a sentence that begins with the name. */
int ask_take(struct arena *a, const struct ask_row *r, void *member, const char *text, bool again,
	     struct err *e);
/* "--min-effect" or "ID", as sentences name it. Arena. */
const char *ask_name(struct arena *a, const struct ask_row *r);
/* What help calls the value; NULL: it takes none. */
const char *ask_value_name(const struct ask_row *r);
/* The i-th thing to propose: a name, a proposal; NULL: no more. */
const char *ask_proposed(const struct ask_row *r, size_t i);

/*
 * The same question as JSON: {"only": ["gpu"], "min_effect": "1%", "all": true}. Keys are the names
 * with '_', arguments in small letters; values are texts as on a command line, numbers in the
 * row's unit (seconds, shares), lists of texts. -EINVAL: a sentence that names the key; object is
 * then undefined.
 */
int ask_read(struct arena *a, const struct ask_shape *s, const json_t *j, void *object,
	     struct err *e);
/* Its schema: an object of properties. The caller owns the reference. */
json_t *ask_schema(const struct ask_shape *s);

#endif
