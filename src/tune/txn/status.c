/* SPDX-License-Identifier: Apache-2.0 */
/* What became of our changes: looks at every knob that the journal holds, and writes nothing. */
#include <string.h>

#include "machine/knob/io.h"
#include "tune/txn/layer.h"
#include "tune/txn/run.h"
#include "tune/txn/txn.h"
#include "tune/txn/boot.h"

const char *hold_name(enum hold h)
{
	static const char *const names[] = { "ours", "waits", "missed", "foreign",
					     "back", "lost",  "reset",	"unknown" };

	return names[h];
}

bool hold_is_gone(enum hold h)
{
	return h == HOLD_MISSED || h == HOLD_FOREIGN || h == HOLD_BACK || h == HOLD_LOST ||
	       h == HOLD_RESET;
}

const char *outcome_name(enum outcome o)
{
	static const char *const names[] = { "done",	  "clamped", "failed",	 "rolled-back",
					     "not-tried", "stuck",   "restored", "already",
					     "reset",	  "covered", "foreign",	 "gone" };

	return names[o];
}

/* What the running kernel was started with for a boot argument; NULL where that cannot be seen. */
static const char *booted_value(struct host *h, struct arena *a, const struct knob *k)
{
	struct kernel running = { 0 };
	char *line;

	if (host_read(h, "/proc/cmdline", HOST_READ_MAX, a, &line, NULL))
		return NULL;
	kernel_args_parse(a, line, &running.args);
	return knob_booted(&running, k);
}

const char *run_until_reboot(struct txn_run *r, const struct entry *e)
{
	return e->knob.kind == KNOB_BOOTARG &&
			       knob_same(&e->knob, booted_value(r->h, r->a, &e->knob), e->after)
		       ? "in effect until reboot"
		       : NULL;
}

static bool is_ours(const struct entry *e, const char *now)
{
	return knob_holds(&e->knob, now, e->after) ||
	       (e->read && knob_holds(&e->knob, now, e->read));
}

/* The later change of ours that has reset the knob to what it holds now, and is in force; NULL. */
static const struct entry *reset_by(struct host *h, struct arena *a, const struct journal *j,
				    const struct entry *e, const char *now)
{
	size_t i = 0;
	const struct entry *above = layer_resets((struct journal *)j, e, &i);
	struct err ignored = { 0 };
	const char *its;

	return above && above->sides[i].left && knob_same(&e->knob, now, above->sides[i].left) &&
			       is_ours(e, above->sides[i].before) &&
			       knob_get(h, a, &above->knob, &its, &ignored) == 0 &&
			       is_ours(above, its)
		       ? above
		       : NULL;
}

/* The knob holds what is ours. A boot argument is in force in a kernel that was started with it. */
static enum hold hold_of_ours(struct host *h, struct arena *a, struct hold_row *row)
{
	const struct entry *e = row->e;
	const char *booted;

	if (e->knob.kind != KNOB_BOOTARG)
		return HOLD_OURS;
	booted = booted_value(h, a, &e->knob);
	if (knob_same(&e->knob, booted, e->after))
		return HOLD_OURS;
	row->now = booted;
	return boot_differs(row->t, boot_id_of(h, a)) ? HOLD_MISSED : HOLD_WAITS;
}

static enum hold txn_status_judge(struct host *h, struct arena *a, const struct journal *j,
				  const struct entry *e, struct hold_row *row)
{
	const struct entry *reset;
	struct err ignored = { 0 };
	int code = knob_get(h, a, &e->knob, &row->now, &ignored);

	if (code) {
		row->now = NULL;
		return code == -ENODATA && e->lost ? HOLD_LOST : HOLD_UNKNOWN;
	}
	if (e->lost)
		return HOLD_LOST;
	/* A folder that we made and that holds something by now is there. */
	if (is_ours(e, row->now) || (e->knob.kind == KNOB_FILE && str_ends(e->knob.name, "/") &&
				     str_starts(row->now, e->after)))
		return hold_of_ours(h, a, row);
	reset = reset_by(h, a, j, e, row->now);
	if (reset) {
		row->by = arena_printf(a, "%s of transaction %lu", reset->id, reset->txn);
		return HOLD_RESET;
	}
	return e->before && knob_holds(&e->knob, row->now, e->before) ? HOLD_BACK : HOLD_FOREIGN;
}

int txn_status(struct host *h, struct arena *a, struct journal *j, struct hold_row **rows,
	       size_t *n)
{
	txn_carry_over(h, a, j);
	*rows = NULL;
	*n = 0;
	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; k < j->items[i].n; k++) {
			const struct transaction *t = &j->items[i];
			const struct entry *e = &t->entries[k];
			struct hold_row row = { .t = t, .e = e };

			/* Of several on one knob the newest is in force. */
			if (!entry_is_active(e) || layer_above(j, e) ||
			    strcmp(t->op, "persist") == 0)
				continue;
			row.hold = e->unread ? HOLD_UNKNOWN : txn_status_judge(h, a, j, e, &row);
			ARENA_ADD(a, *rows, *n) = row;
		}
	return 0;
}

/* Clock locks, from the journal into the facts. */

static void note_lock(struct arena *a, struct machine *m, const struct entry *e)
{
	bool memory = strcmp(e->knob.name, "memory-clock-lock") == 0;

	if (!memory && strcmp(e->knob.name, "gpu-clock-lock") != 0)
		return;
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (strcasecmp(g->pci, e->knob.object) == 0)
			*(memory ? &g->clock_mem_lock : &g->clock_sm_lock) = (struct fact_str){
				.f = { .seen = SEEN_OK,
				       .leaf = arena_printf(a, "journal, transaction %lu",
							    e->txn) },
				.v = e->after
			};
}

bool our_clock_locks(struct host *h, struct arena *a, struct machine *m, struct journal *j)
{
	struct err ignored = { 0 };
	const char *boot = boot_id_of(h, a);

	if (!*boot || journal_load(h, a, false, j, &ignored) || j->files.stale)
		return false;
	for (size_t i = 0; i < j->n; i++) {
		const struct transaction *t = &j->items[i];

		if (!t->boot_id || strcmp(t->boot_id, boot) != 0)
			continue;
		/* In the order of writing: the newest layer stands in the end. */
		for (size_t k = 0; k < t->n; k++)
			if (t->entries[k].knob.kind == KNOB_NVML &&
			    t->entries[k].state == ENTRY_DONE &&
			    strcmp(t->entries[k].after, "unlocked") != 0)
				note_lock(a, m, &t->entries[k]);
	}
	return true;
}
