/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a proof: the verdict first, then what it rests on. */
#include <math.h>
#include <string.h>

#include "measure/prove/page_prove.h"
#include "look/settings/findings.h"
#include "base/json.h"
#include "measure/prove/proof.h"

/* Proofs as charts: after over before, with the interval that decided. */

static enum style style_of(enum ruling_kind k)
{
	return k == RULING_HELPS	   ? STYLE_GOOD
	       : k == RULING_HURTS	   ? STYLE_BAD
	       : k == RULING_NO_DIFFERENCE ? STYLE_PLAIN
					   : STYLE_UNKNOWN;
}

static struct chart_ratio prove_page_ratio_row(const char *label, double ratio, double low,
					       double high, const char *verdict, enum style style)
{
	bool none = !(low > 0) && !isfinite(high);

	return (struct chart_ratio){ .label = label,
				     .ratio = ratio,
				     .low = none ? NAN : low,
				     .high = none ? NAN : high,
				     .verdict = verdict,
				     .style = style };
}

static bool same_question(const struct ledger_row *a, const struct ledger_row *b)
{
	const char *on_a = a->bench ? a->bench : a->command,
		   *on_b = b->bench ? b->bench : b->command;

	return strcmp(a->setting, b->setting) == 0 && strcmp(a->target, b->target) == 0 &&
	       strcmp(a->where.machine, b->where.machine) == 0 &&
	       strcmp(on_a ? on_a : "", on_b ? on_b : "") == 0;
}

/* Of one question on one machine the last line counts. */
static bool newest(const struct ledger *l, size_t i)
{
	for (size_t k = i + 1; k < l->n; k++)
		if (same_question(&l->rows[i], &l->rows[k]))
			return false;
	return true;
}

void figures_ledger(struct doc *d, const struct ledger *l)
{
	struct chart_ratio *rows;
	struct chart_ratios c = { .title = "After over before, of each proof",
				  .left = "worse with the setting",
				  .right = "better",
				  .interval = "interval of the proof",
				  .threshold = NAN };

	rows = arena_array(d->arena, l->n ? l->n : 1, sizeof(*rows));
	c.rows = rows;
	for (size_t i = 0; i < l->n; i++) {
		const struct ledger_row *r = &l->rows[i];
		const char *label;

		if (strcmp(r->where.machine, l->here.machine) != 0 || !newest(l, i))
			continue;
		label = arena_printf(d->arena, "%s%s%s, %s", r->setting, *r->target ? " " : "",
				     r->target,
				     r->bench	  ? r->bench
				     : r->command ? r->command
						  : "");
		rows[c.n++] = prove_page_ratio_row(label, r->ratio, r->low, r->high,
						   ruling_name(r->verdict), style_of(r->verdict));
	}
	chart_add_ratios(d, &c);
}

static void pairs_of(struct doc *d, const struct proof *p)
{
	const struct proof_pairs *q = &p->compared.pairs;
	double *x;

	if (q->n < 8 || p->window.main >= WINDOW_FIGURES || !q->d[p->window.main])
		return;
	x = arena_array(d->arena, q->n, sizeof(*x));
	for (size_t i = 0; i < q->n; i++)
		x[i] = exp(q->d[p->window.main][i]);
	chart_add_spread(d, &(struct chart_spread){ .title = "How its pairs lie",
						    .unit = "times as good",
						    .what = "pairs",
						    .x = x,
						    .n = q->n,
						    .median = p->compared.ruling.ratio,
						    .low = p->compared.ruling.low,
						    .high = p->compared.ruling.high,
						    .split = NAN,
						    .limit = { 1, 1, "no difference" },
						    .band = { NAN, NAN, NULL } });
}

static size_t guard_rows(struct arena *a, const struct proof *p, struct chart_ratio *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < p->compared.n_guards; i++) {
		const struct proof_guard *g = &p->compared.guards[i];
		const char *key = g->figure < p->window.n_figures ? p->window.figures[g->figure].key
								  : "figure";

		if (!g->guard.early)
			rows[n++] = prove_page_ratio_row(
				arena_printf(a, "guard: %s", key), g->guard.ratio, g->guard.low,
				g->guard.high, g->guard.veto ? "worse" : "not worse",
				g->guard.veto ? STYLE_BAD : STYLE_PLAIN);
	}
	return n;
}

/* One proof: its effect, what its guards saw, of many settings each one's, and how the pairs lie.
 */
static void figures_proof(struct doc *d, const struct proof *p)
{
	struct chart_ratio *rows =
		arena_array(d->arena, 1 + WINDOW_FIGURES + p->n_members, sizeof(*rows));
	struct chart_ratios c = { .title = "After over before",
				  .left = "worse with it",
				  .right = "better",
				  .interval = "interval of the proof; guards: 90 %",
				  .threshold = p->rule.min_effect,
				  .rows = rows };

	if (p->compared.done)
		rows[c.n++] = prove_page_ratio_row(p->what, p->compared.ruling.ratio,
						   p->compared.ruling.low, p->compared.ruling.high,
						   ruling_name(p->verdict), style_of(p->verdict));
	c.n += guard_rows(d->arena, p, rows + c.n);
	for (size_t i = 0; i < p->n_members; i++) {
		const struct proof_member *m = &p->members[i];

		if (m->confirmed)
			rows[c.n++] = prove_page_ratio_row(
				m->id, m->member.ratio, m->member.low, m->member.high,
				m->state >= MEMBER_STAYS ? "stays" : "goes",
				m->state >= MEMBER_STAYS ? STYLE_GOOD : STYLE_PLAIN);
		else if (m->screened)
			rows[c.n++] =
				prove_page_ratio_row(m->id, m->effect.ratio, m->effect.low,
						     m->effect.high, "screened", STYLE_UNKNOWN);
	}
	chart_add_ratios(d, &c);
	pairs_of(d, p);
}

static enum style verdict_style(enum ruling_kind k)
{
	return k == RULING_HELPS ? STYLE_GOOD : k == RULING_HURTS ? STYLE_BAD : STYLE_WARN;
}

static const char *verdict_text(enum ruling_kind k)
{
	static const char *const texts[] = {
		[RULING_GO_ON] = "undecided",
		[RULING_HELPS] = "helps",
		[RULING_HURTS] = "hurts",
		[RULING_NO_DIFFERENCE] = "no difference",
		[RULING_UNDECIDED] = "could not decide",
	};

	return texts[k];
}

/* "+3.1 % (+2.4 % to +3.9 %)" */
static const char *effect_text(struct arena *a, double ratio, double low, double high)
{
	if (!(low > 0) || !isfinite(high))
		return "unknown";
	return arena_printf(a, "%s (%s to %s)", proof_percent(a, ratio), proof_percent(a, low),
			    proof_percent(a, high));
}

static const char *share_text(struct arena *a, double share)
{
	return isfinite(share) ? arena_printf(a, "%.1f %%", share * 100) : "anything";
}

static void prove_page_headline(struct doc *d, const struct proof *p)
{
	struct node *line = doc_paragraph(d);
	const struct ruling *r = &p->compared.ruling;

	node_span(d, line, cell_as(STYLE_CODE, p->what));
	node_span(d, line, cell(": "));
	node_span(d, line, cell_as(verdict_style(p->verdict), verdict_text(p->verdict)));
	if (p->compared.done && r->pairs && r->low > 0)
		node_span(d, line,
			  cell_printf(d, STYLE_STRONG, ", %s",
				      effect_text(d->arena, r->ratio, r->low, r->high)));
	node_span(d, line, cellf(d, " on %s.", p->window.name));
	if (p->why)
		doc_text(d, "%c%s.",
			 p->why[0] >= 'a' && p->why[0] <= 'z' ? p->why[0] - 32 : p->why[0],
			 p->why + 1);
	if (p->verdict == RULING_NO_DIFFERENCE && p->compared.done)
		doc_text(d, "An effect larger than %s would have been seen.",
			 share_text(d->arena, r->resolution));
	if (p->verdict == RULING_UNDECIDED && r->needed)
		doc_text(d, "About %zu pairs would decide; these were %zu.", r->needed, r->pairs);
}

static void prove_page_changes(struct doc *d, const struct proof *p)
{
	struct node *t = DOC_TABLE(d, NULL, "Setting", "On", "~Without", "~With");

	for (size_t i = 0; i < p->n_changes; i++)
		NODE_ROW(d, t, cell_as(STYLE_CODE, p->changes[i].id), cell(p->changes[i].target),
			 p->changes[i].before ? cell(p->changes[i].before)
					      : cell_as(STYLE_UNKNOWN, "unknown"),
			 cell(p->changes[i].after));
	node_drop_empty(t);
}

/* The median of the windows that count, as people know the figure. */
static const char *level_text(struct arena *a, const struct proof *p, size_t figure, bool b)
{
	double *x = arena_array(a, p->n_windows, sizeof(*x)), m;
	size_t n = 0;

	for (size_t i = 0; i < p->n_windows; i++)
		if (p->windows[i].part == PART_PAIRS && !p->windows[i].fault &&
		    p->windows[i].b == b)
			x[n++] = p->windows[i].value[figure];
	if (!n)
		return NULL;
	m = stat_median_in_place(x, n);
	return arena_printf(a, "%.4g %s", m, p->window.figures[figure].unit_text);
}

static void prove_page_figures(struct doc *d, const struct proof *p)
{
	struct node *t = DOC_TABLE(d, NULL, "~Figure", ">Without", ">With", ">Better by", "~");
	const struct compared *c = &p->compared;

	for (size_t i = 0; c->pairs.n && i < p->window.n_figures; i++) {
		struct cell *x = NODE_ROW(d, t, cell(p->window.figures[i].title),
					  cell(level_text(d->arena, p, i, false)),
					  cell(level_text(d->arena, p, i, true)));

		if (i == p->window.main)
			x[3] = cell(effect_text(d->arena, c->ruling.ratio, c->ruling.low,
						c->ruling.high));
		for (size_t k = 0; k < c->n_guards; k++) {
			const struct guard_ruling *g = &c->guards[k].guard;

			if (c->guards[k].figure != i)
				continue;
			x[3] = cell(effect_text(d->arena, g->ratio, g->low, g->high));
			x[4] = g->veto	  ? cell_as(STYLE_BAD, "gets worse")
			       : g->early ? cell_as(STYLE_MUTED, "too few pairs to say")
					  : cell_as(STYLE_MUTED, "not worse");
		}
	}
}

static const char *prove_page_text(const struct proof_member *m)
{
	if (m->fault)
		return m->fault;
	if (m->state >= MEMBER_STAYS)
		return m->state == MEMBER_SHOWN
			       ? "helps"
			       : "stays: not shown by itself, the set as a whole helps";
	if (m->confirmed)
		return m->member.hurts ? "hurts: dropped" : "no gain shown: dropped";
	if (!m->screened)
		return "not measured";
	return m->effect.say == SCREEN_HURTS  ? "hurts: dropped"
	       : m->effect.say == SCREEN_DROP ? "no gain: dropped"
					      : "not confirmed: time was over";
}

static void prove_page_members(struct doc *d, const struct proof *p)
{
	struct node *t =
		p->many ? DOC_TABLE(d, NULL, "~Setting", ">Screened", ">Confirmed", "~") : NULL;

	for (size_t i = 0; t && i < p->n_members; i++) {
		const struct proof_member *m = &p->members[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_CODE, m->id);
		if (m->screened)
			c[1] = cell(effect_text(d->arena, m->effect.ratio, m->effect.low,
						m->effect.high));
		if (m->confirmed)
			c[2] = cell(effect_text(d->arena, m->member.ratio, m->member.low,
						m->member.high));
		c[3] = cell_as(m->state >= MEMBER_STAYS ? STYLE_GOOD : STYLE_MUTED,
			       prove_page_text(m));
	}
}

static void grounds(struct doc *d, const struct proof *p)
{
	struct node *pairs = doc_pairs(d, NULL);
	struct arena *a = d->arena;
	size_t faults = 0;

	for (size_t i = 0; i < p->n_windows; i++)
		faults += p->windows[i].fault != NULL;
	node_pairf(d, pairs, "Measured with", "%s%s%s%s%s", p->window.name,
		   *p->window.of ? ", " : "", p->window.of, *p->window.setup ? ", " : "",
		   p->window.setup);
	node_pairf(d, pairs, "Pairs", "%zu that count, %zu windows in all%s", p->compared.pairs.n,
		   p->n_windows, faults ? arena_printf(a, ", %zu void", faults) : "");
	if (p->same_done && p->same_pairs.n)
		node_pairf(d, pairs, "The machine against itself",
			   "%s in %zu pairs; resolves about %s",
			   effect_text(a, p->same.ratio, p->same.low, p->same.high),
			   p->same_pairs.n, share_text(a, p->same.resolution));
	if (!p->warm)
		node_pair(d, pairs, "Warm-up", cell_as(STYLE_WARN, "never steady"));
	node_pairf(d, pairs, "What matters", "%s or more; wrong at most %.0f times in 100",
		   share_text(a, p->rule.min_effect), p->rule.alpha * 100);
	node_pairf(d, pairs, "Time", "%.0f s of %.0f s, %.3g s after each of %zu switches",
		   p->took_s, p->budget_s, p->settle_s, p->switches);
	node_pairf(d, pairs, "Seed", "%llu", (unsigned long long)p->seed);
}

static void prove_page_end(struct doc *d, const struct proof *p)
{
	struct node *line = doc_paragraph(d);

	if (p->trouble)
		node_span(d, line, cell_as(STYLE_BAD, p->trouble));
	else if (p->foreign)
		node_span(
			d, line,
			cell_printf(
				d, STYLE_WARN,
				"Ours is taken back; what somebody else set meanwhile is left: %s.",
				p->foreign));
	else if (p->kept) {
		node_span(d, line,
			  cell_printf(d, STYLE_GOOD, "Kept as transaction %lu. Taken back with ",
				      p->txn));
		node_span(d, line, cell_printf(d, STYLE_CODE, "gputune undo %lu", p->txn));
		node_span(d, line, cell("."));
	} else {
		node_span(d, line, cell("Everything is as it was before."));
	}
	if (p->verdict == RULING_HELPS && !p->kept && !p->trouble)
		node_span(d, line, cell(" --keep keeps what helps."));
}

struct doc *page_prove(struct arena *a, const struct proof *p)
{
	struct doc *d = doc_new(a);

	prove_page_headline(d, p);
	prove_page_changes(d, p);
	prove_page_figures(d, p);
	prove_page_members(d, p);
	figures_proof(d, p);
	grounds(d, p);
	prove_page_end(d, p);
	return d;
}

/* A proof as JSON. Keys and meanings are API. */

static json_t *numbers(const double *x, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_figure(x[i]));
	return list;
}

static json_t *effect(double ratio, double low, double high)
{
	bool known = low > 0 && isfinite(high);

	return json_pack("{s:o, s:o, s:o}", "ratio", known ? json_figure(ratio) : json_null(),
			 "low", known ? json_figure(low) : json_null(), "high",
			 known ? json_figure(high) : json_null());
}

static json_t *ruling_json(const struct ruling *r)
{
	json_t *j = effect(r->ratio, r->low, r->high);

	json_object_set_new(j, "pairs", json_integer((json_int_t)r->pairs));
	json_object_set_new(j, "resolution", r->pairs ? json_figure(r->resolution) : json_null());
	json_object_set_new(j, "pairs_needed",
			    r->needed ? json_integer((json_int_t)r->needed) : json_null());
	return j;
}

static json_t *window_json(const struct proof *p)
{
	const struct window *w = &p->window;
	json_t *j = json_object(), *figures = json_array(), *argv = json_array();

	for (size_t i = 0; i < w->n_figures; i++)
		json_array_append_new(
			figures,
			json_pack("{s:o, s:o, s:o, s:s, s:b}", "key", json_text(w->figures[i].key),
				  "title", json_text(w->figures[i].title), "unit",
				  json_text(w->figures[i].unit_text), "better",
				  w->figures[i].better == BENCH_HIGHER ? "higher" : "lower",
				  "decides", i == w->main));
	for (size_t i = 0; w->argv && w->argv[i]; i++)
		json_array_append_new(argv, json_text(w->argv[i]));
	json_object_set_new(j, "kind", json_text(w->kind));
	json_object_set_new(j, "name", json_text(w->name));
	json_object_set_new(j, "metric", json_text(w->of));
	json_object_set_new(j, "setup", json_text(w->setup));
	json_object_set_new(j, "version", json_integer(w->version));
	json_object_set_new(j, "argv", argv);
	json_object_set_new(j, "window_s", w->seconds > 0 ? json_figure(w->seconds) : json_null());
	json_object_set_new(j, "figures", figures);
	return j;
}

static json_t *prove_page_windows_json(const struct proof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_windows; i++) {
		const struct proof_window *w = &p->windows[i];
		json_t *j = json_object();

		json_object_set_new(j, "part", json_text(proof_part_name(w->part)));
		json_object_set_new(j, "pair", json_integer((json_int_t)w->pair));
		json_object_set_new(j, "state", json_text(w->state));
		json_object_set_new(j, "side", json_string(w->b ? "b" : "a"));
		json_object_set_new(j, "at_s", json_figure(w->at_s));
		json_object_set_new(j, "samples", json_integer((json_int_t)w->samples));
		json_object_set_new(j, "values", numbers(w->value, p->window.n_figures));
		json_object_set_new(j, "void", json_text(w->fault));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *prove_page_changes_json(const struct proof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_changes; i++)
		json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "id",
						      json_text(p->changes[i].id), "target",
						      json_text(p->changes[i].target), "knob",
						      json_text(p->changes[i].knob), "before",
						      json_text(p->changes[i].before), "after",
						      json_text(p->changes[i].after)));
	return list;
}

static json_t *guards_json(const struct proof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->compared.n_guards; i++) {
		const struct proof_guard *g = &p->compared.guards[i];
		json_t *j = effect(g->guard.ratio, g->guard.low, g->guard.high);

		json_object_set_new(j, "figure", json_text(p->window.figures[g->figure].key));
		json_object_set_new(j, "veto", json_boolean(g->guard.veto));
		json_object_set_new(j, "early", json_boolean(g->guard.early));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *same_json(const struct proof *p)
{
	static const char *const kinds[] = { "ok", "biased", "coarse", "short" };
	json_t *j;

	if (!p->same_done)
		return json_null();
	j = effect(p->same.ratio, p->same.low, p->same.high);
	json_object_set_new(j, "result", json_text(kinds[p->same.kind]));
	json_object_set_new(j, "pairs", json_integer((json_int_t)p->same_pairs.n));
	json_object_set_new(j, "resolution", json_figure(p->same.resolution));
	return j;
}

static json_t *members_json(const struct proof *p)
{
	static const char *const says[] = { "keep", "drop", "hurts" };
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_members; i++) {
		const struct proof_member *m = &p->members[i];
		json_t *j = json_object();

		json_object_set_new(j, "id", json_text(m->id));
		json_object_set_new(j, "stays", json_boolean(m->state >= MEMBER_STAYS));
		json_object_set_new(j, "shown", json_boolean(m->state == MEMBER_SHOWN));
		json_object_set_new(j, "fault", json_text(m->fault));
		json_object_set_new(j, "screened",
				    m->screened
					    ? effect(m->effect.ratio, m->effect.low, m->effect.high)
					    : json_null());
		json_object_set_new(j, "screening",
				    m->screened ? json_string(says[m->effect.say]) : json_null());
		json_object_set_new(j, "confirmed",
				    m->confirmed
					    ? effect(m->member.ratio, m->member.low, m->member.high)
					    : json_null());
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *conditions_json(const struct record_conditions *c)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "others_before_cpus", json_figure(c->idle_others),
			 "others_cpus", json_figure(c->others), "steal_percent",
			 json_figure(c->steal_percent), "temperature_c",
			 json_figure(c->after.temp_c));
}

static json_t *fingerprint_json(const struct record *r)
{
	json_t *o = json_object();

	for (size_t i = 0; i < r->n_fingerprint; i++)
		json_object_set_new(o, r->fingerprint[i].name, json_text(r->fingerprint[i].value));
	return o;
}

static json_t *rule_json(const struct proof *p)
{
	json_t *j = json_object(), *looks = json_array();

	for (size_t i = 0; i < p->rule.n_looks; i++)
		json_array_append_new(looks, json_integer((json_int_t)p->rule.looks[i]));
	json_object_set_new(j, "min_effect", json_figure(p->rule.min_effect));
	json_object_set_new(j, "alpha", json_figure(p->rule.alpha));
	json_object_set_new(j, "looks", looks);
	json_object_set_new(j, "seed", json_text(NULL));
	return j;
}

json_t *prove_json(const struct machine *m, const struct proof *p, int exit_code)
{
	json_t *j = result_json("prove", m, exit_code), *rule = rule_json(p);
	char seed[24];

	/* A JSON number of 64 bits is not safe everywhere. */
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)p->seed);
	json_object_set_new(rule, "seed", json_string(seed));
	json_object_set_new(j, "what", json_text(p->what));
	json_object_set_new(j, "verdict", json_text(ruling_name(p->verdict)));
	json_object_set_new(j, "why", json_text(p->why));
	json_object_set_new(j, "effect", ruling_json(&p->compared.ruling));
	json_object_set_new(j, "kept", json_boolean(p->kept));
	json_object_set_new(j, "transaction",
			    p->txn ? json_integer((json_int_t)p->txn) : json_null());
	json_object_set_new(j, "trouble", json_text(p->trouble));
	json_object_set_new(j, "foreign", json_text(p->foreign));
	json_object_set_new(j, "partial", json_boolean(p->stopped));
	json_object_set_new(j, "changes", prove_page_changes_json(p));
	json_object_set_new(j, "measured_with", window_json(p));
	json_object_set_new(j, "rule", rule);
	json_object_set_new(j, "same", same_json(p));
	json_object_set_new(j, "guards", guards_json(p));
	json_object_set_new(j, "members", members_json(p));
	json_object_set_new(j, "steady", json_boolean(p->warm));
	json_object_set_new(j, "settle_s", json_figure(p->settle_s));
	json_object_set_new(j, "budget_s", json_figure(p->budget_s));
	json_object_set_new(j, "took_s", json_figure(p->took_s));
	json_object_set_new(j, "switches", json_integer((json_int_t)p->switches));
	json_object_set_new(j, "machine", json_text(p->machine.machine));
	json_object_set_new(j, "fingerprint", fingerprint_json(&p->machine));
	json_object_set_new(j, "conditions", conditions_json(&p->conditions));
	json_object_set_new(j, "windows", prove_page_windows_json(p));
	return j;
}
