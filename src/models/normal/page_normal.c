/* SPDX-License-Identifier: Apache-2.0 */
/* Judged figures as results and as a page. */
#include "models/normal/page_normal.h"

#include "base/text.h"

/* clang-format off */
static const struct shape normal_item_shape = SHAPE_OF(normal_item, normal_item,
	{ "verdict", "normal, slow, or impossible (better than the hardware allows).",
	  SHAPE_CHOICE(normal_item, verdict, normal_verdict_names) },
	{ "title", NULL, SHAPE_TEXT(normal_item, title) },
	{ "tool", "Program that printed it.", SHAPE_TEXT(normal_item, tool) },
	{ "where", "File and line.", SHAPE_TEXT(normal_item, where) },
	{ "hardware", NULL, SHAPE_TEXT(normal_item, hardware), .unknown = SHAPE_NULL },
	{ "value", "Measured value in unit; low, high and limit have the same unit.", SHAPE_REAL(normal_item, value),
	  .unknown = SHAPE_ZERO },
	{ "unit", NULL, SHAPE_TEXT(normal_item, unit), .unknown = SHAPE_NULL },
	{ "size_bytes", "Message or block size.", SHAPE_REAL(normal_item, size), .unknown = SHAPE_ZERO },
	{ "low", "Lowest usual value.", SHAPE_REAL(normal_item, low), .unknown = SHAPE_ZERO },
	{ "high", "Highest usual value.", SHAPE_REAL(normal_item, high), .unknown = SHAPE_ZERO },
	{ "limit", "Best possible value.", SHAPE_REAL(normal_item, limit), .unknown = SHAPE_ZERO },
	{ "slower_ratio", "Distance from the usual values.", SHAPE_REAL(normal_item, off), .unknown = SHAPE_ZERO },
	{ "results", "Number of results behind the usual values.", SHAPE_COUNT(normal_item, n) },
	{ "reason", NULL, SHAPE_TEXT(normal_item, why), .unknown = SHAPE_NULL },
	{ "source", "Source of the usual values.", SHAPE_TEXT(normal_item, source), .unknown = SHAPE_NULL },
	{ "test", "Command that finds the cause.", SHAPE_TEXT(normal_item, test), .unknown = SHAPE_NULL },
	{ "row", "This result as a row of normals.rows.", SHAPE_TEXT(normal_item, row), .unknown = SHAPE_NULL });

static const struct shape normal_shape = SHAPE_OF(normal_page, normal,
	{ "slow", NULL, SHAPE_COUNT(normal_page, items.count[NORMAL_SLOW]) },
	{ "impossible", NULL, SHAPE_COUNT(normal_page, items.count[NORMAL_IMPOSSIBLE]) },
	{ "unknown", NULL, SHAPE_COUNT(normal_page, items.count[NORMAL_UNKNOWN]) },
	{ "normal", NULL, SHAPE_COUNT(normal_page, items.count[NORMAL_USUAL]) },
	{ "figures", NULL, SHAPE_LIST(normal_page, items.items, items.n, normal_item) });

const struct result_shape normal_result = {
	.name = "normal", .title = "gputune normal",
	.meaning = "Figures printed by other programs, compared with usual values for the hardware, worst first.",
	.shape = &normal_shape, .list = "figures", .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
/* clang-format on */

static const enum style normal_styles[NORMAL_VERDICTS] = { STYLE_BAD, STYLE_BAD, STYLE_UNKNOWN,
							   STYLE_GOOD };
static const char *const badges[NORMAL_VERDICTS] = { "slow", "impossible", "unknown", "normal" };

static const char *range(struct arena *a, const struct normal_item *i)
{
	if (i->low > 0 && !(i->high > 0))
		return arena_printf(a, "at least %.4g %s", i->low, i->unit);
	return i->low > 0 ? arena_printf(a, "%.4g to %.4g %s", i->low, i->high, i->unit) : NULL;
}

static const char *now(struct arena *a, const struct normal_item *i)
{
	const char *at = i->size >= 1e6 ? arena_printf(a, " at %.4g MB", i->size / 1e6) : "";
	const char *off =
		i->off > 0 ? arena_printf(a, ", %.0f %% worse than usual", 100 * i->off) : "";

	return i->value > 0 ? arena_printf(a, "%.4g %s%s%s", i->value, i->unit, at, off) : NULL;
}

static void normal_finding(struct doc *d, struct node *found, const struct normal_item *i)
{
	struct arena *a = d->arena;

	node_found(d, found,
		   &(struct found){ .badge = cell_as(normal_styles[i->verdict], badges[i->verdict]),
				    .id = i->title,
				    .on = i->hardware,
				    .now = now(a, i),
				    .wanted = range(a, i),
				    .why = i->why });
	if (i->verdict <= NORMAL_IMPOSSIBLE && i->test)
		node_more(d, found, "to find the cause", cell_as(STYLE_CODE, i->test));
	if (i->source)
		node_more(d, found, "usual values",
			  cell(i->n ? arena_printf(a, "%s; %u result%s", i->source, i->n,
						   PLURAL(i->n))
				    : i->source));
	node_more(d, found, "from", cell(arena_printf(a, "%s, %s", i->tool, i->where)));
}

struct doc *page_normal(struct arena *a, const struct normal_page *p)
{
	static const char *const names[] = { "slow", "impossible", "unknown", "normal" };
	const struct normal_items *all = &p->items;
	const struct normal_item *worst = all->n ? &all->items[0] : NULL;
	struct doc *d = doc_new(a);
	struct node *found;
	TEXT_AUTO rows = { 0 }, counts = { 0 };

	for (int v = 0; v < NORMAL_VERDICTS; v++)
		if (all->count[v])
			text_printf(&counts, "%s%zu %s", counts.len ? ", " : "", all->count[v],
				    names[v]);
	doc_verdict(d, worst ? normal_styles[worst->verdict] : STYLE_UNKNOWN,
		    arena_strdup(a, counts.s ? counts.s : "no figures"),
		    worst && worst->verdict <= NORMAL_IMPOSSIBLE
			    ? arena_printf(a, "%s: %s", worst->title, now(a, worst))
			    : NULL);
	found = doc_findings(d, NULL);
	for (size_t i = 0; i < all->n; i++) {
		normal_finding(d, found, &all->items[i]);
		if (p->rows && all->items[i].row)
			text_printf(&rows, "%s\n", all->items[i].row);
	}
	if (rows.len)
		doc_code(d, arena_strdup(a, rows.s));
	return d;
}
