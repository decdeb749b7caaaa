/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what two copies of sealed lines have kept. */
#include "tune/txn/store.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct line {
	const char *s;
	size_t n;
	uint32_t p, c;
	bool good, taken;
};

struct lines {
	struct line *v;
	size_t n;
	size_t *order; /* of the good ones, by p and then by place */
	size_t n_order;
	size_t at;  /* where reading goes on */
	size_t hop; /* no good line that is not taken stands before it */
	bool cut;   /* the last one has no newline */
};

static size_t line_end(struct seal_file f, size_t at)
{
	const char *nl = memchr(f.text + at, '\n', f.len - at);

	return nl ? (size_t)(nl - f.text) : f.len;
}

static bool has_seal(struct seal_file f)
{
	uint32_t p, c;

	for (size_t at = 0, end; at < f.len; at = end + 1) {
		end = line_end(f, at);
		if (seal_matches(f.text + at, end - at, &p, &c))
			return true;
	}
	return false;
}

/* All of it, if nothing is wrong with it. */
static bool seal_is_whole(struct seal_file f, uint32_t *chain)
{
	uint32_t p;

	*chain = 0;
	for (size_t at = 0, end; at < f.len; at = end + 1) {
		uint32_t before = *chain;

		end = line_end(f, at);
		if (end == f.len || !seal_matches(f.text + at, end - at, &p, chain) || p != before)
			return false;
	}
	return true;
}

static int by_p(const void *x, const void *y, void *lines)
{
	const struct lines *l = lines;
	size_t a = *(const size_t *)x, b = *(const size_t *)y;

	if (l->v[a].p != l->v[b].p)
		return l->v[a].p < l->v[b].p ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void seal_split(struct arena *a, struct seal_file f, struct lines *l)
{
	*l = (struct lines){ .cut = f.len && f.text[f.len - 1] != '\n' };
	for (size_t at = 0, end; at < f.len; at = end + 1) {
		struct line *one;

		end = line_end(f, at);
		one = &ARENA_ADD(a, l->v, l->n);
		*one = (struct line){ .s = f.text + at, .n = end - at };
		one->good = seal_matches(one->s, one->n, &one->p, &one->c);
		/* Whole, with something else in the place of its newline. */
		if (!one->good && l->cut && end == f.len &&
		    seal_matches(one->s, one->n - 1, &one->p, &one->c)) {
			one->good = true;
			one->n--;
		}
		if (!one->good)
			continue;
		ARENA_ADD(a, l->order, l->n_order) = l->n - 1;
	}
	if (l->n_order)
		qsort_r(l->order, l->n_order, sizeof(*l->order), by_p, l);
}

/* The first line from at on that continues p; l->n: none. */
static size_t seal_next_of(const struct lines *l, uint32_t p, size_t at)
{
	size_t lo = 0, hi = l->n_order;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct line *one = &l->v[l->order[mid]];

		if (one->p < p || (one->p == p && l->order[mid] < at))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->n_order && l->v[l->order[lo]].p == p ? l->order[lo] : l->n;
}

/* Lines that continue the same one are repetitions; a file that holds more is not ours. */
static bool taken_already(const struct lines *l, const struct line *x)
{
	enum { REPEATED_MAX = 64 };
	size_t i = seal_next_of(l, x->p, 0);

	for (int k = 0; i < l->n && k < REPEATED_MAX; k++, i = seal_next_of(l, x->p, i + 1))
		if (l->v[i].taken && l->v[i].c == x->c)
			return true;
	return false;
}

static size_t next_good(struct lines *l)
{
	l->hop = l->hop < l->at ? l->at : l->hop;
	while (l->hop < l->n && (!l->v[l->hop].good || taken_already(l, &l->v[l->hop])))
		l->hop++;
	return l->hop;
}

struct merge {
	struct lines mine, copy;
	struct text text;
	size_t from_copy; /* bytes in a row */
	struct seal_read *out;
};

/*
 * Lines of the journal that are passed over to go on at line i. An addition that failed or was cut
 * by a crash leaves a fragment, or lines that the next addition repeats: the chain goes on over
 * both, and nothing is lost. Without the chain at least so many are.
 */
static void seal_pass(struct merge *m, size_t i, bool chained, size_t least)
{
	struct lines *l = &m->mine;
	size_t lost = 0, first = l->at;

	for (size_t k = l->at; k < i; k++) {
		const struct line *x = &l->v[k];

		if (x->good ? taken_already(l, x) || taken_already(&m->copy, x) : chained || !x->n)
			continue;
		first = lost++ ? first : k;
	}
	lost = lost < least ? least : lost;
	m->out->bad_at = m->out->bad ? m->out->bad_at : lost ? first + 1 : 0;
	m->out->bad += lost;
}

static void seal_take(struct merge *m, struct lines *l, size_t i)
{
	struct lines *other = l == &m->mine ? &m->copy : &m->mine;
	struct line *x = &l->v[i];
	size_t twin = seal_next_of(other, x->p, other->at);

	text_addn(&m->text, x->s, x->n);
	text_addc(&m->text, '\n');
	m->out->chain = x->c;
	x->taken = true;
	l->at = i + 1;
	m->from_copy = l == &m->copy ? m->from_copy + x->n + 1 : 0;
	m->out->mended += l == &m->copy;
	if (twin < other->n && other->v[twin].c == x->c) {
		other->v[twin].taken = true;
		/* What the journal has there, its copy repeats. */
		if (other == &m->copy)
			other->at = twin + 1;
	}
}

/* Both go on behind a line that is lost: which of the two lines came first, as far as their chains
 * tell. */
static bool copy_is_first(const struct merge *m, size_t i, size_t k)
{
	const struct lines *mine = &m->mine, *copy = &m->copy;
	size_t twin;

	if (i == mine->n || k == copy->n)
		return i == mine->n;
	twin = seal_next_of(mine, copy->v[k].p, i);
	if ((twin < mine->n && mine->v[twin].c == copy->v[k].c) ||
	    seal_next_of(copy, mine->v[i].c, k) < copy->n)
		return false;
	return seal_next_of(mine, copy->v[k].c, i) < mine->n || k < i;
}

static bool seal_step(struct merge *m)
{
	struct lines *mine = &m->mine, *copy = &m->copy;
	size_t i = seal_next_of(mine, m->out->chain, mine->at), k;

	if (i < mine->n) {
		seal_pass(m, i, true, 0);
		seal_take(m, mine, i);
		return true;
	}
	k = seal_next_of(copy, m->out->chain, copy->at);
	if (k < copy->n) {
		seal_take(m, copy, k);
		return true;
	}
	/* Lost in both. */
	i = next_good(mine);
	k = next_good(copy);
	if (i == mine->n && k == copy->n)
		return false;
	if (copy_is_first(m, i, k)) {
		m->out->bad_at = m->out->bad++ ? m->out->bad_at : k + 1;
		seal_take(m, copy, k);
	} else {
		seal_pass(m, i, false, 1);
		seal_take(m, mine, i);
	}
	return true;
}

/* How often the file was written anew; -1: its first line does not tell. */
static long long times_of(struct seal_file f)
{
	size_t end = f.len ? line_end(f, 0) : 0;
	const char *at;
	uint32_t p, c;

	if (!end || !seal_matches(f.text, end, &p, &c) || p ||
	    strncmp(f.text, SEAL_FIRST, strlen(SEAL_FIRST)) != 0)
		return -1;
	at = memmem(f.text, end, SEAL_TIMES, strlen(SEAL_TIMES));
	return at ? strtoll(at + strlen(SEAL_TIMES), NULL, 10) : -1;
}

static void merge_lines(struct arena *a, struct seal_file journal, struct seal_file copy,
			struct seal_read *out)
{
	struct merge m = { .out = out };
	size_t end;

	out->chain = 0;
	seal_split(a, journal, &m.mine);
	seal_split(a, copy, &m.copy);
	while (seal_step(&m))
		;
	/* Behind the last line: a fragment of an addition that was cut has no newline, and what the
	 * copy has given stood there. */
	end = m.mine.n - m.mine.cut;
	while (m.mine.at < end && m.from_copy > m.mine.v[m.mine.at].n)
		m.from_copy -= m.mine.v[m.mine.at++].n + 1;
	if (m.mine.at < end)
		seal_pass(&m, end, false, 0);
	out->text = m.text.s ? arena_strndup(a, m.text.s, m.text.len) : "";
	out->len = m.text.len;
	text_free(&m.text);
}

void seal_merge(struct arena *a, struct seal_file journal, struct seal_file copy,
		struct seal_read *out)
{
	long long mine = times_of(journal), other = times_of(copy);

	*out = (struct seal_read){ .text = journal.text, .len = journal.len };
	out->sealed = has_seal(journal) || has_seal(copy);
	if (!out->sealed)
		return;
	if (seal_is_whole(journal, &out->chain) && copy.len == journal.len &&
	    memcmp(copy.text, journal.text, copy.len) == 0) {
		out->same = true;
		return;
	}
	if (mine >= 0 && other >= 0 && mine != other) {
		struct seal_file none = { "", 0 };

		merge_lines(a, mine > other ? journal : none, mine > other ? none : copy, out);
		return;
	}
	merge_lines(a, journal, copy, out);
}
