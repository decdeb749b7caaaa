/* SPDX-License-Identifier: Apache-2.0 */
/* gputune generate: files and command lines for other programs, from what the machines are. */
#include "verbs/generate/generate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "look/defects/world.h"
#include "many/cluster/links.h"
#include "verbs/defect_rows.h"

/* --- what the kinds are asked ----------------------------------------------------------------- */

static int name_check(const char *text, struct err *e)
{
	return gen_name_valid(text)
		       ? 0
		       : err_set(e, -EINVAL, "invalid machine name or address \"%s\"", text);
}

/* clang-format off */
#define NODES { ASK_PART(generate_ask, nodes, nodes_ask) }
#define HEAD                                                                                               \
	{ "head", "address of the first machine that the others can reach",                                  \
	  ASK_TEXT(generate_ask, head),                                                                    \
	  .arg = "ADDRESS", .check = name_check }
#define PORT(help) { "port", help, ASK_COUNT(generate_ask, port, 1, 65535) }
#define RANK { "rank", "only print the part for machine N", ASK_COUNT(generate_ask, rank, 0, GEN_NODES_MAX) }
#define IMAGE                                                                                              \
	{ "image", "container image, for --format compose", ASK_TEXT(generate_ask, image), .arg = "IMAGE" }
#define PROGRAM                                                                                            \
	{ "PROGRAM", "the program to start, with its arguments", ASK_TEXTS(generate_ask, program),              \
	  .argument = true, .behind = true, .required = true }
#define TRAINING                                                                                           \
	{ ASK_PART_OF(generate_ask, train.w, train_model_shape) },                                         \
	{ ASK_PART(generate_ask, train, train_ask) },                                                      \
	{ ASK_PART(generate_ask, constants, constants_ask) }
#define EDIT                                                                                               \
	{ "edit", "suggest changes to this file as a diff; -o writes the new file",                  \
	  ASK_TEXT(generate_ask, edit), .arg = "FILE", .files = true }
#define MEETS "port of the rendezvous on the first machine (default: 29500)"

static const struct ask_row variables_rows[] = { NODES, HEAD, RANK };
static const struct ask_row mpi_rows[] = { PROGRAM, NODES, HEAD, RANK, IMAGE };
static const struct ask_row launcher_rows[] = { PROGRAM, NODES, HEAD, PORT(MEETS), RANK, IMAGE, TRAINING };
static const struct ask_row engine_rows[] = {
	{ ASK_PART_OF(generate_ask, serve, infer_model_shape) },
	{ ASK_PART_OF(generate_ask, serve, infer_format_shape) },
	{ "context", "maximum tokens per request", ASK_REAL(generate_ask, context, 256, QUESTION_TOKENS),
	  .fallback = "8192" },
	{ "users", "concurrent requests", ASK_COUNT(generate_ask, users, 1, 10000), .fallback = "4" },
	{ "listen", "address of the server (default: only this machine)", ASK_TEXT(generate_ask, listen),
	  .arg = "ADDRESS", .check = name_check },
	PORT("port of the server"), IMAGE, NODES, HEAD, RANK,
	{ ASK_PART(generate_ask, constants, constants_ask) },
};
static const struct ask_row training_rows[] = { EDIT, NODES, TRAINING };
static const struct ask_row accelerate_rows[] = { EDIT, NODES, HEAD, PORT(MEETS), TRAINING };

static const struct ask_shape
	variables_ask = ASK_SHAPE(generate_ask, NULL, variables_rows),
	mpi_ask = ASK_SHAPE(generate_ask, NULL, mpi_rows),
	launcher_ask = ASK_SHAPE(generate_ask, NULL, launcher_rows),
	engine_ask = ASK_SHAPE(generate_ask, NULL, engine_rows),
	training_ask = ASK_SHAPE(generate_ask, NULL, training_rows),
	accelerate_ask = ASK_SHAPE(generate_ask, NULL, accelerate_rows);
/* clang-format on */

/* --- variables, launchers, files -------------------------------------------------------------- */

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

struct kind {
	const char *name;
	enum kind_is is;
	enum gen_for what;
	enum engine engine;
	enum train_target target;
};

/* EXIT_BLIND where a machine's GPUs are not seen or not known (-ENODEV), as of predict; else
 * EXIT_USAGE. */
static int generate_refused(struct door *d, int got, const struct err *e)
{
	return door_fail(d, got == -ENODEV ? EXIT_BLIND : EXIT_USAGE, e);
}

static int make_launch(struct generated *g, const struct kind *k, const struct generate_ask *ask)
{
	const struct ask_texts *program = &ask->program;
	struct arena *a = g->d->arena;
	struct gen_launch *l = &g->launch;
	const struct gen_envs *envs = &g->envs;
	char **words = arena_array(a, program->n + 1, sizeof(*words));
	struct err e = { 0 };
	int port = ask->port ? ask->port : 29500, got = 0;

	for (size_t i = 0; i < program->n; i++)
		words[i] = arena_strdup(a, program->items[i]);
	if (k->is == IS_TORCHRUN)
		got = gen_torchrun(a, envs, words, program->n, ask->head, port, l, &e);
	else if (k->is == IS_MPI)
		got = gen_mpi(a, envs, words, program->n, l, &e);
	else if (k->is == IS_SBATCH)
		got = gen_sbatch(a, envs, words, program->n, port, l, &e);
	else if (k->is == IS_HOSTFILE)
		got = gen_hostfile(a, envs, l, &e);
	else if (k->is == IS_DEEPSPEED)
		got = gen_deepspeed_env(a, envs, l, &e);
	return got < 0 ? generate_refused(g->d, got, &e) : 0;
}

/* A job is a file: what is sent to sbatch. */
static void job_text(struct generated *g)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		out_of_memory(0);
	generate_shell(f, g->d->arena, &g->view);
	if (fclose(f) || !text)
		out_of_memory(0);
	g->launch.file_name = "job.sbatch";
	g->launch.file_text = arena_strdup(g->d->arena, text);
	free(text);
}

/* Rows whose members are not as they were at the beginning: *name is the first one. */
struct changed {
	const char *object, *fresh, *name;
};

static bool find_changed(void *ctx, const struct ask_row *row, const struct ask_shape *s,
			 void *member)
{
	struct changed *g = ctx;

	(void)s;
	if (memcmp(member, g->fresh + ((const char *)member - g->object), row->size) != 0)
		g->name = row->name;
	return !g->name;
}

/* Options of a training where none is named would change nothing. */
static int no_training(struct generated *g, const struct generate_ask *ask)
{
	struct train_ask own = ask->train, fresh;
	struct changed changed = { (const char *)&own, (const char *)&fresh, NULL };

	if (own.w.model)
		return 0;
	ask_init(g->d->arena, &train_ask_shape, &fresh);
	ask_for_each(&train_ask_shape, &own, find_changed, &changed);
	return changed.name ? door_refuse(g->d, EXIT_USAGE,
					  "--%s has no effect in generate %s without --model",
					  changed.name, g->view.kind)
			    : 0;
}

static int generate_launch(struct generated *g, const struct kind *k,
			   const struct generate_ask *ask)
{
	bool trains = k->is == IS_TORCHRUN || k->is == IS_SBATCH;
	int code = trains ? no_training(g, ask) : 0;

	code = code ? code : make_launch(g, k, ask);
	if (!code && trains)
		code = generate_train_launch(g, ask);
	g->view.launch = k->is == IS_ENV ? NULL : &g->launch;
	if (!code && k->is == IS_SBATCH)
		job_text(g);
	return code;
}

/* --- engines ---------------------------------------------------------------------------------- */

/* The shape was read from a file; an engine loads the folder around it. llama.cpp loads GGUF alone.
 */
static int file_to_load(struct door *d, struct serve_ask *ask)
{
	if (!ask->words.file || str_ends(ask->model, ".gguf"))
		return 0;
	if (ask->engine == ENGINE_LLAMACPP)
		return door_refuse(
			d, EXIT_USAGE,
			"llama.cpp loads a GGUF file or OWNER/NAME of a hub; %s is neither",
			ask->model);
	if (str_ends(ask->model, ".json"))
		ask->model = path_folder(d->arena, ask->model);
	return 0;
}

static int generate_serve(struct generated *g, const struct kind *k,
			  const struct generate_ask *asked)
{
	const struct machine_ask *from = &asked->nodes.machine;
	struct serve_ask ask = { .engine = k->engine,
				 .model = asked->serve.model,
				 .words = asked->serve,
				 .context = floor(asked->context),
				 .users = asked->users,
				 .head = asked->head,
				 .listen = asked->listen,
				 .port = asked->port };
	struct door *d = g->d;
	struct err e = { 0 };
	struct fits fits;
	int code;

	if (!ask.model)
		return door_refuse(d, EXIT_USAGE, "generate %s requires --model", k->name);
	ask.words.on = asked->nodes.on;
	ask.words.accept = NAN;
	ask.words.draft_cost = 0.05;
	code = door_fits(d, &asked->constants, ask.words.on, from, ask.model, &fits);
	code = code ? code : door_infer_options(d, &ask.words, from->capture);
	code = code ? code : file_to_load(d, &ask);
	if (code)
		return code;
	g->view.serve = &g->plan;
	g->view.launch = &g->plan.launch;
	code = serve_plan_make(d->arena, &ask, &g->envs, g->nodes.place, &fits, &g->plan, &e);
	return code < 0 ? generate_refused(d, code, &e) : 0;
}

/* --- the answer ------------------------------------------------------------------------------- */

static int generate_exit_code(const struct generate_view *v)
{
	if (v->serve && !v->serve->fits)
		return EXIT_FINDINGS;
	for (size_t i = 0; i < v->envs->n_problems; i++)
		if (v->envs->problems[i].fatal)
			return EXIT_FINDINGS;
	return EXIT_CLEAN;
}

/* What sets a known defect off on its machine: a variable is left out, an option that avoids it is
 * added, and of other commands it is said. */
static void avoid_defect(struct generated *g, const struct gen_env *e, struct gen_launch *l,
			 const struct defect_match *m)
{
	struct arena *a = g->d->arena;
	const char *fix = defect_text_of(m->row, "fix", "says"),
		   *title = arena_printf(a, "known defect %s: %s", defect_text(m->row, "id"),
					 defect_text(m->row, "title"));
	bool dropped = false;

	for (size_t i = 0; i < m->n_proofs; i++)
		dropped |= gen_env_drop(a, &g->envs, m->proofs[i].text, title);
	for (size_t i = 0; l && str_starts(fix, "--") && !strchr(fix, ' ') && i < l->n; i++) {
		gen_word_add(a, &l->commands[i], fix, title);
		dropped = true;
	}
	if (!dropped)
		gen_problem_add(a, &g->envs,
				&(struct gen_problem){ .code = "known-defect",
						       .node = e->node->name,
						       .says = title,
						       .fix = fix });
}

static void avoid_defects(struct generated *g, const struct defect_rows *rows, struct gen_launch *l)
{
	struct gen_envs *envs = &g->envs;
	struct arena *a = g->d->arena;

	for (size_t n = 0; n < envs->c->n && envs->of[n].node; n++) {
		struct gen_env *e = &envs->of[n];
		struct defect_words words = { json_object(), json_array(), e->node->nccl };
		struct defect_matches found;

		for (size_t i = 0; i < e->n; i++)
			json_object_set_new(words.env, e->vars[i].name,
					    json_string(e->vars[i].value));
		for (size_t i = 0; l && i < l->n; i++)
			json_array_append_new(words.processes,
					      json_string(command_line(a, &l->commands[i])));
		defects_of_words(a, rows, e->node->facts, &words, &found);
		for (size_t i = 0; i < found.n; i++)
			avoid_defect(g, e, l, &found.items[i]);
		json_decref(words.env);
		json_decref(words.processes);
	}
}

static int generate_answer(struct door *d, const struct kind *k, const struct generate_ask *ask,
			   struct generated *g)
{
	struct generate_nodes *nodes = &g->nodes;
	struct defect_rows rows;
	int code;

	g->d = d;
	g->view = (struct generate_view){
		.kind = k->name, .cluster = &nodes->cluster, .envs = &g->envs, .only = -1
	};
	if (k->is == IS_TRAIN)
		return generate_train(g, ask, k->target);
	code = generate_nodes(d, ask, nodes);
	if (!code && ask->rank >= 0 && (size_t)ask->rank >= nodes->cluster.n)
		code = door_refuse(d, EXIT_USAGE, "--rank takes 0 to %zu, got \"%d\"",
				   nodes->cluster.n - 1, ask->rank);
	if (code)
		return code;
	g->view.only = ask->rank;
	g->view.image = ask->image;
	g->view.named = nodes->place != NULL;
	gen_envs_make(d->arena, &nodes->cluster, nodes->place ? FOR_OTHERS : k->what, &g->envs);
	defects_rows(d, &rows);
	avoid_defects(g, &rows, NULL);
	code = k->is == IS_SERVE ? generate_serve(g, k, ask) : generate_launch(g, k, ask);
	if (!code && g->view.launch)
		avoid_defects(g, &rows, k->is == IS_SERVE ? &g->plan.launch : &g->launch);
	return code ? code : generate_exit_code(&g->view);
}

VERB_PAGE_OF(generate_page, page_generate, generate_view)

/* --- the file itself -------------------------------------------------------------------------- */

/* Who asks for the file gets no page with it: what is wrong is said besides. */
static void note_problems(const struct generated *g)
{
	const struct generate_view *v = &g->view;

	for (size_t i = 0; i < v->envs->n_problems; i++) {
		const struct gen_problem *p = &v->envs->problems[i];

		door_warn(g->d, "%s%s%s", p->node, *p->node ? ": " : "", p->says);
	}
	if (v->serve && !v->serve->fits)
		door_warn(g->d, "does not fit: %s", v->serve->fits_why);
}

/* What nobody knows here, and without what a unit seldom starts. */
static const char unit_needs[] =
	"# Add below [Service]: User=NAME (else it runs as root), WorkingDirectory=DIR\n# (else "
	"/), and Environment=PATH=... if the program is not on systemd's own path.\n";

/* A file's own folder: a GGUF file may be one of several. In the hub's cache
 * (models--OWNER--NAME/snapshots/REVISION) files are links to what lies beside the snapshots. */
static const char *folder_of(struct arena *a, const char *path)
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
static const char *in_container(struct arena *a, struct generate_view *v)
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
		path = whole_path(a, v->serve->model);
		replace(l, v->serve->model, path);
		v->model_folder = folder_of(a, path);
		return "# The model's folder must exist on each machine.\n";
	}
	v->model_cache = v->serve->source->engine == ENGINE_LLAMACPP ? "LLAMA_CACHE" : "HF_HOME";
	return "# Models are downloaded to the volume \"models\", which outlives the container; a "
	       "folder in\n# its place (such as ~/.cache/huggingface) is used with its contents. "
	       "Add HF_TOKEN\n# if the model requires one.\n";
}

/* Whole or not at all: half a unit must not look like one. */
static int write_whole(FILE *out, const struct generated *g, int code,
		       int (*write)(FILE *f, struct generated *g, struct err *e))
{
	struct generated own = *g;
	struct err e = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int got;

	note_problems(g);
	if (g->view.serve && !g->view.serve->fits)
		return code;
	f = open_memstream(&text, &len);
	if (!f)
		out_of_memory(0);
	got = write(f, &own, &e);
	if (fclose(f))
		out_of_memory(0);
	if (got == 0)
		fwrite(text, 1, len, out);
	free(text);
	return got < 0 ? -door_fail(g->d, EXIT_USAGE, &e) : code;
}

static int shell_text(FILE *f, struct generated *g, struct err *e)
{
	(void)e;
	generate_shell(f, g->d->arena, &g->view);
	return 0;
}

static int systemd_text(FILE *f, struct generated *g, struct err *e)
{
	fputs(unit_needs, f);
	return generate_systemd(f, g->d->arena, &g->view, e);
}

static int compose_text(FILE *f, struct generated *g, struct err *e)
{
	fputs(in_container(g->d->arena, &g->view), f);
	return generate_compose(f, g->d->arena, &g->view, e);
}

static int write_shell(FILE *out, const void *ask, const void *answer, int code)
{
	(void)ask;
	return write_whole(out, answer, code, shell_text);
}

static int write_systemd(FILE *out, const void *ask, const void *answer, int code)
{
	(void)ask;
	return write_whole(out, answer, code, systemd_text);
}

static int write_compose(FILE *out, const void *ask, const void *answer, int code)
{
	(void)ask;
	return write_whole(out, answer, code, compose_text);
}

static int write_training(FILE *out, const void *ask, const void *answer, int code)
{
	const struct generated *g = answer;
	const struct train_view *t = &g->train;

	(void)ask;
	if (!t->setup->fits)
		return -door_refuse(g->d, code, "does not fit: %s", t->setup->fits_why);
	fputs(t->edit ? t->edit->diff : t->file.text, out);
	return code;
}

#define TRAINING_FORMATS FORMATS({ "shell", write_training })
static const struct verb_format shell_formats[] = { { "shell", write_shell }, { NULL, NULL } };
static const struct verb_format command_formats[] = { { "shell", write_shell },
						      { "systemd", write_systemd },
						      { "compose", write_compose },
						      { NULL, NULL } };

SHAPE_GIVES(bool, edits, generate_ask, x->edit != NULL)

static const char *edited_file(const void *answer, size_t *len)
{
	const struct generated *g = answer;

	*len = g->edited_len;
	return g->edited;
}

/* --- the kinds -------------------------------------------------------------------------------- */

#define MACHINES                                                                                   \
	" For this machine, or those of --host, --node, --cluster or --on. Each value has its "    \
	"reason."
#define ABOUT_VARIABLES                                                                            \
	"Prints the variables for each machine; --format shell prints a script that sets them."
#define ABOUT_LAUNCHERS                                                                            \
	"Prints the start command for PROGRAM on all machines; --format shell, systemd or "        \
	"compose prints a file."
#define ABOUT_TRAINED ABOUT_LAUNCHERS " --model adds the program's own arguments."
#define ABOUT_FILES "Lists all machines; --format shell prints the file itself."
#define ABOUT_ENGINES                                                                              \
	"Prints the command that serves --model. Parallelism, memory share and cache format "      \
	"follow from the prediction and from free memory; --format shell, systemd or compose "     \
	"prints a file."
#define ABOUT_TRAININGS                                                                            \
	"Prints a configuration that trains --model, with values from the prediction; --format "   \
	"shell prints the file itself. --edit FILE shows changes to your file as a diff; -o "      \
	"writes a new file."
#define ELSEWHERE " --on h200"
#define CAPTURED " --node node1=node1.tar --node node2=node2.tar"

/* machines, arguments: options of its two examples. edits_file: whether it has --edit. */
#define GENERATE_VERB(id, word, output, program, engine, target, line, questions, forms,           \
		      paragraph, edits_file, machines, arguments)                                  \
	static const struct kind id##_kind = { word, output, program, engine, target };            \
	static int id##_answer(struct door *d, const void *ask, void *answer)                      \
	{                                                                                          \
		return generate_answer(d, &id##_kind, ask, answer);                                \
	}                                                                                          \
	static const struct verb id##_verb = {                                                     \
		.name = word,                                                                      \
		.summary = line,                                                                   \
		.about = paragraph MACHINES,                                                       \
		.exits = "1: the machines have a problem, or the model does not fit",              \
		.examples =                                                                        \
			EXAMPLES({ "generate " word arguments, "for this machine" },               \
				 { "generate " word machines arguments, "for other machines" }),   \
		.ask = &questions,                                                                 \
		.answer = id##_answer,                                                             \
		.result = &generate_result,                                                        \
		.answer_size = sizeof(struct generated),                                           \
		.page = generate_page,                                                             \
		.formats = forms,                                                                  \
		.makes = edits_file ? edits : NULL,                                                \
		.made = edits_file ? edited_file : NULL,                                           \
		.reads = READS_FILES,                                                              \
	};

/* clang-format off */
#define VARIABLES(id, word, program, line)                                                         \
	GENERATE_VERB(id, word, IS_ENV, program, ENGINES, 0, line, variables_ask,                  \
		      shell_formats, ABOUT_VARIABLES, false, ELSEWHERE, "")
#define LAUNCHER(id, output, program, line, questions, about)                                      \
	GENERATE_VERB(id, #id, output, program, ENGINES, 0, line, questions,                       \
		      command_formats, about, false, ELSEWHERE, " -- train.py")
#define GENERATED_FILE(id, output, program, line)                                                  \
	GENERATE_VERB(id, #id, output, program, ENGINES, 0, line, variables_ask,                   \
		      shell_formats, ABOUT_FILES, false, CAPTURED, "")
#define ENGINE(id, program, engine, line)                                                          \
	GENERATE_VERB(id, #id, IS_SERVE, program, engine, 0, line, engine_ask,                     \
		      command_formats, ABOUT_ENGINES, false, ELSEWHERE, " --model llama-3.1-8b")
#define TRAINING_FILE(id, target, line, questions)                                                 \
	GENERATE_VERB(id, #id, IS_TRAIN, FOR_OTHERS, ENGINES, target, line, questions, TRAINING_FORMATS, \
		      ABOUT_TRAININGS, true, ELSEWHERE, " --model llama-3.1-8b")

VARIABLES(nccl, "nccl", FOR_NCCL, "variables for NCCL")
VARIABLES(nccl_env, "nccl-env", FOR_TORCH, "variables for NCCL and for PyTorch's own connections")
VARIABLES(vllm_env, "vllm-env", FOR_VLLM, "variables for vLLM")
LAUNCHER(torchrun, IS_TORCHRUN, FOR_TORCH, "start a program with torchrun", launcher_ask, ABOUT_TRAINED)
LAUNCHER(mpi, IS_MPI, FOR_NCCL, "start a program with mpirun", mpi_ask, ABOUT_LAUNCHERS)
LAUNCHER(sbatch, IS_SBATCH, FOR_TORCH, "start a program as a Slurm job", launcher_ask, ABOUT_TRAINED)
GENERATED_FILE(hostfile, IS_HOSTFILE, FOR_NCCL, "the host file for mpirun and DeepSpeed")
GENERATED_FILE(deepspeed_env, IS_DEEPSPEED, FOR_TORCH, "the variables that DeepSpeed's launcher passes on")
ENGINE(vllm, FOR_VLLM, ENGINE_VLLM, "serve a model with vLLM")
ENGINE(sglang, FOR_SGLANG, ENGINE_SGLANG, "serve a model with SGLang")
ENGINE(llamacpp, FOR_OTHERS, ENGINE_LLAMACPP, "serve a model with llama.cpp")
ENGINE(trtllm, FOR_TRTLLM, ENGINE_TRTLLM, "serve a model with TensorRT-LLM")
TRAINING_FILE(deepspeed, TARGET_DEEPSPEED, "train a model with DeepSpeed", training_ask)
TRAINING_FILE(accelerate, TARGET_ACCELERATE, "train a model with Accelerate", accelerate_ask)
TRAINING_FILE(fsdp, TARGET_FSDP, "train a model with FSDP", training_ask)

static const struct verb *const generate_subs[] = {
	&nccl_verb, &vllm_env_verb, &nccl_env_verb,
	&torchrun_verb, &mpi_verb, &sbatch_verb,
	&hostfile_verb, &deepspeed_env_verb,
	&vllm_verb, &sglang_verb, &llamacpp_verb, &trtllm_verb,
	&deepspeed_verb, &accelerate_verb, &fsdp_verb,
	NULL,
};
/* clang-format on */

const struct verb generate_verb = {
	.name = "generate",
	.group = VERB_MODELS,
	.summary = "variables, commands and files for NCCL, launchers, engines and training",
	.about = "Generates variables (nccl, vllm-env), start commands (torchrun, mpi, sbatch), "
		 "files (hostfile), engine commands (vllm, sglang, llamacpp, trtllm) and training "
		 "configurations (deepspeed, accelerate, fsdp). Each value has its reason.",
	.words = "config configuration template llama.cpp launcher",
	.examples = EXAMPLES(
		{ "generate nccl", "variables for this machine" },
		{ "generate vllm --model llama-3.1-8b", "the command that serves a model" },
		{ "generate torchrun -- train.py", "the command that starts a program" }),
	.subs = generate_subs,
};
