/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack build-plan: the steps, and with --run doing them one by one. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "front/verbs/page.h"
#include "front/verbs/stack.h"
#include "look/stack/page_stack.h"

/* Folders need not exist yet, the one they lie in has to. */
static const char *absolute(struct run *r, const char *dir)
{
	char full[4096];

	if (realpath(dir, full))
		return arena_strdup(&r->arena, full);
	if (!realpath(path_folder(&r->arena, dir), full))
		return NULL;
	return arena_printf(&r->arena, "%s/%s", full, path_name(dir));
}

static int one_step(struct run *r, struct build_plan *p, struct build_step *s)
{
	double begun = clock_mono_s();
	struct err e = { 0 };

	if (s->state == STEP_LACKS)
		return complain_text(EXIT_NOT_APPLIED, "%s: %s", s->id, s->lacks);
	if (!r->value[OPT_QUIET])
		fprintf(stderr, "%s: %s (log: %s)\n", s->id, s->title, s->log);
	if (build_step_run(&r->arena, p, s, &e))
		return complain(EXIT_NOT_APPLIED, &e);
	if (!r->value[OPT_QUIET])
		fprintf(stderr, "%s: done in %.1f s\n", s->id, clock_mono_s() - begun);
	return EXIT_CLEAN;
}

static int print(struct run *r, const struct build_plan *p, int code)
{
	int failed;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, build_plan_json(p, (long long)time(NULL), code));
		return code;
	}
	failed = run_print_doc(r, page_build_plan(&r->arena, p), "gputune stack build-plan");
	return failed ? failed : code;
}

static int plan_code(const struct build_plan *p)
{
	if (p->lacks)
		return EXIT_FINDINGS;
	for (size_t i = 0; i < p->n; i++)
		if (p->steps[i].state == STEP_LACKS)
			return EXIT_FINDINGS;
	return EXIT_CLEAN;
}

/* Steps that are done stay done, whatever ends the others. */
static int run_steps(struct run *r, const struct machine *m, const struct build_env *env,
		     struct build_wish *w, struct build_plan *p)
{
	struct err e = { 0 };
	int fd = build_plan_take(&r->arena, p, &e), code = 0;

	if (fd < 0)
		return complain(EXIT_NOT_APPLIED, &e);
	for (size_t i = 0; i < p->n && !code; i++)
		if (p->steps[i].state != STEP_DONE) {
			code = one_step(r, p, &p->steps[i]);
			/* What a step brought may tell more of the next ones. */
			if (!code && build_plan_make(&r->arena, m, env, w, p, &e))
				code = complain(EXIT_USAGE, &e);
		}
	close(fd);
	return code;
}

static int plan(struct run *r, struct host *h, struct build_wish *w)
{
	struct machine *m = run_machine(r, h, false);
	struct build_env env = { 0 };
	struct build_plan p = { 0 };
	struct err e = { 0 };
	const char *from;
	int code = stack_build_env(r, h, &env, &from);

	if (code)
		return code;
	if (build_plan_make(&r->arena, m, &env, w, &p, &e))
		return complain(EXIT_USAGE, &e);
	if (!r->value[OPT_RUN] || r->value[OPT_DRY_RUN])
		return print(r, &p, plan_code(&p));
	if (p.lacks && !r->value[OPT_FORCE])
		return complain_text(EXIT_NOT_APPLIED, "%s; --force starts it all the same",
				     p.lacks);
	code = run_steps(r, m, &env, w, &p);
	return print(r, &p, code);
}

int stack_plan(struct run *r)
{
	struct build_wish w = { .python = "/usr/bin/python3" };
	char self[4096] = "";
	struct host *h;
	int code;

	if (r->n_args < 2)
		return complain_text(
			EXIT_USAGE,
			"stack build-plan needs a folder to work in and what to build: "
			"%s, or a folder with a Python project",
			build_targets(&r->arena));
	if (r->value[OPT_HOST])
		return complain_text(EXIT_USAGE, "a captured machine builds nothing");
	w.dir = absolute(r, r->args[0]);
	if (!w.dir)
		return complain_text(EXIT_USAGE, "%s: the folder it lies in does not exist",
				     r->args[0]);
	w.targets = (const char *const *)(r->args + 1);
	w.n_targets = (size_t)r->n_args - 1;
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return complain_text(EXIT_USAGE, "/proc/self/exe: %s", strerror(errno));
	w.self = self;
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	code = plan(r, h, &w);
	host_close(h);
	return code;
}
