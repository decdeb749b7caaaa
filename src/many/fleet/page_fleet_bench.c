/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet's measurements: who lies far from its peers, how all of them lie, and all machines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/chart.h"
#include "render/figure.h"
#include "many/fleet/page_fleet.h"
#include "render/svg_chart.h"

/* Charts of a page: those with outliers come first; in a terminal only of these. */
enum { CHARTS_HTML = 48, CHARTS_TERM = 3, OUTLIERS = 30, NAMED = 400, HOSTS = 72 };

static const char *fleet_figure(struct arena *a, double v, const char *unit)
{
	return arena_printf(a, "%s %s", figure_number(a, v), unit);
}

struct found {
	const struct fleet_bench *bench;
	const struct fleet_value *value;
};

/* Worse ones first, then by how far. */
static int by_distance(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	double p = fabs(x->value->z), q = fabs(y->value->z);

	if (x->value->worse != y->value->worse)
		return x->value->worse ? -1 : 1;
	return p > q ? -1 : p < q;
}

static struct found *find(struct arena *a, const struct fleet *f, size_t *n)
{
	struct found *list = NULL;

	*n = 0;
	for (size_t i = 0; i < f->n_benches; i++)
		for (size_t k = 0; k < f->benches[i]->n && f->benches[i]->n_outliers; k++)
			if (f->benches[i]->by[k]->outlier) {
				list = arena_grow(a, list, *n, sizeof(*list));
				list[(*n)++] =
					(struct found){ f->benches[i], f->benches[i]->by[k] };
			}
	if (*n)
		qsort(list, *n, sizeof(*list), by_distance);
	return list;
}

static void outliers(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	static const struct column columns[] = {
		{ .title = "Machine" },
		{ .title = "Measured" },
		{ .title = "Here", .right = true },
		{ .title = "Median of its peers", .right = true },
		{ .title = "Off by", .right = true },
		{ .title = "Robust z", .right = true },
		{ .title = "" },
		{ .title = "Peers", .right = true },
		{ .title = "Unlike most of them", .wrap = true },
		{ .title = "Hardware", .wrap = true },
	};
	struct arena *a = d->arena;
	size_t n, shown = 0;
	struct found *list = find(a, f, &n);
	struct node *t;

	if (!n) {
		doc_text(d, "No machine lies far from its peers.");
		return;
	}
	t = doc_table(d, NULL, columns, 10);
	for (; shown < n && (how->all || shown < OUTLIERS); shown++) {
		const struct fleet_bench *b = list[shown].bench;
		const struct fleet_value *v = list[shown].value;
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_STRONG, v->machine->name);
		c[1] = cell(b->name);
		c[2] = cell_as(v->worse ? STYLE_BAD : STYLE_WARN,
			       fleet_figure(a, v->value, b->unit));
		c[3] = cell(fleet_figure(a, b->median, b->unit));
		if (b->median != 0)
			c[4] = cell_printf(d, STYLE_PLAIN, "%+.1f %%",
					   100 * (v->value - b->median) / fabs(b->median));
		c[5] = cell_printf(d, STYLE_PLAIN, "%+.1f", v->z);
		c[6] = cell_as(v->worse ? STYLE_BAD : STYLE_WARN, v->worse ? "worse" : "better");
		c[7] = cell_printf(d, STYLE_PLAIN, "%zu", b->n);
		c[8] = cell(fleet_unusual(a, b, v->machine));
		c[9] = cell_as(STYLE_MUTED, b->hardware);
	}
	node_drop_empty(t);
	if (shown < n)
		doc_text(d, "%zu more; --all shows them.", n - shown);
	doc_text(d,
		 "Far: five robust sigmas (1.4826 times the median distance from the median) and "
		 "three per cent from the median of machines with the same hardware (processors, "
		 "GPUs, "
		 "memory, adapters), of which "
		 "there must be five.");
}

static void state(struct doc *d, struct node *t, const struct fleet_bench *b,
		  const struct fleet_state *s, bool all)
{
	struct arena *a = d->arena;
	struct cell *c;

	if (!s->n)
		return;
	c = node_row(d, t);
	c[0] = cell_as(STYLE_STRONG, b->name);
	c[1] = cell_printf(d, STYLE_PLAIN, "%zu of %zu", s->n, b->n);
	c[2] = cell_as(STYLE_WARN, fleet_figure(a, s->median, b->unit));
	c[3] = cell(fleet_figure(a, b->median, b->unit));
	if (b->median != 0)
		c[4] = cell_printf(d, STYLE_PLAIN, "%+.1f %%",
				   100 * (s->median - b->median) / fabs(b->median));
	c[5] = cell(fleet_hosts(a, s->machines, s->n, all ? 0 : HOSTS));
}

/* Too many to stand alone. */
static void states(struct doc *d, const struct fleet *f, bool all)
{
	static const struct column columns[] = {
		{ .title = "Measured" },
		{ .title = "Machines", .right = true },
		{ .title = "Around", .right = true },
		{ .title = "Median of all", .right = true },
		{ .title = "Off by", .right = true },
		{ .title = "Which", .wrap = true },
	};
	struct node *t;

	if (!f->n_states)
		return;
	t = doc_table(d, "In a state of their own: too many to stand alone", columns, 6);
	for (size_t i = 0; i < f->n_benches; i++) {
		state(d, t, f->benches[i], &f->benches[i]->below, all);
		state(d, t, f->benches[i], &f->benches[i]->above, all);
	}
}

/* Between the others and the nearest of a second state. */
static double split_of(const struct fleet_bench *b)
{
	const struct fleet_state *s = b->below.n >= b->above.n ? &b->below : &b->above;
	double edge = s == &b->below ? INFINITY : -INFINITY;

	if (!s->n)
		return NAN;
	for (size_t i = 0; i < b->n; i++) {
		double v = b->by[i]->value;

		if (!b->by[i]->second && s == &b->below && v > s->nearest)
			edge = fmin(edge, v);
		if (!b->by[i]->second && s == &b->above && v < s->nearest)
			edge = fmax(edge, v);
	}
	return (edge + s->nearest) / 2;
}

static struct chart_spread spread_of(struct arena *a, const struct fleet_bench *b)
{
	double *x = arena_array(a, b->n, sizeof(*x));
	size_t most = b->n_outliers < NAMED ? b->n_outliers : NAMED;
	struct chart_named *named = arena_array(a, most, sizeof(*named));
	struct chart_spread s = { .title = arena_printf(a, "%s: %zu machines with %s", b->name,
							b->n, b->hardware),
				  .unit = b->unit,
				  .what = "machines",
				  .x = x,
				  .n = b->n,
				  .median = b->median,
				  .low = NAN,
				  .high = NAN,
				  .split = split_of(b),
				  .limit = { NAN, NAN, NULL },
				  .band = { NAN, NAN, NULL },
				  .named = named };

	for (size_t i = 0; i < b->n; i++) {
		const struct fleet_value *v = b->by[i];

		x[i] = v->value;
		if (v->outlier && s.n_named < most)
			named[s.n_named++] =
				(struct chart_named){ v->value, v->machine->name,
						      v->worse ? STYLE_BAD : STYLE_WARN };
	}
	return s;
}

static void all_benches(struct doc *d, const struct fleet *f)
{
	static const struct column columns[] = {
		{ .title = "Measured" },
		{ .title = "Machines", .right = true },
		{ .title = "Median", .right = true },
		{ .title = "MAD", .right = true },
		{ .title = "Far off", .right = true },
		{ .title = "Hardware", .wrap = true },
	};
	struct node *t = doc_table(d, "All figures", columns, 6);

	for (size_t i = 0; i < f->n_benches; i++) {
		const struct fleet_bench *b = f->benches[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_STRONG, b->name);
		c[1] = cell_printf(d, STYLE_PLAIN, "%zu", b->n);
		c[2] = cell(fleet_figure(d->arena, b->median, b->unit));
		c[3] = cell(fleet_figure(d->arena, b->mad, b->unit));
		c[4] = cell_printf(d, b->n_outliers ? STYLE_WARN : STYLE_PLAIN, "%zu",
				   b->n_outliers);
		c[5] = cell_as(STYLE_MUTED, b->hardware);
	}
}

void page_fleet_benches(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	size_t charts = how->html ? CHARTS_HTML : CHARTS_TERM, drawn = 0;

	if (!f->n_benches)
		return;
	doc_section(d, 2, "benches", "What was measured",
		    cell_printf(d, f->n_bench_outliers ? STYLE_WARN : STYLE_GOOD, "%zu far off",
				f->n_bench_outliers),
		    true);
	outliers(d, f, how);
	states(d, f, how->all);
	for (size_t i = 0; i < f->n_benches && drawn < charts; i++) {
		struct chart_spread s;

		if (f->benches[i]->n < 2 ||
		    (!how->html && !f->benches[i]->n_outliers && isnan(split_of(f->benches[i]))))
			continue;
		s = spread_of(d->arena, f->benches[i]);
		chart_add_spread(d, &s);
		drawn++;
	}
	if (how->all)
		all_benches(d, f);
	doc_section_end(d);
}

void page_fleet_machines(struct doc *d, const struct fleet *f)
{
	static const struct column columns[] = {
		{ .title = "Machine" },
		{ .title = "Platform" },
		{ .title = "Group", .right = true },
		{ .title = "Wrong", .right = true },
		{ .title = "Unknown", .right = true },
		{ .title = "Rare", .right = true },
		{ .title = "Drifted", .right = true },
		{ .title = "Figures", .right = true },
		{ .title = "Slow in", .right = true },
		{ .title = "Fast in", .right = true },
	};
	struct node *t;

	doc_section(d, 2, "machines", "All machines", cell_printf(d, STYLE_PLAIN, "%zu", f->n),
		    false);
	t = doc_table(d, NULL, columns, 10);
	for (size_t i = 0; i < f->n; i++) {
		const struct fleet_machine *m = f->machines[i];
		const struct fleet_group *g = m->group;
		struct cell *c = node_row(d, t);

		c[0] = cell(m->name);
		c[1] = cell(m->platform);
		c[2] = cell_printf(d, STYLE_PLAIN, "%zu", g->number);
		c[3] = cell_printf(d, g->n_bad ? STYLE_BAD : STYLE_PLAIN, "%zu", g->n_bad);
		c[4] = cell_printf(d, STYLE_PLAIN, "%zu", g->n_answers - g->n_bad);
		c[5] = cell_printf(d, m->n_rare ? STYLE_WARN : STYLE_PLAIN, "%zu", m->n_rare);
		if (f->golden)
			c[6] = cell_printf(d, m->drifted ? STYLE_WARN : STYLE_PLAIN, "%zu",
					   m->drifted);
		c[7] = cell_printf(d, STYLE_PLAIN, "%zu", m->n_values);
		c[8] = cell_printf(d, m->n_slow ? STYLE_BAD : STYLE_PLAIN, "%zu", m->n_slow);
		c[9] = cell_printf(d, STYLE_PLAIN, "%zu", m->n_fast);
	}
	node_drop_empty(t);
	doc_section_end(d);
}
