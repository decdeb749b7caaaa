/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of known defects: those of the build, or of a data package that replaces them. */
#ifndef DEFECTS_ROWS_H
#define DEFECTS_ROWS_H

#include "look/defects/match.h"

struct data_package;
struct host;

struct defect_rows {
	json_t *files; /* what parsed rows live in; NULL */
	struct defect_row **rows;
	size_t n;
	const char *from;	/* "this build", or which data package */
	const char *date;	/* of the newest row */
	const json_t *baseline; /* releases of makers of the data package; NULL: it has none */
	const char *made;	/* when they were put together: of the data package, or date */
};

enum { DEFECT_ROWS_BYTES = 8 << 20, DEFECT_ROWS_MAX = 10000 };

/* The data package's set where it has one and all of it is valid; else the build's, and *e says
 * why. The first call of a process reads them; what was kept of them lives as long as it. */
void defect_rows_read(struct arena *a, struct host *h, struct defect_rows *out, struct err *e);
/* Those of the build that facts of a machine decide alone. */
const struct defect_rows *defect_rows_of_facts(void);
/* Rows of one file's text. -EINVAL and *e; name is what the file is called. */
int defect_rows_parse(struct arena *a, const char *name, const char *text, size_t len,
		      struct defect_rows *out, struct err *e);
/* Those of a data package's files; examples: held against them as well. 0 rows where it has none.
 */
int defect_rows_of_package(struct arena *a, const struct data_package *p, bool examples,
			   struct defect_rows *out, struct err *e);
const char *defect_text(const json_t *row, const char *key);
/* "fix", "command" */
const char *defect_text_of(const json_t *row, const char *object, const char *key);
/* "a; b; c" of a list. */
const char *defect_list(struct arena *a, const json_t *row, const char *key);

/* What an object of ours may hold. Texts have no control characters and at most 1000 bytes. */
struct defect_key {
	const char *key;
	enum { VALUE_TEXT, VALUE_LIST, VALUE_FLAG, VALUE_OBJECT, VALUE_OBJECTS, VALUE_WORTH } kind;
	bool required;
};
/* Those keys, no others, each with a value of its kind: -EINVAL and *e. */
int defect_keys_check(const json_t *row, const struct defect_key *keys, size_t n, struct err *e);

/* Keys, values and conditions; with examples also what those say. -EINVAL and *e: the first that is
 * wrong. */
int defect_row_check(struct arena *a, const json_t *row, bool examples, struct err *e);

#endif
