/* SPDX-License-Identifier: Apache-2.0 */
/* What a report is made of, and where it goes: captures, results, and the file of -o. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <time.h>

#include "front/verbs/report.h"
#include "base/fd.h"
#include "base/text.h"
#include "measure/bench/bench_json.h"
#include "base/clock.h"
#include "look/monitor/recording.h"
#include "look/monitor/figures_recording.h"
#include "models/inference/page_predict.h"
#include "front/session.h"

/* Results of other verbs in a report: whose they are, and where they are shown. */

static const struct report_ask *asked(const struct run *r)
{
	return r->ask;
}

/* What a redacted capture is called: any machine's result may be its own. */
static const char redacted[] = "host";

static const struct {
	const char *id, *title;
} sections[] = {
	{ "findings", "Findings" },	  { "benches", "Measurements" }, { "proofs", "A/B tests" },
	{ "predictions", "Predictions" }, { "stack", "Software stack" }, { "doctor", "Diagnoses" },
};

/* Keeps j, a result of that kind. 0, or EXIT_USAGE after complaining. */
static int report_named_add(struct run *r, struct report_result_file *g, const char *path,
			    const struct result_file_kind *kind, json_t *j)
{
	struct err e = { 0 };

	if (result_file_valid(&r->arena, kind, j, &e))
		return complain_text(EXIT_USAGE, "%s: %s", path, e.text);
	ARENA_ADD(&r->arena, g->told, g->n_told) =
		(struct report_named_source){ .path = path, .kind = kind, .j = json_incref(j) };
	return 0;
}

void report_sources_free(struct report_result_file *g)
{
	for (size_t i = 0; i < g->n_told; i++)
		json_decref(g->told[i].j);
	g->n_told = 0;
}

/* --- whose ------------------------------------------------------------------------------------ */

/* In the arena; "": it does not tell, or cannot be opened, which is said when it is looked at. */
static const char *verb_report_sources_name_of(struct run *r, const struct report_source *s)
{
	const char *capture = s->path ? s->path : asked(r)->machine.capture, *name = NULL;
	struct utsname here;
	struct err e = { 0 };
	struct host *h;
	json_t *j;

	if (s->node)
		return s->node;
	if (s->facts) {
		j = json_loads(s->facts, JSON_REJECT_DUPLICATES, NULL);
		name = result_file_text(&r->arena, j, "facts.nodename.value");
		json_decref(j);
		return name ? name : "";
	}
	if (!capture)
		return uname(&here) ? "" : arena_strdup(&r->arena, here.nodename);
	h = host_open_capture(capture, &e);
	name = h ? arena_strdup(&r->arena, h->id.nodename) : "";
	host_close(h);
	return name;
}

static bool is_of(const char *name, const char *node, bool alone)
{
	return strcmp(name, node) == 0 || (alone && strcmp(name, redacted) == 0);
}

/* Nothing but results about other machines was given: then this one is not meant. */
static bool is_about_here(struct run *r, const struct report_result_file *g)
{
	const char *here = verb_report_sources_name_of(r, &(struct report_source){ 0 });
	bool another = false;

	if (asked(r)->machine.capture || !g->n_told || g->n_results || g->n_recordings)
		return true;
	for (size_t i = 0; i < g->n_told; i++) {
		const char *node = result_file_node(g->told[i].j);

		if (node && strcmp(node, here) == 0)
			return true;
		another = another || node;
	}
	/* What names no machine goes with the one that the others name. */
	return !another;
}

static size_t named_add_source(struct run *r, struct report_result_file *g, struct report_source s)
{
	g->sources = arena_grow(&r->arena, g->sources, g->n, sizeof(*g->sources));
	g->sources[g->n] = s;
	return g->n++;
}

/* Names of machines to the sources: asked for once, as opening a capture is work. */
static const char **names_of(struct run *r, const struct report_result_file *g)
{
	const char **names = arena_array(&r->arena, g->n + g->n_told + 1, sizeof(*names));

	for (size_t i = 0; i < g->n && g->n_told; i++)
		names[i] = verb_report_sources_name_of(r, &g->sources[i]);
	return names;
}

/* Finds each one's machine; a machine that nothing else tells of becomes a source of its own. 0, or
 * EXIT_USAGE after complaining. */
static int report_named_place(struct run *r, struct report_result_file *g)
{
	const char **names;
	size_t named;

	if (!g->n && is_about_here(r, g))
		named_add_source(r, g, (struct report_source){ 0 });
	names = names_of(r, g);
	named = g->n;
	for (size_t i = 0; i < g->n_told; i++) {
		struct report_named_source *t = &g->told[i];
		const char *node = result_file_node(t->j);

		/* A machine that only results tell of is called what they call it. */
		while (node && t->source < g->n &&
		       !is_of(names[t->source], node, t->source == 0 && named == 1))
			t->source++;
		if (t->source == g->n) {
			node = arena_strdup(&r->arena, node);
			names[g->n] = node;
			named_add_source(r, g,
					 (struct report_source){ .path = t->path, .node = node });
		}
	}
	for (size_t i = 0; i < g->n_told && g->n > 1; i++)
		if (!result_file_node(g->told[i].j))
			return complain_text(EXIT_USAGE,
					     "%s does not name its machine: give it in a report of "
					     "one machine, not of %zu",
					     g->told[i].path, g->n);
	return 0;
}

/* Which models would fit on a machine of a report, in which format. */

/* The widest format in which it fits: of 4 bits, FP4 where the GPU has it. */
static bool predict_one(struct reporting *g, const struct target_hw *place, const struct fits *fits,
			const char *model, struct report_prediction *out)
{
	static const char *const formats[] = { NULL, "fp8", "nvfp4", "int4" };

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct infer_options w = { .known = door_knowledge(&g->run.door, g->from.capture),
					   .model = model,
					   .weights = formats[i],
					   .place = place };
		struct query q = { 0 };
		struct err e = { 0 };

		if (question_make(&g->run.arena, &w, fits, &q, &e) < 0 ||
		    (formats[i] && q.ask.weights->math == MATH_FP4 && place->gpu->fp4 <= 0))
			continue;
		out->model = model;
		predict(&g->run.arena, &q, fits, &out->p);
		if (out->p.memory.fits)
			return true;
	}
	return false;
}

void report_part_predictions(struct reporting *g)
{
	struct report_prediction items[16];
	struct arena *a = &g->run.arena;
	json_t *list = json_array();
	struct target_hw place;
	struct err e = { 0 };
	struct fits fits;
	struct doc *d;
	size_t n = 0;

	fits_default(&fits);
	if (place_of(a, door_knowledge(&g->run.door, g->from.capture), g->p.m, &place, &e)) {
		report_add(g, "predictions", "Predictions", NULL,
			   cell(arena_printf(a, "Cannot predict any model here: %s.", e.text)));
		json_decref(list);
		return;
	}
	for (size_t i = 0; report_models[i] && n < 16; i++)
		if (predict_one(g, &place, &fits, report_models[i], &items[n]))
			json_array_append_new(list,
					      result_shape_json(&predict_result, &items[n++].p,
								fact_or(&g->p.m->time_s, 0), 0));
	report_keep(g, "predictions", list);
	if (!n) {
		report_add(g, "predictions", "Predictions", NULL,
			   cell("None of the requested models fits here."));
		return;
	}
	d = report_predictions(a, items, n, g->alone ? "predictions" : NULL);
	report_add(g, "predictions", "Predictions", d,
		   cell_printf(d, STYLE_MUTED, "%zu models that fit", n));
}

struct report_part *report_add(struct reporting *g, const char *id, const char *title,
			       const struct doc *doc, struct cell say)
{
	struct report_part *p = &g->out.parts[g->out.n++];

	*p = (struct report_part){ .id = id, .title = title, .doc = doc, .say = say };
	return p;
}

const char *report_id(struct reporting *g, const char *id)
{
	return g->alone ? id : arena_printf(&g->run.arena, "%s-%s", g->out.head.id, id);
}

void report_keep(struct reporting *g, const char *key, json_t *j)
{
	if (g->json)
		json_object_set_new(g->json, key, j);
	else
		json_decref(j);
}

/* --- sections --------------------------------------------------------------------------------- */

static struct report_part *verb_report_sources_part_of(struct reporting *g, const char *id)
{
	for (size_t i = 0; i < g->out.n; i++)
		if (strcmp(g->out.parts[i].id, id) == 0)
			return &g->out.parts[i];
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (strcmp(sections[i].id, id) == 0)
			return report_add(g, id, sections[i].title, NULL, cell(NULL));
	return NULL;
}

static void verb_report_sources_show(struct reporting *g, const struct report_named_source *t,
				     size_t number)
{
	struct arena *a = &g->run.arena;
	struct report_part *p = verb_report_sources_part_of(g, t->kind->part);
	struct doc *d;

	if (!p)
		return;
	if (!p->given)
		p->given = doc_new(a);
	d = p->given;
	doc_section(d, 2, report_id(g, arena_printf(a, "given-%zu", number)),
		    arena_printf(a, "%s: %s", t->kind->verb, t->path),
		    cell_as(STYLE_MUTED, result_file_text(a, t->j, "time")), g->alone);
	doc_append(d, result_file_page(a, t->kind, t->j), 2);
	doc_section_end(d);
	p->open = p->open || g->alone;
}

void report_part_named(struct reporting *g, const struct report_source *from)
{
	size_t source = (size_t)(from - g->given->sources), n = 0;
	json_t *list = json_array();

	for (size_t i = 0; i < g->given->n_told; i++) {
		const struct report_named_source *t = &g->given->told[i];

		if (t->source != source)
			continue;
		verb_report_sources_show(g, t, ++n);
		json_array_append(list, t->j);
	}
	if (n)
		report_keep(g, "given", list);
	else
		json_decref(list);
}

/* The mark that every page of ours carries in its head, and the one of a report in Markdown. */
#define HTML_MARK "<meta name=\"generator\" content=\"gputune "

static bool is_capture(const char *path)
{
	TEXT_AUTO meta = { 0 };
	struct stat st;

	if (stat(path, &st))
		return str_starts(path, "demo:");
	text_printf(&meta, "%s/meta.json", path);
	return S_ISDIR(st.st_mode) ? access(meta.s, F_OK) == 0
				   : str_ends(path, ".tar") || str_ends(path, ".tar.zst");
}

static void add_source(struct run *r, struct report_result_file *g, struct report_source s)
{
	ARENA_ADD(&r->arena, g->sources, g->n) = s;
}

static void add_recording(struct run *r, struct report_result_file *g, const char *path)
{
	ARENA_ADD(&r->arena, g->recordings, g->n_recordings) = path;
}

static int verb_report_sources_add_file(struct run *r, struct report_result_file *g,
					const char *path)
{
	TEXT_AUTO t = { 0 };
	struct err e = { 0 };
	json_error_t why;
	int code = fd_read_input(path, REPORT_FILE_MAX, &t);
	char *text = arena_strndup(&r->arena, t.s ? t.s : "", t.len);
	const struct result_file_kind *kind;
	const char *schema;
	bool another;
	json_t *j;

	if (code)
		return complain_text(EXIT_USAGE, "%s: cannot read: %s%s", path,
				     code == -EINVAL  ? "neither a capture nor a file"
				     : code == -EFBIG ? "too large for a result"
						      : strerror(-code),
				     str_ends(path, ".html") ? "; -o FILE writes a report" : "");
	j = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	schema = json_string_value(json_object_get(j, "schema"));
	kind = result_file_kind_of(schema, &another);
	if (!j) {
		code = complain_text(EXIT_USAGE, "%s:%d: %s", path, why.line, why.text);
	} else if (schema && strcmp(schema, "gputune.show/1") == 0) {
		add_source(r, g, (struct report_source){ .path = path, .facts = text });
	} else if (schema && strcmp(schema, "gputune.bench/1") == 0) {
		g->results = arena_grow(&r->arena, g->results, g->n_results, sizeof(*g->results));
		if (bench_from_json(&r->arena, path, text, &g->results[g->n_results], &e))
			code = complain(EXIT_USAGE, &e);
		else
			g->n_results++;
	} else if (kind) {
		code = report_named_add(r, g, path, kind, j);
	} else if (another) {
		code = complain_text(EXIT_USAGE, "%s is a %.64s of an unsupported version", path,
				     schema);
	} else {
		code = complain_text(EXIT_USAGE,
				     "%s is %s%.64s: a report of this version takes captures, "
				     "recordings, and JSON results of show, bench, %s",
				     path, schema ? "a " : "not a result of gputune",
				     schema ? schema : "", result_file_verbs(&r->arena));
	}
	json_decref(j);
	return code;
}

int report_sources(struct run *r, struct report_result_file *out)
{
	int code = 0;

	*out = (struct report_result_file){ 0 };
	for (size_t i = 0; i < asked(r)->files.n; i++) {
		const char *path = door_saved(&r->door, asked(r)->files.items[i]);

		if (is_capture(path))
			add_source(r, out, (struct report_source){ .path = path });
		else if (recording_is(path))
			add_recording(r, out, path);
		else
			code = verb_report_sources_add_file(r, out, path);
		if (code)
			return code;
	}
	if (out->n && asked(r)->machine.capture)
		return complain_text(EXIT_USAGE, "--host cannot be combined with machines as "
						 "arguments: give all as arguments");
	if ((code = report_named_place(r, out)) != 0)
		return code;
	if (out->n > REPORT_MACHINES_MAX)
		return complain_text(EXIT_USAGE, "a report takes at most %d machines",
				     REPORT_MACHINES_MAX);
	if (out->n > 1 && out->n_recordings)
		return complain_text(EXIT_USAGE,
				     "a recording requires a report of one machine, not %zu",
				     out->n);
	out->taken = arena_array(&r->arena, out->n_results + 1, sizeof(*out->taken));
	return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

int report_may_write(const struct run *r)
{
	const char *path = r->print.output;
	char head[2048];
	struct stat st;
	ssize_t n;
	int fd;

	if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || !st.st_size ||
	    run_is_stream(&st) || asked(r)->force)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
	if (fd >= 0)
		close(fd);
	head[n > 0 ? n : 0] = '\0';
	if (strstr(head, HTML_MARK) || strstr(head, "\"gputune.report/1\"") ||
	    strstr(head, " UTC by gputune "))
		return 0;
	return complain_text(EXIT_USAGE,
			     "%s exists and is not a report of gputune; it was left unchanged "
			     "(--force replaces it)",
			     path);
}

/* A pipe, a device, a file that is standard output: written as it is. */
static int write_through(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	int why = fd < 0 ? errno : -fd_write_all(fd, text, len);

	if (fd >= 0 && close(fd) && !why)
		why = errno;
	return why;
}

static int write_whole(struct run *r, const char *path, const char *text, size_t len)
{
	const char *fresh = arena_printf(&r->arena, "%s.%ld.part", path, (long)getpid());
	int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	int why;

	if (fd < 0)
		return errno;
	why = -fd_write_all(fd, text, len);
	if (!why && fsync(fd))
		why = errno;
	if (close(fd) && !why)
		why = errno;
	if (!why && rename(fresh, path))
		why = errno;
	if (why)
		unlink(fresh);
	return why;
}

int report_write(struct run *r, const char *text, size_t len)
{
	const char *path = r->print.output;
	sigset_t all, before;
	struct stat st;
	int why;

	if (!path) {
		fwrite(text, 1, len, r->out);
		return 0;
	}
	if (r->file >= 0)
		return run_hand_over(r, text, len);
	/* It may have come since we looked. */
	if (report_may_write(r))
		return EXIT_USAGE;
	if (stat(path, &st) == 0 && (!S_ISREG(st.st_mode) || run_is_stream(&st))) {
		why = write_through(path, text, len);
	} else {
		/* Between its beginning and its name nothing may end us: no half of it is left. */
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, &before);
		why = write_whole(r, path, text, len);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	if (!why && !r->print.quiet)
		complain_text(0, "wrote %s%s", path, r->tty ? ": open it in a browser" : "");
	return why ? complain_text(EXIT_BLIND, "cannot write %s: %s", path, strerror(why)) : 0;
}

/* --- a machine that only results tell of ------------------------------------------------------ */

static size_t count_at(const json_t *j, const char *path)
{
	json_int_t n = json_integer_value(result_file_at(j, path));

	return n > 0 ? (size_t)n : 0;
}

/* -1: the file has none, or no figure of 0 to 100. */
static int figure_at(const json_t *check, const char *path)
{
	const json_t *j = result_file_at(check, path);
	json_int_t n = json_is_integer(j) ? json_integer_value(j) : -1;

	return n >= 0 && n <= 100 ? (int)n : -1;
}

static void judged_by(struct reporting *g, const json_t *check)
{
	struct report_head *h = &g->out.head;

	h->judged = true;
	h->count[VERDICT_PASS] = count_at(check, "summary.pass");
	h->count[VERDICT_FAIL] = count_at(check, "summary.fail");
	h->count[VERDICT_UNKNOWN] = count_at(check, "summary.unknown");
	h->score = figure_at(check, "summary.score");
	g->code = h->count[VERDICT_FAIL]      ? EXIT_FINDINGS
		  : h->count[VERDICT_UNKNOWN] ? EXIT_BLIND
					      : EXIT_CLEAN;
}

static enum severity severity_of(const char *name)
{
	for (int s = SEVERITY_CRITICAL; name && s > SEVERITY_INFO; s--)
		if (strcmp(severity_name((enum severity)s), name) == 0)
			return (enum severity)s;
	return SEVERITY_INFO;
}

static void worst_of(struct reporting *g, const json_t *check)
{
	struct report_head *h = &g->out.head;
	const json_t *f;
	size_t i;

	json_array_foreach(json_object_get(check, "findings"), i, f)
	{
		const char *verdict = json_string_value(json_object_get(f, "verdict"));
		enum severity s = severity_of(json_string_value(json_object_get(f, "severity")));

		if (!verdict || strcmp(verdict, "fail") != 0 || (h->worst && s <= h->severity))
			continue;
		h->worst = result_file_text(&g->run.arena, f, "id");
		h->severity = s;
	}
	/* Its summary counts what its findings do not name. */
	if (!h->worst && h->count[VERDICT_FAIL])
		h->worst = "not named in the file";
}

/* The newest check of a machine, of equals the last one; NULL: there is none. */
static const json_t *check_of(const struct report_result_file *g, size_t source)
{
	long long newest = LLONG_MIN;
	const json_t *out = NULL;

	for (size_t i = 0; i < g->n_told; i++) {
		const struct report_named_source *t = &g->told[i];
		const char *time = json_string_value(result_file_at(t->j, "time"));
		long long at;

		if (t->source != source || strcmp(t->kind->verb, "check") != 0)
			continue;
		if (!time || stamp_parse(time, &at))
			at = LLONG_MIN;
		if (at < newest)
			continue;
		newest = at;
		out = t->j;
	}
	return out;
}

void report_named_machine(struct reporting *g, const struct report_source *from)
{
	struct arena *a = &g->run.arena;
	struct report_head *h = &g->out.head;
	size_t source = (size_t)(from - g->given->sources);
	const json_t *check = check_of(g->given, source);

	h->name = from->node;
	h->what = "known only from results";
	h->kernel = "";
	h->from = from->path;
	h->score = -1;
	g->code = EXIT_BLIND;
	for (size_t i = 0; i < g->given->n_told; i++) {
		const struct report_named_source *t = &g->given->told[i];
		const char *kernel = result_file_text(a, t->j, "host.kernel");

		if (t->source == source && kernel && (!*h->kernel || t->j == check))
			h->kernel = kernel;
	}
	if (check) {
		judged_by(g, check);
		worst_of(g, check);
	}
	report_part_named(g, from);
}

/* The section of a report with what the machine did beside a job: recordings that were given. */

static const char *command_of(struct arena *a, const struct recording *rec)
{
	const char *s = NULL;

	for (char **w = rec->command; w && *w; w++)
		s = s ? arena_printf(a, "%s %s", s, *w) : *w;
	return s;
}

static void add_pairs(struct doc *d, const struct recording *rec)
{
	struct node *n = doc_pairs(d, NULL);
	const char *command = command_of(d->arena, rec);
	char when[STAMP_SIZE];

	if (command)
		node_pair(d, n, "Command", cell_as(STYLE_CODE, command));
	if (!stamp_format(rec->started_s, when))
		node_pair(d, n, "Begun", cell(arena_strdup(d->arena, when)));
	node_pairf(d, n, "Took", "%.1f s, one sample per %.2g s%s", (double)rec->ms / 1e3,
		   rec->interval_ms / 1e3, rec->end.whole ? "" : "; truncated at the end");
	if (rec->end.whole && rec->end.status >= 0)
		node_pair(d, n, "Ended with",
			  cell_printf(d, rec->end.status ? STYLE_BAD : STYLE_PLAIN, "exit code %d",
				      rec->end.status));
	if (rec->end.whole)
		node_pairf(d, n, "Recording overhead", "%.2f s of CPU", rec->end.cpu_s);
}

/* 0, or -errno and *e. */
static int verb_report_sources_add_one(struct doc *d, const char *path, struct err *e)
{
	struct recording *rec = ARENA_NEW(d->arena, struct recording);
	struct timeline *t = timeline_new(d->arena, &rec->mon);
	int r = recording_read(d->arena, path, rec, timeline_row, t, e);

	if (r)
		return r;
	doc_heading(d, 2, path);
	add_pairs(d, rec);
	timeline_add(d, t);
	return 0;
}

int report_part_recordings(struct reporting *g)
{
	struct doc *d = doc_new(&g->run.arena);
	struct err e = { 0 };

	if (!g->alone || !g->given->n_recordings)
		return 0;
	for (size_t i = 0; i < g->given->n_recordings; i++)
		if (verb_report_sources_add_one(d, g->given->recordings[i], &e))
			return complain(EXIT_USAGE, &e);
	report_add(g, "recordings", "During a job", d,
		   cell_printf(d, STYLE_MUTED, "%zu recording%s", g->given->n_recordings,
			       PLURAL(g->given->n_recordings)))
		->open = true;
	return 0;
}
