/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of a report from what other verbs look at: the journal, results, proofs, predictions,
 * the software stack, what is kept for the next boot, diagnoses. */
#include <string.h>
#include <time.h>

#include "measure/bench/store.h"
#include "front/verbs/bench.h"
#include "front/verbs/doctor.h"
#include "front/verbs/persist.h"
#include "front/verbs/report.h"
#include "front/verbs/stack.h"
#include "tune/txn/txn.h"
#include "measure/bench/bench_json.h"
#include "tune/txn/page_txn.h"
#include "tune/txn/txn_json.h"

void report_keep(struct reporting *g, const char *key, json_t *j)
{
	if (g->json)
		json_object_set_new(g->json, key, j);
	else
		json_decref(j);
}

/* --- what changed ------------------------------------------------------------------------------
 */

static struct cell holds_say(struct doc *d, const struct hold_row *rows, size_t n)
{
	size_t drifted = 0;

	for (size_t i = 0; i < n; i++)
		drifted += rows[i].hold == HOLD_FOREIGN || rows[i].hold == HOLD_BACK ||
			   rows[i].hold == HOLD_LOST || rows[i].hold == HOLD_RESET;
	return drifted ? cell_printf(d, STYLE_BAD, "%zu of %zu not as they were left", drifted, n)
		       : cell_printf(d, STYLE_GOOD, "%zu in force", n);
}

void report_part_changes(struct reporting *g)
{
	struct arena *a = &g->run.arena;
	struct journal now, all;
	struct hold_row *rows = NULL;
	struct err e = { 0 };
	struct doc *d = doc_new(a);
	size_t n = 0;

	if (!g->h) {
		report_add(g, "changes", "What changed", NULL,
			   cell("The facts alone do not tell what gputune changed here."));
		return;
	}
	if (journal_load(g->h, a, false, &now, &e) || journal_load(g->h, a, true, &all, &e)) {
		report_add(g, "changes", "What changed", NULL,
			   cell(arena_printf(a, "The journal cannot be read: %s.", e.text)));
		return;
	}
	if (!all.n && !all.bad_lines) {
		report_add(g, "changes", "What changed", NULL,
			   cell("gputune has changed nothing on this machine."));
		return;
	}
	txn_status(g->h, a, &now, &rows, &n);
	run_find_culprits(&g->run, g->p.m, rows, n);
	persist_fill_kept(&g->run, g->h, rows, n);
	doc_heading(d, 2, "In force, and what drifted");
	doc_append(d, page_status(a, g->p.m, rows, n, !now.bad_lines), 2);
	doc_heading(d, 2, "History");
	doc_append(d, page_history(a, g->p.m, &all, NULL), 2);
	report_add(g, "changes", "What changed", d, holds_say(d, rows, n))->open = g->alone;
	report_keep(g, "status", status_json(g->p.m, rows, n, 0));
	report_keep(g, "history", history_json(g->p.m, &all, NULL, 0));
}

/* --- results -----------------------------------------------------------------------------------
 */

/* Kept ones, from --state here or from the machine itself; the newest of many. */
static struct record *kept(struct reporting *g, size_t *n, const char **why)
{
	struct arena *a = &g->run.arena;
	const char *dir = bench_state(&g->run);
	struct host *h = g->run.value[OPT_STATE] ? run_live(&g->run) : g->h;
	struct record *items = NULL;
	struct err e = { 0 };
	size_t all = 0, bad = 0;
	char **ids = NULL, *text;

	*n = 0;
	if (h && store_list(a, h, dir, &ids, &all, &e) && !h->id.captured)
		*why = arena_strdup(a, e.text);
	items = arena_array(a, all + 1, sizeof(*items));
	for (size_t i = all > REPORT_RESULTS_SHOWN ? all - REPORT_RESULTS_SHOWN : 0; i < all; i++) {
		if (store_get(a, h, dir, ids[i], &text, &e) ||
		    bench_from_json(a, ids[i], text, &items[*n], &e))
			bad++;
		else
			(*n)++;
	}
	if (bad)
		*why = arena_printf(a, "%zu kept results could not be read", bad);
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
	struct report_given *given = g->given;
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

void report_part_benches(struct reporting *g)
{
	struct arena *a = &g->run.arena;
	const char *why = NULL;
	struct report_part *p;
	struct record *items;
	json_t *list = json_array();
	struct doc *d;
	size_t n;

	items = with_files(g, kept(g, &n, &why), &n);
	if (n) {
		d = report_benches(a, items, n, report_id(g, "benches"));
		p = report_add(g, "benches", "Measurements", d,
			       cell_printf(d, STYLE_MUTED, "%zu result%s", n, n == 1 ? "" : "s"));
		p->open = g->alone;
	} else {
		p = report_add(g, "benches", "Measurements", NULL,
			       cell("No result is kept for this machine: \"gputune bench all\" "
				    "measures."));
	}
	p->unseen = why;
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, bench_json(g->p.m, &items[i], 0));
	report_keep(g, "benches", list);
}

void report_part_proofs(struct reporting *g)
{
	struct arena *a = &g->run.arena;
	const struct ledger *l = g->ledger;
	struct doc *d = l ? report_proofs(a, l) : NULL;
	struct report_part *p;
	json_t *list = json_array();

	if (d) {
		p = report_add(g, "proofs", "Proofs: before and after", d, cell(NULL));
		p->open = g->alone;
	} else {
		p = report_add(g, "proofs", "Proofs: before and after", NULL,
			       cell("No setting was proven on this machine: \"gputune prove ID\" "
				    "measures with and without it, and puts it back."));
	}
	for (size_t i = 0; l && i < l->n; i++)
		if (strcmp(l->rows[i].where.machine, l->here.machine) == 0)
			json_array_append_new(list, ledger_row_json(&l->rows[i]));
	report_keep(g, "proofs", list);
	if (l && l->state)
		p->unseen = arena_printf(a, "%s: %s", l->file, strerror(-l->state));
	else if (l && l->n_bad)
		p->unseen =
			arena_printf(a, "%zu lines of %s that make no sense", l->n_bad, l->file);
}

/* --- software, boot, diagnoses -----------------------------------------------------------------
 */

void report_part_stack(struct reporting *g)
{
	const struct stack_view *v;
	struct arena *a = &g->run.arena;
	struct stack_root root = { g->h, -1, !g->h || !g->h->id.captured };
	struct doc *d;

	if (!g->h || stack_see(&g->run, &root, g->p.m, &v)) {
		report_add(g, "stack", "Software stack", NULL,
			   cell("What software is installed was not looked at."));
		return;
	}
	d = page_stack_check(a, v);
	report_add(g, "stack", "Software stack", d,
		   cell_printf(d, v->found->count[VERDICT_FAIL] ? STYLE_WARN : STYLE_MUTED,
			       "%zu wrong, %zu unseen", v->found->count[VERDICT_FAIL],
			       v->found->count[VERDICT_UNKNOWN]));
	report_keep(g, "stack", stack_check_json(v, fact_or(&g->p.m->time_s, 0), 0));
}

void report_part_persist(struct reporting *g)
{
	struct persisting *s = ARENA_NEW(&g->run.arena, struct persisting);
	size_t differ = 0;
	struct doc *d;

	s->r = &g->run;
	s->h = g->h;
	s->m = g->p.m;
	s->view.action = "status";
	if (!g->h || persist_see(s, &differ)) {
		report_add(g, "persist", "Kept for the next boot", NULL,
			   cell("What is kept for the next boot was not looked at."));
		return;
	}
	report_keep(g, "persist", persist_json(s->m, &s->view, NULL, NULL, 0));
	if (!s->view.n && !s->view.n_skipped) {
		report_add(g, "persist", "Kept for the next boot", NULL,
			   cell("gputune keeps nothing for the next boot."));
		return;
	}
	d = page_persist(&g->run.arena, s->m, &s->view);
	report_add(g, "persist", "Kept for the next boot", d,
		   differ ? cell_printf(d, STYLE_BAD, "%zu not as it was left", differ)
			  : cell_printf(d, STYLE_GOOD, "%zu settings", s->view.n));
}

void report_part_doctor(struct reporting *g)
{
	struct doctor_view v;
	struct doctor_count n;
	struct doc *d;

	if (!g->h || doctor_see(&g->run, g->h, &v)) {
		report_add(g, "doctor", "Diagnoses", NULL, cell("Symptoms were not looked for."));
		return;
	}
	n = doctor_count(&v);
	d = page_doctor(&g->run.arena, &v);
	report_add(g, "doctor", "Diagnoses", d,
		   cell_printf(d, n.of[DOCTOR_FOUND] ? STYLE_BAD : STYLE_MUTED,
			       "%zu found, %zu not tested: a report puts no load on a machine",
			       n.of[DOCTOR_FOUND], n.of[DOCTOR_OPEN]));
	report_keep(g, "doctor", doctor_json(&v, 0));
}
