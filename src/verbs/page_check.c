/* SPDX-License-Identifier: Apache-2.0 */
/* What holds the machine back, in as few lines as it takes. */
#include <string.h>

#include "base/text.h"
#include "machine/host/boot_menu.h"
#include "measure/prove/ledger_view.h"
#include "verbs/page_check.h"
#include "knowledge/health.h"
#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "look/settings/vendor.h"
#include "render/figure.h"
#include "tune/persist/persist.h"

struct cell severity_cell(enum severity s)
{
	return cell_as(s >= SEVERITY_HIGH ? STYLE_BAD : STYLE_WARN, severity_name(s));
}

static enum style check_page_severity_style(const struct finding *f)
{
	if (f->v.kind == VERDICT_PASS)
		return STYLE_GOOD;
	if (f->v.kind == VERDICT_NA)
		return STYLE_MUTED;
	if (f->v.kind == VERDICT_UNKNOWN)
		return STYLE_UNKNOWN;
	return severity_cell(f->severity).style;
}

/* One word that says both what it is and how much it matters. */
static const char *check_page_mark(const struct finding *f)
{
	switch (f->v.kind) {
	case VERDICT_FAIL:
		return severity_name(f->severity);
	case VERDICT_UNKNOWN:
		return "unknown";
	case VERDICT_NA:
		return "n/a";
	default:
		return "ok";
	}
}

/* Long lists of targets end in a count: the full list is in the JSON. */
const char *finding_targets(struct arena *a, const struct finding *f)
{
	enum { SHOWN = 2 };

	if (f->n_targets <= SHOWN + 1 || strlen(f->target) <= 24)
		return f->target;
	return arena_printf(a, "%s %s +%zu", f->targets[0], f->targets[1], f->n_targets - SHOWN);
}

/* "no lock: SM 345 MHz" says more than "is X, wanted Y", which stands before it already. */
const char *finding_reason(const struct finding *f)
{
	if (f->v.kind == VERDICT_FAIL && str_starts(f->v.reason, "is "))
		return f->v.why;
	return f->v.kind == VERDICT_PASS ? NULL : *f->v.reason ? f->v.reason : f->v.why;
}

static bool shown(const struct finding *f, const struct check_view *how)
{
	return how->all || f->v.disagree || f->v.kind == VERDICT_FAIL ||
	       f->v.kind == VERDICT_UNKNOWN;
}

/* "gputune VERB --only ID", with the profile that wants it. */
static struct cell command(struct arena *a, const struct machine *m, const struct profile *p,
			   const char *verb, const char *id, const char *more)
{
	bool named = strcmp(p->name, "default") != 0;

	return cell_as(STYLE_CODE,
		       machine_command(a, m, true, "%s%s%s --only %s%s", verb,
				       named ? " --profile " : "", named ? p->name : "", id, more));
}

/* What a person types, or does, about a finding. */
static struct cell finding_fix(struct arena *a, const struct machine *m, const struct profile *p,
			       const struct finding *f, const struct plan *plan)
{
	const char *maker = boot_menu_maker(boot_menu_parse(fact_text(&m->config.boot_menu, "")));
	const struct change *refused = NULL;
	const char *id = f->s->id;

	if (f->v.kind == VERDICT_UNKNOWN &&
	    (strcmp(f->v.code, CODE_DENIED) != 0 || fact_or(&m->euid, 1) != 0))
		return command(a, m, p, "check", id, "");
	if (f->v.kind != VERDICT_FAIL)
		return cell(NULL);
	for (size_t i = 0; plan && i < plan->n; i++) {
		if (plan->changes[i].s != f->s)
			continue;
		if (!plan->changes[i].gate)
			return command(a, m, p, "apply", id, "");
		refused = refused ? refused : &plan->changes[i];
	}
	if (refused && gate_can_be_lifted(refused->gate))
		return command(a, m, p, "apply", id, arena_printf(a, " --allow %s", id));
	for (size_t i = 0; plan && !refused && i < plan->n_advice; i++)
		if (plan->advice[i].finding->s == f->s)
			return cell(machine_sentence(a, m, plan->advice[i].sentence));
	if (plan && !refused && f->s->knob == KNOB_BOOTARG)
		return cell(maker ? arena_printf(a, "already set: run %s, then reboot", maker)
				  : "already set: reboot");
	return refused ? cell(refused->refusal)
		       : cell_as(STYLE_CODE, machine_command(a, m, false, "explain %s", id));
}

/* Which objects, as few words as tell: a GPU by its number. */
static const char *check_page_on(struct arena *a, const struct machine *m, const struct finding *f)
{
	const struct gpu *g = f->n_targets == 1 ? machine_gpu_at(m, f->targets[0]) : NULL;

	return g ? arena_printf(a, "GPU %u (%s)", g->index, g->pci) : finding_targets(a, f);
}

static void check_page_found(struct doc *d, struct node *list, const struct machine *m,
			     const struct profile *p, const struct finding *f,
			     const struct check_view *how)
{
	const char *effect = f->s->effect == EFFECT_NOW ? NULL : effect_name(f->s->effect);
	struct found found = { .badge = cell_as(check_page_severity_style(f), check_page_mark(f)),
			       .careful = f->s->risk >= RISK_SERVICE,
			       .id = f->s->id,
			       .on = check_page_on(d->arena, m, f),
			       .now = f->v.current,
			       .wanted = f->v.kind == VERDICT_FAIL ? f->v.wanted : NULL,
			       .why = finding_reason(f),
			       .fix = finding_fix(d->arena, m, p, f, how->plan) };

	figure_values(d->arena, setting_unit(f->s), &found.now, &found.wanted);
	node_found(d, list, &found);
	node_more(d, list, "measured here", measured_finding(d->arena, how->ledger, f));
	node_more(d, list, "sources disagree", cell(f->v.disagree));
	if (f->v.kind == VERDICT_FAIL)
		node_more(d, list, "takes effect", cell(effect));
	if (!how->verbose)
		return;
	node_more(d, list, "risk", cell(f->s->knob == KNOB_NONE ? NULL : risk_name(f->s->risk)));
	node_more(d, list, "read from", cell_as(STYLE_MUTED, f->read_from));
}

/* "1 critical, 3 to tune", and the worst of them in words (NULL: nothing is to be fixed). */
static const char *check_counts(struct arena *a, const struct findings *f)
{
	size_t n[SEVERITY_CRITICAL + 1] = { 0 }, tune;
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < f->n; i++)
		n[f->items[i].severity] += f->items[i].v.kind == VERDICT_FAIL;
	tune = f->count[VERDICT_FAIL] - n[SEVERITY_CRITICAL] - n[SEVERITY_HIGH];
	if (n[SEVERITY_CRITICAL])
		text_printf(&t, "%zu critical", n[SEVERITY_CRITICAL]);
	if (n[SEVERITY_HIGH])
		text_printf(&t, "%s%zu high", t.len ? ", " : "", n[SEVERITY_HIGH]);
	if (tune)
		text_printf(&t, "%s%zu to tune", t.len ? ", " : "", tune);
	if (!t.len)
		text_add(&t, f->count[VERDICT_PASS] ? "Nothing to fix" : "Nothing could be judged");
	if (f->count[VERDICT_UNKNOWN])
		text_printf(&t, ", %zu unknown", f->count[VERDICT_UNKNOWN]);
	return arena_strdup(a, t.s);
}

static const struct finding *worst_finding(const struct findings *f)
{
	const struct finding *worst = NULL;

	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].v.kind == VERDICT_FAIL &&
		    (!worst || f->items[i].severity > worst->severity))
			worst = &f->items[i];
	return worst;
}

static const char *check_worst(struct arena *a, const struct machine *m, const struct findings *f)
{
	const struct finding *worst = worst_finding(f);
	const char *on;

	if (!worst)
		return NULL;
	on = check_page_on(a, m, worst);
	/* A value alone says little without what it is of. */
	if (str_starts(worst->v.reason, "is ") || !*on)
		return arena_printf(a, "%s%s%s: %s", worst->s->title, *on ? " of " : "", on,
				    str_starts(worst->v.reason, "is ") ? finding_reason(worst)
								       : finding_head(a, worst));
	return arena_printf(a, "%s: %s", on, finding_head(a, worst));
}

static const char *machine_line(struct arena *a, const struct machine *m)
{
	const struct gpu *g = machine_gpu(m, 0);
	const char *gpus = "";

	if (g && seen_ok(&g->name.f))
		gpus = arena_printf(a, ", %zu x %s", m->gpu.gpus.n, g->name.v);
	return arena_printf(a, "%s: %s (%s), %s%s, kernel %s", fact_text(&m->nodename, "?"),
			    fact_text(&m->platform.product, "unnamed product"),
			    fact_text(&m->platform.kind, "?"),
			    fact_text(&m->cpu.model, fact_text(&m->kernel.arch, "?")), gpus,
			    fact_text(&m->kernel.release, "?"));
}

/* What is right is counted, not listed. */
static void check_page_summary(struct doc *d, const struct machine *m, const struct profile *p,
			       const struct findings *f, const struct check_view *how)
{
	struct node *line = doc_paragraph(d);
	/* A part of the settings has no score. */
	bool scored = f->score >= 0 && !(how->whole && how->whole->n);

	node_span(d, line,
		  cellf(d, "Profile %s: %zu to fix, %zu OK, %zu not applicable, %zu unknown.",
			p->name, f->count[VERDICT_FAIL], f->count[VERDICT_PASS],
			f->count[VERDICT_NA], f->count[VERDICT_UNKNOWN]));
	if (f->score < 0)
		node_span(d, line, cell(" No score: nothing could be judged."));
	if (scored)
		node_span(d, line, cellf(d, " Score %d of 100", f->score));
	if (scored && f->health >= 0 && f->tuning >= 0)
		node_span(d, line, cellf(d, ": health %d, tuning %d", f->health, f->tuning));
	if (scored)
		node_span(d, line,
			  f->capped_by ? cellf(d, ", limited by %s.", f->capped_by) : cell("."));
	if (m->disagreements.n)
		node_span(d, line,
			  cellf(d,
				" Sources disagree about %zu fact%s: \"gputune show\" lists them.",
				m->disagreements.n, PLURAL(m->disagreements.n)));
	if (f->count[VERDICT_UNKNOWN] && !m->captured.v && fact_or(&m->euid, 0) != 0)
		node_span(d, line, cell(" Root can read more."));
	if (m->captured.v && fact_or(&m->euid, 0) != 0)
		node_span(d, line,
			  cell(" Captured by a normal user: data that only root can read is "
			       "missing."));
	if (!how->all && how->part == CHECK_WHOLE &&
	    f->count[VERDICT_FAIL] + f->count[VERDICT_UNKNOWN] < f->n)
		node_span(d, line,
			  cell_printf(d, STYLE_MUTED,
				      " --all lists the rest; \"%s\" shows details.",
				      machine_command(d->arena, m, false, "explain ID")));
	if (how->part == CHECK_WHOLE && f->count[VERDICT_FAIL] && m->reading && *m->reading &&
	    !m->options)
		node_span(d, line,
			  cellf(d, " To try the changes on the capture: \"%s --overlay DIR\".",
				machine_command(d->arena, m, false, "apply")));
}

/* The gravest that are to be fixed: findings stand in this order. */
static void check_page_first(struct doc *d, const struct machine *m, const struct profile *p,
			     const struct findings *f, const struct check_view *how)
{
	enum { FIRST = 3 };
	const struct check_view brief = { .plan = how->plan };
	struct node *list;

	if (f->count[VERDICT_FAIL] <= (how->part == CHECK_CARD ? 0 : FIRST))
		return;
	if (how->part == CHECK_FRONT)
		doc_heading(d, 2, "Fix these first");
	list = doc_findings(d, NULL);
	for (size_t i = 0; i < f->n && list->n_rows < FIRST; i++)
		if (f->items[i].v.kind == VERDICT_FAIL)
			check_page_found(d, list, m, p, &f->items[i], &brief);
}

struct doc *page_check(struct arena *a, const struct machine *m, const struct profile *p,
		       const struct findings *f, const struct check_view *how)
{
	struct doc *d = doc_new(a);
	const struct finding *worst = worst_finding(f);
	const struct finding *whole = how->whole ? worst_finding(how->whole) : NULL;
	struct node *list;

	if (how->part != CHECK_FINDINGS)
		doc_verdict(d,
			    worst			? check_page_severity_style(worst)
			    : f->count[VERDICT_UNKNOWN] ? STYLE_UNKNOWN
							: STYLE_GOOD,
			    check_counts(a, f), check_worst(a, m, f));
	if (how->part == CHECK_CARD)
		doc_text(d, "%s", machine_line(a, m));
	if (how->part == CHECK_FRONT || how->part == CHECK_CARD) {
		check_page_first(d, m, p, f, how);
		return d;
	}
	if (how->part == CHECK_WHOLE)
		doc_text(d, "%s", machine_line(a, m));
	list = doc_findings(d, NULL);
	for (size_t i = 0; i < f->n; i++)
		if (shown(&f->items[i], how) ||
		    (how->whole && how->whole->n && f->items[i].v.kind == VERDICT_NA && !worst))
			check_page_found(d, list, m, p, &f->items[i], how);
	measured_missing(d, f, how->ledger);
	if (whole && (!worst || whole->severity > worst->severity))
		doc_text(d, "The whole machine: %s. %s. \"%s\" lists all.",
			 check_counts(a, how->whole), check_worst(a, m, how->whole),
			 machine_command(a, m, false, "check --profile %s", p->name));
	check_page_summary(d, m, p, f, how);
	return d;
}

/* Everything about one setting: what, why, when not, how, risk, recommendations of the profiles,
 * sources, state here. */

/* Beside the profiles: vendors of this platform, also those that the profile vendor does not take,
 * and whether the default follows them. */
static void vendors_table(struct doc *d, const struct setting *s, unsigned platform)
{
	struct node *t =
		DOC_TABLE(d, "Values set by vendors", "By", "~Where", "~Wanted", "~Because",
			  "The default", "~Reason", "~Source", "As of", "Evidence");

	for (const struct vendor_opinion *w = NULL; (w = vendor_next(s, w));) {
		struct recommendation o = vendor_recommends(w);

		if (!(w->on & platform))
			continue;
		NODE_ROW(d, t, cell(w->by), cell(w->where),
			 cell(recommendation_text(d->arena, &o, s->unit)), cell(w->says),
			 cell(vendor_stand_name(vendor_stand(s, w))),
			 cell(w->differs ? w->differs : ""), cell_as(STYLE_MUTED, w->source),
			 cell(w->date), cell(vendor_evidence_name(w->evidence)));
	}
	node_drop_empty(t);
}

/* Files, daemons and profiles of TuneD that set it here, the one that wins at boot last. */
static void owners_table(struct doc *d, const struct setting *s, const struct machine *m,
			 const struct findings *f)
{
	struct change c = { .s = s };
	const char *wanted = f->n ? f->items[0].v.wanted : NULL;
	struct node *t;

	if (s->knob == KNOB_NONE || !f->n || !f->items[0].n_targets)
		return;
	c.knob = setting_place(d->arena, s, f->items[0].objects[0]);
	plan_owners(d->arena, m, &c);
	t = DOC_TABLE(d, "Also set by", "~By", "To", "~At boot");
	for (size_t i = 0; i < c.n_owners; i++)
		NODE_ROW(
			d, t, cell(c.owners[i].what),
			cell(c.owners[i].value ? c.owners[i].value : "?"),
			cell(!c.owners[i].at_boot ? "no"
			     : wanted && c.owners[i].value && strcmp(c.owners[i].value, wanted) == 0
				     ? "yes, the wanted value"
			     : c.owners[i].wins ? "yes, overwrites gputune's value"
						: "yes"));
	node_drop_empty(t);
}

/* Profiles that say something else of this machine than the default does. */
static void recommendations_here(struct doc *d, const struct findings *by_profile)
{
	const struct findings *def = &by_profile[PROFILE_DEFAULT];
	struct node *t = DOC_TABLE(d, "Other profiles, on the machine", "!Profile", "~Meaning",
				   "!~On", "Verdict", "~Wanted", "~Because");

	for (int p = 0; p < PROFILES; p++)
		for (size_t i = 0; p != PROFILE_DEFAULT && i < by_profile[p].n; i++) {
			const struct finding *it = &by_profile[p].items[i];

			if (strcmp(it->v.code, CODE_NOT_IN_PROFILE) == 0 ||
			    (i < def->n && strcmp(def->items[i].v.reason, it->v.reason) == 0))
				continue;
			NODE_ROW(d, t, cell_as(STYLE_CODE, profile_name((enum profile_id)p)),
				 cell(profile_purpose((enum profile_id)p)),
				 cell(finding_targets(d->arena, it)), cell(check_page_mark(it)),
				 cell(it->v.wanted),
				 cell(it->v.kind == VERDICT_FAIL ? it->v.why : it->v.reason));
		}
	node_drop_empty(t);
}

/* What the rule measures by: figures that others publish, and when they did. */
static void check_page_figures(struct doc *d, const struct setting *s)
{
	struct node *t = DOC_TABLE(d, "Measured by", "!~Figure", "!Of", ">Value", "Unit", "~Source",
				   "As of");

	for (size_t i = 0; i < n_health_limits; i++) {
		const struct health_limit *l = &health_limits[i];

		if (strcmp(l->setting, s->id) != 0)
			continue;
		NODE_ROW(d, t, cell(arena_printf(d->arena, "%s (%s)", l->what, l->key)),
			 cell(l->gpu ? l->gpu : "any GPU"), cellf(d, "%.10g", l->value),
			 cell(l->unit), cell(l->source), cell(l->date));
	}
}

/* What the driver's error numbers mean, for the row that judges them. */
static void check_page_numbers(struct doc *d, const struct setting *s)
{
	static const char *const kinds[] = { "program", "fault only if recent",
					     "fault until a reboot; with --since only if new" };
	struct node *t;

	if (strcmp(s->id, "gpu.xid") != 0)
		return;
	t = DOC_TABLE(d, arena_printf(d->arena, "Xid numbers (%s; %s)", xid_source, xid_date),
		      "Xid", "~What", "Counts as", "~Fix");
	for (size_t i = 0; i < n_xid_rows; i++) {
		const struct xid_row *x = &xid_rows[i];

		NODE_ROW(d, t,
			 x->first == x->last ? cellf(d, "%u", x->first)
					     : cellf(d, "%u-%u", x->first, x->last),
			 cell(x->what), cell(kinds[x->kind]), cell(x->todo ? x->todo : ""));
	}
}

static void how(struct doc *d, const struct setting *s, const struct ledger *l)
{
	struct arena *a = d->arena;
	struct ledger_answer gain;
	struct node *n;

	ledger_find(a, l, s->id, NULL, &gain);
	doc_heading(d, 2, "How");
	n = doc_pairs(d, NULL);
	node_pair(d, n, "Read",
		  cell(s->read		      ? s->read
		       : s->of		      ? arena_printf(a, "fact %s.%s", s->of->name, s->fact)
		       : s->knob != KNOB_NONE ? knob_how_read(a, s->knob, s->name)
					      : "derived from facts; see the evidence below"));
	node_pair(d, n, "Written",
		  cell(s->written	      ? s->written
		       : s->knob != KNOB_NONE ? knob_how_write(a, s->knob, s->name)
					      : "not by gputune, which only checks it"));
	if (s->knob != KNOB_NONE || s->written)
		node_pair(d, n, "Kept", cell(persist_keeps(a, s)));
	node_pair(d, n, "Undone",
		  cell(s->knob == KNOB_NONE && s->written ? "by \"gputune persist remove\""
							  : knob_how_undone(s->knob)));
	node_pair(d, n, "Takes effect",
		  cell(s->knob == KNOB_NONE && s->written
			       ? "at the next login, and for a service when it restarts"
			       : effect_name(s->effect)));
	node_pairf(d, n, "Risk", "%s%s%s", risk_name(s->risk), s->danger ? ": " : "",
		   s->danger ? s->danger : "");
	node_pair(d, n, "Gain",
		  cell(!gain.row ? "not measured here"
		       : gain.row->before && gain.row->after
			       ? arena_printf(a, "measured here: %s (%s to %s)",
					      ledger_text(a, &gain), gain.row->before,
					      gain.row->after)
			       : arena_printf(a, "measured here: %s", ledger_text(a, &gain))));
}

static void cited(struct doc *d, const char *source, unsigned platform)
{
	struct node *list = doc_bullets(d);

	while (*source) {
		size_t n = strcspn(source, ";"), len;
		const char *word = str_trim(source, n, &len),
			   *key = arena_strndup(d->arena, word, len), *title;

		title = source_title(key, platform);
		if (len && !(title && !*title)) /* of another platform */
			node_bullet(
				d, list,
				cell(title ? arena_printf(d->arena, "%s: %s", key, title) : key));
		source += n;
		source += *source == ';';
	}
}

struct doc *page_explain(struct arena *a, const struct setting *s, const struct machine *m,
			 const struct profile *p, const struct findings *f,
			 const struct findings *by_profile, const struct check_view *view)
{
	unsigned platform = platform_bits(m);
	struct doc *d = doc_new(a);
	struct node *list;

	doc_heading(d, 1, arena_printf(a, "%s: %s", s->id, s->title));
	list = doc_findings(d, NULL);
	for (size_t i = 0; i < f->n; i++)
		check_page_found(d, list, m, p, &f->items[i], view);
	doc_text(d, "%s", setting_why(s, platform));
	if (s->not_when)
		doc_text(d, "Does not apply when %s.", s->not_when);
	measured_setting_page(d, s, view->ledger, !m->reading);
	how(d, s, view->ledger);
	recommendations_here(d, by_profile);
	owners_table(d, s, m, f);
	check_page_figures(d, s);
	check_page_numbers(d, s);
	vendors_table(d, s, platform);
	if (s->note && (!s->note_on || (s->note_on & platform)))
		doc_text(d, "%s", s->note);
	doc_heading(d, 2, "Sources");
	cited(d, s->source, platform);
	return d;
}
