/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a plan, those that cannot be switched apart as one. */
#include "measure/prove/groups.h"

#include <string.h>

#include "machine/knob/io.h"
#include "measure/prove/screen.h"

struct items {
	struct arena *a;
	const struct plan *p;
	const struct setting **s; /* distinct, in the plan's order */
	size_t n;
};

static bool resets(struct arena *a, const struct knob *x, const struct knob *y)
{
	size_t n = 0;
	struct knob *others = knob_disturbs(NULL, a, x, &n);

	for (size_t i = 0; i < n; i++)
		if (knob_equal(&others[i], y))
			return true;
	return false;
}

static bool joined(void *ctx, size_t i, size_t j)
{
	const struct items *x = ctx;

	for (size_t k = 0; k < x->p->n; k++)
		for (size_t m = 0; m < x->p->n; m++) {
			const struct change *c = &x->p->changes[k], *d = &x->p->changes[m];

			if (c->gate || d->gate || c->s != x->s[i] || d->s != x->s[j])
				continue;
			if (knob_equal(&c->knob, &d->knob) || resets(x->a, &c->knob, &d->knob) ||
			    resets(x->a, &d->knob, &c->knob))
				return true;
		}
	return false;
}

static void find_items(struct items *x)
{
	for (size_t i = 0; i < x->p->n; i++) {
		const struct change *c = &x->p->changes[i];
		size_t k = 0;

		while (k < x->n && x->s[k] != c->s)
			k++;
		if (c->gate || k < x->n)
			continue;
		x->s = arena_grow(x->a, x->s, x->n, sizeof(*x->s));
		x->s[x->n++] = c->s;
	}
}

void groups_make(struct arena *a, const struct plan *p, struct groups *out)
{
	struct items x = { .a = a, .p = p };
	size_t *group;

	find_items(&x);
	group = arena_array(a, x.n, sizeof(*group));
	*out = (struct groups){ .n = screen_groups(x.n, joined, &x, group) };
	out->ids = arena_array(a, out->n, sizeof(*out->ids));
	out->on = arena_array(a, out->n, sizeof(*out->on));
	for (size_t i = 0; i < out->n; i++)
		out->on[i] = arena_array(a, p->n, sizeof(**out->on));
	for (size_t i = 0; i < x.n; i++) {
		const char **id = &out->ids[group[i]];

		*id = *id ? arena_printf(a, "%s+%s", *id, x.s[i]->id) : x.s[i]->id;
		for (size_t k = 0; k < p->n; k++)
			if (!p->changes[k].gate && p->changes[k].s == x.s[i])
				out->on[group[i]][k] = true;
	}
}
