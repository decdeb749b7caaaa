/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of small numbers as ranges. */
#include "base/idset.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void idset_add_range(struct arena *a, struct idset *set, unsigned lo, unsigned hi)
{
	size_t i = 0, j, drop;

	/* Lists are mostly in order: without this a list of many pieces costs their square. */
	if (set->n && set->r[set->n - 1].hi + 1 < lo)
		i = set->n;
	while (i < set->n && set->r[i].hi + 1 < lo)
		i++;
	for (j = i; j < set->n && set->r[j].lo <= hi + 1; j++) {
		if (set->r[j].lo < lo)
			lo = set->r[j].lo;
		if (set->r[j].hi > hi)
			hi = set->r[j].hi;
	}
	drop = j - i;
	if (drop == 0) {
		set->r = arena_grow(a, set->r, set->n, sizeof(*set->r));
		memmove(set->r + i + 1, set->r + i, (set->n - i) * sizeof(*set->r));
		set->n++;
	} else if (drop > 1) {
		/* The array never grows again past a power of two that it has already passed,
		 * because arena_grow copies at every power of two that n reaches. */
		memmove(set->r + i + 1, set->r + j, (set->n - j) * sizeof(*set->r));
		set->n -= drop - 1;
	}
	set->r[i] = (struct idrange){ lo, hi };
}

void idset_add(struct arena *a, struct idset *set, unsigned id)
{
	struct idrange *last = set->n ? &set->r[set->n - 1] : NULL;

	if (last && last->hi + 1 == id)
		last->hi = id;
	else if (!idset_has(set, id))
		idset_add_range(a, set, id, id);
}

static int parse_number(const char **p, unsigned *out)
{
	char *end;
	unsigned long v;

	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	errno = 0;
	v = strtoul(*p, &end, 10);
	if (errno || v > IDSET_MAX)
		return -EINVAL;
	*p = end;
	*out = (unsigned)v;
	return 0;
}

/* One element: N, N-M, or N-M:used/group (used members out of every group, as the kernel parses
 * it). */
static int parse_element(struct arena *a, const char **p, struct idset *set)
{
	unsigned lo, hi, used, group;

	if (parse_number(p, &lo))
		return -EINVAL;
	hi = lo;
	if (**p == '-') {
		(*p)++;
		if (parse_number(p, &hi) || hi < lo)
			return -EINVAL;
	}
	if (**p != ':') {
		idset_add_range(a, set, lo, hi);
		return 0;
	}
	(*p)++;
	if (parse_number(p, &used) || **p != '/')
		return -EINVAL;
	(*p)++;
	if (parse_number(p, &group) || !used || used > group)
		return -EINVAL;
	for (unsigned at = lo; at <= hi; at += group)
		idset_add_range(a, set, at, at + used - 1 < hi ? at + used - 1 : hi);
	return 0;
}

int idset_parse(struct arena *a, const char *s, struct idset *out)
{
	struct idset set = { 0 };
	size_t len;
	const char *p = str_trim(s, strlen(s), &len), *end = p + len;

	while (p < end) {
		if (parse_element(a, &p, &set))
			return -EINVAL;
		if (p == end)
			break;
		if (*p != ',' || p + 1 == end)
			return -EINVAL;
		p++;
	}
	*out = set;
	return 0;
}

bool idset_has(const struct idset *set, unsigned id)
{
	size_t lo = 0, hi = set->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (set->r[mid].hi < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < set->n && set->r[lo].lo <= id;
}

size_t idset_count(const struct idset *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		n += set->r[i].hi - set->r[i].lo + 1u;
	return n;
}

bool idset_equal(const struct idset *x, const struct idset *y)
{
	return x->n == y->n && (x->n == 0 || memcmp(x->r, y->r, x->n * sizeof(*x->r)) == 0);
}

bool idset_intersects(const struct idset *x, const struct idset *y)
{
	for (size_t i = 0, j = 0; i < x->n && j < y->n;) {
		if (x->r[i].hi < y->r[j].lo)
			i++;
		else if (y->r[j].hi < x->r[i].lo)
			j++;
		else
			return true;
	}
	return false;
}

struct idset idset_minus(struct arena *a, const struct idset *x, const struct idset *y)
{
	struct idset out = { 0 };

	IDSET_FOR_EACH (id, x)
		if (!idset_has(y, id))
			idset_add(a, &out, id);
	return out;
}

struct idset idset_both(struct arena *a, const struct idset *x, const struct idset *y)
{
	struct idset out = { 0 };

	IDSET_FOR_EACH (id, x)
		if (idset_has(y, id))
			idset_add(a, &out, id);
	return out;
}

bool idset_contains(const struct idset *outer, const struct idset *inner)
{
	IDSET_FOR_EACH (id, inner)
		if (!idset_has(outer, id))
			return false;
	return true;
}

char *idset_format(struct arena *a, const struct idset *set)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "");
	for (size_t i = 0; i < set->n; i++) {
		text_printf(&t, "%s%u", i ? "," : "", set->r[i].lo);
		if (set->r[i].hi > set->r[i].lo)
			text_printf(&t, "-%u", set->r[i].hi);
	}
	return arena_strdup(a, t.s);
}
