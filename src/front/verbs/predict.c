/* SPDX-License-Identifier: Apache-2.0 */
/* gputune predict: what a model will do on a machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "front/model_ask.h"
#include "front/session.h"
#include "models/inference/predict.h"
#include "models/inference/page_predict.h"
#include "base/text.h"
#include "models/inference/rows.h"
#include "models/training/page_train.h"
#include "models/training/rows.h"

/* gputune predict inference --rows: a table of measurements against what is predicted. */

#define MOST_TABLE (256u << 20)

/* --rows. */
static int predict_table(struct run *r, const struct fits *fits)
{
	struct err e = { 0 };
	struct rows rows;
	size_t len;
	char *text = predict_file(r, r->value[OPT_ROWS], MOST_TABLE, &len, NULL);

	if (!text)
		return EXIT_USAGE;
	if (rows_predict(&r->arena, run_knowledge(r), text, fits, &rows, &e) < 0)
		return complain_text(EXIT_USAGE, "%s: %s", r->value[OPT_ROWS], e.text);
	if (run_wants_json(r))
		return run_print_result(r, &predict_rows_result, &rows, EXIT_CLEAN);
	return run_print_doc(r, page_predict_rows(&r->arena, &rows), "gputune predict", EXIT_CLEAN);
}

/* gputune predict training: what a step of training will take, and what would make it faster. */

#define MOST_TRAIN_TABLE (64u << 20)

static int verb_predict_table(struct run *r, const struct train_fit *fit)
{
	struct err e = { 0 };
	struct train_rows rows;
	size_t len;
	char *text = predict_file(r, r->value[OPT_ROWS], MOST_TRAIN_TABLE, &len, NULL);

	if (!text)
		return EXIT_USAGE;
	if (train_rows_predict(&r->arena, run_knowledge(r), text, fit, &rows, &e) < 0)
		return complain_text(EXIT_USAGE, "%s: %s", r->value[OPT_ROWS], e.text);
	if (run_wants_json(r))
		return run_print_result(r, &train_rows_result, &rows, EXIT_CLEAN);
	return run_print_doc(r, page_train_rows(&r->arena, &rows), "gputune predict training",
			     EXIT_CLEAN);
}

/* "1,2,4,8": ascending order is the user's. */
static int scale_list(struct run *r, struct train_page *p)
{
	const char *s = r->value[OPT_SCALE];
	int gpus[TRAIN_PAGE_POINTS];

	while (s && *s) {
		char *end;
		long v = strtol(s, &end, 10);

		if (end == s || v < 1 || v > 100000 || (*end && *end != ',') || (*end && !end[1]) ||
		    p->n_points >= TRAIN_PAGE_POINTS)
			return complain_text(EXIT_USAGE,
					     "--scale takes up to %d counts of GPUs from 1 to "
					     "100000 like 1,2,4,8, not \"%s\"",
					     TRAIN_PAGE_POINTS, r->value[OPT_SCALE]);
		gpus[p->n_points++] = (int)v;
		s = *end ? end + 1 : end;
	}
	if (r->value[OPT_SCALE] && !p->n_points)
		return complain_text(EXIT_USAGE, "--scale takes counts of GPUs like 1,2,4,8");
	p->strong = r->value[OPT_STRONG] != NULL;
	train_scale(&r->arena, &p->answer.q, gpus, p->n_points, p->strong, p->points);
	return 0;
}

static void largest(struct run *r, struct train_page *p)
{
	p->asked_largest = true;
	p->largest_held = train_largest_micro_batch(&r->arena, &p->answer.q, true);
	p->largest = train_largest_micro_batch(&r->arena, &p->answer.q, false);
}

static int print_training(struct run *r, struct train_page *p)
{
	int code = p->answer.memory.fits ? EXIT_CLEAN : EXIT_FINDINGS;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &train_result, p, code);
	return run_print_doc(r, page_train(&r->arena, p), "gputune predict training", code);
}

/* Options of the other kind of prediction would change nothing: they are refused. */
static int predict_foreign_option(struct run *r, bool training)
{
	static const enum option_id serving[] = { OPT_WEIGHTS, OPT_ENGINE,    OPT_CACHE, OPT_PROMPT,
						  OPT_ANSWER,  OPT_BATCH,     OPT_DEPTH, OPT_CACHED,
						  OPT_ROUNDS,  OPT_CHUNK,     OPT_DRAFT, OPT_ACCEPT,
						  OPT_EAGER,   OPT_DRAFT_COST };
	size_t n = sizeof(serving) / sizeof(serving[0]);

	for (size_t i = 0; training && i < n; i++)
		if (r->value[serving[i]])
			return complain_text(EXIT_USAGE, "--%s is an option of predict inference",
					     option_rows[serving[i]].name);
	for (int id = OPT_PARALLEL; !training && id <= OPT_STRONG; id++)
		if (r->value[id])
			return complain_text(EXIT_USAGE, "--%s is an option of predict training",
					     option_rows[id].name);
	return 0;
}

/* All of it: words, machine, question, curves. *place holds the machine that was looked at. */
static int predict_train_ask(struct run *r, struct target_hw *place, struct train_config *q)
{
	struct train_options w;
	struct infer_options machine = { 0 };
	struct err e = { 0 };
	int code = train_ask_words(r, &w);

	if (code)
		return code;
	machine.on = w.on;
	if ((code = predict_place(r, &machine, place, NULL, NULL)) != 0)
		return code;
	w.place = machine.place;
	if (train_config_make(&r->arena, &w, q, &e) < 0)
		return complain(EXIT_USAGE, &e);
	if ((code = train_ask_without_effect(r, q)) != 0)
		return code;
	return train_ask_curves(r, q);
}

/* predict training. */
static int predict_training(struct run *r)
{
	struct train_page *p = ARENA_NEW(&r->arena, struct train_page);
	struct train_config *q = ARENA_NEW(&r->arena, struct train_config);
	struct train_fit *fit = ARENA_NEW(&r->arena, struct train_fit);
	struct target_hw place;
	double claim = 0;
	int code = predict_foreign_option(r, true);

	if (code || (code = train_ask_constants(r, fit)) != 0)
		return code;
	if (r->value[OPT_ROWS])
		return verb_predict_table(r, fit);
	if ((code = predict_number(r, OPT_CLAIM, 1e-3, 1e12, &claim)) != 0 ||
	    (code = predict_train_ask(r, &place, q)) != 0)
		return code;
	q->fit = fit;
	p->origin = fit->origin;
	p->explain = r->value[OPT_EXPLAIN] != NULL;
	train_predict(&r->arena, q, &p->answer);
	if ((code = scale_list(r, p)) != 0)
		return code;
	if (r->value[OPT_LARGEST])
		largest(r, p);
	if (r->value[OPT_WHAT_IF]) {
		p->what_if = ARENA_NEW(&r->arena, struct train_what_if);
		train_what_if(&r->arena, q, p->what_if);
	}
	if (claim > 0) {
		p->judgement = ARENA_NEW(&r->arena, struct train_judgement);
		train_judge(&r->arena, q, claim, p->judgement);
	}
	return print_training(r, p);
}

static int verb_predict_print_answer(struct run *r, const struct prediction *p)
{
	int code = p->memory.fits ? EXIT_CLEAN : EXIT_FINDINGS;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &predict_result, p, code);
	return run_print_doc(r, page_predict(&r->arena, p, r->value[OPT_EXPLAIN] != NULL),
			     "gputune predict", code);
}

int verb_predict(struct run *r)
{
	struct model_file file = { 0 };
	struct query q;
	struct prediction p;
	double claim = 0;
	struct target_hw place;
	struct infer_options w;
	struct fits fits;
	struct err e = { 0 };
	int code;

	if (strcmp(r->args[0], "training") == 0)
		return predict_training(r);
	if (strcmp(r->args[0], "inference") != 0)
		return complain_text(EXIT_USAGE, "predict knows inference and training, not \"%s\"",
				     r->args[0]);
	if ((code = predict_foreign_option(r, false)) != 0 ||
	    (code = predict_constants(r, &fits)) != 0)
		return code;
	if (r->value[OPT_ROWS])
		return predict_table(r, &fits);
	if ((code = predict_words(r, &w, &claim)) != 0)
		return code;
	if (!w.model)
		return complain_text(EXIT_USAGE, "predict inference needs --model");
	code = predict_model_file(r, w.model, &file);
	if (code < 0)
		return -code;
	if (code > 0) {
		w.file = &file;
		w.weight_bytes = file.bytes;
	}
	if ((code = predict_place(r, &w, &place, NULL, NULL)) != 0)
		return code;
	if (question_make(&r->arena, &w, &fits, &q, &e) < 0)
		return complain(EXIT_USAGE, &e);
	predict(&r->arena, &q, &fits, &p);
	p.claim.tokens_s = claim;
	if (claim > 0)
		p.claim.verdict = predict_claim(&r->arena, &p, claim, &p.claim.why);
	return verb_predict_print_answer(r, &p);
}
