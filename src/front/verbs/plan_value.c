/* SPDX-License-Identifier: Apache-2.0 */
/* ID=VALUE: a value that no profile has, written into the setting's own knob on its targets. */
#include <string.h>

#include "front/verbs/plan.h"
#include "look/settings/current.h"
#include "look/settings/subject.h"

struct adding {
	struct host *h;
	struct arena *a;
	struct plan *plan;
	const struct setting *s;
	const char *value, *target; /* target NULL: all */
	bool planned;		    /* the plan has changes of the setting: no others are added */
	size_t n;
};

static struct change *change_of(struct plan *p, const struct setting *s, const struct knob *k)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->changes[i].s == s && knob_equal(&p->changes[i].knob, k))
			return &p->changes[i];
	return NULL;
}

static void add(const void *object, const char *name, void *ctx)
{
	struct adding *x = ctx;
	struct plan *p = x->plan;
	struct knob k = setting_place(x->a, x->s, object);
	struct change *c;
	struct fact_str now;

	if (x->target && strcmp(x->target, name) != 0)
		return;
	/* A row may round what a profile wants of it; who names a value means that one. */
	c = change_of(p, x->s, &k);
	if (c && (!c->before || strcmp(c->before, x->value) != 0))
		c->after = x->value;
	if (c || x->planned)
		return;
	now = run_exact_knob(x->h, x->a, &k);
	if (!seen_ok(&now.f) || strcmp(now.v, x->value) == 0)
		return;
	p->changes = arena_grow(x->a, p->changes, p->n, sizeof(*p->changes));
	p->changes[p->n++] = (struct change){ .s = x->s,
					      .target = arena_strdup(x->a, name),
					      .knob = k,
					      .before = now.v,
					      .after = x->value,
					      .why = "asked for by this proof",
					      .source = x->s->source,
					      .risk = x->s->risk,
					      .effect = x->s->effect };
	x->n++;
}

size_t run_add_value(struct run *r, struct host *h, struct planned *planned, const char *id,
		     const char *target, const char *value)
{
	struct plan *p = &planned->plan;
	struct adding x = { .h = h,
			    .a = &r->arena,
			    .plan = p,
			    .s = setting_find(id),
			    .value = value,
			    .target = target };
	struct plan_wish w = { .profile = &planned->profile };

	for (size_t i = 0; i < p->n; i++)
		x.planned = x.planned || p->changes[i].s == x.s;
	/* Values of the others are not for one write. */
	if (!x.s || (x.s->knob != KNOB_SYSCTL && x.s->knob != KNOB_SYSFS &&
		     x.s->knob != KNOB_LINK && x.s->knob != KNOB_NVML && x.s->knob != KNOB_CPUSET))
		return 0;
	setting_subjects(&r->arena, planned->m, x.s, add, &x);
	if (x.n) {
		w.allow = run_words(r, r->value[OPT_ALLOW], &w.n_allow);
		plan_sort(p);
		plan_gates(&r->arena, planned->m, &w, p);
	}
	return x.n;
}
