/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of results that came as files: ratios with their intervals, and lines. */
#include <math.h>

#include "base/text.h"
#include "render/chart.h"
#include "front/report/given.h"

enum { RATIOS_MAX = 200, POINTS_MAX = 4096 };

static double number(const json_t *j)
{
	return json_is_number(j) ? json_number_value(j) : (double)NAN;
}

static const char *label(struct arena *a, const struct given_ratios *r, const json_t *row)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < 3 && r->label[i]; i++) {
		const char *s = given_text(a, row, r->label[i]);

		text_printf(&t, "%s%s", t.len ? " " : "", s ? s : "");
	}
	return arena_strdup(a, t.s ? t.s : "");
}

static bool ratio(struct arena *a, const struct given_ratios *r, const json_t *row,
		  struct chart_ratio *out)
{
	const json_t *j = given_at(row, NULL, r->ratio), *v = json_object_get(j, "ratio");
	const char *word = r->word ? given_text(a, row, r->word) : NULL;

	if (!v)
		v = json_object_get(j, "value");
	*out = (struct chart_ratio){ .label = label(a, r, row),
				     .ratio = number(v),
				     .low = number(json_object_get(j, "low")),
				     .high = number(json_object_get(j, "high")),
				     .verdict = word,
				     .style = given_style(word) };
	return out->ratio > 0;
}

static void ratios(struct doc *d, const struct given_ratios *r, const json_t *j)
{
	const json_t *list = given_at(j, NULL, r->path), *row;
	struct chart_ratio *rows = arena_array(d->arena, RATIOS_MAX, sizeof(*rows));
	struct chart_ratios c = { .title = r->title,
				  .left = r->left,
				  .right = r->right,
				  .interval = r->interval,
				  .threshold = NAN,
				  .rows = rows };
	size_t i;

	if (json_is_object(list))
		c.n = ratio(d->arena, r, list, &rows[0]);
	json_array_foreach(list, i, row)
	{
		if (c.n < RATIOS_MAX)
			c.n += ratio(d->arena, r, row, &rows[c.n]);
	}
	chart_add_ratios(d, &c);
}

/* One point is no line; two are. */
static void curve(struct doc *d, const struct given_curve *g, const json_t *j)
{
	const json_t *list = given_at(j, NULL, g->path), *row;
	double *x = arena_array(d->arena, POINTS_MAX, sizeof(*x)),
	       *y = arena_array(d->arena, POINTS_MAX, sizeof(*y));
	struct chart_series *s = ARENA_NEW(d->arena, struct chart_series);
	size_t i, n = 0;

	json_array_foreach(list, i, row)
	{
		if (n == POINTS_MAX)
			break;
		x[n] = number(given_at(row, NULL, g->x));
		y[n] = number(given_at(row, NULL, g->y));
		n += x[n] > 0 && isfinite(y[n]);
	}
	if (n < 2)
		return;
	*s = (struct chart_series){
		.name = g->y_title, .mark = '*', .x = x, .y = y, .n = n, .line = true
	};
	chart_add(d, g->title,
		  &(struct chart){ .x_title = g->x_title,
				   .y_title = g->y_title,
				   .log_x = true,
				   .zero_y = true,
				   .series = s,
				   .n = 1 });
}

void given_charts(struct doc *d, const struct given_kind *k, const json_t *j)
{
	for (size_t i = 0; i < k->n_ratios; i++)
		ratios(d, &k->ratios[i], j);
	if (k->curve.path)
		curve(d, &k->curve, j);
}
