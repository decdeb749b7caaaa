/* SPDX-License-Identifier: Apache-2.0 */
/* A unified diff of two short texts. */
#include <stdlib.h>
#include <string.h>

#include "front/verbs/persist.h"

enum { LINES_MAX = 2000, CONTEXT = 3 };

struct lines {
	const char *at[LINES_MAX];
	size_t len[LINES_MAX];
	size_t n;
};

/* Text beyond the bound is left out: our files are far below it. */
static void split(const char *text, struct lines *out)
{
	out->n = 0;
	while (text && *text && out->n < LINES_MAX) {
		size_t k = strcspn(text, "\n");

		out->at[out->n] = text;
		out->len[out->n++] = k;
		text += k + (text[k] == '\n');
	}
}

static bool same(const struct lines *x, size_t i, const struct lines *y, size_t k)
{
	return x->len[i] == y->len[k] && memcmp(x->at[i], y->at[k], x->len[i]) == 0;
}

/* table[i][k]: the longest common part of what follows line i and line k. */
static unsigned short *common(struct arena *a, const struct lines *x, const struct lines *y)
{
	size_t w = y->n + 1;
	unsigned short *t = arena_array(a, (x->n + 1) * w, sizeof(*t));

	for (size_t i = x->n; i-- > 0;)
		for (size_t k = y->n; k-- > 0;) {
			unsigned short down = t[(i + 1) * w + k], right = t[i * w + k + 1];

			t[i * w + k] = same(x, i, y, k)
					       ? (unsigned short)(t[(i + 1) * w + k + 1] + 1)
				       : down > right ? down
						      : right;
		}
	return t;
}

/* One line of the script that makes y of x. */
struct step {
	char op; /* ' ', '-', '+' */
	size_t i, k;
};

static size_t steps_of(const struct lines *x, const struct lines *y, const unsigned short *t,
		       struct step *out)
{
	size_t i = 0, k = 0, n = 0, w = y->n + 1;

	while (i < x->n || k < y->n) {
		if (i < x->n && k < y->n && same(x, i, y, k))
			out[n++] = (struct step){ ' ', i++, k++ };
		else if (i < x->n && (k == y->n || t[(i + 1) * w + k] >= t[i * w + k + 1]))
			out[n++] = (struct step){ '-', i++, k };
		else
			out[n++] = (struct step){ '+', i, k++ };
	}
	return n;
}

/* Where the hunk that begins at step from ends: changes not further apart than their context. */
static size_t hunk_end(const struct step *s, size_t n, size_t from)
{
	size_t last = from;

	for (size_t i = from; i < n && i <= last + 2 * CONTEXT + 1; i++)
		if (s[i].op != ' ')
			last = i;
	return last + 1 + CONTEXT < n ? last + 1 + CONTEXT : n;
}

static void print_hunk(struct text *out, const struct lines *x, const struct lines *y,
		       const struct step *s, size_t from, size_t to)
{
	size_t old = 0, new = 0;

	for (size_t i = from; i < to; i++) {
		old += s[i].op != '+';
		new += s[i].op != '-';
	}
	text_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", s[from].i + (old > 0), old,
		    s[from].k + (new > 0), new);
	for (size_t i = from; i < to; i++) {
		const struct lines *of = s[i].op == '+' ? y : x;
		size_t at = s[i].op == '+' ? s[i].k : s[i].i;

		text_printf(out, "%c%.*s\n", s[i].op, (int)of->len[at], of->at[at]);
	}
}

const char *persist_diff(struct arena *a, const char *path, const char *before, const char *after)
{
	struct lines *x = ARENA_NEW(a, struct lines), *y = ARENA_NEW(a, struct lines);
	struct step *s;
	TEXT_AUTO out = { 0 };
	size_t n, done = 0;

	split(before, x);
	split(after, y);
	s = arena_array(a, x->n + y->n, sizeof(*s));
	n = steps_of(x, y, common(a, x, y), s);
	for (size_t i = 0; i < n; i++) {
		size_t from, to;

		if (s[i].op == ' ')
			continue;
		if (!out.len)
			text_printf(&out, "--- %s\n+++ %s\n", before ? path : "/dev/null",
				    after ? path : "/dev/null");
		from = i > done + CONTEXT ? i - CONTEXT : done;
		to = hunk_end(s, n, i);
		print_hunk(&out, x, y, s, from, to);
		done = to;
		i = to - 1;
	}
	return arena_strdup(a, out.s ? out.s : "");
}
