/* SPDX-License-Identifier: Apache-2.0 */
/* Judging: every selected setting on every target, equal answers folded into one finding. */
#include <stdlib.h>
#include <string.h>

#include "look/settings/check.h"
#include "look/settings/opinion.h"
#include "look/settings/subject.h"
#include "look/settings/waive.h"
#include "base/err.h"
#include "look/settings/settings.h"

struct run {
	struct asker by;
	const struct setting *s;
	struct findings *out;
	size_t first; /* index of this setting's first finding */
};

static const char *no_wish_reason(const struct question *q)
{
	return arena_printf(q->a, "the profile %s has no wish for it", profile_name(q->profile));
}

static void compare(const struct question *q, struct verdict *v)
{
	const struct opinion *o = q->wish;

	if (!o) {
		verdict_na(v, CODE_NOT_IN_PROFILE, no_wish_reason(q));
		return;
	}
	if (o->rel == WANT_LEAVE) {
		verdict_na(v, CODE_LEFT_ALONE, o->because ? o->because : no_wish_reason(q));
		return;
	}
	v->why = o->because;
	v->wanted = opinion_text(q->a, o, q->s->unit);
	if (!seen_ok(&q->current.f)) {
		verdict_unseen(q, v, &q->current.f, NULL);
		return;
	}
	if (opinion_met(o, q->current.v)) {
		verdict_pass(v, "as wanted");
		return;
	}
	v->kind = VERDICT_FAIL;
	v->code = CODE_DIFFERS;
	v->reason = arena_printf(q->a, "is %s%s%s, wanted %s", q->current.v, q->s->unit ? " " : "",
				 q->s->unit ? q->s->unit : "", v->wanted);
}

static void judge(struct run *r, struct question *q, struct verdict *v)
{
	struct opinion room = { 0 };

	if (q->s->applies && !q->s->applies(q, v))
		return;
	q->wish = question_wish(&r->by, q, &room);
	if (q->s->judge)
		q->s->judge(q, v);
	else
		compare(q, v);
	q->wish = NULL;
}

static void fill(const struct question *q, struct verdict *v)
{
	if (!v->current && seen_ok(&q->current.f))
		v->current = q->s->unit ? arena_printf(q->a, "%s %s", q->current.v, q->s->unit)
					: q->current.v;
	if (!v->why)
		v->why = q->s->why;
	if (!v->reason)
		v->reason = "";
	if (!v->code)
		v->code = v->kind == VERDICT_PASS ? CODE_OK : CODE_DIFFERS;
}

static bool same_text(const char *x, const char *y)
{
	return x == y || (x && y && strcmp(x, y) == 0);
}

static bool same_answer(const struct verdict *x, const struct verdict *y)
{
	return x->kind == y->kind && same_text(x->code, y->code) &&
	       same_text(x->reason, y->reason) && same_text(x->current, y->current) &&
	       same_text(x->wanted, y->wanted);
}

static struct finding *finding_for(struct run *r, const struct verdict *v)
{
	struct findings *out = r->out;
	struct finding *f;

	for (size_t i = r->first; i < out->n; i++)
		if (same_answer(&out->items[i].v, v))
			return &out->items[i];
	out->items = arena_grow(r->by.a, out->items, out->n, sizeof(*out->items));
	f = &out->items[out->n++];
	*f = (struct finding){ .s = r->s, .v = *v };
	return f;
}

static void one(const void *object, const char *name, void *ctx)
{
	struct run *r = ctx;
	struct question q = question_of(&r->by, r->s, object, name);
	struct verdict v = { 0 };
	struct finding *f;

	judge(r, &q, &v);
	fill(&q, &v);
	waive(r->by.a, r->by.p, r->s, name, fact_or(&r->by.m->time_s, 0), &v);
	f = finding_for(r, &v);
	f->targets = arena_grow(r->by.a, f->targets, f->n_targets, sizeof(*f->targets));
	f->objects = arena_grow(r->by.a, f->objects, f->n_targets, sizeof(*f->objects));
	f->targets[f->n_targets] = name;
	f->objects[f->n_targets++] = object;
	if (!f->read_from)
		f->read_from = r->s->read ? r->s->read : fact_from(r->by.a, &q.current.f);
}

static void nobody(struct run *r)
{
	struct verdict v = { .kind = VERDICT_NA,
			     .code = r->s->none_code ? r->s->none_code : CODE_NO_HARDWARE,
			     .why = r->s->why };
	struct finding *f;

	v.reason = r->s->none		      ? r->s->none
		   : r->s->scope == SCOPE_GPU ? machine_no_gpu(r->by.a, r->by.m)
					      : arena_printf(r->by.a, "this machine has no %s",
							     scope_name(r->s->scope));
	f = finding_for(r, &v);
	f->target = "";
	f->read_from = "";
}

/* What to look at first: failed health checks, because a setting is not to blame for a broken link;
 * then what fails, by severity; then what could not be seen; the rest in table order. */
static int importance(const struct finding *f)
{
	if (f->v.kind == VERDICT_FAIL)
		return 10 + (int)f->s->severity + (f->s->health ? 10 : 0);
	return f->v.kind == VERDICT_UNKNOWN ? 5 : 0;
}

static int by_importance(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int more = importance(y) - importance(x);

	return more ? more : x->order < y->order ? -1 : x->order > y->order;
}

static void summarise(struct findings *out)
{
	/* A critical finding weighs as much as ten low ones. Only pass and fail count: what does
	 * not apply and what could not be seen say nothing about the machine. */
	static const int weights[] = { [SEVERITY_INFO] = 0,
				       [SEVERITY_LOW] = 1,
				       [SEVERITY_MEDIUM] = 3,
				       [SEVERITY_HIGH] = 6,
				       [SEVERITY_CRITICAL] = 10 };
	long good = 0, all = 0;

	for (size_t i = 0; i < out->n; i++) {
		const struct finding *f = &out->items[i];
		int w = weights[f->s->severity];

		out->count[f->v.kind]++;
		if (f->v.kind == VERDICT_PASS)
			good += w;
		if (f->v.kind == VERDICT_PASS || f->v.kind == VERDICT_FAIL)
			all += w;
	}
	out->score = all ? (int)(good * 100 / all) : -1;
}

void settings_check(struct arena *a, const struct machine *m, const struct profile *p,
		    knob_reader *read, void *ctx, struct findings *out)
{
	struct run r = { .by = { a, m, p, platform_bit(m), read, ctx }, .out = out };

	memset(out, 0, sizeof(*out));
	SETTING_FOR_EACH (s) {
		if (!profile_selects(p, s->id))
			continue;
		r.s = s;
		r.first = out->n;
		if (!setting_subjects(a, m, s, one, &r))
			nobody(&r);
		for (size_t i = r.first; i < out->n; i++)
			if (!out->items[i].target)
				out->items[i].target = targets_text(a, s, out->items[i].objects,
								    out->items[i].targets,
								    out->items[i].n_targets);
	}
	for (size_t i = 0; i < out->n; i++)
		out->items[i].order = i;
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), by_importance);
	summarise(out);
}

/* Where a setting's value stands: a field of the model, a boot argument, or a knob that is read. */

struct knob setting_knob(struct arena *a, const struct setting *s, const void *object)
{
	return knob_make(a, s->knob, s->name, setting_knob_object(a, s, object));
}

struct knob setting_place(struct arena *a, const struct setting *s, const void *object)
{
	struct knob k = setting_knob(a, s, object);

	if (k.kind != KNOB_NVML && k.kind != KNOB_PCI && k.kind != KNOB_LINK &&
	    k.kind != KNOB_ZPROP && k.kind != KNOB_HELPER)
		k.object = "";
	return k;
}

static const struct field *field_of(const struct setting *s)
{
	for (size_t i = 0; i < s->of->n; i++)
		if (strcmp(s->of->fields[i].key, s->fact) == 0)
			return &s->of->fields[i];
	return NULL;
}

static struct fact_str from_fact(struct arena *a, const struct setting *s, const void *object)
{
	const struct field *f = field_of(s);
	struct fact_str out = { 0 };

	if (!f)
		return out;
	switch (f->kind) {
	case FIELD_STR:
		return *(const struct fact_str *)field_at(object, f);
	case FIELD_INT:
	case FIELD_BOOL:
	case FIELD_HEX: {
		const struct fact_int *i = field_at(object, f);

		out.f = i->f;
		out.v = seen_ok(&i->f) ? arena_printf(a, "%lld", i->v) : NULL;
		return out;
	}
	case FIELD_SET: {
		const struct fact_set *set = field_at(object, f);

		out.f = set->f;
		out.v = seen_ok(&set->f) ? idset_format(a, &set->v) : NULL;
		return out;
	}
	default:
		return out;
	}
}

/* For scope host the fact's struct is a part of the machine, found by its schema. */
static const void *part_of(const struct machine *m, const struct schema *of)
{
	for (size_t i = 0; i < schema_machine.n; i++)
		if (schema_machine.fields[i].kind == FIELD_PART &&
		    schema_machine.fields[i].sub == of)
			return field_at(m, &schema_machine.fields[i]);
	return of == &schema_machine ? m : NULL;
}

static struct fact_str from_boot_argument(const struct machine *m, const char *name)
{
	struct fact_str out = { .f = m->kernel.cmdline.f };

	if (!seen_ok(&out.f))
		return out;
	/* A missing argument is a value, not an unseen one: the command line was read. */
	out.v = kernel_arg_value(&m->kernel, name);
	if (!out.v)
		out.v = "not set";
	return out;
}

struct fact_str setting_current(struct arena *a, const struct setting *s, const struct machine *m,
				const void *object, bool wished, knob_reader *read, void *ctx)
{
	struct knob k;

	if (s->of) {
		if (s->scope == SCOPE_HOST)
			object = part_of(m, s->of);
		return object ? from_fact(a, s, object) : (struct fact_str){ 0 };
	}
	if (s->knob == KNOB_BOOTARG)
		return from_boot_argument(m, s->name);
	if (s->knob == KNOB_NONE || !read)
		return (struct fact_str){ 0 };
	/* The vendor's program costs a process and a second: only for a profile that has a wish. */
	if (s->knob == KNOB_HELPER && !wished)
		return (struct fact_str){ 0 };
	k = setting_knob(a, s, object);
	return read(ctx, a, &k);
}

/* How rules speak: the four verdicts, and what an unseen fact means. */

void verdict_pass(struct verdict *v, const char *reason)
{
	v->kind = VERDICT_PASS;
	v->code = CODE_OK;
	v->reason = reason;
}

void verdict_fail(struct verdict *v, const char *wanted, const char *reason)
{
	v->kind = VERDICT_FAIL;
	v->code = CODE_DIFFERS;
	v->wanted = wanted;
	v->reason = reason;
}

void verdict_na(struct verdict *v, const char *code, const char *reason)
{
	v->kind = VERDICT_NA;
	v->code = code;
	v->reason = reason;
}

void verdict_unknown(struct verdict *v, const char *code, const char *reason)
{
	v->kind = VERDICT_UNKNOWN;
	v->code = code;
	v->reason = reason;
}

void verdict_unseen(const struct question *q, struct verdict *v, const struct fact *f,
		    const char *absent_reason)
{
	const char *from = fact_from(q->a, f);

	switch (f->seen) {
	case SEEN_ABSENT:
	case SEEN_UNSUPPORTED:
		verdict_na(v, CODE_NO_SUPPORT,
			   absent_reason
				   ? absent_reason
				   : arena_printf(q->a, "this machine does not have it (%s: %s)",
						  from, errno_name(f->err)));
		return;
	case SEEN_DENIED:
		verdict_unknown(v, CODE_DENIED,
				arena_printf(q->a, "%s may only be read by root (%s)", from,
					     errno_name(f->err)));
		return;
	case SEEN_ERROR:
		verdict_unknown(
			v, CODE_ERROR,
			arena_printf(q->a, "%s could not be read (%s)", from, errno_name(f->err)));
		return;
	default:
		/* Asked of a capture that does not know, against not asked at all because it is
		 * slow. */
		if (*from)
			verdict_unknown(v, CODE_NOT_CAPTURED,
					arena_printf(q->a, "the capture does not hold %s", from));
		else
			verdict_na(v, CODE_NEEDS_DEEP,
				   "not asked, because it takes time: --deep asks");
		return;
	}
}
