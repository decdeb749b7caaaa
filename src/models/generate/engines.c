/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up options of engines, and in which release they were looked up. */
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
	for (size_t i = 0; i < n_engine_options; i++) {
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
	for (size_t i = 0; i < n_engine_options; i++)
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
