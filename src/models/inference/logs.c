/* SPDX-License-Identifier: Apache-2.0 */
/* From a file to runs: is it JSON, JSON lines, or a page? And what all formats share. */
#include "models/inference/logs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/text.h"
#include "models/inference/logs_parts.h"

const char *const log_tool_names[LOG_TOOLS] = {
	"vllm bench serve",	"vllm bench latency",	  "vllm bench throughput",
	"sglang bench_serving", "sglang bench_one_batch", "llama-bench",
	"llama.cpp timings",	"trtllm-bench",
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

double log_after(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? log_number(at + strlen(key), NULL) : 0;
}

int log_whole(double v)
{
	return v >= 0.5 && v < 1e6 ? (int)lround(v) : 0;
}

struct log_run *log_open(struct log_walk *w)
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
	w->out->items = arena_grow(w->a, w->out->items, w->out->n, sizeof(*r));
	r = &w->out->items[w->out->n++];
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
		r->skipped = "requests came at a rate, not as others were answered";
}

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
	json_t *j = json_loads(plain_json(w->a, text, len), 0, why);

	if (!j)
		return false;
	log_json(w, j, 0, json_is_array(j) ? 1 : 0);
	json_decref(j);
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
	    log_serving_line(w, line) || log_one_batch_line(w, line) || log_trtllm_line(w, line))
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
		"%s: no output of a benchmark that is known (vllm bench, SGLang's bench_serving "
		"and bench_one_batch, llama-bench, llama-server, trtllm-bench)",
		file);
}
