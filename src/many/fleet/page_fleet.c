/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a fleet: what differs first, who stands alone, who left the golden machine. */
#include "many/fleet/page_fleet.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Rows and letters that a person reads; --all shows everything. */
enum { GROUPS = 20, ANSWERS = 6, OUTLIERS = 30, REFUSED = 20, HOSTS = 72, LISTED = 12 };

static const char *kind_text(struct arena *a, const struct fleet_subject *s)
{
	switch (s->kind) {
	case FLEET_STATUS:
		return arena_printf(a, "%s (status)", s->id);
	case FLEET_VERIFY:
		return arena_printf(a, "%s (verify)", s->id);
	case FLEET_HOST:
		return arena_printf(a, "%s (host)", s->id);
	default:
		return s->id;
	}
}

static enum style mark_style(enum fleet_mark m)
{
	static const enum style styles[] = { [FLEET_GOOD] = STYLE_GOOD,
					     [FLEET_NEUTRAL] = STYLE_PLAIN,
					     [FLEET_UNKNOWN] = STYLE_UNKNOWN,
					     [FLEET_BAD] = STYLE_BAD };

	return styles[m];
}

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

static const char *plural_verb(struct arena *a, size_t n)
{
	return arena_printf(a, n == 1 ? "%zu setting differs" : "%zu settings differ", n);
}

static void summary(struct doc *d, const struct fleet *f)
{
	struct arena *a = d->arena;

	doc_text(d, "%s in %s: %s of equal findings, %s that differ, %s.",
		 plural(a, f->n, "machine"), plural(a, f->files, "file"),
		 plural(a, f->n_groups, "group"), plural(a, f->n_differs, "setting"),
		 plural(a, f->n_outliers, "outlier"));
	if (f->n_benches)
		doc_text(d, "%s measured; %s far from %s peers in some.",
			 plural(a, f->n_benches, "figure"),
			 arena_printf(a,
				      f->n_bench_outliers == 1 ? "%zu machine lies"
							       : "%zu machines lie",
				      f->n_bench_outliers),
			 f->n_bench_outliers == 1 ? "its" : "their");
	if (f->replaced)
		doc_text(d,
			 "%s of a machine that has a newer one: the newest counts. Machines of "
			 "one name look like one machine.",
			 plural(a, f->replaced, "result"));
}

static const char *group_findings(struct doc *d, const struct fleet_group *g,
				  const struct fleet_view *how)
{
	TEXT_AUTO t = { 0 };

	if (!fleet_checked(g->machines[0]))
		return "not checked";
	if (!g->n_answers)
		return "nothing to be found";
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
	static const struct column columns[] = {
		{ .title = "Group", .right = true }, { .title = "Machines", .right = true },
		{ .title = "Wrong", .right = true }, { .title = "Unknown", .right = true },
		{ .title = "Which", .wrap = true },  { .title = "Findings", .wrap = true },
	};
	struct node *t;
	size_t shown = 0;

	part(d, "groups", "Groups of equal findings");
	t = doc_table(d, NULL, columns, 6);
	for (; shown < f->n_groups && (how->all || shown < GROUPS); shown++) {
		const struct fleet_group *g = f->groups[shown];
		struct cell *c = node_row(d, t);

		c[0] = cell_printf(d, STYLE_STRONG, "%zu", g->number);
		c[1] = cell_printf(d, STYLE_PLAIN, "%zu", g->n);
		c[2] = cell_printf(d, g->n_bad ? STYLE_BAD : STYLE_GOOD, "%zu", g->n_bad);
		c[3] = cell_printf(d, STYLE_PLAIN, "%zu", g->n_answers - g->n_bad);
		c[4] = cell(hosts(d, g->machines, g->n, how));
		c[5] = cell(group_findings(d, g, how));
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
		c[1] = cell_printf(d, STYLE_PLAIN, "%zu", an->count);
		c[2] = cell_as(mark_style(an->mark), an->text);
		c[3] = cell(hosts(d, an->by, an->n_by, how));
	}
	if (rest) {
		c = node_row(d, t);
		c[0] = cell_as(STYLE_STRONG, how->html ? kind_text(d->arena, s) : "");
		c[1] = cell_printf(d, STYLE_PLAIN, "%zu", rest);
		c[2] = cell_as(STYLE_MUTED, "other answers");
	}
	if (s->silent) {
		c = node_row(d, t);
		c[0] = cell_as(STYLE_STRONG, how->html ? kind_text(d->arena, s) : "");
		c[1] = cell_printf(d, STYLE_PLAIN, "%zu", s->silent);
		c[2] = cell_as(STYLE_MUTED, "say nothing of it");
	}
}

static void differences(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	static const struct column columns[] = {
		{ .title = "Setting" },
		{ .title = "Machines", .right = true },
		{ .title = "Answer", .wrap = true },
		{ .title = "Which", .wrap = true },
	};
	struct node *t;

	part(d, "differences", "What differs");
	if (!f->n_differs && !f->n_between) {
		doc_text(d, "Nothing: all machines say the same.");
		doc_section_end(d);
		return;
	}
	if (f->n_between && !how->between)
		doc_text(d, "%s only between platforms; --all shows them.",
			 plural_verb(d->arena, f->n_between));
	t = doc_table(d, NULL, columns, 4);
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
	static const struct column columns[] = {
		{ .title = "Machine" },
		{ .title = "Setting" },
		{ .title = "Here", .wrap = true },
		{ .title = "Among its peers", .wrap = true },
	};
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
	t = doc_table(d, NULL, columns, 4);
	for (shown = 0; shown < n && (how->all || shown < OUTLIERS); shown++)
		for (size_t i = 0; i < list[shown]->n_rare; i++) {
			const struct fleet_rare *r = &list[shown]->rare[i];
			struct cell *c;

			if (i == LISTED && !how->all)
				break;
			c = node_row(d, t);
			c[0] = cell_as(STYLE_STRONG, i && !how->html ? "" : list[shown]->name);
			c[1] = cell(kind_text(d->arena, r->answer->subject));
			c[2] = cell_as(mark_style(r->answer->mark), r->answer->text);
			c[3] = cell_printf(d, STYLE_PLAIN, "%s", r->usual->text);
		}
	left_out(d, shown, n, "outliers");
	doc_section_end(d);
}

static void drift_row(struct doc *d, struct node *t, const struct fleet_subject *s,
		      const struct fleet_answer *wanted, const struct fleet_answer *here,
		      const struct fleet_view *how)
{
	struct cell *c = node_row(d, t);

	c[0] = cell_as(STYLE_STRONG, kind_text(d->arena, s));
	c[1] = wanted ? cell(wanted->text) : cell_as(STYLE_MUTED, "says nothing of it");
	c[2] = cell_as(mark_style(here->mark), here->text);
	c[3] = cell_printf(d, STYLE_PLAIN, "%zu", here->n_by);
	c[4] = cell(hosts(d, here->by, here->n_by, how));
}

static void drift(struct doc *d, const struct fleet *f, const struct fleet_view *how)
{
	static const struct column columns[] = {
		{ .title = "Setting" },
		{ .title = "Golden", .wrap = true },
		{ .title = "Here", .wrap = true },
		{ .title = "Machines", .right = true },
		{ .title = "Which", .wrap = true },
	};
	struct node *t;

	if (!f->golden)
		return;
	part(d, "drift", arena_printf(d->arena, "Drift from %s", f->golden->name));
	if (!f->n_drifted) {
		doc_text(d, "None: all machines say what the golden one says.");
		doc_section_end(d);
		return;
	}
	doc_text(d, "%s differ from it.", plural(d->arena, f->n_drifted, "machine"));
	t = doc_table(d, NULL, columns, 5);
	for (size_t s = 0; s < f->n_subjects; s++) {
		const struct fleet_subject *it = f->subjects[s];
		const struct fleet_answer *wanted = fleet_answer_of(f->golden, it);

		if (it->kind != FLEET_HOST && !f->golden->times[it->kind])
			continue;
		for (size_t i = 0; i < it->n_answers; i++)
			if (it->answers[i] != wanted && it->answers[i]->n_by)
				drift_row(d, t, it, wanted, it->answers[i], how);
	}
	doc_section_end(d);
}

/* "+3.1 %" or "-1.0 to +3.1 %". */
static const char *range_text(struct arena *a, const struct fleet_proof *p)
{
	double least = 100 * (p->least - 1), most = 100 * (p->most - 1);

	return p->n == 1 ? arena_printf(a, "%+.1f %%", least)
			 : arena_printf(a, "%+.1f to %+.1f %%", least, most);
}

static const char *who_says(struct arena *a, const struct fleet_proof *p,
			    enum fleet_verdict_kind kind, bool all)
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
	static const struct column columns[] = {
		{ .title = "Setting" },
		{ .title = "Measured on", .wrap = true },
		{ .title = "Helps", .right = true },
		{ .title = "Hurts", .right = true },
		{ .title = "No difference", .right = true },
		{ .title = "Undecided", .right = true },
		{ .title = "Effect" },
		{ .title = "Hurts on", .wrap = true },
	};
	struct node *t;

	if (!f->n_proofs)
		return;
	part(d, "proofs", "What was proven");
	t = doc_table(d, NULL, columns, 8);
	for (size_t i = 0; i < f->n_proofs; i++) {
		const struct fleet_proof *p = f->proofs[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_CODE, p->setting);
		c[1] = cell(p->on);
		for (int k = 0; k < FLEET_VERDICTS; k++)
			c[2 + k] = cell_printf(
				d, k == FLEET_HURTS && p->count[k] ? STYLE_BAD : STYLE_PLAIN, "%zu",
				p->count[k]);
		c[6] = cell(range_text(d->arena, p));
		c[7] = cell(who_says(d->arena, p, FLEET_HURTS, how->all));
	}
	doc_text(d, "The newest verdict of each machine and target counts; whether it still holds "
		    "there, its own check says.");
	doc_section_end(d);
}

static void refused(struct doc *d, const struct fleet *f)
{
	static const struct column columns[] = { { .title = "File" },
						 { .title = "Why", .wrap = true } };
	struct node *t;

	if (!f->n_refused)
		return;
	part(d, "unreadable", "Could not be read");
	t = doc_table(d, NULL, columns, 2);
	for (size_t i = 0; i < f->n_refused && i < REFUSED; i++) {
		struct cell *c = node_row(d, t);

		c[0] = cell(f->refused[i].file);
		c[1] = cell(f->refused[i].why);
	}
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
		summary(d, f);
	else
		doc_text(d, "%s in %s.", plural(a, f->verdicts, "verdict"),
			 plural(a, f->files, "ledger"));
	if (f->n) {
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
	refused(d, f);
	return d;
}
