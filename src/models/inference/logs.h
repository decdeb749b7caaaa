/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people have measured: the outputs of the engines' own benchmarks, as they are written. Each
 * run becomes what was asked and what came of it, in our units. All of it is somebody else's text:
 * bounded and checked; what a run does not say stays zero or NULL. Pure.
 *
 * Read are (versions whose formats were looked at): vLLM 0.6 to 0.14 "bench serve" (page and
 * --save-result), "bench latency" and "bench throughput" (page and JSON); SGLang 0.4 to 0.5
 * bench_serving, bench_one_batch and bench_one_batch_server (page and JSON lines); llama.cpp b5000
 * to b11000 llama-bench (Markdown, CSV, JSON, JSON lines) and the timings of llama-server and
 * llama-cli; TensorRT-LLM 0.15 to 1.2 trtllm-bench (page and --report_json); llama-benchy of 2026
 * (Markdown); Ollama 0.5 to 0.13 "run --verbose"; GuideLLM 0.2 to 0.7 (JSON); AIPerf 0.1 to 0.12
 * (page and JSON).
 */
#ifndef INFERENCE_LOGS_H
#define INFERENCE_LOGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* clang-format off */
enum log_tool {
	LOG_VLLM_SERVE, LOG_VLLM_LATENCY, LOG_VLLM_THROUGHPUT, LOG_SGLANG_SERVING,
	LOG_SGLANG_ONE_BATCH, LOG_LLAMA_BENCH, LOG_LLAMA_SERVER, LOG_TRTLLM, LOG_LLAMA_BENCHY,
	LOG_OLLAMA, LOG_GUIDELLM, LOG_AIPERF, LOG_TOOLS
};
/* clang-format on */

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

/* The pieces that reading of logs is made of. Not for others. */

/* What command lines and printed arguments before a result say of it; zero: nothing. */
struct log_context {
	const char *model, *weights, *cache;
	double input, output, batch, concurrency, requests, sequences, tp, pp, depth;
	double rate; /* requests a second; HUGE_VAL: all at once */
};

struct log_walk {
	struct arena *a;
	const char *file;
	long line; /* of what is read now; 0: item of a list */
	struct log_context ctx;
	struct log_runs *out;
	struct err *e;
	int failed;	/* the first error: nothing more is read */
	size_t first;	/* run of this file */
	size_t open;	/* 1 + the run whose lines are being read; 0: none */
	bool known;	/* something in the file was recognised */
	bool measuring; /* behind the warm-up of a benchmark that prints both */
	double completed, total_in, total_out; /* of the open run */
	double prompt_ms, prompt_n;	       /* of a line that waits for the next */
	const char **head;		       /* columns of a Markdown table; NULL: in none */
	size_t n_head;
};

/* A new run with what the context knows; NULL after an error. */
struct log_run *log_add(struct log_walk *w, enum log_tool tool, const char *engine, double item);
/* From counts of a serving benchmark to lengths, requests at a time, rounds. */
struct log_counts {
	double completed, input, output; /* requests, tokens of all */
	double concurrency;		 /* asked for; 0: not known */
	double rate;			 /* requests a second; HUGE_VAL: at once; 0: not known */
	double seen;			 /* requests at a time as measured; 0: not known */
};
void log_counted(struct log_run *r, const struct log_counts *c);
/* A run of "bench latency". */
void log_latency(struct log_walk *w, double seconds, double item);
/* The lines of the open run are over. */
void log_close(struct log_walk *w);
/* A number at s, positive and sane; 0: none. *end (may be NULL) is behind it. */
double log_number(const char *s, const char **end);
/* A whole number that fits, or 0. */
int log_whole(double v);

/* --- lines: each answers whether the line was its own ----------------------------------------- */
void log_context_line(struct log_walk *w, const char *line);
bool log_serving_line(struct log_walk *w, const char *line);
bool log_offline_line(struct log_walk *w, const char *line);
bool log_one_batch_line(struct log_walk *w, const char *line);
bool log_llama_line(struct log_walk *w, const char *line);
/* Records of CSV may hold line ends: takes them all from s on, returns what follows. NULL: s is no
 * head of such a table. */
const char *log_llama_csv(struct log_walk *w, const char *s);

/* --- JSON ------------------------------------------------------------------------------------- */
/* Every result in j, however deep (to a bound). item: counts the members of the outer list. */
void log_json(struct log_walk *w, const json_t *j, unsigned depth, double item);
/* A row of llama-bench, by keys. get: the value of a column as text; NULL: it has none. */
struct log_cells {
	const char *(*get)(const void *row, const char *key);
	const void *row;
};
void log_llama_row(struct log_walk *w, const struct log_cells *c, double item);

#endif
