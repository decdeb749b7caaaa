/* SPDX-License-Identifier: Apache-2.0 */
/* gputune advise: what to change about a way to serve a model, and what each change would bring. */
#include <math.h>
#include <string.h>

#include "models/inference/page_advise.h"
#include "verbs/calibrations.h"
#include "verbs/change.h"

/* What a sweep takes as lists is one number or name otherwise. */
struct advise_ask {
	struct infer_options w;
	struct sweep lists;
	struct ask_numbers context, users;
	const char *weights, *cache;
	struct target_ask target;
	struct machine_ask machine;
	struct constants_ask constants;
	enum goal goal;
	double ttft_p95, tpot_p95; /* seconds */
	const char *rate;
	bool sweep;
};

/* "4" or "4/s". */
static int rate_check(const char *text, struct err *e)
{
	const char *end;
	double v;

	if (parse_decimal(text, &v, &end) == 0 && v >= 1e-4 && v <= 1e5 &&
	    (!*end || strcmp(end, "/s") == 0))
		return 0;
	return err_set(e, -EINVAL, "expected requests per second such as 4 or 4/s, got \"%.40s\"",
		       text);
}

/* clang-format off */
#define ADVISE_WHOLE(m, low, high) ASK_NUMBERS(advise_ask, m, low, high), .whole = true

static const struct ask_row advise_ask_rows[] = {
	{ ASK_PART_OF(advise_ask, w, infer_model_shape) },
	{ "weights", "bf16, fp8, nvfp4, mxfp4, int4, awq, gptq, int8, q4_k_m, q8_0 and others",
	  ASK_TEXT(advise_ask, weights), .arg = "FORMAT", .proposal = format_proposal },
	{ "kv", "KV cache format: bf16, fp8, q8_0 and others", ASK_TEXT(advise_ask, cache), .arg = "FORMAT" },
	{ "tp", "tensor parallelism (default: all GPUs of a stage)", ADVISE_WHOLE(lists.tp, 1, 4096) },
	{ "pp", "pipeline stages", ADVISE_WHOLE(lists.pp, 1, 4096) },
	{ "copies", "data-parallel replicas, which share the requests", ADVISE_WHOLE(lists.copies, 1, 4096) },
	{ ASK_PART(advise_ask, target, target_ask) },
	{ ASK_PART(advise_ask, machine, machine_ask) },
	{ "goal", "latency, first-token, throughput or users", ASK_CHOICE(advise_ask, goal, goal_names),
	  .arg = "GOAL", .fallback = "latency" },
	{ "ttft-p95", "limit of TTFT for 95 of 100 requests: finds the best deployment that meets it",
	  ASK_TIME(advise_ask, ttft_p95), .check = time_unit_check },
	{ "tpot-p95", "limit of TPOT for 95 of 100 requests", ASK_TIME(advise_ask, tpot_p95),
	  .check = time_unit_check },
	{ "rate", "requests that arrive per second, instead of --users", ASK_TEXT(advise_ask, rate),
	  .arg = "N/s", .check = rate_check },
	{ "sweep", "evaluate every combination of lists (--tp 1,2,4 --batch 1-64 --weights bf16,fp8 "
	  "...) and show the Pareto front",
	  ASK_FLAG(advise_ask, sweep) },
	{ "prompt", "prompt tokens", ASK_NUMBERS(advise_ask, lists.prompt, 1, QUESTION_TOKENS) },
	{ "output", "output tokens", ASK_NUMBERS(advise_ask, lists.output, 1, QUESTION_TOKENS) },
	{ "context", "tokens of context before the answer; tokens beyond --prompt are already cached",
	  ASK_NUMBERS(advise_ask, context, 1, QUESTION_TOKENS) },
	{ "depth", "tokens in the cache before the prompt",
	  ASK_NUMBERS(advise_ask, lists.depth, 0, QUESTION_TOKENS) },
	{ "batch", "concurrent requests", ADVISE_WHOLE(lists.batch, 1, QUESTION_REQUESTS) },
	{ "users", "concurrent requests, same as --batch", ADVISE_WHOLE(users, 1, QUESTION_REQUESTS) },
	{ "chunk", "prompt tokens per step (prefill chunk)", ASK_NUMBERS(advise_ask, lists.chunk, 16, 1e7) },
	{ "draft", "speculative tokens", ADVISE_WHOLE(lists.draft, 0, 64) },
	{ ASK_PART_OF(advise_ask, w, infer_engine_shape) },
	{ ASK_PART_OF(advise_ask, w, infer_guess_shape) },
	{ ASK_PART(advise_ask, constants, constants_ask) },
};
/* clang-format on */

struct advise_answer {
	struct advise_page page;
	struct sweep_page sweep; /* of --sweep */
};

static int advise_names(struct door *d, const char *option, const char *text, struct ask_texts *out)
{
	size_t n = text ? 1 : 0;

	for (const char *c = text; c && *c; c++)
		n += *c == ',';
	out->items = door_words(d, text, &out->n);
	return out->n == n ? 0
			   : door_refuse(d, EXIT_USAGE, "--%s has an empty item: \"%.60s\"", option,
					 text);
}

static bool has_targets(const struct advise_ask *ask)
{
	return ask->ttft_p95 > 0 || ask->tpot_p95 > 0 || ask->rate;
}

static bool sweeps(const struct advise_ask *ask)
{
	return ask->sweep || has_targets(ask);
}

/* With a target, everything that is not given is tried: formats, caches, layouts. */
static int advise_targets(struct door *d, const struct advise_ask *ask, struct sweep *s,
			  struct infer_options *w)
{
	static const char *const caches[] = { NULL, "fp8" }, *const cache_gguf[] = { NULL, "q8_0" };
	static const double stages[] = { 1, 2, 4 };
	const char **formats = arena_array(d->arena, 8, sizeof(*formats));
	const char *const *known;
	struct query q;
	struct err e = { 0 };
	const char *end;
	size_t n = 1;

	if (!has_targets(ask))
		return 0;
	if (ask->rate && (ask->users.n || ask->lists.batch.n))
		return door_refuse(d, EXIT_USAGE, "--rate and --users are mutually exclusive");
	s->ttft_p95 = ask->ttft_p95 > 0 ? 1e3 * ask->ttft_p95 : 0;
	s->tpot_p95 = ask->tpot_p95 > 0 ? 1e3 * ask->tpot_p95 : 0;
	if (ask->rate)
		(void)parse_decimal(ask->rate, &s->rate, &end);
	else if (!s->batch.n)
		return door_refuse(d, EXIT_USAGE, "give the load: --rate or --users");
	w->rounds = w->rounds > 0 ? w->rounds : 10;
	if (question_make(d->arena, w, s->fits, &q, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	/* As published, and what the engine makes of it; others need a checkpoint of their own. */
	for (known = advise_formats(&q.ask); *known && n < 7; known++)
		if (q.ask.engine == ENGINE_LLAMACPP || strcmp(*known, "fp8") == 0)
			formats[n++] = *known;
	if (!s->weights.n)
		s->weights = (struct ask_texts){ formats, n };
	if (!s->caches.n)
		s->caches =
			(struct ask_texts){ q.ask.engine == ENGINE_LLAMACPP ? cache_gguf : caches,
					    2 };
	if (!s->pp.n)
		s->pp = (struct ask_numbers){ stages, q.ask.place.nodes > 1 ? 3 : 1 };
	return 0;
}

/* --users and --context are of the requests and the prompt. */
static int advise_lists(struct door *d, const struct advise_ask *ask, struct sweep *s)
{
	int code;

	*s = ask->lists;
	s->goal = ask->goal;
	if (ask->users.n)
		s->batch = ask->users;
	if (ask->context.n)
		s->prompt = ask->context;
	if ((code = advise_names(d, "on", ask->target.on, &s->machines)) != 0 ||
	    (code = advise_names(d, "weights", ask->weights, &s->weights)) != 0)
		return code;
	return advise_names(d, "kv", ask->cache, &s->caches);
}

/* --context: what a request has before its answer; with --prompt the rest was there before. */
static int advise_context(struct door *d, double all, struct infer_options *w)
{
	if (all <= 0)
		return 0;
	if (w->prompt <= 0)
		w->prompt = all;
	else if (all < w->prompt)
		return door_refuse(d, EXIT_USAGE, "--context %g includes the prompt, but is less",
				   all);
	else
		w->depth = all - w->prompt;
	return 0;
}

/* Without --sweep: lists of one. */
static int advise_words(struct door *d, const struct advise_ask *ask, struct infer_options *w,
			struct advise_facts *f)
{
	double tp = 0, pp = 0, copies = 0, batch = 0, users = 0, context = 0, draft = 0;
	const struct {
		const char *name;
		const struct ask_numbers *list;
		double *to;
	} rows[] = {
		{ "tp", &ask->lists.tp, &tp },
		{ "pp", &ask->lists.pp, &pp },
		{ "copies", &ask->lists.copies, &copies },
		{ "batch", &ask->lists.batch, &batch },
		{ "users", &ask->users, &users },
		{ "prompt", &ask->lists.prompt, &w->prompt },
		{ "output", &ask->lists.output, &w->output },
		{ "context", &ask->context, &context },
		{ "depth", &ask->lists.depth, &w->depth },
		{ "chunk", &ask->lists.chunk, &w->chunk },
		{ "draft", &ask->lists.draft, &draft },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].list->n > 1)
			return door_refuse(d, EXIT_USAGE,
					   "--%s takes one number; only --sweep takes lists",
					   rows[i].name);
		if (rows[i].list->n)
			*rows[i].to = rows[i].list->items[0];
	}
	w->weights = ask->weights;
	w->cache = ask->cache;
	w->tp = (int)tp;
	w->pp = (int)pp;
	w->batch = (int)(users > 0 ? users : batch);
	w->draft = (int)draft;
	f->copies = (int)copies;
	return advise_context(d, context, w);
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
		s = &ARENA_ADD(d->arena, out->rows, out->n);
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

static int advise_sweep(struct door *d, struct sweep *s, struct sweep_page *out)
{
	struct sweep_result *result = ARENA_NEW(d->arena, struct sweep_result);
	struct err e = { 0 };

	*out = (struct sweep_page){ s, result };
	if (sweep_run(d->arena, s, result, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	if (s->ttft_p95 > 0 || s->tpot_p95 > 0 || s->rate > 0)
		return result->n && result->fronts[0].n && result->fronts[0].points[0].meets
			       ? EXIT_CLEAN
			       : EXIT_FINDINGS;
	return result->fit ? EXIT_CLEAN : EXIT_FINDINGS;
}

static int advise_answer(struct door *d, const struct advise_ask *ask, struct advise_answer *out)
{
	struct advise_settings *own = ARENA_NEW(d->arena, struct advise_settings);
	struct serve_advice *advice = ARENA_NEW(d->arena, struct serve_advice);
	struct infer_options *w = ARENA_NEW(d->arena, struct infer_options);
	struct sweep *sweep = ARENA_NEW(d->arena, struct sweep);
	struct fits *fits = ARENA_NEW(d->arena, struct fits);
	struct advise_facts facts = { .goal = ask->goal,
				      .accept_told = !isnan(ask->w.accept),
				      .cached_told = !isnan(ask->w.cached) };
	struct besides besides = { &facts, own };
	struct err e = { 0 };
	int code = door_fits(d, &ask->constants, ask->target.on, &ask->machine, ask->w.model, fits);

	if (code)
		return code;
	if (ask->users.n && ask->lists.batch.n)
		return door_refuse(d, EXIT_USAGE,
				   "--users and --batch both set the concurrency: give one");
	*w = ask->w;
	code = sweeps(ask) ? advise_lists(d, ask, sweep) : advise_words(d, ask, w, &facts);
	if (code)
		return code;
	if (!w->model)
		return door_refuse(d, EXIT_USAGE, "advise needs --model");
	w->on = ask->target.on;
	if ((code = door_infer_options(d, w, ask->machine.capture)) != 0 ||
	    (code = door_place(d, &ask->target, &ask->machine, &w->place, look_besides,
			       &besides)) != 0)
		return code;
	sweep->words = w;
	sweep->fits = fits;
	if (sweeps(ask) && (code = advise_targets(d, ask, sweep, w)) != 0)
		return code;
	if (sweeps(ask))
		return advise_sweep(d, sweep, &out->sweep);
	out->page = (struct advise_page){ advice, own };
	if (advise(d->arena, w, fits, &facts, advice, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	return advice->now.fits ? EXIT_CLEAN : EXIT_FINDINGS;
}

VERB_OTHER(advise_other, advise_ask, advise_answer, sweeps(x), &v->sweep, sweep_result)

static struct doc *advise_page_of(struct arena *a, const struct advise_ask *ask,
				  const struct advise_answer *v, const struct page_view *view)
{
	return sweeps(ask) ? page_sweep(a, &v->sweep) : page_advise(a, &v->page, view->verbose);
}

VERB_ANSWER(advise_ask_any, advise_answer, advise_ask, advise_answer)
VERB_PAGE(advise_page_any, advise_page_of, advise_ask, advise_answer)

const struct verb advise_verb = {
	.name = "advise",
	.group = VERB_MODELS,
	.summary = "changes that make serving a model faster, with their gain",
	.about = "Evaluates changes of formats, parallelism, machines, concurrency, speculation, "
		 "prefix "
		 "cache, engine and model. Ranks them for --goal: gain with interval, and cost. "
		 "With "
		 "--ttft-p95, --tpot-p95, --rate: the best deployment. --sweep: the Pareto front.",
	.exits = "1: the model does not fit, or nothing meets --ttft-p95, --tpot-p95 and --rate",
	.words = "recommend suggestion suggest faster quantization quantize speculative pareto "
		 "sweep",
	.examples = EXAMPLES(
		{ "advise --model llama-3.3-70b --weights nvfp4 --on dgx-spark",
		  "changes that reduce latency" },
		{ "advise --model llama-3.1-8b --on h100 --goal throughput", "for another goal" },
		{ "advise --model llama-3.3-70b --on \"8x h100\" --ttft-p95 500ms --tpot-p95 30ms "
		  "--rate 4/s",
		  "the best deployment for a target" },
		{ "advise --model Qwen3-8B --on h100 --sweep --batch 1-64 --weights bf16,fp8",
		  "all combinations and the Pareto front" }),
	.ask = ASK_OF(advise_ask, NULL, advise_ask_rows),
	.answer = advise_ask_any,
	.result = &advise_result,
	.answer_size = sizeof(struct advise_answer),
	.other = advise_other,
	.others = advise_others,
	.page = advise_page_any,
	.reads = READS_FILES,
};
