/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the terminal renderer share. Not for pages. */
#ifndef RENDER_DOC_TERM_H
#define RENDER_DOC_TERM_H

#include "render/doc.h"

struct term {
	FILE *out;
	const struct term_style *how;
	struct arena arena; /* scratch of one document */
};

/* The escape sequence that a style begins with; NULL: none. */
const char *term_colour(enum style s);
/* "  name  value": the name in so many columns, the value beside it or, where it has no room there,
 * below it. */
void term_pair(struct term *t, const char *name, size_t columns, const struct cell *value);
/* Texts as one line that is wrapped. */
void term_line(struct term *t, const struct cell *cells, size_t n);
/* A table or tree, without its title. */
void term_table(struct term *t, const struct node *n);

#endif
