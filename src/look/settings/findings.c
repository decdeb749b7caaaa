/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as JSON. Keys and meanings are API: schemas/check.json holds them. */
#include <string.h>
#include <time.h>

#include "knowledge/health.h"
#include "look/settings/findings.h"
#include "base/text.h"
#include "render/display_text.h"

static json_t *text_or_null(const char *s)
{
	return s ? json_string(s) : json_null();
}

/* RFC 3339, UTC. */
static json_t *findings_time_json(long long s)
{
	char buf[32];
	time_t t = (time_t)s;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return json_null();
	return json_string(buf);
}

static const char *host_nodename(const void *m)
{
	return fact_text(&((const struct machine *)m)->nodename, NULL);
}

static const char *host_platform(const void *m)
{
	return fact_text(&((const struct machine *)m)->platform.kind, NULL);
}

static const char *host_kernel(const void *m)
{
	return fact_text(&((const struct machine *)m)->kernel.release, NULL);
}

static const char *host_arch(const void *m)
{
	return fact_text(&((const struct machine *)m)->kernel.arch, NULL);
}

static bool host_captured(const void *m)
{
	return fact_or(&((const struct machine *)m)->captured, 0);
}

static const struct shape_row host_rows[] = {
	{ "nodename", NULL, SHAPE_TEXT_OF(host_nodename), .unknown = SHAPE_NULL },
	{ "platform", NULL, SHAPE_TEXT_OF(host_platform), .unknown = SHAPE_NULL },
	{ "kernel", NULL, SHAPE_TEXT_OF(host_kernel), .unknown = SHAPE_NULL },
	{ "arch", NULL, SHAPE_TEXT_OF(host_arch), .unknown = SHAPE_NULL },
	{ "captured", "It is no machine, but a capture of one.", SHAPE_FLAG_OF(host_captured) },
};
const struct shape host_shape = SHAPE(machine, host);

json_t *host_json(const struct machine *m)
{
	json_t *j = json_object();

	shape_json(j, &host_shape, m);
	return j;
}

json_t *machine_result_json(const struct result_shape *r, const struct machine *m,
			    const void *answer, int exit_code)
{
	return result_shape_json_on(r, answer, m, fact_or(&m->time_s, 0), exit_code);
}

json_t *result_json(const char *verb, const struct machine *m, int exit_code)
{
	char schema[64];

	snprintf(schema, sizeof(schema), "gputune.%s/1", verb);
	return json_pack("{s:s, s:s, s:o, s:o, s:i}", "schema", schema, "tool_version",
			 GPUTUNE_VERSION, "host", host_json(m), "time",
			 findings_time_json(fact_or(&m->time_s, 0)), "exit_code", exit_code);
}

static json_t *targets_json(const struct finding *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->n_targets; i++)
		if (f->targets[i][0])
			json_array_append_new(list, json_string(f->targets[i]));
	return list;
}

static json_t *findings_finding_json(const struct finding *f)
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
		json_array_append_new(list, findings_finding_json(&f->items[i]));
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
		const struct recommendation *o = &s->opinions[i];
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
static json_t *findings_figures_json(const struct setting *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n_health_limits; i++) {
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
	json_object_set_new(j, "figures", findings_figures_json(s));
	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(list, findings_finding_json(&f->items[i]));
	json_object_set_new(j, "findings", list);
	return j;
}

/* One line and a code: what Nagios and node-problem-detector read. */

enum { NAMES = 8 };

/* What makes a machine unfit: a failed health check of high severity or worse. */
static bool finding_unfit(const struct finding *f)
{
	return f->v.kind == VERDICT_FAIL && f->s->health && f->s->severity >= SEVERITY_HIGH;
}

const char *findings_unfit(struct arena *a, const struct findings *f, bool any)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];

		if (it->v.kind != VERDICT_FAIL || (!any && !finding_unfit(it)))
			continue;
		text_printf(&t, "%s%s", t.len ? "; " : "", it->s->id);
		if (*it->target)
			text_printf(&t, " (%s)", it->target);
		text_printf(&t, ": %s", it->v.reason);
	}
	return t.len ? arena_strdup(a, t.s) : NULL;
}

/* The line ends at '|' and at a line break. */
static void word(FILE *out, const char *s)
{
	for (; *s; s++)
		fputc((unsigned char)*s < ' ' || *s == '|' ? ' ' : *s, out);
}

static void findings_names(FILE *out, const struct findings *f, enum verdict_kind kind, bool unfit)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];

		if (it->v.kind != kind || (unfit && !finding_unfit(it)))
			continue;
		if (n++ < NAMES) {
			fputs(n == 1 ? ": " : ", ", out);
			word(out, it->s->id);
			if (*it->target) {
				fputc(' ', out);
				word(out, it->target);
			}
		}
	}
	if (n > NAMES)
		fprintf(out, " and %zu more", n - NAMES);
}

static size_t count_unfit(const struct findings *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += finding_unfit(&f->items[i]);
	return n;
}

int findings_nagios(FILE *out, const struct findings *f)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };
	size_t unfit = count_unfit(f), fail = f->count[VERDICT_FAIL],
	       unknown = f->count[VERDICT_UNKNOWN];
	int code = unfit ? 2 : fail ? 1 : unknown || f->score < 0 ? 3 : 0;

	fprintf(out, "GPUTUNE %s - ", words[code]);
	if (unfit) {
		fprintf(out, "%zu of the machine's health", unfit);
		findings_names(out, f, VERDICT_FAIL, true);
	} else if (fail) {
		fprintf(out, "%zu not as wanted", fail);
		findings_names(out, f, VERDICT_FAIL, false);
	} else if (unknown) {
		fprintf(out, "%zu could not be seen", unknown);
		findings_names(out, f, VERDICT_UNKNOWN, false);
	} else if (f->score < 0) {
		fputs("nothing could be judged", out);
	} else {
		fprintf(out, "%zu settings as wanted", f->count[VERDICT_PASS]);
	}
	fprintf(out, " | unfit=%zu;;0;0 fail=%zu;0;;0 unknown=%zu;;;0 pass=%zu;;;0 na=%zu;;;0",
		unfit, fail, unknown, f->count[VERDICT_PASS], f->count[VERDICT_NA]);
	if (f->score >= 0)
		fprintf(out, " score=%d%%;;;0;100", f->score);
	fputc('\n', out);
	return code;
}

int findings_npd(FILE *out, const struct findings *f)
{
	size_t unfit = count_unfit(f);

	if (unfit) {
		fprintf(out, "%zu unhealthy", unfit);
		findings_names(out, f, VERDICT_FAIL, true);
		fputc('\n', out);
		return 1;
	}
	if (f->score < 0) {
		fputs("nothing could be judged\n", out);
		return 2;
	}
	fputs("healthy\n", out);
	return 0;
}

/* Findings for a test runner (JUnit) and for a metrics collector (Prometheus text format). */

static void xml(FILE *out, const char *s)
{
	TEXT_AUTO t = { 0 };

	display_escape(&t, s);
	fputs(t.s ? t.s : "", out);
}

static void junit_case(FILE *out, const struct finding *f)
{
	static const char *const tags[] = { NULL, "failure", "skipped", "error" };
	const char *tag = tags[f->v.kind];

	fputs("  <testcase classname=\"gputune.", out);
	fprintf(out, "%.*s\" name=\"", (int)strcspn(f->s->id, "."), f->s->id);
	xml(out, f->s->id);
	if (*f->target) {
		fputc(' ', out);
		xml(out, f->target);
	}
	fputc('"', out);
	if (!tag) {
		fputs("/>\n", out);
		return;
	}
	fprintf(out, ">\n    <%s message=\"", tag);
	xml(out, f->v.reason);
	fputs("\"", out);
	if (f->v.kind != VERDICT_NA)
		fprintf(out, " type=\"%s\"", f->v.code);
	fputs("/>\n  </testcase>\n", out);
}

void findings_junit(FILE *out, const struct findings *f)
{
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"gputune check\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
		"skipped=\"%zu\">\n",
		f->n, f->count[VERDICT_FAIL], f->count[VERDICT_UNKNOWN], f->count[VERDICT_NA]);
	for (size_t i = 0; i < f->n; i++)
		junit_case(out, &f->items[i]);
	fputs("</testsuite>\n", out);
}

void findings_prom(FILE *out, const struct findings *f, const struct machine *m)
{
	fputs("# HELP gputune_setting Verdict of a setting on its targets; the value is always 1.\n"
	      "# TYPE gputune_setting gauge\n",
	      out);
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];

		fputs("gputune_setting{", out);
		display_label(out, "id", it->s->id);
		fputc(',', out);
		display_label(out, "target", it->target);
		fputc(',', out);
		display_label(out, "verdict", verdict_name(it->v.kind));
		fputc(',', out);
		display_label(out, "severity", severity_name(it->s->severity));
		fputs("} 1\n", out);
	}
	fputs("# HELP gputune_findings Findings by verdict.\n# TYPE gputune_findings gauge\n", out);
	for (int v = 0; v < 4; v++)
		fprintf(out, "gputune_findings{verdict=\"%s\"} %zu\n",
			verdict_name((enum verdict_kind)v), f->count[v]);
	if (f->score >= 0)
		fprintf(out,
			"# HELP gputune_score_ratio Share of the applicable settings that are "
			"right, weighted by "
			"severity.\n# TYPE gputune_score_ratio gauge\ngputune_score_ratio %.2f\n",
			(double)f->score / 100.0);
	fputs("# HELP gputune_info What the machine was read with and what it is; always 1.\n"
	      "# TYPE gputune_info gauge\ngputune_info{",
	      out);
	display_label(out, "version", GPUTUNE_VERSION);
	fputc(',', out);
	display_label(out, "platform", seen_ok(&m->platform.kind.f) ? m->platform.kind.v : "");
	fputc(',', out);
	display_label(out, "kernel", seen_ok(&m->kernel.release.f) ? m->kernel.release.v : "");
	fputc(',', out);
	display_label(out, "arch", seen_ok(&m->kernel.arch.f) ? m->kernel.arch.v : "");
	fputs("} 1\n", out);
	fprintf(out,
		"# HELP gputune_check_timestamp_seconds When the machine was read.\n# TYPE "
		"gputune_check_timestamp_seconds gauge\n"
		"gputune_check_timestamp_seconds %lld\n",
		fact_or(&m->time_s, 0));
}

/* The lists of settings and of facts, from their tables. */

static const char *findings_kind_name(const struct shape_row *r)
{
	static const char *const names[] = {
		[SHAPE_KIND_FACT_INT] = "integer", [SHAPE_KIND_FACT_FLAG] = "boolean",
		[SHAPE_KIND_FACT_HEX] = "integer", [SHAPE_KIND_FACT_TEXT] = "text",
		[SHAPE_KIND_FACT_SET] = "set",
	};

	return shape_is_fact(r) ? names[r->kind] : "name";
}

static void add_facts(struct arena *a, const struct shape *s, const char *prefix, json_t *out)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *f = &s->rows[i];
		const char *path = arena_printf(a, "%s%s%s", prefix, *prefix ? "." : "", f->key);

		if (f->sub)
			add_facts(a, f->sub, path, out);
		else
			json_array_append_new(out,
					      json_pack("{s:s, s:s, s:s, s:s?}", "path", path,
							"title", f->title, "kind",
							findings_kind_name(f), "unit", f->unit));
	}
}

static json_t *list_json(const char *key, json_t *list)
{
	return json_pack("{s:s, s:s, s:o}", "schema", "gputune.list/1", "tool_version",
			 GPUTUNE_VERSION, key, list);
}

json_t *list_facts_json(struct arena *a)
{
	json_t *list = json_array();

	add_facts(a, &machine_shape, "", list);
	return list_json("facts", list);
}

json_t *list_settings_json(const struct profile *p)
{
	json_t *list = json_array();

	SETTING_FOR_EACH (s)
		if (profile_selects(p, s->id))
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:b}", "id", s->id,
						"title", s->title, "group",
						json_stringn(s->id, strcspn(s->id, ".")), "kind",
						knob_kind_name(s->knob), "risk", risk_name(s->risk),
						"effect", effect_name(s->effect), "health",
						(int)s->health));
	return list_json("settings", list);
}
