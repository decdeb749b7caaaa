/* SPDX-License-Identifier: Apache-2.0 */
/* Results of other verbs in a report: whose they are, and where they are shown. */
#include <limits.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/stamp.h"
#include "front/verbs/report.h"

/* What a redacted capture is called: any machine's result may be its own. */
static const char redacted[] = "host";

static const struct {
	const char *id, *title;
} sections[] = {
	{ "findings", "Findings" },	  { "benches", "Measurements" }, { "proofs", "Proofs" },
	{ "predictions", "Predictions" }, { "stack", "Software stack" }, { "doctor", "Diagnoses" },
};

int report_told_add(struct run *r, struct report_given *g, const char *path,
		    const struct given_kind *kind, json_t *j)
{
	struct err e = { 0 };

	if (given_sound(kind, j, &e))
		return complain_text(EXIT_USAGE, "%s: %s", path, e.text);
	g->told = arena_grow(&r->arena, g->told, g->n_told, sizeof(*g->told));
	g->told[g->n_told++] =
		(struct report_told){ .path = path, .kind = kind, .j = json_incref(j) };
	return 0;
}

void report_sources_free(struct report_given *g)
{
	for (size_t i = 0; i < g->n_told; i++)
		json_decref(g->told[i].j);
	g->n_told = 0;
}

/* --- whose -------------------------------------------------------------------------------------
 */

/* In the arena; "": it does not tell, or cannot be opened, which is said when it is looked at. */
static const char *name_of(struct run *r, const struct report_source *s)
{
	const char *capture = s->path ? s->path : r->value[OPT_HOST], *name = NULL;
	struct utsname here;
	struct err e = { 0 };
	struct host *h;
	json_t *j;

	if (s->node)
		return s->node;
	if (s->facts) {
		j = json_loads(s->facts, JSON_REJECT_DUPLICATES, NULL);
		name = given_text(&r->arena, j, "facts.nodename.value");
		json_decref(j);
		return name ? name : "";
	}
	if (!capture)
		return uname(&here) ? "" : arena_strdup(&r->arena, here.nodename);
	h = host_open_capture(capture, &e);
	name = h ? arena_strdup(&r->arena, h->id.nodename) : "";
	if (h)
		host_close(h);
	return name;
}

static bool is_of(const char *name, const char *node, bool alone)
{
	return strcmp(name, node) == 0 || (alone && strcmp(name, redacted) == 0);
}

/* Nothing but results about other machines was given: then this one is not meant. */
static bool is_about_here(struct run *r, const struct report_given *g)
{
	const char *here = name_of(r, &(struct report_source){ 0 });
	bool another = false;

	if (r->value[OPT_HOST] || !g->n_told || g->n_results || g->n_recordings)
		return true;
	for (size_t i = 0; i < g->n_told; i++) {
		const char *node = given_node(g->told[i].j);

		if (node && strcmp(node, here) == 0)
			return true;
		another = another || node;
	}
	/* What names no machine goes with the one that the others name. */
	return !another;
}

static size_t add_source(struct run *r, struct report_given *g, struct report_source s)
{
	g->sources = arena_grow(&r->arena, g->sources, g->n, sizeof(*g->sources));
	g->sources[g->n] = s;
	return g->n++;
}

/* Names of machines to the sources: asked for once, as opening a capture is work. */
static const char **names_of(struct run *r, const struct report_given *g)
{
	const char **names = arena_array(&r->arena, g->n + g->n_told + 1, sizeof(*names));

	for (size_t i = 0; i < g->n && g->n_told; i++)
		names[i] = name_of(r, &g->sources[i]);
	return names;
}

int report_told_place(struct run *r, struct report_given *g)
{
	const char **names;
	size_t named;

	if (!g->n && is_about_here(r, g))
		add_source(r, g, (struct report_source){ 0 });
	names = names_of(r, g);
	named = g->n;
	for (size_t i = 0; i < g->n_told; i++) {
		struct report_told *t = &g->told[i];
		const char *node = given_node(t->j);

		/* A machine that only results tell of is called what they call it. */
		while (node && t->source < g->n &&
		       !is_of(names[t->source], node, t->source == 0 && named == 1))
			t->source++;
		if (t->source == g->n) {
			node = arena_strdup(&r->arena, node);
			names[g->n] = node;
			add_source(r, g, (struct report_source){ .path = t->path, .node = node });
		}
	}
	for (size_t i = 0; i < g->n_told && g->n > 1; i++)
		if (!given_node(g->told[i].j))
			return complain_text(EXIT_USAGE,
					     "%s names no machine: it goes with one machine, not "
					     "with %zu",
					     g->told[i].path, g->n);
	return 0;
}

/* --- sections ----------------------------------------------------------------------------------
 */

static struct report_part *part_of(struct reporting *g, const char *id)
{
	for (size_t i = 0; i < g->out.n; i++)
		if (strcmp(g->out.parts[i].id, id) == 0)
			return &g->out.parts[i];
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (strcmp(sections[i].id, id) == 0)
			return report_add(g, id, sections[i].title, NULL, cell(NULL));
	return NULL;
}

static void show(struct reporting *g, const struct report_told *t, size_t number)
{
	struct arena *a = &g->run.arena;
	struct report_part *p = part_of(g, t->kind->part);
	struct doc *d;

	if (!p)
		return;
	if (!p->given)
		p->given = doc_new(a);
	d = p->given;
	doc_section(d, 2, report_id(g, arena_printf(a, "given-%zu", number)),
		    arena_printf(a, "%s: %s", t->kind->verb, t->path),
		    cell_as(STYLE_MUTED, given_text(a, t->j, "time")), g->alone);
	doc_append(d, given_page(a, t->kind, t->j), 2);
	doc_section_end(d);
	p->open = p->open || g->alone;
}

void report_part_told(struct reporting *g, const struct report_source *from)
{
	size_t source = (size_t)(from - g->given->sources), n = 0;
	json_t *list = json_array();

	for (size_t i = 0; i < g->given->n_told; i++) {
		const struct report_told *t = &g->given->told[i];

		if (t->source != source)
			continue;
		show(g, t, ++n);
		json_array_append(list, t->j);
	}
	if (n)
		report_keep(g, "given", list);
	else
		json_decref(list);
}

/* --- a machine that only results tell of --------------------------------------------------------
 */

static size_t count_at(const json_t *j, const char *path)
{
	json_int_t n = json_integer_value(given_at(j, NULL, path));

	return n > 0 ? (size_t)n : 0;
}

static void judged_by(struct reporting *g, const json_t *check)
{
	struct report_head *h = &g->out.head;
	const json_t *score = given_at(check, NULL, "summary.score");

	h->judged = true;
	h->count[VERDICT_PASS] = count_at(check, "summary.pass");
	h->count[VERDICT_FAIL] = count_at(check, "summary.fail");
	h->count[VERDICT_UNKNOWN] = count_at(check, "summary.unknown");
	h->score = -1;
	if (json_is_integer(score) && json_integer_value(score) >= 0 &&
	    json_integer_value(score) <= 100)
		h->score = (int)json_integer_value(score);
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
		h->worst = given_text(&g->run.arena, f, "id");
		h->severity = s;
	}
	/* Its summary counts what its findings do not name. */
	if (!h->worst && h->count[VERDICT_FAIL])
		h->worst = "not named in the file";
}

/* The newest check of a machine, of equals the last one; NULL: there is none. */
static const json_t *check_of(const struct report_given *g, size_t source)
{
	long long newest = LLONG_MIN;
	const json_t *out = NULL;

	for (size_t i = 0; i < g->n_told; i++) {
		const struct report_told *t = &g->told[i];
		const char *time = json_string_value(given_at(t->j, NULL, "time"));
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

void report_told_machine(struct reporting *g, const struct report_source *from)
{
	struct arena *a = &g->run.arena;
	struct report_head *h = &g->out.head;
	size_t source = (size_t)(from - g->given->sources);
	const json_t *check = check_of(g->given, source);

	h->name = from->node;
	h->what = "known by results alone";
	h->kernel = "";
	h->from = from->path;
	h->score = -1;
	g->code = EXIT_BLIND;
	for (size_t i = 0; i < g->given->n_told; i++) {
		const struct report_told *t = &g->given->told[i];
		const char *kernel = given_text(a, t->j, "host.kernel");

		if (t->source == source && kernel && (!*h->kernel || t->j == check))
			h->kernel = kernel;
	}
	if (check) {
		judged_by(g, check);
		worst_of(g, check);
	}
	report_part_told(g, from);
}
