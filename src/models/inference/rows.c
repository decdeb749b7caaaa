/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a table of measurements (RFC 4180) and asking for each row what would be predicted. */
#include "models/inference/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/predict.h"

/* Reading tables of measurements: columns by name, record by record. */

double table_number(const char *cell)
{
	double v;

	return cell && parse_real(cell, &v) == 0 && v > 0 && v < 1e15 ? v : 0;
}

int table_count(const char *cell)
{
	double v = table_number(cell);

	return v >= 1 && v <= 1e9 ? (int)v : 0;
}

static int open_quote(long line, struct err *e)
{
	return err_set(e, -EINVAL, "row %ld: unclosed quote", line);
}

/* Where each wanted column stands; -1: nowhere. */
static int find_columns(const struct table *t, const char **head, size_t n, int *at, struct err *e)
{
	for (size_t c = 0; c < t->columns; c++) {
		at[c] = -1;
		for (size_t i = 0; i < n; i++)
			if (strcmp(head[i], t->names[c]) == 0)
				at[c] = (int)i;
	}
	for (size_t i = 0; i < t->n_needed; i++)
		if (at[t->needed[i]] < 0)
			return err_set(e, -EINVAL, "column \"%s\" missing in the first line",
				       t->names[t->needed[i]]);
	return 0;
}

int table_read(struct arena *a, const struct table *t, const char *csv, table_row *row, void *ctx,
	       struct err *e)
{
	const char *field[TABLE_COLUMNS], *cell[TABLE_COLUMNS], *next;
	int at[TABLE_COLUMNS], r;
	long line = 1, rows = 0;
	size_t n;

	next = csv_record(a, csv, field, TABLE_COLUMNS, &n);
	if (!next)
		return open_quote(line, e);
	r = find_columns(t, field, n, at, e);
	while (r == 0 && *next) {
		line++;
		next = csv_record(a, next, field, TABLE_COLUMNS, &n);
		if (!next)
			return open_quote(line, e);
		if (n < 2)
			continue;
		if (rows++ >= t->most)
			return err_set(e, -EINVAL, "more than %ld rows", t->most);
		for (size_t c = 0; c < t->columns; c++)
			cell[c] = at[c] >= 0 && (size_t)at[c] < n ? field[at[c]] : "";
		row(ctx, cell, line);
	}
	return r;
}

const char *const measure_names[MEASURES] = { "ttft_ms", "tpot_ms", "throughput_tok_s" };

#define MOST_ROWS 100000

enum column {
	C_SOURCE,
	C_HARDWARE,
	C_ENGINE,
	C_MODEL,
	C_TOTAL,
	C_ACTIVE,
	C_WEIGHTS,
	C_CACHE,
	C_TP,
	C_PP,
	C_BATCH,
	C_PROMPT,
	C_OUTPUT,
	C_PREFILL,
	C_TTFT,
	C_DECODE,
	C_TPOT,
	C_NOTES,
	COLUMNS,
};

static const char *const column_names[COLUMNS] = {
	"source_url",
	"hardware",
	"engine",
	"model",
	"params_total_b",
	"params_active_b",
	"weight_format",
	"kv_format",
	"tp",
	"pp",
	"batch_or_concurrency",
	"prompt_len",
	"output_len",
	"prefill_tok_s",
	"ttft_ms",
	"decode_tok_s",
	"tpot_ms",
	"notes",
};

static bool mentions(const char *notes, const char *what)
{
	return notes && strcasestr(notes, what) != NULL;
}

/* Guesses ahead make a step bring more than a token: such rows are no plain decoding. */
static bool speaks_of_guesses(const char *notes)
{
	static const char *const words[] = { "mtp",	    "dflash",	"eagle",
					     "speculative", "spec dec", "dspark",
					     "draft",	    "medusa",	"ngram" };

	if (mentions(notes, "no speculation"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (mentions(notes, words[i]))
			return true;
	return false;
}

static double after(const char *notes, const char *key)
{
	const char *at = notes ? strstr(notes, key) : NULL;
	double v = at ? strtod(at + strlen(key), NULL) : 0;

	return v > 0 && isfinite(v) ? v : 0;
}

static int count_after(const char *notes, const char *key)
{
	double v = after(notes, key);

	return v <= 4096 ? (int)v : 0;
}

static void infer_rows_words_of_row(const char **f, struct infer_options *w)
{
	const char *notes = f[C_NOTES];
	double mean = after(notes, "lengths=");
	const char *last = strrchr(f[C_HARDWARE], 'x');

	*w = (struct infer_options){ .model = f[C_MODEL],
				     .weights = f[C_WEIGHTS],
				     .cache = f[C_CACHE],
				     .on = f[C_HARDWARE],
				     .engine = f[C_ENGINE],
				     .eager = mentions(notes, "eager"),
				     .tp = table_count(f[C_TP]),
				     .pp = table_count(f[C_PP]),
				     .batch = table_count(f[C_BATCH]),
				     .prompt = table_number(f[C_PROMPT]),
				     .output = table_number(f[C_OUTPUT]),
				     .depth = after(notes, "depth="),
				     .dp = count_after(notes, "attention_dp="),
				     .prefills = count_after(notes, "prefill_workers="),
				     .prefill_tp = count_after(notes, "prefill_tp="),
				     .prefill_dp = count_after(notes, "prefill_dp="),
				     .decodes = count_after(notes, "decode_workers="),
				     .places = (int)fmin(1e6, after(notes, "places=")) };
	w->hint.total = table_number(f[C_TOTAL]) * 1e9;
	w->hint.active = table_number(f[C_ACTIVE]) * 1e9;
	if (w->prompt <= 0)
		w->prompt = 100;
	w->chunk = after(notes, "chunk=");
	if (w->dp > 1 && last && w->tp == atoi(last + 1)) /* of all of its GPUs */
		w->tp /= w->dp;
	if (mean > 0) /* uniform from this part of the stated ones */
		w->prompt *= (1 + mean) / 2, w->output *= (1 + mean) / 2;
	if (mentions(notes, "llama-benchy") || mentions(notes, "closed loop"))
		w->rounds = 1;
}

/* What a row measured, in our three figures: rates of one request are times, of many a total. */
static void infer_rows_measured(const char **f, struct row_result *r)
{
	double rate = table_number(f[C_DECODE]), each = after(f[C_NOTES], "per request ");

	r->measured[MEASURE_TTFT] = table_number(f[C_TTFT]);
	/* A rate of prompts alone is the time of one of them. */
	if (r->measured[MEASURE_TTFT] <= 0 && table_number(f[C_PREFILL]) > 0 && r->batch <= 1 &&
	    r->prompt > 0)
		r->measured[MEASURE_TTFT] = 1e3 * r->prompt / table_number(f[C_PREFILL]);
	r->measured[MEASURE_TPOT] = table_number(f[C_TPOT]);
	if (rate > 0 && r->batch <= 1)
		r->measured[MEASURE_TPOT] = 1e3 / rate;
	else if (each > 0)
		r->measured[MEASURE_TPOT] = 1e3 / each;
	if (rate > 0 && r->batch > 1)
		r->measured[MEASURE_THROUGHPUT] = rate;
}

static const char *reason_to_skip(const char **f, const struct infer_options *w)
{
	if (!f[C_BATCH] || !*f[C_BATCH])
		return "concurrency unknown";
	if (mentions(f[C_NOTES], "suspect layout"))
		return "layout in doubt";
	if (mentions(f[C_NOTES], "concurrency not reached"))
		return "fewer requests ran at once than requested";
	if (mentions(f[C_NOTES], "unknown share"))
		return "prefix-cache hit ratio unknown";
	if (w->engine && *w->engine && engine_parse(w->engine) == ENGINES)
		return "unknown engine";
	return NULL;
}

struct reading {
	struct arena *a;
	const struct knowledge *known;
	const struct fits *fits;
	struct rows *out;
};

static void infer_rows_predict_row(const struct reading *g, const char **f, struct row_result *r)
{
	struct query q;
	struct infer_options w;
	struct memory_footprint m;
	struct served s;
	const struct spread *whose;
	struct err e = { 0 };

	infer_rows_words_of_row(f, &w);
	w.known = g->known;
	r->batch = w.batch;
	r->prompt = w.prompt, r->output = w.output;
	r->speculative = speaks_of_guesses(f[C_NOTES]);
	infer_rows_measured(f, r);
	r->skipped = reason_to_skip(f, &w);
	if (r->skipped)
		return;
	if (question_make(g->a, &w, g->fits, &q, &e) < 0) {
		r->skipped = arena_strdup(g->a, e.text);
		return;
	}
	q.ask.poll = count_after(f[C_NOTES], "recv_interval=") + count_after(f[C_NOTES], "hold=");
	r->tp = q.ask.tp;
	r->family = q.arch.name;
	memory_use(&q.ask, &m);
	serve(g->a, &q.ask, &m, &s, NULL);
	r->fits = m.fits;
	r->crowding = s.crowding;
	for (int i = 0; i < MEASURES; i++)
		r->predicted[i] = served_figure(&q, &s, i, &whose);
}

static void infer_rows_add_row(void *ctx, const char **cell, long line)
{
	struct reading *g = ctx;
	struct rows *out = g->out;
	struct row_result *item;

	item = &ARENA_ADD(g->a, out->items, out->n);
	*item = (struct row_result){ .line = line,
				     .model = cell[C_MODEL],
				     .hardware = cell[C_HARDWARE],
				     .engine = cell[C_ENGINE],
				     .weights = cell[C_WEIGHTS],
				     .source = cell[C_SOURCE],
				     .notes = cell[C_NOTES] };
	infer_rows_predict_row(g, cell, item);
}

int rows_predict(struct arena *a, const struct knowledge *known, const char *csv,
		 const struct fits *fits, struct rows *out, struct err *e)
{
	static const int needed[] = { C_MODEL, C_HARDWARE };
	const struct table t = { column_names, COLUMNS, needed, sizeof(needed) / sizeof(needed[0]),
				 MOST_ROWS };

	*out = (struct rows){ 0 };
	return table_read(a, &t, csv, infer_rows_add_row, &(struct reading){ a, known, fits, out },
			  e);
}
