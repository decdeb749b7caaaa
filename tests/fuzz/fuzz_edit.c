/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a file that "generate --edit" changes, from the reading to the diff: the first byte
 * says which kind of file it is. What no change touches is in the tree afterwards as it was before;
 * the diff makes the new text of the old one; the new text is of the same format, and its change
 * ends too.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/generate/train_edit.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Few, because ways to spread a model over them are not what is looked for here. */
enum { GPUS = 2 };

struct kind {
	char letter;
	const char *name;
	enum train_target target;
};

static const struct kind kinds[] = { { 'j', "ds.json", TARGET_DEEPSPEED },
				     { 'y', "trainer.yaml", TARGET_ACCELERATE },
				     { 'f', "fsdp.json", TARGET_FSDP },
				     { 's', "job.sh", TARGET_DEEPSPEED } };

static const struct lint_on on = { .nccl = "2.28.9", .nccl_from = "x" };

/* --- the tree --------------------------------------------------------------------------------- */
struct leaves {
	struct arena *a;
	const struct edits *edits; /* NULL: all leaves */
	const char **list;
	size_t n;
};

static bool touched(const struct edits *e, size_t begin, size_t end)
{
	for (size_t i = 0; e && i < e->n; i++)
		if (e->at[i].at <= end && begin <= e->at[i].at + e->at[i].n)
			return true;
	return false;
}

static void gather(struct leaves *l, const struct markup_node *n, const char *path, unsigned depth)
{
	size_t k = 0;

	if (!n || depth > MARKUP_DEPTH_MAX ||
	    (n->key && touched(l->edits, n->key->begin, n->key->end)))
		return;
	if (n->kind == MARKUP_SCALAR || n->kind == MARKUP_ALIAS) {
		if (touched(l->edits, n->begin, n->end))
			return;
		l->list = arena_grow(l->a, l->list, l->n, sizeof(*l->list));
		l->list[l->n++] =
			arena_printf(l->a, "%s=%d%d%s", path, n->kind, n->quoted, n->text);
		return;
	}
	for (const struct markup_node *c = n->first; c; c = c->next, k++)
		gather(l, c,
		       c->key ? arena_printf(l->a, "%s.%s", path, c->key->text)
			      : arena_printf(l->a, "%s[%zu", path, k),
		       depth + 1);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Every leaf that no change touched is there as often as before. */
static void tree_stays(struct arena *a, const struct train_edit *e, const struct markup *now)
{
	struct leaves was = { .a = a, .edits = &e->edits }, is = { .a = a };
	size_t k = 0;

	gather(&was, e->m.root, "", 0);
	gather(&is, now->root, "", 0);
	if (was.n)
		qsort(was.list, was.n, sizeof(*was.list), by_text);
	if (is.n)
		qsort(is.list, is.n, sizeof(*is.list), by_text);
	for (size_t i = 0; i < was.n; i++, k++) {
		while (k < is.n && strcmp(is.list[k], was.list[i]) < 0)
			k++;
		if (k == is.n || strcmp(is.list[k], was.list[i]) != 0)
			abort();
	}
}

/* --- the diff --------------------------------------------------------------------------------- */
static const char *end_of_line(const char *s, const char *end)
{
	const char *nl = memchr(s, '\n', (size_t)(end - s));

	return nl ? nl + 1 : end;
}

/* One line of a hunk: its text goes from the old one, to the new one, or both. */
static const char *hunk_line(const char *s, const char *end, const char **old, const char *old_end,
			     struct text *out)
{
	static const char none[] = "\\ No newline at end of file\n";
	const char *next = end_of_line(s, end);
	size_t n = (size_t)(next - s) - 1;

	/* What follows says that its break is not there. */
	if ((size_t)(end - next) >= sizeof(none) - 1 && memcmp(next, none, sizeof(none) - 1) == 0) {
		n -= n && s[n] == '\n';
		next += sizeof(none) - 1;
	}
	if (*s == ' ' || *s == '-') {
		if ((size_t)(old_end - *old) < n || memcmp(*old, s + 1, n) != 0)
			abort();
		*old += n;
	}
	if (*s == ' ' || *s == '+')
		text_addn(out, s + 1, n);
	return next;
}

static void patch(const struct edits *e, const struct text *diff, struct text *out)
{
	const char *s = diff->s, *end = s + diff->len, *old = e->text, *old_end = old + e->len;
	unsigned long line = 1;

	for (int i = 0; i < 2; i++)
		s = end_of_line(s, end);
	while (s < end) {
		char *after;
		unsigned long from, n;

		if (!str_starts(s, "@@ -"))
			abort();
		from = strtoul(s + 4, &after, 10);
		n = *after == ',' ? strtoul(after + 1, NULL, 10) : 1;
		from += !n;
		for (; line < from; line++) {
			const char *next = end_of_line(old, old_end);

			text_addn(out, old, (size_t)(next - old));
			old = next;
		}
		line += n;
		for (s = end_of_line(s, end); s < end && *s != '@';)
			s = hunk_line(s, end, &old, old_end, out);
	}
	text_addn(out, old, (size_t)(old_end - old));
}

static void diff_holds(struct arena *a, struct edits *e, const struct text *now)
{
	TEXT_AUTO diff = { 0 };
	TEXT_AUTO again = { 0 };

	edits_diff(a, e, "a", "b", &diff);
	if (!diff.len) {
		if (now->len != e->len || (e->len && memcmp(now->s, e->text, e->len) != 0))
			abort();
		return;
	}
	patch(e, &diff, &again);
	if (again.len != now->len || (now->len && memcmp(again.s, now->s, now->len) != 0))
		abort();
}

/* --- a change --------------------------------------------------------------------------------- */
/* As generate does. 0: it was changed, perhaps by nothing. */
static int change(struct arena *a, const struct kind *k, const char *text, size_t size,
		  struct train_edit *e, struct train_setup *s)
{
	static const struct train_meeting meeting = { "10.0.0.1", 29500 };
	struct train_config *q = ARENA_NEW(a, struct train_config);
	struct train_bounds bounds;
	struct train_options w;
	struct err err = { 0 };

	train_words_none(&w);
	w.model = "qwen2.5-1.5b";
	w.on = "2x h100";
	if (train_edit_open(a, k->name, text, size, e, &err) < 0)
		return *err.text ? -1 : (abort(), 0);
	train_edit_read(e, GPUS, &w);
	if (train_config_make(a, &w, q, &err) < 0)
		return *err.text ? -1 : (abort(), 0);
	bounds = train_edit_bounds(e);
	if (train_setup_within(a, q, k->target, NULL, &bounds, s, &err) < 0)
		return *err.text ? -1 : (abort(), 0);
	train_edit_make(e, s, &meeting, &on);
	/* No input is as long as a text may be. */
	if (train_edit_settle(e, GPUS, &on, s, &err) < 0)
		abort();
	return 0;
}

static void is_valid(const struct train_edit *e, const struct train_setup *s, size_t lines)
{
	if (!isfinite(s->gain.value) || !isfinite(s->after->memory.total))
		abort();
	for (size_t i = 0; i < e->n_left; i++)
		if (e->left[i].line > lines || !e->left[i].what || !e->left[i].why)
			abort();
	for (size_t i = 0; i < e->edits.n; i++)
		if (!e->edits.at[i].reason || !*e->edits.at[i].reason || !e->edits.at[i].what)
			abort();
}

static void edit(struct arena *a, const struct kind *k, const char *text, size_t size)
{
	struct train_edit *e = ARENA_NEW(a, struct train_edit),
			  *second = ARENA_NEW(a, struct train_edit);
	struct train_setup *s = ARENA_NEW(a, struct train_setup);
	TEXT_AUTO now = { 0 };
	struct markup m;
	struct err err = { 0 };
	size_t lines = 1;

	if (change(a, k, text, size, e, s))
		return;
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n' || text[i] == '\r' || (unsigned char)text[i] >= 0x80;
	is_valid(e, s, lines);
	edits_apply(&e->edits, &now);
	diff_holds(a, &e->edits, &now);
	if (!e->edits.n)
		return;
	if (!e->shell) {
		if (markup_read(a, now.s ? now.s : "", now.len, e->m.json, &m, NULL, &err) < 0)
			abort();
		tree_stays(a, e, &m);
	}
	if (train_edit_open(a, k->name, now.s ? now.s : "", now.len, second, &err) < 0 ||
	    second->format != e->format)
		abort();
	/* Half of the time of all: for one text in four. */
	if (now.len % 4 == 0)
		change(a, k, now.s ? now.s : "", now.len, second, s);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	for (size_t i = 0; size && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct arena a = { 0 };
		char *copy;

		if (data[0] != (unsigned char)kinds[i].letter)
			continue;
		/* Of its own size: a byte too far is seen. */
		copy = malloc(size > 1 ? size - 1 : 1);
		if (!copy)
			abort();
		memcpy(copy, data + 1, size - 1);
		edit(&a, &kinds[i], copy, size - 1);
		free(copy);
		arena_free(&a);
	}
	return 0;
}
