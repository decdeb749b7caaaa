/* SPDX-License-Identifier: Apache-2.0 */
/* gputune advise: what to change about a way to serve a model, and what each change would bring. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "front/session.h"
#include "front/model_ask.h"
#include "models/inference/page_advise.h"
#include "base/text.h"
#include "models/inference/sweep.h"

/* The lists of a sweep: "1,2,4", "1-512", "1024,8K"; formats and machines by commas. */

/* One number, with K or M for thousands; returns where it ends, NULL: none is there. */
static const char *one_number(const char *s, double *out)
{
	const char *end;
	double v;

	if (parse_decimal(s, &v, &end) || v < 0)
		return NULL;
	if ((*end | 32) == 'k')
		v *= 1e3, end++;
	else if ((*end | 32) == 'm')
		v *= 1e6, end++;
	*out = v;
	return end;
}

static int wrong(enum option_id id, const char *text)
{
	return complain_text(EXIT_USAGE,
			     "--%s takes up to %d numbers such as 1,2,4 or 1-16, not \"%.60s\"",
			     option_rows[id].name, SWEEP_LIST, text);
}

/* whole: there is no half GPU and no half request; of tokens there is a mean. */
static int number_list(struct run *r, enum option_id id, double low, double high, bool whole,
		       struct numbers *out)
{
	const char *text = r->value[id], *s = text;
	double *list, from = 0, to;
	size_t n = 0;

	if (!text)
		return 0;
	list = arena_array(&r->arena, SWEEP_LIST, sizeof(*list));
	do {
		s = one_number(*s == ',' ? s + 1 : s, &from);
		to = from;
		if (s && *s == '-')
			s = one_number(s + 1, &to);
		if (!s || (*s && *s != ',') || from < low || to > high || to < from ||
		    ((whole || to > from) && floor(from) != from) || to - from >= SWEEP_LIST)
			return wrong(id, text);
		for (size_t i = 0, more = (size_t)(to - from) + 1; i < more; i++) {
			if (n == SWEEP_LIST)
				return wrong(id, text);
			list[n++] = from + (double)i;
		}
	} while (*s);
	*out = (struct numbers){ list, n };
	r->value[id] = NULL;
	return 0;
}

static int name_list(struct run *r, enum option_id id, struct names *out)
{
	const char *s = r->value[id];
	const char **list;
	size_t n = 0;

	if (!s)
		return 0;
	list = arena_array(&r->arena, SWEEP_LIST, sizeof(*list));
	for (;;) {
		size_t len = strcspn(s, ","), part;
		const char *from = str_trim(s, len, &part);

		if (!part || n == SWEEP_LIST)
			return complain_text(EXIT_USAGE, "--%s has an empty item: \"%.60s\"",
					     option_rows[id].name, r->value[id]);
		list[n++] = arena_strndup(&r->arena, from, part);
		if (!s[len])
			break;
		s += len + 1;
	}
	*out = (struct names){ list, n };
	r->value[id] = NULL;
	return 0;
}

/* Takes the options that are lists in a sweep into *s, and out of the run, so that what remains
 * reads as one question. 0, or EXIT_USAGE after complaining. */
static int advise_lists(struct run *r, struct sweep *s)
{
	const struct {
		enum option_id id;
		double low, high;
		bool whole;
		struct numbers *to;
	} numbers[] = {
		{ OPT_TP, 1, 4096, true, &s->tp },
		{ OPT_PP, 1, 4096, true, &s->pp },
		{ OPT_COPIES, 1, 4096, true, &s->copies },
		{ OPT_BATCH, 1, QUESTION_REQUESTS, true, &s->batch },
		{ OPT_USERS, 1, QUESTION_REQUESTS, true, &s->batch },
		{ OPT_PROMPT, 1, QUESTION_TOKENS, false, &s->prompt },
		{ OPT_ANSWER, 1, QUESTION_TOKENS, false, &s->output },
		{ OPT_DEPTH, 0, QUESTION_TOKENS, false, &s->depth },
		{ OPT_CHUNK, 16, 1e7, false, &s->chunk },
		{ OPT_DRAFT, 0, 64, true, &s->draft },
		{ OPT_CONTEXT, 1, QUESTION_TOKENS, false, &s->prompt },
	};
	int code = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !code; i++)
		code = number_list(r, numbers[i].id, numbers[i].low, numbers[i].high,
				   numbers[i].whole, numbers[i].to);
	if (!code)
		code = name_list(r, OPT_ON, &s->machines);
	if (!code)
		code = name_list(r, OPT_WEIGHTS, &s->weights);
	if (!code)
		code = name_list(r, OPT_CACHE, &s->caches);
	return code;
}

/* --goal, whose words are checked already. */
static enum goal advise_goal(const struct run *r)
{
	const char *name = r->value[OPT_GOAL];

	for (int g = 0; g < GOALS && name; g++)
		if (strcmp(name, goal_names[g]) == 0)
			return (enum goal)g;
	return GOAL_LATENCY;
}

/* --context: what a request has before its answer; with --prompt the rest was there before. */
static int verb_advise_context(struct run *r, struct infer_options *w)
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

static int verb_advise_asked_words(struct run *r, struct infer_options *w, struct advise_facts *f)
{
	int code;

	*f = (struct advise_facts){ .goal = advise_goal(r),
				    .accept_told = r->value[OPT_ACCEPT] != NULL,
				    .cached_told = r->value[OPT_CACHED] != NULL };
	code = predict_words(r, w);
	if (!code)
		code = predict_whole(r, OPT_USERS, QUESTION_REQUESTS, &w->batch);
	if (!code)
		code = predict_whole(r, OPT_COPIES, 4096, &f->copies);
	return code ? code : verb_advise_context(r, w);
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
static void settings(struct door *d, struct host *h, const struct machine *m,
		     struct advise_settings *out)
{
	const struct ledger *l = door_ledger(d, h, m);

	for (size_t i = 0; i < l->n; i++) {
		const struct ledger_row *row = &l->rows[i];
		struct ledger_answer now;
		struct advise_setting *s;
		bool twice = false;

		ledger_find(d->arena, l, row->setting, row->target, &now);
		if (now.row != row || now.valid == LEDGER_NONE ||
		    now.row->verdict == RULING_NO_DIFFERENCE)
			continue;
		for (size_t k = 0; k < out->n; k++)
			twice |= out->rows[k].row == row;
		if (twice)
			continue;
		out->rows = arena_grow(d->arena, out->rows, out->n, sizeof(*out->rows));
		s = &out->rows[out->n++];
		s->row = row;
		s->text = ledger_text(d->arena, &now);
		s->expired = now.valid != LEDGER_VALID;
	}
}

/* What is asked of a machine besides what predictions need. */
struct besides {
	struct advise_facts *facts;
	struct advise_settings *own;
};

static void look_besides(struct door *d, struct host *h, const struct machine *m, void *ctx)
{
	const struct besides *b = ctx;

	clocks(m, b->facts);
	settings(d, h, m, b->own);
}

static int print_sweep(struct run *r, struct sweep *s)
{
	struct sweep_result result;
	struct err e = { 0 };
	struct sweep_page page = { s, &result };
	unsigned long long fit = 0;
	int code;

	if (sweep_run(&r->arena, s, &result, &e) < 0)
		return complain(EXIT_USAGE, &e);
	fit = result.fit;
	code = fit ? EXIT_CLEAN : EXIT_FINDINGS;
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &sweep_result, &page, code);
	return run_print_doc(r, page_sweep(&r->arena, &page), "gputune advise", code);
}

static int verb_advise_print_answer(struct run *r, const struct serve_advice *o,
				    const struct advise_settings *own)
{
	struct advise_page page = { o, own };
	int code = o->now.fits ? EXIT_CLEAN : EXIT_FINDINGS;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &advise_result, &page, code);
	return run_print_doc(r, page_advise(&r->arena, &page, r->value[OPT_VERBOSE] != NULL),
			     "gputune advise", code);
}

int verb_advise(struct run *r)
{
	struct model_file file = { 0 };
	struct advise_settings own = { 0 };
	struct advise_facts facts;
	struct besides besides = { &facts, &own };
	struct sweep sweep = { 0 };
	struct serve_advice advice;
	struct target_hw place;
	struct infer_options w;
	struct fits fits;
	struct err e = { 0 };
	const char *on = r->value[OPT_ON];
	int code = predict_constants(r, &fits);

	if (!code && r->value[OPT_USERS] && r->value[OPT_BATCH])
		code = complain_text(EXIT_USAGE, "--users and --batch both say how many requests "
						 "run at a time: give one of them");
	if (!code && r->value[OPT_SWEEP])
		code = advise_lists(r, &sweep);
	if (!code)
		code = verb_advise_asked_words(r, &w, &facts);
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
		return print_sweep(r, &sweep);
	}
	if (advise(&r->arena, &w, &fits, &facts, &advice, &e) < 0)
		return complain(EXIT_USAGE, &e);
	return verb_advise_print_answer(r, &advice, &own);
}
