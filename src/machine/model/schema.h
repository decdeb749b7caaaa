/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table a struct: every fact's key, title, unit and place, once. `show`, JSON out, JSON in and
 * the documentation all follow from these tables, so that a new fact is one member and one row.
 */
#ifndef MODEL_SCHEMA_H
#define MODEL_SCHEMA_H

#include <stddef.h>

enum field_kind {
	FIELD_INT,  /* struct fact_int */
	FIELD_BOOL, /* struct fact_int holding 0 or 1 */
	FIELD_HEX,  /* struct fact_int, shown in hexadecimal */
	FIELD_STR,  /* struct fact_str */
	FIELD_SET,  /* struct fact_set */
	FIELD_NAME, /* const char *: the object's own name, not a fact */
	FIELD_ID,   /* unsigned: the object's own number, not a fact */
	FIELD_PART, /* a struct inside this one */
	FIELD_LIST, /* struct list of structs */
};

/* A growing array of structs of one schema. */
struct list {
	void *items;
	size_t n;
};

struct schema;

struct field {
	const char *key;   /* JSON key, with the unit as suffix: "clock_sm_max_mhz" */
	const char *title; /* for people: "SM clock, maximum" */
	const char *unit;  /* "MHz", "bytes", NULL; what the figure is printed with */
	enum field_kind kind;
	size_t offset;
	const struct schema *sub; /* FIELD_PART, FIELD_LIST */
};

struct schema {
	const char *name;
	const struct field *fields;
	size_t n;
	size_t size;
};

#define FIELD_ROW(type, member, kind_, key_, title_, unit_)                                        \
	{                                                                                          \
		.key = (key_), .title = (title_), .unit = (unit_), .kind = (kind_),                \
		.offset = offsetof(struct type, member)                                            \
	}
#define FIELD_SUB(type, member, kind_, key_, title_, schema_)                                      \
	{                                                                                          \
		.key = (key_), .title = (title_), .kind = (kind_),                                 \
		.offset = offsetof(struct type, member), .sub = (schema_)                          \
	}
#define SCHEMA(type, rows)                                                                         \
	{                                                                                          \
		.name = #type, .fields = (rows), .n = sizeof(rows) / sizeof((rows)[0]),            \
		.size = sizeof(struct type)                                                        \
	}

static inline const void *field_at(const void *object, const struct field *f)
{
	return (const char *)object + f->offset;
}

static inline void *field_at_mut(void *object, const struct field *f)
{
	return (char *)object + f->offset;
}

/* Item i of a list whose items have the size given by the schema. */
static inline void *list_at(const struct list *l, const struct schema *s, size_t i)
{
	return (char *)l->items + i * s->size;
}

#endif
