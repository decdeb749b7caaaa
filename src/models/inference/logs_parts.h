/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces that reading of logs is made of. Not for others. */
#ifndef INFERENCE_LOGS_PARTS_H
#define INFERENCE_LOGS_PARTS_H

#include <jansson.h>

#include "models/inference/logs.h"

/* What command lines and printed arguments before a result tell of it; zero: nothing. */
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
/* The run whose lines are being read; NULL: none. */
struct log_run *log_open(struct log_walk *w);
/* From counts of a serving benchmark to lengths, requests at a time, rounds. */
struct log_counts {
	double completed, input, output; /* requests, tokens of all */
	double concurrency;		 /* asked for; 0: not told */
	double rate;			 /* requests a second; HUGE_VAL: at once; 0: not told */
	double seen;			 /* requests at a time as measured; 0: not told */
};
void log_counted(struct log_run *r, const struct log_counts *c);
/* The lines of the open run are over. */
void log_close(struct log_walk *w);
/* A number at s, positive and sane; 0: none. *end (may be NULL) is behind it. */
double log_number(const char *s, const char **end);
/* The number behind key in a line; 0: none. */
double log_after(const char *line, const char *key);
/* A whole number that fits, or 0. */
int log_whole(double v);

/* --- lines: each answers whether the line was its own ------------------------------------------
 */
void log_context_line(struct log_walk *w, const char *line);
bool log_serving_line(struct log_walk *w, const char *line);
bool log_offline_line(struct log_walk *w, const char *line);
bool log_one_batch_line(struct log_walk *w, const char *line);
bool log_trtllm_line(struct log_walk *w, const char *line);
bool log_llama_line(struct log_walk *w, const char *line);
/* Records of CSV may hold line ends: takes them all from s on, returns what follows. NULL: s is no
 * head of such a table. */
const char *log_llama_csv(struct log_walk *w, const char *s);

/* --- JSON --------------------------------------------------------------------------------------
 */
/* Every result in j, however deep (to a bound). item: counts the members of the outer list. */
void log_json(struct log_walk *w, const json_t *j, unsigned depth, double item);
/* A row of llama-bench, by keys. get: the value of a column as text; NULL: it has none. */
struct log_cells {
	const char *(*get)(const void *row, const char *key);
	const void *row;
};
void log_llama_row(struct log_walk *w, const struct log_cells *c, double item);

#endif
