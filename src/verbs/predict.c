/* SPDX-License-Identifier: Apache-2.0 */
/* gputune predict: what a model will do on a machine, served or trained. */

#include "models/inference/advise.h"
#include "models/inference/page_predict.h"
#include "models/training/fit.h"
#include "models/training/page_train.h"
#include "verbs/calibrations.h"
#include "verbs/model_files.h"

/* clang-format off */
#define ROWS_ROW(type) \
	{ "rows", "show every row of a measurement table, with the errors", ASK_TEXT(type, rows), \
	  .arg = "CSV", .files = true }
#define EXPLAIN_ROW(type) \
	{ "explain", "show the equations with numbers", ASK_FLAG(type, explain) }

/* --- inference -------------------------------------------------------------------------------- */

struct inference_ask {
	struct infer_options w;
	struct target_ask target;
	struct machine_ask machine;
	struct constants_ask constants;
	double claim;
	const char *rows;
	bool explain;
};

static const struct ask_row inference_ask_rows[] = {
	{ ASK_PART_OF(inference_ask, w, infer_model_shape) },
	{ ASK_PART_OF(inference_ask, w, infer_format_shape) },
	{ ASK_PART(inference_ask, target, target_ask) },
	{ ASK_PART(inference_ask, machine, machine_ask) },
	{ "host", "predict for a captured machine (folder or tar)", .kind = ASK_KIND_NOTE },
	{ ASK_PART_OF(inference_ask, w, infer_load_shape) },
	{ ASK_PART_OF(inference_ask, w, infer_engine_shape) },
	{ "dp", "groups of --tp GPUs that share the experts (data-parallel attention)",
	  ASK_COUNT(inference_ask, w.dp, 1, 4096) },
	{ "prefill-workers", "number of prefill engines (disaggregated serving)",
	  ASK_COUNT(inference_ask, w.prefills, 1, 4096) },
	{ "prefill-tp", "tensor parallelism of the prefill engines (default: 1)",
	  ASK_COUNT(inference_ask, w.prefill_tp, 1, 4096) },
	{ "prefill-dp", "prefill engines: number of groups that share the experts",
	  ASK_COUNT(inference_ask, w.prefill_dp, 1, 4096) },
	{ "decode-workers", "number of decode engines", ASK_COUNT(inference_ask, w.decodes, 1, 4096) },
	{ "max-running", "requests that the engine runs at once at most (--max-num-seqs)",
	  ASK_COUNT(inference_ask, w.places, 1, 1000000) },
	{ "chunk", "prompt tokens per step (prefill chunk)", ASK_REAL(inference_ask, w.chunk, 16, 1e7) },
	{ "rate", "requests that arrive per second, instead of --batch",
	  ASK_REAL(inference_ask, w.rate, 1e-4, 1e5), .arg = "PER_SECOND" },
	{ "draft", "speculative tokens", ASK_COUNT(inference_ask, w.draft, 1, 64) },
	{ ASK_PART_OF(inference_ask, w, infer_guess_shape) },
	{ "claim", "a claimed figure of one request, to check", ASK_REAL(inference_ask, claim, 1e-3, 1e6),
	  .arg = "TOKENS/S" },
	ROWS_ROW(inference_ask),
	EXPLAIN_ROW(inference_ask),
	{ ASK_PART(inference_ask, constants, constants_ask) },
};
static const struct ask_shape inference_ask_shape = ASK_SHAPE(inference_ask, NULL, inference_ask_rows);
/* clang-format on */

struct inference_answer {
	struct prediction p;
	struct rows rows; /* of --rows */
};

#define MOST_TABLE (256u << 20)

static int inference_rows(struct door *d, const struct inference_ask *ask, const struct fits *fits,
			  struct rows *out)
{
	struct err e = { 0 };
	size_t len;
	char *text = door_file(d, ask->rows, MOST_TABLE, &len, NULL);

	if (!text)
		return -EXIT_USAGE;
	if (rows_predict(d->arena, door_knowledge(d, ask->machine.capture), text, fits, out, &e) <
	    0)
		return door_refuse(d, EXIT_USAGE, "%s: %s", ask->rows, e.text);
	return EXIT_CLEAN;
}

/* The first format of the weights that fits, else who finds what does. */
static const char *inference_instead(struct arena *a, struct infer_options w,
				     const struct fits *fits, const struct prediction *p)
{
	w.weight_bytes = 0; /* the file's count is of its own format */
	for (const char *const *names = advise_formats(&p->q.ask); *names; names++) {
		struct prediction *o = ARENA_NEW(a, struct prediction);
		struct query *q = ARENA_NEW(a, struct query);
		struct err ignored = { 0 };

		w.weights = *names;
		if (question_make(a, &w, fits, q, &ignored) < 0)
			continue;
		predict(a, q, fits, o);
		if (o->memory.fits)
			return arena_printf(a, "\"--weights %s\" fits: %.1f of %.1f GB.", *names,
					    o->memory.total / 1e9, o->memory.limit / 1e9);
	}
	return "No format of the weights fits: \"gputune advise\" lists what does.";
}

static int inference_answer(struct door *d, const struct inference_ask *ask,
			    struct inference_answer *out)
{
	struct infer_options w = ask->w;
	struct query *q = ARENA_NEW(d->arena, struct query);
	struct fits *fits = ARENA_NEW(d->arena, struct fits);
	struct prediction *p = &out->p;
	struct err e = { 0 };
	int code = door_fits(d, &ask->constants, ask->target.on, &ask->machine, w.model, fits);

	if (code)
		return code;
	if (ask->rows)
		return inference_rows(d, ask, fits, &out->rows);
	if (!w.model)
		return door_refuse(d, EXIT_USAGE,
				   "predict inference requires --model (\"gputune list models\")");
	w.on = ask->target.on;
	if ((code = door_infer_options(d, &w, ask->machine.capture)) != 0 ||
	    (code = door_place(d, &ask->target, &ask->machine, &w.place, NULL, NULL)) != 0)
		return code;
	if (question_make(d->arena, &w, fits, q, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	predict(d->arena, q, fits, p);
	if (!p->memory.fits && d->page)
		p->instead = inference_instead(d->arena, w, fits, p);
	p->claim.tokens_s = ask->claim;
	if (ask->claim > 0)
		p->claim.verdict = predict_claim(d->arena, p, ask->claim, &p->claim.why);
	return p->memory.fits ? EXIT_CLEAN : EXIT_FINDINGS;
}

VERB_OTHER(inference_other, inference_ask, inference_answer, x->rows, &v->rows, predict_rows_result)

static struct doc *inference_page(struct arena *a, const struct inference_ask *ask,
				  const struct inference_answer *v, const struct page_view *view)
{
	(void)view;
	return ask->rows ? page_predict_rows(a, &v->rows) : page_predict(a, &v->p, ask->explain);
}

VERB_ANSWER(inference_ask_any, inference_answer, inference_ask, inference_answer)
VERB_PAGE(inference_page_any, inference_page, inference_ask, inference_answer)

static const struct verb inference_verb = {
	.name = "inference",
	.summary = "memory, TTFT, TPOT and throughput of serving a model",
	.about = "Predicts memory, TTFT, TPOT and throughput, each with an interval, and what "
		 "limits them. The machine is --on, or this machine. --explain shows the "
		 "equations; --rows predicts a table of measurements and shows the errors.",
	.exits = "1: the model does not fit",
	.words = "ttft tpot itl latency throughput tokens serve serving decode prefill kv-cache "
		 "context",
	.examples = EXAMPLES(
		{ "predict inference --model Qwen3-8B --weights fp8 --on h100", "by name only" },
		{ "predict inference --model llama-3.3-70b --weights nvfp4 --on \"2x dgx-spark\"",
		  "on two machines" },
		{ "predict inference --model llama-3.1-8b --on h200 --prompt 8k --batch 16",
		  "for your own requests" }),
	.ask = &inference_ask_shape,
	.answer = inference_ask_any,
	.result = &predict_result,
	.answer_size = sizeof(struct inference_answer),
	.other = inference_other,
	.others = inference_others,
	.page = inference_page_any,
	.reads = READS_FILES,
};

/* --- training --------------------------------------------------------------------------------- */

/* clang-format off */
struct training_ask {
	struct train_ask train;
	struct target_ask target;
	struct machine_ask machine;
	struct constants_ask constants;
	struct ask_numbers scale;
	double claim;
	const char *rows;
	bool explain, largest, what_if, strong;
};

static const struct ask_row training_ask_rows[] = {
	{ ASK_PART_OF(training_ask, train.w, train_model_shape) },
	{ ASK_PART(training_ask, target, target_ask) },
	{ ASK_PART(training_ask, machine, machine_ask) },
	{ "host", "predict for a captured machine (folder or tar)", .kind = ASK_KIND_NOTE },
	{ ASK_PART(training_ask, train, train_ask) },
	{ ASK_PART_OF(training_ask, train, train_parts_shape) },
	{ "largest", "the largest micro-batch that fits", ASK_FLAG(training_ask, largest) },
	{ "what-if", "gain of each change to the training setup, and the best combination", ASK_FLAG(training_ask,
	  what_if) },
	{ "scale", "predict for these numbers of GPUs: 1,2,4,8,16", ASK_NUMBERS(training_ask, scale, 1, 100000),
	  .whole = true, .most = TRAIN_PAGE_POINTS },
	{ "strong", "--scale: keep the global batch constant (default: it grows)", ASK_FLAG(training_ask, strong) },
	{ "claim", "a claimed figure of all GPUs, to check", ASK_REAL(training_ask, claim, 1e-3, 1e12),
	  .arg = "TOKENS/S" },
	ROWS_ROW(training_ask),
	EXPLAIN_ROW(training_ask),
	{ ASK_PART(training_ask, constants, constants_ask) },
};
static const struct ask_shape training_ask_shape = ASK_SHAPE(training_ask, NULL, training_ask_rows);
/* clang-format on */

struct training_answer {
	struct train_page p;
	struct train_rows rows; /* of --rows */
};

static int training_rows(struct door *d, const struct training_ask *ask,
			 const struct train_fit *fit, struct train_rows *out)
{
	struct err e = { 0 };
	size_t len;
	char *text = door_file(d, ask->rows, MOST_TABLE, &len, NULL);

	if (!text)
		return -EXIT_USAGE;
	if (train_rows_predict(d->arena, door_knowledge(d, ask->machine.capture), text, fit, out,
			       &e) < 0)
		return door_refuse(d, EXIT_USAGE, "%s: %s", ask->rows, e.text);
	return EXIT_CLEAN;
}

/* The question: words, machine, measured curves. */
static int training_config(struct door *d, const struct training_ask *ask, struct train_config *q)
{
	const struct state_ask *state = &ask->constants.state;
	struct train_options w;
	struct err e = { 0 };
	int code;

	if ((code = door_train_options(d, &ask->train, ask->machine.capture, &w)) != 0)
		return code;
	w.on = ask->target.on;
	if ((code = door_place(d, &ask->target, &ask->machine, &w.place, NULL, NULL)) != 0)
		return code;
	if (train_config_make(d->arena, &w, q, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	if ((code = door_train_effect(d, &ask->train, q)) != 0)
		return code;
	if (ask->strong && !ask->scale.n)
		return door_refuse(d, EXIT_USAGE, "--strong has no effect without --scale");
	return door_train_curves(d, &ask->train, &ask->machine,
				 ask->constants.no_calibration ? NULL : state, q);
}

static void training_besides(struct arena *a, const struct training_ask *ask,
			     const struct train_config *q, struct train_page *p)
{
	p->strong = ask->strong;
	p->n_points = ask->scale.n;
	train_scale(a, &p->answer.q, ask->scale.items, p->n_points, p->strong, p->points);
	if (ask->largest) {
		p->asked_largest = true;
		p->largest_held = train_largest_micro_batch(a, &p->answer.q, true);
		p->largest = train_largest_micro_batch(a, &p->answer.q, false);
	}
	if (ask->what_if) {
		p->what_if = ARENA_NEW(a, struct train_what_if);
		train_what_if(a, q, p->what_if);
	}
	if (ask->claim > 0) {
		p->judgement = ARENA_NEW(a, struct train_judgement);
		train_judge(a, q, ask->claim, p->judgement);
	}
}

static int training_answer(struct door *d, const struct training_ask *ask,
			   struct training_answer *out)
{
	struct train_config *q = ARENA_NEW(d->arena, struct train_config);
	struct train_fit *fit = ARENA_NEW(d->arena, struct train_fit);
	struct train_page *p = &out->p;
	int code = door_train_fit(d, ask->constants.calibration, fit);

	if (code)
		return code;
	if (ask->rows)
		return training_rows(d, ask, fit, &out->rows);
	if ((code = training_config(d, ask, q)) != 0)
		return code;
	q->fit = fit;
	p->origin = fit->origin;
	p->explain = ask->explain;
	train_predict(d->arena, q, &p->answer);
	training_besides(d->arena, ask, q, p);
	return p->answer.memory.fits ? EXIT_CLEAN : EXIT_FINDINGS;
}

VERB_OTHER(training_other, training_ask, training_answer, x->rows, &v->rows, train_rows_result)

static struct doc *training_page(struct arena *a, const struct training_ask *ask,
				 const struct training_answer *v, const struct page_view *view)
{
	(void)view;
	return ask->rows ? page_train_rows(a, &v->rows) : page_train(a, &v->p);
}

VERB_ANSWER(training_ask_any, training_answer, training_ask, training_answer)
VERB_PAGE(training_page_any, training_page, training_ask, training_answer)

static const struct verb training_verb = {
	.name = "training",
	.summary = "memory, step time, tokens/s and MFU of training a model",
	.about = "Predicts memory, step time by part, exposed communication, tokens/s, MFU and "
		 "HFU. --largest finds the largest micro-batch that fits, --what-if rates "
		 "changes, --scale the efficiency with more GPUs, and --claim judges a measured "
		 "rate.",
	.exits = "1: the model does not fit",
	.words = "train finetune fine-tune mfu hfu lora",
	.examples =
		EXAMPLES({ "predict training --model Llama-3.1-8B --on \"h100 x8\" --parallel fsdp",
			   "step time by part, and what limits it" },
			 { "predict training --model Qwen3-8B --on \"2x dgx-spark\" --what-if",
			   "changes that make it faster" },
			 { "predict training --model llama-3.1-8b --on \"h100 x8\" --largest",
			   "the largest micro-batch that fits" }),
	.ask = &training_ask_shape,
	.answer = training_ask_any,
	.result = &train_result,
	.answer_size = sizeof(struct training_answer),
	.other = training_other,
	.others = training_others,
	.page = training_page_any,
	.reads = READS_FILES,
};

/* --- both ------------------------------------------------------------------------------------- */

static const struct verb *const predict_subs[] = { &inference_verb, &training_verb, NULL };

const struct verb predict_verb = {
	.name = "predict",
	.group = VERB_MODELS,
	.common = true,
	.summary = "whether a model fits, how fast it runs, and what limits it",
	.about = "Predicts how a machine serves or trains a model, each figure with a prediction "
		 "interval.",
	.words = "fit model llm estimate calculator vram",
	.examples = EXAMPLES(
		{ "predict inference --model llama-3.1-8b --on dgx-spark", "serve a model" },
		{ "predict training --model llama-3.1-8b --on \"h100 x8\"", "train a model" },
		{ "list models", "models supported by name" }),
	.subs = predict_subs,
	.usual = &inference_verb,
};
