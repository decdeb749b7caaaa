/* SPDX-License-Identifier: Apache-2.0 */
/* gputune normal: whether what other programs measured is usual for this hardware. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "models/normal/page_normal.h"
#include "verbs/calibrations.h"
#include "verbs/model_files.h"

struct normal_ask {
	struct ask_texts files;
	struct infer_options w;
	struct target_ask target;
	struct machine_ask machine;
	bool contribute;
};

static const struct ask_row normal_ask_rows[] = {
	{ "FILE", "output files to judge; -: standard input", ASK_TEXTS(normal_ask, files),
	  .argument = true, .files = true },
	{ ASK_PART(normal_ask, target, target_ask) },
	{ ASK_PART(normal_ask, machine, machine_ask) },
	{ "contribute", "also print each result as a row for src/knowledge/normals.rows",
	  ASK_FLAG(normal_ask, contribute) },
	{ ASK_PART_OF(normal_ask, w, infer_model_shape) },
	{ ASK_PART_OF(normal_ask, w, infer_format_shape) },
	{ ASK_PART_OF(normal_ask, w, infer_load_shape) },
	{ ASK_PART_OF(normal_ask, w, infer_engine_shape) },
};

/* The machine that the figures are of, where it is known: a text may name its GPU itself. */
static int normal_place(struct door *d, const struct normal_ask *ask, struct infer_options *w,
			struct target_hw *place)
{
	struct err e = { 0 };
	struct machine *m;
	HOST_AUTO *h = NULL;

	if (ask->target.on) {
		if (place_parse(d->arena, w->known, ask->target.on, place, &e) < 0)
			return door_fail(d, EXIT_USAGE, &e);
		w->place = place;
		return 0;
	}
	h = door_host(d, &ask->machine);
	if (!h)
		return -EXIT_USAGE;
	m = door_machine(d, h, &(struct door_look){ .lean = true });
	if (place_of(d->arena, w->known, m, place, &e) == 0)
		w->place = place;
	return 0;
}

static int by_verdict(const void *x, const void *y)
{
	const struct normal_item *a = x, *b = y;

	if (a->verdict != b->verdict)
		return a->verdict < b->verdict ? -1 : 1;
	return (a->off < b->off) - (a->off > b->off);
}

static int normal_judged(struct door *d, struct normal_page *out)
{
	struct normal_items *all = &out->items;

	for (size_t i = 0; i < all->n; i++)
		all->count[all->items[i].verdict]++;
	if (all->n)
		qsort(all->items, all->n, sizeof(*all->items), by_verdict);
	else
		return door_refuse(
			d, EXIT_BLIND,
			"no output of a supported program; \"gputune help normal\" lists them");
	if (all->count[NORMAL_SLOW] || all->count[NORMAL_IMPOSSIBLE])
		return EXIT_FINDINGS;
	return all->count[NORMAL_USUAL] ? EXIT_CLEAN : EXIT_BLIND;
}

static int normal_answer(struct door *d, const struct normal_ask *ask, struct normal_page *out)
{
	struct infer_options w = ask->w;
	struct target_hw *place = ARENA_NEW(d->arena, struct target_hw);
	struct fits *fits = ARENA_NEW(d->arena, struct fits);
	char today[STAMP_SIZE] = "";
	struct normal_on on = { .told = &w, .fits = fits, .date = today };
	int code;

	if (!ask->files.n)
		return door_refuse(d, EXIT_USAGE, "normal needs FILE; -: standard input");
	w.known = on.known = door_knowledge(d, ask->machine.capture);
	w.on = ask->target.on;
	if ((code = door_infer_options(d, &w, ask->machine.capture)) != 0 ||
	    (code = normal_place(d, ask, &w, place)) != 0)
		return code;
	on.place = w.place;
	fits_default(fits);
	stamp_format((long long)time(NULL), today);
	today[10] = '\0';
	for (size_t i = 0; i < ask->files.n; i++) {
		const char *path = ask->files.items[i];
		size_t len;
		char *text = door_file(d, path, NORMAL_BYTES_MAX, &len, NULL);

		if (!text)
			return -EXIT_USAGE;
		if (memchr(text, '\0', len))
			return door_refuse(d, EXIT_USAGE, "%s: not text: contains NUL bytes", path);
		normal_read(d->arena, strcmp(path, "-") == 0 ? "standard input" : path, text, &on,
			    &out->items);
	}
	out->rows = ask->contribute;
	return normal_judged(d, out);
}

VERB_ANSWER(normal_ask_any, normal_answer, normal_ask, normal_page)
VERB_PAGE_OF(normal_page_any, page_normal, normal_page)

/* clang-format off */
const struct verb normal_verb = {
	.name = "normal", .group = VERB_MEASURE,
	.summary = "judge whether another program's result is normal for this hardware",
	.about = "Reads output of nccl-tests, nvbandwidth, perftest, iperf3, fio, gpu-burn, STREAM, MLPerf, "
	  "GEMM loops, llama-benchy, GuideLLM, AIPerf and engines' benchmarks. Each figure is normal, slow, or "
	  "impossible on this hardware. The GPU is that of --on, of the output, or of this machine.",
	.exits = "1: a figure is slow or impossible. 5: no figure could be judged",
	.words = "usual expected baseline reference busbw nccl-tests nvbandwidth perftest fio iperf3",
	.examples = EXAMPLES({ "normal nccl.log", "an output of all_reduce_perf" },
		{ "normal fio.json --on dgx-spark", "a drive of a DGX Spark" },
		{ "normal vllm.txt --on h200 --model llama-3.1-8b", "a benchmark of vLLM" }),
	.ask = ASK_OF(normal_ask, NULL, normal_ask_rows), .answer = normal_ask_any, .result = &normal_result,
	.page = normal_page_any, .reads = READS_FILES,
};
