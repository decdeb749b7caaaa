/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a proof: the verdict first, then what it rests on. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "measure/prove/page_prove.h"
#include "measure/bench/bench_json.h"
#include "look/settings/findings.h"
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
	struct chart_ratios c = { .title = "Ratio after / before of each A/B test",
				  .left = "worse with the setting",
				  .right = "better",
				  .interval = "interval of the A/B test",
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
	chart_add_spread(d, &(struct chart_spread){ .title = "Distribution of its pairs",
						    .unit = "ratio",
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

		if (!g->guard.early)
			rows[n++] = prove_page_ratio_row(
				arena_printf(a, "guard: %s", g->key), g->guard.ratio, g->guard.low,
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
	struct chart_ratios c = { .title = "Ratio after / before",
				  .left = "worse with the setting",
				  .right = "better",
				  .interval = "interval of the A/B test; guards: 90 %",
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

static const char *verdict_text(enum ruling_kind k)
{
	static const char *const texts[] = {
		[RULING_GO_ON] = "undecided",	  [RULING_HELPS] = "helps",
		[RULING_HURTS] = "hurts",	  [RULING_NO_DIFFERENCE] = "no difference",
		[RULING_UNDECIDED] = "undecided",
	};

	return texts[k];
}

/* "+3.1 % (+2.4 % to +3.9 %)" */
const char *effect_text(struct arena *a, double ratio, double low, double high)
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
	node_span(d, line, cell_as(style_of(p->verdict), verdict_text(p->verdict)));
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
		doc_text(d, "An effect larger than %s would have been detected.",
			 share_text(d->arena, r->resolution));
	if (p->verdict == RULING_UNDECIDED && r->needed)
		doc_text(d, "About %zu pairs would be required; %zu were measured.", r->needed,
			 r->pairs);
}

static void prove_page_changes(struct doc *d, const struct proof *p)
{
	struct node *t = DOC_TABLE(d, NULL, "!Setting", "!On", "~Without", "~With");

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
			       : g->early ? cell_as(STYLE_MUTED, "too few pairs to decide")
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
			       : "kept: no effect by itself, but the whole set helps";
	if (!m->screened)
		return "not measured";
	return m->effect.say == SCREEN_HURTS || m->member.hurts ? "hurts: dropped"
	       : m->effect.say == SCREEN_DROP			? "no gain: dropped"
								: "undecided: dropped";
}

static void prove_page_members(struct doc *d, const struct proof *p)
{
	struct node *t = p->many	? DOC_TABLE(d, NULL, "~Setting", ">Gain in mixtures",
						    ">Loss without it", "~")
			 : p->n_members ? DOC_TABLE(d, NULL, "!Value", ">Estimate", ">", "~")
					: NULL;

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
			       p->many || m->fault	  ? prove_page_text(m)
			       : m->state == MEMBER_SHOWN ? "the best: helps"
			       : m->state == MEMBER_TRIED ? "best candidate: not proven to help"
							  : "");
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
	node_pairf(d, pairs, "Pairs", "%zu valid, %zu windows in total%s", p->compared.pairs.n,
		   p->n_windows, faults ? arena_printf(a, ", %zu void", faults) : "");
	if (p->same_done && p->same_pairs.n)
		node_pairf(d, pairs, "The machine compared with itself",
			   "%s in %zu pairs; resolution about %s",
			   effect_text(a, p->same.ratio, p->same.low, p->same.high),
			   p->same_pairs.n, share_text(a, p->same.resolution));
	if (!p->warm)
		node_pair(d, pairs, "Warm-up", cell_as(STYLE_WARN, "not steady"));
	node_pairf(d, pairs, "Smallest effect", "%s; at most %.0f of 100 verdicts are wrong",
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
		node_span(d, line,
			  cell_printf(d, STYLE_WARN,
				      "gputune's change is undone; changes that others made during "
				      "the A/B test stay: %s.",
				      p->foreign));
	else if (p->kept) {
		node_span(
			d, line,
			cell_printf(d, STYLE_GOOD, "Kept as transaction %lu. Undo with ", p->txn));
		node_span(d, line, cell_printf(d, STYLE_CODE, "gputune undo %lu", p->txn));
		node_span(d, line, cell("."));
	} else {
		node_span(d, line, cell("The old state is restored."));
	}
	if (p->verdict == RULING_HELPS && !p->kept && !p->trouble)
		node_span(
			d, line,
			strpbrk(p->what, "=@ ,:")
				? cell(" --keep keeps changes that help.")
				: cell_printf(d, STYLE_PLAIN,
					      " \"sudo gputune apply --only %s\" makes the change.",
					      p->what));
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

/* --- a proof, a row a figure. Keys and meanings are API. -----------------------------------------
 */

/* Without an interval the estimate says nothing. */
static double known_ratio(double ratio, double low, double high)
{
	return low > 0 && isfinite(high) ? ratio : NAN;
}

/* clang-format off */
#define EFFECT_OF(of, type, at)                                                                    \
	static double of##_ratio(const void *object)                                               \
	{                                                                                          \
		const struct type *e = object;                                                     \
												   \
		return known_ratio(e->at ratio, e->at low, e->at high);                            \
	}
#define EFFECT_ROWS(of, type, at)                                                                  \
	{ "ratio", NULL, SHAPE_REAL_OF(of##_ratio), .unknown = SHAPE_NULL },                       \
	{ "low", NULL, SHAPE_REAL(type, at low), .unknown = SHAPE_ZERO },                          \
	{ "high", NULL, SHAPE_REAL(type, at high), .unknown = SHAPE_NULL }

EFFECT_OF(ruling, ruling,)
EFFECT_OF(same, proof, same.)
EFFECT_OF(guard, proof_guard, guard.)
EFFECT_OF(screened, screen_effect,)
EFFECT_OF(confirmed, screen_member,)

SHAPE_GIVES(double, ruling_resolution, ruling, x->pairs ? x->resolution : NAN)

static const struct shape ruling_shape = SHAPE_OF(ruling, ruling,
	EFFECT_ROWS(ruling, ruling,),
	{ "pairs", NULL, SHAPE_COUNT(ruling, pairs) },
	{ "resolution", "The largest effect that could have been missed, as a share.",
	  SHAPE_REAL_OF(ruling_resolution), .unknown = SHAPE_NULL },
	{ "pairs_needed", "Estimated number of pairs to decide.", SHAPE_COUNT(ruling, needed), .unknown = SHAPE_ZERO });

static const struct shape proof_change_shape = SHAPE_OF(proof_change, proof_change,
	{ "id", NULL, SHAPE_TEXT(proof_change, id) },
	{ "target", NULL, SHAPE_TEXT(proof_change, target) },
	{ "knob", NULL, SHAPE_TEXT(proof_change, knob) },
	{ "before", NULL, SHAPE_TEXT(proof_change, before), .unknown = SHAPE_NULL },
	{ "after", NULL, SHAPE_TEXT(proof_change, after) });

struct window_figure {
	const struct bench_figure *figure;
	bool decides;
};

static const void *window_figures(struct arena *a, const void *object, size_t *n)
{
	const struct window *w = object;
	struct window_figure *out = arena_array(a, w->n_figures, sizeof(*out));

	for (*n = 0; *n < w->n_figures; ++*n)
		out[*n] = (struct window_figure){ &w->figures[*n], *n == w->main };
	return out;
}

static const void *window_argv(struct arena *a, const void *object, size_t *n)
{
	static const char *const none[] = { NULL };
	const char *const *argv = ((const struct window *)object)->argv;

	(void)a;
	while (argv && argv[*n])
		++*n;
	return argv ? argv : none;
}

static const char *const betters[] = { "higher", "lower" }, *const window_kinds[] = { "bench", "command" };

#define OF_FIGURE SHAPE_VIA(window_figure, figure, bench_figure)
static const struct shape window_figure_shape = SHAPE_OF(window_figure, window_figure,
	{ "key", NULL, SHAPE_TEXT(bench_figure, key), OF_FIGURE },
	{ "title", NULL, SHAPE_TEXT(bench_figure, title), OF_FIGURE },
	{ "unit", NULL, SHAPE_TEXT(bench_figure, unit_text), OF_FIGURE },
	{ "better", NULL, SHAPE_CHOICE(bench_figure, better, betters), OF_FIGURE },
	{ "decides", NULL, SHAPE_FLAG(window_figure, decides) });

static const struct shape window_shape = SHAPE_OF(window, window,
	{ "kind", NULL, SHAPE_TEXT(window, kind), SHAPE_NAMES(window_kinds) },
	{ "name", NULL, SHAPE_TEXT(window, name) },
	{ "metric", NULL, SHAPE_TEXT(window, of) },
	{ "setup", NULL, SHAPE_TEXT(window, setup) },
	{ "version", "Version of the bench's method.", SHAPE_COUNT(window, version) },
	{ "argv", "Of a command.", SHAPE_TEXTS_MADE(window_argv) },
	{ "window_s", NULL, SHAPE_REAL(window, seconds), .unknown = SHAPE_ZERO },
	{ "figures", NULL, SHAPE_LIST_MADE(window_figures, window_figure) });

/* A number of 64 bits is not safe everywhere. */
static const void *proof_seed(struct arena *a, const void *object, size_t *n)
{
	(void)n;
	return arena_printf(a, "%" PRIu64, ((const struct proof *)object)->seed);
}

static const struct shape proof_rule_shape = SHAPE_OF(proof, proof_rule,
	{ "min_effect", NULL, SHAPE_REAL(proof, rule.min_effect) },
	{ "alpha", NULL, SHAPE_REAL(proof, rule.alpha) },
	{ "looks", NULL, SHAPE_COUNT_ARRAY(proof, rule.looks, rule.n_looks) },
	{ "seed", NULL, SHAPE_TEXT_MADE(proof_seed) });

static const char *const same_kinds[] = { "ok", "biased", "coarse", "short" };
static const struct shape same_shape = SHAPE_OF(proof, same,
	EFFECT_ROWS(same, proof, same.),
	{ "result", NULL, SHAPE_CHOICE(proof, same.kind, same_kinds) },
	{ "pairs", NULL, SHAPE_COUNT(proof, same_pairs.n) },
	{ "resolution", NULL, SHAPE_REAL(proof, same.resolution), .unknown = SHAPE_NULL });

static const struct shape proof_guard_shape = SHAPE_OF(proof_guard, proof_guard,
	EFFECT_ROWS(guard, proof_guard, guard.),
	{ "figure", NULL, SHAPE_TEXT(proof_guard, key) },
	{ "veto", NULL, SHAPE_FLAG(proof_guard, guard.veto) },
	{ "early", NULL, SHAPE_FLAG(proof_guard, guard.early) });

const struct shape screen_effect_shape = SHAPE_OF(screen_effect, screen_effect,
	EFFECT_ROWS(screened, screen_effect,));
const struct shape screen_member_shape = SHAPE_OF(screen_member, screen_member,
	EFFECT_ROWS(confirmed, screen_member,),
	{ "pairs", NULL, SHAPE_COUNT(screen_member, n) });

SHAPE_GIVES(bool, member_stays, proof_member, x->state >= MEMBER_STAYS)
SHAPE_GIVES(bool, member_shown, proof_member, x->state == MEMBER_SHOWN)

static const char *const screen_notes[] = { "keep", "drop", "hurts", "open" };
static const struct shape proof_member_shape = SHAPE_OF(proof_member, proof_member,
	{ "id", NULL, SHAPE_TEXT(proof_member, id) },
	{ "stays", NULL, SHAPE_FLAG_OF(member_stays) },
	{ "shown", "true: its share of the set's gain was proven, by mixtures or as the only setting.",
	  SHAPE_FLAG_OF(member_shown) },
	{ "fault", "Reason why the setting could not be measured.", SHAPE_TEXT(proof_member, fault),
	  .unknown = SHAPE_NULL },
	{ "screened", NULL, SHAPE_OBJECT(proof_member, effect, screen_effect), SHAPE_WHEN(proof_member, screened) },
	{ "screening", NULL, SHAPE_CHOICE(proof_member, effect.say, screen_notes), SHAPE_WHEN(proof_member, screened) },
	{ "confirmed", "Result of the whole set divided by the result without this setting and those left out with it.",
	  SHAPE_OBJECT(proof_member, member, screen_member), SHAPE_WHEN(proof_member, confirmed) },
	{ "left_out", "Number of settings left out together, including this one.", SHAPE_COUNT(proof_member, of),
	  SHAPE_WHEN(proof_member, confirmed), .later = true });

static const struct shape proof_conditions_shape = SHAPE_OF(record_conditions, proof_conditions,
	{ "others_before_cpus", NULL, SHAPE_REAL(record_conditions, idle_others), .unknown = SHAPE_NEGATIVE },
	{ "others_cpus", NULL, SHAPE_REAL(record_conditions, others), .unknown = SHAPE_NEGATIVE },
	{ "steal_percent", NULL, SHAPE_REAL(record_conditions, steal_percent), .unknown = SHAPE_NEGATIVE },
	{ "temperature_c", NULL, SHAPE_REAL(record_conditions, after.temp_c), .unknown = SHAPE_NULL });

static const char *const sides[] = { "a", "b" };
static const struct shape proof_window_shape = SHAPE_OF(proof_window, proof_window,
	{ "part", NULL, SHAPE_CHOICE_BY(proof_window, part, proof_part_name, PART_CONFIRM + 1) },
	{ "pair", "Number of the window within its part.", SHAPE_COUNT(proof_window, pair) },
	{ "state", "Active settings.", SHAPE_TEXT(proof_window, state) },
	{ "side", NULL, SHAPE_EITHER(proof_window, b, sides) },
	{ "at_s", NULL, SHAPE_REAL(proof_window, at_s) },
	{ "samples", NULL, SHAPE_COUNT(proof_window, samples) },
	{ "values", "Figures in the order of measured_with.figures.",
	  SHAPE_REAL_ARRAY(proof_window, value, n), .unknown = SHAPE_NULL },
	{ "void", "Reason why the window is not used.", SHAPE_TEXT(proof_window, fault), .unknown = SHAPE_NULL });

const struct shape proof_shape = SHAPE_OF(proof, proof,
	{ "what", NULL, SHAPE_TEXT(proof, what) },
	{ "verdict", NULL, SHAPE_CHOICE_BY(proof, verdict, ruling_verdict, RULING_UNDECIDED + 1) },
	{ "why", NULL, SHAPE_TEXT(proof, why), .unknown = SHAPE_NULL },
	{ "effect", "Improvement with the change, as a ratio: 1.03 is 3 % better.",
	  SHAPE_OBJECT(proof, compared.ruling, ruling) },
	{ "kept", NULL, SHAPE_FLAG(proof, kept) },
	{ "transaction", "Transaction with the kept changes.", SHAPE_COUNT(proof, txn), .unknown = SHAPE_ZERO },
	{ "trouble", "Values that could not be restored.", SHAPE_TEXT(proof, trouble), .unknown = SHAPE_NULL },
	{ "foreign", "Changes that others made during the A/B test; these changes stay.",
	  SHAPE_TEXT(proof, foreign), .unknown = SHAPE_NULL },
	{ "partial", "true: the A/B test was interrupted.", SHAPE_FLAG(proof, stopped) },
	{ "changes", NULL, SHAPE_LIST(proof, changes, n_changes, proof_change) },
	{ "measured_with", NULL, SHAPE_OBJECT(proof, window, window) },
	{ "rule", NULL, SHAPE_PART(proof_rule_shape) },
	{ "same", "The machine compared with itself.", SHAPE_PART(same_shape), SHAPE_WHEN(proof, same_done) },
	{ "guards", NULL, SHAPE_ARRAY(proof, compared.guards, compared.n_guards, proof_guard) },
	{ "members", "Results of each setting, or of each value of one setting.",
	  SHAPE_LIST(proof, members, n_members, proof_member) },
	{ "steady", NULL, SHAPE_FLAG(proof, warm) },
	{ "settle_s", NULL, SHAPE_REAL(proof, settle_s) },
	{ "budget_s", NULL, SHAPE_REAL(proof, budget_s) },
	{ "took_s", NULL, SHAPE_REAL(proof, took_s) },
	{ "switches", NULL, SHAPE_COUNT(proof, switches) },
	{ "machine", NULL, SHAPE_TEXT(proof, machine.machine), .unknown = SHAPE_NULL },
	{ "fingerprint", NULL,
	  SHAPE_LIST(proof, machine.fingerprint, machine.n_fingerprint, record_pair), SHAPE_BY(record_pair, name) },
	{ "conditions", NULL, SHAPE_OBJECT_AS(proof, conditions, record_conditions, proof_conditions_shape) },
	{ "windows", NULL, SHAPE_LIST(proof, windows, n_windows, proof_window) });

const struct result_shape prove_result = {
	.name = "prove", .title = "gputune prove",
	.meaning = "Effect of changed settings on this machine: the verdict, and every window in the order of "
		"measurement.",
	.shape = &proof_shape, .host = &host_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 4 | 1u << 5,
};
