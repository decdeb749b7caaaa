/* SPDX-License-Identifier: Apache-2.0 */
/* Carrying over what files of ours have set at boot, and closing what went with an earlier boot. */
#include "tune/txn/boot.h"

#include <string.h>

#include "base/arena.h"
#include "machine/knob/io.h"
#include "tune/persist/persist.h"
#include "tune/txn/layer.h"
#include "tune/txn/txn.h"

int boot_id_read(struct host *h, struct arena *a, const char **out)
{
	char buf[64];
	int r = host_read_line(h, BOOT_ID, buf, sizeof(buf));

	*out = r ? "" : arena_strdup(a, buf);
	return r == -ENOENT || r == -ENOTDIR || r == HOST_NOT_CAPTURED ? 0 : r;
}

const char *boot_id_of(struct host *h, struct arena *a)
{
	const char *id;

	(void)boot_id_read(h, a, &id);
	return id;
}

bool boot_differs(const struct transaction *t, const char *boot_id)
{
	return *boot_id && t->boot_id && strcmp(t->boot_id, boot_id) != 0;
}

/* One runtime knob: what earlier boots have of it, and what this one says. */
struct carried {
	struct entry **old; /* active, oldest first */
	size_t n;
	bool asked;   /* a request names it */
	bool over;    /* this boot has decided already, or has its own entry */
	bool waits;   /* it has no getter; the unit that sets it records it */
	bool decided; /* it is carried over */
};

struct carrying {
	struct host *h;
	struct arena *a;
	struct journal *j;
	const char *boot_id;
	struct journal_writer *w;
	struct map knobs;
	struct transaction *now; /* TXN_BOOT of this look; NULL: nothing to say yet */
};

static struct carried *carried_of(struct carrying *c, const struct knob *k)
{
	const char *key = arena_printf(c->a, "%d %s\n%s", (int)k->kind, k->name, k->object);
	void **at = map_at(c->a, &c->knobs, key);

	if (!*at)
		*at = ARENA_NEW(c->a, struct carried);
	return *at;
}

static void txn_boot_gather(struct carrying *c)
{
	for (size_t i = 0; i < c->j->n; i++)
		for (size_t k = 0; k < c->j->items[i].n; k++) {
			const struct transaction *t = &c->j->items[i];
			struct entry *e = &t->entries[k];
			struct carried *of;

			if (e->unread || !knob_is_runtime(e->knob.kind))
				continue;
			of = carried_of(c, &e->knob);
			if (!boot_differs(t, c->boot_id)) {
				of->over = of->over || strcmp(t->op, TXN_BOOT) == 0;
				continue;
			}
			/* What another writer had set by then went too: nothing to force. */
			if (!entry_is_active(e)) {
				e->note = "lost at reboot";
				continue;
			}
			ARENA_ADD(c->a, of->old, of->n) = e;
		}
}

/* --- carrying over ---------------------------------------------------------------------------- */

/* The transaction of this boot, begun with its first entry. */
static struct transaction *txn_boot_begin(struct carrying *c)
{
	struct journal *j = c->j;

	if (c->now)
		return c->now;
	c->now = &ARENA_ADD(c->a, j->items, j->n);
	*c->now = (struct transaction){ .txn = j->next++,
					.op = TXN_BOOT,
					.boot_id = c->boot_id,
					.time_s = c->h->id.time_s,
					.reason = "set by gputune's boot files",
					.state = TRANSACTION_APPLIED };
	if (c->w)
		write_begin(c->w, c->now, 0);
	return c->now;
}

static struct entry *txn_boot_add(struct carrying *c, const struct persist_entry *row,
				  const struct entry *like, const char *before)
{
	const char *place = knob_place(c->h, c->a, &row->knob);
	struct transaction *t = txn_boot_begin(c);
	struct entry *e;

	e = &ARENA_ADD(c->a, t->entries, t->n);
	*e = (struct entry){ .txn = t->txn,
			     .seq = (unsigned)t->n,
			     .id = row->id,
			     .target = like ? like->target : row->target,
			     .knob = row->knob,
			     .place = *place || !like ? place : like->place,
			     .before = before,
			     .after = row->value,
			     .of = like ? like->of ? like->of : like->txn : 0 };
	return e;
}

/* What the write resets besides, as it is in this boot. */
static void add_side_effects(struct carrying *c, struct entry *e, const struct entry *like)
{
	e->n_sides = like ? like->n_sides : 0;
	e->sides = arena_array(c->a, e->n_sides, sizeof(*e->sides));
	for (size_t i = 0; i < e->n_sides; i++) {
		struct err ignored = { 0 };

		e->sides[i] = like->sides[i];
		if (knob_get(c->h, c->a, &e->sides[i].knob, &e->sides[i].left, &ignored))
			e->sides[i].left = NULL;
	}
}

/* Newest first: where a part of these lines is lost, what is left open has the original. */
static void close_old(struct carrying *c, struct carried *of, const char *note, bool lost)
{
	for (size_t i = of->n; i-- > 0;) {
		struct entry *e = of->old[i];

		if (lost && !c->w) {
			e->lost = true;
			continue;
		}
		e->state = ENTRY_UNDONE;
		e->note = note;
		if (c->w)
			write_undone(c->w, e, c->now ? c->now->txn : 0);
	}
}

/* It is in effect: because of our file, and not because it was so before. */
static void carry(struct carrying *c, struct carried *of, const struct persist_entry *row,
		  const char *now)
{
	const struct entry *like = NULL;
	const char *before =
		layer_original(c->a, c->j, &row->knob, of->n ? of->old[0]->before : row->before);
	struct entry *e;

	of->decided = true;
	for (size_t i = of->n; i-- > 0 && !like;)
		if (knob_same(&row->knob, of->old[i]->after, row->value))
			like = of->old[i];
	if (before && knob_same(&row->knob, before, row->value)) {
		close_old(c, of, "lost at reboot", true);
		return;
	}
	e = txn_boot_add(c, row, like, before);
	add_side_effects(c, e, like);
	e->read = now;
	e->state = ENTRY_DONE;
	if (c->w) {
		write_intend(c->w, c->now, e);
		write_done(c->w, e);
	}
	close_old(c, of, arena_printf(c->a, "carried over to transaction %lu", e->txn), false);
}

/* It is not: whoever sets it from now on is not us. */
static void pass_over(struct carrying *c, struct carried *of, const struct persist_entry *row)
{
	struct entry *e = txn_boot_add(c, row, of->n ? of->old[of->n - 1] : NULL,
				       of->n ? of->old[0]->before : row->before);

	e->state = ENTRY_UNDONE;
	e->note = "not in effect at boot";
	of->over = true;
	if (c->w) {
		write_intend(c->w, c->now, e);
		write_undone(c->w, e, e->txn);
	}
}

static void txn_boot_look(struct carrying *c, const struct persist_entry *row)
{
	struct carried *of;
	struct err ignored = { 0 };
	const char *now = NULL;
	int code;

	if (row->knob.kind == KNOB_NONE || !knob_is_runtime(row->knob.kind))
		return;
	of = carried_of(c, &row->knob);
	of->asked = true;
	if (of->over || of->decided)
		return;
	code = knob_get(c->h, c->a, &row->knob, &now, &ignored);
	/* Without a getter it may be in effect; its reset does no harm where it is not. What was
	 * never applied is recorded by the unit that sets it at boot. */
	if (code == -ENODATA && !of->n)
		of->waits = true;
	/* Away, or not to be seen just now, it may be in effect when the request is gone: undo
	 * compares. */
	else if (code || knob_same(&row->knob, now, row->value))
		carry(c, of, row, code ? NULL : now);
}

/* A request that cannot be read may name anything: what is as we left it is taken for ours. */
static void look_at_all(struct carrying *c)
{
	for (size_t i = 0; i < c->knobs.cap; i++) {
		const struct carried *of = c->knobs.slots[i].value;
		const struct entry *e = of && of->n ? of->old[of->n - 1] : NULL;

		if (e)
			txn_boot_look(c, &(struct persist_entry){ .id = e->id,
								  .target = e->target,
								  .knob = e->knob,
								  .value = e->after });
	}
}

/* --- requests --------------------------------------------------------------------------------- */

struct requests {
	struct persist_entry **rows; /* of each, newest first */
	size_t *sizes;
	size_t n;
	bool unsure; /* one cannot be read */
};

static void add_request(struct carrying *c, struct requests *out, const struct entry *e)
{
	struct err ignored = { 0 };
	struct persist_entry *rows = NULL;
	const char *text;
	unsigned mode;
	size_t len, n = 0;

	if (!knob_file_parse(c->a, e->after, &mode, &text, &len) ||
	    persist_request_read(c->a, text, len, &rows, &n, &ignored)) {
		out->unsure = true;
		return;
	}
	out->rows = arena_grow(c->a, out->rows, out->n, sizeof(*out->rows));
	out->sizes = arena_grow(c->a, out->sizes, out->n, sizeof(*out->sizes));
	out->rows[out->n] = rows;
	out->sizes[out->n++] = n;
}

/* Applied, and no undo of it has begun: the files are the ones that it wrote. */
static bool is_whole(const struct transaction *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->entries[i].state != ENTRY_DONE || t->entries[i].undoing)
			return false;
	return t->state == TRANSACTION_APPLIED;
}

/*
 * The requests that files of ours may have followed when this boot began: the newest whose
 * transaction is whole, and those above it, of which a crash or an undo left a part. It is the
 * first file that persist writes and the last that it takes away, so that it names whatever lies
 * beside it.
 */
static struct requests requests_of(struct carrying *c)
{
	const struct knob file = { KNOB_FILE, PERSIST_REQUEST, "" };
	struct requests out = { 0 };

	for (size_t i = c->j->n; i-- > 0;) {
		const struct transaction *t = &c->j->items[i];

		for (size_t k = t->n; boot_differs(t, c->boot_id) && k-- > 0;) {
			const struct entry *e = &t->entries[k];

			if (!entry_is_active(e) || e->unread || !knob_equal(&e->knob, &file))
				continue;
			add_request(c, &out, e);
			if (is_whole(t))
				return out;
		}
	}
	return out;
}

void boot_carry_over(struct host *h, struct arena *a, struct journal *j, const char *boot_id,
		     struct journal_writer *w)
{
	struct carrying c = { .h = h, .a = a, .j = j, .boot_id = boot_id, .w = w };
	struct requests requests = requests_of(&c);

	txn_boot_gather(&c);
	for (size_t r = 0; r < requests.n; r++)
		for (size_t i = 0; i < requests.sizes[r]; i++)
			txn_boot_look(&c, &requests.rows[r][i]);
	if (requests.unsure)
		look_at_all(&c);
	for (size_t r = 0; r < requests.n; r++)
		for (size_t i = 0; i < requests.sizes[r]; i++) {
			struct carried *of = carried_of(&c, &requests.rows[r][i].knob);

			if (of->asked && !of->over && !of->decided && !of->waits)
				pass_over(&c, of, &requests.rows[r][i]);
		}
	for (size_t i = 0; i < c.knobs.cap; i++) {
		struct carried *of = c.knobs.slots[i].value;

		if (of && !of->decided)
			close_old(&c, of, "lost at reboot", true);
	}
	if (c.now && w)
		write_end(w, c.now->txn, TRANSACTION_APPLIED);
}

void txn_carry_over(struct host *h, struct arena *a, struct journal *j)
{
	boot_carry_over(h, a, j, boot_id_of(h, a), NULL);
}
