/* SPDX-License-Identifier: Apache-2.0 */
/* gputune compare: two results of bench, or two recordings, against each other. */
#include "look/monitor/contrast.h"
#include "measure/bench/bench_json.h"
#include "measure/bench/page_bench.h"
#include "verbs/benches.h"

struct compare_ask {
	const char *a, *b;
	struct state_ask state;
};

static const struct ask_row compare_ask_rows[] = {
	{ "A", "the measurement before: a bench result, the id of a saved one, or a recording",
	  ASK_TEXT(compare_ask, a), .argument = true, .required = true, .files = true,
	  .listed = "results" },
	{ "B", "the measurement after", ASK_TEXT(compare_ask, b), .argument = true,
	  .required = true, .files = true },
	{ ASK_PART(compare_ask, state, state_ask) },
};

struct compare_answer {
	struct compare benches;
	struct contrast recordings;
	bool recorded; /* these are what there is */
};

static int compare_benches(struct door *d, const struct compare_ask *ask, struct compare *out)
{
	HOST_AUTO *h = d->live(d->ctx);
	struct record *a = ARENA_NEW(d->arena, struct record),
		      *b = ARENA_NEW(d->arena, struct record);
	int code = door_bench(d, h, &ask->state, ask->a, a, NULL);

	code = code ? code : door_bench(d, h, &ask->state, ask->b, b, NULL);
	if (code)
		return code;
	compare_records(d->arena, a, b, out);
	if (out->count[COMPARE_WORSE])
		return EXIT_FINDINGS;
	return out->n == out->count[COMPARE_CANNOT] ? EXIT_BLIND : EXIT_CLEAN;
}

static int compare_answer(struct door *d, const struct compare_ask *ask, struct compare_answer *out)
{
	const char *a = door_saved(d, ask->a), *b = door_saved(d, ask->b);
	struct contrast *both = &out->recordings;
	struct err e = { 0 };

	out->recorded = recording_is(a);
	if (out->recorded != recording_is(b))
		return door_refuse(d, EXIT_USAGE, "cannot compare a recording with a bench result");
	if (!out->recorded)
		return compare_benches(d, ask, &out->benches);
	if (contrast_read(d->arena, a, b, both, &e))
		return door_fail(d, EXIT_USAGE, &e);
	return both->n == both->count[CONTRAST_CANNOT] ? EXIT_BLIND : EXIT_CLEAN;
}

VERB_OTHER(compare_other, compare_ask, compare_answer, v->recorded, &v->recordings, contrast_result)

static const struct result_shape *const compare_others[] = { &contrast_result, NULL };

static struct doc *compare_page(struct arena *a, const struct compare_answer *v)
{
	return v->recorded ? page_contrast(a, &v->recordings) : page_compare(a, &v->benches);
}

VERB_ANSWER(compare_ask_any, compare_answer, compare_ask, compare_answer)
VERB_PAGE_OF(compare_page_any, compare_page, compare_answer)

const struct verb compare_verb = {
	.name = "compare",
	.group = VERB_MEASURE,
	.summary = "compare two measurements or two recordings",
	.about = "Compares results of bench (files or ids of saved ones): ratio of the medians "
		 "with its interval; better, worse, no difference or not comparable. For two "
		 "recordings: each quantity, as higher, lower or no difference.",
	.exits = "1: something got worse; 5: nothing could be compared",
	.words = "diff versus vs regression",
	.examples = EXAMPLES({ "compare before.json after.json", "two runs of bench --json" },
			     { "compare a.rec b.rec", "two recordings" }),
	.ask = ASK_OF(compare_ask, NULL, compare_ask_rows),
	.answer = compare_ask_any,
	.result = &compare_result,
	.answer_size = sizeof(struct compare_answer),
	.other = compare_other,
	.others = compare_others,
	.page = compare_page_any,
	.reads = READS_FILES,
};
