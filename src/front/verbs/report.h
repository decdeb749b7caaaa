/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of "gputune report": what it was given, and what it gathers of each machine. */
#ifndef VERBS_REPORT_H
#define VERBS_REPORT_H

#include <jansson.h>

#include "measure/bench/record.h"
#include "front/session.h"
#include "verbs/change.h"
#include "measure/prove/ledger.h"
#include "front/report/result_file.h"
#include "front/report/page_report.h"

enum { REPORT_MACHINES_MAX = 4096, REPORT_RESULTS_SHOWN = 12, REPORT_FILE_MAX = 64 << 20 };

/* One machine to be looked at. */
struct report_source {
	const char *path;  /* as it was given; NULL: this machine or --host */
	const char *facts; /* text of a result of show, NULL: a capture */
	const char *node;  /* known by what results say of it alone, by its name; NULL: not so */
};

/* A result of another verb, given as a file. */
struct report_named_source {
	const char *path;
	const struct result_file_kind *kind;
	json_t *j;
	size_t source; /* whose it is */
};

/* What the command line named. */
struct report_result_file {
	struct report_source *sources;
	size_t n;
	struct record *results; /* of bench, given as files */
	size_t n_results;
	struct report_named_source *told;
	size_t n_told;
	const char **recordings; /* files of "record" */
	size_t n_recordings;
	bool *taken; /* which of them belong to a machine of the report */
};

struct report_ask {
	struct ask_texts files;
	struct machine_ask machine;
	struct profile_ask settings;
	struct state_ask state;
	bool force;
};

/* One machine while it is gathered. run has an arena of its own. */
struct reporting {
	struct run run;
	const struct report_ask *ask;
	struct machine_ask from;
	struct report_result_file *given;
	bool alone;
	struct host *h; /* NULL: only facts are there */
	struct planned p;
	const struct ledger *ledger;
	struct report_machine out;
	json_t *json; /* NULL: not asked for */
	int code;     /* as check's */
};

/* Reads the arguments; with several results and no machine, this one. 0, or EXIT_USAGE after
 * complaining. */
int report_sources(struct run *r, struct report_result_file *out);
void report_sources_free(struct report_result_file *g);
/* Whether -o may be written: 0, or EXIT_USAGE after complaining. */
int report_may_write(const struct run *r);
/* A file named after the machine, for a terminal that got no -o. */
const char *report_name(struct run *r);
/* The whole text at once: what was there stays until it is on disk. 0, or an exit code. */
int report_write(struct run *r, const char *text, size_t len);

/* --- sections --------------------------------------------------------------------------------- */

/* A section with a page; doc NULL: say takes its place. */
struct report_part *report_add(struct reporting *g, const char *id, const char *title,
			       const struct doc *doc, struct cell say);
/* Takes the reference; dropped where nobody asked for JSON. */
void report_keep(struct reporting *g, const char *key, json_t *j);
/* "m3-benches", or "benches" where the machine is alone: for sections inside. */
const char *report_id(struct reporting *g, const char *id);
/* 0, or an exit code after complaining. */
int report_part_recordings(struct reporting *g);

/* --- results of other verbs ------------------------------------------------------------------- */

/* A machine of which nothing but results is there: its head and g->code. */
void report_named_machine(struct reporting *g, const struct report_source *from);
/* Adds what was given to the sections that are there, or sections of their own. */
void report_part_named(struct reporting *g, const struct report_source *from);
void report_part_predictions(struct reporting *g);

#endif
