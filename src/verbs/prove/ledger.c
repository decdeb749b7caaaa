/* SPDX-License-Identifier: Apache-2.0 */
/* What stays of a proof besides its result: rows of the ledger. */
#include "base/json.h"
#include "verbs/prove/prove.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "measure/prove/ledger.h"

enum { TARGETS_MAX = 64 };

struct keeping {
	struct proving *g;
	struct ledger_row row; /* what all rows share */
	const char *dir;
	int failed;
};

/* Commands, patterns and files may name people and places; of the machine its hardware stays. */
static void contribute_row(const struct proving *g, struct ledger_row row)
{
	const char *text;

	row.command = row.command ? row.job ? row.job : "unknown" : NULL;
	row.where.machine = row.where.hardware;
	row.where.name = "";
	row.figure = g->proof.window.figures[g->proof.window.main].key;
	if (strchr(row.setting, ':') && !strstr("default vendor published", row.setting + 8))
		row.setting = "profile:own";
	text = json_take_text(g->d->arena, result_shape_json(&ledger_result, &row, 0, 0),
			      JSON_COMPACT);
	fprintf(g->contribute, "%s\n", text ? text : "");
}

static void store_row(struct keeping *k, const struct ledger_row *row)
{
	struct err e = { 0 };

	if (k->g->contribute)
		contribute_row(k->g, *row);
	if (k->failed)
		return;
	k->failed = ledger_add(k->g->h, k->dir, row, &e);
	if (k->failed)
		door_warn(k->g->d, "cannot save the verdict: %s", e.text);
}

/* One row a target of the setting; of very many the setting alone. */
static void store_targets(struct keeping *k, const char *id, struct ledger_row row)
{
	const struct proof *p = &k->g->proof;
	size_t n = 0;

	for (size_t i = 0; i < p->n_changes; i++)
		n += strcmp(p->changes[i].id, id) == 0;
	row.setting = id;
	if (n == 0 || n > TARGETS_MAX) {
		store_row(k, &row);
		return;
	}
	for (size_t i = 0; i < p->n_changes; i++) {
		const struct proof_change *c = &p->changes[i];
		const char *last = i ? p->changes[i - 1].target : "";

		/* A setting may write several knobs of one target. */
		if (strcmp(c->id, id) != 0 ||
		    (i && strcmp(p->changes[i - 1].id, id) == 0 && strcmp(last, c->target) == 0))
			continue;
		row.target = c->target;
		row.before = c->before;
		row.after = c->after;
		store_row(k, &row);
	}
}

static size_t screened_pairs(const struct proof *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_windows; i++)
		n += p->windows[i].part == PART_SCREEN && !p->windows[i].fault;
	return n / 2;
}

/* Only what was proven of it by itself: of one that stays beside others that may be what helps,
 * nothing is known. What was left alone in the end is what the whole was. */
static void store_member(struct keeping *k, const struct proof_member *m, bool alone)
{
	struct ledger_row row = k->row;

	if (!m->screened)
		return;
	row.kept = row.kept && m->state >= MEMBER_STAYS;
	if (alone && m->state >= MEMBER_TRIED) {
		store_targets(k, m->id, row);
		return;
	}
	row.verdict = m->state == MEMBER_SHOWN				 ? RULING_HELPS
		      : m->member.hurts || m->effect.say == SCREEN_HURTS ? RULING_HURTS
									 : RULING_UNDECIDED;
	row.ratio = m->effect.ratio;
	row.low = m->effect.low;
	row.high = m->effect.high;
	row.pairs = screened_pairs(&k->g->proof);
	store_targets(k, m->id, row);
}

/* What never came to a comparison says nothing of the setting. */
static bool has_reported(const struct proof *p)
{
	return p->compared.ruling.pairs || p->verdict != RULING_UNDECIDED;
}

/* A profile by its name; other settings by those that were on, which may be fewer than were named.
 */
static void store_whole(struct keeping *k, size_t tried)
{
	const struct proof *p = &k->g->proof;
	struct ledger_row row = k->row;
	TEXT_AUTO joined = { 0 };

	/* That none by itself is worth it says nothing of all together. */
	if (!has_reported(p) || (p->verdict == RULING_NO_DIFFERENCE && !p->compared.done))
		return;
	for (size_t i = 0; i < p->n_members; i++)
		if (p->members[i].state >= MEMBER_TRIED)
			text_printf(&joined, "%s%s", joined.len ? "+" : "", p->members[i].id);
	if (str_starts(p->what, "profile:"))
		row.verdict = p->verdict;
	else
		row.setting = joined.s;
	if (row.setting == p->what || tried > 1)
		store_row(k, &row);
}

/* Against what was kept, not against the machine as it was. */
static void store_rivals(struct keeping *k)
{
	const struct prove_engine *e = &k->g->engine;

	for (size_t i = 0; i < e->n_rivals; i++) {
		const struct compared *c = &e->rivals[i].compared;
		struct ledger_row row = k->row;

		if (!c->done || c->verdict == RULING_GO_ON || !c->ruling.pairs)
			continue;
		row.setting = e->rivals[i].id;
		row.after = e->rivals[i].value;
		row.verdict = c->verdict;
		row.ratio = c->ruling.ratio;
		row.low = c->ruling.low;
		row.high = c->ruling.high;
		row.pairs = c->ruling.pairs;
		row.kept = row.kept && e->rivals[i].won;
		store_row(k, &row);
	}
}

static void store_many(struct keeping *k)
{
	const struct proof *p = &k->g->proof;
	size_t tried = 0;

	/* Of the set that was compared; the others may leave the proof undecided. */
	if (p->compared.verdict != RULING_GO_ON)
		k->row.verdict = p->compared.verdict;
	for (size_t i = 0; i < p->n_members; i++)
		tried += p->members[i].state >= MEMBER_TRIED;
	for (size_t i = 0; i < p->n_members; i++)
		store_member(k, &p->members[i], tried == 1 && has_reported(p));
	store_whole(k, tried);
	store_rivals(k);
}

static void keep_rows(struct proving *g)
{
	const struct proof *p = &g->proof;
	const struct ruling *r = &p->compared.ruling;
	const struct window *w = &p->window;
	bool is_bench = strcmp(w->kind, "bench") == 0;
	struct keeping k = { .g = g,
			     .dir = g->ask->state.state ? door_state(g->d, &g->ask->state) : NULL };

	k.row = (struct ledger_row){ .setting = p->what,
				     .target = "",
				     .bench = is_bench ? w->name : NULL,
				     .command = is_bench ? NULL : w->name,
				     .job = g->job,
				     .figure = is_bench || w->n_figures > 1
						       ? w->figures[w->main].key
						       : w->of,
				     .unit = w->figures[w->main].unit_text,
				     .verdict = p->verdict,
				     .ratio = r->pairs ? r->ratio : 1,
				     .low = r->low,
				     .high = r->pairs ? r->high : (double)INFINITY,
				     .min_effect = p->rule.min_effect,
				     .pairs = r->pairs,
				     .seed = arena_printf(g->d->arena, "%016" PRIx64, p->seed),
				     .time_s = p->machine.time_s,
				     .kept = p->kept,
				     .version = GPUTUNE_VERSION };
	ledger_here(g->d->arena, g->h, g->planned.m, &k.row.where);
	if (p->many)
		store_many(&k);
	else
		store_targets(&k, p->what, k.row);
}

void prove_store(struct proving *g)
{
	const struct proof *p = &g->proof;

	/* No value looked better than the present one: nothing was proven. */
	if (p->n_members && !p->many && !p->compared.done)
		return;
	if (!p->stopped && (p->many || has_reported(p)))
		keep_rows(g);
}
