/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the evidence. */
#include "measure/doctor/rule.h"
#include "knowledge/nccl_vars.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "render/figure.h"

void verdict_set(const struct rule_facts *e, struct judged *out, enum likelihood how,
		 const char *fmt, ...)
{
	TEXT_AUTO t = { 0 };
	va_list ap;

	va_start(ap, fmt);
	text_vprintf(&t, fmt, ap);
	va_end(ap);
	*out = (struct judged){ how, arena_strdup(e->a, t.s ? t.s : ""), NULL };
}

bool verdict_set_unseen(const struct rule_facts *e, struct judged *out, const struct fact *f,
			const char *what)
{
	if (seen_ok(f))
		return false;
	verdict_set(e, out, CAUSE_UNSEEN, "%s: %s", what,
		    f->seen == SEEN_UNASKED	  ? "not checked"
		    : f->seen == SEEN_DENIED	  ? "not readable for this user"
		    : f->seen == SEEN_ABSENT	  ? "not found"
		    : f->seen == SEEN_UNSUPPORTED ? "not reported on the machine"
						  : "unreadable");
	return true;
}

static int telling(const struct verdict *v)
{
	return v->kind == VERDICT_FAIL	    ? 4
	       : v->kind == VERDICT_UNKNOWN ? 3
	       : v->kind == VERDICT_PASS    ? 1 + v->slight
					    : 0;
}

const struct finding *finding_of(const struct rule_facts *e, const char *setting)
{
	const struct finding *out = NULL;

	for (size_t i = 0; e->findings && i < e->findings->n; i++) {
		const struct finding *f = &e->findings->items[i];

		/* The first letter tells most of them apart, without a call. */
		if (*f->s->id == *setting && strcmp(f->s->id, setting) == 0 &&
		    (!out || telling(&f->v) > telling(&out->v)))
			out = f;
	}
	return out;
}

/* "gpu0: 611 MHz: low clock ..." */
static const char *finding_text(const struct rule_facts *e, const struct finding *f)
{
	bool differs = str_starts(f->v.reason, "is ") && f->v.current && f->v.wanted;
	const char *now = f->v.current, *wanted = f->v.wanted;

	figure_values(e->a, setting_unit(f->s), &now, &wanted);
	if (differs)
		return arena_printf(e->a, "%s%sis %s, target %s", f->target ? f->target : "",
				    f->target && *f->target ? ": " : "", now, wanted);
	now = now && !str_starts(f->v.reason, "is ") ? now : "";
	return arena_printf(e->a, "%s%s%s%s%s", f->target ? f->target : "",
			    f->target && *f->target ? ": " : "", now, *now ? "; " : "",
			    f->v.reason);
}

/* Not judged because somebody has to do something first: that is no "not here". */
static bool needs_more(const char *code)
{
	return strcmp(code, CODE_NEEDS_LOAD) == 0 || strcmp(code, CODE_NEEDS_DEEP) == 0 ||
	       strcmp(code, CODE_NEEDS_EARLIER) == 0;
}

static void by_finding(const struct rule_facts *e, const struct finding *f, enum likelihood weight,
		       struct judged *out)
{
	switch (f->v.kind) {
	case VERDICT_FAIL:
		*out = (struct judged){ f->v.slight && weight < CAUSE_POSSIBLE ? CAUSE_POSSIBLE
									       : weight,
					finding_text(e, f), f->v.by_hand };
		break;
	case VERDICT_PASS:
		*out = (struct judged){ f->v.slight ? CAUSE_UNSEEN : CAUSE_EXCLUDED,
					finding_text(e, f), NULL };
		break;
	case VERDICT_NA:
		*out = (struct judged){ needs_more(f->v.code) ? CAUSE_UNSEEN : CAUSE_NOT_HERE,
					f->v.reason, NULL };
		break;
	case VERDICT_UNKNOWN:
		*out = (struct judged){ CAUSE_UNSEEN, finding_text(e, f), NULL };
		break;
	}
}

void rule_by_setting(const struct rule_facts *e, const char *setting, enum likelihood weight,
		     struct judged *out)
{
	const struct finding *f = finding_of(e, setting);

	if (f)
		by_finding(e, f, weight, out);
	else
		verdict_set(e, out, CAUSE_UNSEEN, "%s was not judged", setting);
}

void rule_by_code(const struct rule_facts *e, const char *setting, const char *code,
		  enum likelihood weight, struct judged *out)
{
	rule_by_setting(e, setting, weight, out);
	for (size_t i = 0; code && e->findings && i < e->findings->n; i++) {
		const struct finding *f = &e->findings->items[i];

		if (strcmp(f->s->id, setting) != 0 || f->v.kind != VERDICT_FAIL)
			continue;
		by_finding(e, f, weight, out);
		if (strcmp(f->v.code, code) == 0)
			return;
		out->likelihood = CAUSE_NOT_HERE;
	}
}

void rule_on_functions(const struct rule_facts *e, const char *setting, function_test *is_part,
		       const char *none, struct judged *out)
{
	struct finding top = { 0 };

	for (size_t i = 0; e->findings && i < e->findings->n; i++) {
		const struct finding *f = &e->findings->items[i];
		const char *parts = NULL; /* of a finding for several functions */

		for (size_t k = 0; strcmp(f->s->id, setting) == 0 && k < f->n_targets; k++)
			if (is_part(e->m, f->targets[k]))
				parts = arena_printf(e->a, "%s%s%s", parts ? parts : "",
						     parts ? " " : "", f->targets[k]);
		if (!parts || (top.s && telling(&f->v) <= telling(&top.v)))
			continue;
		top = *f;
		top.target = parts;
	}
	if (top.s)
		by_finding(e, &top, CAUSE_LIKELY, out);
	else if (none)
		verdict_set(e, out, CAUSE_NOT_HERE, "%s", none);
	else
		verdict_set(e, out, CAUSE_UNSEEN, "%s was not judged", setting);
}

const struct record_case *next_case(const struct rule_facts *e, const char *bench, const char *name,
				    size_t *at)
{
	for (; e->record && *at < e->record->n; ++*at) {
		const struct record_case *c = &e->record->cases[*at];

		if (strcmp(c->bench, bench) == 0 && (!name || str_starts(c->name, name))) {
			++*at;
			return c;
		}
	}
	return NULL;
}

const struct record_case *case_of(const struct rule_facts *e, const char *bench, const char *name)
{
	const struct record_case *c;

	for (size_t at = 0; (c = next_case(e, bench, name, &at)) != NULL;)
		if (strcmp(c->name, name) == 0 && c->n)
			return c;
	return NULL;
}

bool figure_of(const struct record_case *c, const char *key, double *out)
{
	for (size_t i = 0; c && i < c->n_series; i++)
		if (strcmp(c->series[i].key, key) == 0 && c->series[i].has_summary) {
			*out = c->series[i].s.median;
			return true;
		}
	return false;
}

bool test_missing(const struct rule_facts *e, enum doctor_test_id t, struct judged *out)
{
	const struct doctor_test *test = &doctor_tests[t];
	const struct record_case *c;

	if (e->not_run[t]) {
		verdict_set(e, out, CAUSE_UNSEEN, "the test %s did not run: %s", test->name,
			    e->not_run[t]);
		return true;
	}
	if (!test->bench)
		return false;
	for (size_t at = 0; (c = next_case(e, test->bench, test->cases, &at)) != NULL;)
		if (c->n)
			return false;
	for (size_t at = 0; (c = next_case(e, test->bench, test->cases, &at)) != NULL;)
		if (c->error) {
			verdict_set(e, out, CAUSE_UNSEEN, "the test %s failed: %s", test->name,
				    c->error);
			return true;
		}
	verdict_set(e, out, CAUSE_UNSEEN, "the test %s produced no figure", test->name);
	return true;
}

void rule_by_band(const struct rule_facts *e, enum doctor_test_id t, struct judged *out)
{
	const struct doctor_test *test = &doctor_tests[t];
	const struct record_case *c;

	if (test_missing(e, t, out))
		return;
	verdict_set(e, out, CAUSE_UNSEEN,
		    "measured, but there are no reference values for this hardware");
	for (size_t at = 0; (c = next_case(e, test->bench, test->cases, &at)) != NULL;) {
		const struct record_series *s = &c->series[0];
		enum record_place place = record_place(s);
		bool bad = s->better == BENCH_HIGHER ? place == PLACE_BELOW : place == PLACE_ABOVE;

		if (!c->n || place == PLACE_UNKNOWN)
			continue;
		verdict_set(e, out, bad ? CAUSE_LIKELY : CAUSE_EXCLUDED,
			    "%s %s: %.4g %s measured, usual range %.4g to %.4g (%s)", c->bench,
			    c->name, s->s.median, s->unit_text, s->band.low, s->band.high,
			    s->band.source);
		if (bad)
			return;
	}
}

const struct observed_var *var_of(const struct rule_facts *e, const char *name)
{
	LIST_FOR_EACH (struct observed_var, v, &e->signs->vars)
		if (strcmp(v->name, name) == 0)
			return v;
	return NULL;
}

const char *var_text(const struct rule_facts *e, const struct observed_var *v)
{
	return arena_printf(e->a, "%s=%s in %s", v->name, fact_text(&v->value, ""),
			    fact_text(&v->origin, "?"));
}

void list_count(const struct rule_facts *e, const char *list, size_t *names, size_t *known)
{
	const char *at = list + (*list == '='), *name;
	size_t n;

	*names = *known = 0;
	while ((name = var_list_next(&at, &n)) != NULL) {
		const char *one =
			arena_printf(e->a, "%s%.*s", *list == '=' ? "=" : "", (int)n, name);
		bool found = false;

		LIST_FOR_EACH (struct rdma_port, p, &e->m->net.rdma)
			found = found || var_list_names(one, p->device);
		++*names;
		*known += found;
	}
}

bool is_spark(const struct rule_facts *e)
{
	return fact_is(&e->m->platform.kind, "dgx-spark");
}

bool grows(const struct rule_facts *e, const struct fact_int *before, const struct fact_int *now,
	   double *per_s)
{
	if (!before || !seen_ok(&before->f) || !seen_ok(&now->f) || !(e->apart_s > 0) ||
	    now->v < before->v)
		return false;
	*per_s = (double)(now->v - before->v) / e->apart_s;
	return true;
}

void rule_by_defects(const struct rule_facts *e, const char *component, struct judged *out)
{
	const struct defects_view *known = e->known ? e->known(e->known_of) : NULL;
	const struct defect_found *first = NULL;
	size_t hidden = 0;
	TEXT_AUTO more = { 0 };

	if (!known) {
		verdict_set(e, out, CAUSE_UNSEEN, "known defects were not checked");
		return;
	}
	for (size_t i = 0; i < known->n; i++) {
		const struct defect_found *d = &known->items[i];

		if (component && strcmp(d->s.component, component) != 0)
			continue;
		hidden += d->state == DEFECT_POSSIBLE;
		if (!defect_breaks(d))
			continue;
		if (first)
			text_printf(&more, "%s%s", more.len ? ", " : "; also ", d->s.id);
		first = first ? first : d;
	}
	if (first)
		verdict_set(e, out, CAUSE_LIKELY, "%s, %s: %s (%s)%s", first->place, first->s.id,
			    first->s.title, first->n_proofs ? first->proofs[0].text : "",
			    more.s ? more.s : "");
	else if (fact_or(&e->m->captured, 0) == 1)
		verdict_set(e, out, CAUSE_UNSEEN,
			    "a capture does not contain packages and libraries");
	else if (hidden)
		verdict_set(e, out, CAUSE_UNSEEN, "facts that decide %zu of them are unreadable",
			    hidden);
	else
		verdict_set(e, out, CAUSE_EXCLUDED, "none of %zu known defects was found",
			    known->rows);
}
