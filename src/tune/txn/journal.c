/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the journal: lines to transactions. It is untrusted: bounded, and a line that makes no
 * sense is counted and left out. */
#include "tune/txn/journal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tune/txn/line.h"
#include "tune/txn/scan.h"
#include "tune/txn/store.h"

const char *entry_state_name(enum entry_state s)
{
	static const char *const names[] = { "intended", "done", "undone", "stuck" };

	return names[s];
}

const char *transaction_state_name(enum transaction_state s)
{
	static const char *const names[] = { "open", "applied", "rolled-back", "incomplete",
					     "undone" };

	return names[s];
}

bool transaction_holds(const struct transaction *t)
{
	return strcmp(t->op, "undo") != 0;
}

bool transaction_is_over(const struct transaction *t)
{
	return t->state == TRANSACTION_ROLLED_BACK || t->state == TRANSACTION_UNDONE;
}

struct reader {
	struct arena *a;
	struct journal *out;
	const char *text;  /* that is being read */
	unsigned long txn; /* of the stretch */
	size_t *at;	   /* by number: place in out->items, plus one */
};

static void note_bad(struct journal *out, size_t line)
{
	out->bad_at = out->bad_lines++ ? out->bad_at : line;
}

static size_t line_number(const char *text, const char *line)
{
	size_t n = 1;

	while ((text = memchr(text, '\n', (size_t)(line - text)))) {
		text++;
		n++;
	}
	return n;
}

static void read_line(void *ctx, const char *line, size_t n)
{
	struct reader *r = ctx;
	struct line_head head;
	json_error_t why;
	json_t *j;

	/* Between the transaction's own lines, and counted by the first pass. */
	if (!line_head(line, n, &head) || head.txn != r->txn)
		return;
	j = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);
	if (!j || line_apply(r->a, r->out, &r->at[head.txn], &head, j))
		note_bad(r->out, r->out->bad_lines ? 0 : line_number(r->text, line));
	json_decref(j);
}

static void read_stretches(struct reader *r, const struct scan *s, const char *text, bool all)
{
	r->text = text;
	if (s->bad_lines) {
		note_bad(r->out, s->bad_at);
		r->out->bad_lines += s->bad_lines - 1;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct stretch *one = &s->stretches[i];

		r->txn = one->txn;
		if (all || !scan_is_past(s, one->txn))
			scan_lines(one->from, (size_t)(one->to - one->from), read_line, r);
	}
}

static void settle(struct transaction *t)
{
	size_t undone = 0, stuck = 0;
	bool over = transaction_is_over(t);

	/* A line that was cut short, and ended by what was added later, says nothing any more. */
	for (size_t i = 0; over && i < t->n; i++)
		t->entries[i].state = ENTRY_UNDONE;
	for (size_t i = 0; i < t->n; i++) {
		undone += t->entries[i].state == ENTRY_UNDONE;
		stuck += t->entries[i].state == ENTRY_STUCK;
	}
	if (stuck)
		t->state = TRANSACTION_INCOMPLETE;
	else if (t->state == TRANSACTION_APPLIED && t->n && undone == t->n)
		t->state = TRANSACTION_UNDONE;
	else if (t->state == TRANSACTION_INCOMPLETE && undone == t->n)
		t->state = TRANSACTION_UNDONE;
}

static int by_number(const void *x, const void *y)
{
	const struct transaction *a = x, *b = y;

	return (a->txn > b->txn) - (a->txn < b->txn);
}

/* Both texts; past is empty unless everything is asked for. */
static void read_all(struct arena *a, const struct store *now, const struct seal_read *past,
		     bool all, struct journal *out)
{
	struct scan s = { .sealed = now->read.sealed }, old = { .sealed = true };
	struct reader r = { .a = a, .out = out };
	unsigned long last;

	scan_text(&s, now->read.text, now->read.len);
	scan_text(&old, past->text, past->len);
	last = s.last > old.last ? s.last : old.last;
	out->next = now->next > last ? now->next : last + 1;
	r.at = calloc(last + 1, sizeof(*r.at));
	if (!r.at)
		out_of_memory(0);
	read_stretches(&r, &old, past->text, true);
	read_stretches(&r, &s, now->read.text, all);
	for (size_t i = 0; i < out->n; i++)
		settle(&out->items[i]);
	if (past->len)
		qsort(out->items, out->n, sizeof(*out->items), by_number);
	free(r.at);
	scan_free(&s);
	scan_free(&old);
}

int journal_load(struct host *h, struct arena *a, bool all, struct journal *out, struct err *e)
{
	struct seal_read past = { .text = "" };
	struct store now;
	int code = store_load(h, a, &now, e);

	*out = (struct journal){ .next = 1 };
	if (code == 0 && all)
		code = store_history(h, a, &now.files, &past, e);
	if (code)
		return code;
	out->bad_lines = now.read.bad + past.bad;
	out->bad_at = now.read.bad_at;
	out->mended = now.read.mended;
	out->torn = now.torn;
	out->files = now.files;
	read_all(a, &now, &past, all, out);
	return 0;
}
