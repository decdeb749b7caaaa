/* SPDX-License-Identifier: Apache-2.0 */
/* From words that people write (a model's name, a format, machines, an engine) to what is asked. */
#ifndef INFERENCE_QUERY_H
#define INFERENCE_QUERY_H

#include "base/arena.h"
#include "base/err.h"
#include "models/inference/config.h"
#include "models/inference/arch.h"
#include "models/inference/work.h"

/* NULL and 0: not given, and then chosen; what was chosen is said. */
struct infer_options {
	const struct knowledge *known; /* models and GPUs; NULL: what is compiled in */
	const char *model, *weights, *cache, *on, *engine;
	const struct model_file *file; /* what was read from files: the name is not looked up */
	double weight_bytes;	       /* of its files */
	const struct target_hw *place; /* of facts: "on" is not read */
	struct model_hint hint;
	int tp, pp, dp, batch, draft;
	int prefills, prefill_tp, prefill_dp, decodes, places; /* struct ask */
	double prompt, output, depth, cached, rounds, rate, chunk, accept, draft_cost;
	bool eager;
};

#define QUESTION_NOTES 12
/* What a question may ask at most: tokens of a prompt, an answer, or before them; requests. */
#define QUESTION_TOKENS 1e8
#define QUESTION_REQUESTS 100000

struct query {
	struct ask ask;
	struct arch arch;
	const char *model;		   /* as it was named */
	const char *notes[QUESTION_NOTES]; /* what was taken for what was not given */
	size_t n_notes;
};

/* -EINVAL, -ENOENT with a sentence. */
int question_make(struct arena *a, const struct infer_options *w, const struct fits *fits,
		  struct query *q, struct err *e);

#endif
