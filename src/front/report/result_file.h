/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of other verbs that come as files ("check --format json > node7.json"): which kinds there
 * are, and each as a page. What a kind holds and how it is shown are rows of data
 * (result_file_rows.c). The files are not trusted: what is missing or of the wrong type is not
 * shown, lists are bounded.
 */
#ifndef REPORT_RESULT_FILE_H
#define REPORT_RESULT_FILE_H

#include <jansson.h>

#include "render/doc.h"
#include "machine/host/host.h"

enum { GIVEN_ROWS_MAX = 2000, GIVEN_TEXT_MAX = 8192 };

/* How a value is written. */
enum result_file_as {
	GIVEN_TEXT,
	GIVEN_STRONG,
	GIVEN_CODE,
	GIVEN_WORD,	/* a verdict: coloured by what it means */
	GIVEN_NUMBER,	/* with the field's unit */
	GIVEN_BYTES,	/* "7.1 GiB" */
	GIVEN_SHARE,	/* 0.41 is "41.0 %" */
	GIVEN_TIMES,	/* {ratio or value, low, high}: "1.031 (1.024 to 1.039)" */
	GIVEN_INTERVAL, /* {value, low, high} with the field's unit */
	GIVEN_YES,	/* a boolean as "yes" or "no" */
	GIVEN_LIST,	/* texts, joined */
};

/* A path goes by '.' from the row, after '^' from the row's parent; "": the row itself. */
struct result_file_field {
	const char *path, *title;
	enum result_file_as as;
	const char *unit;
};

/* A list of objects. With outer, one that lies in each object of another list. */
struct result_file_table {
	const char *outer, *path, *title;
	const struct result_file_field *fields;
	size_t n;
	const char *drop; /* rows with one of these two words here are only counted */
	const char *words[2];
	bool must; /* without it the file is none of its kind */
};

/* Ratios around "the same" of a list's rows, or of one object. */
struct result_file_ratios {
	const char *path, *title;
	const char *label[3]; /* paths, joined by blanks */
	const char *ratio;    /* path of {ratio or value, low, high} */
	const char *word;     /* path of a verdict; NULL: none */
	const char *interval; /* what the whiskers are */
	/* What stands on either side of 1; NULL: it differs from row to row. */
	const char *left, *right;
};

/* A line over a list's rows. */
struct result_file_curve {
	const char *path, *title, *x, *y, *x_title, *y_title;
};

struct result_file_kind {
	const char *schema, *verb; /* "gputune.check/1", "check" */
	const char *part;	   /* id of the section of a report in which it is shown */
	const char *says;	   /* what its figures are: measured, predicted */
	const struct result_file_field *pairs;
	size_t n_pairs;
	const struct result_file_table *tables;
	size_t n_tables;
	const struct result_file_ratios *ratios;
	size_t n_ratios;
	struct result_file_curve curve; /* path NULL: none */
	const char *texts[3];		/* lists of sentences, or one sentence each */
};

/* NULL: no such kind. */
const struct result_file_kind *result_file_kind_of(const char *schema);
/* All that can be given: "check, prove and diagnose"; arena. */
const char *result_file_verbs(struct arena *a);
/* Whether its lists are there. 0 or -EINVAL and *e. */
int result_file_valid(const struct result_file_kind *k, const json_t *j, struct err *e);
/* Everything in the arena; j is not needed afterwards. */
struct doc *result_file_page(struct arena *a, const struct result_file_kind *k, const json_t *j);
/* The name of the machine that it is about; NULL: it names none. */
const char *result_file_node(const json_t *j);
/* A text of j by its path, in the arena and of bounded length; NULL: there is none. */
const char *result_file_text(struct arena *a, const json_t *j, const char *path);
/* The value at a path from row or, after '^', from outer. NULL: there is none. */
const json_t *result_file_at(const json_t *row, const json_t *outer, const char *path);
struct cell result_file_cell(struct doc *d, const json_t *row, const json_t *outer,
			     const struct result_file_field *f);
void result_file_charts(struct doc *d, const struct result_file_kind *k, const json_t *j);

/* How the rows of kinds are written. */

#define GIVEN_N(list) (sizeof(list) / sizeof((list)[0]))
#define GIVEN_FIELDS(list) (list), GIVEN_N(list)
#define GIVEN_PAIRS(list) .pairs = (list), .n_pairs = GIVEN_N(list)
#define GIVEN_TABLES(list) .tables = (list), .n_tables = GIVEN_N(list)
#define GIVEN_RATIOS(list) .ratios = (list), .n_ratios = GIVEN_N(list)

/* result_file_rows.c; a kind without schema ends each. */
extern const struct result_file_kind given_machine_kinds[];
extern const struct result_file_kind given_model_kinds[];

#endif
