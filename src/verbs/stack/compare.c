/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputune stack compare A B: the same work through two builds of one library, the system's and an
 * environment's for example, each window in a process that loads only one of them.
 */
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/folder.h"
#include "measure/bench/bench.h"
#include "measure/bench/conditions.h"
#include "measure/prove/page_stack_compare.h"
#include "measure/prove/rule.h"
#include "measure/prove/window.h"
#include "verbs/benches.h"
#include "verbs/stack/stack.h"

enum { BUDGET_S = 600 };

struct compare_ask {
	const char *a, *b;
	const char *bench;
	struct pairs_ask pairs;
	struct bench_ask on;
};

static const char *const compared[] = { "gemm", "collectives", "gds" };

/* The process that measures one side. */
struct compare_process {
	char **argv, **env;
	const struct library_variant *side;
};

struct comparing {
	struct door *d;
	const struct compare_ask *ask;
	struct host *h;
	enum component c;
	struct library_variant found[2];
	struct compare_process process[2];
	struct compare_view *view;
	struct versus v;
	atomic_bool stop;
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

/* The answer of the process of one side, which is not believed: its library may write anything. */

enum { SAID = 200 };

/* clang-format off */
static const char *const betters[] = { "higher", "lower" };

static const struct shape reading_figure_shape = SHAPE_OF(reading_figure, reading_figure,
	{ "key", NULL, SHAPE_TEXT(reading_figure, is.key) },
	{ "title", NULL, SHAPE_TEXT(reading_figure, is.title) },
	{ "unit", NULL, SHAPE_TEXT(reading_figure, is.unit) },
	{ "unit_text", NULL, SHAPE_TEXT(reading_figure, is.unit_text) },
	{ "better", NULL, SHAPE_CHOICE(reading_figure, is.better, betters) },
	{ "value", NULL, SHAPE_REAL(reading_figure, value) });

static const struct shape compare_reading_shape = SHAPE_OF(compare_reading, compare_reading,
	{ "name", NULL, SHAPE_TEXT(compare_reading, name) },
	{ "setup", NULL, SHAPE_TEXT(compare_reading, setup), .unknown = SHAPE_NULL },
	{ "variant", NULL, SHAPE_TEXT(compare_reading, variant), .unknown = SHAPE_NULL },
	{ "library", NULL, SHAPE_TEXT(compare_reading, library), .unknown = SHAPE_NULL },
	{ "first", NULL, SHAPE_REAL(compare_reading, first), .unknown = SHAPE_NULL },
	{ "figures", NULL, SHAPE_ARRAY(compare_reading, figures, n, reading_figure) },
	{ "error", "Reason why the list is empty.", SHAPE_TEXT(compare_reading, error), .unknown = SHAPE_NULL });

const struct result_shape stack_window_result = {
	.name = "stack-window", .title = "gputune stack compare-one",
	.meaning = "One window of one side of a library comparison.",
	.shape = &compare_reading_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 5,
};

static int verb_stack_compare_take(struct arena *a, const struct library_variant *side, json_t *j,
				   struct compare_reading *out, struct err *e)
{
	struct err why = { 0 };

	if (shape_read(a, &compare_reading_shape, j, out, &why) || !out->n ||
	    out->n > WINDOW_FIGURES || !(out->figures[0].value > 0))
		return err_set(e, -EBADMSG, "invalid answer");
	if (!out->library || strcmp(out->library, side->file) != 0)
		return err_set(e, -EBADMSG, "%s was loaded instead of %s",
			       out->library ? out->library : "library not found", side->file);
	if (isfinite(out->first)) {
		out->figures[out->n] = out->figures[0];
		out->figures[out->n].is.key = "first-proposal";
		out->figures[out->n].is.title = "first algorithm proposed by the library, cold";
		out->figures[out->n++].value = out->first;
	}
	return 0;
}

int compare_answer(struct arena *a, const struct library_variant *side,
		   const struct command_result *r, struct compare_reading *out, struct err *e)
{
	json_auto_t *j = json_loads(r->output, JSON_REJECT_DUPLICATES, NULL);
	const char *why = json_string_value(json_object_get(j, "error"));
	const char *said = command_last_line(a, r->errors, SAID);
	int code;

	if (r->status > 128)
		code = err_set(
			e, -EBADMSG, "the measuring process was killed by signal %d (%s)%s%s",
			r->status - 128, strsignal(r->status - 128), *said ? ": " : "", said);
	else if (why && *why)
		code = err_set(e, r->status == EXIT_FINDINGS ? -EBADMSG : -ENODATA, "%.400s", why);
	else if (r->status || !j)
		code = err_set(e, -EBADMSG, "the measuring process exited with status %d%s%s",
			       r->status, *said ? ": " : "", said);
	else
		code = verb_stack_compare_take(a, side, j, out, e);
	return code;
}

/* --- the process of one side ------------------------------------------------------------------ */

enum { ANSWER_MAX = 256 << 10, WORDS = 20 };

static const char folder_variable[] = "GPUTUNE_LIB_DIR=";

static char **environment_with(struct arena *a, const char *folder)
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

/* This program with the words that measure one window of that bench, and an environment that names
 * the side's folder. -errno and *e. */
static int process_make(struct arena *a, const char *bench, const struct compare_ask *w,
			const struct library_variant *side, struct compare_process *out,
			struct err *e)
{
	const char *const given[][2] = {
		{ "--for",
		  w->pairs.seconds > 0 ? arena_printf(a, "%.9gs", w->pairs.seconds) : NULL },
		{ "--gpus", w->on.gpus },
		{ "--files", w->on.files },
		{ "--dir", w->on.dir },
	};
	char self[4096], **argv = arena_array(a, WORDS, sizeof(*argv));
	size_t n = 0;
	int r = folder_program(self, sizeof(self));

	if (r)
		return err_set(e, r, "/proc/self/exe: %s", strerror(-r));
	if (strchr(side->folder, ':'))
		return err_set(e, -EINVAL, "%s: folder names with a colon are not supported",
			       side->folder);
	argv[n++] = arena_strdup(a, self);
	argv[n++] = arena_strdup(a, "stack");
	argv[n++] = arena_strdup(a, "compare-one");
	argv[n++] = arena_strdup(a, bench);
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		for (size_t k = 0; given[i][1] && k < 2; k++)
			argv[n++] = arena_strdup(a, given[i][k]);
	*out = (struct compare_process){ argv, environment_with(a, side->folder), side };
	return 0;
}

/*
 * One window. -EBADMSG: it crashed, hung, answered nothing that makes sense, or did not load that
 * side's library. -EINTR: stopped. -ENODATA: it cannot measure here, *e says why.
 */
static int process_run(struct arena *a, const struct compare_process *p, double limit_s,
		       const atomic_bool *stop, struct compare_reading *out, struct err *e)
{
	const struct command_of_user how = {
		.limit_ms = (int)(limit_s * 1e3), .max = ANSWER_MAX, .stop = stop, .env = p->env
	};
	struct command_result said;
	ARENA_AUTO own = { 0 };
	int r = command_run_own(&own, p->argv, &how, &said);

	*out = (struct compare_reading){ 0 };
	if (r == 0)
		r = compare_answer(a, p->side, &said, out, e);
	else if (r == -ETIME)
		r = err_set(e, -EBADMSG, "the measurement did not finish within %.0f s", limit_s);
	else if (r == -EINTR)
		err_set(e, r, "stopped");
	else
		r = err_set(e, -ENODATA, "cannot run %s: %s", p->argv[0], strerror(-r));
	return r;
}

/* --- measuring -------------------------------------------------------------------------------- */

static void verb_stack_compare_progress(void *ctx, const struct versus *v)
{
	struct comparing *g = ctx;

	door_progress(g->d, v->budget_s - (double)v->pairs * v->pair_s, true, "%s: pair %zu",
		      g->view->bench, v->pairs + 1);
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
	int r = process_run(g->d->arena, &g->process[b], g->ask->pairs.limit_s, &g->stop, &got, e);

	if (r)
		return r;
	if (got.n != g->v.n_figures)
		return err_set(e, -EBADMSG, "%s measured a different case than before",
			       g->found[b].file);
	for (size_t i = 0; i < got.n; i++)
		value[i] = got.figures[i].value;
	note_choice(&g->view->sides[b], got.variant, 1);
	return 0;
}

static const char *side_name(bool b)
{
	return b ? "B" : "A";
}

/* What a side that has no figure means. */
static void verb_stack_compare_fail(struct comparing *g, bool b, int code, const struct err *e)
{
	g->view->failed = code != -EINTR;
	if (!g->view->failed) {
		g->view->why = arena_printf(g->d->arena, "interrupted after %zu pairs", g->v.pairs);
		return;
	}
	g->view->sides[b].fault = arena_strdup(g->d->arena, e->text);
	g->view->why = arena_printf(g->d->arena, "the work fails with %s (%s): %s", side_name(b),
				    g->found[b].file, e->text);
}

/* One window of each that counts for nothing: what there is to compare, and how long it takes. */
static int look_first(struct comparing *g)
{
	struct compare_reading got[2];
	double begin = engine_real.now(NULL);

	for (int b = 0; b < 2; b++) {
		struct err e = { 0 };
		int r = process_run(g->d->arena, &g->process[b], g->ask->pairs.limit_s, &g->stop,
				    &got[b], &e);

		if (r) {
			verb_stack_compare_fail(g, b, r, &e);
			return r;
		}
		note_choice(&g->view->sides[b], got[b].variant, 0);
	}
	if (got[0].n != got[1].n || strcmp(got[0].name, got[1].name) != 0) {
		g->view->why = "the two sides measured different cases";
		return -EBADMSG;
	}
	g->v.n_figures = got[0].n;
	for (size_t i = 0; i < got[0].n; i++)
		g->v.figures[i] = got[0].figures[i].is;
	g->v.pair_s = engine_real.now(NULL) - begin;
	g->view->bench = got[0].name;
	g->view->setup = got[0].setup;
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
		g->view->why = arena_printf(g->d->arena, "%s; %s does", e.text, e.hint);
	} else if (r) {
		verb_stack_compare_fail(g, b, r, &e);
	} else {
		g->view->verdict = g->v.ruling[0].kind;
		g->view->why = g->v.ruling[0].why;
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

static void compare_under(struct comparing *g, const struct machine *m)
{
	struct record_conditions *c = &g->view->conditions;
	struct watch_list watch;
	struct sampler *s;

	record_fingerprint(g->d->arena, g->h, m, &g->view->machine);
	watch_list_make(g->d->arena, g->h, m, &watch);
	c->cpus = watch.cpus;
	conditions_look(g->h, &watch, &c->before);
	s = sampler_start(g->h, &watch, &g->stop);
	verb_stack_compare_compare(g);
	if (s)
		sampler_end(g->d->arena, s, c);
	conditions_look(g->h, &watch, &c->after);
}

/* --- the verb --------------------------------------------------------------------------------- */

static int find_sides(struct comparing *g)
{
	const char *const names[] = { g->ask->a, g->ask->b };

	for (int b = 0; b < 2; b++) {
		struct err e = { 0 };

		if (library_variant_find(g->d->arena, g->h, names[b], g->c, &g->found[b], &e)) {
			struct err named = { 0 };

			err_set(&named, -EINVAL, "%s: %s", side_name(b), e.text);
			err_hint(&named, "%s", e.hint);
			return door_fail(g->d, EXIT_USAGE, &named);
		}
		g->view->sides[b].side = &g->found[b];
		if (process_make(g->d->arena, g->view->bench, g->ask, &g->found[b], &g->process[b],
				 &e))
			return door_fail(g->d, EXIT_USAGE, &e);
	}
	return 0;
}

static int compare_sides(struct door *d, const struct compare_ask *ask, struct compare_view *out)
{
	struct comparing *g = ARENA_NEW(d->arena, struct comparing);
	int code;

	g->d = d;
	g->ask = ask;
	g->view = out;
	out->bench = ask->bench;
	g->c = verb_stack_compare_component_of(ask->bench);
	if (g->c == COMPONENTS)
		return door_refuse(d, EXIT_USAGE,
				   "no library of an environment provides \"%s\"; libraries can be compared for "
				     "gemm, collectives and gds",
				   ask->bench);
	out->component = components[g->c].name;
	g->v = (struct versus){ .a = d->arena,
				.clock = &engine_real,
				.measure = verb_stack_compare_measure,
				.progress = verb_stack_compare_progress,
				.ctx = g,
				.seed = pairs_seed(&ask->pairs),
				.budget_s =
					ask->pairs.budget_s > 0 ? ask->pairs.budget_s : BUDGET_S,
				.min_effect = ask->pairs.min_effect };
	out->v = &g->v;
	out->verdict = RULING_UNDECIDED;
	g->h = d->live(d->ctx);
	code = find_sides(g);
	if (!code) {
		compare_under(g, door_machine(d, g->h, &(struct door_look){ 0 }));
		code = exit_code(out);
	}
	host_close(g->h);
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

struct one_ask {
	const char *bench;
	double seconds;
	struct bench_ask on;
};

static int read_window(struct door *d, const struct bench_env *env, const struct one_ask *ask,
		       const struct first *first, struct compare_reading *out)
{
	struct loaded l = { .prefix = stack_compare_prefix(ask->bench) };
	struct window_reading got = { 0 };
	struct window w = { .name = ask->bench };
	struct err e = { 0 };
	int code = l.prefix ? window_bench(d->arena, env, ask->bench, NULL, &w, &e)
			    : err_set(&e, -EINVAL, "no library of an environment provides \"%s\"",
				      ask->bench);
	bool made = code == 0;

	if (code) {
		code = code == -EINVAL ? EXIT_USAGE : EXIT_BLIND;
	} else {
		w.seconds = ask->seconds > 0 ? ask->seconds : w.seconds;
		code = w.measure ? w.measure(&w, &got, &e) : -ENOSYS;
		code = code ? code == -EBADMSG ? EXIT_FINDINGS : EXIT_BLIND : EXIT_CLEAN;
	}
	/* As long as it is loaded. */
	if (made)
		dl_iterate_phdr(each_loaded, &l);
	*out = (struct compare_reading){ .name = w.name,
					 .setup = w.setup,
					 .variant = got.variant,
					 .library = *l.path ? arena_strdup(d->arena, l.path) : NULL,
					 .first = first->how ? first->value : NAN,
					 .error = code ? arena_strdup(d->arena, e.text) : NULL,
					 .n = code ? 0 : w.n_figures };
	for (size_t i = 0; i < out->n; i++)
		out->figures[i] = (struct reading_figure){ w.figures[i], got.value[i] };
	if (made)
		window_close(&w);
	return code;
}

static int one_answer(struct door *d, const struct one_ask *ask, struct compare_reading *out)
{
	pid_t parent = getppid();
	struct first first = { 0 };
	struct bench_env env = { .a = d->arena,
				 .cpus = bench_allowed(d->arena),
				 .early = early,
				 .early_ctx = &first,
				 .ask = ask->on };
	int code;

	/* Whoever started it may be killed; nobody would wait for this then. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return -EXIT_BLIND;
	env.h = d->live(d->ctx);
	env.m = door_machine(d, env.h, &(struct door_look){ 0 });
	code = read_window(d, &env, ask, &first, out);
	host_close(env.h);
	return code;
}

/* --- the questions and the verbs -------------------------------------------------------------- */

/* clang-format off */

static const struct ask_row compare_ask_rows[] = {
	{ "A", "side A: \"system\", an environment, a folder or a library", ASK_TEXT(compare_ask, a),
	  .argument = true, .required = true, .files = true },
	{ "B", "side B", ASK_TEXT(compare_ask, b), .argument = true, .required = true, .files = true },
	{ "bench", "gemm, collectives or gds, or one case of them", ASK_TEXT(compare_ask, bench),
	  .arg = "NAME[/CASE]", .fallback = "gemm", .names = compared, .n_names = 3 },
	{ ASK_PART(compare_ask, pairs, pairs_ask) },
	{ ASK_PART(compare_ask, on, bench_ask) },
	{ "for", "time for each window: 10s, 500ms, 2m", .kind = ASK_KIND_NOTE },
	{ "time-limit", "time limit (default: 10m)", .kind = ASK_KIND_NOTE },
	{ "timeout", "time limit for one window", .kind = ASK_KIND_NOTE },
	{ "dir", "gds: folder for the test file to read", .kind = ASK_KIND_NOTE },
	{ "files", "gds: read this file, or the files in this folder", .kind = ASK_KIND_NOTE },
};
VERB_ANSWER(compare_any, compare_sides, compare_ask, compare_view)
VERB_PAGE_OF(compare_page, page_stack_compare, compare_view)

const struct verb stack_compare_verb = {
	.name = "compare",
	.summary = "compare the same work with two builds of a library",
	.about = "Measures the same work with two builds of cuBLASLt, cuSPARSELt, NCCL or cuFile (--bench). A and "
	  "B are \"system\", an environment, a folder or a file. Runs pairs of processes in random order; prints "
	  "the gain of B with its interval.",
	.exits = "1: B is worse or fails; 5: undecided",
	.examples = EXAMPLES({ "stack compare system venv", "matrix products: system versus environment" },
		{ "stack compare system venv --bench collectives --gpus 0,1", "two builds of NCCL" }),
	.ask = ASK_OF(compare_ask, "Measurement", compare_ask_rows), .answer = compare_any,
	.result = &stack_compare_result, .page = compare_page,
	.own_process = true,
};

static const struct ask_row one_ask_rows[] = {
	{ "BENCH", "a case of gemm, collectives or gds", ASK_TEXT(one_ask, bench), .argument = true,
	  .required = true },
	{ "for", "time for the window", ASK_TIME(one_ask, seconds) },
	{ ASK_PART(one_ask, on, bench_ask) },
};
VERB_ANSWER(one_any, one_answer, one_ask, compare_reading)

const struct verb compare_one_verb = {
	.name = "compare-one",
	.summary = "internal: one measurement of one library; started by compare",
	.about = "Measures one window of a bench with the library in GPUTUNE_LIB_DIR, in a separate process. "
	  "Started by stack compare. The result is JSON.",
	.examples = EXAMPLES({ "stack compare-one gemm", "one window of matrix products" },
		{ "stack compare-one collectives --gpus 0,1", "one window of collectives on two GPUs" }),
	.ask = ASK_OF(one_ask, NULL, one_ask_rows), .answer = one_any, .result = &stack_window_result,
	.own_process = true,
};
