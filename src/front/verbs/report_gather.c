/* SPDX-License-Identifier: Apache-2.0 */
/* One machine for a report: its facts, judged, and its sections in order. */
#include <string.h>

#include "front/verbs/bench.h"
#include "front/verbs/knobs.h"
#include "front/verbs/ledger.h"
#include "front/verbs/report.h"
#include "look/settings/findings.h"
#include "front/pages/page_check.h"

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

/* Facts are all that a result of show holds: what a rule asks the machine itself is not seen. */
static struct fact_str read_nothing(void *ctx, struct arena *a, const struct knob *k)
{
	(void)ctx;
	(void)a;
	(void)k;
	return (struct fact_str){ .f = { .seen = SEEN_UNASKED } };
}

static int facts_of(struct reporting *g, const struct report_source *from)
{
	struct arena *a = &g->run.arena;
	json_t *j = json_loads(from->facts, JSON_REJECT_DUPLICATES, NULL);
	const char *subject = json_string_value(json_object_get(j, "subject"));
	struct err e = { 0 };
	int code = 0;

	g->p.m = ARENA_NEW(a, struct machine);
	if (!subject || strcmp(subject, "all") != 0)
		code = complain_text(EXIT_USAGE,
				     "%s has one subject alone: a report needs \"gputune show "
				     "--format json\" as a whole",
				     from->path);
	else if (schema_from_json(a, &schema_machine, json_object_get(j, "facts"), g->p.m, &e))
		code = complain_text(EXIT_USAGE, "%s: %s", from->path, e.text);
	else if (!run_profile(&g->run, &g->p.profile))
		code = EXIT_USAGE;
	else
		settings_check(a, g->p.m, &g->p.profile, read_nothing, NULL, &g->p.findings);
	json_decref(j);
	return code;
}

static void findings_part(struct reporting *g)
{
	struct arena *a = &g->run.arena;
	const struct findings *f = &g->p.findings;
	struct check_view how = { .reasons = true,
				  .verbose = true,
				  .ledger = g->ledger,
				  .fixes = true,
				  .plan = g->h ? &g->p.plan : NULL };
	struct doc *d = page_check(a, g->p.m, &g->p.profile, f, &how);
	struct report_part *p = report_add(
		g, "findings", "Findings, the gravest first", d,
		cell_printf(d, f->count[VERDICT_FAIL] ? STYLE_BAD : STYLE_GOOD,
			    "%zu to fix, %zu right, %zu could not be seen", f->count[VERDICT_FAIL],
			    f->count[VERDICT_PASS], f->count[VERDICT_UNKNOWN]));

	p->open = g->alone;
	if (!g->h)
		p->unseen = "settings that no fact holds; a capture (\"gputune capture\") has them";
	g->code = f->count[VERDICT_FAIL]      ? EXIT_FINDINGS
		  : f->count[VERDICT_UNKNOWN] ? EXIT_BLIND
					      : EXIT_CLEAN;
	if (g->json)
		json_object_set_new(g->json, "check",
				    findings_json(f, g->p.m, &g->p.profile, g->code));
}

static void hardware_part(struct reporting *g)
{
	struct doc *d = report_hardware(&g->run.arena, g->p.m, g->alone ? "machine" : NULL);

	report_add(g, "machine", "The machine", d, cell_as(STYLE_MUTED, g->out.head.what))->open =
		true;
	if (g->json)
		json_object_set_new(g->json, "facts", schema_to_json(&schema_machine, g->p.m));
}

/* Of --state, but for this machine; otherwise its own. */
static void ledger_of(struct reporting *g)
{
	struct arena *a = &g->run.arena;
	struct ledger *l = ARENA_NEW(a, struct ledger);
	struct host *live;

	if (!g->h)
		return;
	if (g->run.value[OPT_STATE]) {
		live = run_live(&g->run);
		ledger_load(a, live, g->p.m, bench_state(&g->run), l);
		host_close(live);
		ledger_here(a, g->h, g->p.m, &l->here);
	} else {
		ledger_load(a, g->h, g->p.m, NULL, l);
	}
	g->ledger = l;
}

static int look(struct reporting *g, const struct report_source *from)
{
	if (from->facts)
		return facts_of(g, from);
	g->run.value[OPT_HOST] = from->path ? from->path : g->run.value[OPT_HOST];
	/* Whatever a section does, it cannot write. */
	g->h = run_host(&g->run);
	return g->h ? run_plan(&g->run, g->h, &g->p) : EXIT_USAGE;
}

int report_gather(struct reporting *g, const struct report_source *from, const char *id)
{
	int code;

	g->out.head.id = id;
	if (from->node) {
		report_told_machine(g, from);
		return 0;
	}
	code = look(g, from);
	if (code)
		return code;
	ledger_of(g);
	g->out.head = report_head_of(&g->run.arena, g->p.m, &g->p.findings);
	g->out.head.id = id;
	g->out.head.from = from->path		    ? from->path
			   : g->run.value[OPT_HOST] ? g->run.value[OPT_HOST]
						    : "this machine";
	hardware_part(g);
	findings_part(g);
	report_part_changes(g);
	report_part_benches(g);
	report_part_proofs(g);
	report_part_predictions(g);
	report_part_stack(g);
	report_part_persist(g);
	report_part_doctor(g);
	code = report_part_recordings(g);
	report_part_told(g, from);
	return code;
}
