/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack build-plan: the steps of a build, and with --run doing them one by one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/host/folder.h"
#include "verbs/stack/stack.h"

struct build_ask {
	const char *dir;
	struct ask_texts targets;
	struct gpu_ask gpus;
	bool run, force, dry_run;
};

static int one_step(struct door *d, struct build_plan *p, struct build_step *s)
{
	double begun = clock_mono_s();
	struct err e = { 0 };

	if (s->state == STEP_LACKS)
		return door_refuse(d, EXIT_NOT_APPLIED, "%s: %s", s->id, s->lacks);
	door_note(d, "%s: %s (log: %s)", s->id, s->title, s->log);
	if (build_step_run(d->arena, p, s, &e))
		return door_fail(d, EXIT_NOT_APPLIED, &e);
	door_note(d, "%s: done in %.1f s", s->id, clock_mono_s() - begun);
	return 0;
}

/* Steps that are done stay done, whatever ends the others. 0, or as answers. */
static int run_steps(struct door *d, const struct machine *m, const struct build_env *env,
		     struct build_target *w, struct build_plan *p)
{
	struct err e = { 0 };
	int fd = build_plan_take(d->arena, p, &e), code = 0;

	if (fd < 0)
		return door_fail(d, EXIT_NOT_APPLIED, &e);
	for (size_t i = 0; i < p->n && !code; i++)
		if (p->steps[i].state != STEP_DONE) {
			code = one_step(d, p, &p->steps[i]);
			/* What a step brought may tell more of the next ones. */
			if (!code && build_plan_make(d->arena, m, env, w, p, &e))
				code = door_fail(d, EXIT_USAGE, &e);
		}
	close(fd);
	return code;
}

static int plan_exit(const struct build_plan *p)
{
	if (p->lacks)
		return EXIT_FINDINGS;
	for (size_t i = 0; i < p->n; i++)
		if (p->steps[i].state == STEP_LACKS)
			return EXIT_FINDINGS;
	return EXIT_CLEAN;
}

static int build(struct door *d, const struct build_ask *ask, struct host *h,
		 struct build_target *w, struct build_plan *out)
{
	struct machine *m = door_machine(d, h, &(struct door_look){ 0 });
	struct build_env env = { 0 };
	struct err e = { 0 };
	int code = stack_build_env(d, h, &ask->gpus, &env);

	if (code)
		return code;
	if (build_plan_make(d->arena, m, &env, w, out, &e))
		return door_fail(d, EXIT_USAGE, &e);
	if (!ask->run || ask->dry_run)
		return plan_exit(out);
	if (out->lacks && !ask->force)
		return door_refuse(d, EXIT_NOT_APPLIED, "%s; --force starts it anyway", out->lacks);
	code = run_steps(d, m, &env, w, out);
	/* The plan tells which steps were done before one failed. */
	return -code;
}

/* Folders need not exist yet, the one they lie in has to. */
static const char *absolute(struct arena *a, const char *dir)
{
	char full[4096];

	if (realpath(dir, full))
		return arena_strdup(a, full);
	if (!realpath(path_folder(a, dir), full))
		return NULL;
	return arena_printf(a, "%s/%s", full, path_name(dir));
}

static int build_answer(struct door *d, const struct build_ask *ask, struct build_plan *out)
{
	struct build_target w = { .dir = absolute(d->arena, ask->dir),
				  .targets = ask->targets.items,
				  .n_targets = ask->targets.n,
				  .python = "/usr/bin/python3" };
	char self[4096];
	int r;
	HOST_AUTO *h = NULL;

	if (!w.dir)
		return door_refuse(d, EXIT_USAGE, "%s: its parent folder does not exist", ask->dir);
	if ((r = folder_program(self, sizeof(self))))
		return door_refuse(d, EXIT_USAGE, "/proc/self/exe: %s", strerror(-r));
	w.self = self;
	h = d->live(d->ctx);
	return build(d, ask, h, &w, out);
}

/* --- the questions and the verbs -------------------------------------------------------------- */

/* clang-format off */

static const struct ask_row build_ask_rows[] = {
	{ "DIR", "the folder to work in; its parent must exist", ASK_TEXT(build_ask, dir),
	  .argument = true, .required = true, .files = true },
	{ "TARGET", "a target to build, or a folder with a Python project", ASK_TEXTS(build_ask, targets),
	  .argument = true, .required = true, .files = true, .proposal = build_target },
	{ ASK_PART(build_ask, gpus, gpu_ask) },
	{ "run", "run the steps (default: only list them)", ASK_FLAG(build_ask, run) },
	{ "force", "start even if disk or memory is short", ASK_FLAG(build_ask, force) },
	{ "dry-run", "list the steps and ignore --run", ASK_FLAG(build_ask, dry_run), .letter = 'n' },
};
VERB_ANSWER(build_answer_any, build_answer, build_ask, build_plan)
VERB_PAGE_OF(build_page, page_build_plan, build_plan)

const struct verb build_plan_verb = {
	.name = "build-plan",
	.summary = "steps to build PyTorch and others here; --run runs them",
	.about = "Lists the steps that build each TARGET (llvm, triton, torch, or a Python project) in DIR, and "
	  "their requirements. --run runs them, with one log each, and resumes after an interruption. Wheels go "
	  "to DIR/house.",
	.exits = "1: something is missing; 3: a step failed",
	.examples = EXAMPLES({ "stack build-plan built torch", "the steps, and what blocks them" },
		{ "stack build-plan built torch --run", "run them" }),
	.ask = ASK_OF(build_ask, NULL, build_ask_rows), .answer = build_answer_any,
	.result = &build_plan_result, .page = build_page, .writes = true,
	.own_process = true,
};
