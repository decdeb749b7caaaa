/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the journal: lines to transactions. It is untrusted: bounded, and a line that makes no
 * sense is counted and left out. */
#include "txn/journal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "txn/line.h"

enum { JOURNAL_MAX = 512 << 20 };

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

/* What the first pass finds: numbers of transactions that need no second look. */
struct scan {
	unsigned char *closed; /* by number */
	size_t cap;
	unsigned long last;
};

static void note_number(struct scan *s, unsigned long txn)
{
	if (txn >= s->cap) {
		size_t cap = s->cap ? s->cap : 1024;

		while (cap <= txn)
			cap *= 2;
		s->closed = realloc(s->closed, cap);
		if (!s->closed)
			abort();
		memset(s->closed + s->cap, 0, cap - s->cap);
		s->cap = cap;
	}
	if (txn > s->last)
		s->last = txn;
}

static bool closes(const struct line_head *head, const char *line, size_t len)
{
	static const char undo[] = "\"op\":\"undo\"", back[] = "\"result\":\"rolled-back\"";

	if (line_is(head, "closed"))
		return true;
	if (line_is(head, "end"))
		return memmem(line, len, back, sizeof(back) - 1) != NULL;
	/* An undo holds nothing of its own. */
	return line_is(head, "begin") && memmem(line, len, undo, sizeof(undo) - 1) != NULL;
}

/* Calls each for every whole line; true when the last one was cut short. */
static bool for_lines(const char *text, size_t len,
		      void (*each)(void *ctx, const char *line, size_t n), void *ctx)
{
	const char *end = text + len;

	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));

		if (!nl)
			return true;
		if (nl > text)
			each(ctx, text, (size_t)(nl - text));
		text = nl + 1;
	}
	return false;
}

static void scan_line(void *ctx, const char *line, size_t n)
{
	struct scan *s = ctx;
	struct line_head head;

	if (!line_head(line, n, &head))
		return;
	note_number(s, head.txn);
	if (closes(&head, line, n))
		s->closed[head.txn] = 1;
}

struct reader {
	struct arena *a;
	struct journal *out;
	const struct scan *skip; /* NULL: nothing */
	size_t *at;		 /* by number: place in out->items, plus one */
};

static void read_line(void *ctx, const char *line, size_t n)
{
	struct reader *r = ctx;
	struct line_head head;
	json_error_t why;
	json_t *j;

	if (!line_head(line, n, &head)) {
		r->out->bad_lines++;
		return;
	}
	if (r->skip && r->skip->closed[head.txn])
		return;
	j = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);
	if (!j || line_apply(r->a, r->out, &r->at[head.txn], &head, j))
		r->out->bad_lines++;
	json_decref(j);
}

static void settle(struct transaction *t)
{
	size_t undone = 0, stuck = 0;
	bool over = t->state == TRANSACTION_ROLLED_BACK || t->state == TRANSACTION_UNDONE;

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

int journal_load(struct host *h, struct arena *a, bool all, struct journal *out, struct err *e)
{
	struct reader r = { .a = a, .out = out };
	struct scan scan = { 0 };
	char *text;
	size_t len;
	int code = host_read(h, TXN_JOURNAL, JOURNAL_MAX, a, &text, &len);

	*out = (struct journal){ .next = 1 };
	if (code == -ENOENT || code == -ENOTDIR || code == HOST_NOT_CAPTURED)
		return 0;
	if (code)
		return err_set(e, code, "%s: %s", TXN_JOURNAL, strerror(-code));
	note_number(&scan, 0);
	out->torn = for_lines(text, len, scan_line, &scan);
	out->next = scan.last + 1;
	r.skip = all ? NULL : &scan;
	r.at = calloc(scan.last + 1, sizeof(*r.at));
	if (!r.at)
		abort();
	for_lines(text, len, read_line, &r);
	for (size_t i = 0; i < out->n; i++)
		settle(&out->items[i]);
	free(r.at);
	free(scan.closed);
	return 0;
}
