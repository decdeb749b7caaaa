/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people have measured: the outputs of the engines' own benchmarks, as they are written. Each
 * run becomes what was asked and what came of it, in our units. All of it is somebody else's text:
 * bounded and checked; what a run does not tell stays zero or NULL. Pure.
 *
 * Read are (versions whose formats were looked at): vLLM 0.6 to 0.14 "bench serve" (page and
 * --save-result), "bench latency" and "bench throughput" (page and JSON); SGLang 0.4 to 0.5
 * bench_serving, bench_one_batch and bench_one_batch_server (page and JSON lines); llama.cpp b5000
 * to b11000 llama-bench (Markdown, CSV, JSON, JSON lines, SQL) and the timings of llama-server and
 * llama-cli; TensorRT-LLM 0.15 to 1.2 trtllm-bench (page and --report_json).
 */
#ifndef INFERENCE_LOGS_H
#define INFERENCE_LOGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum log_tool {
	LOG_VLLM_SERVE,
	LOG_VLLM_LATENCY,
	LOG_VLLM_THROUGHPUT,
	LOG_SGLANG_SERVING,
	LOG_SGLANG_ONE_BATCH,
	LOG_LLAMA_BENCH,
	LOG_LLAMA_SERVER,
	LOG_TRTLLM,
	LOG_TOOLS,
};

/* Milliseconds, and tokens a second. */
enum log_figure {
	LOG_TTFT,	/* from a request's start to its first token, on average */
	LOG_TPOT,	/* a further token of one request, others' prompts in between */
	LOG_THROUGHPUT, /* output tokens a second of all requests */
	LOG_LATENCY,	/* from the start until a whole batch is answered */
	LOG_PREFILL,	/* a batch's prompts through the model, without the way to the engine */
	LOG_STEP,	/* one step that gives every sequence a token */
	LOG_FIGURES,
};

extern const char *const log_tool_names[LOG_TOOLS];
extern const char *const log_figure_names[LOG_FIGURES]; /* "ttft_ms" */

struct log_run {
	const char *where; /* "bench.txt:41", "result.json, item 3" */
	enum log_tool tool;
	const char *engine; /* as engine_parse takes it */
	const char *model, *weights, *cache;
	int batch, tp, pp;
	double prompt, output, depth;
	double rounds;	      /* requests of one user, one after the other */
	double params, bytes; /* of the model's file */
	double figure[LOG_FIGURES];
	bool speculative;    /* guesses ahead: no plain decoding */
	bool at_rate;	     /* requests came at a rate, not as answers did */
	const char *skipped; /* why it says nothing, in a sentence */
};

struct log_runs {
	struct log_run *items;
	size_t n;
};

enum { LOG_RUNS_MAX = 10000, LOG_BYTES_MAX = 64 << 20, LOG_LINE_MAX = 1 << 20 };

/*
 * Adds the runs of one file; file is how messages name it. text is NUL-terminated and at most
 * LOG_BYTES_MAX. -EINVAL: "file:line: ..." what is broken, or that nothing in it is known; -E2BIG:
 * more than LOG_RUNS_MAX runs.
 */
int logs_read(struct arena *a, const char *file, const char *text, struct log_runs *out,
	      struct err *e);

#endif
