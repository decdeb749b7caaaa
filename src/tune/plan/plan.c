/* SPDX-License-Identifier: Apache-2.0 */
/* From failed findings to a plan: what each one's aim would write, what is there now, in what
 * order, and what stands against it. */
#include "tune/plan/plan.h"

#include <string.h>

#include "look/settings/current.h"

struct making {
	struct arena *a;
	const struct machine *m;
	const struct plan_wish *w;
	knob_reader *read;
	plan_reader *exact;
	void *ctx;
	struct plan *out;
};

/* Two settings may ask for the same write. */
static bool is_planned(const struct plan *p, const struct aim *aim)
{
	for (size_t i = 0; i < p->n; i++)
		if (knob_equal(&p->changes[i].knob, &aim->knob) &&
		    strcmp(p->changes[i].after, aim->value) == 0)
			return true;
	return false;
}

static void add_change(struct making *k, const struct finding *f, const char *target,
		       const struct aim *aim)
{
	struct fact_str now = k->exact(k->ctx, k->a, &aim->knob);
	struct plan *p = k->out;
	struct change *c;

	if (is_planned(p, aim) || (seen_ok(&now.f) && strcmp(now.v, aim->value) == 0))
		return;
	p->changes = arena_grow(k->a, p->changes, p->n, sizeof(*p->changes));
	c = &p->changes[p->n++];
	*c = (struct change){ .s = f->s,
			      .target = target,
			      .knob = aim->knob,
			      .before = seen_ok(&now.f) ? now.v : NULL,
			      .after = aim->value,
			      .unseen = now.f.seen == SEEN_ERROR,
			      .why = f->v.why,
			      .source = f->s->source,
			      .risk = f->s->risk,
			      .effect = f->s->effect };
	/* Not asked: the knob has no getter. */
	if (!seen_ok(&now.f) && now.f.seen != SEEN_UNASKED) {
		c->gate = GATE_UNREADABLE;
		c->refusal = plan_boot_by_hand(k->a, k->m, &aim->knob, aim->value);
	}
	if (c->gate && !c->refusal)
		c->refusal = arena_printf(k->a,
					  "%s could not be read (%s): what cannot be read cannot "
					  "be put back",
					  knob_text(k->a, &aim->knob),
					  now.f.err ? strerror(now.f.err) : seen_name(now.f.seen));
}

static void advise(struct making *k, const struct finding *f, const char *sentence)
{
	struct plan *p = k->out;

	p->advice = arena_grow(k->a, p->advice, p->n_advice, sizeof(*p->advice));
	p->advice[p->n_advice++] = (struct advice){ .finding = f, .sentence = sentence };
}

static void plan_finding(struct making *k, const struct finding *f)
{
	const char *by_hand = NULL;

	for (size_t i = 0; i < f->n_targets; i++) {
		struct aims aims = { 0 };

		settings_aims(k->a, k->m, k->w->profile, f, i, k->read, k->ctx, &aims);
		for (size_t n = 0; n < aims.n; n++)
			add_change(k, f, f->targets[i], &aims.items[n]);
		if (!aims.n && !by_hand)
			by_hand = aims.by_hand ? aims.by_hand : "mend it by hand";
	}
	if (by_hand)
		advise(k, f, by_hand);
}

void plan_make(struct arena *a, const struct machine *m, const struct plan_wish *w,
	       const struct findings *f, knob_reader *read, plan_reader *exact, void *ctx,
	       struct plan *out)
{
	struct making k = {
		.a = a, .m = m, .w = w, .read = read, .exact = exact, .ctx = ctx, .out = out
	};

	*out = (struct plan){ .profile = w->profile->name,
			      .nodename = fact_text(&m->nodename, ""),
			      .boot_id = "",
			      .time_s = fact_or(&m->time_s, 0) };
	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].v.kind == VERDICT_FAIL)
			plan_finding(&k, &f->items[i]);
	plan_sort(out);
	plan_gates(a, m, w, out);
	for (size_t i = 0; i < out->n; i++)
		plan_owners(a, m, &out->changes[i]);
}

size_t plan_open_changes(const struct plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->changes[i].gate == NULL;
	return n;
}
