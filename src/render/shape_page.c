/* SPDX-License-Identifier: Apache-2.0 */
/* From the rows of a result's structs to nodes of a page. It knows rows, not what they are about.
 */
#include <string.h>

#include "render/figure.h"
#include "render/shape_page.h"

static const char *shape_amount(struct arena *a, const struct shape_row *r, double v)
{
	const char *unit = r->unit ? r->unit : "";

	if (strcmp(unit, "GB") == 0)
		return arena_printf(a, "%.2f GB", v / 1e9);
	if (strcmp(unit, "s") == 0)
		return figure_ms(a, 1e3 * v);
	return arena_printf(a, "%s%s%s", figure_number(a, v), *unit ? " " : "", unit);
}

/* NULL: nothing to show. */
static const char *shape_cell_text(struct arena *a, const struct shape_row *r, const void *object,
				   double total)
{
	double v;

	if (!shape_known(r, object))
		return NULL;
	switch (r->kind) {
	case SHAPE_KIND_COUNT:
		return arena_printf(a, "%.0f", shape_number(r, object));
	case SHAPE_KIND_REAL:
		v = shape_number(r, object);
		if (v == 0)
			return NULL;
		return total > 0 ? arena_printf(a, "%s (%.1f %%)", shape_amount(a, r, v),
						100 * v / total)
				 : shape_amount(a, r, v);
	case SHAPE_KIND_FLAG:
		return *(const bool *)shape_at(r, object) ? "yes" : "no";
	case SHAPE_KIND_TEXT:
	case SHAPE_KIND_CHOICE:
	case SHAPE_KIND_WORD:
		return shape_text(r, object);
	default:
		return NULL;
	}
}

struct node *shape_pairs(struct doc *d, const char *title, const struct shape *s,
			 const void *object, double total)
{
	struct node *n = doc_pairs(d, title);

	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];
		const char *text = r->title ? shape_cell_text(d->arena, r, object, total) : NULL;

		if (text)
			node_pair(d, n, r->title, cell(text));
	}
	return n;
}
