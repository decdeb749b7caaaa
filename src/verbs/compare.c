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
	{ "A",
	  "the measurement before: a bench result, the id of a saved one, or a recording (without "
	  "A "
	  "and B: the last two saved results of one bench)",
	  ASK_TEXT(compare_ask, a), .argument = true, .files = true, .listed = "results" },
	{ "B", "the measurement after (default: the last saved result of the benches of A)",
	  ASK_TEXT(compare_ask, b), .argument = true, .files = true },
	{ ASK_PART(compare_ask, state, state_ask) },
};

struct compare_answer {
	struct compare benches;
	struct contrast recordings;
	bool recorded; /* these are what there is */
};

/* "20261121-045000-memory-bandwidth": what was measured comes after the time. A second one of that
 * second ends in "-2". */
static const char *what_of(struct arena *a, const char *id)
{
	const char *what = id + strspn(id, "0123456789-");
	size_t n = strlen(what), k = n;

	while (k && what[k - 1] >= '0' && what[k - 1] <= '9')
		k--;
	return arena_strndup(a, what, k && k < n && what[k - 1] == '-' ? k - 1 : n);
}

static const char *last_of(struct arena *a, const struct stored *ids, size_t n, const char *what)
{
	while (n && strcmp(what_of(a, ids[n - 1].id), what) != 0)
		n--;
	return n ? ids[n - 1].id : NULL;
}

/* Fills what is not given: the last saved result of the same benches, and the last one before it.
 * A file is compared with the last of all. Results of this user; where there are none, the
 * machine's. */
static int last_saved(struct door *d, struct compare_ask *ask)
{
	HOST_AUTO *h = d->live(d->ctx);
	const struct store_where both = door_where(d, &ask->state);
	struct store_where one = { both.state, NULL };
	struct err e = { 0 };
	const char *what;
	struct stored *ids;
	size_t n;
	int r = store_list(d->arena, h, &one, &ids, &n, &e);

	if (!r && !n && (one.state = both.beside))
		r = store_list(d->arena, h, &one, &ids, &n, &e);
	if (r)
		return door_fail(d, EXIT_USAGE, &e);
	what = n ? what_of(d->arena, ask->a ? ask->a : ids[n - 1].id) : "";
	ask->b = n ? last_of(d->arena, ids, n, what) : NULL;
	if (n && !ask->b)
		ask->b = ids[n - 1].id;
	if (n && ask->a)
		door_note(d, "B is the last saved result, %s", ask->b);
	else if (n)
		ask->a = last_of(d->arena, ids, n - 1, what);
	if (n && ask->a && strcmp(ask->a, ask->b) != 0)
		return 0;
	if (n && ask->a)
		return door_refuse(d, EXIT_USAGE,
				   "%s is the last saved result of its benches: give B too",
				   ask->a);
	return door_refuse(d, EXIT_USAGE,
			   "no two results of one bench are saved: \"gputune list results\" lists "
			   "them, \"gputune bench NAME\" measures");
}

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
	return compare_decides(out) ? EXIT_CLEAN : EXIT_BLIND;
}

static int compare_answer(struct door *d, const struct compare_ask *asked,
			  struct compare_answer *out)
{
	struct compare_ask both_of = *asked, *ask = &both_of;
	const char *a, *b;
	struct contrast *both = &out->recordings;
	struct err e = { 0 };
	int code = ask->b ? 0 : last_saved(d, ask);

	if (code)
		return code;
	a = door_saved(d, ask->a);
	b = door_saved(d, ask->b);
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

static struct doc *compare_page(struct arena *a, const struct compare_answer *v)
{
	return v->recorded ? page_contrast(a, &v->recordings) : page_compare(a, &v->benches);
}

VERB_ANSWER(compare_ask_any, compare_answer, compare_ask, compare_answer)
VERB_PAGE_OF(compare_page_any, compare_page, compare_answer)

/* clang-format off */
const struct verb compare_verb = {
	.name = "compare", .group = VERB_MEASURE, .summary = "compare two measurements or two recordings",
	.about = "Compares results of bench (files or ids of saved ones): ratio of the medians with its "
	  "interval; better, worse, no difference, cannot tell or not comparable. For two recordings: each "
	  "quantity, as higher, lower or no difference.",
	.exits = "1: something got worse; 5: not one figure has a verdict: none in common, a busy machine, or too few "
	  "samples",
	.words = "diff versus vs regression",
	.examples = EXAMPLES({ "compare before.json after.json", "two files, from bench -o" },
		{ "compare a.rec b.rec", "two recordings" }),
	.ask = ASK_OF(compare_ask, NULL, compare_ask_rows), .answer = compare_ask_any,
	.result = &compare_result, .answer_size = sizeof(struct compare_answer), .other = compare_other,
	.others = compare_others, .page = compare_page_any, .reads = READS_FILES,
};
