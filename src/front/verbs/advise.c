/* SPDX-License-Identifier: Apache-2.0 */
/* gputune advise: what to change about a way to serve a model, and what each change would bring. */
#include "front/verbs/advise.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "front/verbs/ledger.h"
#include "front/verbs/page.h"
#include "front/verbs/predict.h"
#include "models/inference/predict.h"
#include "models/inference/page_advise.h"

/* --context: what a request has before its answer; with --prompt the rest was there before. */
static int context(struct run *r, struct words *w)
{
	double all = 0;
	int code = predict_number(r, OPT_CONTEXT, 1, QUESTION_TOKENS, &all);

	if (code || all <= 0)
		return code;
	if (w->prompt <= 0)
		w->prompt = all;
	else if (all < w->prompt)
		return complain_text(EXIT_USAGE, "--context counts the prompt in: %g is less", all);
	else
		w->depth = all - w->prompt;
	return 0;
}

static int asked_words(struct run *r, struct words *w, struct advise_facts *f)
{
	double claim = 0;
	int code;

	*f = (struct advise_facts){ .goal = advise_goal(r),
				    .accept_told = r->value[OPT_ACCEPT] != NULL,
				    .cached_told = r->value[OPT_CACHED] != NULL };
	code = predict_words(r, w, &claim);
	if (!code)
		code = predict_whole(r, OPT_USERS, QUESTION_REQUESTS, &w->batch);
	if (!code)
		code = predict_whole(r, OPT_COPIES, 4096, &f->copies);
	return code ? code : context(r, w);
}

/* The clock that the first GPU is held to, and what it could have. */
static void clocks(const struct machine *m, struct advise_facts *f)
{
	const struct gpu *g = m->gpu.gpus.n ? m->gpu.gpus.items : NULL;

	if (!g)
		return;
	f->clock_mhz = (double)fact_or(&g->clock_app_sm_mhz, 0);
	f->clock_max = (double)fact_or(&g->clock_sm_max_mhz, 0);
}

/* What was measured of our own settings on this machine. */
static void settings(struct run *r, struct host *h, const struct machine *m,
		     struct advise_settings *out)
{
	const struct ledger *l = run_ledger(r, h, m);

	for (size_t i = 0; i < l->n; i++) {
		const struct ledger_row *row = &l->rows[i];
		struct ledger_answer now;
		struct advise_setting *s;
		bool twice = false;

		ledger_find(&r->arena, l, row->setting, row->target, &now);
		if (now.row != row || now.valid == LEDGER_NONE ||
		    now.row->verdict == RULING_NO_DIFFERENCE)
			continue;
		for (size_t k = 0; k < out->n; k++)
			twice |= out->rows[k].row == row;
		if (twice)
			continue;
		out->rows = arena_grow(&r->arena, out->rows, out->n, sizeof(*out->rows));
		s = &out->rows[out->n++];
		s->row = row;
		s->text = ledger_text(&r->arena, &now);
		s->expired = now.valid != LEDGER_VALID;
	}
}

/* What is asked of a machine besides what predictions need. */
struct besides {
	struct advise_facts *facts;
	struct advise_settings *own;
};

static void look_besides(struct run *r, struct host *h, const struct machine *m, void *ctx)
{
	const struct besides *b = ctx;

	clocks(m, b->facts);
	settings(r, h, m, b->own);
}

static int tell_sweep(struct run *r, struct sweep *s)
{
	struct sweep_result result;
	struct err e = { 0 };
	struct sweep_page page = { s, &result };
	unsigned long long fit = 0;
	int code, failed;

	if (sweep_run(&r->arena, s, &result, &e) < 0)
		return complain(EXIT_USAGE, &e);
	fit = result.fit;
	code = fit ? EXIT_CLEAN : EXIT_FINDINGS;
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, sweep_json(&page, (long long)time(NULL), code));
		return code;
	}
	failed = run_print_doc(r, page_sweep(&r->arena, &page), "gputune advise");
	return failed ? failed : code;
}

static int tell(struct run *r, const struct advice *o, const struct advise_settings *own)
{
	int code = o->now.fits ? EXIT_CLEAN : EXIT_FINDINGS, failed;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, advise_json(o, own, (long long)time(NULL), code));
		return code;
	}
	failed = run_print_doc(r, page_advise(&r->arena, o, own, r->value[OPT_VERBOSE] != NULL),
			       "gputune advise");
	return failed ? failed : code;
}

int verb_advise(struct run *r)
{
	struct model_file file = { 0 };
	struct advise_settings own = { 0 };
	struct advise_facts facts;
	struct besides besides = { &facts, &own };
	struct sweep sweep = { 0 };
	struct advice advice;
	struct place place;
	struct words w;
	struct fits fits;
	struct err e = { 0 };
	const char *on = r->value[OPT_ON];
	int code = predict_constants(r, &fits);

	if (!code && r->value[OPT_USERS] && r->value[OPT_BATCH])
		code = complain_text(EXIT_USAGE,
				     "--users and --batch both say how many requests run at a "
				     "time: give one of them");
	if (!code && r->value[OPT_SWEEP])
		code = advise_lists(r, &sweep);
	if (!code)
		code = asked_words(r, &w, &facts);
	if (code)
		return code;
	if (!w.model)
		return complain_text(EXIT_USAGE, "advise needs --model");
	code = predict_model_file(r, w.model, &file);
	if (code < 0)
		return -code;
	if (code > 0) {
		w.file = &file;
		w.weight_bytes = file.bytes;
	}
	w.on = on;
	if ((code = predict_place(r, &w, &place, look_besides, &besides)) != 0)
		return code;
	if (r->value[OPT_SWEEP]) {
		sweep.words = &w;
		sweep.fits = &fits;
		sweep.goal = facts.goal;
		return tell_sweep(r, &sweep);
	}
	if (advise(&r->arena, &w, &fits, &facts, &advice, &e) < 0)
		return complain(EXIT_USAGE, &e);
	return tell(r, &advice, &own);
}
