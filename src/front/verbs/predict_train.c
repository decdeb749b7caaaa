/* SPDX-License-Identifier: Apache-2.0 */
/* gputune predict training: what a step of training will take, and what would make it faster. */
#include "front/verbs/predict_train.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "front/verbs/page.h"
#include "front/verbs/predict.h"
#include "models/training/rows.h"
#include "models/training/page_train.h"

#define MOST_CONSTANTS (1u << 20)
#define MOST_TABLE (64u << 20)

int train_ask_constants(struct run *r, struct train_fit *fit)
{
	const char *path = r->value[OPT_CALIBRATION];
	struct err e = { 0 };
	size_t len;
	char *text;

	train_fit_default(fit);
	if (!path)
		return 0;
	text = predict_file(r, path, MOST_CONSTANTS, &len, NULL);
	if (!text)
		return EXIT_USAGE;
	if (train_fit_read(fit, text, &e) < 0)
		return complain_text(EXIT_USAGE, "%s: %s", path, e.text);
	fit->origin = path;
	return 0;
}

static int print(struct run *r, json_t *j, const struct doc *d, int code)
{
	int failed = 0;

	if (j)
		run_print_json(r, j);
	else
		failed = run_print_doc(r, d, "gputune predict training");
	return failed ? failed : code;
}

static int table(struct run *r, const struct train_fit *fit)
{
	struct err e = { 0 };
	struct train_rows rows;
	size_t len;
	char *text = predict_file(r, r->value[OPT_ROWS], MOST_TABLE, &len, NULL);
	bool json = run_wants_json(r);

	if (!text)
		return EXIT_USAGE;
	if (train_rows_predict(&r->arena, text, fit, &rows, &e) < 0)
		return complain_text(EXIT_USAGE, "%s: %s", r->value[OPT_ROWS], e.text);
	return print(r, json ? train_rows_json(&rows, (long long)time(NULL), EXIT_CLEAN) : NULL,
		     json ? NULL : page_train_rows(&r->arena, &rows), EXIT_CLEAN);
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

static int tell(struct run *r, struct train_page *p)
{
	int code = p->answer.memory.fits ? EXIT_CLEAN : EXIT_FINDINGS;
	bool json = run_wants_json(r);

	if (r->value[OPT_QUIET])
		return code;
	return print(r, json ? train_json(p, (long long)time(NULL), code) : NULL,
		     json ? NULL : page_train(&r->arena, p), code);
}

/* Options of the other kind of prediction would change nothing: they are refused. */
int predict_foreign_option(struct run *r, bool training)
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

int predict_training(struct run *r)
{
	struct train_page *p = ARENA_NEW(&r->arena, struct train_page);
	struct train_question *q = ARENA_NEW(&r->arena, struct train_question);
	struct train_fit *fit = ARENA_NEW(&r->arena, struct train_fit);
	struct place place;
	double claim = 0;
	int code = predict_foreign_option(r, true);

	if (code || (code = train_ask_constants(r, fit)) != 0)
		return code;
	if (r->value[OPT_ROWS])
		return table(r, fit);
	if ((code = predict_number(r, OPT_CLAIM, 1e-3, 1e12, &claim)) != 0 ||
	    (code = train_ask(r, &place, q)) != 0)
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
	return tell(r, p);
}
