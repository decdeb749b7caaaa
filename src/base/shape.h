/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a result is made of: one row a figure, one table a struct. JSON out, its JSON Schema, JSON
 * in and the list of a struct on a page (render/shape_page.h) all follow from these rows, so that a
 * new figure is one member and one row. Tables are const; everything here is pure.
 *
 *     static const struct shape_row train_memory_rows[] = {
 *         { "weights_bytes", "Gathered ones apart.", SHAPE_REAL(train_memory, weights),
 *           .title = "weights", .unit = "GB" },
 *     };
 *     static const struct shape train_memory_shape = SHAPE(train_memory, train_memory);
 *
 * A member of another type than the row's kind does not compile.
 */
#ifndef BASE_SHAPE_H
#define BASE_SHAPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/fact.h"
#include "base/text.h"

enum {
	SHAPE_BYTES_MAX = 64 << 20, /* of a text that is read */
	SHAPE_TEXT_MAX = 1 << 20,   /* bytes of one text of it */
	SHAPE_LIST_MAX = 1 << 17,   /* items of one list */
	SHAPE_KEY_SIZE = 128,	    /* of a key that ends in a text, of a schema's name */
	SHAPE_ROOM_MAX = 256 << 20, /* bytes of all structs that one text may become */
};

enum shape_kind {
	SHAPE_KIND_COUNT,  /* an integer of any width */
	SHAPE_KIND_REAL,   /* double; what is not finite is null */
	SHAPE_KIND_FLAG,   /* bool */
	SHAPE_KIND_TEXT,   /* const char * */
	SHAPE_KIND_CHOICE, /* an enum: which of the names */
	SHAPE_KIND_TIME,   /* long long, seconds since 1970; in JSON "2026-11-21T04:50:00Z" */
	SHAPE_KIND_TEXTS,  /* const char *[] and a count */
	SHAPE_KIND_REALS,  /* double[] and a count; with SHAPE_NULL any of them can be unknown */
	SHAPE_KIND_COUNTS, /* size_t[] and a count */
	SHAPE_KIND_OBJECT, /* a struct */
	SHAPE_KIND_LIST,   /* structs and a count */
	SHAPE_KIND_WORD,   /* always the row's word */
	SHAPE_KIND_JSON,   /* json_t *, as it is; passed over when it is read */
	/* Facts (base/fact.h); left out where nobody asked for them. */
	SHAPE_KIND_FACT_INT,
	SHAPE_KIND_FACT_FLAG, /* fact_int that holds 0 or 1 */
	SHAPE_KIND_FACT_HEX,  /* fact_int that pages show in hexadecimal */
	SHAPE_KIND_FACT_TEXT,
	SHAPE_KIND_FACT_SET,
};

/* What a member holds when its figure is not known. */
enum shape_unknown {
	SHAPE_KNOWN, /* it always is */
	SHAPE_NULL,  /* NULL of texts and pointers, not finite of reals, beyond the names of choices
		      */
	SHAPE_BLANK, /* NULL of texts; "" in JSON */
	SHAPE_NEGATIVE, /* below 0 */
	SHAPE_ZERO,	/* not above 0; of texts: empty; of objects: their first figure is not */
};

struct shape;

struct shape_row {
	/* In JSON, with the unit as suffix: "total_bytes". NULL: it stands on pages alone; of a
	 * shape's only row: what has that shape is this value, no object. */
	const char *key;
	const char *meaning; /* a sentence for the schema; NULL: the key says it */
	/* On pages; "~why": a column that may be broken between words. NULL: it stands on none by
	 * itself. Of an object: the figures of it that have titles are columns of its list. */
	const char *title;
	const char *unit; /* in which pages show it; NULL: none */
	enum shape_kind kind;
	enum shape_unknown unknown;
	bool later;	     /* always written, but not missed where it is not there */
	bool absent;	     /* left out, not null, where it is not known, or where when is false */
	bool is_signed;	     /* of counts */
	bool pointer;	     /* the member points to the struct or the first item */
	size_t offset, size; /* of the member; of lists: of an item */
	size_t n_offset, max; /* of lists: the member that counts them, and how many there is room
				 for; 0: no bound but SHAPE_LIST_MAX */
	/* 1 + offset of a pointer to the struct, of via_size bytes, that has the member; 0: it is
	 * in the struct itself. */
	size_t via, via_size;
	size_t when; /* 1 + offset of a bool that says whether it is known; 0: none */
	bool (*when_of)(const void *object); /* the same, by other members; not read back */
	/* 1 + offset of a text that the key ends in: "median" of "ns" is "median_ns"; 0: none. When
	 * it is read, the text is a row before it, or follows from the first key that fits. */
	size_t suffix;
	/* Of lists of structs: 1 + offset of an item's text that is its key in an object, which
	 * the list is then; 0: it is a list. Which items are written; NULL: all. */
	size_t by;
	bool (*keeps)(const void *item, const void *object);
	bool spread;   /* of such an object: its members stand in the struct's own; not read back */
	bool indirect; /* the items are pointers to the structs */
	/* Of choices, by their values: a list, or a function. Of texts: what they can be. */
	const char *const *names;
	const char *(*name_of)(unsigned value);
	size_t n_names;
	const char *word; /* of JSON as it is: its JSON Schema as text; NULL: anything */
	const struct shape *sub;
	/* What follows from other members; such rows are written, and checked but not stored when
	 * they are read. */
	const char *(*text_of)(const void *object);
	double (*real_of)(const void *object);
	bool (*flag_of)(const void *object);
	long long (*count_of)(const void *object);
	/* The text, the struct, or the first of *n items, made in the arena when it is written;
	 * NULL: not known. Passed over when it is read. */
	const void *(*made)(struct arena *a, const void *object, size_t *n);
	/* On pages, instead of the figure: NULL is nothing; and its style (render/doc.h). */
	const char *(*shown)(struct arena *a, const void *object);
	unsigned (*style_of)(const void *object);
};

struct shape {
	const char *name; /* of the definition in the schema */
	const struct shape_row *rows;
	size_t n, size;
	/* It is one of these shapes of the same struct, which has no rows then: form says which by
	 * its members. Read is the first whose keys are all there. */
	const struct shape *const *forms;
	size_t n_forms;
	unsigned (*form)(const void *object);
};

/* What a verb answers: the shape of "gputune.NAME/1" below the head that every result has. */
struct result_shape {
	const char *name;    /* "train": of gputune.train/1 and of the schema's file */
	const char *title;   /* "gputune predict training" */
	const char *meaning; /* a sentence or two */
	const struct shape *shape;
	const struct shape *host; /* the member "host" of its head; NULL: none */
	/* What it mainly is, for CSV: the key of a list, or of a list in the items of one,
	 * "fronts.points". Of forms those of one row are that list. NULL: nothing such. */
	const char *list;
	unsigned exit_codes;	  /* a bit for each: 1 << code; 0: its head has no exit_code */
	bool no_time, no_version; /* its head has no time, no tool_version */
	int version;		  /* of its schema; 0: 1 */
};

/* A function of what x, the struct, gives and no member of it holds: for rows and their .when. */
#define SHAPE_GIVES(result, name, type, is)                                                        \
	static result name(const void *object)                                                     \
	{                                                                                          \
		const struct type *x = object;                                                     \
		return is;                                                                         \
	}

/* The shape of a struct by the rows NAME_rows. */
#define SHAPE(type, of)                                                                            \
	{                                                                                          \
		.name = #of, .rows = of##_rows, .n = sizeof(of##_rows) / sizeof(of##_rows[0]),     \
		.size = sizeof(struct type)                                                        \
	}
/* The same with its rows, which no other shape has. */
#define SHAPE_OF(type, of, ...)                                                                    \
	{                                                                                          \
		.name = #of, .rows = (const struct shape_row[]){ __VA_ARGS__ },                    \
		.n = sizeof((const struct shape_row[]){ __VA_ARGS__ }) / sizeof(struct shape_row), \
		.size = sizeof(struct type)                                                        \
	}
/* One of the shapes in an array of pointers to them, by a function. */
#define SHAPE_FORMS(type, of, list, function)                                                      \
	{                                                                                          \
		.name = #of, .size = sizeof(struct type), .forms = (list),                         \
		.n_forms = sizeof(list) / sizeof((list)[0]), .form = (function)                    \
	}

/* The member of a row. type and inner are names of structs; inner_shape is that struct's shape. */
#define SHAPE_AT(type, m) (((struct type *)0)->m)
#define SHAPE_SIZED(type, m, is)                                                                   \
	.offset = offsetof(struct type, m), .size = _Generic(SHAPE_AT(type, m), is : sizeof(is))
#define SHAPE_COUNTED(type, n)                                                                     \
	.n_offset = offsetof(struct type, n) + 0 * _Generic(SHAPE_AT(type, n), size_t : 1)

#define SHAPE_COUNT(type, m)                                                                       \
	.kind = SHAPE_KIND_COUNT, .offset = offsetof(struct type, m),                              \
	.size = sizeof(SHAPE_AT(type, m)),                                                         \
	.is_signed = _Generic(SHAPE_AT(type, m), int                                               \
			      : true, long                                                         \
			      : true, long long                                                    \
			      : true, unsigned                                                     \
			      : false, unsigned long                                               \
			      : false, unsigned long long                                          \
			      : false)
#define SHAPE_REAL(type, m) .kind = SHAPE_KIND_REAL, SHAPE_SIZED(type, m, double)
#define SHAPE_FLAG(type, m) .kind = SHAPE_KIND_FLAG, SHAPE_SIZED(type, m, bool)
#define SHAPE_TEXT(type, m) .kind = SHAPE_KIND_TEXT, SHAPE_SIZED(type, m, const char *)
#define SHAPE_TIME(type, m) .kind = SHAPE_KIND_TIME, SHAPE_SIZED(type, m, long long)
/* list: an array of the names. Enumerations are unsigned where none of their values is below 0. */
#define SHAPE_CHOICE(type, m, list) SHAPE_CHOICE_OF(type, m, list, sizeof(list) / sizeof((list)[0]))
#define SHAPE_CHOICE_OF(type, m, list, n)                                                          \
	.kind = SHAPE_KIND_CHOICE, SHAPE_SIZED(type, m, unsigned), .names = (list), .n_names = (n)
#define SHAPE_CHOICE_BY(type, m, function, n)                                                      \
	.kind = SHAPE_KIND_CHOICE, SHAPE_SIZED(type, m, unsigned), .name_of = (function),          \
	.n_names = (n)
/* A bool as one of two words. */
#define SHAPE_EITHER(type, m, list)                                                                \
	.kind = SHAPE_KIND_CHOICE, SHAPE_SIZED(type, m, bool), .names = (list),                    \
	.n_names = sizeof(list) / sizeof((list)[0])
#define SHAPE_WORD(text) .kind = SHAPE_KIND_WORD, .word = (text)
/* In the struct, and where a member points to. ..._AS: of another shape than inner_shape. */
#define SHAPE_OBJECT(type, m, inner) SHAPE_OBJECT_AS(type, m, inner, inner##_shape)
#define SHAPE_OBJECT_AS(type, m, inner, shape)                                                     \
	.kind = SHAPE_KIND_OBJECT, SHAPE_SIZED(type, m, struct inner), .sub = &(shape)
#define SHAPE_POINTER(type, m, inner) SHAPE_POINTER_AS(type, m, inner, inner##_shape)
#define SHAPE_POINTER_AS(type, m, inner, shape)                                                    \
	.kind = SHAPE_KIND_OBJECT, .pointer = true, .offset = offsetof(struct type, m), \
	.size = _Generic(SHAPE_AT(type, m), struct inner * \
			 : sizeof(struct inner), const struct inner * \
			 : sizeof(struct inner)), \
	.sub = &(shape)
/* Some members of the same struct, as an object. */
#define SHAPE_PART(part) .kind = SHAPE_KIND_OBJECT, .sub = &(part)
/* Items in the struct, and where a member points to; n: the member that counts them. */
#define SHAPE_ARRAY(type, m, n, inner) SHAPE_ARRAY_AS(type, m, n, inner, inner##_shape)
#define SHAPE_ARRAY_AS(type, m, n, inner, shape)                                                   \
	.kind = SHAPE_KIND_LIST, .max = sizeof(SHAPE_AT(type, m)) / sizeof(struct inner),          \
	SHAPE_COUNTED(type, n), .offset = offsetof(struct type, m),                                \
	.size = _Generic(&SHAPE_AT(type, m)[0], struct inner *                                     \
			 : sizeof(struct inner)),                                                  \
	.sub = &(shape)
#define SHAPE_LIST(type, m, n, inner) SHAPE_LIST_AS(type, m, n, inner, inner##_shape)
#define SHAPE_LIST_AS(type, m, n, inner, shape)                                                    \
	.kind = SHAPE_KIND_LIST, .pointer = true, SHAPE_COUNTED(type, n), \
	.offset = offsetof(struct type, m), \
	.size = _Generic(SHAPE_AT(type, m), struct inner * \
			 : sizeof(struct inner), const struct inner * \
			 : sizeof(struct inner)), \
	.sub = &(shape)
#define SHAPE_TEXT_ARRAY(type, m, n)                                                               \
	.kind = SHAPE_KIND_TEXTS, .max = sizeof(SHAPE_AT(type, m)) / sizeof(char *), \
	SHAPE_COUNTED(type, n), .offset = offsetof(struct type, m), \
	.size = _Generic(&SHAPE_AT(type, m)[0], const char ** : sizeof(char *))
#define SHAPE_TEXT_LIST(type, m, n)                                                                \
	.kind = SHAPE_KIND_TEXTS, .pointer = true, SHAPE_COUNTED(type, n), \
	.offset = offsetof(struct type, m), \
	.size = _Generic(SHAPE_AT(type, m), char ** \
			 : sizeof(char *), const char ** \
			 : sizeof(char *), const char *const * \
			 : sizeof(char *))
#define SHAPE_NUMBERS(k, type, m, n, item)                                                         \
	.kind = (k), SHAPE_COUNTED(type, n), .offset = offsetof(struct type, m), \
	.size = _Generic(&SHAPE_AT(type, m)[0], item * : sizeof(item), const item * : sizeof(item))
#define SHAPE_NUMBER_ARRAY(k, type, m, n, item)                                                    \
	SHAPE_NUMBERS(k, type, m, n, item), .max = sizeof(SHAPE_AT(type, m)) / sizeof(item)
#define SHAPE_REAL_ARRAY(type, m, n) SHAPE_NUMBER_ARRAY(SHAPE_KIND_REALS, type, m, n, double)
#define SHAPE_COUNT_ARRAY(type, m, n) SHAPE_NUMBER_ARRAY(SHAPE_KIND_COUNTS, type, m, n, size_t)
#define SHAPE_REAL_LIST(type, m, n)                                                                \
	SHAPE_NUMBERS(SHAPE_KIND_REALS, type, m, n, double), .pointer = true
#define SHAPE_COUNT_LIST(type, m, n)                                                               \
	SHAPE_NUMBERS(SHAPE_KIND_COUNTS, type, m, n, size_t), .pointer = true
/* The same of pointers to structs. */
#define SHAPE_POINTERS(type, m, n, inner) SHAPE_POINTERS_AS(type, m, n, inner, inner##_shape)
#define SHAPE_POINTERS_AS(type, m, n, inner, shape)                                                \
	.kind = SHAPE_KIND_LIST, .pointer = true, .indirect = true, SHAPE_COUNTED(type, n), \
	.offset = offsetof(struct type, m), \
	.size = _Generic(SHAPE_AT(type, m), struct inner ** \
			 : sizeof(struct inner *), struct inner *const * \
			 : sizeof(struct inner *), const struct inner ** \
			 : sizeof(struct inner *), const struct inner *const * \
			 : sizeof(struct inner *)), \
	.sub = &(shape)
/* Besides, of a list: an object whose keys are a text of each item. */
#define SHAPE_BY(inner, m)                                                                         \
	.by = 1 + offsetof(struct inner, m) + 0 * _Generic(SHAPE_AT(inner, m), const char * : 1)
/* Besides .word: its schema, if there is more to say than that it is JSON. */
#define SHAPE_JSON(type, m)                                                                        \
	.kind = SHAPE_KIND_JSON, .size = sizeof(json_t *),                                         \
	.offset = offsetof(struct type, m) +                                                       \
		  0 * _Generic(SHAPE_AT(type, m), json_t * : 1, const json_t * : 1)
/* Made when it is written: texts, structs and lists of them; inner is a struct's name. */
#define SHAPE_TEXT_MADE(function) .kind = SHAPE_KIND_TEXT, .made = (function)
#define SHAPE_TEXTS_MADE(function) .kind = SHAPE_KIND_TEXTS, .made = (function)
#define SHAPE_LIST_MADE(function, inner) SHAPE_LIST_MADE_AS(function, inner, inner##_shape)
#define SHAPE_LIST_MADE_AS(function, inner, shape)                                                 \
	.kind = SHAPE_KIND_LIST, .made = (function), .size = sizeof(struct inner), .sub = &(shape)
/* A fact of any type. */
#define SHAPE_FACT(type, m)                                                                        \
	.absent = true, .offset = offsetof(struct type, m),                                        \
	.kind = _Generic(SHAPE_AT(type, m), struct fact_int                                        \
			 : SHAPE_KIND_FACT_INT, struct fact_str                                    \
			 : SHAPE_KIND_FACT_TEXT, struct fact_set                                   \
			 : SHAPE_KIND_FACT_SET)
#define SHAPE_FACT_FLAG(type, m)                                                                   \
	.absent = true, SHAPE_SIZED(type, m, struct fact_int), .kind = SHAPE_KIND_FACT_FLAG
#define SHAPE_FACT_HEX(type, m)                                                                    \
	.absent = true, SHAPE_SIZED(type, m, struct fact_int), .kind = SHAPE_KIND_FACT_HEX
/* What follows from other members. */
#define SHAPE_TEXT_OF(function) .kind = SHAPE_KIND_TEXT, .text_of = (function)
/* What a text can be: for the schema. */
#define SHAPE_NAMES(list) .names = (list), .n_names = sizeof(list) / sizeof((list)[0])
#define SHAPE_FLAG_OF(function) .kind = SHAPE_KIND_FLAG, .flag_of = (function)
#define SHAPE_REAL_OF(function) .kind = SHAPE_KIND_REAL, .real_of = (function)
#define SHAPE_COUNT_OF(function) .kind = SHAPE_KIND_COUNT, .is_signed = true, .count_of = (function)
/* Besides: the row's struct, inner, is where a member points to; the key ends in a text; a bool
 * says whether it is known. */
#define SHAPE_VIA(type, m, inner)                                                                  \
	.via_size = sizeof(struct inner),                                                          \
	.via = 1 + offsetof(struct type, m) +                                                      \
	       0 * _Generic(SHAPE_AT(type, m), struct inner * : 1, const struct inner * : 1)
#define SHAPE_SUFFIX(type, m)                                                                      \
	.suffix = 1 + offsetof(struct type, m) + 0 * _Generic(SHAPE_AT(type, m), const char * : 1)
#define SHAPE_WHEN(type, m)                                                                        \
	.when = 1 + offsetof(struct type, m) + 0 * _Generic(SHAPE_AT(type, m), bool : 1)

static inline bool shape_is_fact(const struct shape_row *r)
{
	return r->kind >= SHAPE_KIND_FACT_INT;
}

/* The member, or the struct or first item that it points to. */
const void *shape_at(const struct shape_row *r, const void *object);
bool shape_known(const struct shape_row *r, const void *object);
bool shape_flag(const struct shape_row *r, const void *object);
/* NULL: there is none. */
const struct shape_row *shape_row_of(const struct shape *s, const char *key);
/* Of lists: how many there are, and one of them; NULL: it is not written. */
size_t shape_items(const struct shape_row *r, const void *object);
/* NULL: it ends in a text that is not known. Else the row's, or made in room. */
const char *shape_key(const struct shape_row *r, const void *object, char room[SHAPE_KEY_SIZE]);
const void *shape_item(const struct shape_row *r, const void *object, size_t i);
/* Its only row has no key: it is a value, no object. */
bool shape_is_value(const struct shape *s);
/* Whether a figure may be null in JSON. */
bool shape_can_be_null(const struct shape_row *r);
/* The shape that has the rows of the object: s, or one of its forms. */
const struct shape *shape_form(const struct shape *s, const void *object);
/* A row and an object to ask instead where the figure is made; r and object themselves where it is
 * not; NULL: its condition says that it is not known. */
struct shape_made {
	struct shape_row row;
	const void *at;
	size_t n;
};
const struct shape_row *shape_make(struct arena *a, const struct shape_row *r, const void **object,
				   struct shape_made *room);
/* Of counts, reals and choices. */
double shape_number(const struct shape_row *r, const void *object);
/* Of texts, choices and words; NULL: not known. */
const char *shape_text(const struct shape_row *r, const void *object);

/* "gputune.train/1" */
const char *result_schema_name(const struct result_shape *r, char name[SHAPE_KEY_SIZE]);

/* One figure; NULL: it is left out. */
json_t *shape_figure_json(const struct shape_row *r, const void *object);
/*
 * The items of an object's list, which has this key in s, as lines of CSV below a line of their
 * keys: "effect.low" of an object in them; what is not known is empty, lists in them are left out.
 * Of "fronts.points" each begins with the figures of the item of fronts that it is in.
 */
void shape_csv(struct text *out, const struct shape *s, const char *key, const void *object);
/* The same of a result's list. False: it has none. */
bool result_shape_csv(struct text *out, const struct result_shape *r, const void *object);
/*
 * The object's figures as members of j. A fact is {"value": V, "from": "..."} where it was seen,
 * {"seen": "denied", "error": "EACCES", "from": ".."} otherwise.
 */
void shape_json(json_t *j, const struct shape *s, const void *object);
/* The object alone. The caller owns the reference. */
json_t *shape_object_json(const struct shape *s, const void *object);
/* The whole result; now: seconds since 1970. The caller owns the reference. */
json_t *result_shape_json(const struct result_shape *r, const void *object, long long now,
			  int exit_code);
/* The same of a result whose head says whose it is: host has the shape r->host. */
json_t *result_shape_json_on(const struct result_shape *r, const void *object, const void *host,
			     long long now, int exit_code);
/* Its schema (JSON Schema, draft 2020-12). */
json_t *result_shape_schema(const struct result_shape *r);

/*
 * Reads untrusted JSON into *object (s->size bytes; what it points to lives in the arena). Keys
 * without a row are ignored: later versions add some. -EINVAL: a
 * sentence that begins with the row, "step.step_s.value: not a number"; *object is then undefined.
 */
int shape_read(struct arena *a, const struct shape *s, const json_t *j, void *object,
	       struct err *e);
/* Checks type and bounds of each key that is present; missing keys pass, because earlier versions
 * had fewer. 0 or -EINVAL. */
int result_shape_check(struct arena *a, const struct result_shape *r, const json_t *j,
		       struct err *e);
/* A result as text of len bytes: its head too. */
int result_shape_read(struct arena *a, const struct result_shape *r, const char *text, size_t len,
		      void *object, struct err *e);

#endif
