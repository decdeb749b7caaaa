/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a proof: the verdict first, then what it rests on. */
#include "measure/prove/page_prove.h"
#include "measure/prove/figures_proof.h"

#include <math.h>
#include <string.h>

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

static void headline(struct doc *d, const struct proof *p)
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
	node_span(d, line, cell_printf(d, STYLE_PLAIN, " on %s.", p->window.name));
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

static void changes(struct doc *d, const struct proof *p)
{
	static const struct column columns[] = {
		{ .title = "Setting" },
		{ .title = "On" },
		{ .title = "Without", .wrap = true },
		{ .title = "With", .wrap = true },
	};
	struct node *t = doc_table(d, NULL, columns, 4);

	for (size_t i = 0; i < p->n_changes; i++) {
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_CODE, p->changes[i].id);
		c[1] = cell(p->changes[i].target);
		c[2] = p->changes[i].before ? cell(p->changes[i].before)
					    : cell_as(STYLE_UNKNOWN, "unknown");
		c[3] = cell(p->changes[i].after);
	}
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

static void figures(struct doc *d, const struct proof *p)
{
	static const struct column columns[] = {
		{ .title = "Figure", .wrap = true }, { .title = "Without", .right = true },
		{ .title = "With", .right = true },  { .title = "Better by", .right = true },
		{ .title = "", .wrap = true },
	};
	struct node *t = doc_table(d, NULL, columns, 5);
	const struct compared *c = &p->compared;

	for (size_t i = 0; c->pairs.n && i < p->window.n_figures; i++) {
		struct cell *x = node_row(d, t);

		x[0] = cell(p->window.figures[i].title);
		x[1] = cell(level_text(d->arena, p, i, false));
		x[2] = cell(level_text(d->arena, p, i, true));
		if (i == p->window.main)
			x[3] = cell(effect_text(d->arena, c->ruling.ratio, c->ruling.low,
						c->ruling.high));
		for (size_t k = 0; k < c->n_guards; k++) {
			const struct guard *g = &c->guards[k].guard;

			if (c->guards[k].figure != i)
				continue;
			x[3] = cell(effect_text(d->arena, g->ratio, g->low, g->high));
			x[4] = g->veto	  ? cell_as(STYLE_BAD, "gets worse")
			       : g->early ? cell_as(STYLE_MUTED, "too few pairs to say")
					  : cell_as(STYLE_MUTED, "not worse");
		}
	}
}

static const char *said(const struct proof_member *m)
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

static void members(struct doc *d, const struct proof *p)
{
	static const struct column columns[] = {
		{ .title = "Setting", .wrap = true },
		{ .title = "Screened", .right = true },
		{ .title = "Confirmed", .right = true },
		{ .title = "", .wrap = true },
	};
	struct node *t = p->many ? doc_table(d, NULL, columns, 4) : NULL;

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
		c[3] = cell_as(m->state >= MEMBER_STAYS ? STYLE_GOOD : STYLE_MUTED, said(m));
	}
}

static void grounds(struct doc *d, const struct proof *p)
{
	struct node *pairs = doc_pairs(d, NULL);
	struct arena *a = d->arena;
	size_t faults = 0;

	for (size_t i = 0; i < p->n_windows; i++)
		faults += p->windows[i].fault != NULL;
	node_pair(d, pairs, "Measured with",
		  cell_printf(d, STYLE_PLAIN, "%s%s%s%s%s", p->window.name,
			      *p->window.of ? ", " : "", p->window.of, *p->window.setup ? ", " : "",
			      p->window.setup));
	node_pair(d, pairs, "Pairs",
		  cell_printf(d, STYLE_PLAIN, "%zu that count, %zu windows in all%s",
			      p->compared.pairs.n, p->n_windows,
			      faults ? arena_printf(a, ", %zu void", faults) : ""));
	if (p->same_done && p->same_pairs.n)
		node_pair(d, pairs, "The machine against itself",
			  cell_printf(d, STYLE_PLAIN, "%s in %zu pairs; resolves about %s",
				      effect_text(a, p->same.ratio, p->same.low, p->same.high),
				      p->same_pairs.n, share_text(a, p->same.resolution)));
	if (!p->warm)
		node_pair(d, pairs, "Warm-up", cell_as(STYLE_WARN, "never steady"));
	node_pair(d, pairs, "What matters",
		  cell_printf(d, STYLE_PLAIN, "%s or more; wrong at most %.0f times in 100",
			      share_text(a, p->rule.min_effect), p->rule.alpha * 100));
	node_pair(d, pairs, "Time",
		  cell_printf(d, STYLE_PLAIN, "%.0f s of %.0f s, %.3g s after each of %zu switches",
			      p->took_s, p->budget_s, p->settle_s, p->switches));
	node_pair(d, pairs, "Seed",
		  cell_printf(d, STYLE_PLAIN, "%llu", (unsigned long long)p->seed));
}

static void end(struct doc *d, const struct proof *p)
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

	headline(d, p);
	changes(d, p);
	figures(d, p);
	members(d, p);
	figures_proof(d, p);
	grounds(d, p);
	end(d, p);
	return d;
}
