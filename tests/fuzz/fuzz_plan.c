/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a plan that is to be applied to a captured machine: refused, or every change in it is
 * one that its setting makes on this machine. What was read is written and read again. It is
 * applied and undone, all of it and each change of it alone: what is restored is what was there,
 * and what was refused has changed nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_box.h"
#include "machine/knob/io.h"
#include "tune/plan/plan.h"
#include "look/probe/probe.h"
#include "tune/txn/txn.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Machines that plans are for: the second one where the text begins with a blank. */
struct subject {
	const struct machine *m;
	struct fuzz_box box;
};

/* Read once, for all inputs. */
static struct subject *subject(bool second)
{
	static const char *const names[] = { "igx-orin", "hgx-h100" };
	static struct subject all[2];
	struct subject *s = &all[second];
	struct machine *m;

	if (s->m)
		return s;
	fuzz_box_open(&s->box, names[second]);
	m = ARENA_NEW(s->box.f.keep, struct machine);
	probe_machine(
		&(struct probe){ .h = s->box.f.base, .a = s->box.f.keep, .m = m, .deep = true });
	s->m = m;
	return s;
}

static void check(struct arena *a, const struct machine *m, const struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		const struct map *targets = setting_targets(a, m, c->s);
		const void *object = map_get(targets, c->target);
		const char *why;

		/* What a group of CPUs was called before one of them was changed. */
		if (!object)
			object = setting_regrouped(a, targets, c->s, c->target, &c->knob);
		if (!object || !setting_reaches(a, c->s, object, &c->knob) ||
		    !knob_valid(&c->knob, c->after, &why) ||
		    (c->before && !knob_valid(&c->knob, c->before, &why)))
			abort();
	}
}

/* Every value as before, as far as it can be read. */
static void as_before(struct host *h, struct arena *a, const struct plan *p,
		      const struct fact_str *was)
{
	for (size_t i = 0; i < p->n; i++) {
		struct fact_str is = knob_exact(h, a, &p->changes[i].knob);

		if (is.f.seen != was[i].f.seen ||
		    (seen_ok(&is.f) && !knob_same(&p->changes[i].knob, is.v, was[i].v)))
			abort();
	}
}

static void apply(struct arena *a, struct fuzz_box *box, const struct plan *p, unsigned refuse)
{
	static const struct txn_who who = { .user = "u", .version = "1" };
	struct fact_str *was = arena_array(a, p->n, sizeof(*was));
	struct txn_report report = { 0 };
	struct host *h = &box->f.host;
	struct err e = { 0 };
	int r;

	fuzz_box_begin(box, refuse);
	for (size_t i = 0; i < p->n; i++)
		was[i] = knob_exact(h, a, &p->changes[i].knob);
	r = txn_apply(h, a, p, &who, &report, &e);
	if (r && !*e.text)
		abort();
	if (r == 0 &&
	    txn_undo(h, a, &(struct txn_select){ .all = true }, &who, &report, &e) == -EUCLEAN)
		return; /* a knob that this machine in memory does not keep */
	if (r == 0 || r == -ESTALE || r == -ECANCELED)
		as_before(h, a, p, was);
}

/* Of a change that cannot be made the others are taken back: alone each gets its turn. */
static void apply_each(struct arena *a, struct fuzz_box *box, const struct plan *p, size_t size)
{
	apply(a, box, p, size % 3 ? 0 : (unsigned)(size / 3 % 16));
	for (size_t i = 0; i < p->n && i < 8 && p->n > 1; i++) {
		struct plan one = *p;

		one.changes = &p->changes[i];
		one.n = 1;
		apply(a, box, &one, 0);
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct subject *s = subject(size && *data == ' ');
	struct plan p, again;
	json_error_t why;
	json_t *j = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &why);

	if (!j)
		return 0;
	if (plan_from_json(&a, s->m, j, "plan.json", &p, &e) == 0) {
		json_t *out = plan_json(&p, 0);

		check(&a, s->m, &p);
		apply_each(&a, &s->box, &p, size);
		if (plan_from_json(&a, s->m, out, "again", &again, &e) || again.n != p.n ||
		    again.n_advice != p.n_advice)
			abort();
		json_decref(out);
	} else if (!*e.text) {
		abort();
	}
	json_decref(j);
	arena_free(&a);
	return 0;
}
