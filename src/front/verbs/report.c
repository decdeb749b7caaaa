/* SPDX-License-Identifier: Apache-2.0 */
/* gputune report: all that is known of a machine, or of many, on one page that needs no other file.
 */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "front/verbs/report.h"
#include "front/session.h"
#include "look/settings/findings.h"
#include "measure/prove/ledger_view.h"
#include "verbs/page_check.h"
#include "verbs/doctor.h"
#include "verbs/persist/persist.h"
#include "verbs/stack/look.h"
#include "machine/host/libraries.h"
#include "tune/txn/txn.h"
#include "measure/bench/bench_json.h"
#include "tune/txn/page_txn.h"
#include "tune/txn/results.h"

/* --- what changed ----------------------------------------------------------------------------- */

static struct cell holds_report(struct doc *d, const struct hold_row *rows, size_t n)
{
	size_t drifted = 0, ours = 0;

	for (size_t i = 0; i < n; i++) {
		drifted += hold_is_gone(rows[i].hold);
		ours += rows[i].hold == HOLD_OURS;
	}
	if (drifted)
		return cell_printf(d, STYLE_BAD, "%zu of %zu drifted", drifted, n);
	return ours == n ? cell_printf(d, STYLE_GOOD, "%zu active", n)
			 : cell_printf(d, STYLE_WARN, "%zu of %zu active", ours, n);
}

static void report_part_changes(struct reporting *g)
{
	struct arena *a = &g->run.arena;
	struct journal now, all;
	struct hold_row *rows = NULL;
	struct err e = { 0 };
	struct doc *d = doc_new(a);
	size_t n = 0;

	if (!g->h) {
		report_add(g, "changes", "What changed", NULL,
			   cell("Facts do not include the changes that gputune made here."));
		return;
	}
	if (journal_load(g->h, a, false, &now, &e) || journal_load(g->h, a, true, &all, &e)) {
		report_add(g, "changes", "What changed", NULL,
			   cell(arena_printf(a, "Cannot read the journal: %s.", e.text)));
		return;
	}
	if (!all.n && !all.bad_lines) {
		report_add(g, "changes", "What changed", NULL,
			   cell("gputune has changed nothing."));
		return;
	}
	txn_status(g->h, a, &now, &rows, &n);
	door_find_culprits(&g->run.door, g->p.m, rows, n);
	(void)persist_fill_entries(&g->run.door, g->h, rows, n);
	doc_heading(d, 2, "Active and drifted changes");
	doc_append(d, page_status(a, g->p.m, rows, n, !now.bad_lines), 2);
	doc_heading(d, 2, "History");
	doc_append(d, page_history(a, g->p.m, &all, NULL), 2);
	report_add(g, "changes", "What changed", d, holds_report(d, rows, n))->open = g->alone;
	report_keep(g, "status", status_json(g->p.m, rows, n, 0));
	report_keep(g, "history", history_json(g->p.m, &all, NULL, 0));
}

/* --- results ---------------------------------------------------------------------------------- */

/* Kept ones, from --state here or from the machine itself; the newest of many. */
static struct record *stored_results(struct reporting *g, size_t *n, const char **why)
{
	struct arena *a = &g->run.arena;
	const struct store_where where = door_where(&g->run.door, &g->ask->state);
	struct host *h = g->ask->state.state ? run_live(&g->run) : g->h;
	struct record *items = NULL;
	struct err e = { 0 };
	size_t all = 0, bad = 0;
	struct stored *ids = NULL;
	char *text;

	*n = 0;
	if (h && store_list(a, h, &where, &ids, &all, &e) && !h->id.captured)
		*why = arena_strdup(a, e.text);
	items = arena_array(a, all + 1, sizeof(*items));
	for (size_t i = all > REPORT_RESULTS_SHOWN ? all - REPORT_RESULTS_SHOWN : 0; i < all; i++) {
		if (store_get(a, h, &(struct store_where){ ids[i].state, NULL }, ids[i].id, &text,
			      &e) ||
		    bench_from_json(a, ids[i].id, text, &items[*n], &e))
			bad++;
		else
			(*n)++;
	}
	if (bad)
		*why = arena_printf(a, "%zu saved results could not be read", bad);
	else if (all > REPORT_RESULTS_SHOWN)
		*why = arena_printf(a, "%zu older results; \"gputune bench list\" lists them",
				    all - REPORT_RESULTS_SHOWN);
	if (h && h != g->h)
		host_close(h);
	return items;
}

/* Files that were given belong to the one machine, or to the one that they were measured on. */
static struct record *with_files(struct reporting *g, struct record *items, size_t *n)
{
	struct report_result_file *given = g->given;
	struct record *all = arena_array(&g->run.arena, *n + given->n_results + 1, sizeof(*all));

	memcpy(all, items, *n * sizeof(*all));
	for (size_t i = 0; i < given->n_results; i++) {
		const struct record *r = &given->results[i];

		if (!g->alone &&
		    (!g->ledger || !r->machine || strcmp(r->machine, g->ledger->here.machine) != 0))
			continue;
		given->taken[i] = true;
		all[(*n)++] = *r;
	}
	return all;
}

static void report_part_benches(struct reporting *g)
{
	struct arena *a = &g->run.arena;
	const char *why = NULL;
	struct report_part *p;
	struct record *items;
	json_t *list = json_array();
	struct doc *d;
	size_t n;

	items = with_files(g, stored_results(g, &n, &why), &n);
	if (n) {
		d = report_benches(a, items, n, report_id(g, "benches"));
		p = report_add(g, "benches", "Measurements", d,
			       cell_printf(d, STYLE_MUTED, "%zu result%s", n, PLURAL(n)));
		p->open = g->alone;
	} else {
		p = report_add(g, "benches", "Measurements", NULL,
			       cell("No saved results for this machine: measure with \"gputune "
				    "bench all\"."));
	}
	p->unseen = why;
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list,
				      machine_result_json(&bench_result, g->p.m, &items[i], 0));
	report_keep(g, "benches", list);
}

static void report_part_proofs(struct reporting *g)
{
	struct arena *a = &g->run.arena;
	const struct ledger *l = g->ledger;
	struct doc *d = l ? report_proofs(a, l) : NULL;
	struct report_part *p;
	json_t *list = json_array();

	if (d) {
		p = report_add(g, "proofs", "A/B tests: before and after", d, cell(NULL));
		p->open = g->alone;
	} else {
		p = report_add(g, "proofs", "A/B tests: before and after", NULL,
			       cell(g->p.m->reading
					    ? "No setting was tested on the captured machine."
					    : "No setting was tested on this machine: "
					      "\"gputune prove ID\" tests one."));
	}
	for (size_t i = 0; l && i < l->n; i++)
		if (strcmp(l->rows[i].where.machine, l->here.machine) == 0)
			json_array_append_new(list,
					      result_shape_json(&ledger_result, &l->rows[i], 0, 0));
	report_keep(g, "proofs", list);
	if (l && l->state)
		p->unseen = arena_printf(a, "%s: %s", l->file, strerror(-l->state));
	else if (l && l->n_bad)
		p->unseen = arena_printf(a, "%zu invalid lines in %s", l->n_bad, l->file);
}

/* --- software, boot, diagnoses ---------------------------------------------------------------- */

static void report_part_stack(struct reporting *g)
{
	const struct stack_look what = { .all = false };
	struct stack_view v;
	struct arena *a = &g->run.arena;
	struct stack_root root = { g->h, -1, !g->h || !g->h->id.captured };
	struct doc *d;

	if (!g->h || stack_collect(&g->run.door, &root, g->p.m, &what, &v)) {
		report_add(g, "stack", "Software stack", NULL,
			   cell("Installed software was not read."));
		return;
	}
	d = page_stack_check(a, &v);
	report_add(g, "stack", "Software stack", d,
		   cell_printf(d, v.found->count[VERDICT_FAIL] ? STYLE_WARN : STYLE_MUTED,
			       "%zu to fix, %zu unknown", v.found->count[VERDICT_FAIL],
			       v.found->count[VERDICT_UNKNOWN]));
	report_keep(g, "stack",
		    result_shape_json(&stack_check_result, &v, fact_or(&g->p.m->time_s, 0), 0));
}

static void report_part_persist(struct reporting *g)
{
	struct persisting *s = ARENA_NEW(&g->run.arena, struct persisting);
	struct persist_answer answer;
	size_t differ = 0;
	struct doc *d;

	s->d = &g->run.door;
	s->h = g->h;
	s->m = g->p.m;
	s->view.action = "status";
	if (!g->h || persist_review(s, &differ)) {
		report_add(g, "persist", "Kept for the next boot", NULL,
			   cell("Values kept for the next boot were not read."));
		return;
	}
	answer = persist_answer_of(&g->run.arena, &s->view, &(struct txn_report){ 0 },
				   &(struct err){ 0 });
	report_keep(g, "persist", machine_result_json(&persist_result, s->m, &answer, 0));
	if (!s->view.n && !s->view.n_skipped) {
		report_add(g, "persist", "Kept for the next boot", NULL,
			   cell("gputune keeps nothing for the next boot."));
		return;
	}
	d = page_persist(&g->run.arena, s->m, &s->view);
	report_add(g, "persist", "Kept for the next boot", d,
		   differ ? cell_printf(d, STYLE_BAD, "%zu drifted", differ)
			  : cell_printf(d, STYLE_GOOD, "%zu settings", s->view.n));
}

static void report_part_doctor(struct reporting *g)
{
	struct doctor_view v;
	struct doc *d;

	if (!g->h || doctor_passive(&g->run.door, g->h, g->ask->settings.profile, &v)) {
		report_add(g, "doctor", "Diagnoses", NULL, cell("Symptoms were not checked."));
		return;
	}
	d = page_doctor(&g->run.arena, &v);
	report_add(g, "doctor", "Diagnoses", d,
		   cell_printf(d, v.count[DOCTOR_FOUND] ? STYLE_WARN : STYLE_MUTED,
			       "%zu found, %zu not tested: a report puts no load on a machine",
			       v.count[DOCTOR_FOUND], v.count[DOCTOR_OPEN]));
	report_keep(g, "doctor", machine_result_json(&doctor_result, v.m, &v, 0));
}

/* One machine for a report: its facts, judged, and its sections in order. */

/* Facts are all that a result of show holds: what a rule asks the machine itself is not seen. */
static struct fact_str read_nothing(void *ctx, struct arena *a, const struct knob *k)
{
	(void)ctx;
	(void)a;
	(void)k;
	return (struct fact_str){ .f = { .seen = SEEN_UNASKED } };
}

static int verb_report_facts_of(struct reporting *g, const struct report_source *from)
{
	struct arena *a = &g->run.arena;
	json_auto_t *j = json_loads(from->facts, JSON_REJECT_DUPLICATES, NULL);
	const char *subject = json_string_value(json_object_get(j, "subject"));
	struct err e = { 0 };
	int code = 0;

	g->p.m = ARENA_NEW(a, struct machine);
	g->p.m->reading = "";
	if (!subject || strcmp(subject, "all") != 0)
		code = complain_text(EXIT_USAGE,
				     "%s contains only one subject of show: a report requires a "
				     "complete \"gputune show --format json\"",
				     from->path);
	else if (shape_read(a, &machine_shape, json_object_get(j, "facts"), g->p.m, &e))
		code = complain_text(EXIT_USAGE, "%s: %s", from->path, e.text);
	else if (door_profile(&g->run.door, &g->ask->settings, &g->p.profile))
		code = EXIT_USAGE;
	else
		settings_check(a, g->p.m, &g->p.profile, read_nothing, NULL, &g->p.findings);
	return code;
}

static void findings_part(struct reporting *g)
{
	struct arena *a = &g->run.arena;
	const struct findings *f = &g->p.findings;
	struct check_view how = { .verbose = true,
				  .ledger = g->ledger,
				  .plan = g->h ? &g->p.plan : NULL };
	struct report_part *p;
	struct doc *d;

	how.part = CHECK_FRONT;
	g->out.front = page_check(a, g->p.m, &g->p.profile, f, &how);
	how.part = CHECK_FINDINGS;
	d = page_check(a, g->p.m, &g->p.profile, f, &how);
	p = report_add(g, "findings", "Findings", d,
		       f->score < 0 ? cell_as(STYLE_UNKNOWN, "no score: nothing was judged")
				    : cell_printf(d, STYLE_MUTED, "%zu to fix, score %d of 100",
						  f->count[VERDICT_FAIL], f->score));
	p->open = g->alone;
	if (!g->h)
		p->unseen = "facts do not contain settings; use a capture (\"gputune capture\")";
	g->code = f->count[VERDICT_FAIL]      ? EXIT_FINDINGS
		  : f->count[VERDICT_UNKNOWN] ? EXIT_BLIND
					      : EXIT_CLEAN;
	if (g->json)
		json_object_set_new(g->json, "check",
				    measured_check_json(&g->run.arena, g->p.m, &g->p.profile, f,
							NULL, g->code));
}

static void hardware_part(struct reporting *g)
{
	struct doc *d = report_hardware(&g->run.arena, g->p.m, g->alone ? "machine" : NULL);

	report_add(g, "machine", "The machine", d, cell_as(STYLE_MUTED, g->out.head.what))->open =
		true;
	if (g->json)
		json_object_set_new(g->json, "facts", shape_object_json(&machine_shape, g->p.m));
}

/* Of --state, but for this machine; otherwise its own. */
static void ledger_of(struct reporting *g)
{
	struct arena *a = &g->run.arena;
	struct ledger *l = ARENA_NEW(a, struct ledger);
	struct host *live;

	if (!g->h)
		return;
	if (g->ask->state.state) {
		live = run_live(&g->run);
		ledger_load(a, live, g->p.m, door_state(&g->run.door, &g->ask->state), l);
		host_close(live);
		ledger_here(a, g->h, g->p.m, &l->here);
	} else {
		ledger_load(a, g->h, g->p.m, NULL, l);
	}
	g->ledger = l;
}

static int verb_report_look(struct reporting *g, const struct report_source *from)
{
	if (from->facts)
		return verb_report_facts_of(g, from);
	/* Whatever a section does, it cannot write. */
	g->h = door_host(&g->run.door, &g->from);
	if (!g->h || door_profile(&g->run.door, &g->ask->settings, &g->p.profile))
		return EXIT_USAGE;
	if (door_plan(&g->run.door, g->h, NULL, &g->p))
		return EXIT_USAGE;
	/* The page's commands are typed at the machine itself, which a demo does not have. */
	if (!g->from.capture || !str_starts(g->from.capture, "demo:"))
		g->p.m->options = NULL;
	return 0;
}

/* Fills g->out. 0, or an exit code after complaining. */
static int report_gather(struct reporting *g, const struct report_source *from, const char *id)
{
	int code;

	g->out.head.id = id;
	if (from->node) {
		report_named_machine(g, from);
		return 0;
	}
	code = verb_report_look(g, from);
	if (code)
		return code;
	ledger_of(g);
	g->out.head = report_head_of(&g->run.arena, g->p.m, &g->p.findings);
	g->out.head.id = id;
	g->out.head.from = from->path	     ? from->path
			   : g->from.capture ? g->from.capture
					     : "this machine";
	findings_part(g);
	hardware_part(g);
	report_part_changes(g);
	report_part_benches(g);
	report_part_proofs(g);
	report_part_predictions(g);
	report_part_stack(g);
	report_part_persist(g);
	report_part_doctor(g);
	code = report_part_recordings(g);
	report_part_named(g, from);
	return code;
}

enum report_format { FORMAT_HTML, FORMAT_MD, FORMAT_TERM, FORMAT_JSON };

/* A report while it is put together: each machine's part is text before the next one is looked at.
 */
struct page {
	struct run *r;
	enum report_format format;
	struct report_result_file given;
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
	const struct report_ask *ask = p->r->ask;
	struct reporting g = { .run = *p->r,
			       .ask = ask,
			       .from = ask->machine,
			       .given = &p->given,
			       .alone = p->given.n == 1 };
	struct arena *all = &p->r->arena;
	int code;

	g.run.arena = (struct arena){ 0 };
	g.run.door.arena = &g.run.arena;
	if (p->given.sources[i].path && !p->given.sources[i].facts && !p->given.sources[i].node)
		g.from.capture = p->given.sources[i].path;
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
	host_close(g.h);
	arena_free(&g.run.arena);
	return code;
}

/* What the list for navigation names: the sections of the one machine, or all machines. */
static struct doc *ways(struct page *p)
{
	static const char *const parts[][2] = {
		{ "findings", "Findings" }, { "machine", "Machine" },
		{ "changes", "Changes" },   { "benches", "Measurements" },
		{ "proofs", "A/B tests" },  { "predictions", "Predictions" },
		{ "stack", "Software" },    { "persist", "Next boot" },
		{ "doctor", "Diagnoses" },  { "recordings", "During a job" },
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

static int verb_report_put(struct page *p)
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

static int verb_report_put_json(struct page *p)
{
	struct report_answer answer = { time(NULL), p->code, p->machines };
	json_t *j = result_shape_json(&report_result, &answer, 0, 0);
	TEXT_AUTO t = { 0 };
	int code = run_add_json(p->r, j, false, &t);

	return code ? code : report_write(p->r, t.s, t.len);
}

static void report_left_out(struct page *p)
{
	for (size_t i = 0; i < p->given.n_results; i++)
		if (!p->given.taken[i])
			complain_text(
				0,
				"result %s belongs to none of these machines and is left out; a "
				"redacted capture has no name: give it as the only machine",
				p->given.results[i].id ? p->given.results[i].id : "?");
}

/* A page names its style sheet and its script by their hashes. */
static int may_hash(const struct page *p)
{
	struct err e = { 0 };

	if (p->format != FORMAT_HTML || library_open(LIBRARY_SODIUM, &e) == 0)
		return 0;
	return complain(EXIT_BLIND, &e);
}

const char *report_name(struct run *r)
{
	const struct report_ask *ask = r->ask;
	const char *of = ask->files.n ? ask->files.items[0] : ask->machine.capture;
	struct utsname u;

	of = of ? of : uname(&u) == 0 ? u.nodename : "machine";
	of = basename(arena_strdup(&r->arena, of));
	of += str_starts(of, "demo:") ? 5 : 0;
	return arena_printf(&r->arena, "gputune-report-%.*s.html", (int)strcspn(of, "."), of);
}

/* As enum report_format; the command line takes no other. */
static const char *const report_forms[] = { "html", "md", "term", "json", NULL };

static int verb_report(struct run *r)
{
	struct page p = { .r = r };
	int code, failed = 0;

	while (r->print.format && strcmp(report_forms[p.format], r->print.format) != 0)
		p.format++;
	if ((code = may_hash(&p)) != 0 || (code = report_may_write(r)) != 0 ||
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
		report_left_out(&p);
		failed = p.format == FORMAT_JSON ? verb_report_put_json(&p) : verb_report_put(&p);
	}
	report_sources_free(&p.given);
	json_decref(p.machines);
	free(p.text);
	return failed ? failed : p.code;
}

/* clang-format off */
static const struct ask_row report_ask_rows[] = {
	{ "FILE", "a capture, a recording, or JSON of show, check, bench, prove, doctor, stack check, compare, "
	  "predict, advise or diagnose", ASK_TEXTS(report_ask, files), .argument = true, .files = true },
	{ ASK_PART(report_ask, machine, machine_ask) }, { ASK_PART(report_ask, settings, profile_ask) },
	{ ASK_PART(report_ask, state, state_ask) },
	{ "state", "take saved results and A/B tests from this folder", .kind = ASK_KIND_NOTE },
	{ "force", "replace the file even if it is not a report", ASK_FLAG(report_ask, force) },
};
/* clang-format on */

/* clang-format off */
const struct verb report_verb = {
	.name = "report", .group = VERB_LOOK, .summary = "one HTML page about one or more machines",
	.about = "Writes one self-contained HTML file: findings with their fixes, the machine, changes, "
	  "measurements and predictions. Each FILE is a capture, a recording or a JSON result. On a terminal "
	  "the file is gputune-report-MACHINE.html. A file that is not a report is replaced only with --force.",
	.exits = "1: something needs fixing; 5: nothing needs fixing, but some input was unreadable",
	.words = "html page pdf summary",
	.examples = EXAMPLES({ "report -o machine.html", "this machine" },
	  { "report node1.tar node2.tar -o rack.html", "two captured machines" },
	  { "report --format md -o ticket.md", "for a ticket" }),
	.run = verb_report, .output = OUTPUT_WRITTEN, .ask = ASK_OF(report_ask, NULL, report_ask_rows),
	.reads = READS_FILES, .prints_as = report_forms,
	.prints = PRINTS_FORMAT | PRINTS_JSON | PRINTS_FILE | PRINTS_PAGE,
};
/* clang-format on */
