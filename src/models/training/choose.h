/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of making a question share. */
#ifndef TRAINING_CHOOSE_H
#define TRAINING_CHOOSE_H

#include "models/training/work.h"

void train_note(struct train_question *q, const char *text);
/* What was not told of batches, sharding and checkpointing: chosen so that it fits, and said. */
int train_choose(struct arena *a, const struct train_words *w, struct train_question *q,
		 struct err *e);

/* Whether the layers can be cut evenly into the stages' chunks, as Megatron wants them: alone, with
 * embedding, head or both as a layer each, and of models with experts with one that predicts a
 * further token. Without --interleave stages may differ. */
bool train_interleave_divides(const struct train_question *q);

#endif
