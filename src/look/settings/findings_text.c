/* SPDX-License-Identifier: Apache-2.0 */
/* Findings for a test runner (JUnit) and for a metrics collector (Prometheus text format). */
#include <string.h>

#include "look/settings/findings.h"
#include "render/glyph.h"

static void xml(FILE *out, const char *s)
{
	TEXT_AUTO t = { 0 };

	glyph_escape(&t, s);
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
		glyph_label(out, "id", it->s->id);
		fputc(',', out);
		glyph_label(out, "target", it->target);
		fputc(',', out);
		glyph_label(out, "verdict", verdict_name(it->v.kind));
		fputc(',', out);
		glyph_label(out, "severity", severity_name(it->s->severity));
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
	glyph_label(out, "version", GPUTUNE_VERSION);
	fputc(',', out);
	glyph_label(out, "platform", seen_ok(&m->platform.kind.f) ? m->platform.kind.v : "");
	fputc(',', out);
	glyph_label(out, "kernel", seen_ok(&m->kernel.release.f) ? m->kernel.release.v : "");
	fputc(',', out);
	glyph_label(out, "arch", seen_ok(&m->kernel.arch.f) ? m->kernel.arch.v : "");
	fputs("} 1\n", out);
	fprintf(out,
		"# HELP gputune_check_timestamp_seconds When the machine was read.\n# TYPE "
		"gputune_check_timestamp_seconds gauge\n"
		"gputune_check_timestamp_seconds %lld\n",
		fact_or(&m->time_s, 0));
}
