/* SPDX-License-Identifier: Apache-2.0 */
/* What advice and sweeps hold, a row a figure. Keys and meanings are API. */
#include "models/inference/page_advise.h"

/* clang-format off */

static const struct shape advise_outcome_shape = SHAPE_OF(advise_outcome, advise_outcome,
	{ "fits", NULL, SHAPE_FLAG(advise_outcome, fits) },
	{ "ttft_ms", NULL, SHAPE_REAL(advise_outcome, ttft), .title = "TTFT", .unit = "ms" },
	{ "tpot_ms", NULL, SHAPE_REAL(advise_outcome, tpot), .title = "TPOT", .unit = "ms" },
	{ "answer_ms", "Latency of a whole answer.", SHAPE_REAL(advise_outcome, answer) },
	{ "throughput_tok_s", "Total of all requests.", SHAPE_REAL(advise_outcome, throughput),
	  .title = "throughput", .unit = "tokens/s" },
	{ "requests_that_fit", "Total of all replicas.", SHAPE_REAL(advise_outcome, users) },
	{ "memory_bytes", "Per GPU.", SHAPE_REAL(advise_outcome, bytes) },
	{ "memory_all_bytes", "Total of all GPUs in use.", SHAPE_REAL(advise_outcome, bytes_all) },
	{ "gpus", "In use.", SHAPE_COUNT(advise_outcome, gpus) });

/* What a way to serve begins with, where another struct points to it. */
#define WAY_ROWS(via)                                                                                       \
	{ "model", NULL, SHAPE_TEXT(way, q.arch.name), via },                                        \
	{ "weights", NULL, SHAPE_TEXT_OF(way_weights), via },                                        \
	{ "kv", "KV cache format.", SHAPE_TEXT(way, q.ask.cache_name), via },              \
	{ "engine", NULL, SHAPE_CHOICE(way, q.ask.engine, engine_names), via },                      \
	{ "machine", NULL, SHAPE_TEXT(way, q.ask.place.taken), via },                                \
	{ "tp", "Tensor parallelism.", SHAPE_COUNT(way, q.ask.tp), via },                            \
	{ "pp", "Pipeline stages.", SHAPE_COUNT(way, q.ask.pp), via }
#define OF_BASE SHAPE_VIA(serve_advice, base, way)

static const char *way_weights(const void *object)
{
	const struct format *f = ((const struct way *)object)->q.ask.weights;

	return f ? f->name : NULL;
}

static const struct shape advise_asked_shape = SHAPE_OF(serve_advice, advise_asked,
	WAY_ROWS(OF_BASE),
	{ "copies", "Replicas that share the requests.", SHAPE_COUNT(way, copies), OF_BASE },
	{ "batch", "Concurrency.", SHAPE_COUNT(way, q.ask.batch), OF_BASE },
	{ "prompt_tokens", NULL, SHAPE_REAL(way, q.ask.prompt), OF_BASE },
	{ "output_tokens", NULL, SHAPE_REAL(way, q.ask.output), OF_BASE },
	{ "depth_tokens", "Tokens in the cache before the prompt.", SHAPE_REAL(way, q.ask.depth), OF_BASE },
	{ "goal", NULL, SHAPE_CHOICE(serve_advice, goal, goal_names) });

#define GAIN(goal) SHAPE_OBJECT(serve_change, gain[goal], figure), .unknown = SHAPE_ZERO

static const struct shape advise_gain_shape = SHAPE_OF(serve_change, advise_gain,
	{ "answer", NULL, GAIN(GOAL_LATENCY), .title = "answer speedup" },
	{ "ttft", NULL, GAIN(GOAL_FIRST), .title = "TTFT" },
	{ "throughput", NULL, GAIN(GOAL_THROUGHPUT) },
	{ "requests", NULL, GAIN(GOAL_USERS) });

static const struct shape serve_change_shape = SHAPE_OF(serve_change, serve_change,
	{ "kind", NULL, SHAPE_CHOICE(serve_change, kind, change_names) },
	{ "change", NULL, SHAPE_TEXT(serve_change, what) },
	{ "options", "Options of predict and advise for this change.", SHAPE_TEXT(serve_change, options) },
	{ "gain", NULL, SHAPE_PART(advise_gain_shape) },
	{ "includes_nothing", "true: the interval of the goal's gain includes 1 (no gain).",
	  SHAPE_FLAG(serve_change, includes_nothing), SHAPE_WHEN(serve_change, gain_known) },
	{ "confidence", NULL, SHAPE_CHOICE(serve_change, confidence, confidence_names) },
	{ "known_from", "Basis of the interval.", SHAPE_TEXT(serve_change, known_from) },
	{ "trade_off", "What the change costs.", SHAPE_TEXT(serve_change, trade), .title = "trade-off" },
	{ "to_measure", "Measurement that would confirm it.", SHAPE_TEXT(serve_change, measure),
	  .title = "measure first" },
	{ "parts_multiplied", "For several changes: product of their single gains.",
	  SHAPE_REAL(serve_change, parts), SHAPE_WHEN(serve_change, several), .unknown = SHAPE_NULL, .absent = true },
	{ "after", NULL, SHAPE_OBJECT(serve_change, after, advise_outcome) });

#define OF_LEDGER SHAPE_VIA(advise_setting, row, ledger_row)

SHAPE_GIVES(const char *, setting_verdict, ledger_row, ruling_name(x->verdict))

static const struct shape advise_setting_shape = SHAPE_OF(advise_setting, advise_setting,
	{ "id", NULL, SHAPE_TEXT(ledger_row, setting), OF_LEDGER, .title = "setting" },
	{ "target", NULL, SHAPE_TEXT(ledger_row, target), OF_LEDGER, .title = "on" },
	{ "verdict", NULL, SHAPE_TEXT_OF(setting_verdict), OF_LEDGER, .title = "verdict, measured" },
	{ "ratio", NULL, SHAPE_REAL(ledger_row, ratio), OF_LEDGER, .unknown = SHAPE_NULL },
	{ "low", NULL, SHAPE_REAL(ledger_row, low), OF_LEDGER, .unknown = SHAPE_NULL },
	{ "high", NULL, SHAPE_REAL(ledger_row, high), OF_LEDGER, .unknown = SHAPE_NULL },
	{ "expired", NULL, SHAPE_FLAG(advise_setting, expired) },
	{ "text", "Verdict, with the bench that measured it.", SHAPE_TEXT(advise_setting, text), .title = "why" });

#define OF_ADVICE SHAPE_VIA(advise_page, advice, serve_advice)

static const struct shape advise_shape = SHAPE_OF(advise_page, advise,
	{ "asked", NULL, SHAPE_PART(advise_asked_shape), OF_ADVICE },
	{ "now", NULL, SHAPE_OBJECT(serve_advice, now, advise_outcome), OF_ADVICE },
	{ "limit", "What limits decoding.", SHAPE_CHOICE(serve_advice, before.limit, limit_names), OF_ADVICE,
	  .title = "limit" },
	{ "changes", "Changes, best for the goal first.", SHAPE_LIST(serve_advice, changes, n, serve_change),
	  OF_ADVICE },
	{ "together", "Best combinations of changes.",
	  SHAPE_LIST(serve_advice, together, n_together, serve_change), OF_ADVICE },
	{ "settings", "Verdicts of A/B tests on this machine; the text names the bench.",
	  SHAPE_LIST(advise_settings, rows, n, advise_setting), SHAPE_VIA(advise_page, settings, advise_settings) },
	{ "notes", "Effects that are not predicted, with the reason.", SHAPE_TEXT_ARRAY(serve_advice, notes,
	  n_notes), OF_ADVICE },
	{ "tried", "Number of configurations evaluated.", SHAPE_COUNT(serve_advice, tried), OF_ADVICE,
	  .title = "configurations evaluated" },
	{ "calibration", NULL, SHAPE_TEXT(serve_advice, before.calibration), OF_ADVICE, .title = "constants" });

const struct result_shape advise_result = {
	.name = "advise",
	.title = "gputune advise",
	.meaning = "Changes to a serving setup, ranked for a goal. Gains are ratios: before / after for times, after "
		"/ before for rates; 1 is no gain, null is unknown.",
	.shape = &advise_shape,
	.list = "changes",
	.exit_codes = 1u << 0 | 1u << 1,
};

static const struct shape sweep_point_shape = SHAPE_OF(sweep_point, sweep_point,
	WAY_ROWS(SHAPE_VIA(sweep_point, way, way)),
	{ "copies", NULL, SHAPE_COUNT(sweep_point, copies) },
	{ "batch", "Concurrency.", SHAPE_COUNT(sweep_point, batch) },
	{ "chunk", "Prompt tokens per step.", SHAPE_REAL(sweep_point, chunk) },
	{ "draft", "Speculative tokens.", SHAPE_COUNT(sweep_point, draft) },
	{ "latency_ms", NULL, SHAPE_REAL(sweep_point, latency) },
	{ "meets_targets", "true: 95 in 100 requests keep the targets, or there are no targets.",
	  SHAPE_FLAG(sweep_point, meets) },
	{ "outcome", NULL, SHAPE_OBJECT(sweep_point, o, advise_outcome) },
	{ "schedule", "Simulated scheduler.", SHAPE_OBJECT(sweep_point, plan, schedule), .unknown = SHAPE_ZERO });

static const struct shape pareto_front_shape = SHAPE_OF(pareto_front, pareto_front,
	{ "prompt_tokens", NULL, SHAPE_REAL(pareto_front, prompt) },
	{ "output_tokens", NULL, SHAPE_REAL(pareto_front, output) },
	{ "depth_tokens", NULL, SHAPE_REAL(pareto_front, depth) },
	{ "tried", NULL, SHAPE_COUNT(pareto_front, tried) },
	{ "fit", NULL, SHAPE_COUNT(pareto_front, fit) },
	{ "points", NULL, SHAPE_LIST(pareto_front, points, n, sweep_point) });

SHAPE_GIVES(const char *, sweep_latency, sweep, x->goal == GOAL_FIRST ? "ttft_ms" : "answer_ms")

static const char *sweep_calibration(const void *object)
{
	const struct fits *f = ((const struct sweep *)object)->fits;

	return f ? f->origin : NULL;
}

#define OF_SWEEP SHAPE_VIA(sweep_page, result, sweep_result)
#define OF_QUESTION SHAPE_VIA(sweep_page, asked, sweep)

static const struct shape sweep_shape = SHAPE_OF(sweep_page, sweep,
	{ "latency", "Meaning of latency_ms.", SHAPE_TEXT_OF(sweep_latency), OF_QUESTION },
	{ "tried", NULL, SHAPE_COUNT(sweep_result, tried), OF_SWEEP },
	{ "fit", "Number of requests that fit.", SHAPE_COUNT(sweep_result, fit), OF_SWEEP },
	{ "senseless", "Number of excluded configurations: more GPUs than available, or heads that cannot be split.",
	  SHAPE_COUNT(sweep_result, senseless), OF_SWEEP },
	{ "calibration", NULL, SHAPE_TEXT_OF(sweep_calibration), OF_QUESTION },
	{ "fronts", NULL, SHAPE_LIST(sweep_result, fronts, n, pareto_front), OF_SWEEP });

const struct result_shape sweep_result = {
	.name = "sweep",
	.title = "gputune advise --sweep",
	.meaning = "The Pareto front of configurations in latency, throughput and memory in use, for each request "
		"shape, fastest first.",
	.shape = &sweep_shape,
	.list = "fronts.points",
	.exit_codes = 1u << 0 | 1u << 1,
};
