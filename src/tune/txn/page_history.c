/* SPDX-License-Identifier: Apache-2.0 */
/* The page of history: who changed what, when and why; newest first. */
#include <string.h>

#include "tune/plan/batch.h"
#include "render/figure.h"
#include "tune/txn/page_txn.h"

const struct transaction *history_find(const struct journal *j, unsigned long txn)
{
	for (size_t i = j->n; i > 0; i--)
		if (j->items[i - 1].txn == txn)
			return &j->items[i - 1];
	return NULL;
}

static enum style state_style(enum transaction_state s)
{
	switch (s) {
	case TRANSACTION_APPLIED:
		return STYLE_GOOD;
	case TRANSACTION_OPEN:
	case TRANSACTION_INCOMPLETE:
		return STYLE_BAD;
	default:
		return STYLE_MUTED;
	}
}

/* An open transaction of the journal is what a crash left. */
static const char *state_text(const struct transaction *t)
{
	return t->state == TRANSACTION_OPEN ? "interrupted" : transaction_state_name(t->state);
}

static void overview(struct doc *d, const struct journal *j)
{
	static const struct column columns[] = {
		{ .title = "Txn", .right = true },
		{ .title = "When" },
		{ .title = "Who" },
		{ .title = "What" },
		{ .title = "Profile" },
		{ .title = "State" },
		{ .title = "Changes", .right = true },
		{ .title = "Why", .wrap = true },
	};
	struct node *t = doc_table(d, NULL, columns, 8);
	size_t trials = 0;

	for (size_t i = j->n; i > 0; i--) {
		const struct transaction *it = &j->items[i - 1];
		struct cell *c;

		/* A proof makes dozens of them. */
		if (strcmp(it->op, TXN_PROVE) == 0 && it->state == TRANSACTION_ROLLED_BACK) {
			trials++;
			continue;
		}
		c = node_row(d, t);
		c[0] = cell_printf(d, STYLE_PLAIN, "%lu", it->txn);
		c[1] = cell(figure_time(d->arena, it->time_s));
		c[2] = cell(it->user);
		c[3] = cell(it->op);
		c[4] = cell(it->profile);
		c[5] = cell_as(state_style(it->state), state_text(it));
		c[6] = it->n ? cell_printf(d, STYLE_PLAIN, "%zu", it->n) : cell(NULL);
		c[7] = cell(it->reason);
	}
	node_drop_empty(t);
	if (trials)
		doc_text(d,
			 "%zu switches of proofs, all taken back, are not shown; --format json "
			 "lists "
			 "them.",
			 trials);
}

static void changes(struct doc *d, const struct machine *m, const struct transaction *t)
{
	static const struct column columns[] = {
		{ .title = "Setting" },
		{ .title = "On" },
		{ .title = "From", .wrap = true },
		{ .title = "To", .wrap = true },
		{ .title = "Read back", .wrap = true },
		{ .title = "State" },
		{ .title = "Note", .wrap = true },
	};
	struct node *table = doc_table(d, NULL, columns, 7);
	struct batch_row *keys = arena_array(d->arena, t->n, sizeof(*keys));
	struct batch *b;
	size_t n;

	for (size_t i = 0; i < t->n; i++) {
		const struct entry *e = &t->entries[i];
		const char *const key[] = { e->before, e->after, e->read,
					    entry_state_name(e->state), e->note };

		keys[i] = (struct batch_row){ e->id, e->target, &e->knob,
					      batch_key(d->arena, key, 5) };
	}
	b = batch_rows(d->arena, m, keys, t->n, &n);
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = &t->entries[b[i].first];
		struct cell *c = node_row(d, table);

		c[0] = cell_as(STYLE_CODE, b[i].what);
		c[1] = cell(b[i].on);
		c[2] = e->before ? cell(e->before) : cell_as(STYLE_UNKNOWN, "unknown");
		c[3] = cell(e->after);
		c[4] = cell(e->read);
		c[5] = cell_as(e->state == ENTRY_STUCK ? STYLE_BAD : STYLE_PLAIN,
			       entry_state_name(e->state));
		c[6] = cell(e->note);
	}
	node_drop_empty(table);
}

static void one(struct doc *d, const struct machine *m, const struct transaction *t)
{
	struct node *p = doc_pairs(d, NULL);

	node_pair(d, p, "Transaction", cell_printf(d, STYLE_STRONG, "%lu", t->txn));
	node_pair(d, p, "What", cell(t->op));
	node_pair(d, p, "When", cell(figure_time(d->arena, t->time_s)));
	node_pair(d, p, "Who", cell(t->user));
	node_pair(d, p, "Why", cell(t->reason));
	node_pair(d, p, "Profile", cell(t->profile));
	node_pair(d, p, "State", cell_as(state_style(t->state), state_text(t)));
	node_pair(d, p, "Boot", cell_as(STYLE_MUTED, t->boot_id));
	node_pair(d, p, "Program", cell_as(STYLE_MUTED, t->version));
	node_drop_empty(p);
	changes(d, m, t);
}

struct doc *page_history(struct arena *a, const struct machine *m, const struct journal *j,
			 const struct transaction *only)
{
	struct doc *d = doc_new(a);

	if (only)
		one(d, m, only);
	else if (j->n)
		overview(d, j);
	else if (!j->bad_lines)
		doc_text(d, "gputune has changed nothing on this machine.");
	if (j->bad_lines)
		doc_text(d,
			 "%zu line%s of the journal could not be read: the history may lack "
			 "something.",
			 j->bad_lines, j->bad_lines == 1 ? "" : "s");
	if (j->torn)
		doc_text(d, "The journal's last line was cut short by a crash.");
	return d;
}
