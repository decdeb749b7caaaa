/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llama.cpp: rows of llama-bench (Markdown, CSV; JSON comes from logs.c), and the timings that
 * llama-server and llama-cli print.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/inference/logs.h"

/* What all readers of benchmark output share: numbers in a line, and a run that is being read. */

const char *const log_tool_names[LOG_TOOLS] = {
	"vllm bench serve",
	"vllm bench latency",
	"vllm bench throughput",
	"sglang bench_serving",
	"sglang bench_one_batch",
	"llama-bench",
	"llama.cpp timings",
	"trtllm-bench",
	"llama-benchy",
	"ollama",
	"GuideLLM",
	"AIPerf",
};
const char *const log_figure_names[LOG_FIGURES] = { "ttft_ms",	  "tpot_ms",	"throughput_tok_s",
						    "latency_ms", "prefill_ms", "step_ms" };

double log_number(const char *s, const char **end)
{
	char *stop;
	double v;

	s += strspn(s, " \t");
	if ((*s < '0' || *s > '9') && *s != '.')
		return 0;
	v = strtod(s, &stop);
	if (end)
		*end = stop;
	return isfinite(v) && v > 0 && v < 1e15 ? v : 0;
}

/* The number behind key in a line; 0: none. */
static double log_after(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? log_number(at + strlen(key), NULL) : 0;
}

int log_whole(double v)
{
	return v >= 0.5 && v < 1e6 ? (int)lround(v) : 0;
}

/* The run whose lines are being read; NULL: none. */
static struct log_run *log_open(struct log_walk *w)
{
	return w->open ? &w->out->items[w->open - 1] : NULL;
}

struct log_run *log_add(struct log_walk *w, enum log_tool tool, const char *engine, double item)
{
	const struct log_context *c = &w->ctx;
	struct log_run *r;

	if (w->out->n >= LOG_RUNS_MAX) {
		w->failed =
			err_set(w->e, -E2BIG, "%s: more than %d results", w->file, LOG_RUNS_MAX);
		return NULL;
	}
	w->known = true;
	r = &ARENA_ADD(w->a, w->out->items, w->out->n);
	*r = (struct log_run){ .tool = tool,
			       .engine = engine,
			       .model = c->model,
			       .weights = c->weights,
			       .cache = c->cache,
			       .tp = log_whole(c->tp),
			       .pp = log_whole(c->pp),
			       .rounds = 1 };
	r->where = item > 0 ? arena_printf(w->a, "%s, item %.0f", w->file, item)
			    : arena_printf(w->a, "%s:%ld", w->file, w->line);
	return r;
}

void log_counted(struct log_run *r, const struct log_counts *c)
{
	double at_once = c->concurrency;

	if (!(c->completed > 0)) {
		r->skipped = "no request succeeded";
		return;
	}
	r->prompt = c->input / c->completed;
	r->output = c->output / c->completed;
	r->at_rate = c->rate > 0 && isfinite(c->rate);
	if (!(at_once > 0))
		at_once = c->rate > 0 && !r->at_rate ? c->completed : c->seen;
	at_once = fmin(at_once, c->completed);
	r->batch = log_whole(at_once);
	r->rounds = r->batch ? fmax(1, c->completed / r->batch) : 1;
	if (r->at_rate)
		r->skipped = "requests were sent at a fixed rate, not at a fixed concurrency";
}

enum { COLUMNS_MAX = 96 };

/* "Q4_K - Medium" as "q4_k_m", "BF16" as "bf16"; from the end of a llama.cpp model type. */
static const char *log_gguf_type(struct arena *a, const char *type)
{
	static const char *const sizes[][2] = { { " - Medium", "_m" },
						{ " - Small", "_s" },
						{ " - Large", "_l" } };
	/* "llama 8B Q4_K - Medium": the last word that looks like a type, and its size. */
	const char *last = NULL, *end;
	char *out;

	for (const char *s = type; *s; s++)
		if ((s == type || s[-1] == ' ') && strchr("QIBFMTN", *s) && strcspn(s, " ") >= 3 &&
		    strpbrk(s, "0123456789") && strpbrk(s, "0123456789") < s + strcspn(s, " "))
			last = s;
	if (!last)
		return NULL;
	end = last + strcspn(last, " ");
	out = arena_strndup(a, last, (size_t)(end - last));
	for (char *p = out; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (size_t i = 0; i < 3; i++)
		if (str_starts(end, sizes[i][0]))
			return arena_printf(a, "%s%s", out, sizes[i][1]);
	return out;
}

/* --- a row ------------------------------------------------------------------------------------ */

static double cell(const struct log_cells *c, const char *key)
{
	const char *s = c->get(c->row, key);

	return s ? log_number(s, NULL) : 0;
}

/* "pp512", "pp 512", "tg128 @ d4096", "pp512+tg128" */
static void test_of(const char *s, double *prompt, double *gen, double *depth)
{
	const char *at = strstr(s, "@ d"), *tg = strstr(s, "tg");

	*prompt = str_starts(s, "pp") ? log_number(s + 2, NULL) : 0;
	*gen = tg ? log_number(tg + 2, NULL) : 0;
	*depth = at ? log_number(at + 3, NULL) : 0;
}

/* GiB, or a number with B for thousands of millions, as the Markdown has them; else plain. */
static double logs_llama_scaled(const char *s)
{
	const char *end = s;
	double v;

	if (!s)
		return 0;
	v = log_number(s, &end);
	if (!(v > 0))
		return 0;
	end += strspn(end, " ");
	if (str_starts(end, "GiB"))
		return v * 1073741824.0;
	if (str_starts(end, "MiB"))
		return v * 1048576.0;
	return *end == 'B' ? v * 1e9 : *end == 'M' ? v * 1e6 : v;
}

static void times(struct log_run *r, double prompt, double gen, double rate)
{
	if (!(rate > 0)) {
		r->skipped = "no tokens/s";
		return;
	}
	r->prompt = prompt > 0 ? prompt : 1;
	r->output = gen;
	if (prompt > 0 && gen > 0)
		r->figure[LOG_LATENCY] = 1e3 * (prompt + gen) / rate;
	else if (prompt > 0)
		r->figure[LOG_PREFILL] = 1e3 * prompt / rate;
	else
		r->figure[LOG_STEP] = 1e3 / rate;
}

void log_llama_row(struct log_walk *w, const struct log_cells *c, double item)
{
	bool served = c->get(c->row, "ttfr (ms)"); /* llama-benchy, of any engine */
	struct log_run *r = log_add(w, served ? LOG_LLAMA_BENCHY : LOG_LLAMA_BENCH,
				    served ? "vllm" : "llama.cpp", item);
	const char *test = c->get(c->row, "test"), *type = c->get(c->row, "model_type"),
		   *path = c->get(c->row, "model_filename"), *ngl = c->get(c->row, "n_gpu_layers");
	double prompt = cell(c, "n_prompt"), gen = cell(c, "n_gen"), rate = cell(c, "avg_ts");

	if (!r)
		return;
	r->depth = cell(c, "n_depth");
	if (test)
		test_of(test, &prompt, &gen, &r->depth);
	r->batch = 1;
	r->model = path && *path ? arena_strdup(w->a, path_name(path))
		   : type	 ? arena_strdup(w->a, type)
				 : NULL;
	r->weights = type ? log_gguf_type(w->a, type) : NULL;
	r->cache = c->get(c->row, "type_k") ? arena_strdup(w->a, c->get(c->row, "type_k")) : NULL;
	r->bytes = logs_llama_scaled(c->get(c->row, "model_size"));
	r->params = logs_llama_scaled(c->get(c->row, "model_n_params"));
	times(r, prompt, gen, rate);
	if (ngl && strcmp(ngl, "0") == 0)
		r->skipped = "no layer is on the GPU";
	else if (cell(c, "n_cpu_moe") > 0)
		r->skipped = "experts are on the CPU";
}

struct named_row {
	const char **head, **cell;
	size_t n;
	bool markdown;
};

static const char *logs_llama_by_name(const void *row, const char *key)
{
	static const char *const alias[][2] = {
		{ "model_type", "model" }, { "model_size", "size" }, { "model_n_params", "params" },
		{ "n_gpu_layers", "ngl" }, { "avg_ts", "t/s" },
	};
	const struct named_row *r = row;

	for (size_t i = 0; r->markdown && i < sizeof(alias) / sizeof(alias[0]); i++)
		if (strcmp(key, alias[i][0]) == 0)
			key = alias[i][1];
	for (size_t i = 0; i < r->n; i++)
		if (r->head[i] && strcmp(r->head[i], key) == 0)
			return r->cell[i];
	return NULL;
}

static void named(struct log_walk *w, struct named_row *r)
{
	struct log_cells c = { logs_llama_by_name, r };

	log_llama_row(w, &c, 0);
}

/* --- CSV -------------------------------------------------------------------------------------- */

const char *log_llama_csv(struct log_walk *w, const char *s)
{
	const char **head, **cells;
	struct named_row r = { .markdown = false };
	const char *from = s;
	long first = w->line;
	size_t n;

	if (!str_starts(s, "build_commit,"))
		return NULL;
	head = arena_array(w->a, COLUMNS_MAX, sizeof(*head));
	s = csv_record(w->a, s, head, COLUMNS_MAX, &r.n);
	cells = arena_array(w->a, COLUMNS_MAX, sizeof(*cells));
	while (s && *s == '"' && !w->failed) {
		const char *next = csv_record(w->a, s, cells, COLUMNS_MAX, &n);

		w->line++;
		if (!next) {
			w->failed =
				err_set(w->e, -EINVAL, "%s:%ld: unclosed quote", w->file, w->line);
			break;
		}
		for (; n < r.n; n++)
			cells[n] = "";
		r.head = head;
		r.cell = cells;
		named(w, &r);
		s = next;
	}
	w->line = first; /* the caller counts on from here */
	return s ? s : from + strlen(from);
}

/* --- Markdown --------------------------------------------------------------------------------- */

static size_t logs_llama_split(struct log_walk *w, const char *line, const char **out)
{
	size_t n = 0, len;

	for (line += strspn(line, " \t") + 1; *line && n < COLUMNS_MAX; n++) {
		size_t room = strcspn(line, "|");
		const char *s = str_trim(line, room, &len);

		out[n] = arena_strndup(w->a, s, len);
		if (!line[room])
			break;
		line += room + 1;
	}
	return n;
}

static bool markdown(struct log_walk *w, const char *line)
{
	const char *cells[COLUMNS_MAX];
	struct named_row r = { .markdown = true, .cell = cells };
	const char *s = line + strspn(line, " \t");

	if (*s != '|') {
		w->head = NULL;
		return false;
	}
	if (strstr(s, " t/s |") && strstr(s, " test ") && str_starts(s, "| model ")) {
		w->head = arena_array(w->a, COLUMNS_MAX, sizeof(*w->head));
		w->n_head = logs_llama_split(w, s, w->head);
		return true;
	}
	if (!w->head || strspn(s, "|-: ") == strlen(s))
		return w->head != NULL;
	r.head = w->head;
	r.n = logs_llama_split(w, s, cells);
	r.n = r.n < w->n_head ? r.n : w->n_head;
	named(w, &r);
	return true;
}

/* --- timings ---------------------------------------------------------------------------------- */

/* "... = 123.45 ms / 14 tokens (...": milliseconds and how many. */
static bool timing(const char *s, double *ms, double *n)
{
	const char *slash;

	s = strchr(s, '=');
	slash = s ? strstr(s, " ms / ") : NULL;
	*ms = s ? log_number(s + 1, NULL) : 0;
	*n = slash ? log_number(slash + 6, NULL) : 0;
	return *ms > 0 && *n > 0;
}

/* The lines before have the time of the prompt. */
static bool timed(struct log_walk *w, enum log_tool tool, double each, double output)
{
	struct log_run *r = each > 0 && each < 1e9 ? log_add(w, tool, "llama.cpp", 0) : NULL;

	if (r) {
		r->batch = 1;
		r->prompt = fmax(1, w->prompt_n);
		r->output = fmax(1, output);
		r->figure[LOG_PREFILL] = w->prompt_ms;
		r->figure[LOG_STEP] = each;
		w->prompt_ms = w->prompt_n = 0;
	}
	return true;
}

bool log_llama_line(struct log_walk *w, const char *line)
{
	const char *s = strstr(line, "prompt eval time =");
	struct log_run *last = w->out->n > w->first ? &w->out->items[w->out->n - 1] : NULL;
	double ms, n, each;

	if (s) {
		w->known = timing(s, &w->prompt_ms, &w->prompt_n) || w->known;
		return true;
	}
	s = strstr(line, "eval time =");
	each = s ? log_after(s, "(") : 0;
	if (s)
		return !timing(s, &ms, &n) ||
		       timed(w, LOG_LLAMA_SERVER, each > 0 ? each : ms / n, n);
	/* "ollama run --verbose" */
	if (str_starts(line, "prompt eval count:"))
		w->prompt_n = log_after(line, "count:");
	else if (str_starts(line, "eval count:"))
		w->total_out = log_after(line, "count:");
	else if (str_starts(line, "eval rate:"))
		timed(w, LOG_OLLAMA, 1e3 / log_after(line, "rate:"), w->total_out);
	if (strstr(line, "draft acceptance") && last && last->tool == LOG_LLAMA_SERVER) {
		last->speculative = true;
		return true;
	}
	return markdown(w, line);
}

/*
 * The pages that benchmarks of vLLM and SGLang print: a serving benchmark's block of names and
 * figures, the lines of offline benchmarks, and SGLang's single batches.
 */

/*
 * Figures as serving benchmarks name them. t: text of the run, i: whole number, f: figure, m: one
 * that gives way to f, w: number of the walk, s: makes it speculative above 1, b: backend.
 */
static const struct log_name {
	const char *name;
	char kind;
	size_t at;
} names[] = {
#define RUN(member) offsetof(struct log_run, member)
#define FIGURE(f) RUN(figure) + (f) * sizeof(double)
#define WALK(member) offsetof(struct log_walk, member)
	{ "Backend", 'b', 0 },
	{ "Successful requests", 'w', WALK(completed) },
	{ "Maximum request concurrency", 'w', WALK(ctx.concurrency) },
	{ "Max request concurrency", 'w', WALK(ctx.concurrency) },
	{ "Concurrency", 'w', WALK(ctx.batch) },
	{ "Traffic request rate", 'w', WALK(ctx.rate) },
	{ "Request rate configured (RPS)", 'w', WALK(ctx.rate) },
	{ "Total input tokens", 'w', WALK(total_in) },
	{ "Total generated tokens", 'w', WALK(total_out) },
	{ "Output token throughput (tok/s)", 'f', FIGURE(LOG_THROUGHPUT) },
	{ "Mean TTFT (ms)", 'f', FIGURE(LOG_TTFT) },
	{ "Median TTFT (ms)", 'm', FIGURE(LOG_TTFT) },
	{ "Mean TPOT (ms)", 'f', FIGURE(LOG_TPOT) },
	{ "Median TPOT (ms)", 'm', FIGURE(LOG_TPOT) },
	{ "Mean ITL (ms)", 'm', FIGURE(LOG_TPOT) },
	{ "Accept length", 's', 0 },
	{ "Acceptance length", 's', 0 },
	{ "Model", 't', RUN(model) },
	{ "Dtype", 't', RUN(weights) },
	{ "KV Cache Dtype", 't', RUN(cache) },
	{ "Quantization", 't', RUN(weights) },
	{ "TP Size", 'i', RUN(tp) },
	{ "PP Size", 'i', RUN(pp) },
	{ "Number of requests", 'w', WALK(completed) },
	{ "Number of concurrent requests", 'w', WALK(ctx.concurrency) },
	{ "Average Input Length (tokens)", 'w', WALK(total_in) },
	{ "Average Output Length (tokens)", 'w', WALK(total_out) },
	{ "Total Output Throughput (tokens/sec)", 'f', FIGURE(LOG_THROUGHPUT) },
	{ "Average time-to-first-token [TTFT] (ms)", 'f', FIGURE(LOG_TTFT) },
	{ "Average time-per-output-token [TPOT] (ms)", 'f', FIGURE(LOG_TPOT) },
	{ "Time to First Token (ms)", 'f', FIGURE(LOG_TTFT) },
	{ "Inter Token Latency (ms)", 'f', FIGURE(LOG_TPOT) },
	{ "Input Sequence Length (tokens)", 'w', WALK(total_in) },
	{ "Output Sequence Length (tokens)", 'w', WALK(total_out) },
	{ "Request Latency (ms)", 'w', WALK(prompt_ms) },
	{ "Request Throughput (requests/sec)", 'w', WALK(prompt_n) },
	{ "Request Count (requests)", 'w', WALK(completed) },
};

/* "Name: value", or "| Name | value |" with the bars of a drawn table. */
static const struct log_name *name_of(const char *line, const char **value)
{
	static const char bar[] = "\xe2\x94\x82";
	bool drawn = str_starts(line, bar);
	const char *end;
	size_t len;

	line += drawn ? strlen(bar) : 0;
	end = drawn ? strstr(line, bar) : strchr(line, ':');
	if (!end)
		return NULL;
	line = str_trim(line, (size_t)(end - line), &len);
	*value = end + (drawn ? strlen(bar) : 1);
	*value += strspn(*value, " \t");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len && strncasecmp(names[i].name, line, len) == 0)
			return &names[i];
	return NULL;
}

static double name_number(const char *value)
{
	const char *end = value;
	double v = log_number(value, &end);

	while (*end == ',' && isdigit((unsigned char)end[1]))
		v = 1e3 * v + log_number(end + 1, &end);
	return v;
}

static void name_take(struct log_walk *w, struct log_run *r, const struct log_name *f,
		      const char *value)
{
	size_t len = strcspn(value, " \t");
	const char *word = len && len <= 256 && !str_starts(value, "None")
				   ? arena_strndup(w->a, value, len)
				   : NULL;
	char *base = f->kind == 'w' ? (char *)w : (char *)r, *to = base ? base + f->at : NULL;
	double v = name_number(value);

	if (f->kind == 'w')
		*(double *)(void *)to = str_starts(value, "inf") ? HUGE_VAL : v;
	else if (!r)
		return;
	else if (f->kind == 't')
		*(const char **)(void *)to = word ? word : *(const char **)(void *)to;
	else if (f->kind == 'i')
		*(int *)(void *)to = log_whole(v);
	else if (f->kind == 's')
		r->speculative = v > 1.01;
	else if (f->kind == 'b') { /* a page without one is vLLM's */
		r->tool = LOG_SGLANG_SERVING;
		r->engine = word ? word : r->engine;
	} else if (v > 0 && (f->kind == 'f' || !(*(double *)(void *)to > 0)))
		*(double *)(void *)to = v;
}

/* The page of a serving benchmark begins. */
static bool serving_begins(struct log_walk *w, const char *line)
{
	static const struct {
		const char *line, *engine;
		enum log_tool tool;
	} begin[] = { { " Serving Benchmark Result ", "vllm", LOG_VLLM_SERVE },
		      { "= PYTORCH BACKEND", "tensorrt-llm", LOG_TRTLLM },
		      { "= ENGINE DETAILS", "tensorrt-llm", LOG_TRTLLM },
		      { "NVIDIA AIPerf | LLM Metrics", "vllm", LOG_AIPERF } };

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		if (!strstr(line, begin[i].line))
			continue;
		log_close(w);
		w->ctx.batch = 0;
		if (begin[i].tool == LOG_TRTLLM)
			w->ctx = (struct log_context){ 0 };
		if (log_add(w, begin[i].tool, begin[i].engine, 0))
			w->open = w->out->n;
		return true;
	}
	return false;
}

bool log_serving_line(struct log_walk *w, const char *line)
{
	struct log_run *r;
	const char *value = "";
	const struct log_name *f;

	if (serving_begins(w, line))
		return true;
	f = name_of(line, &value);
	r = log_open(w);
	if (r && r->tool == LOG_SGLANG_ONE_BATCH)
		return false;
	if (f)
		name_take(w, r, f, value);
	else if (r && r->tool != LOG_TRTLLM && strlen(line) >= 20 &&
		 (strspn(line, "=") == strlen(line) || str_starts(line, "\xe2\x94\x94")))
		log_close(w);
	if (r && r->tool == LOG_TRTLLM && str_starts(line, "= DECODING STATISTICS"))
		r->speculative = true;
	return f || r;
}

void log_close(struct log_walk *w)
{
	struct log_run *r = log_open(w);

	if (r && r->tool != LOG_SGLANG_ONE_BATCH) {
		bool total = r->tool == LOG_VLLM_SERVE || r->tool == LOG_SGLANG_SERVING;
		double each = total ? 1 : w->completed;
		struct log_counts c = { w->completed,
					w->total_in * each,
					w->total_out * each,
					w->ctx.concurrency,
					total ? w->ctx.rate : 0,
					total ? w->ctx.batch : w->prompt_ms * w->prompt_n / 1e3 };

		log_counted(r, &c);
	}
	w->open = 0;
	w->completed = w->total_in = w->total_out = 0;
}

/* --- offline benchmarks of vLLM --------------------------------------------------------------- */

void log_latency(struct log_walk *w, double seconds, double item)
{
	struct log_run *r = log_add(w, LOG_VLLM_LATENCY, "vllm", item);

	if (!r)
		return;
	r->figure[LOG_LATENCY] = 1e3 * seconds;
	r->batch = log_whole(w->ctx.batch);
	r->prompt = w->ctx.input;
	r->output = w->ctx.output;
}

/* "Throughput: 34.14 requests/s, 17466.30 total tokens/s, 8739.16 output tokens/s" */
static void logs_llama_throughput(struct log_walk *w, const char *line)
{
	struct log_run *r = log_add(w, LOG_VLLM_THROUGHPUT, "vllm", 0);
	double each = log_after(line, "Throughput:"), all = log_after(line, "requests/s,");
	double out = log_after(line, "total tokens/s,");

	if (!r)
		return;
	r->figure[LOG_THROUGHPUT] = out;
	r->batch = log_whole(w->ctx.sequences);
	w->completed = w->ctx.requests;
	/* Requests and tokens a second say how long prompts and answers were. */
	r->prompt =
		each > 0 && all > out && !(w->ctx.input > 0) ? (all - out) / each : w->ctx.input;
	r->output = each > 0 && out > 0 ? out / each : w->ctx.output;
	if (!r->batch && w->ctx.requests > 0 && w->ctx.requests <= 256)
		r->batch = log_whole(w->ctx.requests);
	if (r->batch && w->ctx.requests > r->batch)
		r->rounds = w->ctx.requests / r->batch;
}

/* "Total num prompt tokens:  255648", behind the line above. */
static void prompt_tokens(struct log_walk *w, const char *line)
{
	struct log_run *r = w->out->n > w->first ? &w->out->items[w->out->n - 1] : NULL;
	double all = log_after(line, "tokens:"), each = w->ctx.requests;

	if (r && r->tool == LOG_VLLM_THROUGHPUT && each > 0 && all > 0)
		r->prompt = all / each;
}

bool log_offline_line(struct log_walk *w, const char *line)
{
	if (str_starts(line, "Avg latency:"))
		log_latency(w, log_after(line, "latency:"), 0);
	else if (str_starts(line, "Throughput:") && strstr(line, "requests/s"))
		logs_llama_throughput(w, line);
	else if (str_starts(line, "Total num prompt tokens:"))
		prompt_tokens(w, line);
	else
		return false;
	return true;
}

/* --- SGLang's single batches ------------------------------------------------------------------ */

/* What was printed until now was the warm-up. */
static void measuring(struct log_walk *w)
{
	for (size_t i = w->first; i < w->out->n && !w->measuring; i++)
		if (w->out->items[i].tool == LOG_SGLANG_ONE_BATCH)
			w->out->items[i].skipped = "the warm-up";
	w->measuring = true;
}

/* Lengths follow from what is printed: throughputs are tokens of the whole batch over times. */
static void total_line(struct log_walk *w, struct log_run *r, const char *line)
{
	double s = log_after(line, "latency:"), tokens = s * log_after(line, "throughput:");

	if (r->batch > 0) {
		r->prompt = w->total_in / r->batch;
		r->output = fmax(0, round(tokens / r->batch - r->prompt));
	} else {
		r->skipped = "one output token per request: number of prompts unknown";
	}
	w->open = 0;
	w->total_in = 0;
}

bool log_one_batch_line(struct log_walk *w, const char *line)
{
	struct log_run *r = log_open(w);
	double s = log_after(line, "latency:");

	if (str_starts(line, "Benchmark ...")) {
		measuring(w);
		return true;
	}
	if (str_starts(line, "Prefill. latency:")) {
		log_close(w);
		r = log_add(w, LOG_SGLANG_ONE_BATCH, "sglang", 0);
		if (!r)
			return true;
		w->open = w->out->n;
		r->figure[LOG_PREFILL] = 1e3 * s;
		w->total_in = round(s * log_after(line, "throughput:"));
		return true;
	}
	if (!r || r->tool != LOG_SGLANG_ONE_BATCH)
		return false;
	if (str_starts(line, "Decode.  median latency:")) {
		r->figure[LOG_STEP] = 1e3 * s;
		r->batch = log_whole(s * log_after(line, "throughput:"));
	} else if (str_starts(line, "Total. latency:")) {
		total_line(w, r, line);
	}
	return true;
}
