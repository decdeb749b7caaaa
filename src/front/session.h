/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs share: options, the run, exit codes. Only this layer prints errors or exits. */
#ifndef FRONT_SESSION_H
#define FRONT_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "verbs/door.h"
#include "verbs/verbs.h"
#include "machine/host/host.h"
#include "machine/model/machine.h"

/* What the front reads for verbs: how a result is printed, and whether to ask. */
struct print_ask {
	const char *format, *fields, *output, *json; /* NULL: not given */
	int width;				     /* columns; 0: not given */
	size_t budget, top;			     /* result_bound; 0: not given */
	bool compact, quiet, verbose, no_color, ascii, yes, help;
};

struct doc;
struct knowledge;
struct run;
struct run_machine;
struct waiter;

/* One run of one verb. */
struct run {
	struct arena arena;
	const struct verb *verb;
	const char *name; /* of the verb with that of its sub-verb: "cluster plan" */
	void *ask;	  /* verb->ask filled; NULL: it has none */
	struct door door;
	struct print_ask print;
	char **args;
	int n_args;
	int n_before;	       /* arguments in front of "--" */
	struct waiter *waiter; /* NULL: signals are not taken */
	FILE *out;
	const char *partial; /* what out writes until it is whole; NULL: to its place at once */
	bool tty;
	int width;			   /* columns; 0: not a terminal */
	const struct run_machine *machine; /* who looks at this machine; NULL: we do */
	bool fields_known;	     /* --fields is of results of the verb: run_check_fields */
	bool drawn;		     /* a line of progress stands on the terminal */
	bool refused;		     /* a result was not printed, because it has no such field */
	bool lines;		     /* progress is lines on standard error, not drawn */
	int (*whole)(struct run *r); /* runs r->verb with its fence: the exit code; set by main */
	int file; /* with machine: takes the text of a file for -o; -1: there is none */
};

/* A process that looks at the machine for this one: machine/host/asked.h. */
struct run_machine {
	struct host_identity id;
	int requests, answers;
};

/* NULL ends them. */
extern const struct verb *const verbs[];

int verb_monitor(struct run *r);

/* Fills r from the words after the verb. Returns 0, or EXIT_USAGE after saying what is wrong. */
int options_parse(struct run *r, int argc, char **argv);
const struct verb *verb_find(const char *name);
/* The command that most likely was meant by a word that is no verb: "apply", "show gpu". among: the
 * verbs that it can be of, before: the name of theirs, or "". exact: another word for it
 * alone. NULL: none. */
const char *verb_meant(struct arena *a, const struct verb *const *among, const char *before,
		       const char *word, bool exact);
extern const char *const verb_group_names[VERB_GROUPS];
/* all: every verb; otherwise the common ones, and the names of the others. */
void usage(FILE *f, bool all);
void verb_usage(FILE *f, const struct verb *v, const char *name);
/* The strongest that it may do to the machine. */
enum verb_effect {
	EFFECT_OF_LOOK,
	EFFECT_OF_LOAD,
	EFFECT_OF_WRITE,
	EFFECT_OF_REBOOT,
	VERB_EFFECTS,
};
/* Every verb with its effect, cost and an example, as one line of JSON. The exit code. */
int verbs_map(FILE *out);
/* "sudo gputune apply plan.json". */
const char *verb_example_line(struct arena *a, const struct verb_example *x);
/* "ID [FILE...]". */
const char *verb_arguments(struct arena *a, const struct verb *v);

/* An option or argument of a verb: its own ones, then those of all verbs. */
struct verb_option {
	const struct ask_row *row;
	const char *group, *help;
	void *member; /* in the ask or in print; NULL without a run */
	bool given;
};
/* What help says of it, with the default and what an example would be. */
const char *full_help(struct arena *a, const struct verb_option *o);
/* In the arena; r may be NULL. *n of them. */
struct verb_option *verb_options(struct arena *a, const struct verb *v, struct run *r, size_t *n);

/* Prints "gputune: text" and the hint to stderr and returns code. */
int complain(int code, const struct err *e);
int complain_text(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --host and --overlay, whoever reads them; NULL: not given. */
const char *run_capture(const struct run *r);
bool run_overlay(const struct run *r);
/* This machine, as far as this process may look at it. */
struct host *run_live(const struct run *r);
/* Gives the text of a file for -o to the process that writes it (file in struct run): 0, or
 * EXIT_BLIND after complaining. */
int run_hand_over(struct run *r, const char *text, size_t len);
/* The exit code, where a journal that cannot be read makes it EXIT_STUCK. */
int run_journal_code(const struct run *r, int code);

/* --- printing a result: a document in the asked format, or JSON ------------------------------- */

/* Whether st is what standard output or standard error is, as of /dev/stdout: written to, never
 * replaced. */
struct stat;
bool run_is_stream(const struct stat *st);

/* Colours, width and character set as options, environment and terminal have them. */
struct term_style run_style(const struct run *r);
/* --fields against the results that the verb can have, before it begins: 0, or EXIT_USAGE after
 * complaining. */
int run_check_fields(struct run *r);
/* A result as --compact, --fields, --budget and --top have it, with a line end; takes the
 * reference. line: on one line all the same. 0, or EXIT_USAGE after complaining. */
int run_add_json(struct run *r, json_t *j, bool line, struct text *out);
/* --format json was given. */
bool run_wants_json(const struct run *r);
/* An answer by its shape, as of now. */
struct result_shape;
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
