/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What persist remove says of the running machine: a file that is gone sets nothing at the next
 * boot, but what it has set at this one is in effect until somebody takes it back. The journal has
 * these values in transactions of the boot, with the originals; see tune/txn/boot.h.
 */
#include <string.h>
#include <unistd.h>

#include "front/verbs/persist.h"
#include "tune/txn/boot.h"

enum { NAMED = 3 };

static bool is_of(const struct kept *rows, size_t n, const struct knob *k)
{
	for (size_t i = 0; i < n; i++)
		if (knob_equal(&rows[i].knob, k))
			return true;
	return !n;
}

/* Values of the boot files that the machine holds now, into the view. */
static void find(struct persisting *s, const struct kept *only, size_t n_only)
{
	struct persist_view *v = &s->view;
	struct arena *a = &s->r->arena;
	struct journal j;
	struct hold_row *rows;
	struct kept *found = NULL;
	struct err ignored = { 0 };
	size_t n;

	v->n_in_effect = 0;
	if (journal_load(s->h, a, false, &j, &ignored))
		return;
	txn_status(s->h, a, &j, &rows, &n);
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = rows[i].e;

		if (strcmp(rows[i].t->op, TXN_BOOT) != 0 || !is_of(only, n_only, &e->knob) ||
		    (rows[i].hold != HOLD_OURS && rows[i].hold != HOLD_UNKNOWN))
			continue;
		found = arena_grow(a, found, v->n_in_effect, sizeof(*found));
		found[v->n_in_effect++] = (struct kept){ .id = e->id,
							 .target = e->target,
							 .knob = e->knob,
							 .value = e->after,
							 .before = e->before,
							 .by = "" };
	}
	v->in_effect = found;
}

static const char *named(struct arena *a, const struct persist_view *v)
{
	const char *out = "";

	for (size_t i = 0; i < v->n_in_effect && i < NAMED; i++)
		out = arena_printf(a, "%s%s%s", out, i ? ", " : "", v->in_effect[i].id);
	return v->n_in_effect > NAMED ? arena_printf(a, "%s, ...", out) : out;
}

/* With --yes alone nobody has agreed to more than the files. */
static bool is_asked_for(struct persisting *s)
{
	struct run *r = s->r;
	const struct persist_view *v = &s->view;

	if (!v->n_in_effect || r->value[OPT_NOW])
		return v->n_in_effect > 0;
	if (r->value[OPT_YES] || r->value[OPT_DRY_RUN] || !isatty(STDIN_FILENO))
		return false;
	return run_agreed(r, arena_printf(&r->arena,
					  "%zu value%s that the files have set at boot %s still in "
					  "effect (%s). Take %s back now?",
					  v->n_in_effect, v->n_in_effect == 1 ? "" : "s",
					  v->n_in_effect == 1 ? "is" : "are", named(&r->arena, v),
					  v->n_in_effect == 1 ? "it" : "them"));
}

int persist_now(struct persisting *s, const struct kept *only, size_t n_only, struct err *e)
{
	struct txn_select select = { .all = true,
				     .op = TXN_BOOT,
				     .dry = s->r->value[OPT_DRY_RUN] != NULL };
	struct txn_who who = run_who(s->r);
	struct knob *knobs;
	int result;

	find(s, only, n_only);
	if (!is_asked_for(s))
		return 0;
	knobs = arena_array(&s->r->arena, s->view.n_in_effect, sizeof(*knobs));
	for (size_t i = 0; i < s->view.n_in_effect; i++)
		knobs[i] = s->view.in_effect[i].knob;
	select.knobs = knobs;
	select.n_knobs = s->view.n_in_effect;
	/* That no file was left to take away is no error of this. */
	*e = (struct err){ 0 };
	result = txn_undo(s->h, &s->r->arena, &select, &who, &s->view.now, e);
	if (!select.dry)
		find(s, only, n_only);
	return result;
}
