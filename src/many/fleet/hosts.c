/* SPDX-License-Identifier: Apache-2.0 */
/* Names of many machines in few letters: "node[001-004,017]". */
#include <string.h>

#include "base/text.h"
#include "many/fleet/fleet.h"

/* A name as text, then a number of so many digits, then text: the last number that can be one. */
struct shape {
	const char *name;
	size_t before, digits;
	unsigned long number;
};

static struct shape shape_of(const char *name)
{
	struct shape s = { .name = name };
	size_t end = strlen(name);

	while (end && (name[end - 1] < '0' || name[end - 1] > '9'))
		end--;
	s.before = end;
	while (s.before && s.digits < 9 && name[s.before - 1] >= '0' && name[s.before - 1] <= '9') {
		s.before--;
		s.digits++;
	}
	for (size_t i = 0; i < s.digits; i++)
		s.number = s.number * 10 + (unsigned long)(name[s.before + i] - '0');
	return s;
}

/* "n9" and "n10" count on; "n09" and "n10" too; "n9" and "n010" do not. */
static bool same_series(const struct shape *a, const struct shape *b)
{
	bool zero = (a->digits > 1 && a->name[a->before] == '0') ||
		    (b->digits > 1 && b->name[b->before] == '0');

	return a->digits && b->digits && a->before == b->before &&
	       memcmp(a->name, b->name, a->before) == 0 &&
	       strcmp(a->name + a->before + a->digits, b->name + b->before + b->digits) == 0 &&
	       (!zero || a->digits == b->digits);
}

/* A run of counting names from machine i on; the index behind it. */
static size_t run_end(const struct fleet_machine *const *m, size_t n, size_t i)
{
	struct shape last = shape_of(m[i]->name);

	for (i++; i < n; i++) {
		struct shape next = shape_of(m[i]->name);

		if (!same_series(&last, &next) || next.number != last.number + 1)
			break;
		last = next;
	}
	return i;
}

/* One series from machine i on: its text into t, the index behind what was told returned. Beyond
 * max bytes (0: no bound) the rest of the series is not told. */
static size_t fold(struct text *t, const struct fleet_machine *const *m, size_t n, size_t i,
		   size_t max)
{
	struct shape first = shape_of(m[i]->name);
	size_t begin = i;

	if (i + 1 < n) {
		struct shape next = shape_of(m[i + 1]->name);

		if (same_series(&first, &next))
			text_printf(t, "%.*s[", (int)first.before, m[i]->name);
		else
			n = i;
	} else {
		n = i;
	}
	if (n == i) {
		text_add(t, first.name);
		return i + 1;
	}
	while (i < n && (i == begin || !max || t->len < max)) {
		struct shape from = shape_of(m[i]->name), to;

		if (!same_series(&first, &from))
			break;
		text_printf(t, "%s%.*s", i == begin ? "" : ",", (int)from.digits,
			    from.name + from.before);
		i = run_end(m, n, i);
		to = shape_of(m[i - 1]->name);
		if (to.number != from.number)
			text_printf(t, "-%.*s", (int)to.digits, to.name + to.before);
	}
	text_printf(t, "]%s", first.name + first.before + first.digits);
	return i;
}

const char *fleet_hosts(struct arena *a, const struct fleet_machine *const *machines, size_t n,
			size_t max)
{
	TEXT_AUTO t = { 0 };
	size_t i = 0;

	text_add(&t, "");
	while (i < n && (!max || t.len < max)) {
		if (i)
			text_addc(&t, ',');
		i = fold(&t, machines, n, i, max);
	}
	if (i < n)
		text_printf(&t, " and %zu more", n - i);
	return arena_strdup(a, t.s);
}
