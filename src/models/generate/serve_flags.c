/* SPDX-License-Identifier: Apache-2.0 */
/* The words of each engine's command, a node at a time. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/generate/serve.h"
#include "models/generate/serve_memory.h"

struct flags {
	struct arena *a;
	const struct serve_ask *ask;
	const struct serve_plan *plan;
	struct gen_command *c;
};

static void put(const struct flags *f, enum option_means m, const char *value, const char *why)
{
	gen_option_add(f->a, f->c, engine_option_name(f->ask->engine, m), value, why);
}

static void put_int(const struct flags *f, enum option_means m, double v, const char *why)
{
	put(f, m, arena_printf(f->a, "%.0f", v), why);
}

/* The first node's address, as the others reach it. */
static const char *head_of(const struct serve_ask *ask, const struct gen_envs *e)
{
	return ask->head ? ask->head : e->c->nodes[0].address;
}

static void put_size(const struct flags *f)
{
	const struct serve_plan *p = f->plan;
	struct arena *a = f->a;

	if (p->tp > 1)
		put_int(f, MEANS_TP, p->tp,
			arena_printf(a,
				     "each layer over %d GPUs: predicted %.4g tokens/s of all "
				     "requests, the most of what was tried",
				     p->tp, p->p.throughput.value));
	if (p->pp > 1)
		put_int(f, MEANS_PP, p->pp,
			arena_printf(a, "layers in %d groups, one after the other", p->pp));
	if (!p->expert_parallel)
		return;
	if (f->ask->engine == ENGINE_VLLM)
		put(f, MEANS_EP, NULL, p->expert_why);
	else
		put_int(f, MEANS_EP, p->tp, p->expert_why);
}

static void put_load(const struct flags *f)
{
	const struct serve_ask *ask = f->ask;
	struct arena *a = f->a;

	put_int(f, MEANS_CONTEXT, ask->context,
		arena_printf(a, "prompt and answer together; memory is for %.0f tokens",
			     f->plan->p.memory.most_context));
	put_int(f, MEANS_USERS, ask->users,
		arena_printf(a, "requests at a time, the others wait; %.0f of this length fit",
			     f->plan->p.memory.most_requests));
	put_int(f, MEANS_CHUNK, engine_chunk(ask->engine),
		"tokens of prompts that a step takes: the prediction counted with it");
}

static void put_memory(const struct flags *f)
{
	const struct serve_plan *p = f->plan;
	double cache = p->p.memory.cache + p->p.memory.state;

	put(f, MEANS_MEMORY, arena_printf(f->a, "%.2f", p->fraction), p->fraction_why);
	if (f->ask->engine == ENGINE_VLLM && p->p.q.ask.place.gpu->unified)
		put_int(f, MEANS_KV_BYTES, ceil(cache * 1.05 / 1048576) * 1048576,
			"the cache that these requests need and 5 % more: by bytes it does not "
			"depend "
			"on what happened to be free at the start");
}

static void put_formats(const struct flags *f)
{
	const struct serve_plan *p = f->plan;
	const char *kv = *p->kv ? engine_cache_word(f->ask->engine, p->kv) : NULL;

	if (kv && *kv)
		put(f, MEANS_KV, kv, p->kv_why);
	if (p->quant)
		put(f, MEANS_WEIGHTS, p->quant, p->quant_why);
}

static void put_port(const struct flags *f)
{
	const char *listen = f->ask->listen;

	put(f, MEANS_HOST, listen ? listen : "127.0.0.1",
	    listen ? "as asked: whoever reaches this address may use it"
		   : "answers this machine alone, as no key protects it; --listen for others");
	if (f->ask->port)
		put_int(f, MEANS_PORT, f->ask->port, "as asked");
}

/* A short name finds a shape here, but nothing that an engine could load. */
static const char *model_why(const char *model)
{
	return strchr(model, '/') ? "the model"
				  : "the model, as it was named here; an engine loads OWNER/NAME "
				    "of a hub, or a folder";
}

/* --- engines ------------------------------------------------------------------------------------
 */
static void vllm(const struct flags *f, const struct gen_envs *e, size_t rank)
{
	struct arena *a = f->a;
	int port = f->ask->meeting_port ? f->ask->meeting_port : 29501;

	gen_word_add(a, f->c, "vllm", "vLLM's server");
	gen_word_add(a, f->c, "serve", NULL);
	gen_word_add(a, f->c, f->ask->model, model_why(f->ask->model));
	put_size(f);
	put_load(f);
	put_memory(f);
	put_formats(f);
	if (e->c->n > 1) {
		put_int(f, MEANS_NODES, (double)e->c->n,
			"machines; vLLM's own processes, no Ray needed");
		put_int(f, MEANS_RANK, (double)rank, "this machine's number");
		put(f, MEANS_HEAD, head_of(f->ask, e), "where the first machine waits");
		put_int(f, MEANS_HEAD_PORT, port, "a port that is free there");
	}
	if (rank)
		gen_word_add(a, f->c, "--headless", "only the first machine answers requests");
	else
		put_port(f);
}

static void sglang(const struct flags *f, const struct gen_envs *e, size_t rank)
{
	int port = f->ask->meeting_port ? f->ask->meeting_port : 50000;
	struct arena *a = f->a;

	gen_word_add(a, f->c, "python3", "SGLang's server");
	gen_word_add(a, f->c, "-m", NULL);
	gen_word_add(a, f->c, "sglang.launch_server", NULL);
	put(f, MEANS_MODEL, f->ask->model, model_why(f->ask->model));
	put_size(f);
	put_load(f);
	put_memory(f);
	put_formats(f);
	if (e->c->n > 1) {
		put_int(f, MEANS_NODES, (double)e->c->n, "machines");
		put_int(f, MEANS_RANK, (double)rank, "this machine's number");
		put(f, MEANS_HEAD, arena_printf(a, "%s:%d", head_of(f->ask, e), port),
		    "where the first machine waits");
	}
	if (rank == 0)
		put_port(f);
}

static void trtllm(const struct flags *f, const struct gen_envs *e)
{
	struct arena *a = f->a;

	if (e->c->n > 1)
		gen_word_add(a, f->c, "trtllm-llmapi-launch",
			     "one process a GPU, started by MPI; the first one serves");
	gen_word_add(a, f->c, "trtllm-serve", "TensorRT-LLM's server");
	gen_word_add(a, f->c, "serve", NULL);
	gen_word_add(a, f->c, f->ask->model, model_why(f->ask->model));
	gen_option_add(a, f->c, "--backend", "pytorch", "loads the checkpoint as it is");
	put_size(f);
	put_load(f);
	put_memory(f);
	put_formats(f);
	put_port(f);
}

static void llama_model(const struct flags *f)
{
	const char *model = f->ask->model;
	const char *name = f->plan->p.q.ask.weights->name;

	if (str_ends(model, ".gguf") || *model == '/' || *model == '.') {
		gen_option_add(f->a, f->c, "--model", model, "the model's file");
		return;
	}
	/* Where the name has no type of its own: the type that was predicted. */
	if (!strchr(model, ':'))
		model = arena_printf(f->a, "%s:%s", model, name);
	gen_option_add(f->a, f->c, "--hf-repo", model,
		       strchr(f->ask->model, '/')
			       ? "a repository of GGUF files, and the type"
			       : "the model, as it was named here, and the type; llama.cpp loads "
				 "OWNER/NAME of a hub, a repository of GGUF files");
}

static void llamacpp(const struct flags *f, const struct gen_envs *e)
{
	const char *kv = *f->plan->kv ? engine_cache_word(ENGINE_LLAMACPP, f->plan->kv) : NULL;
	const struct serve_ask *ask = f->ask;
	struct arena *a = f->a;
	TEXT_AUTO workers = { 0 };

	gen_word_add(a, f->c, "llama-server", "llama.cpp's server");
	llama_model(f);
	put_int(f, MEANS_CONTEXT, ask->context * ask->users,
		arena_printf(a, "%.0f tokens for each of %d requests: it is the sum of all",
			     ask->context, ask->users));
	put_int(f, MEANS_USERS, ask->users, "requests at a time");
	put_int(f, MEANS_LAYERS, 999, "all layers on the GPU");
	put(f, MEANS_FLASH, "on", "less memory for long contexts, and what a small cache needs");
	if (kv && *kv) {
		put(f, MEANS_KV, kv, f->plan->kv_why);
		put(f, MEANS_KV_VALUES, kv, "keys and values alike");
	}
	put_int(f, MEANS_CHUNK, engine_chunk(ENGINE_LLAMACPP),
		"tokens of a prompt that a step takes: 512 leave a large GPU idle");
	for (size_t i = 1; i < e->c->n; i++)
		text_printf(&workers, "%s%s:%d", i > 1 ? "," : "", e->c->nodes[i].address,
			    ask->meeting_port ? ask->meeting_port : 50052);
	if (workers.s)
		put(f, MEANS_WORKERS, arena_strdup(a, workers.s),
		    "the other machines' ggml-rpc-server");
	put_port(f);
}

static void rpc_worker(const struct flags *f, const struct gen_node *n)
{
	struct arena *a = f->a;

	gen_word_add(a, f->c, "ggml-rpc-server",
		     "llama.cpp's worker (built with GGML_RPC; older builds call it rpc-server)");
	gen_option_add(a, f->c, "--host", n->address,
		       "this address alone: it obeys everybody who can reach it");
	gen_option_add(a, f->c, "--port",
		       arena_printf(a, "%d", f->ask->meeting_port ? f->ask->meeting_port : 50052),
		       "where the first machine finds it");
}

/* --- all of them --------------------------------------------------------------------------------
 */
static int trtllm_nodes(struct arena *a, const struct gen_envs *e, struct serve_plan *out,
			struct gen_command *serve, struct err *err)
{
	struct gen_word *words = serve->words;
	size_t n = serve->n;
	char **argv = arena_array(a, n + 1, sizeof(*argv));
	struct gen_launch mpi;
	int r;

	for (size_t i = 0; i < n; i++)
		argv[i] = arena_strdup(a, words[i].text);
	r = gen_mpi(a, e, argv, n, &mpi, err);
	if (r < 0)
		return r;
	/* The reasons of the server's words, at their first appearance. */
	for (size_t i = 0; i + n <= mpi.commands[0].n; i++)
		if (strcmp(mpi.commands[0].words[i].text, words[0].text) == 0) {
			for (size_t k = 0; k < n; k++)
				mpi.commands[0].words[i + k].reason = words[k].reason;
			break;
		}
	gen_command_add(a, &out->launch, &mpi.commands[0]);
	return 0;
}

static void node_command(struct arena *a, const struct flags *f, const struct gen_envs *e,
			 size_t rank)
{
	const struct gen_node *n = &e->c->nodes[rank];

	switch (f->ask->engine) {
	case ENGINE_SGLANG:
		sglang(f, e, rank);
		break;
	case ENGINE_LLAMACPP:
		if (rank)
			rpc_worker(f, n);
		else
			llamacpp(f, e);
		break;
	case ENGINE_TRTLLM:
		trtllm(f, e);
		break;
	default:
		vllm(f, e, rank);
	}
	(void)a;
}

int serve_flags(struct arena *a, const struct serve_ask *ask, const struct gen_envs *e,
		struct serve_plan *out, struct err *err)
{
	bool mpi = ask->engine == ENGINE_TRTLLM && e->c->n > 1;

	for (size_t i = 0; i < (mpi ? 1 : e->c->n); i++) {
		struct gen_command c = { .node = &e->c->nodes[i], .rank = i, .env = &e->of[i] };
		struct flags f = { a, ask, out, &c };

		c.role = e->c->n < 2 ? NULL : i ? "worker" : "server";
		node_command(a, &f, e, i);
		if (mpi)
			return trtllm_nodes(a, e, out, &c, err);
		gen_command_add(a, &out->launch, &c);
	}
	if (ask->engine == ENGINE_LLAMACPP && e->c->n > 1)
		gen_note_add(
			a, &out->launch,
			"ggml-rpc-server asks nobody who they are: only on a network of your own, "
			"started before the server");
	return 0;
}
