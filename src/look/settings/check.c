/* SPDX-License-Identifier: Apache-2.0 */
/* Judging: every selected setting on every target, equal answers folded into one finding; and what
 * has to be written to make a finding right. */
#include <stdlib.h>
#include <string.h>

#include "look/settings/check.h"
#include "look/settings/predicates.h"
#include "look/settings/vendor.h"

/* Where questions come from. */
struct asker {
	struct arena *a;
	const struct machine *m;
	const struct profile *p;
	unsigned platform;
	knob_reader *read;
	void *ctx;
};

struct run {
	struct asker by;
	const struct setting *s;
	struct findings *out;
	size_t first; /* index of this setting's first finding */
};

/* The question that a rule is asked about one target: present and target value. */

static const struct recommendation *table_target(const struct setting *s, enum profile_id profile,
						 unsigned platform, struct recommendation *room)
{
	return profile == PROFILE_VENDOR ? vendor_recommendation(s, platform, room)
					 : setting_recommendation(s, profile, platform);
}

static struct rule_ctx rule_check_rule_ctx_of(const struct asker *by, const struct setting *s,
					      const void *object, const char *name)
{
	const struct profile_override *override = profile_override_of(by->p, s);
	struct recommendation room;
	const struct recommendation *o = table_target(s, by->p->base, by->platform, &room);
	bool wished = (o && o->rel != WANT_LEAVE) || (override && override->has_want);

	return (struct rule_ctx){ .a = by->a,
				  .m = by->m,
				  .s = s,
				  .object = object,
				  .name = name,
				  .platform = by->platform,
				  .profile = by->p->base,
				  .current = setting_current(by->a, s, by->m, object, wished,
							     by->read, by->ctx) };
}

static const struct recommendation *rule_target(const struct asker *by, const struct rule_ctx *q,
						struct recommendation *room)
{
	const struct profile_override *o = profile_override_of(by->p, q->s);

	if (o && o->has_want)
		return &o->o;
	if (q->s->want && q->profile != PROFILE_VENDOR && q->s->want(q, room))
		return room;
	return table_target(q->s, q->profile, q->platform, room);
}

static const char *no_target_reason(const struct rule_ctx *q)
{
	return arena_printf(q->a, "the profile %s has no target value for this setting",
			    profile_name(q->profile));
}

static void rule_check_compare(const struct rule_ctx *q, struct verdict *v)
{
	const struct recommendation *o = q->wish;

	if (!o) {
		verdict_na(v, CODE_NOT_IN_PROFILE, no_target_reason(q));
		return;
	}
	if (o->rel == WANT_LEAVE) {
		verdict_na(v, CODE_LEFT_ALONE, o->because ? o->because : no_target_reason(q));
		return;
	}
	v->why = o->because;
	if (!is_seen(q, v, &q->current.f, NULL)) {
		if (v->kind == VERDICT_UNKNOWN)
			v->wanted = recommendation_text(q->a, o, q->s->unit);
		return;
	}
	v->wanted = recommendation_text(q->a, o, q->s->unit);
	if (recommendation_met(o, q->current.v)) {
		verdict_pass(v, "at target value");
		return;
	}
	v->kind = VERDICT_FAIL;
	v->code = CODE_DIFFERS;
	v->reason = arena_printf(q->a, "is %s%s%s, target %s", q->current.v, q->s->unit ? " " : "",
				 q->s->unit ? q->s->unit : "", v->wanted);
}

static void rule_check_judge(struct run *r, struct rule_ctx *q, struct verdict *v)
{
	struct recommendation room = { 0 };

	if (q->s->applies && !q->s->applies(q, v))
		return;
	q->wish = rule_target(&r->by, q, &room);
	if (recommendation_hidden(r->by.m, q->wish))
		verdict_unseen(q, v, &r->by.m->platform.kind.f, NULL);
	else if (q->s->judge)
		q->s->judge(q, v);
	else
		rule_check_compare(q, v);
	q->wish = NULL;
}

/* What a part of a machine lacks may be there all the same: nothing is said to be absent, and of
 * the machine as a whole neither that something has no effect. */
static void of_a_part(const struct machine *m, const char *target, struct verdict *v)
{
	static const char *const absences[] = { CODE_NO_HARDWARE, CODE_NO_SUPPORT, CODE_NO_EFFECT,
						CODE_NOT_HERE };
	size_t n = *target ? 2 : sizeof(absences) / sizeof(absences[0]);

	if (!m->partial || v->kind != VERDICT_NA || !v->code)
		return;
	for (size_t i = 0; i < n; i++)
		if (strcmp(v->code, absences[i]) == 0) {
			verdict_unknown(
				v, CODE_NOT_CAPTURED,
				"this partial capture lacks the facts that the setting depends on");
			return;
		}
}

/* The stronger source was judged: what both say. */
static void name_sources(const struct rule_ctx *q, struct verdict *v)
{
	LIST_FOR_EACH (struct disagreement, x, &q->m->disagreements)
		if (str_has_word(q->s->sources, x->fact) && strcmp(x->name, q->name) == 0)
			v->disagree = arena_printf(
				q->a, "%s%sused: %s according to %s; ignored: %s according to %s",
				v->disagree ? v->disagree : "", v->disagree ? "; " : "", x->taken.v,
				fact_from(q->a, &x->taken.f), x->other.v,
				fact_from(q->a, &x->other.f));
}

static void rule_check_fill(const struct rule_ctx *q, struct verdict *v)
{
	if (!v->current && seen_ok(&q->current.f))
		v->current = q->s->unit ? arena_printf(q->a, "%s %s", q->current.v, q->s->unit)
					: q->current.v;
	if (!v->why)
		v->why = setting_why(q->s, q->platform);
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
	       same_text(x->wanted, y->wanted) && same_text(x->disagree, y->disagree);
}

static struct finding *finding_for(struct run *r, const struct verdict *v)
{
	struct findings *out = r->out;
	struct finding *f;

	for (size_t i = r->first; i < out->n; i++)
		if (same_answer(&out->items[i].v, v))
			return &out->items[i];
	f = &ARENA_ADD(r->by.a, out->items, out->n);
	*f = (struct finding){ .s = r->s,
			       .v = *v,
			       .severity = v->slight && v->kind == VERDICT_FAIL &&
							   r->s->severity > SEVERITY_LOW
						   ? SEVERITY_LOW
						   : r->s->severity };
	return f;
}

static void rule_check_one(const void *object, const char *name, void *ctx)
{
	struct run *r = ctx;
	struct rule_ctx q = rule_check_rule_ctx_of(&r->by, r->s, object, name);
	struct verdict v = { 0 };
	struct finding *f;

	rule_check_judge(r, &q, &v);
	rule_check_fill(&q, &v);
	name_sources(&q, &v);
	of_a_part(r->by.m, name, &v);
	waive(r->by.a, r->by.p, r->s, name, fact_or(&r->by.m->time_s, 0), &v);
	f = finding_for(r, &v);
	f->targets = arena_grow(r->by.a, f->targets, f->n_targets, sizeof(*f->targets));
	f->objects = arena_grow(r->by.a, f->objects, f->n_targets, sizeof(*f->objects));
	f->targets[f->n_targets] = name;
	f->objects[f->n_targets++] = object;
	if (!f->read_from)
		f->read_from = r->s->read ? r->s->read : fact_from(r->by.a, &q.current.f);
}

static void no_object(struct run *r)
{
	struct verdict v = { .kind = VERDICT_NA,
			     .code = r->s->none_code ? r->s->none_code : CODE_NO_HARDWARE,
			     .why = setting_why(r->s, r->by.platform) };
	struct finding *f;

	v.reason = r->s->none		      ? r->s->none
		   : r->s->scope == SCOPE_GPU ? machine_no_gpu(r->by.a, r->by.m)
					      : arena_printf(r->by.a, "the machine has no %s",
							     scope_name(r->s->scope));
	of_a_part(r->by.m, "", &v);
	f = finding_for(r, &v);
	f->target = "";
	f->read_from = "";
}

/* What to look at first: failed health checks, because a setting is not to blame for a broken link;
 * then what fails, by severity; then what could not be seen; the rest in table order. */
static int importance(const struct finding *f)
{
	if (f->v.kind == VERDICT_FAIL)
		return 10 + (int)f->severity + (f->s->health ? 10 : 0);
	return f->v.kind == VERDICT_UNKNOWN ? 5 : 0;
}

static int by_importance(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int more = importance(y) - importance(x);

	return more ? more : x->order < y->order ? -1 : x->order > y->order;
}

/* The most that a figure can be while a finding of this severity fails. */
static const int score_limits[] = { [SEVERITY_INFO] = 100,
				    [SEVERITY_LOW] = 100,
				    [SEVERITY_MEDIUM] = 100,
				    [SEVERITY_HIGH] = 79,
				    [SEVERITY_CRITICAL] = 49 };

/* A critical finding weighs as much as ten low ones. Only pass and fail count: what does not apply
 * and what could not be seen say nothing about the machine. -1: nothing counts. *worst is the
 * failure that caps the figure, NULL where none does. */
static int share(const struct findings *f, bool health, const struct finding **worst)
{
	static const int weights[] = { [SEVERITY_INFO] = 0,
				       [SEVERITY_LOW] = 1,
				       [SEVERITY_MEDIUM] = 3,
				       [SEVERITY_HIGH] = 6,
				       [SEVERITY_CRITICAL] = 10 };
	const struct finding *gravest = NULL;
	long good = 0, all = 0;
	int out;

	*worst = NULL;
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];
		int w = weights[it->severity];

		if (it->s->health != health)
			continue;
		if (it->v.kind == VERDICT_PASS)
			good += w;
		if (it->v.kind == VERDICT_PASS || it->v.kind == VERDICT_FAIL)
			all += w;
		if (it->v.kind == VERDICT_FAIL && (!gravest || it->severity > gravest->severity))
			gravest = it;
	}
	out = all ? (int)(good * 100 / all) : -1;
	if (!gravest || out <= score_limits[gravest->severity])
		return out;
	*worst = gravest;
	return score_limits[gravest->severity];
}

const char *finding_head(struct arena *a, const struct finding *f)
{
	const char *end = f->v.reason;

	while (*end && (!strchr(".:;", *end) || (end[1] && end[1] != ' ')))
		end++;
	return arena_strndup(a, f->v.reason, (size_t)(end - f->v.reason));
}

/* "critical: pcie.link 0000:a3:00.0: lanes are missing" */
static const char *capped_by(struct arena *a, const struct finding *f)
{
	enum { TARGETS_BYTES = 24 };
	const char *target;

	if (!f)
		return NULL;
	target = f->n_targets < 2 || strlen(f->target) <= TARGETS_BYTES
			 ? f->target
			 : arena_printf(a, "%s +%zu", f->targets[0], f->n_targets - 1);
	return arena_printf(a, "%s: %s%s%s: %s", severity_name(f->severity), f->s->id,
			    *target ? " " : "", target, finding_head(a, f));
}

static void summarise(struct arena *a, struct findings *out)
{
	const struct finding *unfit, *untuned;

	for (size_t i = 0; i < out->n; i++)
		out->count[out->items[i].v.kind]++;
	out->health = share(out, true, &unfit);
	out->tuning = share(out, false, &untuned);
	if (out->tuning < 0 || (out->health >= 0 && out->health <= out->tuning)) {
		out->score = out->health;
		out->capped_by = capped_by(a, unfit);
	} else {
		out->score = out->tuning;
		out->capped_by = capped_by(a, untuned);
	}
}

void settings_check(struct arena *a, const struct machine *m, const struct profile *p,
		    knob_reader *read, void *ctx, struct findings *out)
{
	struct run r = { .by = { a, m, p, platform_bits(m), read, ctx }, .out = out };

	memset(out, 0, sizeof(*out));
	SETTING_FOR_EACH (s) {
		if (!profile_selects(p, s->id))
			continue;
		r.s = s;
		r.first = out->n;
		if (!setting_subjects(a, m, s, rule_check_one, &r))
			no_object(&r);
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
	summarise(a, out);
}

/* From a failed finding to the writes that make it right. */

/* The words that the target takes, where the facts tell: a choice is made among these. */
static const char *offered(const struct rule_ctx *q)
{
	if (q->s->scope == SCOPE_DISK && q->s->fact && strcmp(q->s->fact, "scheduler") == 0)
		return fact_text(&((const struct disk *)q->object)->schedulers, NULL);
	if (q->s->scope == SCOPE_POLICY && q->s->fact && strcmp(q->s->fact, "governor") == 0)
		return fact_text(&((const struct freq_policy *)q->object)->governors, NULL);
	return NULL;
}

/* The first of the wanted words that the target takes; NULL when it takes none. */
static const char *rule_check_choose(const struct rule_ctx *q, const char *words)
{
	struct recommendation among = { .rel = WANT_ONE_OF, .value = offered(q) };
	const char *first = NULL;

	for (const char *p = words; *p; p += strcspn(p, " ")) {
		const char *word;

		p += strspn(p, " ");
		word = arena_printf(q->a, "%.*s", (int)strcspn(p, " "), p);
		if (!first && *word)
			first = word;
		if (*word && among.value && recommendation_met(&among, word))
			return word;
	}
	return among.value ? NULL : first;
}

static const char *rule_check_nothing_to_write(const struct setting *s)
{
	if (s->by_hand)
		return s->by_hand;
	if (s->effect == EFFECT_FIRMWARE)
		return "firmware sets it: change it in firmware setup while the machine is out of "
		       "service";
	return s->health ? "no setting fixes this fault: find and repair it"
			 : "gputune cannot change this value: change it where it comes from";
}

static void remediate_to_target(const struct rule_ctx *q, struct remediations *out)
{
	const struct recommendation *o = q->wish;
	const char *word;

	if (q->s->knob == KNOB_NONE || q->s->effect == EFFECT_FIRMWARE)
		return;
	if (!o || !o->value || o->rel == WANT_LEAVE || o->rel == WANT_NOT) {
		remediate_by_hand(out, q->s->by_hand ? q->s->by_hand
						     : "the profile names no value to write");
		return;
	}
	word = o->rel == WANT_ONE_OF || (o->rel == WANT_IS && offered(q))
		       ? rule_check_choose(q, o->value)
		       : o->value;
	if (!word)
		remediate_by_hand(out,
				  arena_printf(q->a, "supported: %s; the target is not among them",
					       offered(q)));
	else if (q->s->knob == KNOB_BOOTARG)
		remediate_argument(q, out, q->s->name, word);
	else
		remediate_value(q, out, word);
}

void settings_remediations(struct arena *a, const struct machine *m, const struct profile *p,
			   const struct finding *f, size_t i, knob_reader *read, void *ctx,
			   struct remediations *out)
{
	const struct asker by = { a, m, p, platform_bits(m), read, ctx };
	struct recommendation room = { 0 };
	struct rule_ctx q;

	*out = (struct remediations){ 0 };
	if (f->v.kind != VERDICT_FAIL || i >= f->n_targets) {
		remediate_by_hand(out, "no problem found");
		return;
	}
	q = rule_check_rule_ctx_of(&by, f->s, f->objects[i], f->targets[i]);
	q.wish = rule_target(&by, &q, &room);
	if (f->s->remediate && (!q.wish || q.wish->rel != WANT_NOT))
		f->s->remediate(&q, out);
	else
		remediate_to_target(&q, out);
	if (!out->n && !out->by_hand)
		remediate_by_hand(out,
				  f->v.by_hand ? f->v.by_hand : rule_check_nothing_to_write(f->s));
}
