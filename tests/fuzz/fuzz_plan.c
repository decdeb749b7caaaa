/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a plan that is to be applied to a captured machine: refused, or every change in it is
 * one that its setting makes on this machine. What was read is written and read again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"
#include "plan/plan_json.h"
#include "plan/reach.h"
#include "probe/probe.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Read once, for all inputs. */
static const struct machine *the_machine(void)
{
	static struct arena a;
	static struct machine *m;
	static struct host *h;
	struct probe p = { .a = &a, .deep = true };
	struct err e = { 0 };

	if (h)
		return m;
	h = host_open_capture(SOURCE_ROOT "/tests/machines/igx-orin", &e);
	if (!h)
		abort();
	p.h = h;
	m = ARENA_NEW(&a, struct machine);
	p.m = m;
	probe_machine(&p);
	return m;
}

static void check(struct arena *a, const struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		const struct map *targets = setting_targets(a, the_machine(), c->s);
		const void *object = map_get(targets, c->target);
		const char *why;

		/* What a group of CPUs was called before one of them was changed. */
		if (!object)
			object = setting_regrouped(a, targets, c->s, c->target, &c->knob);
		if (!object || !setting_reaches(a, c->s, object, &c->knob) ||
		    !knob_sound(&c->knob, c->after, &why) ||
		    (c->before && !knob_sound(&c->knob, c->before, &why)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct plan p, again;
	json_error_t why;
	json_t *j = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &why);

	if (!j)
		return 0;
	if (plan_from_json(&a, the_machine(), j, "plan.json", &p, &e) == 0) {
		json_t *out = plan_json(&p, 0);

		check(&a, &p);
		if (plan_from_json(&a, the_machine(), out, "again", &again, &e) || again.n != p.n ||
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
