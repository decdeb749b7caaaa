/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One measurement of whatever state the machine is in: a bench's case, or the user's own workload.
 * What is measured is set up afresh each time, because many settings show only in what is opened,
 * mapped or started after them.
 */
#ifndef PROVE_WINDOW_H
#define PROVE_WINDOW_H

#include "measure/bench/bench.h"

enum { WINDOW_FIGURES = BENCH_FIGURES };

struct window_reading {
	double value[WINDOW_FIGURES]; /* finite and above 0: what is compared are ratios */
	size_t samples;		      /* the value is their median; 1 for a workload */
	const char *variant;	      /* what a bench chose at run time; NULL */
};

struct window {
	const char *kind;	 /* "bench", "command" */
	const char *name;	 /* "disk/sequential", or the command as it was given */
	const char *setup;	 /* what its figures depend on; "" */
	const char *of;		 /* how the figure was found ("wall", a pattern); "" */
	const char *const *argv; /* of a command; NULL */
	unsigned version;	 /* of the bench's method; 0 */
	struct bench_figure figures[WINDOW_FIGURES];
	size_t n_figures;
	size_t main; /* the figure that decides; the others are its guards */
	/* The loss that a guard allows, as a share; 0: the smallest effect that matters. */
	double tolerance[WINDOW_FIGURES];
	/* What a command gets: NAME=VALUE besides our environment, --argument=VALUE in place of the
	 * value that it has; NULL ends them. NULL: none. */
	const char **variables;
	double seconds; /* how long one takes, without its set-up; 0: as long as it takes */
	/* 0. -EINTR: stopped. -EBADMSG: what ran went wrong, or its result was (*e says how): a
	 * setting that does this is harmful. Others: there is no figure, *e says why. */
	int (*measure)(struct window *w, struct window_reading *out, struct err *e);
	void (*close)(struct window *w);
	void *state;
};

/*
 * A case of a bench: name is "disk" or "disk/sequential" (the case, or the first that begins so).
 * figure: the key of the one that decides, NULL: the first. env has to live as long. -EINVAL or
 * -ENODATA and *e when there is none here.
 */
int window_bench(struct arena *a, const struct bench_env *env, const char *name, const char *figure,
		 struct window *out, struct err *e);

/* A workload. */
struct workload {
	const char *command; /* words as a shell splits them; nothing is expanded */
	/* "wall": seconds from start to end; "json:.a.b[0]": a number in the JSON it prints; else
	 * an extended regular expression with one group, whose last match is the figure. */
	const char *metric;
	enum bench_better better;
	double limit_s; /* one run may take so long */
	const atomic_bool *stop;
};
/* -EINVAL and *e: command or metric make no sense. */
int window_command(struct arena *a, const struct workload *w, struct window *out, struct err *e);

/*
 * Changes w to measure work per joule of these GPUs (NVML's indices): its main figure, inverted
 * where less is better, over the mean power meanwhile. That figure becomes a guard that may lose
 * the share loss. w uses h alone, until it is closed. -ENODATA and *e: no GPU reports energy or
 * power, and w is unchanged.
 */
int window_per_joule(struct arena *a, struct host *h, const char *const *gpus, size_t n,
		     double loss, struct window *w, struct err *e);

void window_close(struct window *w);

/* --- workload.c ------------------------------------------------------------------------------- */
enum { WORDS_MAX = 1024 };
/* Quotes and backslashes as a shell reads them; what a shell would expand or redirect is refused
 * (-EINVAL and *e) rather than passed on. NULL-terminated. */
int words_split(struct arena *a, const char *line, char ***argv, struct err *e);

/* The words with these arguments' values in place of their own. */
const char *const *words_with(struct arena *a, const char *const *argv, const char *const *values);
/* The value of "--x" in "--x V" or "--x=V"; NULL: none. */
const char *words_value(const char *const *argv, const char *name);

/* --- workload.c ------------------------------------------------------------------------------- */
struct metric;

/* -EINVAL and *e: it is none. */
int metric_parse(struct arena *a, const char *text, struct metric **out, struct err *e);
bool metric_is_wall(const struct metric *m);
/* From what a program printed. -ENODATA and *e: it is not there, or no number. */
int metric_find(const struct metric *m, const char *output, double *out, struct err *e);
void metric_free(struct metric *m);

#endif
