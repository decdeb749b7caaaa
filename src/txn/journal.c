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

/* Lines of one transaction that stand together. */
struct stretch {
	const char *from, *to;
	unsigned long txn;
};

/* How a line began. */
struct begun {
	const char *text;
	size_t n; /* 0: none */
};

/* What the first pass finds: which transactions need no second look, and where the others stand. */
struct scan {
	unsigned char *closed; /* by number */
	size_t cap;
	unsigned long last;
	struct stretch *stretches;
	size_t n, room;
	size_t bad_lines;
	struct begun heads[2]; /* of the newest stretch, of lines that say nothing of its end */
	unsigned turn;
};

static void *grown(void *list, size_t *cap, size_t want, size_t size)
{
	size_t n = *cap ? *cap : 1024;

	while (n < want)
		n *= 2;
	list = realloc(list, n * size);
	if (!list)
		out_of_memory(0);
	memset((char *)list + *cap * size, 0, (n - *cap) * size);
	*cap = n;
	return list;
}

static void note_number(struct scan *s, unsigned long txn)
{
	if (txn >= s->cap)
		s->closed = grown(s->closed, &s->cap, txn + 1, sizeof(*s->closed));
	if (txn > s->last)
		s->last = txn;
}

static bool may_close(const struct line_head *head)
{
	return line_is(head, "begin") || line_is(head, "closed") || line_is(head, "end") ||
	       line_is(head, "undoing");
}

static bool closes(const struct line_head *head, const char *line, size_t len)
{
	static const char undo[] = "\"op\":\"undo\"", back[] = "\"result\":\"rolled-back\"";

	/* A line that was cut says nothing. */
	if (line[len - 1] != '}')
		return false;
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

/* An intent and its "done" take turns through most of a journal: what begins as one of the two
 * lines before it did, to the end of the number, tells this pass no more than that line. */
static bool goes_on(const struct scan *s, const char *line, size_t n)
{
	for (int i = 0; i < 2; i++) {
		const struct begun *b = &s->heads[i];

		if (b->n && n >= b->n && memcmp(line, b->text, b->n) == 0)
			return true;
	}
	return false;
}

static void scan_line(void *ctx, const char *line, size_t n)
{
	struct scan *s = ctx;
	struct line_head head;

	if (goes_on(s, line, n)) {
		s->stretches[s->n - 1].to = line + n + 1;
		return;
	}
	if (!line_head(line, n, &head)) {
		s->bad_lines++;
		return;
	}
	note_number(s, head.txn);
	if (closes(&head, line, n))
		s->closed[head.txn] = 1;
	/* What an undo has begun to take back by force was left, and is open again. */
	if (line_is(&head, "undoing"))
		s->closed[head.txn] = 0;
	if (!s->n || s->stretches[s->n - 1].txn != head.txn) {
		if (s->n == s->room)
			s->stretches =
				grown(s->stretches, &s->room, s->n + 1, sizeof(*s->stretches));
		s->stretches[s->n++] = (struct stretch){ .from = line, .txn = head.txn };
		s->heads[0] = s->heads[1] = (struct begun){ 0 };
	}
	s->stretches[s->n - 1].to = line + n + 1;
	if (!may_close(&head))
		s->heads[s->turn++ % 2] = (struct begun){ .text = line, .n = head.len };
}

struct reader {
	struct arena *a;
	struct journal *out;
	size_t *at; /* by number: place in out->items, plus one */
};

static void read_line(void *ctx, const char *line, size_t n)
{
	struct reader *r = ctx;
	struct line_head head;
	json_error_t why;
	json_t *j;

	/* Counted by the first pass. */
	if (!line_head(line, n, &head))
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
	out->bad_lines = scan.bad_lines;
	r.at = calloc(scan.last + 1, sizeof(*r.at));
	if (!r.at)
		out_of_memory(0);
	for (size_t i = 0; i < scan.n; i++) {
		const struct stretch *s = &scan.stretches[i];

		if (all || !scan.closed[s->txn])
			for_lines(s->from, (size_t)(s->to - s->from), read_line, &r);
	}
	for (size_t i = 0; i < out->n; i++)
		settle(&out->items[i]);
	free(r.at);
	free(scan.closed);
	free(scan.stretches);
	return 0;
}
