/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of other verbs that come as files ("check --format json > node7.json"): which kinds there
 * are, and each as a page. What is shown of a kind stands in result_file_rows.c; titles and units
 * are those of the result's own rows. The files are not trusted: what is of another kind than its
 * row is refused, what is missing is not shown, lists are bounded.
 */
#ifndef REPORT_RESULT_FILE_H
#define REPORT_RESULT_FILE_H

#include <jansson.h>

#include "render/doc.h"
#include "machine/host/host.h"

enum { GIVEN_ROWS_MAX = 2000, GIVEN_TEXT_MAX = 8192 };

/* A list of objects, "findings", or one that lies in each object of another, "runs[].causes". The
 * grammar of fields: result_file_rows.c. */
struct result_file_table {
	const char *path, *title, *fields;
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
	const char *name, *verb; /* "stack-check": of gputune.stack-check/1; "stack check" */
	const char *part;	 /* id of the section of a report in which it is shown */
	const char *says;	 /* what its figures are: measured, predicted */
	const char *pairs;	 /* fields; NULL: none */
	const struct result_file_table *tables;
	size_t n_tables;
	const struct result_file_ratios *ratios;
	size_t n_ratios;
	struct result_file_curve curve; /* path NULL: none */
	const char *texts[3];		/* lists of sentences, or one sentence each */
};

/* NULL: no such kind; another: but of another version. */
const struct result_file_kind *result_file_kind_of(const char *schema, bool *another);
/* All that can be given: "check, prove and diagnose"; arena. */
const char *result_file_verbs(struct arena *a);
/* Whether its lists are there and, where the result has rows, all that is there is of their kinds.
 * 0 or -EINVAL and *e, a sentence that names the row. */
int result_file_valid(struct arena *a, const struct result_file_kind *k, const json_t *j,
		      struct err *e);
/* Everything in the arena; j is not needed afterwards. */
struct doc *result_file_page(struct arena *a, const struct result_file_kind *k, const json_t *j);
/* The name of the machine that it is about; NULL: it names none. */
const char *result_file_node(const json_t *j);
/* A text of j by its path, in the arena and of bounded length; NULL: there is none. */
const char *result_file_text(struct arena *a, const json_t *j, const char *path);
/* The value at a path; NULL: there is none. */
const json_t *result_file_at(const json_t *j, const char *path);

/* How the rows of kinds are written. */

#define GIVEN_N(list) (sizeof(list) / sizeof((list)[0]))
#define GIVEN_TABLES(list) .tables = (list), .n_tables = GIVEN_N(list)
#define GIVEN_RATIOS(list) .ratios = (list), .n_ratios = GIVEN_N(list)

/* result_file_rows.c; a kind without name ends them. */
extern const struct result_file_kind result_file_kinds[];

#endif
