/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of a report: its front, and a machine's sections in order. */
#include <string.h>

#include "front/report/page_report.h"
#include "render/figure.h"
#include "measure/prove/page_prove.h"
#include "measure/prove/ledger_view.h"
#include "look/show/page.h"
#include "measure/bench/page_bench.h"
#include "render/topology.h"
#include "verbs/page_check.h"

/* clang-format off */
#define A_RESULT(schema) "{\"type\":\"object\",\"required\":[\"schema\"],\"properties\":{\"schema\":" schema "}}"
#define RESULT_OF(key, verb) "\"" key "\":" A_RESULT("{\"const\":\"gputune." verb "/1\"}") ","
#define RESULTS_OF(key, items) "\"" key "\":{\"type\":\"array\",\"items\":" items "}"

static const char report_machines_schema[] =
	"{\"type\":\"array\",\"items\":{\"type\":\"object\",\"anyOf\":[{\"required\":[\"facts\",\"check\"]},"
	"{\"required\":[\"given\"]}],\"additionalProperties\":false,\"properties\":{\"facts\":{\"type\":\"object\"},"
	RESULT_OF("check", "check") RESULT_OF("status", "status") RESULT_OF("history", "history")
	RESULT_OF("stack", "stack-check") RESULT_OF("persist", "persist") RESULT_OF("doctor", "doctor")
	RESULTS_OF("benches", A_RESULT("{\"const\":\"gputune.bench/1\"}")) ","
	RESULTS_OF("predictions", A_RESULT("{\"const\":\"gputune.predict/1\"}")) ","
	RESULTS_OF("proofs", "{\"type\":\"object\"}") ","
	RESULTS_OF("given", A_RESULT("{\"pattern\":\"^gputune[.](check|prove|doctor|stack-check|compare|predict|train|"
				     "advise|diagnose)/1$\"}")) "}}}";

static const struct shape report_shape = SHAPE_OF(report_answer, report,
	{ "time_s", "Time of creation, seconds since 1970, UTC.", SHAPE_COUNT(report_answer, time_s) },
	{ "exit_code", NULL, SHAPE_COUNT(report_answer, exit_code) },
	{ "machines", "Results of each verb, unchanged: facts as in show; benches and A/B tests, oldest first.",
	  SHAPE_JSON(report_answer, machines), .word = report_machines_schema });
const struct result_shape report_result = {
	.name = "report", .title = "gputune report", .shape = &report_shape, .no_time = true,
	.meaning = "Everything that a report shows about each machine, as the results of each verb. A key "
	  "is absent if nothing was read or no result exists.",
};
/* clang-format on */

static const char *what_it_is(struct arena *a, const struct machine *m)
{
	const struct gpu *g = machine_gpu(m, 0);
	const char *product = fact_text(&m->platform.product, NULL);
	const char *gpus = g ? arena_printf(a, "%zu x %s", m->gpu.gpus.n,
					    fact_text(&g->name, "GPU of unknown name"))
			     : "no GPU found";

	return product ? arena_printf(a, "%s, %s", product, gpus) : gpus;
}

struct report_head report_head_of(struct arena *a, const struct machine *m,
				  const struct findings *f)
{
	struct report_head h = { .name = fact_text(&m->nodename, "this machine"),
				 .what = what_it_is(a, m),
				 .kernel = fact_text(&m->kernel.release, ""),
				 .time_s = fact_or(&m->time_s, 0),
				 .judged = f != NULL,
				 .score = f ? f->score : -1 };

	if (!f)
		return h;
	memcpy(h.count, f->count, sizeof(h.count));
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];

		if (it->v.kind != VERDICT_FAIL || (h.worst && it->severity <= h.severity))
			continue;
		h.worst = it->s->id;
		h.severity = it->severity;
	}
	return h;
}

static struct cell worst_cell(struct doc *d, const struct report_head *h)
{
	if (h->worst)
		return cell_printf(d, severity_cell(h->severity).style, "%s: %s",
				   severity_name(h->severity), h->worst);
	return h->count[VERDICT_PASS] ? cell_as(STYLE_GOOD, "nothing to fix")
				      : cell_as(STYLE_UNKNOWN, "no setting could be judged");
}

static void head_row(struct doc *d, struct node *t, const struct report_head *h)
{
	struct cell *c = node_row(d, t);

	c[0] = cell(h->name);
	c[0].link = h->id;
	c[5] = cell(h->what);
	c[6] = cell(h->kernel);
	c[7] = cell_as(STYLE_MUTED, h->from);
	if (!h->judged) {
		c[1] = cell_as(STYLE_UNKNOWN, "not judged");
		return;
	}
	c[1] = worst_cell(d, h);
	c[2] = cellf(d, "%zu", h->count[VERDICT_FAIL]);
	c[3] = cellf(d, "%zu", h->count[VERDICT_UNKNOWN]);
	c[4] = h->score < 0 ? cell_as(STYLE_UNKNOWN, "none")
			    : cell_printf(d, STYLE_STRONG, "%d", h->score);
}

/* Of several machines: how many need what, and the worst of all. */
static void heads_verdict(struct doc *d, const struct report_head *heads, size_t n)
{
	const struct report_head *worst = NULL;
	size_t wrong = 0, unknown = 0;
	struct node *verdict;

	for (size_t i = 0; i < n; i++) {
		wrong += heads[i].count[VERDICT_FAIL] > 0;
		unknown += !heads[i].judged;
		if (heads[i].worst && (!worst || heads[i].severity > worst->severity))
			worst = &heads[i];
	}
	verdict = doc_verdict(
		d,
		worst	  ? severity_cell(worst->severity).style
		: unknown ? STYLE_UNKNOWN
			  : STYLE_GOOD,
		arena_printf(d->arena, "%zu of %zu machines %s a fix%s", wrong, n,
			     wrong == 1 ? "needs" : "need",
			     unknown ? arena_printf(d->arena, ", %zu not judged", unknown) : ""),
		worst ? arena_printf(d->arena, "%s: %s %s", worst->name,
				     severity_name(worst->severity), worst->worst)
		      : NULL);
	if (worst)
		verdict->rows[1].cells[0].link = worst->id;
}

struct doc *page_report_front(struct arena *a, const char *title, long long time_s,
			      const struct report_head *heads, size_t n)
{
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, title);
	if (n == 1)
		doc_text(d, "%s%s%s", heads->what, heads->time_s ? ", seen " : "",
			 heads->time_s ? figure_time(a, heads->time_s) : "");
	node_span(d, doc_paragraph(d),
		  cell_printf(d, STYLE_MUTED,
			      "Made %s by gputune " GPUTUNE_VERSION ". The report changed nothing.",
			      figure_time(a, time_s)));
	if (n < 2)
		return d;
	heads_verdict(d, heads, n);
	t = DOC_TABLE(d, arena_printf(a, "%zu machines", n), "Machine", "Worst finding", ">To fix",
		      ">Unknown", ">Score", "~Description", "Kernel", "~From");
	for (size_t i = 0; i < n; i++)
		head_row(d, t, &heads[i]);
	node_drop_empty(t);
	return d;
}

static void report_page_part(struct doc *d, const struct report_part *p, const char *id,
			     unsigned level)
{
	if (!p->doc && !p->given)
		return;
	doc_section(d, level, id, p->title, p->doc ? p->say : cell(NULL), p->open);
	if (p->doc)
		doc_append(d, p->doc, level);
	if (p->given)
		doc_append(d, p->given, level);
	if (p->unseen)
		node_span(d, doc_paragraph(d),
			  cell_printf(d, STYLE_UNKNOWN, "Unreadable: %s.", p->unseen));
	doc_section_end(d);
}

/* Sections of which there is nothing are one list: what is missing, and how to get it. */
static void report_page_absent(struct doc *d, const struct report_machine *m, const char *id,
			       unsigned level)
{
	struct node *list;
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += !m->parts[i].doc && !m->parts[i].given;
	if (!n)
		return;
	doc_section(d, level, id, "Not in this report", cell_printf(d, STYLE_MUTED, "%zu", n),
		    false);
	list = doc_pairs(d, NULL);
	for (size_t i = 0; i < m->n; i++) {
		const struct report_part *p = &m->parts[i];

		if (p->doc || p->given)
			continue;
		node_pair(d, list, p->title, p->say);
		if (p->unseen)
			node_pair(d, list, "",
				  cell_printf(d, STYLE_UNKNOWN, "Unreadable: %s.", p->unseen));
	}
	doc_section_end(d);
}

static struct cell machine_text(struct doc *d, const struct report_head *h)
{
	if (!h->judged)
		return cell_printf(d, STYLE_MUTED, "%s; not judged", h->what);
	if (!h->count[VERDICT_FAIL])
		return cell_printf(d, worst_cell(d, h).style, "%s; %s", h->what,
				   worst_cell(d, h).text);
	return cell_printf(d, severity_cell(h->severity).style, "%s; %zu to fix, worst %s (%s)",
			   h->what, h->count[VERDICT_FAIL], h->worst, severity_name(h->severity));
}

static const char *report_page_id(struct arena *a, const struct report_machine *m, const char *id,
				  bool alone)
{
	return alone ? id : arena_printf(a, "%s-%s", m->head.id, id);
}

struct doc *page_report_machine(struct arena *a, const struct report_machine *m, bool alone)
{
	struct doc *d = doc_new(a);
	unsigned level = alone ? 2 : 3;

	d->tools = true;
	if (!alone) {
		doc_section(d, 2, m->head.id, m->head.name, machine_text(d, &m->head), false);
		d->nodes[d->n - 1]->apart = true;
	}
	if (m->front)
		doc_append(d, m->front, level - 1);
	for (size_t i = 0; i < m->n; i++)
		report_page_part(d, &m->parts[i], report_page_id(a, m, m->parts[i].id, alone),
				 level);
	report_page_absent(d, m, report_page_id(a, m, "absent", alone), level);
	if (!alone)
		doc_section_end(d);
	return d;
}

/* Sections of a report that are put together from several pages: the hardware, kept results, what
 * was proven. */

static void report_page_folded(struct doc *d, const char *id, const char *title,
			       const struct doc *what)
{
	doc_section(d, 2, id, title, cell(NULL), false);
	doc_append(d, what, 2);
	doc_section_end(d);
}

/* The drawing is the first thing that is seen of a machine; tables lie below it, folded. */
static void report_page_topology(struct doc *d, const struct machine *m, const char *id)
{
	struct doc *page = page_topology(d->arena, m), *rest = doc_new(d->arena);
	size_t n;
	const struct narrow *spots = narrow_spots(d->arena, m, &n);
	struct topology_place *top = places_of(d->arena, m, spots, n);

	*rest = *page;
	rest->n = 0;
	for (size_t i = 0; i < page->n; i++)
		if (page->nodes[i]->kind == NODE_FIGURE) {
			node_span(d, doc_paragraph(d),
				  cell_as(n && spots[0].fault ? STYLE_BAD : STYLE_PLAIN,
					  bottleneck_text(d->arena, spots, n, top)));
			doc_figure(d, NULL, page->nodes[i]->svg, NULL);
		} else {
			rest->nodes[rest->n++] = page->nodes[i];
		}
	if (id && rest->n >= 3) /* more than its heading, and that there is nothing */
		report_page_folded(d, arena_printf(d->arena, "%s-near", id), "Device affinity",
				   rest);
}

struct doc *report_hardware(struct arena *a, const struct machine *m, const char *id)
{
	struct doc *d = doc_new(a);

	report_page_topology(d, m, id);
	if (id)
		report_page_folded(d, arena_printf(a, "%s-facts", id), "Facts",
				   page_overview(a, m));
	else
		doc_append(d, page_overview(a, m), 1);
	return d;
}

/* "memory-bandwidth, copy" */
static const char *benches_of(struct arena *a, const struct record *r)
{
	const char *names = "";

	for (size_t i = 0; i < r->n; i++)
		if (i == 0 || strcmp(r->cases[i].bench, r->cases[i - 1].bench) != 0)
			names = arena_printf(a, "%s%s%s", names, *names ? ", " : "",
					     r->cases[i].bench);
	return *names ? names : "no case";
}

struct doc *report_benches(struct arena *a, const struct record *items, size_t n, const char *id)
{
	struct doc *d = doc_new(a);

	figures_over_time(d, items, n);
	/* They stand oldest first. */
	for (size_t i = n; i-- > 0;) {
		const struct record *r = &items[i];

		doc_section(d, 2, arena_printf(a, "%s-%zu", id, n - i), benches_of(a, r),
			    cell_printf(d, r->partial ? STYLE_WARN : STYLE_MUTED, "%s%s",
					figure_time(a, r->time_s),
					r->partial ? ", interrupted" : ""),
			    i + 1 == n);
		doc_append(d, page_bench(a, r, false), 2);
		doc_section_end(d);
	}
	return d;
}

struct doc *report_proofs(struct arena *a, const struct ledger *l)
{
	struct doc *d;

	if (!measured_any(l))
		return NULL;
	d = doc_new(a);
	figures_ledger(d, l);
	measured_verdicts(d, NULL, l);
	return d;
}
