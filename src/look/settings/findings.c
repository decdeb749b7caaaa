/* SPDX-License-Identifier: Apache-2.0 */
/* The head of results about a machine; findings for monitors and collectors; the list of what there
 * is. */
#include <string.h>

#include "look/settings/findings.h"
#include "base/text.h"
#include "render/display_text.h"

SHAPE_GIVES(const char *, host_nodename, machine, fact_text(&x->nodename, NULL))
SHAPE_GIVES(const char *, host_platform, machine, fact_text(&x->platform.kind, NULL))
SHAPE_GIVES(const char *, host_kernel, machine, fact_text(&x->kernel.release, NULL))
SHAPE_GIVES(const char *, host_arch, machine, fact_text(&x->kernel.arch, NULL))
SHAPE_GIVES(bool, host_captured, machine, fact_or(&x->captured, 0))

static const struct shape_row host_rows[] = {
	{ "nodename", NULL, SHAPE_TEXT_OF(host_nodename), .unknown = SHAPE_NULL },
	{ "platform", NULL, SHAPE_TEXT_OF(host_platform), .unknown = SHAPE_NULL },
	{ "kernel", NULL, SHAPE_TEXT_OF(host_kernel), .unknown = SHAPE_NULL },
	{ "arch", NULL, SHAPE_TEXT_OF(host_arch), .unknown = SHAPE_NULL },
	{ "captured", "true: the facts are from a capture.", SHAPE_FLAG_OF(host_captured) },
};
const struct shape host_shape = SHAPE(machine, host);

json_t *machine_result_json(const struct result_shape *r, const struct machine *m,
			    const void *answer, int exit_code)
{
	return result_shape_json_on(r, answer, m, fact_or(&m->time_s, 0), exit_code);
}

/* One line and a code: what Nagios and node-problem-detector read. */

enum { NAMES = 8 };

/* What makes a machine unfit: a failed health check of high severity or worse. */
static bool finding_unfit(const struct finding *f)
{
	return f->v.kind == VERDICT_FAIL && f->s->health && f->severity >= SEVERITY_HIGH;
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
		fprintf(out, "%zu health checks failed", unfit);
		findings_names(out, f, VERDICT_FAIL, true);
	} else if (fail) {
		fprintf(out, "%zu setting%s not at target value", fail, PLURAL(fail));
		findings_names(out, f, VERDICT_FAIL, false);
	} else if (unknown) {
		fprintf(out, "%zu unreadable", unknown);
		findings_names(out, f, VERDICT_UNKNOWN, false);
	} else if (f->score < 0) {
		fputs("no setting could be judged", out);
	} else {
		fprintf(out, "%zu setting%s at target value", f->count[VERDICT_PASS],
			PLURAL(f->count[VERDICT_PASS]));
	}
	fprintf(out, " | unfit=%zu;;0;0 fail=%zu;0;;0 unknown=%zu;;;0 pass=%zu;;;0 na=%zu;;;0",
		unfit, fail, unknown, f->count[VERDICT_PASS], f->count[VERDICT_NA]);
	if (f->score >= 0)
		fprintf(out, " score=%d%%;;;0;100", f->score);
	if (f->health >= 0)
		fprintf(out, " health=%d%%;;;0;100", f->health);
	if (f->tuning >= 0)
		fprintf(out, " tuning=%d%%;;;0;100", f->tuning);
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
		fputs("no setting could be judged\n", out);
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

static void prom_ratio(FILE *out, const char *name, const char *what, int percent)
{
	if (percent >= 0)
		fprintf(out,
			"# HELP gputune_%s_ratio %s\n# TYPE gputune_%s_ratio gauge\n"
			"gputune_%s_ratio %.2f\n",
			name, what, name, name, (double)percent / 100.0);
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
		display_label(out, "severity", severity_name(it->severity));
		fputs("} 1\n", out);
	}
	fputs("# HELP gputune_findings Findings by verdict.\n# TYPE gputune_findings gauge\n", out);
	for (int v = 0; v < 4; v++)
		fprintf(out, "gputune_findings{verdict=\"%s\"} %zu\n",
			verdict_name((enum verdict_kind)v), f->count[v]);
	prom_ratio(out, "score", "The lower of the two scores health and tuning.", f->score);
	prom_ratio(out, "health", "Share of passed health checks, weighted by severity.",
		   f->health);
	prom_ratio(out, "tuning", "Share of all other settings that pass, weighted by severity.",
		   f->tuning);
	fputs("# HELP gputune_info gputune version and machine; always 1.\n# TYPE gputune_info "
	      "gauge\ngputune_info{",
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

/* clang-format off */
static const void *group_of(struct arena *a, const void *object, size_t *n)
{
	const char *id = ((const struct setting *)object)->id;

	(void)n;
	return arena_strndup(a, id, strcspn(id, "."));
}

static const struct shape setting_shape = SHAPE_OF(setting, setting,
	{ "id", NULL, SHAPE_TEXT(setting, id) },
	{ "title", NULL, SHAPE_TEXT(setting, title) },
	{ "group", NULL, SHAPE_TEXT_MADE(group_of) },
	{ "kind", "Kind of knob of the setting.", SHAPE_CHOICE_BY(setting, knob, knob_kind_name, KNOB_KINDS) },
	{ "risk", NULL, SHAPE_CHOICE_BY(setting, risk, risk_name, RISK_DANGER + 1) },
	{ "effect", NULL, SHAPE_CHOICE_BY(setting, effect, effect_name, EFFECT_FIRMWARE + 1) },
	{ "health", NULL, SHAPE_FLAG(setting, health) });

static const struct shape listed_fact_shape = SHAPE_OF(listed_fact, listed_fact,
	{ "path", NULL, SHAPE_TEXT(listed_fact, path) },
	{ "title", NULL, SHAPE_TEXT(listed_fact, title) },
	{ "kind", NULL, SHAPE_TEXT(listed_fact, kind) },
	{ "unit", NULL, SHAPE_TEXT(listed_fact, unit), .unknown = SHAPE_NULL });

static const struct shape list_settings_shape = SHAPE_OF(listing, list_settings,
	{ "settings", NULL, SHAPE_POINTERS(listing, settings, n_settings, setting) });
static const struct shape list_facts_shape = SHAPE_OF(listing, list_facts,
	{ "facts", NULL, SHAPE_LIST(listing, facts, n_facts, listed_fact) });
static const struct shape listed_name_shape = SHAPE_OF(listed_name, listed_name,
	{ "name", NULL, SHAPE_TEXT(listed_name, name) },
	{ "what", "Description.", SHAPE_TEXT(listed_name, what) });
static const struct shape list_names_shape = SHAPE_OF(listing, list_names,
	{ "kind", "Kind of the listed names: models, machines, ...", SHAPE_TEXT(listing, kind) },
	{ "names", NULL, SHAPE_LIST(listing, names, n_names, listed_name) });
static const struct shape *const list_forms[] = { &list_settings_shape, &list_facts_shape,
						  &list_names_shape };

SHAPE_GIVES(unsigned, list_form, listing, x->kind ? 2 : x->n_facts > 0)

static const struct shape list_shape = SHAPE_FORMS(listing, list, list_forms, list_form);

const struct result_shape list_result = {
	.name = "list", .title = "gputune list", .meaning = "Lists the available names.",
	.shape = &list_shape, .list = "settings", .no_time = true,
};
/* clang-format on */

static void add_facts(struct arena *a, const struct shape *s, const char *prefix,
		      struct listing *out)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *f = &s->rows[i];
		const char *path = arena_printf(a, "%s%s%s", prefix, *prefix ? "." : "", f->key);

		if (f->sub) {
			add_facts(a, f->sub, path, out);
			continue;
		}
		ARENA_ADD(a, out->facts, out->n_facts) =
			(struct listed_fact){ path, f->title, findings_kind_name(f), f->unit };
	}
}

static void list_setting(struct arena *a, struct listing *out, const struct setting *s)
{
	ARENA_ADD(a, out->settings, out->n_settings) = s;
}

void list_make(struct arena *a, const struct profile *p, struct listing *out)
{
	if (!p) {
		add_facts(a, &machine_shape, "", out);
		return;
	}
	SETTING_FOR_EACH (s)
		if (profile_selects(p, s->id))
			list_setting(a, out, s);
}

void list_find(struct arena *a, const char *text, struct listing *out)
{
	SETTING_FOR_EACH (s)
		if (strcasestr(s->id, text) || strcasestr(s->title, text))
			list_setting(a, out, s);
}

void list_name(struct arena *a, struct listing *out, const char *name, const char *what)
{
	ARENA_ADD(a, out->names, out->n_names) = (struct listed_name){ name, what };
}
