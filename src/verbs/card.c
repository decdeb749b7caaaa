/* SPDX-License-Identifier: Apache-2.0 */
/* gputune without a word, on a terminal: this machine as check and status see it. */
#include "base/text.h"
#include "verbs/change.h"
#include "verbs/page_check.h"

struct card_answer {
	const struct machine *m;
	struct profile profile;
	struct findings findings;
	struct plan plan;
	const char *active, *drifted; /* our settings, by their ids */
	const char *unread;	      /* why the journal says nothing; NULL: it does */
	bool interrupted;	      /* a transaction is incomplete */
};

static void add_id(struct text *t, const char *id, size_t n)
{
	enum { SHOWN = 4 };

	if (n <= SHOWN)
		text_printf(t, "%s%s", n > 1 ? ", " : "", id);
}

/* "5: gpu.clock-lock, ..." */
static const char *card_ids(struct arena *a, size_t n, const struct text *ids)
{
	return n ? arena_printf(a, "%zu: %s%s", n, ids->s, n > 4 ? ", ..." : "") : "none";
}

static void look_at_changes(struct door *d, struct host *h, struct card_answer *out)
{
	TEXT_AUTO active = { 0 };
	TEXT_AUTO drifted = { 0 };
	struct hold_row *rows;
	struct journal j;
	struct err e = { 0 };
	size_t n = 0, n_active = 0, n_drifted = 0;

	if (journal_load(h, d->arena, false, &j, &e)) {
		out->unread = arena_strdup(d->arena, e.text);
		return;
	}
	if (j.files.stale) {
		out->unread = "a change is under way or was interrupted";
		return;
	}
	if (txn_status(h, d->arena, &j, &rows, &n)) {
		out->unread = "the changes could not be compared with the machine";
		return;
	}
	for (size_t i = 0; i < j.n; i++)
		out->interrupted |= j.items[i].state == TRANSACTION_INCOMPLETE;
	for (size_t i = 0; i < n; i++) {
		if (i && rows[i].hold == rows[i - 1].hold &&
		    strcmp(rows[i].e->id, rows[i - 1].e->id) == 0)
			continue; /* the same on another target */
		if (rows[i].hold == HOLD_OURS)
			add_id(&active, rows[i].e->id, ++n_active);
		else if (hold_is_gone(rows[i].hold))
			add_id(&drifted, rows[i].e->id, ++n_drifted);
	}
	out->active = card_ids(d->arena, n_active, &active);
	out->drifted = n_drifted ? card_ids(d->arena, n_drifted, &drifted) : NULL;
}

struct card_ask {
	struct machine_ask machine;
};

static const struct ask_row card_ask_rows[] = { { ASK_PART(card_ask, machine, machine_ask) } };

static int card_answer(struct door *d, const struct card_ask *ask, struct card_answer *out)
{
	const struct door_look how = { .lean = true };
	struct plan_target w;
	HOST_AUTO *h = NULL;
	int code = door_profile(d, &(const struct profile_ask){ 0 }, &out->profile);

	if (code)
		return code;
	h = door_host(d, &ask->machine);
	if (!h)
		return -EXIT_USAGE;
	out->m = door_machine(d, h, &how);
	settings_check(d->arena, out->m, &out->profile, door_read_knob, h, &out->findings);
	w = door_target(d, h, &out->profile, NULL);
	plan_make(d->arena, out->m, &w, &out->findings, door_read_knob, door_exact_knob, h,
		  &out->plan);
	look_at_changes(d, h, out);
	return EXIT_CLEAN;
}

/* The one command that is most likely wanted now. */
static const char *card_next(struct arena *a, const struct card_answer *c)
{
	const char *words = c->interrupted		      ? "undo"
			    : c->drifted		      ? "status"
			    : plan_open_changes(&c->plan)     ? "plan"
			    : c->findings.count[VERDICT_FAIL] ? "check"
							      : "top";

	return machine_command(a, c->m, c->interrupted, "%s", words);
}

static struct doc *card_page(struct arena *a, const struct card_answer *c)
{
	const struct check_view how = { .part = CHECK_CARD, .plan = &c->plan };
	struct doc *d = page_check(a, c->m, &c->profile, &c->findings, &how);
	struct node *n = doc_pairs(d, NULL);

	if (c->unread)
		node_pair(d, n, "Changes in effect",
			  cell_as(STYLE_UNKNOWN, arena_printf(a, "unknown: %s", c->unread)));
	else
		node_pair(d, n, "Changes in effect", cell(c->active));
	if (c->drifted)
		node_pair(d, n, "Changed since", cell_as(STYLE_WARN, c->drifted));
	if (c->interrupted)
		node_pair(d, n, "Interrupted", cell_as(STYLE_BAD, "a change did not finish"));
	node_pair(d, n, "Next", cell_as(STYLE_CODE, card_next(a, c)));
	node_pair(d, n, "Help", cell_as(STYLE_CODE, "gputune help"));
	return d;
}

VERB_ANSWER(card_answer_any, card_answer, card_ask, card_answer)
VERB_PAGE_OF(card_page_any, card_page, card_answer)

/* clang-format off */
const struct verb card_verb = {
	.name = "card", .group = VERB_LOOK, .summary = "this machine at a glance",
	.ask = ASK_OF(card_ask, NULL, card_ask_rows), .answer = card_answer_any,
	.answer_size = sizeof(struct card_answer), .page = card_page_any, .prints = PRINTS_PAGE | PRINTS_QUIET,
};
