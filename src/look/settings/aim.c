/* SPDX-License-Identifier: Apache-2.0 */
/* From a failed finding to the writes that make it right; knows no single setting. */
#include <string.h>

#include "look/settings/current.h"
#include "look/settings/question.h"

void aim_knob(const struct question *q, struct aims *out, struct knob k, const char *value)
{
	out->items = arena_grow(q->a, out->items, out->n, sizeof(*out->items));
	out->items[out->n++] = (struct aim){ .knob = k, .value = value };
}

void aim_value(const struct question *q, struct aims *out, const char *value)
{
	aim_knob(q, out, setting_place(q->a, q->s, q->object), value);
}

void aim_by_hand(struct aims *out, const char *sentence)
{
	out->by_hand = sentence;
}

void aim_argument(const struct question *q, struct aims *out, const char *name, const char *value)
{
	const char *present = kernel_arg_value(&q->m->kernel, name);

	if (present && strcmp(present, value) != 0)
		aim_by_hand(out,
			    arena_printf(q->a,
					 "%s=%s is on the kernel command line already: take it "
					 "away where it was put (undo it, if gputune did), "
					 "then plan again for %s=%s",
					 name, present, name, value));
	else
		aim_knob(q, out, (struct knob){ KNOB_BOOTARG, name, "" }, value);
}

const char *aim_wished(const struct question *q)
{
	const char *value = q->wish->value;

	return q->wish->rel == WANT_ONE_OF ? arena_strndup(q->a, value, strcspn(value, " "))
					   : value;
}

/* The words that the target takes, where the facts tell: a choice is made among these. */
static const char *offered(const struct question *q)
{
	if (q->s->scope == SCOPE_DISK && q->s->fact && strcmp(q->s->fact, "scheduler") == 0)
		return fact_text(&((const struct disk *)q->object)->schedulers, NULL);
	if (q->s->scope == SCOPE_POLICY && q->s->fact && strcmp(q->s->fact, "governor") == 0)
		return fact_text(&((const struct freq_policy *)q->object)->governors, NULL);
	return NULL;
}

/* The first of the wanted words that the target takes; NULL when it takes none. */
static const char *choose(const struct question *q, const char *words)
{
	struct opinion among = { .rel = WANT_ONE_OF, .value = offered(q) };
	const char *first = NULL;

	for (const char *p = words; *p; p += strcspn(p, " ")) {
		const char *word;

		p += strspn(p, " ");
		word = arena_printf(q->a, "%.*s", (int)strcspn(p, " "), p);
		if (!first && *word)
			first = word;
		if (*word && among.value && opinion_met(&among, word))
			return word;
	}
	return among.value ? NULL : first;
}

static const char *nothing_to_write(const struct setting *s)
{
	if (s->by_hand)
		return s->by_hand;
	if (s->effect == EFFECT_FIRMWARE)
		return "firmware sets it: change it in firmware setup, with the machine out of "
		       "service";
	return s->health ? "a fault to find and mend: no setting makes it right"
			 : "no knob holds it: mend it where it was made";
}

static void aim_wish(const struct question *q, struct aims *out)
{
	const struct opinion *o = q->wish;
	const char *word;

	if (q->s->knob == KNOB_NONE || q->s->effect == EFFECT_FIRMWARE)
		return;
	if (!o || !o->value || o->rel == WANT_LEAVE || o->rel == WANT_NOT) {
		aim_by_hand(out,
			    q->s->by_hand ? q->s->by_hand : "the profile names no value to write");
		return;
	}
	word = o->rel == WANT_ONE_OF || (o->rel == WANT_IS && offered(q)) ? choose(q, o->value)
									  : o->value;
	if (!word)
		aim_by_hand(out, arena_printf(q->a, "it offers %s, and none of that is wanted",
					      offered(q)));
	else if (q->s->knob == KNOB_BOOTARG)
		aim_argument(q, out, q->s->name, word);
	else
		aim_value(q, out, word);
}

void settings_aims(struct arena *a, const struct machine *m, const struct profile *p,
		   const struct finding *f, size_t i, knob_reader *read, void *ctx,
		   struct aims *out)
{
	const struct asker by = { a, m, p, platform_bit(m), read, ctx };
	struct opinion room = { 0 };
	struct question q;

	*out = (struct aims){ 0 };
	if (f->v.kind != VERDICT_FAIL || i >= f->n_targets) {
		aim_by_hand(out, "nothing is wrong");
		return;
	}
	q = question_of(&by, f->s, f->objects[i], f->targets[i]);
	q.wish = question_wish(&by, &q, &room);
	if (f->s->aim && (!q.wish || q.wish->rel != WANT_NOT))
		f->s->aim(&q, out);
	else
		aim_wish(&q, out);
	if (!out->n && !out->by_hand)
		aim_by_hand(out, nothing_to_write(f->s));
}
