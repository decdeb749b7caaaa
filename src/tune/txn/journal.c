/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the journal and what each says of its transaction. It is untrusted: bounded, and a
 * line that makes no sense is counted and left out. */
#include <stdlib.h>

#include "tune/txn/journal.h"

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

size_t journal_count_open(const struct journal *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++)
		n += transaction_holds(&j->items[i]) && !transaction_is_over(&j->items[i]);
	return n;
}

/* From one line of the journal to what it says of its transaction. */

bool line_head(const char *line, size_t n, struct line_head *out)
{
	static const char first[] = "{\"t\":\"", second[] = "\",\"txn\":";
	const char *p = line + sizeof(first) - 1, *end = line + n;
	size_t k = 0;

	if (n < sizeof(first) + sizeof(second) || memcmp(line, first, sizeof(first) - 1) != 0)
		return false;
	*out = (struct line_head){ 0 };
	while (p < end && *p >= 'a' && *p <= 'z' && k < sizeof(out->kind) - 1)
		out->kind[k++] = *p++;
	if ((size_t)(end - p) < sizeof(second) || memcmp(p, second, sizeof(second) - 1) != 0)
		return false;
	for (p += sizeof(second) - 1; p < end && *p >= '0' && *p <= '9'; p++) {
		out->txn = out->txn * 10 + (unsigned long)(*p - '0');
		if (out->txn > TXN_MAX)
			return false;
	}
	out->len = (size_t)(p - line) + 1;
	/* A line that was cut in the middle of a number names another one. */
	return p < end && out->txn > 0;
}

static const char *text_of(struct arena *a, const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? arena_strdup(a, s) : NULL;
}

/* What could not be read when it was written is not known: no boot has an empty name. */
static const char *boot_of(struct arena *a, const json_t *j)
{
	const char *id = text_of(a, j, "boot");

	return id && *id ? id : NULL;
}

/* An addition that failed when all or some of it was on disk is made again: what it repeats says
 * nothing new. */
static bool begins_again(const struct transaction *t, const json_t *j)
{
	const char *op = json_string_value(json_object_get(j, "op"));

	return op && strcmp(op, t->op) == 0 &&
	       json_integer_value(json_object_get(j, "time")) == t->time_s;
}

static bool intends_again(const struct entry *old, const struct entry *e)
{
	return !old->unread && strcmp(old->id, e->id) == 0 && strcmp(old->after, e->after) == 0 &&
	       knob_equal(&old->knob, &e->knob);
}

/* 0: it holds none that could be one. */
static unsigned number_of(const json_t *j, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(j, key));

	return n < 1 || n > SEQ_MAX ? 0 : (unsigned)n;
}

static unsigned seq_of(const json_t *j)
{
	return number_of(j, "seq");
}

static unsigned last_seq(const struct transaction *t)
{
	return t->n ? t->entries[t->n - 1].seq : 0;
}

static struct entry *journal_entry_of(struct transaction *t, unsigned seq)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->entries[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->n && t->entries[lo].seq == seq ? &t->entries[lo] : NULL;
}

static struct entry *append(struct arena *a, struct transaction *t, const struct entry *e)
{
	t->entries = arena_grow(a, t->entries, t->n, sizeof(*t->entries));
	t->entries[t->n] = *e;
	return &t->entries[t->n++];
}

/* A change that was made and of which no more can be read than this. */
static struct entry *append_unread(struct arena *a, struct transaction *t, unsigned seq,
				   const json_t *j)
{
	struct entry e = { .txn = t->txn,
			   .seq = seq,
			   .id = text_of(a, j, "id"),
			   .target = text_of(a, j, "target"),
			   .knob = { KNOB_NONE, "", "" },
			   .place = "",
			   .after = text_of(a, j, "after"),
			   .unread = true };

	e.id = e.id ? e.id : "unreadable";
	e.target = e.target ? e.target : "";
	e.after = e.after ? e.after : "";
	return append(a, t, &e);
}

static struct transaction *add_transaction(struct arena *a, struct journal *out, size_t *at,
					   const struct line_head *head, const json_t *j)
{
	struct transaction *t;

	t = &ARENA_ADD(a, out->items, out->n);
	*at = out->n;
	*t = (struct transaction){ .txn = head->txn,
				   .op = text_of(a, j, "op"),
				   .boot_id = boot_of(a, j),
				   .time_s = json_integer_value(json_object_get(j, "time")),
				   .user = text_of(a, j, "user"),
				   .reason = text_of(a, j, "reason"),
				   .profile = text_of(a, j, "profile"),
				   .version = text_of(a, j, "version") };
	if (!t->op)
		t->op = "apply";
	return t;
}

static int begin(struct arena *a, struct journal *out, size_t *at, const struct line_head *head,
		 const json_t *j)
{
	if (*at)
		return begins_again(&out->items[*at - 1], j) ? 0 : -EINVAL;
	add_transaction(a, out, at, head, j);
	return 0;
}

static int knob_of(struct arena *a, const json_t *j, struct knob *k)
{
	const char *kind = json_string_value(json_object_get(j, "kind")), *why;
	int n = kind ? knob_kind_parse(kind) : -1;

	if (n < 0)
		return -EINVAL;
	k->kind = (enum knob_kind)n;
	k->name = text_of(a, j, "name");
	k->object = text_of(a, j, "object");
	/* What comes from a file is written to the machine again: its shape is checked, and that it
	 * is a place which is ever written. */
	return k->name && k->object && knob_valid(k, NULL, &why) && knob_known(k) ? 0 : -EINVAL;
}

static int side_effects_of(struct arena *a, const json_t *j, struct entry *e)
{
	size_t n = json_array_size(j);

	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(j, i);
		struct side_effect s = { .before = text_of(a, one, "before") };

		if (!s.before || knob_of(a, json_object_get(one, "knob"), &s.knob))
			return -EINVAL;
		ARENA_ADD(a, e->sides, e->n_sides) = s;
	}
	return 0;
}

static int intend(struct arena *a, struct transaction *t, const json_t *j)
{
	unsigned seq = seq_of(j);
	const struct entry *old = journal_entry_of(t, seq);
	const char *why;
	struct entry e = { .txn = t->txn,
			   .seq = seq,
			   .id = text_of(a, j, "id"),
			   .target = text_of(a, j, "target"),
			   .place = text_of(a, j, "place"),
			   .before = text_of(a, j, "before"),
			   .after = text_of(a, j, "after"),
			   .of = number_of(j, "of") };

	bool sound = e.id && e.target && e.after &&
		     knob_of(a, json_object_get(j, "knob"), &e.knob) == 0 &&
		     /* Not knob_allows: undo never writes this value, it compares with it. A value
		      * that an older version allowed has to be undone as well. */
		     knob_valid(&e.knob, e.after, &why) &&
		     (!e.before || knob_valid(&e.knob, e.before, &why)) &&
		     side_effects_of(a, json_object_get(j, "sides"), &e) == 0;

	if (!seq || (!old && seq <= last_seq(t)))
		return -EINVAL;
	if (old)
		return sound && intends_again(old, &e) ? 0 : -EINVAL;
	/* A line that was cut is written again, with those behind it: what is passed over here was
	 * whole once. However many they are, one stands for them. */
	if (seq > last_seq(t) + 1)
		append_unread(a, t, seq - 1, NULL);
	if (!sound) {
		append_unread(a, t, seq, j);
		return -EINVAL;
	}
	e.place = e.place ? e.place : "";
	append(a, t, &e);
	return 0;
}

static int journal_done(struct arena *a, struct entry *e, const json_t *j)
{
	const json_t *left = json_object_get(j, "left");

	for (size_t i = 0; i < e->n_sides; i++) {
		const char *s = json_string_value(json_array_get(left, i));

		e->sides[i].left = s ? arena_strdup(a, s) : NULL;
	}
	e->state = ENTRY_DONE;
	e->read = text_of(a, j, "read");
	return 0;
}

/* Of the entry's own knob, or of one that it resets. */
static int rebase(struct arena *a, struct entry *e, const json_t *j)
{
	const json_t *side = json_object_get(j, "side");
	json_int_t n = json_integer_value(side);

	if (!side) {
		e->before = text_of(a, j, "before");
		return 0;
	}
	if (!json_is_string(json_object_get(j, "before")) || n < 1 || (size_t)n > e->n_sides)
		return -EINVAL;
	e->sides[n - 1].before = text_of(a, j, "before");
	return 0;
}

/* An undo begins. In a transaction that was over it takes up again what was left to somebody. */
static void undoing(struct transaction *t, struct entry *e)
{
	bool over = transaction_is_over(t);

	for (size_t i = 0; over && i < t->n; i++)
		t->entries[i].state = ENTRY_UNDONE;
	if (over)
		t->state = TRANSACTION_APPLIED;
	if (e->state == ENTRY_UNDONE)
		e->state = ENTRY_DONE;
	e->undoing = true;
}

static int journal_ended(struct transaction *t, const json_t *j)
{
	const char *result = json_string_value(json_object_get(j, "result"));

	for (int s = TRANSACTION_OPEN; result && s <= TRANSACTION_UNDONE; s++)
		if (strcmp(result, transaction_state_name((enum transaction_state)s)) == 0) {
			t->state = (enum transaction_state)s;
			return 0;
		}
	return -EINVAL;
}

int line_apply(struct arena *a, struct journal *out, size_t *at, const struct line_head *head,
	       const json_t *j)
{
	struct transaction *t;
	struct entry *e;

	if (line_is(head, "begin"))
		return begin(a, out, at, head, j);
	/* Whose beginning is lost: an intent says as much as undoing it needs. */
	if (!*at && line_is(head, "intend") && json_object_get(j, "op"))
		add_transaction(a, out, at, head, j);
	if (!*at)
		return -EINVAL;
	t = &out->items[*at - 1];
	if (line_is(head, "intend"))
		return intend(a, t, j);
	if (line_is(head, "end"))
		return journal_ended(t, j);
	if (line_is(head, "closed")) {
		t->state = t->state == TRANSACTION_ROLLED_BACK ? t->state : TRANSACTION_UNDONE;
		return 0;
	}
	e = journal_entry_of(t, seq_of(j));
	/* Nothing is done that was not to be: its intent is what could not be read. */
	if (!e && line_is(head, "done") && seq_of(j) > last_seq(t)) {
		append_unread(a, t, seq_of(j), NULL);
		return -EINVAL;
	}
	if (!e)
		return -EINVAL;
	if (line_is(head, "done"))
		return journal_done(a, e, j);
	if (line_is(head, "undoing")) {
		undoing(t, e);
		return 0;
	}
	if (line_is(head, "rebase"))
		return rebase(a, e, j);
	if (line_is(head, "restoring")) {
		e->restoring = true;
		return 0;
	}
	e->note = text_of(a, j, "note");
	e->undoing = false;
	if (line_is(head, "undone"))
		e->state = ENTRY_UNDONE;
	else if (line_is(head, "stuck"))
		e->state = ENTRY_STUCK;
	else
		return -EINVAL;
	return 0;
}

/* The first pass over a journal. It parses no line: a long history is passed over in one go. */

static void *journal_grown(void *list, size_t *cap, size_t want, size_t size)
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

static void note_number(struct journal_scan *s, unsigned long txn)
{
	if (txn >= s->cap)
		s->closed = journal_grown(s->closed, &s->cap, txn + 1, sizeof(*s->closed));
	if (txn > s->last)
		s->last = txn;
}

static bool may_close(const struct line_head *head)
{
	return line_is(head, "begin") || line_is(head, "closed") || line_is(head, "end") ||
	       line_is(head, "undoing");
}

static bool line_mentions(const char *line, size_t len, const char *what)
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
		return line_mentions(line, len, "\"result\":\"rolled-back\"");
	/* An undo holds nothing of its own. */
	return line_is(head, "begin") && line_mentions(line, len, "\"op\":\"undo\"");
}

static void note_boot(struct journal_scan *s, unsigned long txn, const char *line, size_t len)
{
	static const char key[] = "\"boot\":\"";
	const char *id = memmem(line, len, key, sizeof(key) - 1), *end;
	struct scanned_boot *b;

	if (s->n_boots == s->room_boots)
		s->boots =
			journal_grown(s->boots, &s->room_boots, s->n_boots + 1, sizeof(*s->boots));
	b = &s->boots[s->n_boots++];
	*b = (struct scanned_boot){ .txn = txn };
	id = id ? id + sizeof(key) - 1 : NULL;
	end = id ? memchr(id, '"', (size_t)(line + len - id)) : NULL;
	if (end)
		b->id = (struct begun){ id, (size_t)(end - id) };
}

/* An intent and its "done" take turns through most of a journal: what begins as one of the two
 * lines before it did, to the end of the number, tells this pass no more than that line. */
static bool goes_on(const struct journal_scan *s, const char *line, size_t n)
{
	for (int i = 0; i < 2; i++) {
		const struct begun *b = &s->heads[i];

		if (b->n && n >= b->n && memcmp(line, b->text, b->n) == 0)
			return true;
	}
	return false;
}

static void scan_note_bad(struct journal_scan *s)
{
	s->bad_at = s->bad_lines++ ? s->bad_at : s->lines;
}

/* No number follows the last one by more than anybody makes: where nothing but the line itself says
 * so, it is damaged. */
static bool is_far(const struct journal_scan *s, const struct line_head *head)
{
	enum { JUMP_MAX = 100000 };

	return !s->sealed && head->txn > s->last + JUMP_MAX;
}

static void scan_line(void *ctx, const char *line, size_t n)
{
	struct journal_scan *s = ctx;
	struct line_head head;

	s->lines++;
	if (goes_on(s, line, n)) {
		s->stretches[s->n - 1].to = line + n + 1;
		return;
	}
	if (!line_head(line, n, &head) || (head.txn == TXN_MAX && !s->sealed) || is_far(s, &head)) {
		scan_note_bad(s);
		return;
	}
	if (head.txn == TXN_MAX) {
		if (line_is(&head, "unread"))
			scan_note_bad(s);
		return;
	}
	note_number(s, head.txn);
	if (line_is(&head, "begin") && line_mentions(line, n, "\"op\":\"boot\""))
		note_boot(s, head.txn, line, n);
	if (closes(&head, line, n))
		s->closed[head.txn] = 1;
	/* What an undo has begun to take back by force was left, and is open again. */
	if (line_is(&head, "undoing"))
		s->closed[head.txn] = 0;
	if (!s->n || s->stretches[s->n - 1].txn != head.txn) {
		if (s->n == s->room)
			s->stretches = journal_grown(s->stretches, &s->room, s->n + 1,
						     sizeof(*s->stretches));
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
static void keep_boots(struct journal_scan *s)
{
	const struct begun *id = s->n_boots ? &s->boots[s->n_boots - 1].id : NULL;

	for (size_t i = 0; i < s->n_boots; i++) {
		const struct scanned_boot *b = &s->boots[i];

		if (b->id.n == id->n && (!id->n || memcmp(b->id.text, id->text, id->n) == 0))
			s->closed[b->txn] = 0;
	}
}

void scan_text(struct journal_scan *s, const char *text, size_t len)
{
	note_number(s, 0);
	scan_lines(text, len, scan_line, s);
	keep_boots(s);
}

bool scan_is_past(const struct journal_scan *s, unsigned long txn)
{
	return txn < s->cap && s->closed[txn];
}

void scan_free(struct journal_scan *s)
{
	free(s->closed);
	free(s->boots);
	free(s->stretches);
}
