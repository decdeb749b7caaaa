/* SPDX-License-Identifier: Apache-2.0 */
/* The text after changes, and the diff, which needs no search: where it differs is known. */
#include "models/generate/edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 3 };

static bool overlap(const struct edit *a, const struct edit *b)
{
	if (a->at == b->at)
		return true;
	return a->at < b->at ? a->at + a->n > b->at : b->at + b->n > a->at;
}

int edit_add(struct arena *a, struct edits *e, const struct edit *one, struct err *err)
{
	struct edit own = *one;

	if (one->at > e->len || one->n > e->len - one->at)
		return err_set(err, -EINVAL, "a change outside of the text");
	for (size_t i = 0; i < e->n; i++)
		if (overlap(&e->at[i], one))
			return err_set(err, -EINVAL, "line %u is changed twice", e->at[i].line);
	if (e->n >= EDITS_MAX)
		return err_set(err, -E2BIG, "more than %d changes", EDITS_MAX);
	own.line = 1;
	for (size_t i = 0; i < one->at; i++)
		own.line += e->text[i] == '\n';
	e->at = arena_grow(a, e->at, e->n, sizeof(*e->at));
	e->at[e->n++] = own;
	return 0;
}

static int by_place(const void *x, const void *y)
{
	const struct edit *a = x, *b = y;

	return a->at < b->at ? -1 : a->at > b->at;
}

void edits_apply(struct edits *e, struct text *out)
{
	size_t at = 0;

	if (e->n)
		qsort(e->at, e->n, sizeof(*e->at), by_place);
	for (size_t i = 0; i < e->n; i++) {
		text_addn(out, e->text + at, e->at[i].at - at);
		text_add(out, e->at[i].with);
		at = e->at[i].at + e->at[i].n;
	}
	text_addn(out, e->text + at, e->len - at);
}

/* --- the diff --------------------------------------------------------------------------------- */
struct lines {
	const char *s;
	size_t *at; /* where each begins, and the end */
	size_t n;
};

static struct lines edit_split(struct arena *a, const char *s, size_t len)
{
	struct lines l = { .s = s };
	size_t n = 0, k = 0;

	for (size_t i = 0; i < len; i++)
		n += s[i] == '\n';
	l.at = arena_array(a, n + 2, sizeof(*l.at));
	l.at[k++] = 0;
	for (size_t i = 0; i < len; i++)
		if (s[i] == '\n' && i + 1 < len)
			l.at[k++] = i + 1;
	l.n = len ? k : 0;
	l.at[l.n] = len;
	return l;
}

static size_t line_at(const struct lines *l, size_t at)
{
	size_t low = 0, high = l->n;

	while (low + 1 < high) {
		size_t mid = (low + high) / 2;

		if (l->at[mid] <= at)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Lines [from, to) of the old text become lines [new_from, new_to) of the new one. */
struct change {
	size_t from, to, new_from, new_to;
	const char *reason;
};

static void put_line(struct text *out, char mark, const struct lines *l, size_t i)
{
	size_t n = l->at[i + 1] - l->at[i];

	text_addc(out, mark);
	text_addn(out, l->s + l->at[i], n);
	if (!n || l->s[l->at[i] + n - 1] != '\n')
		text_add(out, "\n\\ No newline at end of file\n");
}

/* Without what is the same at both ends: a line that was put in behind another did not change it.
 */
static void edit_narrow(const struct lines *o, const struct lines *n, struct change *c)
{
	while (c->from < c->to && c->new_from < c->new_to) {
		size_t k = o->at[c->from + 1] - o->at[c->from];

		if (k != n->at[c->new_from + 1] - n->at[c->new_from] ||
		    memcmp(o->s + o->at[c->from], n->s + n->at[c->new_from], k) != 0)
			break;
		c->from++;
		c->new_from++;
	}
	while (c->from < c->to && c->new_from < c->new_to) {
		size_t k = o->at[c->to] - o->at[c->to - 1];

		if (k != n->at[c->new_to] - n->at[c->new_to - 1] ||
		    memcmp(o->s + o->at[c->to - 1], n->s + n->at[c->new_to - 1], k) != 0)
			break;
		c->to--;
		c->new_to--;
	}
}

static const char *join(struct arena *a, const char *x, const char *y)
{
	if (!x || !*x || !y || strcmp(x, y) == 0 || strstr(x, y))
		return x && *x ? x : y;
	return arena_printf(a, "%s; %s", x, y);
}

static long long breaks(const char *s, size_t n)
{
	long long k = 0;

	for (size_t i = 0; i < n; i++)
		k += s[i] == '\n';
	return k;
}

/* From places to lines; those that touch the same lines are one. */
static size_t edit_changes(struct arena *a, const struct edits *e, const struct lines *o,
			   const struct lines *n, struct change *out)
{
	long long shift = 0;
	size_t k = 0;

	for (size_t i = 0; i < e->n; i++) {
		const struct edit *x = &e->at[i];
		struct change c = { .reason = x->reason };

		/* A line is touched as far as its break is. */
		c.from = line_at(o, x->at);
		c.to = o->n ? line_at(o, x->at + x->n) + 1 : 0;
		c.new_from = (size_t)((long long)c.from + shift);
		shift += breaks(x->with, strlen(x->with)) - breaks(o->s + x->at, x->n);
		c.new_to = (size_t)((long long)c.to + shift);
		if (c.new_to > n->n)
			c.new_to = n->n;
		if (k && c.from < out[k - 1].to) {
			out[k - 1].to = c.to;
			out[k - 1].new_to = c.new_to;
			out[k - 1].reason = join(a, out[k - 1].reason, c.reason);
		} else {
			out[k++] = c;
		}
	}
	for (size_t i = 0; i < k; i++)
		edit_narrow(o, n, &out[i]);
	return k;
}

static void header_reason(struct text *out, const char *reason)
{
	text_addc(out, ' ');
	for (const char *s = reason; s && *s; s++)
		text_addc(out, (unsigned char)*s < ' ' ? ' ' : *s);
}

static void hunk(struct arena *a, struct text *out, const struct lines *o, const struct lines *n,
		 const struct change *c, size_t count)
{
	size_t from = c[0].from > AROUND ? c[0].from - AROUND : 0;
	size_t new_from = c[0].new_from - (c[0].from - from);
	size_t to = c[count - 1].to + AROUND < o->n ? c[count - 1].to + AROUND : o->n;
	size_t new_to = c[count - 1].new_to + (to - c[count - 1].to), at = from;
	const char *reason = "";

	for (size_t i = 0; i < count; i++)
		reason = join(a, reason, c[i].reason);
	text_printf(out, "@@ -%zu,%zu +%zu,%zu @@", from + (to > from), to - from,
		    new_from + (new_to > new_from), new_to - new_from);
	header_reason(out, reason);
	text_addc(out, '\n');
	for (size_t i = 0; i < count; i++) {
		for (; at < c[i].from; at++)
			put_line(out, ' ', o, at);
		for (; at < c[i].to; at++)
			put_line(out, '-', o, at);
		for (size_t k = c[i].new_from; k < c[i].new_to; k++)
			put_line(out, '+', n, k);
	}
	for (; at < to; at++)
		put_line(out, ' ', o, at);
}

void edits_diff(struct arena *a, struct edits *e, const char *before, const char *after,
		struct text *out)
{
	TEXT_AUTO now = { 0 };
	struct change *c = arena_array(a, e->n + 1, sizeof(*c));
	struct lines o, n;
	size_t k, i = 0;

	edits_apply(e, &now);
	if (now.len == e->len && memcmp(now.s ? now.s : "", e->text, e->len) == 0)
		return;
	o = edit_split(a, e->text, e->len);
	n = edit_split(a, now.s ? now.s : "", now.len);
	k = edit_changes(a, e, &o, &n, c);
	text_printf(out, "--- %s\n+++ %s\n", before, after);
	while (i < k) {
		size_t m = i + 1;

		while (m < k && c[m].from <= c[m - 1].to + 2 * AROUND)
			m++;
		hunk(a, out, &o, &n, c + i, m - i);
		i = m;
	}
}
