/* SPDX-License-Identifier: Apache-2.0 */
/* What a prediction is asked, for verbs without an ask. Functions return 0, or an exit code after
 * complaining, unless they say something else. */
#ifndef FRONT_MODEL_ASK_H
#define FRONT_MODEL_ASK_H

#include "front/session.h"
#include "verbs/model_ask.h"

/* verbs/model_files.h: door_file, door_model_file. */
char *predict_file(struct run *r, const char *path, size_t most, size_t *len, bool *cut);
int predict_model_file(struct run *r, const char *path, struct model_file *f);
/* The options as words, without the files of the model. */
int predict_words(struct run *r, struct infer_options *w);
/* A number from low to high, K, M, B or T behind it; *out stays where it was not given. */
int predict_number(struct run *r, enum option_id id, double low, double high, double *out);
/* The same, whole and at least 1. */
int predict_whole(struct run *r, enum option_id id, double high, int *out);
/* verbs/calibrations.h: door_fits. */
int predict_constants(struct run *r, struct fits *fits);
/* verbs/model_ask.h: door_place; *p holds w->place. */
int predict_place(struct run *r, struct infer_options *w, struct target_hw *p, place_more *more,
		  void *ctx);

#endif
