/* SPDX-License-Identifier: Apache-2.0 */
/* gputune bench list, bench show: what can be measured, and results that are kept. */
#include "measure/bench/bench_json.h"
#include "measure/bench/page_bench.h"
#include "verbs/bench/bench.h"

/* --- list ------------------------------------------------------------------------------------- */

static int bench_list_answer(struct door *d, const struct state_ask *ask, struct bench_list *out)
{
	HOST_AUTO *h = d->live(d->ctx);
	const struct store_where where = door_where(d, ask);
	struct err e = { 0 };
	struct record *kept;
	size_t n = 0;
	struct stored *ids;
	char *text;

	*out = (struct bench_list){ .benches = benches, .n_benches = bench_count };
	/* What can be measured is worth listing all the same. */
	if (store_list(d->arena, h, &where, &ids, &n, &e)) {
		d->say(d->ctx, 0, &e);
		out->unreadable = true;
	}
	out->kept = kept = arena_array(d->arena, n + 1, sizeof(*kept));
	for (size_t i = 0; i < n; i++) {
		if (store_get(d->arena, h, &(struct store_where){ ids[i].state, NULL }, ids[i].id,
			      &text, &e) ||
		    bench_from_json(d->arena, ids[i].id, text, &kept[out->n], &e))
			d->say(d->ctx, 0, &e);
		else
			kept[out->n++].owner =
				strcmp(ids[i].state, where.state) == 0 ? NULL : "root";
	}
	return EXIT_CLEAN;
}

static struct doc *bench_list_page(struct arena *a, const struct bench_list *v)
{
	struct record_pair *names = arena_array(a, v->n_benches, sizeof(*names));
	struct doc *d = page_bench_list(a, v->unreadable ? NULL : v->kept, v->n);

	for (size_t i = 0; i < v->n_benches; i++)
		names[i] = (struct record_pair){ v->benches[i]->name, v->benches[i]->title };
	page_bench_names(d, names, v->n_benches);
	return d;
}

VERB_ANSWER(bench_list_any, bench_list_answer, state_ask, bench_list)
VERB_PAGE_OF(bench_list_page_any, bench_list_page, bench_list)

const struct verb bench_list_verb = {
	.name = "list",
	.summary = "the benches and the saved results",
	.about = "Lists every bench with what it measures, and the saved results.",
	.examples = EXAMPLES({ "bench list", "all benches" },
			     { "bench list --format json", "for scripts" }),
	.ask = &state_ask_shape,
	.answer = bench_list_any,
	.result = &bench_list_result,
	.page = bench_list_page_any,
};

/* --- show ------------------------------------------------------------------------------------- */

struct bench_show_ask {
	const char *id;
	struct state_ask state;
};

static const struct ask_row bench_show_rows[] = {
	{ "ID", "a saved result from \"bench list\", or a result file",
	  ASK_TEXT(bench_show_ask, id), .argument = true, .required = true, .files = true },
	{ ASK_PART(bench_show_ask, state, state_ask) },
};

static int bench_show_answer(struct door *d, const struct bench_show_ask *ask,
			     struct bench_answer *out)
{
	HOST_AUTO *h = d->live(d->ctx);

	return door_bench(d, h, &ask->state, ask->id, &out->record, &out->text);
}

/* As it is kept: by whom it was measured, and how that ended. */
static json_t *bench_show_json(const void *answer)
{
	return json_loads(((const struct bench_answer *)answer)->text, 0, NULL);
}

struct doc *bench_page(struct arena *a, const void *ask, const void *answer,
		       const struct page_view *view)
{
	(void)ask;
	return page_bench(a, &((const struct bench_answer *)answer)->record, view->verbose);
}

VERB_ANSWER(bench_show_any, bench_show_answer, bench_show_ask, bench_answer)

/* clang-format off */
const struct verb bench_show_verb = {
	.name = "show", .summary = "a saved result", .about = "Shows a saved result or a result file.",
	.examples = EXAMPLES({ "bench show before.json", "a result file" },
		{ "bench show before.json --verbose", "with samples and conditions" }),
	.ask = ASK_OF(bench_show_ask, NULL, bench_show_rows), .answer = bench_show_any, .result = &bench_result,
	.answer_size = sizeof(struct bench_answer), .json = bench_show_json, .json_name = "bench",
	.page = bench_page, .reads = READS_FILES,
};
