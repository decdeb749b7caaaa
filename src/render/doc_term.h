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
/* A table or tree, without its title. */
void term_table(struct term *t, const struct node *n);

#endif
