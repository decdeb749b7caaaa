/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of advise: one change to be looked at, and who looks. */
#ifndef INFERENCE_ADVISE_PARTS_H
#define INFERENCE_ADVISE_PARTS_H

#include "models/inference/advise.h"

struct adviser {
	struct arena *arena;
	const struct words *words;
	const struct fits *fits;
	const struct advise_facts *facts;
	struct advice *out;
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
struct way *adviser_ask(const struct adviser *v, const struct words *w, int copies);
/* Outcome, gains, confidence: fills *c. */
void adviser_judge(struct adviser *v, const struct trial *t, struct change *c);
/* Judges it and adds it to the single changes, unless it does not fit or makes nothing better. */
void adviser_try(struct adviser *v, const struct trial *t);
/* All changes by themselves. */
void advise_singles(struct adviser *v);
/* On the same GPUs, on more of them; of the model. */
void advise_layouts(struct adviser *v);
void advise_machines(struct adviser *v);
void advise_models(struct adviser *v);
/* The best of them at once. */
void advise_together(struct adviser *v);
/* Sentences: what a change costs, what would show that it is worth it. */
void advise_words(struct adviser *v, const struct trial *t, struct change *c);
void advise_notes(struct adviser *v);

/* Guesses ahead that are tried, and how often they may be right when nobody said so. */
enum { ADVISE_GUESSES = 3 };
#define ADVISE_ACCEPT_LOW 0.5
#define ADVISE_ACCEPT_HIGH 0.85
/* Part of the prompts that others may have sent before. */
#define ADVISE_CACHED 0.5
#define ADVISE_CACHED_HIGH 0.9

#endif
