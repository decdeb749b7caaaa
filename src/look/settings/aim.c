/* SPDX-License-Identifier: Apache-2.0 */
/* From a failed finding to the writes that make it right; knows no single setting. */
#include <string.h>

#include "look/settings/check.h"
#include "look/settings/opinion.h"
#include "base/text.h"
#include "look/settings/settings.h"

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

/* Names of the enumerations as users and scripts see them, and finding a setting by its id. */

static const char *const profiles[PROFILES] = {
	[PROFILE_DEFAULT] = "default",
	[PROFILE_PUBLISHED] = "published",
	[PROFILE_MAX_PERFORMANCE] = "max-performance",
	[PROFILE_LOW_LATENCY] = "low-latency",
	[PROFILE_BALANCED] = "balanced",
	[PROFILE_INFERENCE] = "inference",
	[PROFILE_TRAINING] = "training",
};

static const char *const scopes[SCOPES] = {
	[SCOPE_HOST] = "machine",	 [SCOPE_GPU] = "GPU",
	[SCOPE_POLICY] = "CPU policy",	 [SCOPE_IDLE] = "CPU",
	[SCOPE_POOL] = "huge-page pool", [SCOPE_NIC] = "network interface",
	[SCOPE_RDMA] = "RDMA port",	 [SCOPE_PCI] = "PCI function",
	[SCOPE_DISK] = "disk",		 [SCOPE_ZPOOL] = "ZFS pool",
};

const char *profile_name(enum profile_id p)
{
	return profiles[p];
}

int profile_parse(const char *name)
{
	for (int i = 0; i < PROFILES; i++)
		if (strcmp(profiles[i], name) == 0)
			return i;
	return -1;
}

const char *scope_name(enum scope s)
{
	return scopes[s];
}

const char *verdict_name(enum verdict_kind v)
{
	static const char *const names[] = { "pass", "fail", "na", "unknown" };

	return names[v];
}

const char *severity_name(enum severity s)
{
	static const char *const names[] = { "info", "low", "medium", "high", "critical" };

	return names[s];
}

const char *risk_name(enum risk r)
{
	static const char *const names[] = { "none", "low", "service", "danger" };

	return names[r];
}

const char *effect_name(enum effect e)
{
	static const char *const names[] = { "now", "driver-reload", "reboot", "firmware" };

	return names[e];
}

enum on platform_bit(const struct machine *m)
{
	if (fact_is(&m->platform.kind, "dgx-spark"))
		return ON_SPARK;
	if (fact_is(&m->platform.kind, "igx-orin"))
		return ON_IGX;
	if (fact_is(&m->platform.kind, "hgx"))
		return ON_HGX;
	return ON_GENERIC;
}

const struct setting *setting_find(const char *id)
{
	SETTING_FOR_EACH (s)
		if (strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

const char *setting_suggest(const char *id)
{
	enum { MISSPELT = 2 };
	const char *best = NULL;
	/* More than half of it wrong is no misspelling. */
	size_t distance = strlen(id) < 14 ? strlen(id) / 2 + 1 : 8;

	SETTING_FOR_EACH (s) {
		const char *dot = strchr(s->id, '.');
		size_t d = str_distance(s->id, id, distance),
		       last = dot ? str_distance(dot + 1, id, MISSPELT) : MISSPELT + 1;

		/* "swappiness" should lead to "memory.swappiness". */
		if (last <= MISSPELT && last < d)
			d = last;
		if (d < distance) {
			distance = d;
			best = s->id;
		}
	}
	return best;
}
