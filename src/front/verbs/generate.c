/* SPDX-License-Identifier: Apache-2.0 */
/* gputune generate: files and command lines for other programs, from what the machines are. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "front/verbs/generate.h"
#include "base/text.h"
#include "front/model_ask.h"
#include "many/cluster/links.h"

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
static int verb_generate_port_of(struct run *r, int usual, int *out)
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

/* Complains. EXIT_BLIND where a machine's GPUs are not seen or not known (-ENODEV), as of predict;
 * else EXIT_USAGE. */
static int generate_refused(int got, const struct err *e)
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
	int port, code = verb_generate_port_of(r, 29500, &port), got = 0;

	if (code)
		return code;
	if (!n && starts)
		return complain_text(
			EXIT_USAGE,
			"generate %s needs what it is to start: generate %s -- PROGRAM ARGUMENTS",
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

static int verb_generate_exit_code(const struct generate_view *v)
{
	if (v->serve && !v->serve->fits)
		return EXIT_FINDINGS;
	for (size_t i = 0; i < v->envs->n_problems; i++)
		if (v->envs->problems[i].fatal)
			return EXIT_FINDINGS;
	return EXIT_CLEAN;
}

/* Who asks for the file gets no page with it: what is wrong goes to standard error. */
static void print_problems(const struct generate_view *v)
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

/* A file's own folder: a GGUF file may be one of several. In the hub's cache
 * (models--OWNER--NAME/snapshots/REVISION) files are links to what lies beside the snapshots. */
static const char *verb_generate_folder_of(struct arena *a, const char *path)
{
	const char *hub = strstr(path, "/snapshots/"), *folder = path_folder(a, path);

	if (hub && hub > path)
		return arena_strndup(a, path, (size_t)(hub - path));
	/* Of what lies in the root that file alone. */
	return str_ends(path, ".gguf") && folder[1] ? folder : path;
}

static void replace(const struct gen_launch *l, const char *old, const char *by)
{
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->commands[i].n; k++)
			if (strcmp(l->commands[i].words[k].text, old) == 0)
				l->commands[i].words[k].text = by;
}

/* Without links and steps up: the words of a command mean the same wherever it runs. The last part
 * stays as it is named, since files of the hub's cache are links to others without a type. */
static const char *whole_path(struct arena *a, const char *path)
{
	const char *last = path_name(path);
	bool steps = !*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
	char *real;
	const char *out;

	if (*path == '/')
		return path;
	real = realpath(steps ? path : path_folder(a, path), NULL);
	if (!real)
		return path;
	out = steps ? arena_strdup(a, real)
		    : arena_printf(a, "%s/%s", strcmp(real, "/") == 0 ? "" : real, last);
	free(real);
	return out;
}

static bool is_local(const char *model)
{
	struct stat st;

	return *model == '/' || *model == '.' || str_ends(model, ".gguf") || stat(model, &st) == 0;
}

/* Before what is served is written for containers: where the model is, and
 * the comment that says what is left to add ("" for other kinds). */
static const char *generate_in_container(struct run *r, struct generate_view *v)
{
	const struct gen_launch *l = v->launch;
	const char *path;

	if (!v->serve || !l->n)
		return "";
	/* llama.cpp's images have their server outside of every path
	 * (.devops/cuda.Dockerfile, read 2026-11-22). */
	if (strcmp(l->commands[0].words[0].text, "llama-server") == 0)
		l->commands[0].words[0].text = "/app/llama-server";
	if (is_local(v->serve->model)) {
		path = whole_path(&r->arena, v->serve->model);
		replace(l, v->serve->model, path);
		v->model_folder = verb_generate_folder_of(&r->arena, path);
		return "# The model's folder has to be there on each machine.\n";
	}
	v->model_cache = v->serve->source->engine == ENGINE_LLAMACPP ? "LLAMA_CACHE" : "HF_HOME";
	return "# Models are fetched into the volume \"models\", which stays when a container "
	       "goes; a folder in\n# its place (as your own ~/.cache/huggingface) is used with "
	       "what it has. To be added: HF_TOKEN,\n# where a model asks for one.\n";
}

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

static int verb_generate_print_answer(struct run *r, struct generate_view *v)
{
	const char *format = r->value[OPT_FORMAT] ? r->value[OPT_FORMAT] : "term";
	int code = verb_generate_exit_code(v);
	bool nothing = v->serve && !v->serve->fits;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &generate_result, v, code);
	if (strcmp(format, "shell") != 0 && strcmp(format, "systemd") != 0 &&
	    strcmp(format, "compose") != 0) {
		return run_print_doc(r, page_generate(&r->arena, v), "gputune generate", code);
	}
	print_problems(v);
	if (nothing)
		return code;
	return print_file(r, v, format, code);
}

/* The shape was read from a file; an engine loads the folder around it. llama.cpp loads GGUF alone.
 */
static int file_to_load(struct run *r, struct serve_ask *ask)
{
	if (str_ends(ask->model, ".gguf"))
		return 0;
	if (ask->engine == ENGINE_LLAMACPP)
		return complain_text(
			EXIT_USAGE,
			"llama.cpp loads a GGUF file, or OWNER/NAME of a hub; %s is neither",
			ask->model);
	if (str_ends(ask->model, ".json"))
		ask->model = path_folder(&r->arena, ask->model);
	return 0;
}

/* gputune generate vllm and the like: what was asked, for the plan of serving. */

static int verb_generate_port(struct run *r, enum option_id id, int *out)
{
	long long v;

	if (!r->value[id])
		return 0;
	if (parse_i64(r->value[id], &v) || v < 1 || v > 65535)
		return complain_text(EXIT_USAGE, "--%s takes 1 to 65535, not \"%s\"",
				     option_rows[id].name, r->value[id]);
	*out = (int)v;
	return 0;
}

static int verb_generate_numbers(struct run *r, struct serve_ask *ask)
{
	double users = 0;
	int code = predict_number(r, OPT_CONTEXT, 256, QUESTION_TOKENS, &ask->context);

	if (!code)
		code = predict_number(r, OPT_USERS, 1, 10000, &users);
	if (!code && users != floor(users))
		code = complain_text(EXIT_USAGE, "--users takes a whole number, not \"%s\"",
				     r->value[OPT_USERS]);
	if (!code)
		code = verb_generate_port(r, OPT_PORT, &ask->port);
	ask->users = (int)users;
	ask->context = floor(ask->context);
	/* The defaults are part of what is told. */
	if (ask->context <= 0)
		ask->context = 8192;
	if (!ask->users)
		ask->users = 4;
	return code;
}

/* vllm, sglang, llamacpp, trtllm: fills *ask and *plan. */
static int generate_serve(struct run *r, enum engine engine, const struct generate_nodes *nodes,
			  const struct gen_envs *envs, struct serve_ask *ask,
			  struct serve_plan *plan)
{
	struct model_file *file = ARENA_NEW(&r->arena, struct model_file);
	struct err e = { 0 };
	struct fits fits;
	int code;

	*ask = (struct serve_ask){ .engine = engine,
				   .model = r->value[OPT_MODEL],
				   .head = r->value[OPT_HEAD],
				   .listen = r->value[OPT_LISTEN] };
	if (r->n_args > 1)
		return complain_text(EXIT_USAGE, "generate %s takes no argument \"%s\"", r->args[0],
				     r->args[1]);
	if (!ask->model)
		return complain_text(EXIT_USAGE, "generate %s needs --model", r->args[0]);
	if (ask->head && !gen_name_valid(ask->head))
		return complain_text(EXIT_USAGE, "--head \"%s\" is no name or address of a machine",
				     ask->head);
	if (ask->listen && !gen_name_valid(ask->listen))
		return complain_text(EXIT_USAGE, "--listen \"%s\" is no address", ask->listen);
	code = predict_constants(r, &fits);
	if (!code)
		code = predict_words(r, &ask->words);
	if (!code)
		code = verb_generate_numbers(r, ask);
	if (code)
		return code;
	code = predict_model_file(r, ask->model, file);
	if (code < 0)
		return -code;
	if (code > 0) {
		ask->words.file = file;
		ask->words.weight_bytes = file->bytes;
		code = file_to_load(r, ask);
		if (code)
			return code;
	}
	code = serve_plan_make(&r->arena, ask, envs, nodes->place, &fits, plan, &e);
	return code < 0 ? generate_refused(code, &e) : 0;
}

static int generate(struct run *r, const struct kind *k, const struct generate_nodes *nodes)
{
	struct serve_plan *plan = ARENA_NEW(&r->arena, struct serve_plan);
	struct serve_ask ask = { 0 };
	struct gen_launch launch = { 0 };
	struct gen_envs envs;
	struct generate_view v = { .kind = k->name,
				   .cluster = &nodes->cluster,
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
		v.launch = &plan->launch;
	} else {
		code = make_launch(r, k, &envs, &launch);
		if (!code && (k->is == IS_TORCHRUN || k->is == IS_SBATCH))
			code = generate_train_launch(r, &nodes->cluster, &envs, &launch);
		v.launch = k->is == IS_ENV ? NULL : &launch;
		if (!code && k->is == IS_SBATCH)
			code = job_text(r, &v, &launch);
	}
	return code ? code : verb_generate_print_answer(r, &v);
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

/* Options of generate that would change nothing in what is generated: they are refused. */

/* An option, and what it belongs to. */
struct belongs {
	enum option_id id;
	const char *to;
};

static const struct belongs serving[] = {
	{ OPT_WEIGHTS, "vllm, sglang, llamacpp and trtllm" },
	{ OPT_CACHE, "vllm, sglang, llamacpp and trtllm" },
	{ OPT_CONTEXT, "vllm, sglang, llamacpp and trtllm" },
	{ OPT_USERS, "vllm, sglang, llamacpp and trtllm" },
	{ OPT_LISTEN, "vllm, sglang, llamacpp and trtllm" },
};

static const struct belongs training[] = {
	{ OPT_PARALLEL, NULL },	     { OPT_GLOBAL_BATCH, NULL }, { OPT_MICRO_BATCH, NULL },
	{ OPT_ACCUMULATION, NULL },  { OPT_SEQUENCE, NULL },	 { OPT_PRECISION, NULL },
	{ OPT_CHECKPOINTING, NULL }, { OPT_OPTIMIZER, NULL },	 { OPT_ATTENTION, NULL },
	{ OPT_COMPILE, NULL },	     { OPT_NO_OVERLAP, NULL },	 { OPT_SHARD, NULL },
	{ OPT_BUCKET, NULL },	     { OPT_TRAINED, NULL },	 { OPT_LOADER, NULL },
	{ OPT_WORKERS, NULL },	     { OPT_NETWORK, NULL },	 { OPT_ALL_REDUCE, NULL },
};

static int refused(struct run *r, enum option_id id, const char *to)
{
	return complain_text(EXIT_USAGE, "--%s changes nothing in generate %s: it belongs to %s",
			     option_rows[id].name, r->args[0], to);
}

static int any_of(struct run *r, const struct belongs *rows, size_t n, const char *to)
{
	for (size_t i = 0; i < n; i++)
		if (r->value[rows[i].id])
			return refused(r, rows[i].id, rows[i].to ? rows[i].to : to);
	return 0;
}

/* Where machines meet is in Accelerate's file alone; the others leave it to their launcher. */
static int of_training(struct run *r, enum train_target target)
{
	int code = any_of(r, serving, sizeof(serving) / sizeof(serving[0]), NULL);

	if (!code && r->value[OPT_RANK])
		code = refused(r, OPT_RANK, "commands");
	if (!code && r->value[OPT_IMAGE])
		code = refused(r, OPT_IMAGE, "--format compose");
	if (!code && target != TARGET_ACCELERATE && r->value[OPT_PORT])
		code = refused(r, OPT_PORT, "torchrun, sbatch and accelerate");
	if (!code && target != TARGET_ACCELERATE && r->value[OPT_HEAD])
		code = refused(r, OPT_HEAD, "torchrun, sbatch and accelerate");
	return code;
}

int generate_options_used(struct run *r, const struct generate_use *u)
{
	const char *format = r->value[OPT_FORMAT];
	int code;

	if (u->trains)
		return of_training(r, u->target);
	code = u->serves ? 0 : any_of(r, serving, sizeof(serving) / sizeof(serving[0]), NULL);
	if (!code && !(u->launches && r->value[OPT_MODEL]))
		code = any_of(r, training, sizeof(training) / sizeof(training[0]),
			      u->launches ? "--model, which says what is trained"
					  : "deepspeed, accelerate and fsdp, or to torchrun and "
					    "sbatch with --model");
	if (!code && r->value[OPT_IMAGE] && !(format && strcmp(format, "compose") == 0))
		code = refused(r, OPT_IMAGE, "--format compose");
	return code;
}
