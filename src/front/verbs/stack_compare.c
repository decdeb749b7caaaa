/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputune stack compare A B: the same work through two builds of one library, the system's and an
 * environment's for example, each window in a process that loads only one of them.
 */
#include "front/verbs/stack_compare.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "measure/bench/conditions.h"
#include "front/verbs/page.h"
#include "front/verbs/prove.h"
#include "front/verbs/stack_compare_side.h"
#include "measure/prove/order.h"
#include "measure/prove/page_stack_compare.h"

enum { BUDGET_S = 600, TIMEOUT_S = 600 };

struct comparing {
	struct run *r;
	struct host *h;
	struct machine *m;
	enum component c;
	struct stack_side found[2];
	struct compare_process process[2];
	struct compare_view view;
	struct versus v;
	atomic_bool stop;
	double limit_s;
	bool live_line, tty;
};

static const struct {
	const char *bench; /* how the name begins; the first that fits */
	enum component c;
} measured[] = {
	{ "gemm/sparse-", COMPONENT_CUSPARSELT },
	{ "gemm/burn:sparse-", COMPONENT_CUSPARSELT },
	{ "gemm", COMPONENT_CUBLASLT },
	{ "collectives", COMPONENT_NCCL },
	{ "gds", COMPONENT_CUFILE },
};

static enum component component_of(const char *bench)
{
	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
		size_t n = strlen(measured[i].bench);
		bool whole = strchr(measured[i].bench, '/') || !bench[n] || bench[n] == '/';

		if (strncmp(bench, measured[i].bench, n) == 0 && whole)
			return measured[i].c;
	}
	return COMPONENTS;
}

const char *stack_compare_prefix(const char *bench)
{
	enum component c = component_of(bench);

	return c == COMPONENTS ? NULL : components[c].soname;
}

/* --- measuring ---------------------------------------------------------------------------------
 */

static void progress(void *ctx, const struct versus *v)
{
	struct comparing *g = ctx;

	if (!g->tty)
		return;
	g->live_line = true;
	fprintf(stderr, "\r\033[K%s: pair %zu, %.0f s each, at most %.0f s", g->view.bench,
		v->pairs + 1, v->pair_s, v->budget_s);
	fflush(stderr);
}

/* A search may end elsewhere each time. */
static void note_choice(struct compare_side_view *s, const char *text, size_t windows)
{
	size_t i = 0;

	while (text && i < s->n_choices && strcmp(s->choices[i].text, text) != 0)
		i++;
	if (!text || i == COMPARE_CHOICES_MAX)
		return;
	s->n_choices += i == s->n_choices;
	s->choices[i].text = text;
	s->choices[i].windows += windows;
}

static int measure(void *ctx, bool b, double value[VERSUS_FIGURES], struct err *e)
{
	struct comparing *g = ctx;
	struct compare_reading got;
	int r = compare_process_run(&g->r->arena, &g->process[b], g->limit_s, &g->stop, &got, e);

	if (r)
		return r;
	if (got.n != g->v.n_figures)
		return err_set(e, -EBADMSG, "%s measured something else than before",
			       g->found[b].file);
	for (size_t i = 0; i < got.n; i++)
		value[i] = got.value[i];
	note_choice(&g->view.sides[b], got.variant, 1);
	return 0;
}

static const char *side_name(bool b)
{
	return b ? "B" : "A";
}

/* What a side that has no figure means. */
static void fail(struct comparing *g, bool b, int code, const struct err *e)
{
	g->view.failed = code != -EINTR;
	if (!g->view.failed) {
		g->view.why = arena_printf(&g->r->arena, "interrupted after %zu pairs", g->v.pairs);
		return;
	}
	g->view.sides[b].fault = arena_strdup(&g->r->arena, e->text);
	g->view.why = arena_printf(&g->r->arena, "with %s (%s) it fails: %s", side_name(b),
				   g->found[b].file, e->text);
}

/* One window of each that counts for nothing: what there is to compare, and how long it takes. */
static int look_first(struct comparing *g)
{
	struct compare_reading got[2];
	double begin = engine_real.now(NULL);

	for (int b = 0; b < 2; b++) {
		struct err e = { 0 };
		int r = compare_process_run(&g->r->arena, &g->process[b], g->limit_s, &g->stop,
					    &got[b], &e);

		if (r) {
			fail(g, b, r, &e);
			return r;
		}
		note_choice(&g->view.sides[b], got[b].variant, 0);
	}
	if (got[0].n != got[1].n || strcmp(got[0].name, got[1].name) != 0) {
		g->view.why = "both sides measure different things";
		return -EBADMSG;
	}
	g->v.n_figures = got[0].n;
	memcpy(g->v.figures, got[0].figures, sizeof(g->v.figures));
	g->v.pair_s = engine_real.now(NULL) - begin;
	g->view.bench = got[0].name;
	g->view.setup = got[0].setup;
	return 0;
}

static void compare(struct comparing *g)
{
	struct err e = { 0 };
	int r = look_first(g);
	bool b;

	if (r)
		return;
	r = versus_run(&g->v, &e);
	/* Who failed is who was to be measured: the coin of that pair tells it, and what it had. */
	b = g->v.n_windows % 2 == 0 ? order_b_first(g->v.seed, g->v.pairs)
				    : !g->v.windows[g->v.n_windows - 1].b;
	if (r == -ETIME) {
		g->view.why = arena_printf(&g->r->arena, "%s; %s does", e.text, e.hint);
	} else if (r) {
		fail(g, b, r, &e);
	} else {
		g->view.verdict = g->v.ruling[0].kind;
		g->view.why = g->v.ruling[0].why;
	}
}

static int exit_code(const struct compare_view *v)
{
	if (v->failed)
		return v->sides[1].fault ? EXIT_FINDINGS : EXIT_BLIND;
	return v->verdict == RULING_HURTS	? EXIT_FINDINGS
	       : v->verdict == RULING_UNDECIDED ? EXIT_BLIND
						: EXIT_CLEAN;
}

static int run_compare(struct comparing *g)
{
	struct record_conditions *c = &g->view.conditions;
	struct watch_list watch;
	struct sampler *s;
	int code;

	g->m = run_machine(g->r, g->h, false);
	record_fingerprint(&g->r->arena, g->h, g->m, &g->view.machine);
	watch_list_make(&g->r->arena, g->h, g->m, &watch);
	c->cpus = watch.cpus;
	conditions_look(g->h, &watch, &c->before);
	s = sampler_start(g->h, &watch, &g->stop);
	compare(g);
	if (s)
		sampler_end(&g->r->arena, s, c);
	if (g->live_line)
		fputs("\r\033[K", stderr);
	conditions_look(g->h, &watch, &c->after);
	code = exit_code(&g->view);
	if (g->r->value[OPT_QUIET])
		return code;
	if (run_wants_json(g->r))
		run_print_json(g->r, stack_compare_json(&g->view, (long long)time(NULL), code));
	else if (run_print_doc(g->r, page_stack_compare(&g->r->arena, &g->view),
			       "gputune stack compare"))
		return EXIT_USAGE;
	return code;
}

/* --- from the command line ---------------------------------------------------------------------
 */

static int read_options(struct comparing *g)
{
	struct run *r = g->r;
	double ignored;
	int code;

	g->limit_s = TIMEOUT_S;
	g->v.budget_s = BUDGET_S;
	g->view.bench = r->value[OPT_BENCH] ? r->value[OPT_BENCH] : "gemm";
	g->c = component_of(g->view.bench);
	if (g->c == COMPONENTS)
		return complain_text(EXIT_USAGE,
				     "no library of an environment does \"%s\"; gemm, collectives "
				     "and gds compare libraries",
				     g->view.bench);
	g->view.component = components[g->c].name;
	code = prove_min_effect(r, &g->v.min_effect);
	code = code ? code : prove_time(r, OPT_BUDGET, &g->v.budget_s);
	code = code ? code : prove_time(r, OPT_TIMEOUT, &g->limit_s);
	code = code ? code : prove_time(r, OPT_FOR, &ignored);
	return code ? code : prove_seed(r, &g->v.seed);
}

static int find_sides(struct comparing *g)
{
	for (int b = 0; b < 2; b++) {
		struct err e = { 0 };

		if (stack_side_find(&g->r->arena, g->h, g->r->args[b], g->c, &g->found[b], &e)) {
			struct err named = { 0 };

			err_set(&named, -EINVAL, "%s: %s", side_name(b), e.text);
			err_hint(&named, "%s", e.hint);
			return complain(EXIT_USAGE, &named);
		}
		g->view.sides[b].side = &g->found[b];
		if (compare_process_make(&g->r->arena, g->r, g->view.bench, &g->found[b],
					 &g->process[b], &e))
			return complain(EXIT_USAGE, &e);
	}
	return 0;
}

int stack_compare(struct run *r)
{
	struct comparing g = { .r = r };
	int code;

	if (r->n_args != 2)
		return complain_text(EXIT_USAGE,
				     "stack compare needs two sides, each \"system\", an "
				     "environment, a folder or a library");
	if (r->value[OPT_HOST])
		return complain_text(EXIT_USAGE, "a captured machine runs nothing");
	code = read_options(&g);
	if (code)
		return code;
	g.v.a = &r->arena;
	g.v.clock = &engine_real;
	g.v.measure = measure;
	g.v.progress = progress;
	g.v.ctx = &g;
	g.view.v = &g.v;
	g.view.verdict = RULING_UNDECIDED;
	g.tty = isatty(STDERR_FILENO) && !r->value[OPT_QUIET];
	g.h = run_host(r);
	if (!g.h)
		return EXIT_USAGE;
	code = find_sides(&g);
	code = code ? code : run_compare(&g);
	host_close(g.h);
	return code;
}
