/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of a step that are parts of one figure: Megatron-LM has one for each of its collectives,
 * and they lie behind one another.
 */
#include <string.h>

#include "models/diagnose/split.h"

enum { LOOK_BACK = 256 };

/* The timer's bit; 0: it is none. */
static uint64_t bit_of(struct timers *t, const struct figure_seen *f)
{
	size_t i = 0;

	if (f->kind != FIGURE_COMM_S || f->total || !f->text)
		return 0;
	/* Each text stands once: evidence.c. */
	while (i < t->n_names && t->names[i] != f->text)
		i++;
	if (i == TIMERS_MOST)
		return 0;
	if (i == t->n_names)
		t->names[t->n_names++] = f->text;
	return (uint64_t)1 << i;
}

static bool same_place(const struct figure_seen *x, const struct figure_seen *y)
{
	return x->file == y->file && x->rank == y->rank && x->step == y->step;
}

/* The newest sample of the same rank and step; n: there is none. Ranks stand in the same order
 * below each timer: first the one behind the last. */
static size_t newest(const struct timers *t, const struct sample *s, size_t n,
		     const struct figure_seen *f)
{
	size_t i = n;

	if (t->next < n && same_place(s[t->next].f, f))
		return t->next;
	while (i > 0 && n - i < LOOK_BACK && !same_place(s[i - 1].f, f))
		i--;
	return i > 0 && same_place(s[i - 1].f, f) ? i - 1 : n;
}

struct sample *timers_of(struct timers *t, struct sample *s, size_t n, const struct figure_seen *f)
{
	uint64_t bit = bit_of(t, f);
	size_t i = bit ? newest(t, s, n, f) : n;

	/* One that comes again is of another step. */
	if (i == n || !t->of[i] || (t->of[i] & bit))
		return NULL;
	t->of[i] |= bit;
	t->next = i + 1;
	return &s[i];
}

void timers_begin(struct arena *a, struct timers *t, size_t n, const struct figure_seen *f)
{
	if (f->kind != FIGURE_COMM_S)
		return;
	t->of = arena_grow(a, t->of, n, sizeof(*t->of));
	t->of[n] = bit_of(t, f);
}
