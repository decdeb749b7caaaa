/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs as charts: after over before, with the interval that decided. */
#include <math.h>
#include <string.h>

#include "measure/prove/proof.h"
#include "measure/prove/figures_proof.h"

static enum style style_of(enum ruling_kind k)
{
	return k == RULING_HELPS	   ? STYLE_GOOD
	       : k == RULING_HURTS	   ? STYLE_BAD
	       : k == RULING_NO_DIFFERENCE ? STYLE_PLAIN
					   : STYLE_UNKNOWN;
}

static struct chart_ratio ratio_row(const char *label, double ratio, double low, double high,
				    const char *verdict, enum style style)
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
		rows[c.n++] = ratio_row(label, r->ratio, r->low, r->high, ruling_name(r->verdict),
					style_of(r->verdict));
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
			rows[n++] = ratio_row(arena_printf(a, "guard: %s", key), g->guard.ratio,
					      g->guard.low, g->guard.high,
					      g->guard.veto ? "worse" : "not worse",
					      g->guard.veto ? STYLE_BAD : STYLE_PLAIN);
	}
	return n;
}

void figures_proof(struct doc *d, const struct proof *p)
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
		rows[c.n++] = ratio_row(p->what, p->compared.ruling.ratio, p->compared.ruling.low,
					p->compared.ruling.high, ruling_name(p->verdict),
					style_of(p->verdict));
	c.n += guard_rows(d->arena, p, rows + c.n);
	for (size_t i = 0; i < p->n_members; i++) {
		const struct proof_member *m = &p->members[i];

		if (m->confirmed)
			rows[c.n++] =
				ratio_row(m->id, m->member.ratio, m->member.low, m->member.high,
					  m->state >= MEMBER_STAYS ? "stays" : "goes",
					  m->state >= MEMBER_STAYS ? STYLE_GOOD : STYLE_PLAIN);
		else if (m->screened)
			rows[c.n++] = ratio_row(m->id, m->effect.ratio, m->effect.low,
						m->effect.high, "screened", STYLE_UNKNOWN);
	}
	chart_add_ratios(d, &c);
	pairs_of(d, p);
}
