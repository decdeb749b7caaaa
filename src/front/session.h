/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs share: options, the run, exit codes. Only this layer prints errors or exits. */
#ifndef FRONT_SESSION_H
#define FRONT_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "verbs/door.h"
#include "machine/host/host.h"
#include "machine/model/machine.h"
#include "measure/prove/ledger.h"
#include "look/settings/check.h"

/* The options of all verbs; a verb's table says which of them it takes. */
enum option_id {
	OPT_HOST,
	OPT_FORMAT,
	OPT_COMPACT,
	OPT_FIELDS,
	OPT_PROFILE,
	OPT_ONLY,
	OPT_SKIP,
	OPT_ALL,
	OPT_OVERLAY,
	OPT_ALLOW,
	OPT_YES,
	OPT_DRY_RUN,
	OPT_REASON,
	OPT_OUTPUT,
	OPT_FOR,
	OPT_JSON,
	OPT_DIR,
	OPT_FILES,
	OPT_PEER,
	OPT_TOKEN,
	OPT_GPUS,
	OPT_NO_COLOR,
	OPT_ASCII,
	OPT_WIDTH,
	OPT_QUIET,
	OPT_VERBOSE,
	OPT_HELP,
	OPTIONS,
};

/* What a word may be, for completion and for messages. */
enum word_kind {
	WORD_NONE,
	WORD_TEXT,
	WORD_NUMBER, /* begins with a decimal number; what may follow is the verb's */
	WORD_COUNT,  /* a whole number from 0 on */
	WORD_TIME,
	WORD_FILE,
	WORD_ID,
	WORD_PROFILE,
	WORD_FORMAT,
};

struct option_row {
	enum option_id id;
	const char *name;   /* long name */
	char letter;	    /* 0: none */
	enum word_kind arg; /* WORD_NONE: a flag */
	const char *arg_name;
	const char *help;
};

struct doc;
struct knowledge;
struct run;
struct run_machine;
struct waiter;

/* The options and arguments of a verb without an ask. */
struct verb_legacy {
	const char *args;    /* "[SUBJECT]", "ID" */
	enum word_kind word; /* of the first argument */
	int min_args, max_args;
	const enum option_id *options;
	size_t n_options;
};

/* One run of one verb. value[id] is the option's argument, "" for a flag that was given, NULL
 * otherwise; of repeated options only, skip and allow keep all, joined by commas. */
struct run {
	struct arena arena;
	const struct verb *verb;
	const char *name; /* of the verb with that of its sub-verb: "cluster plan" */
	void *ask;	  /* verb->ask filled; NULL: it has none */
	struct door door;
	const char *value[OPTIONS];
	char **args;
	int n_args;
	int n_before;	       /* arguments in front of "--" */
	struct waiter *waiter; /* NULL: signals are not taken */
	FILE *out;
	const char *partial; /* what out writes until it is whole; NULL: to its place at once */
	bool tty;
	int width;			   /* columns; 0: not a terminal */
	const struct run_machine *machine; /* who looks at this machine; NULL: we do */
	bool fields_known; /* --fields is of results of the verb: run_check_fields */
	bool drawn;	   /* a line of progress stands on the terminal */
	bool refused;	   /* a result was not printed, because it has no such field */
	int file;	   /* with machine: takes the text of a file for -o; -1: there is none */
};

/* A process that looks at the machine for this one: machine/host/asked.h. */
struct run_machine {
	struct host_identity id;
	int requests, answers;
};

extern const struct option_row option_rows[OPTIONS];
extern const struct verb record_verb, report_verb, watch_verb;
/* NULL ends them. */
extern const struct verb *const verbs[];
extern const struct verb completion_verb;

int verb_monitor(struct run *r);

/* Fills r from the words after the verb. Returns 0, or EXIT_USAGE after saying what is wrong. */
int options_parse(struct run *r, int argc, char **argv);
const struct verb *verb_find(const char *name);
void usage(FILE *f);
void verb_usage(FILE *f, const struct verb *v, const char *name);

/* An option or argument of a verb: its own ones, then those of all verbs. */
struct verb_option {
	const struct ask_row *row;
	const char *group, *help;
	void *member; /* in the ask or in value; NULL without a run */
	bool mark;    /* a flag whose member is a text: "" where it is given */
	bool given;
};
/* In the arena; r may be NULL. *n of them. */
struct verb_option *verb_options(struct arena *a, const struct verb *v, struct run *r, size_t *n);
/* The formats of the verb, as help lists them: "term (default), json, md or html". */
const char *verb_format_help(struct arena *a, const struct verb *v);

/* The words that an option or argument can be ("term", "json", ...); NULL-terminated; NULL: free
 * text. */
const char *const *words_of(enum word_kind k);

/* Prints "gputune: text" and the hint to stderr and returns code. */
int complain(int code, const struct err *e);
int complain_text(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Opens the live machine or --host, with --overlay; complains and returns NULL when it cannot. */
struct host *run_host(struct run *r);
/* --host and --overlay, whoever reads them; NULL: not given. */
const char *run_capture(const struct run *r);
const char *run_overlay(const struct run *r);
/* This machine, as far as this process may look at it. */
struct host *run_live(const struct run *r);
/* Models and GPUs, with those of the site's and the user's own files; a file that is wrong is said
 * to be so. The GPU of a captured machine is of none of these: knowledge.h. */
const struct knowledge *run_knowledge(struct run *r);
/* Gives the text of a file for -o to the process that writes it (file in struct run): 0, or
 * EXIT_BLIND after complaining. */
int run_hand_over(struct run *r, const char *text, size_t len);
/* The exit code, where a journal that cannot be read makes it EXIT_STUCK. */
int run_journal_code(const struct run *r, int code);
/* Probes it. */
struct machine *run_machine(struct run *r, struct host *h, bool deep);
/* The profile with --only and --skip; false after complaining. */
bool run_profile(struct run *r, struct profile *p);

/* --- printing a result: a document in the asked format, or JSON ------------------------------- */

/* Colours, width and character set as options, environment and terminal have them. */
struct term_style run_style(const struct run *r);
/* term, md or html: code, or EXIT_USAGE after complaining about a format that a document has not.
 */
int run_print_doc(struct run *r, const struct doc *d, const char *title, int code);
/* --fields against the results that the verb can have, before it begins: 0, or EXIT_USAGE after
 * complaining. */
int run_check_fields(struct run *r);
/* --format json was given. */
bool run_wants_json(const struct run *r);
/* Takes the reference, and returns code. */
int run_print_json(struct run *r, json_t *j, int code);
/* An answer by its shape, as of now. */
struct result_shape;
int run_print_result(struct run *r, const struct result_shape *shape, const void *answer, int code);
/* Prints what is shown, and asks on the terminal: 0, or below 0 an exit code after complaining.
 * With
 * --yes nobody is asked. */
int run_agree(struct run *r, const struct doc *shown, const char *question);
/* What answers are made through: r->door. */
void run_open_door(struct run *r);
/* Asks verb->answer and prints what it answers, in the asked format. */
int run_answer(struct run *r);
/* What -o is this time. */
enum verb_output run_output(const struct run *r);
/* A new file for -o, whole or not at all: 0, or an exit code after complaining. */
int run_write_new(struct run *r, const char *text, size_t len);
/* The formats of the verb, for a sentence. */
const char *run_formats(struct run *r);


#endif
