/* SPDX-License-Identifier: Apache-2.0 */
/* From evidence to one diagnosis with its causes, most telling first. */
#include "measure/doctor/rule.h"

#include "base/text.h"
#include "look/settings/predicates.h"

const char *likelihood_name(unsigned l)
{
	static const char *const names[LIKELIHOODS] = { "certain",    "likely",	  "possible",
							"not tested", "excluded", "not here" };

	return names[l];
}

const char *doctor_state_name(unsigned s)
{
	static const char *const names[DOCTOR_STATES] = { "found", "not-tested", "fine",
							  "not-here" };

	return names[s];
}

const char *doctor_step(const struct cause *c, const struct machine *m, const char *by_hand)
{
	const struct setting *s = c->setting ? setting_find(c->setting) : NULL;
	unsigned on = platform_bits(m);

	for (size_t i = 0; i < sizeof(c->steps) / sizeof(c->steps[0]); i++)
		if (c->steps[i].text && (c->steps[i].on & on))
			return c->steps[i].text;
	return by_hand ? by_hand : s ? s->by_hand : NULL;
}

unsigned doctor_tests_of(const struct chosen *c)
{
	unsigned out = 0;

	for (size_t i = 0; i < c->n; i++)
		out |= c->items[i]->tests | c->items[i]->missing_test;
	return out;
}

/* Why the machine has no such part; NULL: it has. */
static const char *no_part(const struct rule_facts *e, enum doctor_part part)
{
	const struct machine *m = e->m;

	if (part == PART_GPU && !machine_gpu(m, 0))
		return machine_no_gpu(e->a, m);
	if (part == PART_RDMA && !m->net.rdma.n)
		return "no RDMA device";
	if (part != PART_DATA_PORT)
		return NULL;
	LIST_FOR_EACH (struct nic, n, &m->net.nics)
		if (is_data_port(m, n))
			return NULL;
	return "no data port connects machines";
}

static void examine_judge(const struct rule_facts *e, const struct diagnosis *d,
			  const struct cause *c, struct judged *out)
{
	const char *none = no_part(e, d->part);

	if (none)
		*out = (struct judged){ CAUSE_NOT_HERE, none, NULL };
	else if (c->rule)
		c->rule(e, out);
	else if (!c->setting)
		*out = (struct judged){ CAUSE_UNSEEN, "gputune reads no value that would show it",
					NULL };
	else
		rule_by_code(e, c->setting, c->code, c->weight, out);
}

static void examine_sort(struct cause_result *r, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && r[k].v.likelihood < r[k - 1].v.likelihood; k--) {
			struct cause_result t = r[k];

			r[k] = r[k - 1];
			r[k - 1] = t;
		}
}

/* What keeps it from being called fine. */
static const char *open_why(const struct rule_facts *e, const struct examined *x)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < x->d->n; i++)
		if (x->causes[i].v.likelihood == CAUSE_POSSIBLE ||
		    x->causes[i].v.likelihood == CAUSE_UNSEEN)
			text_printf(&t, "%s%s: %s", t.len ? "; " : "", x->causes[i].c->title,
				    x->causes[i].v.text);
	if (x->missing)
		text_printf(&t, "%s%s", t.len ? "; " : "", x->d->missing);
	return arena_strdup(e->a, t.s ? t.s : "");
}

void doctor_examine(const struct rule_facts *e, const struct diagnosis *d, struct examined *out)
{
	size_t count[LIKELIHOODS] = { 0 };

	*out = (struct examined){ .d = d,
				  .missing = d->missing != NULL,
				  .causes = arena_array(e->a, d->n, sizeof(*out->causes)),
				  .n = d->n };
	for (size_t i = 0; i < d->n; i++) {
		out->causes[i].c = &d->causes[i];
		examine_judge(e, d, &d->causes[i], &out->causes[i].v);
		out->causes[i].step = doctor_step(&d->causes[i], e->m, out->causes[i].v.by_hand);
		count[out->causes[i].v.likelihood]++;
	}
	examine_sort(out->causes, d->n);
	for (unsigned t = 0; t < TESTS && out->missing; t++)
		if ((d->missing_test & TEST_BIT(t)) && !e->not_run[t])
			out->missing = false;
	if (count[CAUSE_CERTAIN] + count[CAUSE_LIKELY])
		out->state = DOCTOR_FOUND;
	else if (d->n && count[CAUSE_NOT_HERE] == d->n)
		out->state = DOCTOR_NOT_HERE;
	else if (count[CAUSE_POSSIBLE] + count[CAUSE_UNSEEN] || out->missing || d->leads)
		out->state = DOCTOR_OPEN;
	else
		out->state = DOCTOR_FINE;
	if (d->leads)
		out->why = arena_printf(e->a, "use another command: %s", d->leads);
	else if (out->state == DOCTOR_OPEN)
		out->why = open_why(e, out);
	else if (out->state == DOCTOR_NOT_HERE)
		out->why = out->causes[0].v.text;
}
