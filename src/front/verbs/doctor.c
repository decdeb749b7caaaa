/* SPDX-License-Identifier: Apache-2.0 */
/* gputune doctor: from a symptom to its cause, with evidence. */
#include "front/verbs/doctor.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "front/verbs/knobs.h"
#include "front/verbs/page.h"
#include "front/verbs/persist.h"
#include "front/verbs/plan.h"
#include "tune/txn/txn.h"

enum { LOOK_MS = 1000, DAY_S = 86400 };

/* --- looking -----------------------------------------------------------------------------------
 */

void doctoring_look(struct doctoring *g, struct machine **m, struct findings *f, struct signs *s)
{
	struct arena *a = &g->r->arena;

	*m = run_machine(g->r, g->h, g->h->id.captured);
	settings_check(a, *m, &g->profile, run_read_knob, g->h, f);
	signs_read(a, g->h, *m, s);
}

/* What gputune set and no file keeps; NULL: the journal cannot be read. */
static const char *own_unkept(struct doctoring *g)
{
	struct arena *a = &g->r->arena;
	struct hold_row *rows = NULL;
	struct journal j;
	struct err ignored = { 0 };
	TEXT_AUTO t = { 0 };
	size_t n = 0, unkept = 0;

	if (journal_load(g->h, a, false, &j, &ignored) || txn_status(g->h, a, &j, &rows, &n))
		return NULL;
	persist_fill_kept(g->r, g->h, rows, n);
	for (size_t i = 0; i < n; i++)
		if (rows[i].hold == HOLD_OURS && !rows[i].kept) {
			unkept++;
			if (unkept <= 3)
				text_printf(&t, "%s%s", t.len ? ", " : "", rows[i].e->id);
		}
	return unkept ? arena_printf(a, "%zu values are set for this boot only: %s%s", unkept, t.s,
				     unkept > 3 ? ", ..." : "")
		      : "";
}

void doctoring_measure(struct doctoring *g, const struct doctor_plan *p, struct record *out,
		       const char *why[TESTS], struct path_look **path)
{
	struct record_conditions *c = &out->conditions;
	struct frame frame = { .env = { .a = &g->r->arena,
					.m = g->m,
					.cpus = g->cpus,
					.stop = &g->stop,
					.ask = g->ask,
					.h = g->h } };
	struct watch_list watch;
	struct sampler *s;

	*out = (struct record){ .version = GPUTUNE_VERSION, .time_s = fact_or(&g->m->time_s, 0) };
	record_fingerprint(&g->r->arena, g->h, g->m, out);
	watch_list_make(&g->r->arena, g->h, g->m, &watch);
	c->cpus = watch.cpus;
	c->idle_others = -1;
	conditions_look(g->h, &watch, &c->before);
	s = p->forbidden ? NULL : sampler_start(g->h, &watch, &g->stop);
	frame_start(&frame);
	doctor_run_tests(&frame, p, out, why, path);
	if (s)
		sampler_end(&g->r->arena, s, c);
	conditions_look(g->h, &watch, &c->after);
	c->others = conditions_others(&c->before, &c->after);
	c->steal_percent = conditions_steal(&c->before, &c->after);
	record_summarise(out);
	record_judge(&g->r->arena, out);
}

static void look(struct doctoring *g)
{
	double begin = clock_mono_s();
	struct path_look *path = NULL;
	bool live = !g->h->id.captured;

	doctoring_look(g, &g->m, &g->findings, &g->first);
	g->plan.forbidden = g->h->id.captured	       ? "this is a captured machine"
			    : g->r->value[OPT_PASSIVE] ? "--passive was given"
						       : NULL;
	if (!g->plan.forbidden && !g->r->value[OPT_QUIET] && isatty(STDERR_FILENO))
		fprintf(stderr, "testing, about %.0f s at most\n", doctor_tests_seconds(&g->plan));
	doctoring_measure(g, &g->plan, &g->record, g->e.not_run, &path);
	if (live && clock_mono_s() - begin < 1)
		usleep(LOOK_MS * 1000);
	if (live)
		signs_read(&g->r->arena, g->h, g->m, &g->now);
	g->e.a = &g->r->arena;
	g->e.m = g->m;
	g->e.findings = &g->findings;
	g->e.signs = live ? &g->now : &g->first;
	g->e.earlier = live ? &g->first : NULL;
	g->e.apart_s = clock_mono_s() - begin;
	g->e.record = &g->record;
	g->e.path = path;
	g->e.own_unkept = own_unkept(g);
}

static void examine(struct doctoring *g)
{
	g->results = arena_array(&g->r->arena, g->chosen.n, sizeof(*g->results));
	for (size_t i = 0; i < g->chosen.n; i++)
		doctor_examine(&g->e, g->chosen.items[i], &g->results[i]);
}

/* --- the verb ----------------------------------------------------------------------------------
 */

static int choose(struct doctoring *g)
{
	struct run *r = g->r;
	const char *const *ids, *bad = NULL;
	struct chosen only = { 0 };
	size_t n;

	ids = run_words(r, r->value[OPT_ONLY], &n);
	if (n && !doctor_only(&r->arena, ids, n, &only, &bad))
		return complain_text(EXIT_USAGE,
				     "there is no diagnosis \"%s\"; \"gputune doctor list\" lists "
				     "them",
				     bad);
	if (n && !r->n_args) {
		g->chosen = only;
		return 0;
	}
	if (!doctor_choose(&r->arena, (const char *const *)r->args, (size_t)r->n_args, &g->chosen))
		return complain_text(EXIT_USAGE,
				     "no symptom is described so; \"gputune doctor list\" lists "
				     "them, in words that are understood");
	for (size_t i = 0; i < only.n; i++)
		for (size_t k = 0; k <= g->chosen.n; k++) {
			if (k == g->chosen.n) {
				g->chosen.items = arena_grow(&r->arena, g->chosen.items,
							     g->chosen.n, sizeof(*g->chosen.items));
				g->chosen.items[g->chosen.n++] = only.items[i];
				break;
			}
			if (g->chosen.items[k] == only.items[i])
				break;
		}
	return 0;
}

static int read_options(struct doctoring *g)
{
	struct run *r = g->r;
	const char *only;
	bool sound;

	if (r->value[OPT_FOR] && parse_seconds(r->value[OPT_FOR], &g->plan.seconds))
		return complain_text(EXIT_USAGE, "--for takes a time like 10s, not \"%s\"",
				     r->value[OPT_FOR]);
	if (r->value[OPT_FIX] && run_check_overlay(r))
		return EXIT_USAGE;
	g->ask = (struct bench_ask){ .dir = r->value[OPT_DIR],
				     .files = r->value[OPT_FILES],
				     .peer = r->value[OPT_PEER],
				     .token = r->value[OPT_TOKEN],
				     .gpus = r->value[OPT_GPUS] };
	g->cpus = bench_allowed(&r->arena);
	/* --only names diagnoses; every setting is evidence. */
	only = r->value[OPT_ONLY];
	r->value[OPT_ONLY] = NULL;
	sound = run_profile(r, &g->profile);
	r->value[OPT_ONLY] = only;
	return sound ? choose(g) : EXIT_USAGE;
}

static bool is_mended(const struct doctoring *g, const struct diagnosis *d)
{
	for (size_t i = 0; i < g->n_fixes; i++)
		if (strcmp(g->fixes[i].diagnosis, d->id) == 0)
			return g->fixes[i].kept && g->fixes[i].v.keep;
	return false;
}

/* What was asked for by name has to be tested; otherwise something has. */
static int code_of(const struct doctoring *g, const struct doctor_view *v)
{
	struct doctor_count n = doctor_count(v);

	for (size_t i = 0; i < v->n; i++)
		if (v->items[i].state == DOCTOR_FOUND && !v->items[i].d->normal &&
		    !is_mended(g, v->items[i].d))
			return EXIT_FINDINGS;
	if (g->chosen.named && n.of[DOCTOR_OPEN])
		return EXIT_BLIND;
	return n.of[DOCTOR_FINE] || n.of[DOCTOR_FOUND] ? EXIT_CLEAN : EXIT_BLIND;
}

static struct doctor_view view_of(const struct doctoring *g)
{
	return (struct doctor_view){ .m = g->m,
				     .e = &g->e,
				     .items = g->results,
				     .n = g->chosen.n,
				     .fixes = g->fixes,
				     .n_fixes = g->n_fixes,
				     .tests = g->plan.tests,
				     .named = g->chosen.named,
				     .all = g->r->value[OPT_ALL] != NULL };
}

int doctor_see(struct run *r, struct host *h, struct doctor_view *out)
{
	struct doctoring *g = ARENA_NEW(&r->arena, struct doctoring);
	int code;

	g->r = r;
	g->h = h;
	code = read_options(g);
	if (code)
		return code;
	g->plan.tests = doctor_tests_of(&g->chosen);
	look(g);
	examine(g);
	*out = view_of(g);
	return 0;
}

static int print(struct doctoring *g, int fixed)
{
	struct run *r = g->r;
	struct doctor_view v = view_of(g);
	int code = fixed ? fixed : code_of(g, &v), failed;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, doctor_json(&v, code));
		return code;
	}
	failed = run_print_doc(r, page_doctor(&r->arena, &v), "gputune doctor");
	return failed ? failed : code;
}

static int list(struct run *r)
{
	if (r->n_args > 1)
		return complain_text(EXIT_USAGE, "\"doctor list\" takes no argument");
	if (run_wants_json(r)) {
		run_print_json(r, doctor_list_json());
		return EXIT_CLEAN;
	}
	return run_print_doc(r, page_doctor_list(&r->arena), "gputune doctor");
}

int verb_doctor(struct run *r)
{
	struct doctoring g = { .r = r };
	int code;

	if (r->n_args && strcmp(r->args[0], "list") == 0)
		return list(r);
	code = read_options(&g);
	if (code)
		return code;
	g.h = r->value[OPT_FIX] ? run_change_host(r) : run_host(r);
	if (!g.h)
		return EXIT_USAGE;
	g.plan.tests = doctor_tests_of(&g.chosen);
	g.plan.named = g.chosen.named;
	look(&g);
	examine(&g);
	code = r->value[OPT_FIX] ? doctoring_fix(&g) : 0;
	code = print(&g, code);
	host_close(g.h);
	return code;
}
