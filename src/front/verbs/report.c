/* SPDX-License-Identifier: Apache-2.0 */
/* gputune report: all that is known of a machine, or of many, on one page that needs no other file.
 */
#include "front/verbs/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "front/verbs/page.h"

enum report_format { FORMAT_HTML, FORMAT_MD, FORMAT_TERM, FORMAT_JSON };

/* A report while it is put together: each machine's part is text before the next one is looked at.
 */
struct page {
	struct run *r;
	enum report_format format;
	struct report_given given;
	struct report_head *heads; /* texts in the run's arena */
	FILE *body;
	char *text;
	size_t len;
	json_t *machines;
	int code;
};

static void render(struct page *p, FILE *out, const struct doc *d)
{
	struct term_style how = run_style(p->r);

	if (p->format == FORMAT_MD)
		doc_md(out, d);
	else if (p->format == FORMAT_TERM)
		doc_term(out, d, &how);
	else
		doc_html(out, d, NULL);
	if (p->format != FORMAT_HTML)
		fputc('\n', out);
}

static struct report_head keep_head(struct arena *a, const struct report_head *h)
{
	struct report_head out = *h;

	out.name = arena_strdup(a, h->name);
	out.what = arena_strdup(a, h->what);
	out.kernel = arena_strdup(a, h->kernel);
	out.from = arena_strdup(a, h->from);
	out.worst = h->worst ? arena_strdup(a, h->worst) : NULL;
	return out; /* id is the program's, or the run's */
}

/* A finding outweighs what could not be seen. */
static int worse(int a, int b)
{
	return a == EXIT_FINDINGS || b == EXIT_FINDINGS ? EXIT_FINDINGS
	       : a == EXIT_BLIND || b == EXIT_BLIND	? EXIT_BLIND
							: EXIT_CLEAN;
}

static int add_machine(struct page *p, size_t i)
{
	struct reporting g = { .run = *p->r, .given = &p->given, .alone = p->given.n == 1 };
	struct arena *all = &p->r->arena;
	int code;

	g.run.arena = (struct arena){ 0 };
	g.run.n_args = 0;
	g.run.value[OPT_PASSIVE] = "";
	g.json = p->format == FORMAT_JSON ? json_object() : NULL;
	code = report_gather(&g, &p->given.sources[i], arena_printf(all, "m%zu", i + 1));
	if (code == 0) {
		struct doc *d = page_report_machine(&g.run.arena, &g.out, g.alone);

		p->heads[i] = keep_head(all, &g.out.head);
		p->code = i ? worse(p->code, g.code) : g.code;
		if (g.json)
			json_array_append(p->machines, g.json);
		else
			render(p, p->body, d);
	}
	json_decref(g.json);
	if (g.h)
		host_close(g.h);
	arena_free(&g.run.arena);
	return code;
}

/* What the list for navigation names: the sections of the one machine, or all machines. */
static struct doc *ways(struct page *p)
{
	static const char *const parts[][2] = {
		{ "machine", "Machine" },  { "findings", "Findings" },
		{ "changes", "Changes" },  { "benches", "Measurements" },
		{ "proofs", "Proofs" },	   { "predictions", "Predictions" },
		{ "stack", "Software" },   { "persist", "Next boot" },
		{ "doctor", "Diagnoses" }, { "recordings", "Beside a job" },
	};
	struct doc *d = doc_new(&p->r->arena);
	char id[64];

	/* Of many machines the table at the front has the links. */
	for (size_t i = 0; p->given.n == 1 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(id, sizeof(id), " id=\"%s\"", parts[i][0]);
		if (strstr(p->text, id))
			doc_section(d, 2, parts[i][0], parts[i][1], cell(NULL), false);
	}
	return d;
}

static const char *title_of(struct page *p)
{
	return p->given.n == 1 ? arena_printf(&p->r->arena, "%s: report", p->heads[0].name)
			       : arena_printf(&p->r->arena, "Report of %zu machines", p->given.n);
}

static int put(struct page *p)
{
	const char *title = title_of(p);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct doc *front;
	int code;

	front = page_report_front(&p->r->arena, title, (long long)time(NULL), p->heads, p->given.n);
	front->tools = true;
	if (p->format == FORMAT_HTML)
		doc_html_begin(out, title, true, ways(p));
	render(p, out, front);
	fwrite(p->text, 1, p->len, out);
	if (p->format == FORMAT_HTML)
		doc_html_end(out, true);
	fclose(out);
	code = report_write(p->r, text, len);
	free(text);
	return code;
}

static int put_json(struct page *p)
{
	json_t *j = json_pack("{s:s, s:s, s:I, s:i, s:O}", "schema", "gputune.report/1",
			      "tool_version", GPUTUNE_VERSION, "time_s", (json_int_t)time(NULL),
			      "exit_code", p->code, "machines", p->machines);
	char *text = json_dumps(j, JSON_INDENT(2));
	char *line = arena_printf(&p->r->arena, "%s\n", text ? text : "");
	int code = report_write(p->r, line, strlen(line));

	free(text);
	json_decref(j);
	return code;
}

static void tell_left_out(struct page *p)
{
	for (size_t i = 0; i < p->given.n_results; i++)
		if (!p->given.taken[i])
			complain_text(
				0,
				"result %s was measured on none of these machines and is left "
				"out",
				p->given.results[i].id ? p->given.results[i].id : "?");
}

static bool format_of(struct run *r, enum report_format *out)
{
	static const char *const names[] = { "html", "md", "term", "json" };
	const char *name = r->value[OPT_FORMAT] ? r->value[OPT_FORMAT] : "html";

	for (unsigned i = 0; i < 4; i++)
		if (strcmp(names[i], name) == 0) {
			*out = (enum report_format)i;
			return true;
		}
	complain_text(EXIT_USAGE, "report has no format %s, it has %s", name,
		      option_help(r->verb, OPT_FORMAT));
	return false;
}

int verb_report(struct run *r)
{
	struct page p = { .r = r };
	int code = EXIT_USAGE, failed = 0;

	if (!format_of(r, &p.format) || (code = report_may_write(r)) != 0 ||
	    (code = report_sources(r, &p.given)) != 0) {
		report_sources_free(&p.given);
		return code;
	}
	p.heads = arena_array(&r->arena, p.given.n, sizeof(*p.heads));
	p.body = open_memstream(&p.text, &p.len);
	p.machines = json_array();
	for (size_t i = 0; i < p.given.n && !failed; i++)
		failed = add_machine(&p, i);
	fclose(p.body);
	if (!failed) {
		tell_left_out(&p);
		failed = p.format == FORMAT_JSON ? put_json(&p) : put(&p);
	}
	report_sources_free(&p.given);
	json_decref(p.machines);
	free(p.text);
	return failed ? failed : p.code;
}
