/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack: which GPU code files carry, what is installed, what to set for building. */
#include "machine/host/confine.h"
#include "verbs/ranks.h"
#include "verbs/stack/look.h"
#include "verbs/stack/stack.h"

/* --- stack arch ------------------------------------------------------------------------------- */

struct arch_ask {
	struct ask_texts paths;
	struct gpu_ask gpus;
	struct machine_ask machine;
	bool deep, all;
};

static int arch_exit(const struct arch_view *v)
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

static int arch_answer(struct door *d, const struct arch_ask *ask, struct arch_view *out)
{
	struct scan_options *how = ARENA_NEW(d->arena, struct scan_options);
	HOST_AUTO *h = door_host(d, &ask->machine);
	struct scan *all = NULL;
	int code;

	if (!h)
		return -EXIT_USAGE;
	code = stack_targets(d, &ask->gpus,
			     ask->gpus.gpu ? NULL : door_machine(d, h, &(struct door_look){ 0 }),
			     how, &out->gpus_from);
	how->deep = ask->deep;
	out->how = how;
	out->all = ask->all;
	for (size_t i = 0; i < ask->paths.n && !code; i++) {
		struct err e = { 0 };
		struct scan *some;
		size_t n;

		if (scan_tree(d->arena, ask->paths.items[i], how, 0, &some, &n, &e))
			return door_fail(d, EXIT_USAGE, &e);
		for (size_t k = 0; k < n; k++) {
			ARENA_ADD(d->arena, all, out->n) = some[k];
		}
	}
	out->files = all;
	return code ? code : arch_exit(out);
}

/* Threads scan files. */
static unsigned arch_confine(const void *ask)
{
	(void)ask;
	return CONFINE_THREADS;
}

/* --- stack check ------------------------------------------------------------------------------ */

struct installed_ask {
	struct gpu_ask gpus;
	const char *envs, *rootfs;
	struct machine_ask machine;
	struct ranks_ask ranks;
	bool deep, all;
};

static int check_answer(struct door *d, const struct installed_ask *ask, struct stack_view *out)
{
	const struct stack_look what = { ask->gpus, ask->envs, ask->rootfs, ask->deep, ask->all };
	struct stack_root root = { .fd = -1 };
	HOST_AUTO *h = door_host(d, &ask->machine), *image = NULL;
	struct err e = { 0 };
	int code = h ? 0 : -EXIT_USAGE;

	if (h && ask->rootfs) {
		image = rootfs_open(ask->rootfs, &root.fd, &e);
		code = image ? 0 : door_fail(d, EXIT_USAGE, &e);
	}
	root.h = image ? image : h;
	root.contents = image || !ask->machine.capture;
	if (!code)
		code = stack_collect(d, &root, door_machine(d, h, &(struct door_look){ 0 }), &what,
				     out);
	return code ? code : door_verdicts_code(out->found->count);
}

/* --deep runs the libraries. */
SHAPE_GIVES(bool, check_reads, installed_ask, !x->deep)

static unsigned check_confine(const void *ask)
{
	/* Links of an image are kept inside of it by openat2 alone. */
	return CONFINE_THREADS |
	       (((const struct installed_ask *)ask)->rootfs ? CONFINE_OPENAT2 | CONFINE_CODE : 0);
}

/* --- stack env -------------------------------------------------------------------------------- */

struct building_ask {
	struct gpu_ask gpus;
	struct machine_ask machine;
};

/* Which flags of recipes are set in this shell. */
static void flags_here(struct arena *a, struct host *h, struct build_env *env)
{
	struct answer said;

	env->flags = arena_array(a, n_dead_flags, sizeof(*env->flags));
	for (env->n_flags = 0; env->n_flags < n_dead_flags; env->n_flags++) {
		struct flag_here *f = &env->flags[env->n_flags];

		f->flag = &dead_flags[env->n_flags];
		if (f->flag->name && host_ask(h, "env", "", f->flag->name, &said) == 0 &&
		    said.kind == ANSWER_TEXT)
			f->set_here = arena_strdup(a, said.text);
	}
}

static int env_answer(struct door *d, const struct building_ask *ask, struct build_env *out)
{
	HOST_AUTO *h = door_host(d, &ask->machine);
	int code;

	if (!h)
		return -EXIT_USAGE;
	code = stack_build_env(d, h, &ask->gpus, out);
	if (!code)
		flags_here(d->arena, h, out);
	return code ? code : out->missing ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int env_script(FILE *out, const void *ask, const void *answer, int code)
{
	ARENA_AUTO a = { 0 };

	(void)ask;
	stack_env_shell(out, &a, answer);
	return code;
}

/* --- the questions and the verbs -------------------------------------------------------------- */

/* clang-format off */

static const struct ask_row arch_ask_rows[] = {
	{ "FILE|DIR|WHEEL", "libraries, wheels, cubins, PTX, or folders of them",
	  ASK_TEXTS(arch_ask, paths), .argument = true, .required = true, .files = true },
	{ ASK_PART(arch_ask, gpus, gpu_ask) },
	{ "deep", "also read compressed code", ASK_FLAG(arch_ask, deep) },
	{ "all", "also show files without GPU code", ASK_FLAG(arch_ask, all), .letter = 'a' },
	{ ASK_PART(arch_ask, machine, machine_ask) },
};
VERB_ANSWER(arch_answer_any, arch_answer, arch_ask, arch_view)
VERB_PAGE_OF(arch_page, page_stack_arch, arch_view)

static const struct verb stack_arch_verb = {
	.name = "arch",
	.summary = "show which GPU architectures files support, and whether they run on this GPU",
	.about = "Reads libraries, static libraries, wheels, cubins and PTX. Code is native for this GPU "
	  "(or --gpu), native for its family, PTX that is compiled at each start, or cannot run.",
	.exits = "1: a GPU cannot run one of the files; 5: a file could not be read",
	.examples = EXAMPLES({ "stack arch libfoo.so", "one library, for this GPU" },
		{ "stack arch libfoo.so --gpu sm_90 --deep", "for an H100, with compressed code" }),
	.ask = ASK_OF(arch_ask, NULL, arch_ask_rows), .answer = arch_answer_any,
	.result = &stack_arch_result, .page = arch_page, .reads = READS_FILES,
	.confine = arch_confine,
};

static const struct ask_row installed_ask_rows[] = {
	{ ASK_PART(installed_ask, gpus, gpu_ask) },
	{ "env", "a Python environment to check; may be given several times",
	  ASK_TEXT(installed_ask, envs), .arg = "DIR", .files = true, .join = ',' },
	{ "rootfs", "check this root file system, such as an unpacked container image",
	  ASK_TEXT(installed_ask, rootfs), .arg = "DIR", .files = true },
	{ "deep", "also read compressed code, and load libraries to read their versions",
	  ASK_FLAG(installed_ask, deep) },
	{ "all", "also show components that pass or are not installed", ASK_FLAG(installed_ask, all),
	  .letter = 'a' },
	{ ASK_PART(installed_ask, machine, machine_ask) },
	{ ASK_PART(installed_ask, ranks, ranks_ask) },
};
VERB_RANKS(check_ranks, installed_ask, !x->machine.capture)
VERB_ANSWER(check_answer_any, check_answer, installed_ask, stack_view)
VERB_PAGE_OF(check_page, page_stack_check, stack_view)

static const struct verb stack_check_verb = {
	.name = "check",
	.summary = "check that installed software parts fit this GPU and each other",
	.about = "Judges the system, CUDA toolkits, Python environments (--env) or a container image (--rootfs). "
	  "Runs no Python; only --deep loads libraries, in a child process, to read their versions.",
	.exits = "1: a problem was found; 5: something could not be read",
	.examples = EXAMPLES({ "stack check", "the system's libraries and CUDA" },
		{ "stack check --env venv", "with a Python environment" },
		{ "stack check --rootfs image --gpu sm_90", "an unpacked image, for an H100" }),
	.ask = ASK_OF(installed_ask, NULL, installed_ask_rows), .answer = check_answer_any,
	.result = &stack_check_result, .page = check_page, .ranks = check_ranks, .reads = READS_FILES,
	.reads_now = check_reads, .confine = check_confine,
};

static const struct ask_row building_ask_rows[] = {
	{ ASK_PART(building_ask, gpus, gpu_ask) },
	{ ASK_PART(building_ask, machine, machine_ask) },
};
VERB_ANSWER(env_answer_any, env_answer, building_ask, build_env)
VERB_PAGE_OF(env_page, page_stack_env, build_env)
static const struct verb stack_env_verb = {
	.name = "env",
	.summary = "variables for building PyTorch and others here",
	.about = "Prints variables for a build for this GPU (or --gpu), CUDA and compilers, and the flags of "
	  "common recipes that have no effect. --format shell can be sourced.",
	.exits = "1: CUDA code cannot be built here",
	.examples = EXAMPLES({ "stack env", "with reasons" },
		{ "stack env --format shell -o build-env.sh", "as a file to source" }),
	.ask = ASK_OF(building_ask, NULL, building_ask_rows), .answer = env_answer_any,
	.result = &stack_env_result, .page = env_page, .formats = FORMATS({ "shell", env_script }),
	.reads = READS_FILES, .confine = arch_confine,
};

static const struct verb *const stack_subs[] = {
	&stack_arch_verb, &stack_check_verb, &canary_verb, &stack_compare_verb, &compare_one_verb,
	&stack_env_verb,  &build_plan_verb,  &wheelhouse_verb,	  NULL,
};

const struct verb stack_verb = {
	.name = "stack",
	.group = VERB_LOOK,
	.summary = "check that libraries are built for this GPU, and build them",
	.about = "Reads the GPU code in libraries (arch), judges installed software (check), compares two builds "
	  "(compare), and builds for this GPU (env, build-plan, wheelhouse).",
	.words = "cuda driver libraries pytorch torch python pip wheel wheels versions upgrade outdated",
	.examples = EXAMPLES({ "stack check", "the software on this machine" },
		{ "stack arch libfoo.so", "the GPU code of a library" },
		{ "stack env", "variables for a build" }),
	.subs = stack_subs,
	.usual = &stack_check_verb,
};
