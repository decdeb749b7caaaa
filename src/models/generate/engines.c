/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of engines that are generated or judged here, in the spelling of each engine, with the
 * release that they were looked up in. Not all that an engine has: those that decide about memory,
 * length, formats and how the model is spread.
 */
#include <string.h>
#include <strings.h>

#include "models/generate/serve.h"

const struct engine_source engine_sources[] = {
	{ ENGINE_VLLM, "vLLM", "0.27.1", "0.13",
	  "docs.vllm.ai (stable: cache and parallel configuration; parallelism and scaling); "
	  "vllm/engine/arg_utils.py",
	  "2026-11-21" },
	{ ENGINE_SGLANG, "SGLang", "0.5", "0.5", "docs.sglang.io, server arguments", "2026-11-21" },
	{ ENGINE_LLAMACPP, "llama.cpp", "b10212", "b6400",
	  "tools/server/README.md; --help of b10212", "2026-11-21" },
	{ ENGINE_TRTLLM, "TensorRT-LLM", "1.2", "1.0",
	  "nvidia.github.io/TensorRT-LLM, trtllm-serve; tensorrt_llm/commands/serve.py",
	  "2026-11-21" },
};

#define FRACTION_OF_TOTAL                                                                          \
	"part of all memory, and so much has to be free at the start; the page cache counts as "   \
	"used"

const struct engine_option engine_options[] = {
	{ ENGINE_VLLM, "--model", NULL, MEANS_MODEL, false, NULL },
	{ ENGINE_VLLM, "--host", NULL, MEANS_HOST, false, NULL },
	{ ENGINE_VLLM, "--port", NULL, MEANS_PORT, false, NULL },
	{ ENGINE_VLLM, "--tensor-parallel-size", "-tp", MEANS_TP, false, NULL },
	{ ENGINE_VLLM, "--pipeline-parallel-size", "-pp", MEANS_PP, false, NULL },
	{ ENGINE_VLLM, "--enable-expert-parallel", NULL, MEANS_EP, true, NULL },
	{ ENGINE_VLLM, "--max-model-len", NULL, MEANS_CONTEXT, false, NULL },
	{ ENGINE_VLLM, "--max-num-seqs", NULL, MEANS_USERS, false, NULL },
	{ ENGINE_VLLM, "--gpu-memory-utilization", NULL, MEANS_MEMORY, false, FRACTION_OF_TOTAL },
	{ ENGINE_VLLM, "--kv-cache-memory-bytes", NULL, MEANS_KV_BYTES, false, NULL },
	{ ENGINE_VLLM, "--kv-cache-dtype", NULL, MEANS_KV, false, NULL },
	{ ENGINE_VLLM, "--quantization", "-q", MEANS_WEIGHTS, false, NULL },
	{ ENGINE_VLLM, "--max-num-batched-tokens", NULL, MEANS_CHUNK, false, NULL },
	{ ENGINE_VLLM, "--nnodes", "-n", MEANS_NODES, false, NULL },
	{ ENGINE_VLLM, "--node-rank", "-r", MEANS_RANK, false, NULL },
	{ ENGINE_VLLM, "--master-addr", NULL, MEANS_HEAD, false, NULL },
	{ ENGINE_VLLM, "--master-port", NULL, MEANS_HEAD_PORT, false, NULL },
	{ ENGINE_VLLM, "--headless", NULL, MEANS_OTHER, true, NULL },
	{ ENGINE_VLLM, "--enforce-eager", NULL, MEANS_EAGER, true,
	  "without CUDA graphs every token pays for every launch" },
	{ ENGINE_VLLM, "--served-model-name", NULL, MEANS_OTHER, false, NULL },

	{ ENGINE_SGLANG, "--model-path", "--model", MEANS_MODEL, false, NULL },
	{ ENGINE_SGLANG, "--host", NULL, MEANS_HOST, false, NULL },
	{ ENGINE_SGLANG, "--port", NULL, MEANS_PORT, false, NULL },
	{ ENGINE_SGLANG, "--tp-size", "--tp --tensor-parallel-size", MEANS_TP, false, NULL },
	{ ENGINE_SGLANG, "--pp-size", "--pipeline-parallel-size", MEANS_PP, false, NULL },
	{ ENGINE_SGLANG, "--ep-size", "--ep --expert-parallel-size", MEANS_EP, false, NULL },
	{ ENGINE_SGLANG, "--context-length", NULL, MEANS_CONTEXT, false, NULL },
	{ ENGINE_SGLANG, "--max-running-requests", NULL, MEANS_USERS, false, NULL },
	{ ENGINE_SGLANG, "--mem-fraction-static", NULL, MEANS_MEMORY, false,
	  "weights and cache, as part of what is free before loading" },
	{ ENGINE_SGLANG, "--kv-cache-dtype", NULL, MEANS_KV, false, NULL },
	{ ENGINE_SGLANG, "--quantization", NULL, MEANS_WEIGHTS, false, NULL },
	{ ENGINE_SGLANG, "--chunked-prefill-size", NULL, MEANS_CHUNK, false, NULL },
	{ ENGINE_SGLANG, "--nnodes", NULL, MEANS_NODES, false, NULL },
	{ ENGINE_SGLANG, "--node-rank", NULL, MEANS_RANK, false, NULL },
	{ ENGINE_SGLANG, "--dist-init-addr", "--nccl-init-addr", MEANS_HEAD, false, NULL },
	{ ENGINE_SGLANG, "--disable-cuda-graph", NULL, MEANS_EAGER, true,
	  "without CUDA graphs every token pays for every launch" },

	{ ENGINE_LLAMACPP, "--model", "-m", MEANS_MODEL, false, NULL },
	{ ENGINE_LLAMACPP, "--hf-repo", "-hf -hfr", MEANS_MODEL, false, NULL },
	{ ENGINE_LLAMACPP, "--host", NULL, MEANS_HOST, false, NULL },
	{ ENGINE_LLAMACPP, "--port", NULL, MEANS_PORT, false, NULL },
	{ ENGINE_LLAMACPP, "--ctx-size", "-c", MEANS_CONTEXT, false,
	  "of all slots together: each of --parallel has its part" },
	{ ENGINE_LLAMACPP, "--parallel", "-np", MEANS_USERS, false, NULL },
	{ ENGINE_LLAMACPP, "--n-gpu-layers", "-ngl --gpu-layers", MEANS_LAYERS, false, NULL },
	{ ENGINE_LLAMACPP, "--cache-type-k", "-ctk", MEANS_KV, false, NULL },
	{ ENGINE_LLAMACPP, "--cache-type-v", "-ctv", MEANS_KV_VALUES, false,
	  "other than f16 it needs flash attention" },
	{ ENGINE_LLAMACPP, "--flash-attn", "-fa", MEANS_FLASH, false, NULL },
	{ ENGINE_LLAMACPP, "--ubatch-size", "-ub", MEANS_CHUNK, false, NULL },
	{ ENGINE_LLAMACPP, "--batch-size", "-b", MEANS_OTHER, false, NULL },
	{ ENGINE_LLAMACPP, "--rpc", NULL, MEANS_WORKERS, false, NULL },

	{ ENGINE_TRTLLM, "--host", NULL, MEANS_HOST, false, NULL },
	{ ENGINE_TRTLLM, "--port", NULL, MEANS_PORT, false, NULL },
	{ ENGINE_TRTLLM, "--tp_size", "--tensor_parallel_size", MEANS_TP, false, NULL },
	{ ENGINE_TRTLLM, "--pp_size", "--pipeline_parallel_size", MEANS_PP, false, NULL },
	{ ENGINE_TRTLLM, "--ep_size", "--moe_expert_parallel_size", MEANS_EP, false, NULL },
	{ ENGINE_TRTLLM, "--max_seq_len", NULL, MEANS_CONTEXT, false, NULL },
	{ ENGINE_TRTLLM, "--max_batch_size", NULL, MEANS_USERS, false, NULL },
	{ ENGINE_TRTLLM, "--kv_cache_free_gpu_memory_fraction", "--free_gpu_memory_fraction",
	  MEANS_MEMORY, false, "the cache alone, as part of what is free when weights are loaded" },
	{ ENGINE_TRTLLM, "--kv_cache_dtype", NULL, MEANS_KV, false, NULL },
	{ ENGINE_TRTLLM, "--max_num_tokens", NULL, MEANS_CHUNK, false, NULL },
	{ ENGINE_TRTLLM, "--gpus_per_node", NULL, MEANS_OTHER, false, NULL },
	{ ENGINE_TRTLLM, "--backend", NULL, MEANS_OTHER, false, NULL },
};
const size_t engine_option_count = sizeof(engine_options) / sizeof(engine_options[0]);

const struct engine_source *engine_source(enum engine e)
{
	for (size_t i = 0; i < sizeof(engine_sources) / sizeof(engine_sources[0]); i++)
		if (engine_sources[i].engine == e)
			return &engine_sources[i];
	return NULL;
}

/* "--a_b" is "--a-b"; the case counts. */
static bool same_option(const char *x, size_t n, const char *y, size_t m)
{
	if (n != m)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((x[i] == '_' ? '-' : x[i]) != (y[i] == '_' ? '-' : y[i]))
			return false;
	return true;
}

const struct engine_option *engine_option(enum engine e, const char *name, size_t n)
{
	for (size_t i = 0; i < engine_option_count; i++) {
		const struct engine_option *o = &engine_options[i];

		if (o->engine != e)
			continue;
		if (same_option(name, n, o->name, strlen(o->name)))
			return o;
		for (const char *at = o->also ? o->also : ""; *at;
		     at += strcspn(at, " "), at += strspn(at, " "))
			if (same_option(name, n, at, strcspn(at, " ")))
				return o;
	}
	return NULL;
}

const char *engine_option_name(enum engine e, enum option_means m)
{
	for (size_t i = 0; i < engine_option_count; i++)
		if (engine_options[i].engine == e && engine_options[i].means == m)
			return engine_options[i].name;
	return NULL;
}

/* What a cache may be asked for as, and what the engine calls it: vllm/config/cache.py,
 * sglang/srt/server_args.py, llama-server --help, trtllm-serve, read 2026-11-22. */
static const struct {
	enum engine engine;
	const char *asked, *word;
} caches[] = {
	{ ENGINE_VLLM, "fp8", "fp8" },
	{ ENGINE_VLLM, "fp8_e4m3", "fp8_e4m3" },
	{ ENGINE_VLLM, "fp8_e5m2", "fp8_e5m2" },
	{ ENGINE_SGLANG, "fp8", "fp8_e4m3" },
	{ ENGINE_SGLANG, "fp8_e4m3", "fp8_e4m3" },
	{ ENGINE_SGLANG, "fp8_e5m2", "fp8_e5m2" },
	{ ENGINE_SGLANG, "fp4_e2m1", "fp4_e2m1" },
	{ ENGINE_LLAMACPP, "q8_0", "q8_0" },
	{ ENGINE_LLAMACPP, "q4_0", "q4_0" },
	{ ENGINE_LLAMACPP, "bf16", "bf16" },
	{ ENGINE_LLAMACPP, "f16", "f16" },
	{ ENGINE_LLAMACPP, "fp16", "f16" },
	{ ENGINE_LLAMACPP, "half", "f16" },
	{ ENGINE_LLAMACPP, "f32", "f32" },
	{ ENGINE_TRTLLM, "fp8", "fp8" },
	{ ENGINE_TRTLLM, "nvfp4", "nvfp4" },
};

const char *engine_cache_word(enum engine e, const char *asked)
{
	static const char *const as_model[] = { "auto", "bf16", "fp16", "f16", "half" };

	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
		if (caches[i].engine == e && strcasecmp(caches[i].asked, asked) == 0)
			return caches[i].word;
	for (size_t i = 0; i < sizeof(as_model) / sizeof(as_model[0]); i++)
		if (strcasecmp(as_model[i], asked) == 0)
			return "";
	return NULL;
}

const char *engine_cache_words(struct arena *a, enum engine e)
{
	const char *list = "bf16";

	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
		if (caches[i].engine == e && strcmp(caches[i].asked, "bf16") != 0)
			list = arena_printf(a, "%s, %s", list, caches[i].asked);
	return list;
}
