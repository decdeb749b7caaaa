/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as JSON. Keys and meanings are API: schemas/check.json holds them. */
#include <string.h>
#include <time.h>

#include "look/settings/health_data.h"
#include "look/settings/findings.h"

static json_t *text_or_null(const char *s)
{
	return s ? json_string(s) : json_null();
}

/* RFC 3339, UTC. */
static json_t *time_json(long long s)
{
	char buf[32];
	time_t t = (time_t)s;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return json_null();
	return json_string(buf);
}

static json_t *fact_json(const struct fact_str *f)
{
	return seen_ok(&f->f) ? json_string(f->v) : json_null();
}

json_t *host_json(const struct machine *m)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:b}", "nodename", fact_json(&m->nodename),
			 "platform", fact_json(&m->platform.kind), "kernel",
			 fact_json(&m->kernel.release), "arch", fact_json(&m->kernel.arch),
			 "captured", (int)fact_or(&m->captured, 0));
}

json_t *result_json(const char *verb, const struct machine *m, int exit_code)
{
	char schema[64];

	snprintf(schema, sizeof(schema), "gputune.%s/1", verb);
	return json_pack("{s:s, s:s, s:o, s:o, s:i}", "schema", schema, "tool_version",
			 GPUTUNE_VERSION, "host", host_json(m), "time",
			 time_json(fact_or(&m->time_s, 0)), "exit_code", exit_code);
}

static json_t *targets_json(const struct finding *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->n_targets; i++)
		if (f->targets[i][0])
			json_array_append_new(list, json_string(f->targets[i]));
	return list;
}

static json_t *finding_json(const struct finding *f)
{
	size_t group = strcspn(f->s->id, ".");
	json_t *j = json_object();

	json_object_set_new(j, "id", json_string(f->s->id));
	json_object_set_new(j, "title", json_string(f->s->title));
	json_object_set_new(j, "group", json_stringn(f->s->id, group));
	json_object_set_new(j, "target", json_string(f->target));
	json_object_set_new(j, "targets", targets_json(f));
	json_object_set_new(j, "verdict", json_string(verdict_name(f->v.kind)));
	json_object_set_new(j, "reason_code", json_string(f->v.code));
	json_object_set_new(j, "reason", json_string(f->v.reason));
	json_object_set_new(j, "severity", json_string(severity_name(f->s->severity)));
	json_object_set_new(j, "health", json_boolean(f->s->health));
	json_object_set_new(j, "current", text_or_null(f->v.current));
	json_object_set_new(j, "wanted", text_or_null(f->v.wanted));
	json_object_set_new(j, "why", json_string(f->v.why));
	json_object_set_new(j, "source", json_string(f->s->source));
	json_object_set_new(j, "read_from", text_or_null(f->read_from));
	json_object_set_new(j, "risk", json_string(risk_name(f->s->risk)));
	json_object_set_new(j, "effect", json_string(effect_name(f->s->effect)));
	return j;
}

json_t *findings_json(const struct findings *f, const struct machine *m, const struct profile *p,
		      int exit_code)
{
	json_t *j = result_json("check", m, exit_code), *list = json_array();

	json_object_set_new(
		j, "profile",
		json_pack("{s:s, s:s}", "name", p->name, "base", profile_name(p->base)));
	json_object_set_new(j, "summary",
			    json_pack("{s:I, s:I, s:I, s:I, s:o}", "pass",
				      (json_int_t)f->count[VERDICT_PASS], "fail",
				      (json_int_t)f->count[VERDICT_FAIL], "na",
				      (json_int_t)f->count[VERDICT_NA], "unknown",
				      (json_int_t)f->count[VERDICT_UNKNOWN], "score",
				      f->score < 0 ? json_null() : json_integer(f->score)));
	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(list, finding_json(&f->items[i]));
	json_object_set_new(j, "findings", list);
	return j;
}

static json_t *opinions_json(const struct setting *s)
{
	static const char *const relations[] = { "leave",   "is",     "at-least",
						 "at-most", "one-of", "not" };
	static const char *const names[] = { "dgx-spark", "igx-orin", "hgx", "generic" };
	json_t *list = json_array();

	for (size_t i = 0; i < s->n_opinions; i++) {
		const struct opinion *o = &s->opinions[i];
		json_t *on = json_array();

		for (unsigned bit = 0; bit < 4; bit++)
			if (o->on & 1u << bit)
				json_array_append_new(on, json_string(names[bit]));
		json_array_append_new(list,
				      json_pack("{s:s, s:o, s:s, s:s?, s:s?, s:s?}", "profile",
						profile_name(o->profile), "platforms", on,
						"relation", relations[o->rel], "value", o->value,
						"because", o->because, "source", o->source));
	}
	return list;
}

/* What the rule measures by. */
static json_t *figures_json(const struct setting *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < health_limit_count; i++) {
		const struct health_limit *l = &health_limits[i];

		if (strcmp(l->setting, s->id) == 0)
			json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:f, s:s, s:s, s:s}",
							      "key", l->key, "what", l->what, "gpu",
							      text_or_null(l->gpu), "value",
							      l->value, "unit", l->unit, "source",
							      l->source, "date", l->date));
	}
	return list;
}

json_t *explain_json(const struct setting *s, const struct machine *m, const struct findings *f)
{
	json_t *j = result_json("explain", m, 0), *list = json_array();

	json_object_set_new(j, "id", json_string(s->id));
	json_object_set_new(j, "title", json_string(s->title));
	json_object_set_new(j, "why", json_string(s->why));
	json_object_set_new(j, "note", text_or_null(s->note));
	json_object_set_new(j, "not_when", text_or_null(s->not_when));
	json_object_set_new(j, "kind", json_string(knob_kind_name(s->knob)));
	json_object_set_new(j, "scope", json_string(scope_name(s->scope)));
	json_object_set_new(j, "risk", json_string(risk_name(s->risk)));
	json_object_set_new(j, "effect", json_string(effect_name(s->effect)));
	json_object_set_new(j, "source", json_string(s->source));
	json_object_set_new(j, "opinions", opinions_json(s));
	json_object_set_new(j, "figures", figures_json(s));
	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(list, finding_json(&f->items[i]));
	json_object_set_new(j, "findings", list);
	return j;
}
