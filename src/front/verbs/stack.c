/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack: which part of it, and for which GPUs it judges. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/verbs/stack.h"
#include "base/clock.h"

/* gputune stack arch: which GPU architectures files carry. */

static int verb_stack_exit_code(const struct arch_view *v)
{
	int code = EXIT_CLEAN;

	for (size_t i = 0; i < v->n; i++) {
		const struct scan *s = &v->files[i];

		if (s->error || s->n_problems)
			return EXIT_BLIND;
		for (size_t g = 0; g < v->how->n_gpus; g++)
			if (s->entries && s->answers[g].answer == CODE_CANNOT)
				code = EXIT_FINDINGS;
	}
	return code;
}

static int named_targets(struct run *r, struct scan_options *how)
{
	struct err e = { 0 };

	if (scan_targets(&r->arena, r->value[OPT_GPU], how, &e))
		return complain(EXIT_USAGE, &e);
	if (!how->n_gpus)
		return complain_text(EXIT_USAGE, "--gpu takes architectures such as sm_121");
	return 0;
}

/*
 * The GPUs to judge for: --gpu, or those of the machine (m; NULL: it is probed). *from says in
 * words where they come from. EXIT_USAGE after complaining of --gpu, else 0; there may be none.
 */
static int stack_targets(struct run *r, struct machine *m, struct scan_options *how,
			 const char **from)
{
	struct host *h = NULL;

	*from = "--gpu";
	if (r->value[OPT_GPU])
		return named_targets(r, how);
	if (!m) {
		h = run_host(r);
		if (!h)
			return EXIT_USAGE;
		m = run_machine(r, h, false);
	}
	*from = "this machine";
	for (size_t i = 0; machine_gpu(m, i); i++) {
		const struct gpu *g = machine_gpu(m, i);
		long long driver = fact_or(&m->gpu.cuda_driver, 0);

		if (seen_ok(&g->cc_major.f) && seen_ok(&g->cc_minor.f))
			scan_target(how, (unsigned)(g->cc_major.v * 10 + g->cc_minor.v),
				    driver > 0 ? (unsigned)(driver / 10) : 0);
	}
	if (!how->n_gpus) {
		const char *why = machine_no_gpu(&r->arena, m);

		*from = why ? arena_strdup(&r->arena, why) : "no GPU was seen";
	}
	if (h)
		host_close(h);
	return 0;
}

static int stack_arch(struct run *r)
{
	struct scan_options how = { .deep = r->value[OPT_DEEP] != NULL };
	struct arch_view v = { .how = &how, .all = r->value[OPT_ALL] != NULL };
	struct scan *all = NULL;
	struct err e = { 0 };
	int code;

	if (!r->n_args)
		return complain_text(EXIT_USAGE, "stack arch needs FILE, DIR or WHEEL");
	code = stack_targets(r, NULL, &how, &v.gpus_from);
	if (code)
		return code;
	for (int i = 0; i < r->n_args; i++) {
		struct scan *some;
		size_t n;

		if (scan_tree(&r->arena, r->args[i], &how, 0, &some, &n, &e))
			return complain(EXIT_USAGE, &e);
		for (size_t k = 0; k < n; k++) {
			all = arena_grow(&r->arena, all, v.n, sizeof(*all));
			all[v.n++] = some[k];
		}
	}
	v.files = all;
	code = verb_stack_exit_code(&v);
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &stack_arch_result, &v, code);
	return run_print_doc(r, page_stack_arch(&r->arena, &v), "gputune stack arch", code);
}

static int check_exit_code(const struct stack_findings *f)
{
	if (f->count[VERDICT_FAIL])
		return EXIT_FINDINGS;
	return f->count[VERDICT_UNKNOWN] ? EXIT_BLIND : EXIT_CLEAN;
}

static int verb_stack_look(struct run *r, const struct stack_root *root, struct machine *m)
{
	const struct stack_view *v;
	int code = stack_collect(r, root, m, &v);

	if (code)
		return code;
	code = check_exit_code(v->found);
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &stack_check_result, v, code);
	return run_print_doc(r, page_stack_check(&r->arena, v), "gputune stack check", code);
}

static int stack_check(struct run *r)
{
	struct stack_root root = { .fd = -1 };
	struct host *h, *image = NULL;
	struct err e = { 0 };
	int code;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "stack check takes no argument \"%s\"",
				     r->args[0]);
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	if (r->value[OPT_ROOTFS]) {
		image = rootfs_open(r->value[OPT_ROOTFS], &root.fd, &e);
		if (!image) {
			host_close(h);
			return complain(EXIT_USAGE, &e);
		}
	}
	root.h = image ? image : h;
	root.contents = image || !r->value[OPT_HOST];
	code = verb_stack_look(r, &root, run_machine(r, h, false));
	if (image)
		host_close(image);
	host_close(h);
	return code;
}

/* What stack env says; EXIT_USAGE after complaining, else 0. */
static int stack_build_env(struct run *r, struct host *h, struct build_env *out)
{
	struct machine *m = run_machine(r, h, false);
	struct scan_options how = { 0 };
	struct inventory_options what = { .scan = &how };
	struct stack_root root = { h, -1, false }; /* what libraries carry does not matter here */
	struct inventory inv = { 0 };
	struct err e = { 0 };
	const char *from;
	int code = stack_targets(r, m, &how, &from);

	if (code)
		return code;
	/* A version that only a library's own text tells is worth opening it. */
	root.contents = !r->value[OPT_HOST];
	if (inventory_take(&r->arena, &root, &what, &inv, &e))
		return complain(EXIT_USAGE, &e);
	build_env_make(&r->arena, m, &inv, &how, out);
	out->gpus_from = from;
	return 0;
}

/* Which flags of recipes are set in this shell. */
static void flags_here(struct run *r, struct host *h, struct build_env *env)
{
	struct answer said;

	env->flags = arena_array(&r->arena, n_dead_flags, sizeof(*env->flags));
	for (env->n_flags = 0; env->n_flags < n_dead_flags; env->n_flags++) {
		struct flag_here *f = &env->flags[env->n_flags];

		f->flag = &dead_flags[env->n_flags];
		if (f->flag->name && host_ask(h, "env", "", f->flag->name, &said) == 0 &&
		    said.kind == ANSWER_TEXT)
			f->set_here = arena_strdup(&r->arena, said.text);
	}
}

/* gputune stack env: what to set before PyTorch and friends are built here. */
static int stack_env(struct run *r)
{
	struct build_env env = { 0 };
	struct host *h;
	int code;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "stack env takes no argument \"%s\"", r->args[0]);
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	code = stack_build_env(r, h, &env);
	if (!code)
		flags_here(r, h, &env);
	host_close(h);
	if (code)
		return code;
	code = env.missing ? EXIT_FINDINGS : EXIT_CLEAN;
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &stack_env_result, &env, code);
	if (!r->value[OPT_FORMAT] || strcmp(r->value[OPT_FORMAT], "shell") != 0)
		return run_print_doc(r, page_stack_env(&r->arena, &env), "gputune stack env", code);
	stack_env_shell(r->out, &r->arena, &env);
	return code;
}

/* gputune stack build-plan: the steps, and with --run doing them one by one. */

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

/* Steps that are done stay done, whatever ends the others. */
static int run_steps(struct run *r, const struct machine *m, const struct build_env *env,
		     struct build_target *w, struct build_plan *p)
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

static int plan_code(const struct build_plan *p)
{
	if (p->lacks)
		return EXIT_FINDINGS;
	for (size_t i = 0; i < p->n; i++)
		if (p->steps[i].state == STEP_LACKS)
			return EXIT_FINDINGS;
	return EXIT_CLEAN;
}

static int print(struct run *r, const struct build_plan *p, int code)
{
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &build_plan_result, p, code);
	return run_print_doc(r, page_build_plan(&r->arena, p), "gputune stack build-plan", code);
}

static int verb_stack_plan(struct run *r, struct host *h, struct build_target *w)
{
	struct machine *m = run_machine(r, h, false);
	struct build_env env = { 0 };
	struct build_plan p = { 0 };
	struct err e = { 0 };
	int code = stack_build_env(r, h, &env);

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

static int stack_plan(struct run *r)
{
	struct build_target w = { .python = "/usr/bin/python3" };
	char self[4096] = "";
	struct host *h;
	int code;

	if (r->n_args < 2)
		return complain_text(EXIT_USAGE,
				     "stack build-plan needs a folder to work in and what to "
				     "build: %s, or a folder with a Python project",
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
	code = verb_stack_plan(r, h, &w);
	host_close(h);
	return code;
}

static const struct part {
	const char *name;
	int (*run)(struct run *r);
} parts[] = {
	{ "arch", stack_arch },
	{ "check", stack_check },
	{ "env", stack_env },
	{ "build-plan", stack_plan },
	{ "wheelhouse", stack_wheelhouse },
	{ "compare", stack_compare },
	{ "compare-one", stack_compare_one },
};

int verb_stack(struct run *r)
{
	const char *name = r->args[0];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].name, name) == 0) {
			r->args++;
			r->n_args--;
			return parts[i].run(r);
		}
	return complain_text(EXIT_USAGE,
			     "stack has no part \"%s\"; it has arch, check, compare, env, "
			     "build-plan and wheelhouse",
			     name);
}

/* gputune stack check: what of the software stack is there, and whether it is made for this GPU. */

static int ptxas_knows(void *ctx, const char *path, unsigned sm)
{
	char text[16];

	snprintf(text, sizeof(text), "sm_%u", sm);
	return stack_find_text(ctx, path, text);
}

static const char **verb_stack_named(struct run *r, size_t *n)
{
	const char **list = NULL;
	char *save = NULL,
	     *text = r->value[OPT_ENV] ? arena_strdup(&r->arena, r->value[OPT_ENV]) : NULL;

	for (char *p = text ? strtok_r(text, ",", &save) : NULL; p;
	     p = strtok_r(NULL, ",", &save)) {
		list = arena_grow(&r->arena, list, *n, sizeof(*list));
		list[(*n)++] = p;
	}
	return list;
}

/* The environment of the python3 that a shell would find: PREFIX/bin/python3. */
static const char *python_on_path(struct run *r, struct host *h)
{
	struct answer said;
	char *list, *save = NULL;

	if (host_ask(h, "env", "", "PATH", &said) || said.kind != ANSWER_TEXT)
		return NULL;
	list = arena_strdup(&r->arena, said.text);
	for (char *p = strtok_r(list, ":", &save); p; p = strtok_r(NULL, ":", &save)) {
		size_t len = strlen(p);

		if (*p == '/' && len > 4 && strcmp(p + len - 4, "/bin") == 0 &&
		    host_exists(h, arena_printf(&r->arena, "%s/python3", p)))
			return arena_strndup(&r->arena, p, len - 4);
	}
	return NULL;
}

/* The parts of a view, which lives as long as the run. */
struct looked {
	struct scan_options how;
	struct inventory inv;
	struct stack_findings found;
	struct stack_view view;
};

int stack_collect(struct run *r, const struct stack_root *root, struct machine *m,
		  const struct stack_view **out)
{
	struct looked *l = ARENA_NEW(&r->arena, struct looked);
	struct inventory_options what = { .deep = r->value[OPT_DEEP], .scan = &l->how };
	struct stack_ask ask = { .m = m, .inv = &l->inv, .how = &l->how };
	struct err e = { 0 };
	const char *usual;
	int code = stack_targets(r, m, &l->how, &l->view.gpus_from);

	if (code)
		return code;
	l->view.m = m;
	l->view.inv = &l->inv;
	l->view.found = &l->found;
	l->view.how = &l->how;
	l->view.rootfs = r->value[OPT_ROOTFS];
	l->view.all = r->value[OPT_ALL];
	what.envs = verb_stack_named(r, &what.n_envs);
	what.only_envs = what.n_envs > 0;
	usual = what.n_envs || root->fd >= 0 ? NULL : python_on_path(r, root->h);
	if (usual && host_exists(root->h, arena_printf(&r->arena, "%s/lib", usual))) {
		struct inventory_options no = { .envs = &usual, .n_envs = 1, .scan = &l->how };

		/* Without a folder for packages it is no environment; that is no error here. */
		if (inventory_take(&r->arena, &(struct stack_root){ root->h, -1, false }, &no,
				   &l->inv, &e) == 0) {
			what.envs = no.envs;
			what.n_envs = 1;
		}
	}
	code = inventory_take(&r->arena, root, &what, &l->inv, &e);
	if (code)
		return complain(EXIT_USAGE, &e);
	ask.gpus_from = l->view.gpus_from;
	ask.ptxas_knows = ptxas_knows;
	ask.ctx = (void *)(uintptr_t)root;
	stack_judge(&r->arena, &ask, &l->found);
	*out = &l->view;
	return 0;
}
