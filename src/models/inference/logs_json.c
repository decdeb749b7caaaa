/* SPDX-License-Identifier: Apache-2.0 */
/* Results as JSON: each kind is known by keys that no other has. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/logs_parts.h"

enum { DEPTH_MAX = 4, TEXT_MAX = 1024 };

static const char *text(struct log_walk *w, const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s && *s && strlen(s) <= TEXT_MAX ? arena_strdup(w->a, s) : NULL;
}

/* A number, or a text that is one (llama-bench's SQL and vLLM's "inf" have texts). 0: none. */
static double number(const json_t *j, const char *key)
{
	const json_t *v = json_object_get(j, key);
	double x = json_number_value(v);

	if (json_is_string(v))
		return str_starts(json_string_value(v), "inf")
			       ? HUGE_VAL
			       : log_number(json_string_value(v), NULL);
	return json_is_number(v) && isfinite(x) && x > 0 && x < 1e15 ? x : 0;
}

static bool has(const json_t *j, const char *key)
{
	return json_object_get(j, key) != NULL;
}

static double either(double a, double b)
{
	return a > 0 ? a : b;
}

static void serving(struct log_walk *w, const json_t *j, double item)
{
	bool sglang = has(j, "total_output_tokens_retokenized") || has(j, "server_info");
	const json_t *server = json_object_get(j, "server_info");
	const char *backend = text(w, j, "backend"), *model = text(w, j, "model_id");
	struct log_run *r = log_add(w, sglang ? LOG_SGLANG_SERVING : LOG_VLLM_SERVE,
				    sglang ? "sglang" : "vllm", item);
	struct log_counts c = { number(j, "completed"),		  number(j, "total_input_tokens"),
				number(j, "total_output_tokens"), number(j, "max_concurrency"),
				number(j, "request_rate"),	  number(j, "concurrency") };

	if (!r)
		return;
	backend = backend ? backend : text(w, j, "endpoint_type");
	if (backend && !str_starts(backend, "openai"))
		r->engine = backend;
	r->model = model ? model : text(w, server, "model_path");
	r->tp = log_whole(number(server, "tp_size"));
	r->weights = text(w, server, "quantization");
	r->cache = text(w, server, "kv_cache_dtype");
	r->figure[LOG_TTFT] = either(number(j, "mean_ttft_ms"), number(j, "median_ttft_ms"));
	r->figure[LOG_TPOT] = either(either(number(j, "mean_tpot_ms"), number(j, "median_tpot_ms")),
				     number(j, "mean_itl_ms"));
	r->figure[LOG_THROUGHPUT] = number(j, "output_throughput");
	r->speculative = number(j, "accept_length") > 1.01 ||
			 number(j, "spec_decode_acceptance_length") > 1.01;
	log_counted(r, &c);
}

static void latency(struct log_walk *w, const json_t *j, double item)
{
	struct log_run *r = log_add(w, LOG_VLLM_LATENCY, "vllm", item);

	if (!r)
		return;
	r->figure[LOG_LATENCY] = 1e3 * number(j, "avg_latency");
	r->batch = log_whole(w->ctx.batch);
	r->prompt = w->ctx.input;
	r->output = w->ctx.output;
}

/* Tokens of prompts and answers together: what answers are of them is told by nobody else. */
static void throughput(struct log_walk *w, const json_t *j, double item)
{
	struct log_run *r = log_add(w, LOG_VLLM_THROUGHPUT, "vllm", item);
	double n = number(j, "num_requests"), s = number(j, "elapsed_time"),
	       out = number(j, "total_num_output_tokens"), all = number(j, "total_num_tokens");

	if (!r)
		return;
	if (!(out > 0))
		out = w->ctx.output * n;
	r->prompt = out > 0 && all > out && n > 0 ? (all - out) / n : w->ctx.input;
	r->output = n > 0 ? out / n : 0;
	r->batch = log_whole(w->ctx.sequences);
	if (!r->batch && n <= 256)
		r->batch = log_whole(n);
	r->rounds = r->batch && n > r->batch ? n / r->batch : 1;
	if (s > 0 && out > 0)
		r->figure[LOG_THROUGHPUT] = out / s;
	else
		r->skipped = "how many of the tokens were answers is not told";
}

static void one_batch(struct log_walk *w, const json_t *j, double item)
{
	struct log_run *r = log_add(w, LOG_SGLANG_ONE_BATCH, "sglang", item);

	if (!r)
		return;
	r->batch = log_whole(number(j, "batch_size"));
	r->prompt = number(j, "input_len");
	r->output = number(j, "output_len");
	r->figure[LOG_PREFILL] = 1e3 * number(j, "prefill_latency");
	r->figure[LOG_STEP] = 1e3 * number(j, "median_decode_latency");
	if (!has(j, "prefill_latency"))
		r->figure[LOG_LATENCY] = 1e3 * number(j, "latency");
	r->speculative = number(j, "acc_length") > 1.01;
	if (number(j, "cache_hit_rate") > 0.01)
		r->skipped = "part of the prompts was in the prefix cache";
}

static void trtllm(struct log_walk *w, const json_t *j, double item)
{
	const json_t *engine = json_object_get(j, "engine"), *p = json_object_get(j, "performance"),
		     *world = json_object_get(j, "world_info"),
		     *asked = json_object_get(j, "request_info"),
		     *stream = json_object_get(j, "streaming_metrics");
	struct log_run *r = log_add(w, LOG_TRTLLM, "tensorrt-llm", item);
	double n = number(asked, "num_requests");
	struct log_counts c = { n,
				n * number(asked, "avg_input_length"),
				n * number(asked, "avg_output_length"),
				number(asked, "avg_num_concurrent_requests"),
				0,
				0 };

	if (!r)
		return;
	r->model = text(w, engine, "model");
	r->weights = text(w, engine, "quantization") ? text(w, engine, "quantization")
						     : text(w, engine, "dtype");
	r->cache = text(w, engine, "kv_cache_dtype");
	r->tp = log_whole(number(world, "tp_size"));
	r->pp = log_whole(number(world, "pp_size"));
	r->figure[LOG_THROUGHPUT] = number(p, "system_output_throughput_tok_s");
	r->figure[LOG_TTFT] = number(stream, "avg_ttft_ms");
	r->figure[LOG_TPOT] = number(stream, "avg_tpot_ms");
	r->speculative = json_is_object(json_object_get(j, "decoding_stats"));
	log_counted(r, &c);
}

/* "timings" of llama-server's answers. */
static void timings(struct log_walk *w, const json_t *j, const char *model, double item)
{
	struct log_run *r = log_add(w, LOG_LLAMA_SERVER, "llama.cpp", item);

	if (!r)
		return;
	r->model = model ? model : r->model;
	r->batch = 1;
	r->prompt = number(j, "prompt_n");
	r->depth = number(j, "cache_n");
	r->output = number(j, "predicted_n");
	r->figure[LOG_PREFILL] = number(j, "prompt_ms");
	r->figure[LOG_STEP] = number(j, "predicted_per_token_ms");
	r->speculative = number(j, "draft_n") > 0;
}

/* --- rows of llama-bench ------------------------------------------------------------------------
 */

struct json_row {
	struct arena *a;
	const json_t *j;
};

static const char *member(const void *row, const char *key)
{
	const struct json_row *r = row;
	const json_t *v = json_object_get(r->j, key);

	if (json_is_string(v))
		return strlen(json_string_value(v)) <= TEXT_MAX ? json_string_value(v) : NULL;
	return json_is_number(v) ? arena_printf(r->a, "%.17g", json_number_value(v)) : NULL;
}

static void bench_row(struct log_walk *w, const json_t *j, double item)
{
	struct json_row row = { w->a, j };
	struct log_cells c = { member, &row };

	log_llama_row(w, &c, item);
}

/* --- which it is --------------------------------------------------------------------------------
 */

static bool object(struct log_walk *w, const json_t *j, double item)
{
	if (has(j, "avg_ts") && (has(j, "n_prompt") || has(j, "n_gen")))
		bench_row(w, j, item);
	else if (has(j, "completed") && has(j, "total_output_tokens") &&
		 has(j, "total_input_tokens"))
		serving(w, j, item);
	else if (has(j, "avg_latency") && has(j, "percentiles"))
		latency(w, j, item);
	else if (has(j, "elapsed_time") && has(j, "num_requests"))
		throughput(w, j, item);
	else if (has(j, "batch_size") && has(j, "input_len") &&
		 (has(j, "prefill_latency") || has(j, "latency")))
		one_batch(w, j, item);
	else if (json_is_object(json_object_get(j, "performance")) &&
		 json_is_object(json_object_get(j, "request_info")))
		trtllm(w, j, item);
	else if (json_is_object(json_object_get(j, "timings")))
		timings(w, json_object_get(j, "timings"), text(w, j, "model"), item);
	else if (has(j, "predicted_per_token_ms") && has(j, "prompt_ms"))
		timings(w, j, NULL, item);
	else
		return false;
	return true;
}

void log_json(struct log_walk *w, const json_t *j, unsigned depth, double item)
{
	const char *key;
	json_t *v;
	size_t i;

	if (depth > DEPTH_MAX || w->failed)
		return;
	if (json_is_array(j)) {
		json_array_foreach(j, i, v)
			log_json(w, v, depth + 1, depth == 0 ? (double)i + 1 : item);
		return;
	}
	if (!json_is_object(j) || object(w, j, item))
		return;
	json_object_foreach((json_t *)j, key, v) log_json(w, v, depth + 1, item);
}
