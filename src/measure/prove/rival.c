/* SPDX-License-Identifier: Apache-2.0 */
/* What was found to help, against other values of its settings and whole profiles. */
#include <string.h>

#include "measure/prove/engine.h"

/* Two changes of one place are never on together. */
static void merge(const struct plan *p, const bool *kept, const struct rival *x, bool *out)
{
	memcpy(out, x->on, p->n * sizeof(*out));
	for (size_t i = 0; x->beside && i < p->n; i++) {
		out[i] = out[i] || kept[i];
		for (size_t k = 0; kept[i] && k < p->n; k++)
			if (k != i && x->on[k] && p->changes[k].s == p->changes[i].s)
				out[i] = x->on[i];
	}
}

int engine_challenge(struct prove_engine *g, bool *on, struct err *e)
{
	size_t n = g->plan->n;
	struct rule rule;
	int r = 0;

	rule_default(&rule, g->p->min_effect_asked);
	/* All of them together are wrong as seldom as one would be. */
	for (size_t i = 0; i < rule.n_looks; i++)
		rule.level[i] = 1 - (1 - rule.level[i]) / (double)g->n_rivals;
	for (size_t i = 0; r == 0 && i < g->n_rivals; i++) {
		struct rival *x = &g->rivals[i];
		bool *with = arena_array(g->a, n, sizeof(*with));
		struct arm kept = { .name = "kept", .on = on, .other = with },
			   other = { .name = x->name, .on = with };

		merge(g->plan, on, x, with);
		if (!engine_has_time(g, rule.looks[0] + 1) ||
		    memcmp(with, on, n * sizeof(*with)) == 0)
			continue;
		r = engine_admit(g, with, e);
		if (r == 0)
			r = engine_compare(g, &rule, &kept, &other, &x->compared, e);
		/* It cannot be set, or breaks what is measured: it is none. */
		if (r == -EBADMSG || r == -ECANCELED || r == -EAGAIN)
			r = 0;
		else if (r == 0 && x->compared.verdict == RULING_HELPS)
			x->won = true;
		if (x->won)
			memcpy(on, with, n * sizeof(*on));
	}
	return r;
}
