/* SPDX-License-Identifier: Apache-2.0 */
/* Results on pages, by the titles and units of their rows (base/shape.h). */
#ifndef RENDER_SHAPE_PAGE_H
#define RENDER_SHAPE_PAGE_H

#include "base/shape.h"
#include "render/doc.h"

/*
 * The rows of an object that have a title, as pairs; what is not known, or 0 of an amount, is left
 * out. total: what the amounts are parts of, for their share; 0: none. Pairs may be added to it.
 */
struct node *shape_pairs(struct doc *d, const char *title, const struct shape *s,
			 const void *object, double total);

#endif
