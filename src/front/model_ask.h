/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the verb predict. */
#ifndef VERBS_PREDICT_H
#define VERBS_PREDICT_H

#include "front/session.h"
#include "models/inference/query.h"
#include "models/training/train.h"
#include <stdbool.h>

/* Everything in the file, ended by a NUL, in the run's arena; NULL after complaining. At most most
 * bytes are taken; a longer file is refused, or with *cut told, cut there. */
char *predict_file(struct run *r, const char *path, size_t most, size_t *len, bool *cut);
/* The options as words; EXIT_USAGE after complaining. */
int predict_words(struct run *r, struct infer_options *w, double *claim);
/* --model as a file or folder: fills *f and returns 1; 0: it is a name; EXIT_USAGE after
 * complaining, negative. */
int predict_model_file(struct run *r, const char *path, struct model_file *f);
/* A number from low to high, K, M, B or T behind it; *out stays where it was not given. */
int predict_number(struct run *r, enum option_id id, double low, double high, double *out);
/* The same, whole and at least 1. */
int predict_whole(struct run *r, enum option_id id, double high, int *out);
/* The built-in constants, with those of --calibration over them; an exit code after complaining. */
int predict_constants(struct run *r, struct fits *fits);
/* --on names a machine; without it, this or a captured one is looked at: *p and w->place then; more
 * (may be NULL) is shown it too. An exit code after complaining. */
typedef void predict_more(struct run *r, struct host *h, const struct machine *m, void *ctx);
int predict_place(struct run *r, struct infer_options *w, struct target_hw *p, predict_more *more,
		  void *ctx);

/* Parts of predict training; what generate takes of them to ask the same question. */

/* The options as words, and the model's file or shape into *file; 0, or an exit code after
 * complaining. */
int train_ask_words(struct run *r, struct train_options *w, struct model_file *file);
/* What was measured: --all-reduce, else collectives that our bench has kept of such GPUs; its large
 * multiplications. An exit code after complaining. */
int train_ask_curves(struct run *r, struct train_config *q);
/* Options that would change nothing in this question: EXIT_USAGE after complaining. */
int train_ask_without_effect(struct run *r, const struct train_config *q);
/* --calibration, else the built-in constants. */
int train_ask_constants(struct run *r, struct train_fit *fit);
/* All of it: words, machine, question, curves. *place holds the machine that was looked at. */
int train_ask(struct run *r, struct target_hw *place, struct train_config *q);

#endif
