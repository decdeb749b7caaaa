/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs printed: lines of logs and pasted reports against the patterns of the diagnoses
 * ("log" of their rows; the syntax is that of look/defects). Text may be hostile and of any size:
 * it is read once in pieces of a fixed size, and no part of it is kept but the prose that it begins
 * with.
 */
#ifndef DOCTOR_LISTEN_H
#define DOCTOR_LISTEN_H

#include "base/err.h"
#include "look/defects/rows.h"
#include "measure/doctor/doctor.h"

enum { LOG_LINE_MAX = 4096, LOG_PROSE_MAX = 4096 };

enum line_kind {
	LINE_SURE,
	LINE_HINT,    /* such a line has other causes too */
	LINE_AGAINST, /* it is something else: "temperature 52 C" */
};

/* A pattern that was found. */
struct log_line {
	const struct diagnosis *of;
	const char *pattern; /* as the row has it: what the log says itself is never kept */
	const char *source;  /* the file; "standard input" */
	unsigned long long line;
	enum line_kind kind;
};

/* A known defect that prints such a line. */
struct log_defect {
	const char *id, *title, *fix;
	const char *line; /* as log_input_line says it */
};

struct log_input {
	struct arena *a;
	struct reading *reading;	   /* of listen.c */
	const struct defect_rows *defects; /* whose signatures are looked for; NULL: none */
	struct log_defect *found;
	size_t n_found;
	struct log_line *lines;
	size_t n;
	const char *prose; /* what reads like sentences, for the search by words; "" */
	const char **sources;
	size_t n_sources;
	bool all; /* also what hardly fits */
};

void log_input_init(struct arena *a, struct log_input *out);
/* The same of a text. */
void log_input_add_text(struct log_input *h, const char *source, const char *text);
/* Reads the files among the words, "-" and, where there are no words, a file on standard input;
 * what is left are words. Standard input that is no file, or was read by others, is left alone. */
int log_input_ask(struct log_input *h, const char *const *words, size_t n, const char ***left,
		  size_t *n_left, struct err *e);
/* The machine that nvidia-smi or lspci among the sources and words are of; NULL: of none, or of
 * live, which runs that driver. */
struct host *log_input_machine(const struct log_input *h, const char *const *words, size_t n,
			       struct host *live);
/* How many of its lines say this of a diagnosis, at most 3. */
double log_input_weight(const struct log_input *h, const struct diagnosis *d, enum line_kind kind);
/* The first line that speaks for it: "vllm.log, line 12: CUDA error: no kernel image"; NULL. */
const char *log_input_line(const struct log_input *h, const struct diagnosis *d);

#endif
