/* SPDX-License-Identifier: Apache-2.0 */
/* Round robin by the circle method: one node stands still, the others move on by one place. */
#include "many/cluster/pairs.h"

static bool taken(const struct pairs *p, size_t n, const struct pair *one, size_t round)
{
	for (size_t i = 0; i < n; i++) {
		const struct pair *q = &p->items[i];

		if (q->round == round &&
		    (q->a == one->a || q->a == one->b || q->b == one->a || q->b == one->b))
			return true;
	}
	return false;
}

/* Into the first round in which both are free: a list in the circle's order stays as it is. */
struct pairs pairs_of(struct arena *a, const struct pair *list, size_t n)
{
	struct pairs out = { .items = arena_array(a, n, sizeof(*out.items)), .n = n };
	struct pair *sorted = arena_array(a, n, sizeof(*sorted));
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		struct pair one = list[i];

		one.round = 0;
		while (taken(&out, i, &one, one.round))
			one.round++;
		out.items[i] = one;
		if (one.round >= out.rounds)
			out.rounds = one.round + 1;
	}
	for (size_t round = 0; round < out.rounds; round++)
		for (size_t i = 0; i < n; i++)
			if (out.items[i].round == round)
				sorted[k++] = out.items[i];
	out.items = sorted;
	return out;
}

struct pairs pairs_make(struct arena *a, size_t n, bool (*wanted)(void *ctx, size_t a, size_t b),
			void *ctx)
{
	/* With an odd number the one that stands still is nobody: its partner rests. */
	size_t m = n + n % 2, circle = m ? m - 1 : 0, k = 0;
	struct pair *list = arena_array(a, n * n / 2 + 1, sizeof(*list));

	for (size_t round = 0; n > 1 && round < circle; round++)
		for (size_t i = 0; i < m / 2; i++) {
			size_t x = i ? (round + i) % circle : m - 1,
			       y = (round + circle - i) % circle;

			if (x >= n || y >= n)
				continue;
			list[k] = (struct pair){ .a = x < y ? x : y, .b = x < y ? y : x };
			k += !wanted || wanted(ctx, list[k].a, list[k].b);
		}
	return pairs_of(a, list, k);
}
