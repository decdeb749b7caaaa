/* SPDX-License-Identifier: Apache-2.0 */
/* What is watched and by which policy, read anew whenever either changes; and what a hint means for
 * it. */
#include <malloc.h>
#include <string.h>

#include "base/text.h"
#include "tune/txn/txn.h"
#include "tune/watch/guard.h"

enum { SETTLE_MS = 200, DEVICE_MS = 2000 };

static void trouble(struct guard *g, const struct err *e)
{
	guard_say(g, EVENT_TROUBLE, NULL, NULL, NULL)->note = arena_strdup(&g->round, e->text);
}

/* --- what is watched ---------------------------------------------------------------------------
 */

static void listen(struct guard *g)
{
	static const char *const folders[] = { TXN_DIR, "/etc/sysctl.d", "/etc/default/grub.d",
					       "/etc/kernel", "/etc/systemd/system" };
	size_t n = sizeof(folders) / sizeof(folders[0]);
	struct mark *marks = arena_array(&g->round, g->items.n + n, sizeof(*marks));
	bool gpus = false;

	for (size_t i = 0; i < n; i++)
		marks[i] = (struct mark){ folders[i], true };
	for (size_t i = 0; i < g->items.n; i++) {
		const struct item *it = &g->items.list[i];

		gpus = gpus || (it->knob.kind == KNOB_NVML && g->policy.gpu_events);
		if (it->path)
			marks[n++] = (struct mark){ it->path, false };
	}
	g->w->source->ops->listen(g->w->source, marks, n, gpus);
}

/* What is lost is not watched. */
static void tell_bad_lines(struct guard *g, const struct journal *j)
{
	struct err e = { 0 };

	if (j->bad_lines && j->bad_lines != g->bad_lines) {
		err_set(&e, 0, "%s: %zu line%s could not be read: what they held is not watched",
			TXN_JOURNAL, j->bad_lines, j->bad_lines == 1 ? "" : "s");
		trouble(g, &e);
	}
	g->bad_lines = j->bad_lines;
}

/* The old list stays when the journal cannot be read. */
void guard_load(struct guard *g)
{
	struct source *s = g->w->source;
	unsigned long long stamp = s->ops->stamp(s);
	struct arena scratch = { 0 };
	struct items old = g->items;
	struct err e = { 0 };
	struct journal j;

	g->journal_due = 0;
	if (journal_load(g->h, &scratch, false, &j, &e)) {
		if (!g->blind)
			trouble(g, &e);
		g->blind = true;
	} else {
		tell_bad_lines(g, &j);
		txn_carry_over(g->h, &scratch, &j);
		items_load(g->h, &g->items, &j, &old, g->w->only, g->w->n_only);
		g->blind = false;
	}
	g->stamp = stamp;
	g->loaded = true;
	arena_free(&scratch);
	/* A long journal is read in one piece, and is not needed any more. */
	malloc_trim(0);
	listen(g);
}

int guard_policy(struct guard *g, struct err *e)
{
	struct arena a = { 0 };
	struct policy p;
	int code = 0;

	policy_default(&p);
	if (g->w->policy_file && g->w->reaction < 0)
		code = policy_load(g->h, &a, g->w->policy_file, &p, e);
	if (code) {
		arena_free(&a);
		return code;
	}
	if (g->w->reaction >= 0)
		p.reaction = (enum reaction)g->w->reaction;
	if (g->w->interval_ms)
		p.interval_ms = g->w->interval_ms;
	if (p.max_interval_ms < p.interval_ms)
		p.max_interval_ms = p.interval_ms;
	arena_free(&g->policy_arena);
	g->policy_arena = a;
	g->policy = p;
	return 0;
}

static void reload_policy(struct guard *g)
{
	struct err e = { 0 };

	if (guard_policy(g, &e)) {
		trouble(g, &e);
		return;
	}
	for (size_t i = 0; i < g->items.n; i++) {
		struct item *it = &g->items.list[i];

		/* Asked again: what was given up or left counts as new. */
		if (it->state == ITEM_GIVEN_UP || it->state == ITEM_LEFT)
			it->state = ITEM_NEW;
		if (it->state == ITEM_CHANGED)
			item_set_now(it, NULL);
		if (it->past)
			it->past->n_tried = 0;
		it->gap = it->quiet_until = 0;
	}
	/* Whether GPUs are to be heard is in it, too. */
	listen(g);
	guard_say(g, EVENT_RELOADED, NULL, NULL, NULL)->note = "the policy was read again";
	g->quiet = 0;
	g->poll_due = guard_now(g);
}

/* --- hints -------------------------------------------------------------------------------------
 */

static void take_item(struct guard *g, struct item *it, const struct hint *h)
{
	long long due = guard_now(g) + (h->kind == HINT_DEVICE ? DEVICE_MS : SETTLE_MS);

	it->due = due > it->quiet_until ? due : it->quiet_until;
	it->via = h->via;
	if (h->who.pid || it->past)
		item_past(it)->who = h->who;
}

/* False: to stop. */
bool guard_take(struct guard *g, const struct hint *h)
{
	if (h->kind == HINT_STOP)
		return false;
	if (h->kind == HINT_RELOAD) {
		reload_policy(g);
		return true;
	}
	if ((h->kind == HINT_PATH && str_starts(h->what, TXN_DIR "/")) || h->kind == HINT_ALL)
		g->journal_due = guard_now(g) + SETTLE_MS;
	for (size_t i = 0; i < g->items.n; i++)
		if (item_is_named(&g->items.list[i], h))
			take_item(g, &g->items.list[i], h);
	/* A device that came back has other files than those that were listened to. */
	if (h->kind == HINT_DEVICE || h->kind == HINT_ALL)
		listen(g);
	return true;
}
