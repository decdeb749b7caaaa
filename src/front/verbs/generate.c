/* SPDX-License-Identifier: Apache-2.0 */
/* gputune generate: files and command lines for other programs, from what the machines are. */
#include "front/verbs/generate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "front/verbs/page.h"
#include "models/generate/page_generate.h"

enum kind_is {
	IS_ENV,
	IS_TORCHRUN,
	IS_MPI,
	IS_SBATCH,
	IS_HOSTFILE,
	IS_DEEPSPEED,
	IS_SERVE,
	IS_TRAIN,
};

static const struct kind {
	const char *name;
	enum kind_is is;
	enum gen_for what;
	enum engine engine;
	enum train_target target;
} kinds[] = {
	{ "nccl", IS_ENV, FOR_NCCL, ENGINES, 0 },
	{ "nccl-env", IS_ENV, FOR_TORCH, ENGINES, 0 },
	{ "vllm-env", IS_ENV, FOR_VLLM, ENGINES, 0 },
	{ "torchrun", IS_TORCHRUN, FOR_TORCH, ENGINES, 0 },
	{ "mpi", IS_MPI, FOR_NCCL, ENGINES, 0 },
	{ "sbatch", IS_SBATCH, FOR_TORCH, ENGINES, 0 },
	{ "hostfile", IS_HOSTFILE, FOR_NCCL, ENGINES, 0 },
	{ "deepspeed_env", IS_DEEPSPEED, FOR_TORCH, ENGINES, 0 },
	{ "vllm", IS_SERVE, FOR_VLLM, ENGINE_VLLM, 0 },
	{ "sglang", IS_SERVE, FOR_SGLANG, ENGINE_SGLANG, 0 },
	{ "llamacpp", IS_SERVE, FOR_OTHERS, ENGINE_LLAMACPP, 0 },
	{ "trtllm", IS_SERVE, FOR_TRTLLM, ENGINE_TRTLLM, 0 },
	{ "deepspeed", IS_TRAIN, FOR_OTHERS, ENGINES, TARGET_DEEPSPEED },
	{ "accelerate", IS_TRAIN, FOR_OTHERS, ENGINES, TARGET_ACCELERATE },
	{ "fsdp", IS_TRAIN, FOR_OTHERS, ENGINES, TARGET_FSDP },
};

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

static int unknown_kind(struct run *r)
{
	const char *list = "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		list = arena_printf(&r->arena, "%s%s%s", list, i ? ", " : "", kinds[i].name);
	return complain_text(EXIT_USAGE, "generate knows %s, not \"%s\"", list, r->args[0]);
}

/* A TCP port. */
static int port_of(struct run *r, int usual, int *out)
{
	long long v;

	*out = usual;
	if (!r->value[OPT_PORT])
		return 0;
	if (parse_i64(r->value[OPT_PORT], &v) || v < 1 || v > 65535)
		return complain_text(EXIT_USAGE, "--port takes 1 to 65535, not \"%s\"",
				     r->value[OPT_PORT]);
	*out = (int)v;
	return 0;
}

int generate_refused(int got, const struct err *e)
{
	return complain(got == -ENODEV ? EXIT_BLIND : EXIT_USAGE, e);
}

static int make_launch(struct run *r, const struct kind *k, const struct gen_envs *envs,
		       struct gen_launch *l)
{
	char *const *program = r->args + 1;
	size_t n = (size_t)r->n_args - 1;
	struct err e = { 0 };
	bool starts = k->is == IS_TORCHRUN || k->is == IS_MPI || k->is == IS_SBATCH;
	int port, code = port_of(r, 29500, &port), got = 0;

	if (code)
		return code;
	if (!n && starts)
		return complain_text(
			EXIT_USAGE,
			"generate %s needs what it is to start: generate %s -- PROGRAM "
			"ARGUMENTS",
			k->name, k->name);
	if (n && !starts)
		return complain_text(EXIT_USAGE, "generate %s takes no argument \"%s\"", k->name,
				     program[0]);
	if (k->is == IS_TORCHRUN)
		got = gen_torchrun(&r->arena, envs, program, n, r->value[OPT_HEAD], port, l, &e);
	else if (k->is == IS_MPI)
		got = gen_mpi(&r->arena, envs, program, n, l, &e);
	else if (k->is == IS_SBATCH)
		got = gen_sbatch(&r->arena, envs, program, n, port, l, &e);
	else if (k->is == IS_HOSTFILE)
		got = gen_hostfile(&r->arena, envs, l, &e);
	else if (k->is == IS_DEEPSPEED)
		got = gen_deepspeed_env(&r->arena, envs, l, &e);
	return got < 0 ? generate_refused(got, &e) : 0;
}

/* A job is a file: what is sent to sbatch. */
static int job_text(struct run *r, const struct generate_view *v, struct gen_launch *l)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		out_of_memory(0);
	generate_shell(f, &r->arena, v);
	if (fclose(f) || !text)
		out_of_memory(0);
	l->file_name = "job.sbatch";
	l->file_text = arena_strdup(&r->arena, text);
	free(text);
	return 0;
}

static int only_rank(struct run *r, const struct gen_cluster *c, long long *out)
{
	*out = -1;
	if (!r->value[OPT_RANK])
		return 0;
	if (parse_i64(r->value[OPT_RANK], out) || *out < 0 || (size_t)*out >= c->n)
		return complain_text(EXIT_USAGE, "--rank takes 0 to %zu, not \"%s\"", c->n - 1,
				     r->value[OPT_RANK]);
	return 0;
}

static int exit_code(const struct generate_view *v)
{
	if (v->serve && !v->serve->fits)
		return EXIT_FINDINGS;
	for (size_t i = 0; i < v->envs->n_problems; i++)
		if (v->envs->problems[i].fatal)
			return EXIT_FINDINGS;
	return EXIT_CLEAN;
}

/* Who asks for the file gets no page with it: what is wrong goes to standard error. */
static void tell_problems(const struct generate_view *v)
{
	for (size_t i = 0; i < v->envs->n_problems; i++) {
		const struct gen_problem *p = &v->envs->problems[i];

		complain_text(0, "%s%s%s", p->node, *p->node ? ": " : "", p->says);
	}
	if (v->serve && !v->serve->fits)
		complain_text(0, "it does not fit: %s", v->serve->fits_why);
}

/* What nobody knows here, and without what a unit seldom starts. */
static const char unit_needs[] =
	"# To be added below [Service]: User=NAME (else it runs as root), WorkingDirectory=DIR\n"
	"# (else /), and Environment=PATH=... where the program is not on systemd's own path.\n";

/* Whole or not at all: half a unit must not look like one. */
static int print_file(struct run *r, struct generate_view *v, const char *format, int code)
{
	struct err e = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int got = 0;

	if (!f)
		out_of_memory(0);
	if (strcmp(format, "shell") == 0) {
		generate_shell(f, &r->arena, v);
	} else if (strcmp(format, "systemd") == 0) {
		fputs(unit_needs, f);
		got = generate_systemd(f, &r->arena, v, &e);
	} else {
		fputs(generate_in_container(r, v), f);
		got = generate_compose(f, &r->arena, v, &e);
	}
	if (fclose(f))
		out_of_memory(0);
	if (got == 0)
		fwrite(text, 1, len, r->out);
	free(text);
	return got < 0 ? complain(EXIT_USAGE, &e) : code;
}

static int tell(struct run *r, struct generate_view *v)
{
	const char *format = r->value[OPT_FORMAT] ? r->value[OPT_FORMAT] : "term";
	int code = exit_code(v), got = 0;
	bool nothing = v->serve && !v->serve->fits;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, generate_json(v, (long long)time(NULL), code));
		return code;
	}
	if (strcmp(format, "shell") != 0 && strcmp(format, "systemd") != 0 &&
	    strcmp(format, "compose") != 0) {
		got = run_print_doc(r, page_generate(&r->arena, v), "gputune generate");
		return got ? got : code;
	}
	tell_problems(v);
	if (nothing)
		return code;
	return print_file(r, v, format, code);
}

static int generate(struct run *r, const struct kind *k, const struct generate_nodes *nodes)
{
	struct serve_plan *plan = ARENA_NEW(&r->arena, struct serve_plan);
	struct serve_ask ask = { 0 };
	struct gen_launch launch = { 0 };
	struct gen_envs envs;
	struct generate_view v = { .kind = k->name,
				   .envs = &envs,
				   .image = r->value[OPT_IMAGE],
				   .named = nodes->place != NULL };
	int code = only_rank(r, &nodes->cluster, &v.only);

	if (code)
		return code;
	gen_envs_make(&r->arena, &nodes->cluster, nodes->place ? FOR_OTHERS : k->what, &envs);
	if (k->is == IS_SERVE) {
		code = generate_serve(r, k->engine, nodes, &envs, &ask, plan);
		v.serve = plan;
		v.ask = &ask;
		v.launch = &plan->launch;
	} else {
		code = make_launch(r, k, &envs, &launch);
		if (!code && (k->is == IS_TORCHRUN || k->is == IS_SBATCH))
			code = generate_train_launch(r, &nodes->cluster, &envs, &launch);
		v.launch = k->is == IS_ENV ? NULL : &launch;
		if (!code && k->is == IS_SBATCH)
			code = job_text(r, &v, &launch);
	}
	return code ? code : tell(r, &v);
}

int verb_generate(struct run *r)
{
	const struct kind *k = find_kind(r->args[0]);
	struct generate_nodes nodes = { 0 };
	int code;

	if (!k)
		return unknown_kind(r);
	code = generate_options_used(
		r, &(struct generate_use){ .trains = k->is == IS_TRAIN,
					   .serves = k->is == IS_SERVE,
					   .launches = k->is == IS_TORCHRUN || k->is == IS_SBATCH,
					   .target = k->target });
	if (code)
		return code;
	if (k->is == IS_TRAIN)
		return generate_train(r, k->target);
	if (r->value[OPT_EDIT])
		return complain_text(EXIT_USAGE, "--edit goes with deepspeed, accelerate and fsdp");
	code = generate_nodes(r, &nodes);
	if (!code)
		code = generate(r, k, &nodes);
	generate_nodes_close(&nodes);
	return code;
}
