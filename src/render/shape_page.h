/* SPDX-License-Identifier: Apache-2.0 */
/* Results on pages, by the titles and units of their rows (base/shape.h). */
#ifndef RENDER_SHAPE_PAGE_H
#define RENDER_SHAPE_PAGE_H

#include "base/shape.h"
#include "render/doc.h"

enum { SHAPE_COLUMNS_MAX = 128 };

/* Styles of all cells of a column, for style_of. */
unsigned shape_strong(const void *object);
unsigned shape_code(const void *object);
unsigned shape_muted(const void *object);

/*
 * The rows of an object that have a title, as pairs; what is not known, or 0 of an amount, is left
 * out. total: what the amounts are parts of, for their share; 0: none. Pairs may be added to it.
 */
struct node *shape_pairs(struct doc *d, const char *title, const struct shape *s,
			 const void *object, double total);
/* One figure as pages show it, with its unit; no text: not known. Of a fact that was not seen it
 * says how. */
struct cell shape_cell(struct doc *d, const struct shape_row *r, const void *object);
/* Whether its column stands to the right. */
bool shape_is_number(const struct shape_row *r);
/*
 * n items of a shape: a column a row that has a title, numbers to the right, in each cell the unit;
 * what is not known is an empty cell. node_drop_empty leaves out columns that say nothing.
 */
struct node *shape_table(struct doc *d, const char *title, const struct shape *s, const void *items,
			 size_t n);
/* The items of an object's list, which has this key in s; those that are not written are left out.
 */
struct node *shape_list_table(struct doc *d, const char *title, const struct shape *s,
			      const char *key, const void *object);

#endif
