/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of predict training; what generate takes of them to ask the same question. */
#ifndef VERBS_PREDICT_TRAIN_H
#define VERBS_PREDICT_TRAIN_H

#include <stdbool.h>

#include "front/verbs/cmd.h"
#include "models/training/train.h"

/* The options as words, and the model's file or shape into *file; 0, or an exit code after
 * complaining. */
int train_ask_words(struct run *r, struct train_words *w, struct model_file *file);
/* What was measured: --all-reduce, else collectives that our bench has kept of such GPUs; its large
 * multiplications. An exit code after complaining. */
int train_ask_curves(struct run *r, struct train_question *q);
/* Options that would change nothing in this question: EXIT_USAGE after complaining. */
int train_ask_without_effect(struct run *r, const struct train_question *q);
/* --calibration, else the built-in constants. */
int train_ask_constants(struct run *r, struct train_fit *fit);
/* All of it: words, machine, question, curves. *place holds the machine that was looked at. */
int train_ask(struct run *r, struct place *place, struct train_question *q);
/* An option that the other of inference and training has: EXIT_USAGE after complaining. */
int predict_foreign_option(struct run *r, bool training);
/* predict training. */
int predict_training(struct run *r);

#endif
