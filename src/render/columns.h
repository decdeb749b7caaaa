/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a page shows of objects of one shape, as data: a row a column. The same rows make a table
 * of many objects or, for a single one, names and values.
 */
#ifndef RENDER_COLUMNS_H
#define RENDER_COLUMNS_H

#include "machine/model/machine.h"
#include "render/doc.h"

struct pick {
	const char *title; /* NULL: the row's */
	size_t offset;	   /* of the member, when make is NULL */
	size_t most;	   /* 1 + offset of what the member is out of; 0: nothing such */
	/* A cell made of several facts. */
	struct cell (*make)(struct doc *d, const struct machine *m, const void *object);
	bool wrap, right;
	enum style style; /* of a plain cell */
};

#define PICK(type, member, title_)                                                                 \
	{                                                                                          \
		.title = (title_), .offset = offsetof(struct type, member)                         \
	}
#define PICK_WRAP(type, member, title_)                                                            \
	{                                                                                          \
		.title = (title_), .offset = offsetof(struct type, member), .wrap = true           \
	}
/* "4096 of 8192": two whole numbers of one unit. */
#define PICK_OF(type, member, most_, title_)                                                       \
	{                                                                                          \
		.title = (title_), .offset = offsetof(struct type, member),                        \
		.most = 1 + offsetof(struct type, most_)                                           \
	}
#define PICK_MADE(make_, title_)                                                                   \
	{                                                                                          \
		.title = (title_), .make = (make_)                                                 \
	}
#define PICK_FIGURE(make_, title_)                                                                 \
	{                                                                                          \
		.title = (title_), .make = (make_), .right = true                                  \
	}

struct picks {
	const struct shape *shape;
	const struct pick *rows;
	size_t n;
};

#define PICKS(shape_, rows_)                                                                       \
	(&(const struct picks){                                                                    \
		.shape = &(shape_), .rows = (rows_), .n = sizeof(rows_) / sizeof((rows_)[0]) })

/* Names and values of one object; what is not there is left out. */
void show_object(struct doc *d, const struct machine *m, const char *title, const struct picks *p,
		 const void *object);
/* A table; of a single object names and values, without the first, which tells objects apart. */
void show_objects(struct doc *d, const struct machine *m, const char *title, const struct picks *p,
		  const struct list *l);
/* Always a table; objects that differ in nothing but their name are one row. */
struct node *show_table(struct doc *d, const struct machine *m, const char *title,
			const struct picks *p, const struct list *l);
/* All leaves, parts and lists of an object, by its table alone. */
void show_shape(struct doc *d, unsigned level, const struct shape *s, const void *object);

#endif
