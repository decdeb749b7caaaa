/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass over a journal. It parses no line: a long history is passed over in one go. */
#include "tune/txn/scan.h"

#include <stdlib.h>
#include <string.h>

#include "tune/txn/line.h"

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

static bool says(const char *line, size_t len, const char *what)
{
	return memmem(line, len, what, strlen(what)) != NULL;
}

static bool closes(const struct line_head *head, const char *line, size_t len)
{
	/* A line that was cut says nothing. */
	if (line[len - 1] != '}')
		return false;
	if (line_is(head, "closed"))
		return true;
	if (line_is(head, "end"))
		return says(line, len, "\"result\":\"rolled-back\"");
	/* An undo holds nothing of its own. */
	return line_is(head, "begin") && says(line, len, "\"op\":\"undo\"");
}

static void note_boot(struct scan *s, unsigned long txn, const char *line, size_t len)
{
	static const char key[] = "\"boot\":\"";
	const char *id = memmem(line, len, key, sizeof(key) - 1), *end;
	struct scanned_boot *b;

	if (s->n_boots == s->room_boots)
		s->boots = grown(s->boots, &s->room_boots, s->n_boots + 1, sizeof(*s->boots));
	b = &s->boots[s->n_boots++];
	*b = (struct scanned_boot){ .txn = txn };
	id = id ? id + sizeof(key) - 1 : NULL;
	end = id ? memchr(id, '"', (size_t)(line + len - id)) : NULL;
	if (end)
		b->id = (struct begun){ id, (size_t)(end - id) };
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

static void note_bad(struct scan *s)
{
	s->bad_at = s->bad_lines++ ? s->bad_at : s->lines;
}

/* No number follows the last one by more than anybody makes: where nothing but the line itself says
 * so, it is damaged. */
static bool is_far(const struct scan *s, const struct line_head *head)
{
	enum { JUMP_MAX = 100000 };

	return !s->sealed && head->txn > s->last + JUMP_MAX;
}

static void scan_line(void *ctx, const char *line, size_t n)
{
	struct scan *s = ctx;
	struct line_head head;

	s->lines++;
	if (goes_on(s, line, n)) {
		s->stretches[s->n - 1].to = line + n + 1;
		return;
	}
	if (!line_head(line, n, &head) || (head.txn == TXN_MAX && !s->sealed) || is_far(s, &head)) {
		note_bad(s);
		return;
	}
	if (head.txn == TXN_MAX) {
		if (line_is(&head, "unread"))
			note_bad(s);
		return;
	}
	note_number(s, head.txn);
	if (line_is(&head, "begin") && says(line, n, "\"op\":\"boot\""))
		note_boot(s, head.txn, line, n);
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

void scan_lines(const char *text, size_t len, void (*each)(void *ctx, const char *line, size_t n),
		void *ctx)
{
	const char *end = text + len;

	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));

		if (!nl)
			return;
		if (nl > text)
			each(ctx, text, (size_t)(nl - text));
		text = nl + 1;
	}
}

/* What the newest boot's files set says what was decided, even when it is undone. */
static void keep_boots(struct scan *s)
{
	const struct begun *id = s->n_boots ? &s->boots[s->n_boots - 1].id : NULL;

	for (size_t i = 0; i < s->n_boots; i++) {
		const struct scanned_boot *b = &s->boots[i];

		if (b->id.n == id->n && (!id->n || memcmp(b->id.text, id->text, id->n) == 0))
			s->closed[b->txn] = 0;
	}
}

void scan_text(struct scan *s, const char *text, size_t len)
{
	note_number(s, 0);
	scan_lines(text, len, scan_line, s);
	keep_boots(s);
}

bool scan_is_past(const struct scan *s, unsigned long txn)
{
	return txn < s->cap && s->closed[txn];
}

void scan_free(struct scan *s)
{
	free(s->closed);
	free(s->boots);
	free(s->stretches);
}
