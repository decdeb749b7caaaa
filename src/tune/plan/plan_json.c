/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON. Keys and meanings are API: schemas/plan.json holds them. */
#include "tune/plan/plan_json.h"

#include "base/stamp.h"
#include "base/utf8.h"

/* Of a machine any bytes may come; a value that had to be cleaned will not compare as equal. */
static json_t *text_or_null(const char *s)
{
	struct arena a = { 0 };
	json_t *j = s ? json_string(utf8_clean(&a, s)) : json_null();

	arena_free(&a);
	return j;
}

static json_t *text(const char *s)
{
	return text_or_null(s ? s : "");
}

static json_t *time_or_null(long long seconds)
{
	char buf[STAMP_SIZE];

	return stamp_format(seconds, buf) ? json_null() : json_string(buf);
}

static json_t *owners_json(const struct change *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->n_owners; i++) {
		const struct owner *o = &c->owners[i];

		json_array_append_new(
			list, json_pack("{s:o, s:o, s:b, s:b, s:b}", "what", text(o->what), "value",
					text_or_null(o->value), "at_boot", (int)o->at_boot, "wins",
					(int)o->wins, "fights", (int)o->fights));
	}
	return list;
}

static json_t *change_json(const struct change *c)
{
	json_t *j = json_object();

	json_object_set_new(j, "id", json_string(c->s->id));
	json_object_set_new(j, "title", json_string(c->s->title));
	json_object_set_new(j, "target", text(c->target));
	json_object_set_new(j, "knob",
			    json_pack("{s:s, s:o, s:o}", "kind", knob_kind_name(c->knob.kind),
				      "name", text(c->knob.name), "object", text(c->knob.object)));
	json_object_set_new(j, "before", text_or_null(c->before));
	json_object_set_new(j, "after", text(c->after));
	json_object_set_new(j, "why", text_or_null(c->why));
	json_object_set_new(j, "source", text_or_null(c->source));
	json_object_set_new(j, "risk", json_string(risk_name(c->risk)));
	json_object_set_new(j, "effect", json_string(effect_name(c->effect)));
	json_object_set_new(j, "owners", owners_json(c));
	json_object_set_new(j, "gate", text_or_null(c->gate));
	json_object_set_new(j, "refusal", text_or_null(c->gate ? c->refusal : NULL));
	return j;
}

static json_t *advice_json(const struct advice *a)
{
	const struct finding *f = a->finding;

	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "id", f->s->id, "target", text(f->target),
			 "current", text_or_null(f->v.current), "wanted", text_or_null(f->v.wanted),
			 "sentence", text_or_null(a->sentence));
}

static json_t *summary_json(const struct plan *p)
{
	json_int_t by_effect[EFFECT_FIRMWARE + 1] = { 0 }, refused = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->changes[i].gate)
			refused++;
		else
			by_effect[p->changes[i].effect]++;
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "now", by_effect[EFFECT_NOW],
			 "driver_reload", by_effect[EFFECT_DRIVER_RELOAD], "reboot",
			 by_effect[EFFECT_REBOOT], "firmware", by_effect[EFFECT_FIRMWARE],
			 "refused", refused, "by_hand", (json_int_t)p->n_advice);
}

json_t *plan_json(const struct plan *p, int exit_code)
{
	json_t *j = json_object(), *changes = json_array(), *advice = json_array();

	json_object_set_new(j, "schema", json_string("gputune.plan/1"));
	json_object_set_new(j, "tool_version", json_string(GPUTUNE_VERSION));
	json_object_set_new(j, "host",
			    json_pack("{s:o, s:o}", "nodename", text_or_null(p->nodename),
				      "boot_id", text_or_null(p->boot_id)));
	json_object_set_new(j, "time", time_or_null(p->time_s));
	json_object_set_new(j, "exit_code", json_integer(exit_code));
	json_object_set_new(j, "profile", text(p->profile));
	json_object_set_new(j, "summary", summary_json(p));
	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(changes, change_json(&p->changes[i]));
	json_object_set_new(j, "changes", changes);
	for (size_t i = 0; i < p->n_advice; i++)
		json_array_append_new(advice, advice_json(&p->advice[i]));
	json_object_set_new(j, "advice", advice);
	return j;
}
