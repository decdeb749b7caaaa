/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verb: what it is asked (base/ask.h), what it answers (base/shape.h), the function between them,
 * and the page for people. It lies here, as a file or a folder, because it joins what several
 * groups know (a check asks the machine, the rules, the journal and the ledger); command line,
 * help, completion, JSON, formats, exit codes and files are the front's.
 */
#ifndef VERBS_VERB_H
#define VERBS_VERB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/ask.h"

/* Versioned API: scripts compare them. */
enum exit_code {
	EXIT_CLEAN = 0, /* nothing to do */
	EXIT_FINDINGS = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_APPLIED = 3, /* refused, or rolled back */
	EXIT_STUCK = 4,	      /* rollback incomplete */
	EXIT_BLIND = 5,	      /* could not see enough */
};

/* Instead of an exit code: all is well and there is nothing to show, another process does. */
enum { ANSWERED_ELSEWHERE = -256 };

struct doc;
struct host;
struct host_identity;
struct knowledge;
struct result_shape;
struct run;

struct door;
/* What a page is to show besides. */
struct page_view {
	bool verbose;
	int width; /* columns; 0: not a terminal */
	bool html; /* what is much can be filtered and folded there */
};

/* The question of one verb alone, as its .ask. */
#define ASK_OF(type, heading, list) &(const struct ask_shape)ASK_SHAPE(type, heading, list)

/* A form of the answer besides term, md, html and json. */
struct verb_format {
	const char *name; /* NULL ends a list */
	/* code: that of the answer. The exit code. */
	int (*write)(FILE *out, const void *ask, const void *answer, int code);
};

/* What the file of -o is. */
enum verb_output {
	OUTPUT_PRINTED, /* what is printed */
	OUTPUT_WRITTEN, /* something that the verb writes itself; "-" prints it */
	OUTPUT_MADE,	/* the same, and "-" is refused */
};

enum verb_reads {
	READS_OURS,    /* what is ours and the kernel's */
	READS_CAPTURE, /* a machine that --host names */
	READS_FILES,   /* files */
};

/* What of the front's own options a verb that prints by itself reads; one that answers has all. */
enum verb_prints {
	PRINTS_FORMAT = 1 << 0, /* --format */
	PRINTS_JSON = 1 << 1,	/* --compact, --fields */
	PRINTS_FILE = 1 << 2,	/* --output */
	PRINTS_QUIET = 1 << 3,
	PRINTS_VERBOSE = 1 << 4,
	PRINTS_PAGE = 1 << 5,	     /* --no-color, --ascii, --width */
	PRINTS_QUESTION = 1 << 6,    /* --yes */
	PRINTS_RESULT_FILE = 1 << 7, /* --json */
};

/* Where help lists a verb; sub-verbs have none. */
enum verb_group {
	VERB_LOOK,
	VERB_CHANGE,
	VERB_MEASURE,
	VERB_MODELS,
	VERB_MANY,
	VERB_PROGRAM,
	VERB_GROUPS,
};

struct verb_example {
	const char *line; /* without "gputune": "sudo apply plan.json" */
	const char *what; /* it does */
};
/* clang-format off */
#define FORMATS(...) (const struct verb_format[]) { __VA_ARGS__, { NULL, NULL } }
/* clang-format on */
#define EXAMPLES(...)                                                                              \
	(const struct verb_example[])                                                              \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			NULL, NULL                                                                 \
		}                                                                                  \
	}

struct verb {
	const char *name; /* "predict"; of sub-verbs "training" */
	enum verb_group group;
	bool common;	     /* help without "all" describes it */
	const char *summary; /* a line */
	const char *about;   /* three lines at most, for --help and the manual page */
	const char *exits; /* what its exit codes mean besides: "1: the model does not fit"; NULL */
	const char *words; /* in small letters, what others call this: it is proposed for them */
	const struct verb_example *examples; /* two to five; a NULL line ends them */
	const struct ask_shape *ask;
	const struct verb *const *subs;	    /* named by the first word; NULL ends them */
	const struct verb *usual;	    /* of subs: where none is named; NULL: one has to be */
	const struct verb *const *programs; /* the same, in no list: each has serve */
	/*
	 * Fills *answer, zeroed and of result->shape->size bytes. Its exit code, or below 0 that of
	 * a question that has no answer, which was said through the door.
	 */
	int (*answer)(struct door *d, const void *ask, void *answer);
	const struct result_shape *result; /* NULL: none; its notes are what it prints */
	size_t answer_size; /* of answers that begin with what result describes; 0: of that alone */
	/* JSON of a verb without a result of rows, and what its schema is called. */
	json_t *(*json)(const void *answer);
	const char *json_name;
	struct doc *(*page)(struct arena *a, const void *ask, const void *answer,
			    const struct page_view *view);
	const struct verb_format *formats; /* NULL: none */
	/* What the ask itself wants instead of a page, of --as svg; NULL: never, or not this time.
	 */
	const struct verb_format *(*drawing)(const void *ask);
	/* What the head has: the object of result->host, and when it was seen, in seconds since
	 * 1970. NULL: no host, and now. */
	void (*head)(const void *answer, const void **host, long long *time_s);
	/* Where an option makes it another result: that one, with *answer its object; NULL: never.
	 */
	const struct result_shape *(*other)(const void *ask, const void **answer);
	const struct result_shape *const *others; /* which those can be; NULL ends them */
	/* How the ranks of a launcher answer together, each for its machine, and rank 0 as fleet
	 * does; ranks.h. NULL, or it gives NULL: each by itself. */
	const struct ranks_ask *(*ranks)(const void *ask);
	bool keeps_json; /* --json FILE: the result is written there as well */
	bool asks;	 /* it can ask, although it changes nothing itself */
	bool changes;	 /* it can change the machine: the library calls it with a handle for that
			    alone */
	bool writes;	 /* the same of what writes files alone */
	/* It loads the machine, starts this program again, or ends the process where a driver
	 * hangs: not for the library. */
	bool own_process;
	enum verb_output output;
	/* Whether -o is of OUTPUT_MADE this time, and the text of that file, which must not be
	 * there yet; what is printed is printed besides. NULL: never. */
	bool (*makes)(const void *ask);
	const char *(*made)(const void *answer, size_t *len);

	/* What others wrote and it parses: in a process that can do nothing else (fenced.h). */
	enum verb_reads reads;
	bool (*reads_now)(const void *ask);   /* whether it does this time; NULL: always */
	unsigned (*confine)(const void *ask); /* what the process needs besides: confine.h */

	/* Of what other programs start: speaks with them by in and out. Its exit code, or below 0
	 * that of a failure that was said through the door. */
	int (*serve)(struct door *d, const void *ask, int in, int out);
	/* Of a verb that prints by itself instead of answering. */
	int (*run)(struct run *r);
	unsigned prints; /* verb_prints */
	/* The forms of its --format, the first by itself; NULL ends them. */
	const char *const *prints_as;
};

/* The head of an answer about the machine that its member m points to. */
#define VERB_HEAD(name, type, m)                                                                   \
	static void name(const void *answer, const void **host, long long *time_s)                 \
	{                                                                                          \
		const struct machine *of = ((const struct type *)answer)->m;                       \
		*host = of;                                                                        \
		*time_s = of ? fact_or(&of->time_s, 0) : *time_s;                                  \
	}

/* The member of answer v to question x that is the result when that holds, and its shape; with the
 * list of it, whose name ends in s. */
#define VERB_OTHER(name, ask_type, answer_type, when, member, shape)                               \
	static const struct result_shape *const name##s[] = { &shape, NULL };                      \
	static const struct result_shape *name(const void *ask, const void **answer)               \
	{                                                                                          \
		const struct ask_type *x = ask;                                                    \
		const struct answer_type *v = *answer;                                             \
		(void)x;                                                                           \
		if (!(when))                                                                       \
			return NULL;                                                               \
		*answer = member;                                                                  \
		return &shape;                                                                     \
	}

/* The ranks of question x when that holds. */
#define VERB_RANKS(name, ask_type, when)                                                           \
	static const struct ranks_ask *name(const void *ask)                                       \
	{                                                                                          \
		const struct ask_type *x = ask;                                                    \
		return (when) ? &x->ranks : NULL;                                                  \
	}

/* An answer, and a page, by their own types. */
#define VERB_ANSWER(name, function, ask_type, answer_type)                                         \
	static int name(struct door *d, const void *ask, void *answer)                             \
	{                                                                                          \
		return function(d, (const struct ask_type *)ask, (struct answer_type *)answer);    \
	}
/* The same by a look at a host, from which nothing is written. */
#define VERB_LOOKS(name, function, ask_type, answer_type)                                          \
	static int name(struct door *d, const void *ask, void *answer)                             \
	{                                                                                          \
		HOST_AUTO *h =                                                                     \
			door_change_host(d, &((const struct ask_type *)ask)->machine, false);      \
		return h ? function(d, h, ask, answer) : -EXIT_USAGE;                              \
	}
#define VERB_PAGE(name, function, ask_type, answer_type)                                           \
	static struct doc *name(struct arena *a, const void *ask, const void *answer,              \
				const struct page_view *view)                                      \
	{                                                                                          \
		return function(a, (const struct ask_type *)ask,                                   \
				(const struct answer_type *)answer, view);                         \
	}
/* A page that shows the answer, whatever was asked. */
#define VERB_PAGE_OF(name, function, answer_type)                                                  \
	static struct doc *name(struct arena *a, const void *ask, const void *answer,              \
				const struct page_view *view)                                      \
	{                                                                                          \
		(void)ask;                                                                         \
		(void)view;                                                                        \
		return function(a, (const struct answer_type *)answer);                            \
	}

#endif
