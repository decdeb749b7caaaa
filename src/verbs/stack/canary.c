/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputune stack canary: whether the installed products and attention compute right on this GPU. An
 * installed PyTorch does the work, in a child process; what it says is not believed beyond its
 * form.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/vendor.h"
#include "verbs/stack/stack.h"

extern const char canary_script[]; /* made of look/stack/canary.py by the build */

enum { ANSWER_MAX = 1 << 20, KERNELS_MAX = 8, LIMIT_S = 900 };

enum canary_state {
	CANARY_WRONG,
	CANARY_CRASHES,
	CANARY_HANGS,
	CANARY_FAILS,
	CANARY_RIGHT,
	CANARY_ABSENT,
	CANARY_STATES
};
static const char *const states[] = { "wrong", "crashes", "hangs", "fails", "right", "absent" };

struct canary_check {
	const char *check, *why;
	enum canary_state state;
	double off; /* largest deviation, as a share of what rounding allows */
	const char *kernels[KERNELS_MAX];
	size_t n_kernels;
};

struct canary_answer {
	const char *python, *torch, *cuda, *gpu, *why;
	struct canary_check *checks;
	size_t n, count[CANARY_STATES];
	bool all;
};

struct canary_ask {
	const char *env;
	double limit_s;
	bool all;
};

/* clang-format off */
static const struct ask_row canary_ask_rows[] = {
	{ "env", "the Python environment to test, instead of python3 on the PATH", 
	  ASK_TEXT(canary_ask, env), .arg = "DIR", .files = true },
	{ "limit", "time limit; a slower check counts as hanging", ASK_TIME(canary_ask, limit_s), .fallback = "60s" },
	{ "all", "also show paths that are not installed", ASK_FLAG(canary_ask, all), .letter = 'a' },
};

static const struct shape canary_check_shape = SHAPE_OF(canary_check, canary_check,
	{ "check", "Path, format and shape.", SHAPE_TEXT(canary_check, check) },
	{ "state", "absent: not installed, or not for this GPU. fails: it reports an error.",
	  SHAPE_CHOICE(canary_check, state, states) },
	{ "deviation_ratio", "Largest deviation, as a multiple of what rounding allows.",
	  SHAPE_REAL(canary_check, off), .unknown = SHAPE_NULL },
	{ "kernels", "GPU kernels that ran, by their names.", SHAPE_TEXT_ARRAY(canary_check, kernels, n_kernels) },
	{ "why", NULL, SHAPE_TEXT(canary_check, why), .unknown = SHAPE_NULL });

static const struct shape canary_shape = SHAPE_OF(canary_answer, canary,
	{ "python", "The interpreter.", SHAPE_TEXT(canary_answer, python) },
	{ "torch", "Version of PyTorch.", SHAPE_TEXT(canary_answer, torch), .unknown = SHAPE_NULL },
	{ "cuda", "CUDA that PyTorch was built with.", SHAPE_TEXT(canary_answer, cuda), .unknown = SHAPE_NULL },
	{ "gpu", NULL, SHAPE_TEXT(canary_answer, gpu), .unknown = SHAPE_NULL },
	{ "checks", NULL, SHAPE_LIST(canary_answer, checks, n, canary_check) },
	{ "why", "Why checks are missing.", SHAPE_TEXT(canary_answer, why), .unknown = SHAPE_NULL });

static const struct result_shape canary_result = {
	.name = "stack-canary", .title = "gputune stack canary",
	.meaning = "Whether installed matrix products and attention compute correctly.",
	.shape = &canary_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 5,
};
/* clang-format on */

/* --- the verb --------------------------------------------------------------------------------- */

static size_t n_bad(const struct canary_answer *v)
{
	return v->count[CANARY_WRONG] + v->count[CANARY_CRASHES] + v->count[CANARY_HANGS];
}

static int canary_answer(struct door *d, const struct canary_ask *ask, struct canary_answer *out)
{
	struct arena *a = d->arena;
	const char *python = ask->env ? arena_printf(a, "%s/bin/python3", ask->env) : "python3";
	char *argv[] = { arena_strdup(a, python),
			 arena_strdup(a, "-c"),
			 arena_strdup(a, "import sys; exec(sys.argv[1])"),
			 arena_strdup(a, canary_script),
			 arena_strdup(a, "all"),
			 arena_printf(a, "%.0f", ask->limit_s),
			 NULL };
	const struct command_of_user how = { .limit_ms = LIMIT_S * 1000, .max = ANSWER_MAX };
	char full[HOST_PATH_MAX];
	struct command_result r;
	struct err e = { 0 };
	json_auto_t *j = NULL;
	int code;

	if (ask->env && access(python, X_OK))
		return door_refuse(d, EXIT_USAGE, "%s: %s", python, strerror(errno));
	/* It runs what lies there, with this user's rights. */
	if (ask->env && geteuid() == 0 &&
	    (!realpath(python, full) || !vendor_trusted(full) || !realpath(ask->env, full) ||
	     !vendor_trusted(full)))
		return door_refuse(d, EXIT_USAGE,
				   "%s: other users can write there, so root does not run it",
				   ask->env);
	door_progress(d, -1, false, "products and attention of %s", python);
	code = command_run_own(a, argv, &how, &r);
	if (code)
		return door_refuse(d, EXIT_BLIND, "%s: %s", python, strerror(-code));
	j = json_loads(r.output, JSON_REJECT_DUPLICATES, NULL);
	code = j ? shape_read(a, &canary_shape, j, out, &e) : -EBADMSG;
	if (code)
		return door_refuse(d, EXIT_BLIND, "%s: invalid answer: %s", python,
				   *r.errors ? command_last_line(a, r.errors, 400) : e.text);
	out->all = ask->all;
	for (size_t i = 0; i < out->n; i++)
		out->count[out->checks[i].state]++;
	if (n_bad(out))
		return EXIT_FINDINGS;
	return out->count[CANARY_RIGHT] ? EXIT_CLEAN : EXIT_BLIND;
}

/* Without the type, namespaces, template arguments and parameters of "void
 * at::native::add<4>(int)". */
static const char *kernel_short(struct arena *a, const char *name)
{
	size_t n, begin = 0;

	name += str_starts(name, "void ") ? 5 : 0;
	n = strcspn(name, "<(");
	for (size_t i = 0; i < n; i++)
		begin = name[i] == ':' ? i + 1 : begin;
	return arena_strndup(a, name + begin, n - begin);
}

static const char *kernels_text(struct arena *a, const struct canary_check *c)
{
	TEXT_AUTO all = { 0 };

	for (size_t i = 0; i < c->n_kernels; i++) {
		const char *name = kernel_short(a, c->kernels[i]);
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again = again || strcmp(kernel_short(a, c->kernels[k]), name) == 0;
		if (!again)
			text_printf(&all, "%s%s", all.len ? ", " : "", name);
	}
	return all.len ? arena_strdup(a, all.s) : NULL;
}

static struct doc *canary_page(struct arena *a, const struct canary_answer *v)
{
	static const enum style styles[] = { STYLE_BAD,	    STYLE_BAD,	STYLE_BAD,
					     STYLE_UNKNOWN, STYLE_GOOD, STYLE_MUTED };
	size_t bad = n_bad(v);
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, "Canary");
	if (v->torch)
		doc_text(d, "PyTorch %s (CUDA %s) of %s on %s.", v->torch,
			 v->cuda ? v->cuda : "none", v->python, v->gpu);
	doc_verdict(d,
		    bad			     ? STYLE_BAD
		    : v->count[CANARY_RIGHT] ? STYLE_GOOD
					     : STYLE_UNKNOWN,
		    arena_printf(a, "%zu correct, %zu wrong, %zu failed, %zu absent",
				 v->count[CANARY_RIGHT], bad, v->count[CANARY_FAILS],
				 v->count[CANARY_ABSENT]),
		    v->why);
	t = DOC_TABLE(d, NULL, "!Check", "Result", ">Deviation", "~Kernels", "~Why");
	for (size_t s = 0; s < CANARY_STATES; s++)
		for (size_t i = 0; i < v->n; i++) {
			const struct canary_check *c = &v->checks[i];

			if (c->state != s || (s == CANARY_ABSENT && !v->all))
				continue;
			NODE_ROW(d, t, cell(c->check), cell_as(styles[s], states[s]),
				 isfinite(c->off) ? cellf(d, "%.3g", c->off) : cell(NULL),
				 cell_as(STYLE_CODE, kernels_text(a, c)), cell(c->why));
		}
	node_drop_empty(t);
	doc_text(d, "Deviation: the largest difference from the exact result, divided by the "
		    "difference that rounding allows. Above 1 the result is wrong.");
	return d;
}

VERB_ANSWER(canary_any, canary_answer, canary_ask, canary_answer)
VERB_PAGE_OF(canary_page_any, canary_page, canary_answer)

/* clang-format off */
const struct verb canary_verb = {
	.name = "canary",
	.summary = "whether installed matrix products, attention and FP4 compute correctly on this GPU",
	.about = "Runs products and attention of the installed PyTorch (also flash-attn, FlashInfer and vLLM where "
	  "they are installed) and compares each with the exact result. A wrong result names its kernels.",
	.exits = "1: a result is wrong, or a kernel crashes or hangs; 5: nothing could be tested",
	.examples = EXAMPLES({ "stack canary", "the PyTorch of python3" },
		{ "stack canary --env ~/venv", "the PyTorch of an environment" }),
	.ask = ASK_OF(canary_ask, NULL, canary_ask_rows), .answer = canary_any, .result = &canary_result,
	.page = canary_page_any,
	.own_process = true,
};
