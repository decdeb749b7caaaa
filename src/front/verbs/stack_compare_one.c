/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One window of one side of "stack compare", in a process of its own: two builds of one library
 * cannot be told apart within one. Its answer is a line of JSON for the process that started it.
 */
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/text.h"
#include "measure/bench/bench.h"
#include "front/verbs/page.h"
#include "front/verbs/stack_compare.h"
#include "measure/prove/window.h"
#include "render/json_value.h"

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
	json_t *figures = json_array();

	for (size_t i = 0; i < w->n_figures; i++)
		json_array_append_new(
			figures, json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "key",
					   w->figures[i].key, "title", w->figures[i].title, "unit",
					   w->figures[i].unit, "unit_text", w->figures[i].unit_text,
					   "lower", w->figures[i].better == BENCH_LOWER, "value",
					   json_figure(got->value[i])));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name", json_text(w->name), "setup",
			 json_text(w->setup), "variant", json_text(got->variant), "library",
			 json_text(*library ? library : NULL), "first",
			 first->how ? json_figure(first->value) : json_null(), "figures", figures);
}

static int failed(struct run *r, int code, const struct err *e)
{
	run_print_json(r, json_pack("{s:o}", "error", json_text(e->text)));
	return code;
}

static int one(struct run *r, const struct bench_env *env, const struct first *first)
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
		run_print_json(r, reading_json(&w, &got, first, l.path));
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
	code = one(r, &env, &first);
	host_close(env.h);
	return code;
}
