/* SPDX-License-Identifier: Apache-2.0 */
/* What was generated, and what was found in what people wrote, a row a figure. Keys and meanings
 * are API. */
#include <string.h>

#include "models/generate/page_generate.h"
#include "render/shape_page.h"

/* clang-format off */

#define A_TEXT(type, m) SHAPE_TEXT(type, m), .unknown = SHAPE_NULL
/* "" where it is not known. */
#define NO_EMPTY_TEXT(type, m) SHAPE_TEXT(type, m), .unknown = SHAPE_ZERO
#define A_FIGURE(type, m) SHAPE_REAL(type, m), .unknown = SHAPE_NULL

/* --- generate --- */

static const char *const nccl_knows_names[] = {
	[NCCL_KNOWN] = "yes", [NCCL_NOT_YET] = "not-yet", [NCCL_NO_MORE] = "no-more", [NCCL_NEVER] = "never",
	[NCCL_NOT_TOLD] = "not-told",
};

static bool gen_var_nccl(const void *object)
{
	const char *library = ((const struct gen_var *)object)->library;

	return library && strcmp(library, "NCCL") == 0;
}

static const struct shape gen_var_shape = SHAPE_OF(gen_var, gen_var,
	{ "name", NULL, SHAPE_TEXT(gen_var, name) },
	{ "value", NULL, SHAPE_TEXT(gen_var, value) },
	{ "reason", NULL, SHAPE_TEXT(gen_var, reason) },
	{ "library", "Library that reads the variable.", A_TEXT(gen_var, library) },
	{ "since", "First release that supports it; null: all listed releases.", A_TEXT(gen_var, since) },
	{ "known", "Whether the NCCL on that machine supports the variable.",
	  SHAPE_CHOICE(gen_var, known, nccl_knows_names), .when_of = gen_var_nccl });

#define OF_NODE SHAPE_VIA(gen_env, node, gen_node)

const struct shape gen_env_shape = SHAPE_OF(gen_env, gen_env,
	{ "rank", NULL, SHAPE_COUNT(gen_env, rank), .title = "Rank" },
	{ "name", NULL, SHAPE_TEXT(gen_node, name), OF_NODE, .title = "Machine", .style_of = shape_strong },
	{ "address", "Address for the other machines.", NO_EMPTY_TEXT(gen_node, address), OF_NODE, .title = "Address" },
	{ "interface", "Interface of that address.", NO_EMPTY_TEXT(gen_node, control), OF_NODE, .title = "Interface" },
	{ "platform", NULL, NO_EMPTY_TEXT(gen_node, platform), OF_NODE },
	{ "gpu", NULL, NO_EMPTY_TEXT(gen_node, gpu), OF_NODE, .title = "GPU" },
	{ "gpus", NULL, SHAPE_COUNT(gen_node, gpus), OF_NODE, .title = "GPUs" },
	{ "nccl", "Version of the system library.", A_TEXT(gen_node, nccl), OF_NODE, .title = "NCCL" },
	{ "from", "Source of its facts.",
	  SHAPE_TEXT(gen_node, from), OF_NODE, .title = "~From", .style_of = shape_muted },
	{ "variables", NULL, SHAPE_LIST(gen_env, vars, n, gen_var) });

static const struct shape_row gen_word_text_rows[] = { { NULL, NULL, SHAPE_TEXT(gen_word, text) } };
static const struct shape_row gen_word_reason_rows[] = { { NULL, NULL, A_TEXT(gen_word, reason) } };
static const struct shape gen_word_text_shape = SHAPE(gen_word, gen_word_text);
static const struct shape gen_word_reason_shape = SHAPE(gen_word, gen_word_reason);

static const void *gen_command_vars(struct arena *a, const void *object, size_t *n)
{
	const struct gen_env *e = ((const struct gen_command *)object)->env;

	(void)a;
	*n = e ? e->n : 0;
	return e ? e->vars : NULL;
}

static const struct shape gen_command_shape = SHAPE_OF(gen_command, gen_command,
	{ "node", "Node; null: run once on the first node.",
	  A_TEXT(gen_node, name), SHAPE_VIA(gen_command, node, gen_node) },
	{ "rank", NULL, SHAPE_COUNT(gen_command, rank) },
	{ "role", NULL, A_TEXT(gen_command, role) },
	{ "argv", NULL, SHAPE_LIST_AS(gen_command, words, n, gen_word, gen_word_text_shape) },
	{ "reasons", "Reason for each word; null: part of the previous word.",
	  SHAPE_LIST_AS(gen_command, words, n, gen_word, gen_word_reason_shape) },
	{ "variables", "Environment variables to set for the command.", SHAPE_LIST_MADE(gen_command_vars, gen_var) });

static const char *gen_problem_node(struct arena *a, const void *object)
{
	const struct gen_problem *p = object;

	(void)a;
	return *p->node ? p->node : "all";
}

SHAPE_GIVES(unsigned, gen_problem_style, gen_problem, x->fatal ? STYLE_BAD : STYLE_WARN)

static const struct shape gen_problem_shape = SHAPE_OF(gen_problem, gen_problem,
	{ "code", "Never renamed.", SHAPE_TEXT(gen_problem, code) },
	{ "node", "null: all.", NO_EMPTY_TEXT(gen_problem, node), .title = "Machine", .shown = gen_problem_node },
	{ "says", NULL, SHAPE_TEXT(gen_problem, says), .title = "~What", .style_of = gen_problem_style },
	{ "fix", NULL, A_TEXT(gen_problem, fix), .title = "~Fix" },
	{ "fatal", "true: the generated output will fail or misbehave.", SHAPE_FLAG(gen_problem, fatal) });

static const struct shape gen_left_shape = SHAPE_OF(gen_left, gen_left,
	{ "name", NULL, SHAPE_TEXT(gen_left, name), .title = "Variable", .style_of = shape_code },
	{ "why", NULL, SHAPE_TEXT(gen_left, why), .title = "~Why not" });

/* --- serving --- */

static const struct shape serve_try_shape = SHAPE_OF(serve_try, serve_try,
	{ "tp", NULL, SHAPE_COUNT(serve_try, tp) },
	{ "pp", NULL, SHAPE_COUNT(serve_try, pp) },
	{ "fits", NULL, SHAPE_FLAG(serve_try, fits) },
	{ "throughput_tok_s", NULL, A_FIGURE(serve_try, throughput_tok_s) },
	{ "tpot_ms", NULL, A_FIGURE(serve_try, tpot_ms) },
	{ "ttft_ms", NULL, A_FIGURE(serve_try, ttft_ms) },
	{ "memory_bytes", NULL, A_FIGURE(serve_try, bytes) },
	{ "not_possible", "Why.", A_TEXT(serve_try, not_possible) });

SHAPE_GIVES(const char *, serve_kv, serve_plan, *x->kv ? x->kv : "auto")

#define OF_SOURCE SHAPE_VIA(serve_plan, source, engine_source)

static const struct shape serve_plan_shape = SHAPE_OF(serve_plan, serve_plan,
	{ "engine", NULL, SHAPE_TEXT(engine_source, name), OF_SOURCE },
	{ "options_of", "The release whose options were used.", SHAPE_TEXT(engine_source, version), OF_SOURCE },
	{ "options_need", "The oldest release that supports all generated options.",
	  SHAPE_TEXT(engine_source, needs), OF_SOURCE },
	{ "options_source", NULL, SHAPE_TEXT(engine_source, source), OF_SOURCE },
	{ "options_read", "Date.", SHAPE_TEXT(engine_source, date), OF_SOURCE },
	{ "model", "Length as passed to the engine.", SHAPE_TEXT(serve_plan, model) },
	{ "weights", NULL, SHAPE_TEXT(format, name), SHAPE_VIA(serve_plan, p.q.ask.weights, format) },
	{ "fits", NULL, SHAPE_FLAG(serve_plan, fits) },
	{ "fits_why", NULL, A_TEXT(serve_plan, fits_why) },
	{ "tp", NULL, SHAPE_COUNT(serve_plan, tp) },
	{ "pp", NULL, SHAPE_COUNT(serve_plan, pp) },
	{ "expert_parallel", NULL, SHAPE_FLAG(serve_plan, expert_parallel) },
	{ "kv", NULL, SHAPE_TEXT_OF(serve_kv) },
	{ "fraction", "Memory fraction, in the engine's definition.",
	  SHAPE_REAL(serve_plan, fraction), .unknown = SHAPE_ZERO, SHAPE_WHEN(serve_plan, fits) },
	{ "wanted_bytes", "Per GPU.", SHAPE_REAL(serve_plan, wanted_bytes) },
	{ "total_bytes", "Per GPU, or of the machine if CPU and GPU share memory.", SHAPE_REAL(serve_plan,
	  total_bytes) },
	{ "free_bytes", "Memory that is free now.", SHAPE_REAL(serve_plan, free_bytes), .unknown = SHAPE_ZERO },
	{ "free_from", NULL, A_TEXT(serve_plan, free_from) },
	{ "ttft_ms", NULL, SHAPE_OBJECT(serve_plan, p.ttft, figure) },
	{ "tpot_ms", NULL, SHAPE_OBJECT(serve_plan, p.tpot, figure) },
	{ "throughput_tok_s", NULL, SHAPE_OBJECT(serve_plan, p.throughput, figure) },
	{ "most_requests", NULL, A_FIGURE(serve_plan, p.memory.most_requests) },
	{ "most_context_tokens", NULL, A_FIGURE(serve_plan, p.memory.most_context) },
	{ "tries", "Parallelism options.", SHAPE_ARRAY(serve_plan, tries, n_tries, serve_try) });

/* --- files of a training --- */

const struct shape train_item_shape = SHAPE_OF(train_item, train_item,
	{ "path", NULL, SHAPE_TEXT(train_item, path), .title = "Key", .style_of = shape_strong },
	{ "value", NULL, SHAPE_TEXT(train_item, value), .title = "Value", .style_of = shape_code },
	{ "text", "true: the value is text.", SHAPE_FLAG(train_item, text) },
	{ "reason", NULL, A_TEXT(train_item, reason), .title = "~Why" });

static const struct shape train_answer_shape = SHAPE_OF(train_answer, train_answer,
	{ "way", NULL, SHAPE_CHOICE(train_answer, q.way, train_way_names) },
	{ "recompute", NULL, SHAPE_CHOICE(train_answer, q.recompute, train_recompute_names) },
	{ "reshard", NULL, SHAPE_FLAG(train_answer, q.reshard) },
	{ "micro_batch", NULL, SHAPE_COUNT(train_answer, q.micro_batch) },
	{ "accumulation", NULL, SHAPE_COUNT(train_answer, q.accumulation) },
	{ "data_parallel", NULL, SHAPE_COUNT(train_answer, q.dp) },
	{ "global_batch", NULL, SHAPE_COUNT(train_answer, q.global_batch) },
	{ "memory_bytes", "Per GPU.", SHAPE_REAL(train_answer, memory.total) },
	{ "fits", NULL, SHAPE_FLAG(train_answer, memory.fits) },
	{ "memory_limit_bytes", NULL, SHAPE_REAL(train_answer, memory.limit) },
	{ "step_s", NULL, SHAPE_OBJECT(train_answer, time.total, figure) },
	{ "tokens_s", NULL, SHAPE_OBJECT(train_answer, tokens_s, figure) },
	{ "limit_why", NULL, A_TEXT(train_answer, limit_why) });

static const struct shape train_try_shape = SHAPE_OF(train_try, train_try,
	{ "way", NULL, SHAPE_CHOICE(train_try, way, train_way_names) },
	{ "recompute", NULL, SHAPE_CHOICE(train_try, recompute, train_recompute_names) },
	{ "reshard", NULL, SHAPE_FLAG(train_try, reshard) },
	{ "micro_batch", NULL, SHAPE_COUNT(train_try, micro_batch) },
	{ "accumulation", NULL, SHAPE_COUNT(train_try, accumulation) },
	{ "fits", NULL, SHAPE_FLAG(train_try, fits) },
	{ "tokens_s", NULL, SHAPE_REAL(train_try, tokens_s), SHAPE_WHEN(train_try, fits) },
	{ "memory_bytes", NULL, SHAPE_REAL(train_try, memory), SHAPE_WHEN(train_try, fits) });

static const struct shape train_offload_shape = SHAPE_OF(train_offload, train_offload,
	{ "optimizer", NULL, SHAPE_FLAG(train_offload, optimizer) },
	{ "weights", NULL, SHAPE_FLAG(train_offload, weights) },
	{ "saved_bytes", "Per GPU.", SHAPE_REAL(train_offload, saved_bytes) },
	{ "moved_bytes", "Per GPU and step, both directions.", SHAPE_REAL(train_offload, moved_bytes) },
	{ "step_s_least", "Time added only by the transfers.", SHAPE_REAL(train_offload, step_s_least) },
	{ "host_bytes", "Per machine.", SHAPE_REAL(train_offload, host_bytes) },
	{ "why", NULL, SHAPE_TEXT(train_offload, why) });

static const struct shape edit_shape = SHAPE_OF(edit, edit,
	{ "line", NULL, SHAPE_COUNT(edit, line), .title = "Line" },
	{ "what", NULL, SHAPE_TEXT(edit, what), .title = "~What", .style_of = shape_strong },
	{ "reason", NULL, A_TEXT(edit, reason), .title = "~Why" });

static const struct shape train_left_shape = SHAPE_OF(train_left, train_left,
	{ "line", NULL, SHAPE_COUNT(train_left, line), .unknown = SHAPE_ZERO, .title = "Line" },
	{ "what", NULL, SHAPE_TEXT(train_left, what), .title = "~What" },
	{ "why", NULL, SHAPE_TEXT(train_left, why), .title = "~Why" });

const struct shape train_edit_shape = SHAPE_OF(train_edit, train_edit,
	{ "file", NULL, SHAPE_TEXT(train_edit, name) },
	{ "diff", NULL, SHAPE_TEXT(train_edit, diff) },
	{ "changes", NULL, SHAPE_LIST(train_edit, edits.at, edits.n, edit) },
	{ "left", "Possible changes that were not made.", SHAPE_ARRAY(train_edit, left, n_left, train_left) });

SHAPE_GIVES(const char *, train_view_model, train_view, x->setup->after->q.model)
SHAPE_GIVES(bool, train_view_offloads, train_view, x->setup->offload.optimizer)

#define OF_SETUP SHAPE_VIA(train_view, setup, train_setup)

static const struct shape train_view_shape = SHAPE_OF(train_view, train_view,
	{ "model", NULL, SHAPE_TEXT_OF(train_view_model) },
	{ "fits", NULL, SHAPE_FLAG(train_setup, fits), OF_SETUP },
	{ "fits_why", NULL, A_TEXT(train_setup, fits_why), OF_SETUP },
	{ "why", "The chosen parallelism, in a sentence.", A_TEXT(train_setup, why), OF_SETUP },
	{ "before", NULL, SHAPE_POINTER(train_setup, before, train_answer), OF_SETUP },
	{ "after", NULL, SHAPE_POINTER(train_setup, after, train_answer), OF_SETUP },
	{ "gain", "Ratio of tokens per second, after to before.",
	  SHAPE_OBJECT(train_setup, gain, figure), OF_SETUP, .unknown = SHAPE_ZERO },
	{ "offload", "Offload to host memory, used only if nothing else fits.",
	  SHAPE_OBJECT(train_setup, offload, train_offload), OF_SETUP, .when_of = train_view_offloads },
	{ "compile", NULL, SHAPE_FLAG(train_setup, compile), OF_SETUP },
	{ "compile_why", NULL, A_TEXT(train_setup, compile_why), OF_SETUP },
	{ "workers", "Loader workers.", SHAPE_COUNT(train_setup, workers), OF_SETUP },
	{ "threads", NULL, SHAPE_COUNT(train_setup, threads), OF_SETUP },
	{ "tries", NULL, SHAPE_ARRAY(train_setup, tries, n_tries, train_try), OF_SETUP },
	{ "reasons", "Reasons for the file's values.", SHAPE_LIST(train_view, file.items.at, file.items.n,
	  train_item) },
	{ "arguments", "Matching arguments of transformers' Trainer.",
	  SHAPE_LIST(train_view, arguments.at, arguments.n, train_item) },
	{ "torch_call", "Equivalent PyTorch calls.", A_TEXT(train_view, torch_call) },
	{ "edit", "Edit of a user's file.", SHAPE_POINTER(train_view, edit, train_edit), .unknown = SHAPE_NULL });

/* --- all of it --- */

static const void *generate_nodes(struct arena *a, const void *object, size_t *n)
{
	const struct generate_view *v = object;

	(void)a;
	*n = v->only < 0 ? v->cluster->n : 1;
	return &v->envs->of[v->only < 0 ? 0 : v->only];
}

/* Of several, one a node, that of the rank that is wanted. */
static const void *generate_commands(struct arena *a, const void *object, size_t *n)
{
	const struct generate_view *v = object;
	const struct gen_launch *l = v->launch;

	(void)a;
	*n = l ? l->n : 0;
	if (*n < 2 || v->only < 0)
		return l ? l->commands : NULL;
	*n = 1;
	return &l->commands[v->only];
}

static const void *generate_notes(struct arena *a, const void *object, size_t *n)
{
	const struct gen_launch *l = ((const struct generate_view *)object)->launch;

	(void)a;
	*n = l ? l->n_notes : 0;
	return l ? l->notes : NULL;
}

SHAPE_GIVES(const char *, generate_file_name, generate_view,
	x->train ? x->train->file.name : x->launch ? x->launch->file_name : NULL)
SHAPE_GIVES(const char *, generate_file_text, generate_view,
	x->train ? x->train->file.text : x->launch ? x->launch->file_text : NULL)

#define OF_CLUSTER SHAPE_VIA(generate_view, cluster, gen_cluster)
#define OF_ENVS SHAPE_VIA(generate_view, envs, gen_envs)

static const struct shape generate_shape = SHAPE_OF(generate_view, generate,
	{ "kind", "Requested kind: vllm, torchrun, nccl ...", SHAPE_TEXT(generate_view, kind) },
	{ "joined", NULL, SHAPE_CHOICE_OF(gen_cluster, shape, gen_shape_names, SHAPES), OF_CLUSTER },
	{ "joined_reason", NULL, A_TEXT(gen_cluster, shape_why), OF_CLUSTER },
	{ "nodes", NULL, SHAPE_LIST_MADE(generate_nodes, gen_env) },
	{ "commands", NULL, SHAPE_LIST_MADE(generate_commands, gen_command) },
	{ "file_name", NULL, SHAPE_TEXT_OF(generate_file_name), .unknown = SHAPE_NULL },
	{ "file_text", NULL, SHAPE_TEXT_OF(generate_file_text), .unknown = SHAPE_NULL },
	{ "notes", NULL, SHAPE_TEXTS_MADE(generate_notes) },
	{ "problems", "Problems for a person to check.",
	  SHAPE_LIST(gen_envs, problems, n_problems, gen_problem), OF_ENVS },
	{ "left_alone", "Variables of common recipes that are not set here.", SHAPE_LIST(gen_envs, left, n_left,
	  gen_left), OF_ENVS },
	{ "serve", NULL, SHAPE_POINTER(generate_view, serve, serve_plan), .unknown = SHAPE_NULL },
	{ "train", NULL, SHAPE_POINTER(generate_view, train, train_view), .unknown = SHAPE_NULL });

const struct result_shape generate_result = {
	.name = "generate",
	.title = "gputune generate",
	.meaning = "Variables and command lines for other programs: argv as lists of words, each with a reason.",
	.shape = &generate_shape,
	.exit_codes = 1u << 0 | 1u << 1,
};

/* --- lint --- */

static const char *lint_machine(const void *object)
{
	const struct gen_node *n = ((const struct lint_on *)object)->node;

	return n ? n->from : NULL;
}

static const struct shape lint_finding_shape = SHAPE_OF(lint_finding, lint_finding,
	{ "level", NULL, SHAPE_CHOICE(lint_finding, level, lint_level_names) },
	{ "code", NULL, SHAPE_TEXT(lint_finding, code) },
	{ "file", "File of the finding; \"command line\" for arguments.", SHAPE_TEXT(lint_finding, file) },
	{ "line", NULL, SHAPE_COUNT(lint_finding, line), .unknown = SHAPE_ZERO },
	{ "subject", "Name of the variable, option or host.", SHAPE_TEXT(lint_finding, subject) },
	{ "says", NULL, SHAPE_TEXT(lint_finding, says) },
	{ "fix", NULL, A_TEXT(lint_finding, fix) },
	{ "source", NULL, A_TEXT(lint_finding, source) });

static const struct shape lint_summary_shape = SHAPE_OF(lint_view, lint_summary,
	{ "errors", NULL, SHAPE_COUNT(lint_view, count[LINT_ERROR]) },
	{ "warnings", NULL, SHAPE_COUNT(lint_view, count[LINT_WARNING]) },
	{ "notes", NULL, SHAPE_COUNT(lint_view, count[LINT_NOTE]) });

#define OF_LINT SHAPE_VIA(lint_view, l, lint)
#define OF_GROUND SHAPE_VIA(lint_view, on, lint_on)

static const struct shape lint_shape = SHAPE_OF(lint_view, lint,
	{ "nccl", "Version.", SHAPE_TEXT(lint_on, nccl), OF_GROUND, .unknown = SHAPE_NULL },
	{ "nccl_from", NULL, SHAPE_TEXT(lint_on, nccl_from), OF_GROUND, .unknown = SHAPE_NULL },
	{ "machine", NULL, SHAPE_TEXT_OF(lint_machine), OF_GROUND, .unknown = SHAPE_NULL },
	{ "files", "Checked.", SHAPE_TEXT_LIST(lint_view, looked_at, n) },
	{ "variables", NULL, SHAPE_COUNT(lint, variables), OF_LINT },
	{ "commands", NULL, SHAPE_COUNT(lint, commands), OF_LINT },
	{ "hosts", NULL, SHAPE_COUNT(lint, hosts), OF_LINT },
	{ "configs", "Training files and commands.", SHAPE_COUNT(lint, configs), OF_LINT },
	{ "findings", NULL, SHAPE_LIST(lint, findings, n, lint_finding), OF_LINT },
	{ "summary", NULL, SHAPE_PART(lint_summary_shape) });

const struct result_shape lint_result = {
	.name = "lint",
	.title = "gputune lint",
	.meaning = "Problems of existing variables and command lines.",
	.shape = &lint_shape,
	.list = "findings",
	.exit_codes = 1u << 0 | 1u << 1,
};
