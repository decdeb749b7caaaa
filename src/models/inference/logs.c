/* SPDX-License-Identifier: Apache-2.0 */
/* From a file to runs: is it JSON, JSON lines, or a page? */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/logs.h"

/* The text with what Python writes for numbers that JSON has not; as long as it was. */
static char *plain_json(struct arena *a, const char *text, size_t len)
{
	static const struct {
		const char *from, *to;
	} words[] = { { "-Infinity", "\"-inf\"   " },
		      { "Infinity", "\"inf\"   " },
		      { "NaN", "-1 " } };
	char *s = arena_strndup(a, text, len);
	bool inside = false;

	for (char *p = s; *p; p++) {
		if (inside && *p == '\\' && p[1])
			p++;
		else if (*p == '"')
			inside = !inside;
		for (size_t i = 0; !inside && i < sizeof(words) / sizeof(words[0]); i++)
			if (*p == *words[i].from && str_starts(p, words[i].from)) {
				memcpy(p, words[i].to, strlen(words[i].to));
				p += strlen(words[i].from) - 1;
				break;
			}
	}
	return s;
}

/* False when it is none; why has the place. */
static bool whole_json(struct log_walk *w, const char *text, size_t len, json_error_t *why)
{
	json_auto_t *j = json_loads(plain_json(w->a, text, len), 0, why);

	if (!j)
		return false;
	log_json(w, j, 0, json_is_array(j) ? 1 : 0);
	return true;
}

static bool json_line(struct log_walk *w, const char *line, bool must)
{
	json_error_t why;

	if (*line != '{')
		return false;
	if (whole_json(w, line, strlen(line), &why))
		return true;
	if (must && !w->failed)
		w->failed = err_set(w->e, -EINVAL, "%s:%ld: JSON: %s", w->file, w->line, why.text);
	return false;
}

static void page_line(struct log_walk *w, const char *line, bool lines_of_json)
{
	log_context_line(w, line);
	if (json_line(w, line, lines_of_json) || log_llama_line(w, line) ||
	    log_serving_line(w, line) || log_one_batch_line(w, line))
		return;
	log_offline_line(w, line);
}

static void page(struct log_walk *w, const char *s, bool lines_of_json)
{
	TEXT_AUTO line = { 0 };

	for (w->line = 1; *s && !w->failed; w->line++) {
		const char *next = log_llama_csv(w, s);
		size_t len = strcspn(s, "\n");

		if (next) {
			w->line += csv_lines(s, next) - 1;
			s = next;
			continue;
		}
		text_clear(&line);
		if (len <= LOG_LINE_MAX) {
			text_addn(&line, s, len - (len && s[len - 1] == '\r'));
			page_line(w, line.s ? line.s : "", lines_of_json);
		}
		s += len + (s[len] == '\n');
	}
	log_close(w);
}

int logs_read(struct arena *a, const char *file, const char *text, struct log_runs *out,
	      struct err *e)
{
	struct log_walk w = { .a = a, .file = file, .out = out, .e = e, .first = out->n };
	json_error_t why = { .line = 0 };
	bool maybe;

	if (str_starts(text, "\xef\xbb\xbf"))
		text += 3;
	text += strspn(text, " \t\r\n");
	maybe = *text == '{' || *text == '[';
	w.line = 1;
	if (maybe && whole_json(&w, text, strlen(text), &why))
		why.line = 0;
	else if (!w.failed)
		/* Lines of JSON: the first is whole and the file is not. */
		page(&w, text,
		     *text == '{' && memchr(text, '\n', strlen(text)) && why.line > 1 &&
			     strcspn(text, "\n") > 8 && text[strcspn(text, "\n") - 1] == '}');
	if (w.failed)
		return w.failed;
	if (w.known)
		return 0;
	if (maybe && why.line)
		return err_set(e, -EINVAL, "%s:%d: JSON: %s", file, why.line, why.text);
	return err_set(
		e, -EINVAL,
		"%s: unknown benchmark output; supported: vllm bench, SGLang's "
		"bench_serving and bench_one_batch, llama-bench, llama-benchy, llama-server, "
		"Ollama, trtllm-bench, GuideLLM, AIPerf",
		file);
}

/*
 * What stands before a result: the command that was typed, or the arguments as the program printed
 * them ("--model X", "Namespace(model='X', ...)", "{'model': 'X', ...}").
 */

enum { VALUE_MAX = 512 };

static const struct {
	const char *name; /* '-' stands for '_', too */
	size_t to;
	bool text;
} keys[] = {
	{ "model", offsetof(struct log_context, model), true },
	{ "model-path", offsetof(struct log_context, model), true },
	{ "quantization", offsetof(struct log_context, weights), true },
	{ "kv-cache-dtype", offsetof(struct log_context, cache), true },
	{ "input-len", offsetof(struct log_context, input), false },
	{ "random-input-len", offsetof(struct log_context, input), false },
	{ "output-len", offsetof(struct log_context, output), false },
	{ "random-output-len", offsetof(struct log_context, output), false },
	{ "batch-size", offsetof(struct log_context, batch), false },
	{ "max-concurrency", offsetof(struct log_context, concurrency), false },
	{ "concurrency", offsetof(struct log_context, concurrency), false },
	{ "request-rate", offsetof(struct log_context, rate), false },
	{ "num-prompts", offsetof(struct log_context, requests), false },
	{ "max-num-seqs", offsetof(struct log_context, sequences), false },
	{ "tensor-parallel-size", offsetof(struct log_context, tp), false },
	{ "tp-size", offsetof(struct log_context, tp), false },
	{ "tp", offsetof(struct log_context, tp), false },
	{ "pipeline-parallel-size", offsetof(struct log_context, pp), false },
	{ "pp-size", offsetof(struct log_context, pp), false },
};

static bool same(char a, char b)
{
	return a == b || (a == '_' && b == '-');
}

/* A key begins behind two dashes, or as a name of its own. */
static bool begins(const char *line, const char *at)
{
	if (at == line)
		return true;
	if (at[-1] == '-')
		return at - line >= 2 && at[-2] == '-' && (at - line == 2 || at[-3] == ' ');
	return strchr(" '\"({,", at[-1]) != NULL;
}

/* Where the value of the key at s begins; NULL: it is another word, or has none. */
static const char *value_at(const char *line, const char *s, const char *key)
{
	size_t n = 0;

	while (key[n] && s[n] && same(s[n], key[n]))
		n++;
	if (key[n] || !begins(line, s) || !s[n] || !strchr("= :'\"", s[n]))
		return NULL;
	s += n + strspn(s + n, "= :'\"");
	return *s && *s != '-' && *s != ',' ? s : NULL;
}

static void logs_take(struct log_walk *w, size_t k, const char *value)
{
	size_t len = strcspn(value, " ,'\")}]\\");
	char *to = (char *)&w->ctx + keys[k].to;
	bool none = len == 4 && (strncmp(value, "None", 4) == 0 || strncmp(value, "null", 4) == 0);

	if (!len || len > VALUE_MAX || none)
		return;
	if (keys[k].text)
		*(const char **)(void *)to = arena_strndup(w->a, value, len);
	else if (strncmp(value, "inf", 3) == 0)
		*(double *)(void *)to = HUGE_VAL;
	else
		*(double *)(void *)to = log_number(value, NULL);
}

/* "llama_model_loader: loaded meta data ... from /models/x.gguf (version GGUF V3 (latest))" */
static void gguf_path(struct log_walk *w, const char *line)
{
	const char *end = strstr(line, ".gguf"), *s = end;

	if (!end || !(strstr(line, "from ") || strstr(line, "-m ")))
		return;
	while (s > line && s[-1] != '/' && s[-1] != ' ' && s[-1] != '\'' && s[-1] != '=')
		s--;
	if (end - s > 0 && end - s < VALUE_MAX)
		w->ctx.model = arena_strndup(w->a, s, (size_t)(end - s) + 5);
}

/* "ollama run qwen3:8b --verbose": four bits, where the tag has no others. */
static void ollama_model(struct log_walk *w, const char *line)
{
	const char *s = strstr(line, "ollama run "), *type;
	size_t len = s ? strcspn(s += 11, " ") : 0;

	if (!len || *s == '-' || len > VALUE_MAX)
		return;
	w->ctx.model = arena_strndup(w->a, s, len);
	type = strstr(w->ctx.model, "-q");
	w->ctx.weights = strstr(w->ctx.model, "gpt-oss") ? NULL
			 : strstr(w->ctx.model, "fp16")	 ? "f16"
			 : type && type[2] != 'a'	 ? type + 1
							 : "q4_k_m";
}

void log_context_line(struct log_walk *w, const char *line)
{
	static const char *const begin[] = { "vllm bench",	  "bench_serving",
					     "bench_one_batch",	  "trtllm-bench",
					     "Namespace(",	  "bench_latency",
					     "benchmark_serving", "aiperf profile" };

	if (strlen(line) > 65536)
		return;
	gguf_path(w, line);
	ollama_model(w, line);
	if (!strstr(line, "--") && !strstr(line, "Namespace(") && !strstr(line, "Args(") &&
	    !strstr(line, "args:"))
		return;
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (strstr(line, begin[i])) {
			w->ctx = (struct log_context){ 0 };
			break;
		}
	for (const char *s = line; *s; s++)
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			const char *v =
				same(*s, *keys[k].name) ? value_at(line, s, keys[k].name) : NULL;

			if (v)
				logs_take(w, k, v);
		}
}

/* Results as JSON: each kind is known by keys that no other has. */

enum { DEPTH_MAX = 4, TEXT_MAX = 1024 };

static const char *text(struct log_walk *w, const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s && *s && strlen(s) <= TEXT_MAX ? arena_strdup(w->a, s) : NULL;
}

/* A number, or a text that is one (vLLM's "inf" is a text). 0: none. */
static double logs_number(const json_t *j, const char *key)
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

static void logs_serving(struct log_walk *w, const json_t *j, double item)
{
	bool sglang = has(j, "total_output_tokens_retokenized") || has(j, "server_info");
	const json_t *server = json_object_get(j, "server_info");
	const char *backend = text(w, j, "backend"), *model = text(w, j, "model_id");
	struct log_run *r = log_add(w, sglang ? LOG_SGLANG_SERVING : LOG_VLLM_SERVE,
				    sglang ? "sglang" : "vllm", item);
	struct log_counts c = {
		logs_number(j, "completed"),	       logs_number(j, "total_input_tokens"),
		logs_number(j, "total_output_tokens"), logs_number(j, "max_concurrency"),
		logs_number(j, "request_rate"),	       logs_number(j, "concurrency")
	};

	if (!r)
		return;
	backend = backend ? backend : text(w, j, "endpoint_type");
	if (backend && !str_starts(backend, "openai"))
		r->engine = backend;
	r->model = model ? model : text(w, server, "model_path");
	r->tp = log_whole(logs_number(server, "tp_size"));
	r->weights = text(w, server, "quantization");
	r->cache = text(w, server, "kv_cache_dtype");
	r->figure[LOG_TTFT] =
		either(logs_number(j, "mean_ttft_ms"), logs_number(j, "median_ttft_ms"));
	r->figure[LOG_TPOT] =
		either(either(logs_number(j, "mean_tpot_ms"), logs_number(j, "median_tpot_ms")),
		       logs_number(j, "mean_itl_ms"));
	r->figure[LOG_THROUGHPUT] = logs_number(j, "output_throughput");
	r->speculative = logs_number(j, "accept_length") > 1.01 ||
			 logs_number(j, "spec_decode_acceptance_length") > 1.01;
	log_counted(r, &c);
}

/* Tokens of prompts and answers together: what answers are of them is told by nobody else. */
static void logs_throughput(struct log_walk *w, const json_t *j, double item)
{
	struct log_run *r = log_add(w, LOG_VLLM_THROUGHPUT, "vllm", item);
	double n = logs_number(j, "num_requests"), s = logs_number(j, "elapsed_time"),
	       out = logs_number(j, "total_num_output_tokens"),
	       all = logs_number(j, "total_num_tokens");

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
		r->skipped = "number of output tokens unknown";
}

static void one_batch(struct log_walk *w, const json_t *j, double item)
{
	struct log_run *r = log_add(w, LOG_SGLANG_ONE_BATCH, "sglang", item);

	if (!r)
		return;
	r->batch = log_whole(logs_number(j, "batch_size"));
	r->prompt = logs_number(j, "input_len");
	r->output = logs_number(j, "output_len");
	r->figure[LOG_PREFILL] = 1e3 * logs_number(j, "prefill_latency");
	r->figure[LOG_STEP] = 1e3 * logs_number(j, "median_decode_latency");
	if (!has(j, "prefill_latency"))
		r->figure[LOG_LATENCY] = 1e3 * logs_number(j, "latency");
	r->speculative = logs_number(j, "acc_length") > 1.01;
	if (logs_number(j, "cache_hit_rate") > 0.01)
		r->skipped = "part of the prompts was in the prefix cache";
}

static void logs_trtllm(struct log_walk *w, const json_t *j, double item)
{
	const json_t *engine = json_object_get(j, "engine"), *p = json_object_get(j, "performance"),
		     *world = json_object_get(j, "world_info"),
		     *asked = json_object_get(j, "request_info"),
		     *stream = json_object_get(j, "streaming_metrics");
	struct log_run *r = log_add(w, LOG_TRTLLM, "tensorrt-llm", item);
	double n = logs_number(asked, "num_requests");
	struct log_counts c = { n,
				n * logs_number(asked, "avg_input_length"),
				n * logs_number(asked, "avg_output_length"),
				logs_number(asked, "avg_num_concurrent_requests"),
				0,
				0 };

	if (!r)
		return;
	r->model = text(w, engine, "model");
	r->weights = text(w, engine, "quantization") ? text(w, engine, "quantization")
						     : text(w, engine, "dtype");
	r->cache = text(w, engine, "kv_cache_dtype");
	r->tp = log_whole(logs_number(world, "tp_size"));
	r->pp = log_whole(logs_number(world, "pp_size"));
	r->figure[LOG_THROUGHPUT] = logs_number(p, "system_output_throughput_tok_s");
	r->figure[LOG_TTFT] = logs_number(stream, "avg_ttft_ms");
	r->figure[LOG_TPOT] = logs_number(stream, "avg_tpot_ms");
	r->speculative = json_is_object(json_object_get(j, "decoding_stats"));
	log_counted(r, &c);
}

/* GuideLLM's metrics, AIPerf's summary: an object for each figure. */
static double logs_average(const json_t *j, const char *key)
{
	const json_t *v = json_object_get(j, key), *good = json_object_get(v, "successful");

	return logs_number(good ? good : v, has(good ? good : v, "mean") ? "mean" : "avg");
}

static void logs_averages(struct log_walk *w, const json_t *j, double item)
{
	bool guide = has(j, "time_to_first_token_ms");
	struct log_run *r = log_add(w, guide ? LOG_GUIDELLM : LOG_AIPERF, "vllm", item);
	double n = either(logs_average(j, "request_count"), 1000);
	struct log_counts c = { .completed = n,
				.input = n * logs_average(j, guide ? "prompt_token_count"
								   : "input_sequence_length"),
				.output = n * logs_average(j, guide ? "output_token_count"
								    : "output_sequence_length"),
				.seen = either(logs_average(j, "request_concurrency"),
					       logs_average(j, "request_throughput") *
						       logs_average(j, "request_latency") / 1e3) };

	if (!r)
		return;
	r->figure[LOG_TTFT] =
		logs_average(j, guide ? "time_to_first_token_ms" : "time_to_first_token");
	r->figure[LOG_TPOT] =
		logs_average(j, guide ? "inter_token_latency_ms" : "inter_token_latency");
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
	r->prompt = logs_number(j, "prompt_n");
	r->depth = logs_number(j, "cache_n");
	r->output = logs_number(j, "predicted_n");
	r->figure[LOG_PREFILL] = logs_number(j, "prompt_ms");
	r->figure[LOG_STEP] = logs_number(j, "predicted_per_token_ms");
	r->speculative = logs_number(j, "draft_n") > 0;
}

/* --- rows of llama-bench ---------------------------------------------------------------------- */

struct json_row {
	struct arena *a;
	const json_t *j;
};

static const char *logs_member(const void *row, const char *key)
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
	struct log_cells c = { logs_member, &row };

	log_llama_row(w, &c, item);
}

/* --- which it is ------------------------------------------------------------------------------ */

static bool logs_object(struct log_walk *w, const json_t *j, double item)
{
	if (has(j, "avg_ts") && (has(j, "n_prompt") || has(j, "n_gen")))
		bench_row(w, j, item);
	else if (has(j, "completed") && has(j, "total_output_tokens") &&
		 has(j, "total_input_tokens"))
		logs_serving(w, j, item);
	else if (has(j, "avg_latency") && has(j, "percentiles"))
		log_latency(w, logs_number(j, "avg_latency"), item);
	else if (has(j, "elapsed_time") && has(j, "num_requests"))
		logs_throughput(w, j, item);
	else if (has(j, "batch_size") && has(j, "input_len") &&
		 (has(j, "prefill_latency") || has(j, "latency")))
		one_batch(w, j, item);
	else if (json_is_object(json_object_get(j, "performance")) &&
		 json_is_object(json_object_get(j, "request_info")))
		logs_trtllm(w, j, item);
	else if (json_is_object(json_object_get(j, "time_to_first_token_ms")) ||
		 json_is_object(json_object_get(j, "time_to_first_token")))
		logs_averages(w, j, item);
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
	if (!json_is_object(j) || logs_object(w, j, item))
		return;
	json_object_foreach((json_t *)j, key, v) log_json(w, v, depth + 1, item);
}
