/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of facts (base/shape.h): a table a struct, with every fact's key, title, unit and place,
 * once. A row whose key is not the member's name is written in full.
 */
#ifndef MODEL_ROWS_H
#define MODEL_ROWS_H

#include <stddef.h>

#include "base/shape.h"

/* A growing array of structs of one shape. */
struct list {
	void *items;
	size_t n;
};

/* The key is the member's name. */
#define FACT_ROW(m, title_, unit_) .key = #m, .title = (title_), .unit = (unit_)
#define FACT(type, m, title_, unit_)                                                               \
	{                                                                                          \
		FACT_ROW(m, title_, unit_), SHAPE_FACT(type, m)                                    \
	}
#define FACT_FLAG(type, m, title_)                                                                 \
	{                                                                                          \
		FACT_ROW(m, title_, NULL), SHAPE_FACT_FLAG(type, m)                                \
	}
#define FACT_HEX(type, m, title_)                                                                  \
	{                                                                                          \
		FACT_ROW(m, title_, NULL), SHAPE_FACT_HEX(type, m)                                 \
	}
/* The object's own name or number: no fact, and always there. */
#define FACT_NAME(type, m, title_)                                                                 \
	{                                                                                          \
		FACT_ROW(m, title_, NULL), SHAPE_TEXT(type, m), .unknown = SHAPE_BLANK             \
	}
#define FACT_NUMBER(type, m, title_)                                                               \
	{                                                                                          \
		FACT_ROW(m, title_, NULL), SHAPE_COUNT(type, m)                                    \
	}
#define FACT_PART(type, m, title_, inner)                                                          \
	{                                                                                          \
		FACT_ROW(m, title_, NULL), SHAPE_OBJECT(type, m, inner), .absent = true            \
	}
/* m: a struct list of these structs. */
#define FACT_LIST(type, m, title_, inner)                                                          \
	{                                                                                          \
		FACT_ROW(m, title_, NULL), SHAPE_FACTS(type, m, inner), .absent = true             \
	}
#define SHAPE_FACTS(type, m, inner)                                                                \
	.kind = SHAPE_KIND_LIST, .pointer = true, .size = sizeof(struct inner),                    \
	.sub = &inner##_shape, .offset = offsetof(struct type, m.items),                           \
	.n_offset = offsetof(struct type, m.n)

/* Item i of a list. */
static inline void *list_at(const struct list *l, const struct shape *s, size_t i)
{
	return (char *)l->items + i * s->size;
}

#endif
