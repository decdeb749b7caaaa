/* SPDX-License-Identifier: Apache-2.0 */
/* From one line of the journal to what it says of its transaction. */
#include "tune/txn/line.h"

#include <string.h>

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

static struct entry *entry_of(struct transaction *t, unsigned seq)
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

	out->items = arena_grow(a, out->items, out->n, sizeof(*out->items));
	t = &out->items[out->n++];
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
	return k->name && k->object && knob_sound(k, NULL, &why) && knob_known(k) ? 0 : -EINVAL;
}

static int sides_of(struct arena *a, const json_t *j, struct entry *e)
{
	size_t n = json_array_size(j);

	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(j, i);
		struct side s = { .before = text_of(a, one, "before") };

		if (!s.before || knob_of(a, json_object_get(one, "knob"), &s.knob))
			return -EINVAL;
		e->sides = arena_grow(a, e->sides, e->n_sides, sizeof(*e->sides));
		e->sides[e->n_sides++] = s;
	}
	return 0;
}

static int intend(struct arena *a, struct transaction *t, const json_t *j)
{
	unsigned seq = seq_of(j);
	const struct entry *old = entry_of(t, seq);
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
		     knob_sound(&e.knob, e.after, &why) &&
		     (!e.before || knob_sound(&e.knob, e.before, &why)) &&
		     sides_of(a, json_object_get(j, "sides"), &e) == 0;

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

static int done(struct arena *a, struct entry *e, const json_t *j)
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

static int ended(struct transaction *t, const json_t *j)
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
		return ended(t, j);
	if (line_is(head, "closed")) {
		t->state = t->state == TRANSACTION_ROLLED_BACK ? t->state : TRANSACTION_UNDONE;
		return 0;
	}
	e = entry_of(t, seq_of(j));
	/* Nothing is done that was not to be: its intent is what could not be read. */
	if (!e && line_is(head, "done") && seq_of(j) > last_seq(t)) {
		append_unread(a, t, seq_of(j), NULL);
		return -EINVAL;
	}
	if (!e)
		return -EINVAL;
	if (line_is(head, "done"))
		return done(a, e, j);
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
