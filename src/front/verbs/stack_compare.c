/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputune stack compare A B: the same work through two builds of one library, the system's and an
 * environment's for example, each window in a process that loads only one of them.
 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "front/verbs/stack.h"
#include "base/text.h"
#include "measure/bench/conditions.h"
#include "front/session.h"
#include "measure/prove/rule.h"
#include "measure/prove/page_stack_compare.h"
#include "machine/host/command.h"
#include "measure/bench/bench.h"
#include "measure/prove/window.h"
#include "base/json.h"

enum { BUDGET_S = 600, TIMEOUT_S = 600 };

struct comparing {
	struct run *r;
	struct host *h;
	struct machine *m;
	enum component c;
	struct library_variant found[2];
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

static enum component verb_stack_compare_component_of(const char *bench)
{
	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
		size_t n = strlen(measured[i].bench);
		bool whole = strchr(measured[i].bench, '/') || !bench[n] || bench[n] == '/';

		if (strncmp(bench, measured[i].bench, n) == 0 && whole)
			return measured[i].c;
	}
	return COMPONENTS;
}

/* How the names begin of the library that a bench measures ("libcublasLt.so."); NULL: none. */
static const char *stack_compare_prefix(const char *bench)
{
	enum component c = verb_stack_compare_component_of(bench);

	return c == COMPONENTS ? NULL : components[c].soname;
}

/* --- measuring -------------------------------------------------------------------------------- */

static void verb_stack_compare_progress(void *ctx, const struct versus *v)
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

static int verb_stack_compare_measure(void *ctx, bool b, double value[VERSUS_FIGURES],
				      struct err *e)
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
		value[i] = got.figures[i].value;
	note_choice(&g->view.sides[b], got.variant, 1);
	return 0;
}

static const char *side_name(bool b)
{
	return b ? "B" : "A";
}

/* What a side that has no figure means. */
static void verb_stack_compare_fail(struct comparing *g, bool b, int code, const struct err *e)
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
			verb_stack_compare_fail(g, b, r, &e);
			return r;
		}
		note_choice(&g->view.sides[b], got[b].variant, 0);
	}
	if (got[0].n != got[1].n || strcmp(got[0].name, got[1].name) != 0) {
		g->view.why = "both sides measure different things";
		return -EBADMSG;
	}
	g->v.n_figures = got[0].n;
	for (size_t i = 0; i < got[0].n; i++)
		g->v.figures[i] = got[0].figures[i].is;
	g->v.pair_s = engine_real.now(NULL) - begin;
	g->view.bench = got[0].name;
	g->view.setup = got[0].setup;
	return 0;
}

static void verb_stack_compare_compare(struct comparing *g)
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
		verb_stack_compare_fail(g, b, r, &e);
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
	verb_stack_compare_compare(g);
	if (s)
		sampler_end(&g->r->arena, s, c);
	if (g->live_line)
		fputs("\r\033[K", stderr);
	conditions_look(g->h, &watch, &c->after);
	code = exit_code(&g->view);
	if (g->r->value[OPT_QUIET])
		return code;
	if (run_wants_json(g->r))
		return run_print_result(g->r, &stack_compare_result, &g->view, code);
	return run_print_doc(g->r, page_stack_compare(&g->r->arena, &g->view),
			     "gputune stack compare", code);
}

/* --- from the command line -------------------------------------------------------------------- */

static int verb_stack_compare_read_options(struct comparing *g)
{
	struct run *r = g->r;
	double ignored;
	int code;

	g->limit_s = TIMEOUT_S;
	g->v.budget_s = BUDGET_S;
	g->view.bench = r->value[OPT_BENCH] ? r->value[OPT_BENCH] : "gemm";
	g->c = verb_stack_compare_component_of(g->view.bench);
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

		if (library_variant_find(&g->r->arena, g->h, g->r->args[b], g->c, &g->found[b],
					 &e)) {
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
		return complain_text(EXIT_USAGE, "stack compare needs two sides, each \"system\", "
						 "an environment, a folder or a library");
	if (r->value[OPT_HOST])
		return complain_text(EXIT_USAGE, "a captured machine runs nothing");
	code = verb_stack_compare_read_options(&g);
	if (code)
		return code;
	g.v.a = &r->arena;
	g.v.clock = &engine_real;
	g.v.measure = verb_stack_compare_measure;
	g.v.progress = verb_stack_compare_progress;
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

/* The answer of the process of one side, which is not believed: its library may write anything. */

enum { SAID = 200 };

/* clang-format off */
static const char *const betters[] = { "higher", "lower" };

static const struct shape_row reading_figure_rows[] = {
	{ "key", NULL, SHAPE_TEXT(reading_figure, is.key) },
	{ "title", NULL, SHAPE_TEXT(reading_figure, is.title) },
	{ "unit", NULL, SHAPE_TEXT(reading_figure, is.unit) },
	{ "unit_text", NULL, SHAPE_TEXT(reading_figure, is.unit_text) },
	{ "better", NULL, SHAPE_CHOICE(reading_figure, is.better, betters) },
	{ "value", NULL, SHAPE_REAL(reading_figure, value) },
};
static const struct shape reading_figure_shape = SHAPE(reading_figure, reading_figure);

static const struct shape_row compare_reading_rows[] = {
	{ "name", NULL, SHAPE_TEXT(compare_reading, name) },
	{ "setup", NULL, SHAPE_TEXT(compare_reading, setup), .unknown = SHAPE_NULL },
	{ "variant", NULL, SHAPE_TEXT(compare_reading, variant), .unknown = SHAPE_NULL },
	{ "library", NULL, SHAPE_TEXT(compare_reading, library), .unknown = SHAPE_NULL },
	{ "first", NULL, SHAPE_REAL(compare_reading, first), .unknown = SHAPE_NULL },
	{ "figures", NULL, SHAPE_ARRAY(compare_reading, figures, n, reading_figure) },
};
static const struct shape compare_reading_shape = SHAPE(compare_reading, compare_reading);
/* clang-format on */

static int verb_stack_compare_take(struct arena *a, const struct library_variant *side, json_t *j,
				   struct compare_reading *out, struct err *e)
{
	struct err why = { 0 };

	if (shape_read(a, &compare_reading_shape, j, out, &why) || !out->n ||
	    out->n > WINDOW_FIGURES || !(out->figures[0].value > 0))
		return err_set(e, -EBADMSG, "its answer makes no sense");
	if (!out->library || strcmp(out->library, side->file) != 0)
		return err_set(e, -EBADMSG, "%s was loaded, not %s",
			       out->library ? out->library : "no such library", side->file);
	if (isfinite(out->first)) {
		out->figures[out->n] = out->figures[0];
		out->figures[out->n].is.key = "first-proposal";
		out->figures[out->n].is.title = "by the library's first proposal, cold";
		out->figures[out->n++].value = out->first;
	}
	return 0;
}

int compare_answer(struct arena *a, const struct library_variant *side,
		   const struct command_result *r, struct compare_reading *out, struct err *e)
{
	json_t *j = json_loads(r->output, JSON_REJECT_DUPLICATES, NULL);
	const char *why = json_string_value(json_object_get(j, "error"));
	const char *said = command_last_line(a, r->errors, SAID);
	int code;

	if (r->status > 128)
		code = err_set(
			e, -EBADMSG, "the process that measures it ended with signal %d (%s)%s%s",
			r->status - 128, strsignal(r->status - 128), *said ? ": " : "", said);
	else if (why && *why)
		code = err_set(e, r->status == EXIT_FINDINGS ? -EBADMSG : -ENODATA, "%.400s", why);
	else if (r->status || !j)
		code = err_set(e, -EBADMSG, "the process that measures it ended with status %d%s%s",
			       r->status, *said ? ": " : "", said);
	else
		code = verb_stack_compare_take(a, side, j, out, e);
	json_decref(j);
	return code;
}

/*
 * One window of one side of "stack compare", in a process of its own: two builds of one library
 * cannot be told apart within one. Its answer is a line of JSON for the process that started it.
 */

/* The first figure that a bench told of, long before it had found its best way. */
struct first {
	double value;
	const char *how;
};

static void early(void *ctx, double value, const char *how)
{
	struct first *f = ctx;

	if (!f->how)
		*f = (struct first){ value, how };
}

struct loaded {
	const char *prefix; /* "libnccl.so." */
	char path[PATH_MAX];
};

static int each_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct loaded *l = ctx;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	if (!name || strncmp(name + 1, l->prefix, strlen(l->prefix)) != 0)
		return 0;
	return realpath(info->dlpi_name, l->path) != NULL;
}

static json_t *reading_json(const struct window *w, const struct window_reading *got,
			    const struct first *first, const char *library)
{
	struct compare_reading said = { .name = w->name,
					.setup = w->setup,
					.variant = got->variant,
					.library = *library ? library : NULL,
					.first = first->how ? first->value : NAN,
					.n = w->n_figures };
	json_t *j = json_object();

	for (size_t i = 0; i < w->n_figures; i++)
		said.figures[i] = (struct reading_figure){ w->figures[i], got->value[i] };
	shape_json(j, &compare_reading_shape, &said);
	return j;
}

static int failed(struct run *r, int code, const struct err *e)
{
	return run_print_json(r, json_pack("{s:o}", "error", json_text(e->text)), code);
}

static int verb_stack_compare_one(struct run *r, const struct bench_env *env,
				  const struct first *first)
{
	const char *name = r->args[0];
	struct loaded l = { .prefix = stack_compare_prefix(name) };
	struct window_reading got = { 0 };
	struct err e = { 0 };
	struct window w = { 0 };
	int code = l.prefix
			   ? window_bench(&r->arena, env, name, NULL, &w, &e)
			   : err_set(&e, -EINVAL, "no library of an environment does \"%s\"", name);

	if (code)
		return failed(r, code == -EINVAL ? EXIT_USAGE : EXIT_BLIND, &e);
	if (r->value[OPT_FOR])
		parse_seconds(r->value[OPT_FOR], &w.seconds);
	code = w.measure ? w.measure(&w, &got, &e) : -ENOSYS;
	/* As long as it is loaded. */
	dl_iterate_phdr(each_loaded, &l);
	if (code == 0)
		run_print_json(r, reading_json(&w, &got, first, l.path), EXIT_CLEAN);
	else
		code = failed(r, code == -EBADMSG ? EXIT_FINDINGS : EXIT_BLIND, &e);
	window_close(&w);
	return code;
}

int stack_compare_one(struct run *r)
{
	pid_t parent = getppid();
	struct first first = { 0 };
	struct bench_env env = { .a = &r->arena,
				 .cpus = bench_allowed(&r->arena),
				 .early = early,
				 .early_ctx = &first,
				 .ask = { .dir = r->value[OPT_DIR],
					  .files = r->value[OPT_FILES],
					  .gpus = r->value[OPT_GPUS] } };
	int code;

	if (r->n_args != 1)
		return complain_text(EXIT_USAGE, "stack compare-one needs the name of a bench");
	/* Whoever started it may be killed; nobody would wait for this then. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return EXIT_BLIND;
	env.h = run_host(r);
	if (!env.h)
		return EXIT_USAGE;
	env.m = run_machine(r, env.h, false);
	code = verb_stack_compare_one(r, &env, &first);
	host_close(env.h);
	return code;
}

/* Starting the process of one side. */

enum { ANSWER_MAX = 256 << 10, WORDS = 20 };

static const char folder_variable[] = "GPUTUNE_LIB_DIR=";

static char **verb_stack_compare_environment(struct arena *a, const char *folder)
{
	size_t n = 0, kept = 0;
	char **out;

	while (environ[n])
		n++;
	out = arena_array(a, n + 2, sizeof(*out));
	for (size_t i = 0; i < n; i++)
		if (!str_starts(environ[i], folder_variable))
			out[kept++] = environ[i];
	out[kept] = arena_printf(a, "%s%s", folder_variable, folder);
	return out;
}

int compare_process_make(struct arena *a, const struct run *r, const char *bench,
			 const struct library_variant *side, struct compare_process *out,
			 struct err *e)
{
	static const enum option_id passed[] = { OPT_FOR, OPT_GPUS, OPT_FILES, OPT_DIR };
	char self[4096] = "", **argv = arena_array(a, WORDS, sizeof(*argv));
	size_t n = 0;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return err_set(e, -errno, "/proc/self/exe: %s", strerror(errno));
	if (strchr(side->folder, ':'))
		return err_set(e, -EINVAL, "%s: a folder with a colon in its name cannot be named",
			       side->folder);
	argv[n++] = arena_strdup(a, self);
	argv[n++] = arena_strdup(a, "stack");
	argv[n++] = arena_strdup(a, "compare-one");
	argv[n++] = arena_strdup(a, bench);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (r->value[passed[i]]) {
			argv[n++] = arena_printf(a, "--%s", option_rows[passed[i]].name);
			argv[n++] = arena_strdup(a, r->value[passed[i]]);
		}
	*out = (struct compare_process){ argv, verb_stack_compare_environment(a, side->folder),
					 side };
	return 0;
}

int compare_process_run(struct arena *a, const struct compare_process *p, double limit_s,
			const atomic_bool *stop, struct compare_reading *out, struct err *e)
{
	const struct command_of_user how = {
		.limit_ms = (int)(limit_s * 1e3), .max = ANSWER_MAX, .stop = stop, .env = p->env
	};
	struct command_result said;
	struct arena own = { 0 };
	int r = command_run_own(&own, p->argv, &how, &said);

	*out = (struct compare_reading){ 0 };
	if (r == 0)
		r = compare_answer(a, p->side, &said, out, e);
	else if (r == -ETIME)
		r = err_set(e, -EBADMSG, "it did not end within %.0f s", limit_s);
	else if (r == -EINTR)
		err_set(e, r, "stopped");
	else
		r = err_set(e, -ENODATA, "%s cannot be run: %s", p->argv[0], strerror(-r));
	arena_free(&own);
	return r;
}
