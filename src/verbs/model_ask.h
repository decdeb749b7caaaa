/* SPDX-License-Identifier: Apache-2.0 */
/* What predictions are asked: the model, the machine, how it is served or trained. Each "0, or as
 * answers": below 0 an exit code. */
#ifndef VERBS_MODEL_ASK_H
#define VERBS_MODEL_ASK_H

#include "models/inference/query.h"
#include "models/training/train.h"
#include "verbs/door.h"

/* --- the model and the machine ---------------------------------------------------------------- */

/* For proposals: models, formats of weights, GPUs that --on takes. */
ask_proposal model_proposal, format_proposal, gpu_proposal;
/* The word when it names a model; NULL. */
const char *model_meant(const char *word);

#define MODEL_ROW(type, m)                                                                         \
	{                                                                                          \
		"model", "a model by name, or its config.json, folder or GGUF file",               \
			ASK_TEXT(type, m), .arg = "NAME|FILE", .proposal = model_proposal,         \
					   .meant = model_meant, .listed = "models", .files = true \
	}

/* --on. */
struct target_ask {
	const char *on;
};
extern const struct ask_shape target_ask_shape;

/* --on names a machine: *place is NULL. Without it, this or a captured one is looked at, and more
 * (may be NULL) is shown it too. 0, or as answers. */
typedef void place_more(struct door *d, struct host *h, const struct machine *m, void *ctx);
int door_place(struct door *d, const struct target_ask *named, const struct machine_ask *from,
	       const struct target_hw **place, place_more *more, void *ctx);

/* Refuses a time without a unit: people mean seconds, or milliseconds. */
int time_unit_check(const char *text, struct err *e);

/* --- serving ---------------------------------------------------------------------------------- */

/* Rows of a struct infer_options: --model, --params, --active; --weights, --kv, --tp, --pp;
 * --prompt, --output, --depth, --batch; --engine, --rounds, --eager; --cached, --accept,
 * --draft-cost. */
extern const struct ask_shape infer_model_shape, infer_format_shape, infer_load_shape,
	infer_engine_shape, infer_guess_shape;

/* *w was filled by some of these rows: fills in the rest, and the files of its model. 0, or as
 * answers. */
int door_infer_options(struct door *d, struct infer_options *w, bool captured);

/* --- training --------------------------------------------------------------------------------- */

struct train_ask {
	struct train_options w;
	bool compile, no_overlap, tp_overlap;
	const char *all_reduce;
};
/* --model, --params, --active; all but those of the model and of train_parts_shape; --cp, --ep,
 * --interleave, --tp-overlap. */
extern const struct ask_shape train_model_shape, train_ask_shape, train_parts_shape;

/* As a question of train_config_make, with the files or the shape of the model. 0, or as answers.
 */
int door_train_options(struct door *d, const struct train_ask *ask, bool captured,
		       struct train_options *w);
/* Refuses options that would change nothing in this question: 0, or as answers. */
int door_train_effect(struct door *d, const struct train_ask *ask, const struct train_config *q);
/* What was measured: --all-reduce, else collectives that our bench has kept of such GPUs; its large
 * multiplications. state NULL: kept results are not asked. 0, or as answers. */
int door_train_curves(struct door *d, const struct train_ask *ask, const struct machine_ask *from,
		      const struct state_ask *state, struct train_config *q);
/* The file, else the built-in constants. 0, or as answers. */
int door_train_fit(struct door *d, const char *calibration, struct train_fit *fit);

#endif
