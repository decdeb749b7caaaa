/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found, with its causes and what mends them; what was checked and is fine; what was not
 * tested, and why. The three are kept apart: silence is no good news.
 */

#include "measure/doctor/page_doctor.h"
#include "measure/doctor/rule.h"
#include "base/text.h"
#include "render/shape_page.h"

/* What the fix of a cause is asked for with. */
static struct cell fix_of(struct arena *a, const struct machine *m, const struct examined *x,
			  const struct cause *c)
{
	const struct setting *s = setting_find(c->fix);
	const char *allow =
		s && s->risk == RISK_DANGER ? arena_printf(a, " --allow %s", c->fix) : "";

	return cell_as(STYLE_CODE,
		       s && s->effect != EFFECT_NOW
			       ? machine_command(a, m, true, "apply --only %s%s", c->fix, allow)
			       : machine_command(a, m, true, "doctor %s --fix%s", x->d->id, allow));
}

static struct cell possible_step(struct arena *a, const struct doctor_view *v,
				 const struct cause_result *r)
{
	const char *id = r->c->fix ? r->c->fix : r->c->setting;
	const struct finding *f = id ? finding_of(v->e, id) : NULL;

	if (f && f->v.kind == VERDICT_FAIL && f->s->knob != KNOB_NONE)
		return cell_as(STYLE_CODE, machine_command(a, v->m, true, "apply --only %s", id));
	return cell(r->step);
}

static enum style likelihood_style(enum likelihood l)
{
	static const enum style styles[LIKELIHOODS] = { STYLE_BAD,     STYLE_WARN, STYLE_UNKNOWN,
							STYLE_UNKNOWN, STYLE_GOOD, STYLE_MUTED };

	return styles[l];
}

static void doctor_page_causes(struct doc *d, const struct doctor_view *v, const struct examined *x)
{
	struct node *list = doc_findings(d, NULL);

	for (size_t i = 0; i < x->n; i++) {
		const struct cause_result *r = &x->causes[i];
		const char *step = machine_sentence(d->arena, v->m, r->step);
		bool found = x->state == DOCTOR_FOUND && r->v.likelihood <= CAUSE_LIKELY;

		if (!v->named && !v->all && r->v.likelihood > CAUSE_POSSIBLE)
			break;
		node_found(d, list,
			   &(struct found){ .badge = cell_as(likelihood_style(r->v.likelihood),
							     likelihood_name(r->v.likelihood)),
					    .id = r->c->title,
					    .why = r->v.text,
					    .fix = !found      ? cell(NULL)
						   : r->c->fix ? fix_of(d->arena, v->m, x, r->c)
							       : cell(step) });
		if (found && r->c->fix) {
			node_more(d, list, "by hand", cell(step));
			if (setting_find(r->c->fix)->effect != EFFECT_NOW)
				node_more(d, list, "takes effect",
					  cell(effect_name(setting_find(r->c->fix)->effect)));
		} else if (x->match && r->step && r->v.likelihood <= CAUSE_UNSEEN && !found)
			node_more(d, list, "if it applies", possible_step(d->arena, v, r));
	}
}

/* How well it fits is said of words and lines alone; causes are judged by the machine. */
static void doctor_page_match(struct doc *d, const struct examined *x)
{
	double p = x->match->probability;

	doc_text(d, "Fit to your description: %.0f %% (%s)%s%s.", 100 * p,
		 p >= 0.8   ? "fits well"
		 : p >= 0.5 ? "fits"
			    : "may fit",
		 x->match->line ? "; " : "", x->match->line ? x->match->line : "");
}

static void doctor_page_one(struct doc *d, const struct doctor_view *v, const struct examined *x)
{
	doc_heading(d, 2, x->d->id);
	doc_text(d, "%s: %s.%s", v->named ? "Symptom" : "Typical symptom", x->d->symptom,
		 x->d->normal && x->state == DOCTOR_FOUND ? " This is not a fault." : "");
	if (x->match)
		doctor_page_match(d, x);
	if (x->d->leads)
		doc_text(d, "Answered by: %s.", x->d->leads);
	doctor_page_causes(d, v, x);
	if (x->missing && x->state != DOCTOR_NOT_HERE)
		doc_text(d, "Not visible %s: %s.",
			 v->m->reading ? "in a capture" : "on this machine", x->d->missing);
}

static const char *fix_text(struct arena *a, const struct doctor_view *v,
			    const struct doctor_fix *f)
{
	const char *left = f->left ? arena_printf(a, "; not set: %s", f->left) : "";

	if (f->trouble)
		return arena_printf(a, "%s%s", f->trouble, left);
	return arena_printf(
		a, "%s; %s%s", f->v.says,
		f->kept ? arena_printf(a, "kept: \"%s\" reverts it",
				       machine_command(a, v->m, true, "undo %lu", f->txn))
			: "undone",
		left);
}

/* A likely cause that a fix left; NULL: none. */
static const char *fix_remains(const struct doctor_view *v, const struct doctor_fix *f)
{
	for (size_t i = 0; f->kept && i < v->n; i++)
		if (strcmp(v->items[i].d->id, f->diagnosis) == 0 &&
		    v->items[i].state == DOCTOR_FOUND)
			return v->items[i].causes[0].c->title;
	return NULL;
}

static void fixes(struct doc *d, const struct doctor_view *v)
{
	struct node *t;

	if (!v->n_fixes)
		return;
	t = DOC_TABLE(d, "Fixes", "", "Diagnosis", "~Set", "~Measured again");
	for (size_t i = 0; i < v->n_fixes; i++) {
		const struct doctor_fix *f = &v->fixes[i];
		const char *more = fix_remains(v, f), *text = fix_text(d->arena, v, f);
		bool good = f->measured && f->v.keep && !more;

		NODE_ROW(d, t,
			 cell_as(good ? STYLE_GOOD : STYLE_WARN,
				 !f->measured			? "not applied"
				 : more && f->v.how == FIX_GONE ? "partly fixed"
								: remeasured_name(f->v.how)),
			 cell_as(STYLE_CODE, f->diagnosis), cell_as(STYLE_CODE, f->settings),
			 more ? cellf(d, "%s; still likely: %s", text, more) : cell(text));
	}
}

static void doctor_page_others(struct doc *d, const struct doctor_view *v, enum doctor_state state,
			       const char *title)
{
	bool why = state != DOCTOR_FINE;
	struct node *t = DOC_TABLE(d, title, "Diagnosis", "~Symptom", why ? "~Why" : NULL);

	for (size_t i = 0; i < v->n; i++) {
		struct cell *c;

		if (v->items[i].state != state)
			continue;
		c = NODE_ROW(d, t, cell_as(STYLE_CODE, v->items[i].d->id),
			     cell(v->items[i].d->symptom));
		if (why)
			c[2] = cell(v->items[i].why);
	}
}

static void tests(struct doc *d, const struct doctor_view *v)
{
	const char *why = NULL;
	bool one = true; /* reason for all */
	struct node *table;
	TEXT_AUTO t = { 0 };

	for (unsigned i = 0; i < TESTS; i++) {
		const char *reason = v->e->not_run[i];

		if (!(v->tests & TEST_BIT(i)))
			continue;
		if (!reason) {
			text_printf(&t, "%s%s", t.len ? ", " : "", doctor_tests[i].name);
			continue;
		}
		one = one && (!why || strcmp(reason, why) == 0);
		why = reason;
	}
	if (!t.len && why && one) {
		doc_text(d, "No test ran: %s.", why);
		return;
	}
	table = DOC_TABLE(d, NULL, "Test", "~Reason");
	for (unsigned i = 0; i < TESTS; i++)
		if ((v->tests & TEST_BIT(i)) && v->e->not_run[i])
			NODE_ROW(d, table, cell_as(STYLE_CODE, doctor_tests[i].name),
				 cell(v->e->not_run[i]));
	doc_text(d, t.len ? "Tests that ran: %s." : "No test ran%s.", t.len ? t.s : "");
}

/* Nothing was found, but what was read makes a cause possible. */
static bool is_possible(const struct examined *x)
{
	return x->state == DOCTOR_OPEN && x->n && x->causes[0].v.likelihood == CAUSE_POSSIBLE;
}

static void doctor_page_possible(struct doc *d, const struct doctor_view *v)
{
	struct node *list = NULL;

	for (size_t i = 0; i < v->n && !v->named; i++) {
		const struct cause_result *r = v->items[i].causes;

		if (is_possible(&v->items[i]))
			node_found(d, list = list ? list : doc_findings(d, "Possible causes"),
				   &(struct found){ .badge = cell_as(STYLE_UNKNOWN, "possible"),
						    .id = v->items[i].d->id,
						    .why = arena_printf(d->arena, "%s: %s",
									r->c->title, r->v.text) });
	}
}

/* Each has a reason of its own: with --all. */
static void not_tested(struct doc *d, const struct doctor_view *v)
{
	TEXT_AUTO t = { 0 };
	size_t n = 0;

	if (v->all || v->named) {
		doctor_page_others(d, v, DOCTOR_OPEN, "Not tested, or incomplete");
		return;
	}
	for (size_t i = 0; i < v->n; i++)
		if (v->items[i].state == DOCTOR_OPEN && !is_possible(&v->items[i]))
			text_printf(&t, "%s%s", n++ ? ", " : "", v->items[i].d->id);
	if (n)
		doc_text(d, "Not tested, or incomplete: %s. --all shows why.", t.s);
}

/* A line alone does not say that the defect is here: "defects check" looks. */
static void doctor_page_defects(struct doc *d, const struct doctor_view *v)
{
	struct node *t;

	if (!v->n_defects)
		return;
	t = DOC_TABLE(d, "Known defects with such lines", "Defect", "~What", "~Fix", "~Line");
	for (size_t i = 0; i < v->n_defects; i++)
		NODE_ROW(d, t, cell_as(STYLE_CODE, v->defects[i].id), cell(v->defects[i].title),
			 cell(v->defects[i].fix), cell_as(STYLE_CODE, v->defects[i].line));
	doc_text(d, "\"gputune defects check\" looks for them on the machine.");
}

/* Nothing fits what was said: what there is instead. */
static void doctor_page_unknown(struct doc *d, const struct doctor_view *v)
{
	doc_verdict(d, STYLE_UNKNOWN,
		    v->n_defects ? "No diagnosis fits, but known defects print such lines"
				 : "Not known: no diagnosis fits this description",
		    NULL);
	doctor_page_defects(d, v);
	doc_text(d, "\"gputune doctor\" tests this machine for every known cause.");
	doc_text(d, "Add the first error line of the log (gputune doctor FILE), the program and "
		    "its version.");
	doc_text(d, "To ask elsewhere: \"gputune capture -o FILE.tar\" records this machine "
		    "without serial numbers, addresses and names.");
	doc_text(d, v->count[DOCTOR_FOUND] ? "Also found, perhaps unrelated:"
					   : "Nothing unusual was found.");
	for (size_t i = 0; i < v->n; i++)
		if (v->items[i].state == DOCTOR_FOUND)
			doctor_page_one(d, v, &v->items[i]);
}

/* What check says beside: a setting to fix need not be a symptom. */
static void doctor_page_settings(struct doc *d, const struct doctor_view *v)
{
	const struct finding *first = NULL;
	size_t n = 0;

	for (size_t i = 0; !v->named && !v->m->partial && i < v->e->findings->n; i++) {
		const struct finding *f = &v->e->findings->items[i];

		if (f->v.kind != VERDICT_FAIL)
			continue;
		first = n++ && first->severity >= f->severity ? first : f;
	}
	if (n)
		doc_text(d, "\"%s\" lists %zu setting%s to fix; the first is %s.",
			 machine_command(d->arena, v->m, false, "check"), n, PLURAL(n),
			 first->s->id);
}

/* What holds after the fixes that were kept. */
static struct doctor_view after_fixes(struct arena *a, const struct doctor_view *v)
{
	struct examined *items = arena_array(a, v->n, sizeof(*items));
	struct doctor_view out = *v;

	memset(out.count, 0, sizeof(out.count));
	for (size_t i = 0; i < v->n; i++) {
		items[i] = v->items[i].now ? *v->items[i].now : v->items[i];
		out.count[items[i].state]++;
	}
	out.items = items;
	return out;
}

struct doc *page_doctor(struct arena *a, const struct doctor_view *seen)
{
	const struct doctor_view after = after_fixes(a, seen), *v = &after;
	struct doc *d = doc_new(a);
	const size_t *n = v->count;
	size_t possible = 0, normal = 0;

	for (size_t i = 0; i < v->n; i++) {
		possible += is_possible(&v->items[i]);
		normal += v->items[i].d->normal && v->items[i].state == DOCTOR_FOUND;
	}
	if (v->m->partial && v->named)
		doc_text(d, "Judged by the pasted output alone. Facts that are not "
			    "in the output are unknown.");
	if (v->unknown) {
		doctor_page_unknown(d, v);
		return d;
	}

	doc_verdict(d,
		    n[DOCTOR_FOUND] > normal ? STYLE_BAD
		    : n[DOCTOR_OPEN]	     ? STYLE_UNKNOWN
					     : STYLE_GOOD,
		    arena_printf(
			    a,
			    "%zu found%s%s, %zu checked and OK, %zu not tested, %zu not applicable",
			    n[DOCTOR_FOUND] - normal,
			    normal ? arena_printf(a, ", %zu explained (no fault)", normal) : "",
			    possible ? arena_printf(a, ", %zu possible", possible) : "",
			    n[DOCTOR_FINE], n[DOCTOR_OPEN] - possible, n[DOCTOR_NOT_HERE]),
		    NULL);
	for (size_t i = 0; i < v->n_sources; i++)
		doc_text(d, "Read: %s.", v->sources[i]);
	doctor_page_defects(d, v);
	if (v->n > 1 && v->items[0].match && v->items[1].match &&
	    v->items[0].match->probability < 1.5 * v->items[1].match->probability)
		doc_text(d, "Undecided between %s and %s: both fit equally well.",
			 v->items[0].d->id, v->items[1].d->id);
	for (size_t i = 0; i < v->n; i++)
		if (v->named || v->items[i].state == DOCTOR_FOUND)
			doctor_page_one(d, v, &v->items[i]);
	doctor_page_possible(d, v);
	fixes(d, v);
	doctor_page_settings(d, v);
	not_tested(d, v);
	doctor_page_others(d, v, DOCTOR_FINE, "Checked and OK");
	if (v->all)
		doctor_page_others(d, v, DOCTOR_NOT_HERE, "Not applicable to the machine");
	tests(d, v);
	if (n[DOCTOR_OPEN])
		doc_text(d, "Causes that were not tested are not excluded.");
	return d;
}

struct doc *page_doctor_list(struct arena *a, const struct chosen *all)
{
	struct doc *d = doc_new(a);

	shape_list_table(d, NULL, doctor_list_result.shape, "diagnoses", all);
	return d;
}
