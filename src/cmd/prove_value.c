/* SPDX-License-Identifier: Apache-2.0 */
/* ID=VALUE: a value that no profile has, written into the setting's own knob on its targets. */
#include <string.h>

#include "cmd/prove.h"
#include "settings/current.h"
#include "settings/subject.h"

struct adding {
	struct proving *g;
	const struct setting *s;
	const char *value, *target; /* target NULL: all */
	bool planned;		    /* the plan has changes of the setting: no others are added */
	size_t n;
};

static struct change *planned(struct plan *p, const struct setting *s, const struct knob *k)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->changes[i].s == s && knob_equal(&p->changes[i].knob, k))
			return &p->changes[i];
	return NULL;
}

static void add(const void *object, const char *name, void *ctx)
{
	struct adding *x = ctx;
	struct arena *a = &x->g->r->arena;
	struct plan *p = &x->g->planned.plan;
	struct knob k = setting_knob(a, x->s, object);
	struct change *c;
	struct fact_str now;

	if (x->target && strcmp(x->target, name) != 0)
		return;
	/* As in a plan: one place, one knob. */
	if (k.kind != KNOB_NVML && k.kind != KNOB_PCI && k.kind != KNOB_LINK &&
	    k.kind != KNOB_ZPROP && k.kind != KNOB_HELPER)
		k.object = "";
	/* A row may round what a profile wants of it; who names a value means that one. */
	c = planned(p, x->s, &k);
	if (c && (!c->before || strcmp(c->before, x->value) != 0))
		c->after = x->value;
	if (c || x->planned)
		return;
	now = run_exact_knob(x->g->h, a, &k);
	if (!seen_ok(&now.f) || strcmp(now.v, x->value) == 0)
		return;
	p->changes = arena_grow(a, p->changes, p->n, sizeof(*p->changes));
	p->changes[p->n++] = (struct change){ .s = x->s,
					      .target = arena_strdup(a, name),
					      .knob = k,
					      .before = now.v,
					      .after = x->value,
					      .why = "asked for by this proof",
					      .source = x->s->source,
					      .risk = x->s->risk,
					      .effect = x->s->effect };
	x->n++;
}

size_t prove_add_value(struct proving *g, const char *id, const char *target, const char *value)
{
	struct adding x = { .g = g, .s = setting_find(id), .value = value, .target = target };
	struct plan *p = &g->planned.plan;
	struct plan_wish w = { .profile = &g->planned.profile };

	for (size_t i = 0; i < p->n; i++)
		x.planned = x.planned || p->changes[i].s == x.s;
	/* Values of the others are not for one write. */
	if (!x.s || (x.s->knob != KNOB_SYSCTL && x.s->knob != KNOB_SYSFS &&
		     x.s->knob != KNOB_LINK && x.s->knob != KNOB_NVML))
		return 0;
	setting_subjects(&g->r->arena, g->planned.m, x.s, add, &x);
	if (x.n) {
		w.allow = run_words(g->r, g->r->value[OPT_ALLOW], &w.n_allow);
		plan_sort(p);
		plan_gates(&g->r->arena, g->planned.m, &w, p);
	}
	return x.n;
}
