/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to change about a way to serve a model: every change by itself and the best of them
 * together, each with its gain as value and interval. A gain is how many times better: times
 * divided (before by after), rates after by before; 1 is nothing. Pure.
 */
#ifndef INFERENCE_ADVISE_H
#define INFERENCE_ADVISE_H

#include "models/inference/fit.h"
#include "models/inference/predict.h"

/* What is wanted. */
enum goal {
	GOAL_LATENCY,	 /* the time of a whole answer */
	GOAL_FIRST,	 /* the time to the first token */
	GOAL_THROUGHPUT, /* tokens a second of all requests */
	GOAL_USERS,	 /* requests that fit at a time */
	GOALS,
};

extern const char *const goal_names[GOALS];

/* A way to serve: a question, asked of several copies that share the requests. */
struct way {
	struct query q;
	int copies;
};

/* What comes of it. Times in ms, of a request. */
struct advise_outcome {
	double ttft, tpot, answer, throughput;
	double users, users_low, users_high; /* that fit, of all copies */
	double bytes;			     /* of one GPU */
	double bytes_all;		     /* of all GPUs in use */
	int gpus;			     /* in use */
	bool fits;
};

enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH, CONFIDENCES };

extern const char *const confidence_names[CONFIDENCES];

struct serve_change {
	enum change_kind kind;
	const struct way *way;
	const char *what;    /* "weights in nvfp4 instead of bf16" */
	const char *options; /* of predict and advise, that ask for it: "--weights nvfp4" */
	struct advise_outcome after;
	struct figure gain[GOALS]; /* value 0: cannot be known */
	bool gain_known;	   /* that of the goal */
	bool includes_nothing;	   /* its interval holds 1 */
	bool several;		   /* of more than one kind at once */
	enum confidence confidence;
	const char *known_from; /* why no more and no less */
	const char *trade;	/* what is paid with */
	const char *measure;	/* what would show whether it is so */
	double parts;		/* several together: what their single gains would multiply to */
};

#define ADVICE_NOTES 12

struct serve_advice {
	enum goal goal;
	const struct way *base;
	struct prediction before; /* of one copy */
	struct advise_outcome now;
	struct serve_change *changes; /* the best for the goal first */
	size_t n;
	struct serve_change *together;
	size_t n_together;
	const char *notes[ADVICE_NOTES]; /* what is not predicted, and why */
	size_t n_notes;
	size_t tried; /* ways that were looked at */
};

/* What is known besides the words. */
struct advise_facts {
	enum goal goal;
	int copies;		     /* of the base; 0: one */
	bool accept_told;	     /* else the part of right guesses may be anything usual */
	bool cached_told;	     /* the same for the prefix cache */
	double clock_mhz, clock_max; /* of the GPU as it is set, and as it could be; 0: unseen */
};

/* -EINVAL, -ENOENT with a sentence, as question_make. *w has to live as long as the answer. */
int advise(struct arena *a, const struct infer_options *w, const struct fits *fits,
	   const struct advise_facts *facts, struct serve_advice *out, struct err *e);

/* By the fast estimate. */
void way_outcome(const struct ask *q, int copies, struct advise_outcome *out);
/* As predict() has it; of several copies each has its part of the requests. */
void way_simulated(struct arena *a, const struct ask *q, int copies, struct advise_outcome *out,
		   struct schedule *plan);
/* The figure of a goal, and whether less of it is better. */
double outcome_of(const struct advise_outcome *o, enum goal goal);
bool goal_less(enum goal goal);
/* How many times better b is; 0: cannot be known. */
double outcome_gain(const struct advise_outcome *a, const struct advise_outcome *b, enum goal goal);
/* Formats worth trying for this engine on this GPU, NULL at the end. */
const char *const *advise_formats(const struct ask *q);

/* Between the files of advise: one change to be looked at, and who looks. */

struct adviser {
	struct arena *arena;
	const struct infer_options *words;
	const struct fits *fits;
	const struct advise_facts *facts;
	struct serve_advice *out;
	struct serve_change *singles; /* all that were tried, good or not */
	size_t n_singles;
};

struct trial {
	enum change_kind kind;
	unsigned kinds; /* of several: a bit each */
	const struct way *way;
	const struct way *worst, *best; /* what is not known at its ends; NULL: it is known */
	const char *what, *options;
	double parts;
};

/* The base once more, to be changed. */
struct way *adviser_copy(const struct adviser *v, const struct way *from);
/* Asked in other words; NULL: it makes no sense. */
struct way *adviser_ask(const struct adviser *v, const struct infer_options *w, int copies);
/* Outcome, gains, confidence: fills *c. */
void adviser_judge(struct adviser *v, const struct trial *t, struct serve_change *c);
/* Judges it and adds it to the single changes, unless it does not fit or makes nothing better. */
void adviser_try(struct adviser *v, const struct trial *t);
/* Of the model. */
void advise_models(struct adviser *v);

/* Guesses ahead that are tried, and how often they may be right by default. */
enum { ADVISE_GUESSES = 3 };
#define ADVISE_ACCEPT_LOW 0.5
#define ADVISE_ACCEPT_HIGH 0.85
/* Part of the prompts that others may have sent before. */
#define ADVISE_CACHED 0.5
#define ADVISE_CACHED_HIGH 0.9

#endif
