/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a fleet: what differs first, who stands alone, who left the golden machine. */
#include <math.h>
#include <stdlib.h>

#include "many/fleet/fleet.h"
#include "base/text.h"
#include "render/chart.h"
#include "render/figure.h"
#include "render/shape_page.h"

/* A fleet's measurements: who lies far from its peers, how all of them lie, and all machines. */

/* Charts of a page: those with outliers come first; in a terminal only of these. */
enum { CHARTS_HTML = 48, CHARTS_TERM = 3, BENCH_OUTLIERS = 30, NAMED = 400, BENCH_HOSTS = 72 };

static const char *fleet_figure(struct arena *a, double v, const char *unit)
{
	return arena_printf(a, "%s %s", figure_number(a, v), unit);
}

/* Worse ones first, then by how far. */
static int by_distance(const void *a, const void *b)
{
	const struct fleet_value *x = *(const struct fleet_value *const *)a,
				 *y = *(const struct fleet_value *const *)b;
	double p = fabs(x->z), q = fabs(y->z);

	if (x->worse != y->worse)
		return x->worse ? -1 : 1;
	return p > q ? -1 : p < q;
}

static const struct fleet_value **fleet_page_find(struct arena *a, const struct fleet *f, size_t *n)
{
	const struct fleet_value **list = NULL;

	*n = 0;
	for (size_t i = 0; i < f->n_benches; i++)
		for (size_t k = 0; k < f->benches[i]->n && f->benches[i]->n_outliers; k++)
			if (f->benches[i]->by[k]->outlier) {
				ARENA_ADD(a, list, *n) = f->benches[i]->by[k];
			}
	if (*n)
		qsort(list, *n, sizeof(*list), by_distance);
	return list;
}

static void bench_outliers(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	struct arena *a = d->arena;
	size_t n, shown = 0;
	const struct fleet_value **list = fleet_page_find(a, f, &n);
	struct node *t;

	if (!n) {
		doc_text(d, "No machine is an outlier among its peers.");
		return;
	}
	t = DOC_TABLE(d, NULL, "!Machine", "!Measured", ">Here", ">Median of its peers", ">Off by",
		      ">Robust z", "", ">Peers", "~Differs from most peers in", "~Hardware");
	for (; shown < n && (how->all || shown < BENCH_OUTLIERS); shown++) {
		const struct fleet_value *v = list[shown];
		const struct fleet_bench *b = v->bench;
		struct cell *c =
			NODE_ROW(d, t, cell_as(STYLE_STRONG, v->machine->name), cell(b->name),
				 cell_as(v->worse ? STYLE_BAD : STYLE_WARN,
					 fleet_figure(a, v->value, b->unit)),
				 cell(fleet_figure(a, b->median, b->unit)));

		if (b->median != 0)
			c[4] = cellf(d, "%+.1f %%", 100 * (v->value - b->median) / fabs(b->median));
		c[5] = cellf(d, "%+.1f", v->z);
		c[6] = cell_as(v->worse ? STYLE_BAD : STYLE_WARN, v->worse ? "worse" : "better");
		c[7] = cellf(d, "%zu", b->n);
		c[8] = cell(fleet_unusual(a, b, v->machine));
		c[9] = cell_as(STYLE_MUTED, b->hardware);
	}
	node_drop_empty(t);
	if (shown < n)
		doc_text(d, "%zu more; --all shows them.", n - shown);
	doc_text(d, "Outlier: five robust sigmas and three per cent from the median of at "
		    "least five machines with the same CPUs, GPUs, memory and adapters. A robust "
		    "sigma is 1.4826 times the median distance from the median.");
}

static void fleet_page_state(struct doc *d, struct node *t, const struct fleet_bench *b,
			     const struct fleet_state *s, bool all)
{
	struct arena *a = d->arena;
	struct cell *c;

	if (!s->n)
		return;
	c = NODE_ROW(d, t, cell_as(STYLE_STRONG, b->name), cellf(d, "%zu of %zu", s->n, b->n),
		     cell_as(STYLE_WARN, fleet_figure(a, s->median, b->unit)),
		     cell(fleet_figure(a, b->median, b->unit)));
	if (b->median != 0)
		c[4] = cellf(d, "%+.1f %%", 100 * (s->median - b->median) / fabs(b->median));
	c[5] = cell(fleet_hosts(a, s->machines, s->n, all ? 0 : BENCH_HOSTS));
}

/* Too many to stand alone. */
static void fleet_page_states(struct doc *d, const struct fleet *f, bool all)
{
	struct node *t;

	if (!f->n_states)
		return;
	t = DOC_TABLE(d, "Separate groups: too many machines to be outliers", "Measured",
		      ">Machines", ">Around", ">Median of all", ">Off by", "~Which");
	for (size_t i = 0; i < f->n_benches; i++) {
		fleet_page_state(d, t, f->benches[i], &f->benches[i]->below, all);
		fleet_page_state(d, t, f->benches[i], &f->benches[i]->above, all);
	}
}

/* Figures are all that it is about. */
static bool only_measured(const struct fleet *f)
{
	return f->n_benches && f->n_groups == 1 && !fleet_checked(f->groups[0]->machines[0]);
}

/* Between the others and the nearest of a second state. */
static double fleet_page_split_of(const struct fleet_bench *b)
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

static struct chart_spread fleet_page_spread_of(struct arena *a, const struct fleet_bench *b)
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
				  .split = fleet_page_split_of(b),
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

/* Figures that were measured, who lies far from its peers, and how all lie. */
static void page_fleet_benches(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	size_t charts = how->html ? CHARTS_HTML : CHARTS_TERM, drawn = 0;

	if (!f->n_benches)
		return;
	doc_section(d, 2, "benches", "Measurements",
		    cell_printf(d, f->n_bench_outliers ? STYLE_WARN : STYLE_GOOD, "%zu outliers",
				f->n_bench_outliers),
		    true);
	bench_outliers(d, f, how);
	fleet_page_states(d, f, how->all);
	for (size_t i = 0; i < f->n_benches && drawn < charts; i++) {
		struct chart_spread s;

		if (f->benches[i]->n < 2 || (!how->html && !f->benches[i]->n_outliers &&
					     isnan(fleet_page_split_of(f->benches[i]))))
			continue;
		s = fleet_page_spread_of(d->arena, f->benches[i]);
		chart_add_spread(d, &s);
		drawn++;
	}
	if (how->all || only_measured(f))
		shape_list_table(d, "All figures", fleet_result.shape, "benches", f);
	doc_section_end(d);
}

static void page_fleet_machines(struct doc *d, const struct fleet *f)
{
	struct node *t;

	doc_section(d, 2, "machines", "All machines", cellf(d, "%zu", f->n), false);
	t = DOC_TABLE(d, NULL, "Machine", "Platform", ">Group", ">Wrong", ">Unknown", ">Rare",
		      ">Drifted", ">Figures", ">Slow in", ">Fast in");
	for (size_t i = 0; i < f->n; i++) {
		const struct fleet_machine *m = f->machines[i];
		const struct fleet_group *g = m->group;
		struct cell *c = NODE_ROW(
			d, t, cell(m->name), cell(m->platform), cellf(d, "%zu", g->number),
			cell_printf(d, g->n_bad ? STYLE_BAD : STYLE_PLAIN, "%zu", g->n_bad),
			cellf(d, "%zu", g->n_answers - g->n_bad),
			cell_printf(d, m->n_rare ? STYLE_WARN : STYLE_PLAIN, "%zu", m->n_rare));

		if (f->golden)
			c[6] = cell_printf(d, m->drifted ? STYLE_WARN : STYLE_PLAIN, "%zu",
					   m->drifted);
		c[7] = cellf(d, "%zu", m->n_values);
		c[8] = cell_printf(d, m->n_slow ? STYLE_BAD : STYLE_PLAIN, "%zu", m->n_slow);
		c[9] = cellf(d, "%zu", m->n_fast);
	}
	node_drop_empty(t);
	doc_section_end(d);
}

/* Rows and letters that a person reads; --all shows everything. */
enum { GROUPS = 20, ANSWERS = 6, OUTLIERS = 30, REFUSED = 20, HOSTS = 72, LISTED = 12 };

static const char *kind_text(struct arena *a, const struct fleet_subject *s)
{
	return s->kind == FLEET_CHECK || s->kind == FLEET_STACK
		       ? s->id
		       : arena_printf(a, "%s (%s)", s->id, fleet_kinds[s->kind]);
}

static const enum style mark_styles[] = { [FLEET_GOOD] = STYLE_GOOD,
					  [FLEET_NEUTRAL] = STYLE_PLAIN,
					  [FLEET_UNKNOWN] = STYLE_UNKNOWN,
					  [FLEET_BAD] = STYLE_BAD };

static const char *hosts(struct doc *d, const struct fleet_machine *const *m, size_t n,
			 const struct fleet_view *how)
{
	return fleet_hosts(d->arena, m, n, how->all ? 0 : HOSTS);
}

static void left_out(struct doc *d, size_t shown, size_t n, const char *what)
{
	if (shown < n)
		doc_text(d, "%zu more %s; --all shows them.", n - shown, what);
}

/* A section; who opens it ends it. */
static void part(struct doc *d, const char *id, const char *title)
{
	doc_section(d, 2, id, title, cell(NULL), true);
}

static const char *plural(struct arena *a, size_t n, const char *noun)
{
	return arena_printf(a, "%zu %s%s", n, noun, n == 1 ? "" : "s");
}

static void fleet_page_summary(struct doc *d, const struct fleet *f)
{
	struct arena *a = d->arena;
	size_t bad = 0, checked = 0;

	for (size_t i = 0; i < f->n_groups; i++) {
		bad += f->groups[i]->n_bad ? f->groups[i]->n : 0;
		checked += fleet_checked(f->groups[i]->machines[0]) ? f->groups[i]->n : 0;
	}
	if (only_measured(f))
		doc_verdict(d, f->n_bench_outliers ? STYLE_WARN : STYLE_GOOD,
			    f->n_bench_outliers
				    ? arena_printf(a, "%s among %s",
						   plural(a, f->n_bench_outliers, "outlier"),
						   plural(a, f->n, "machine"))
				    : "No machine is an outlier",
			    NULL);
	else if (f->n)
		doc_verdict(d,
			    bad	      ? STYLE_BAD
			    : checked ? STYLE_GOOD
				      : STYLE_UNKNOWN,
			    checked ? arena_printf(a, "%zu of %s %s a fix", bad,
						   plural(a, f->n, "machine"),
						   bad == 1 ? "needs" : "need")
				    : "No machine was checked",
			    NULL);
	doc_text(d,
		 "%s in %s: %s of machines with equal findings, %s that differ between machines, "
		 "%s.",
		 plural(a, f->n, "machine"), plural(a, f->files, "file"),
		 plural(a, f->n_groups, "group"), plural(a, f->n_differs, "setting"),
		 plural(a, f->n_outliers, "outlier"));
	if (f->n_benches)
		doc_text(d, "%s measured; %s far from %s peers in at least one figure.",
			 plural(a, f->n_benches, "figure"),
			 plural(a, f->n_bench_outliers, "machine"),
			 f->n_bench_outliers == 1 ? "its" : "their");
	if (f->replaced)
		doc_text(d,
			 "%s superseded by a newer result of the same machine. Machines with the "
			 "same name count as one.",
			 plural(a, f->replaced, "result"));
}

static const char *group_findings(struct doc *d, const struct fleet_group *g,
				  const struct fleet_view *how)
{
	TEXT_AUTO t = { 0 };

	if (!fleet_checked(g->machines[0]))
		return "not checked";
	if (!g->n_answers)
		return "no findings";
	for (size_t i = 0; i < g->n_answers; i++) {
		if (i == LISTED && !how->all) {
			text_printf(&t, " and %zu more", g->n_answers - i);
			break;
		}
		text_printf(&t, "%s%s%s", i ? ", " : "",
			    kind_text(d->arena, g->answers[i]->subject),
			    g->answers[i]->mark == FLEET_UNKNOWN ? " (unknown)" : "");
	}
	return arena_strdup(d->arena, t.s);
}

static void groups(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	struct node *t;
	size_t shown = 0;

	part(d, "groups", "Groups of equal findings");
	t = DOC_TABLE(d, NULL, ">Group", ">Machines", ">Wrong", ">Unknown", "~Which", "~Findings");
	for (; shown < f->n_groups && (how->all || shown < GROUPS); shown++) {
		const struct fleet_group *g = f->groups[shown];

		NODE_ROW(d, t, cell_printf(d, STYLE_STRONG, "%zu", g->number),
			 cellf(d, "%zu", g->n),
			 cell_printf(d, g->n_bad ? STYLE_BAD : STYLE_GOOD, "%zu", g->n_bad),
			 cellf(d, "%zu", g->n_answers - g->n_bad),
			 cell(hosts(d, g->machines, g->n, how)), cell(group_findings(d, g, how)));
	}
	left_out(d, shown, f->n_groups, "groups");
	doc_section_end(d);
}

/* Most frequent first; of many answers the first few. Rows that can be sorted all have a name. */
static void difference(struct doc *d, struct node *t, const struct fleet_subject *s,
		       const struct fleet_view *how)
{
	size_t shown = 0, rest = 0;
	struct cell *c;

	for (size_t i = 0; i < s->n_answers; i++) {
		const struct fleet_answer *an = s->answers[i];

		if (!an->count)
			continue;
		if (shown == ANSWERS && !how->all) {
			rest += an->count;
			continue;
		}
		c = node_row(d, t);
		c[0] = cell_as(STYLE_STRONG, shown++ && !how->html ? "" : kind_text(d->arena, s));
		c[1] = cellf(d, "%zu", an->count);
		c[2] = cell_as(mark_styles[an->mark], an->text);
		c[3] = cell(hosts(d, an->by, an->n_by, how));
	}
	if (rest)
		NODE_ROW(d, t, cell_as(STYLE_STRONG, how->html ? kind_text(d->arena, s) : ""),
			 cellf(d, "%zu", rest), cell_as(STYLE_MUTED, "rare answers"));
	if (s->silent)
		NODE_ROW(d, t, cell_as(STYLE_STRONG, how->html ? kind_text(d->arena, s) : ""),
			 cellf(d, "%zu", s->silent), cell_as(STYLE_MUTED, "no value"));
}

static void differences(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	struct node *t;

	part(d, "differences", "What differs");
	if (!f->n_differs && !f->n_between) {
		doc_text(d, "No differences.");
		doc_section_end(d);
		return;
	}
	if (f->n_between && !how->between)
		doc_text(d, "%s only between platforms; --all also shows these.",
			 plural(d->arena, f->n_between, "difference"));
	t = DOC_TABLE(d, NULL, "Setting", ">Machines", "~Answer", "~Which");
	for (size_t s = 0; s < f->n_subjects; s++)
		if (f->subjects[s]->differs || (how->between && f->subjects[s]->between))
			difference(d, t, f->subjects[s], how);
	doc_section_end(d);
}

static int by_rarity(const void *a, const void *b)
{
	const struct fleet_machine *x = *(const struct fleet_machine *const *)a,
				   *y = *(const struct fleet_machine *const *)b;

	if (x->n_rare != y->n_rare)
		return x->n_rare < y->n_rare ? 1 : -1;
	return str_natural(x->name, y->name);
}

static void outliers(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	const struct fleet_machine **list = arena_array(d->arena, f->n_outliers, sizeof(*list));
	struct node *t;
	size_t n = 0, shown;

	if (!f->n_outliers)
		return;
	for (size_t i = 0; i < f->n; i++)
		if (f->machines[i]->n_rare)
			list[n++] = f->machines[i];
	qsort(list, n, sizeof(*list), by_rarity);
	part(d, "outliers", "Outliers");
	t = DOC_TABLE(d, NULL, "!Machine", "!Setting", "~Here", "~Among its peers");
	for (shown = 0; shown < n && (how->all || shown < OUTLIERS); shown++)
		for (size_t i = 0; i < list[shown]->n_rare; i++) {
			const struct fleet_rare *r = &list[shown]->rare[i];

			if (i == LISTED && !how->all)
				break;
			NODE_ROW(d, t,
				 cell_as(STYLE_STRONG, i && !how->html ? "" : list[shown]->name),
				 cell(kind_text(d->arena, r->answer->subject)),
				 cell_as(mark_styles[r->answer->mark], r->answer->text),
				 cellf(d, "%s", r->usual->text));
		}
	left_out(d, shown, n, "outliers");
	doc_section_end(d);
}

static void drift(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	const struct fleet_drift *list;
	struct node *t;
	size_t n;

	if (!f->golden)
		return;
	part(d, "drift", arena_printf(d->arena, "Drift from %s", f->golden->name));
	if (!f->n_drifted) {
		doc_text(d, "All machines match the golden machine.");
		doc_section_end(d);
		return;
	}
	doc_text(d, "%s differ from the golden machine.",
		 plural(d->arena, f->n_drifted, "machine"));
	list = fleet_drifts(d->arena, f, &n);
	t = DOC_TABLE(d, NULL, "Setting", "~Golden", "~Here", ">Machines", "~Which");
	for (size_t i = 0; i < n; i++)
		NODE_ROW(d, t, cell_as(STYLE_STRONG, kind_text(d->arena, list[i].subject)),
			 list[i].golden ? cell(list[i].golden->text)
					: cell_as(STYLE_MUTED, "no value"),
			 cell_as(mark_styles[list[i].here->mark], list[i].here->text),
			 cellf(d, "%zu", list[i].here->n_by),
			 cell(hosts(d, list[i].here->by, list[i].here->n_by, how)));
	doc_section_end(d);
}

/* "+3.1 %" or "-1.0 to +3.1 %". */
static const char *range_text(struct arena *a, const struct fleet_proof *p)
{
	double least = 100 * (p->least - 1), most = 100 * (p->most - 1);

	return p->n == 1 ? arena_printf(a, "%+.1f %%", least)
			 : arena_printf(a, "%+.1f to %+.1f %%", least, most);
}

static const char *provers_text(struct arena *a, const struct fleet_proof *p, enum ruling_kind kind,
				bool all)
{
	TEXT_AUTO t = { 0 };
	size_t shown = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->by[i]->kind != kind)
			continue;
		if (shown++ < LISTED || all)
			text_printf(&t, "%s%s", t.len ? ", " : "", p->by[i]->name);
	}
	if (shown > LISTED && !all)
		text_printf(&t, " and %zu more", shown - LISTED);
	return arena_strdup(a, t.s ? t.s : "");
}

static void proofs(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	struct node *t;

	if (!f->n_proofs)
		return;
	part(d, "proofs", "A/B tests");
	t = DOC_TABLE(d, NULL, "Setting", "~Measured on", ">Helps", ">Hurts", ">No difference",
		      ">Undecided", "Effect", "~Hurts on");
	for (size_t i = 0; i < f->n_proofs; i++) {
		const struct fleet_proof *p = f->proofs[i];
		struct cell *c = NODE_ROW(d, t, cell_as(STYLE_CODE, p->setting), cell(p->on));

		for (int k = 0; k < FLEET_VERDICTS; k++)
			c[2 + k] = cell_printf(d,
					       RULING_HELPS + k == RULING_HURTS && p->count[k]
						       ? STYLE_BAD
						       : STYLE_PLAIN,
					       "%zu", p->count[k]);
		c[6] = cell(range_text(d->arena, p));
		c[7] = cell(provers_text(d->arena, p, RULING_HURTS, how->all));
	}
	doc_text(d, "The newest verdict of each machine and target counts; \"gputune check\" on "
		    "that machine shows whether the verdict still applies.");
	doc_section_end(d);
}

static void fleet_page_refused(struct doc *d, const struct fleet *f)
{
	struct node *t;

	if (!f->n_refused)
		return;
	part(d, "unreadable", "Unreadable");
	t = DOC_TABLE(d, NULL, "File", "~Why");
	for (size_t i = 0; i < f->n_refused && i < REFUSED; i++)
		NODE_ROW(d, t, cell(f->refused[i].file), cell(f->refused[i].why));
	if (f->n_refused > REFUSED)
		doc_text(d, "%zu more files.", f->n_refused - REFUSED);
	doc_section_end(d);
}

struct doc *page_fleet(struct arena *a, const struct fleet *f, const struct fleet_view *how)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Fleet");
	d->tools = how->html;
	if (f->n || !f->n_proofs)
		fleet_page_summary(d, f);
	else
		doc_text(d, "%s in %s.", plural(a, f->verdicts, "verdict"),
			 plural(a, f->files, "ledger"));
	if (f->n) {
		if (!only_measured(f))
			groups(d, f, how);
		if (f->n > 1)
			differences(d, f, how);
		outliers(d, f, how);
		page_fleet_benches(d, f, how);
		drift(d, f, how);
	}
	proofs(d, f, how);
	if (f->n && how->html)
		page_fleet_machines(d, f);
	fleet_page_refused(d, f);
	return d;
}
