/* SPDX-License-Identifier: Apache-2.0 */
/* gputune calibrate: constants of predictions from what was measured on this machine. */
#include <string.h>

#include "measure/bench/bench.h"
#include "models/inference/predict.h"
#include "verbs/calibrations.h"
#include "verbs/model_files.h"

struct calibrate_ask {
	struct ask_texts files, logs;
	bool from_bench, forget, dry_run;
	struct infer_options w;
	struct target_ask target;
	struct machine_ask machine;
	struct state_ask state;
};

static const struct ask_row calibrate_ask_rows[] = {
	{ "FILE", "benchmark outputs", ASK_TEXTS(calibrate_ask, files), .argument = true,
	  .files = true },
	{ "log", "a benchmark output; may be given several times", ASK_TEXTS(calibrate_ask, logs),
	  .arg = "FILE", .files = true },
	{ "from-bench", "use saved results of gputune bench on this machine",
	  ASK_FLAG(calibrate_ask, from_bench) },
	{ "forget", "remove the stored constants of this machine",
	  ASK_FLAG(calibrate_ask, forget) },
	{ "dry-run", "show the fit without storing it", ASK_FLAG(calibrate_ask, dry_run),
	  .letter = 'n' },
	{ ASK_PART(calibrate_ask, state, state_ask) },
	{ ASK_PART_OF(calibrate_ask, w, infer_model_shape) },
	{ ASK_PART_OF(calibrate_ask, w, infer_format_shape) },
	{ ASK_PART(calibrate_ask, target, target_ask) },
	{ ASK_PART(calibrate_ask, machine, machine_ask) },
	{ ASK_PART_OF(calibrate_ask, w, infer_load_shape) },
	{ ASK_PART_OF(calibrate_ask, w, infer_engine_shape) },
};

struct calibrate_answer {
	struct calibrate_page page;
	struct calibration_stored stored; /* where nothing is to be read */
	struct calibration_file file;
};

/* One call: what was told, of which machine. */
struct calibrating {
	const struct calibrate_ask *ask;
	struct infer_options w;
	struct target_hw place;
	struct calibrate_place at;
	const char *digest; /* of this machine; NULL: --on names another */
};

/* Nothing to read: what is kept. */
static bool calibrate_reads_nothing(const struct calibrate_ask *ask)
{
	return !ask->files.n && !ask->logs.n && !ask->from_bench;
}

/* The machine that is calibrated; its digest is that of bench results. */
static int calibrate_machine(struct door *d, struct calibrating *q)
{
	struct record rec = { 0 };
	struct err e = { 0 };
	struct machine *m;
	HOST_AUTO *h = NULL;
	int code;

	if (q->w.on) {
		if (place_parse(d->arena, q->w.known, q->w.on, &q->place, &e) < 0)
			return door_fail(d, EXIT_USAGE, &e);
		calibrate_place_of(d->arena, NULL, NULL, &q->place, &q->at);
		return 0;
	}
	h = door_host(d, &q->ask->machine);
	if (!h)
		return -EXIT_USAGE;
	m = door_machine(d, h, &(struct door_look){ 0 });
	code = place_of(d->arena, q->w.known, m, &q->place, &e);
	q->w.place = &q->place;
	calibrate_place_of(d->arena, h, m, NULL, &q->at);
	record_fingerprint(d->arena, h, m, &rec);
	q->digest = rec.machine;
	return code < 0 ? door_fail(d, EXIT_BLIND, &e) : 0;
}

static int calibrate_logs(struct door *d, const struct ask_texts *paths, struct log_runs *runs)
{
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->items[i];
		struct err e = { 0 };
		size_t len;
		char *text = door_file(d, path, LOG_BYTES_MAX, &len, NULL);

		if (!text)
			return -EXIT_USAGE;
		if (memchr(text, '\0', len))
			return door_refuse(d, EXIT_USAGE, "%s: not a text file: contains NUL bytes",
					   path);
		if (logs_read(d->arena, path, text, runs, &e) < 0)
			return door_fail(d, EXIT_USAGE, &e);
	}
	return 0;
}

static int calibrate_show(struct door *d, struct host *h, const struct calibrating *q,
			  struct calibrate_answer *out)
{
	bool is = calibrate_stored(d, h, &q->ask->state, &q->at, &out->file);

	out->stored = (struct calibration_stored){ q->at.taken, is ? &out->file : NULL };
	return is && out->file.why_not ? EXIT_FINDINGS : EXIT_CLEAN;
}

static bool any_stored(const struct calibration *c)
{
	for (size_t i = 0; i < c->n_groups; i++)
		if (c->groups[i].kept || c->groups[i].hinted)
			return true;
	return false;
}

static int calibrate_fit(struct door *d, struct host *h, const struct calibrating *q,
			 struct calibrate_page *p)
{
	struct calibration *c = ARENA_NEW(d->arena, struct calibration);
	struct log_runs *runs = ARENA_NEW(d->arena, struct log_runs);
	struct calibrate_hint *hints = NULL;
	struct bench_facts facts = { 0 };
	struct fits base;
	int code = calibrate_logs(d, &q->ask->logs, runs);

	code = code ? code : calibrate_logs(d, &q->ask->files, runs);
	if (code)
		return code;
	if (q->ask->from_bench) {
		bench_facts_of(d, h, &q->ask->state, q->digest, q->place.gpu->name, &facts);
		calibrate_hints(d->arena, &facts, &q->place, &hints, &p->hints);
	}
	p->taken = q->w.on ? q->place.taken : q->at.taken;
	p->gpu = q->place.gpu->name;
	p->asked_bench = q->ask->from_bench;
	p->bench_cases = facts.n;
	fits_default(&base);
	calibrate(d->arena, runs, &q->w, hardware_of(q->place.gpu), hints, p->hints, &base, c);
	p->c = c;
	p->code = any_stored(c) ? EXIT_CLEAN : EXIT_FINDINGS;
	if (p->code == EXIT_CLEAN && !q->ask->dry_run)
		code = calibrate_keep(d, h, &q->ask->state, &q->at, c, &p->stored);
	return code ? code : p->code;
}

static int calibrate_answer(struct door *d, const struct calibrate_ask *ask,
			    struct calibrate_answer *out)
{
	struct calibrating *q = ARENA_NEW(d->arena, struct calibrating);
	HOST_AUTO *h = NULL;
	int code;

	if (ask->forget && !calibrate_reads_nothing(ask))
		return door_refuse(d, EXIT_USAGE, "--forget cannot be combined with other options");
	q->ask = ask;
	q->w = ask->w;
	q->w.on = ask->target.on;
	if ((code = door_infer_options(d, &q->w, ask->machine.capture)) != 0 ||
	    (code = calibrate_machine(d, q)) != 0)
		return code;
	h = d->live(d->ctx); /* the state folder is here, whatever machine it speaks of */
	if (ask->forget)
		code = calibrate_forget(d, h, &ask->state, &q->at);
	if (!code)
		code = calibrate_reads_nothing(ask) ? calibrate_show(d, h, q, out)
						    : calibrate_fit(d, h, q, &out->page);
	return code;
}

VERB_OTHER(calibrate_other, calibrate_ask, calibrate_answer, calibrate_reads_nothing(x), &v->stored,
	   calibration_show_result)

static struct doc *calibrate_page_of(struct arena *a, const struct calibrate_ask *ask,
				     const struct calibrate_answer *v, const struct page_view *view)
{
	return calibrate_reads_nothing(ask) ? page_calibration_stored(a, &v->stored)
					    : page_calibrate(a, &v->page, view->verbose);
}

VERB_ANSWER(calibrate_ask_any, calibrate_answer, calibrate_ask, calibrate_answer)
VERB_PAGE(calibrate_page_any, calibrate_page_of, calibrate_ask, calibrate_answer)

/* clang-format off */
const struct verb calibrate_verb = {
	.name = "calibrate", .group = VERB_MODELS, .summary = "fit predictions to measurements of this machine",
	.about = "Reads outputs of vllm bench, SGLang, llama-bench, llama-server and trtllm-bench, and with "
	  "--from-bench results of gputune bench, and fits the constants of predict. Shows each figure before "
	  "and after, and stores constants that help. Without FILE: shows the stored constants.",
	.exits = "1: no constants were stored, or the stored ones no longer apply", .words = "fitting",
	.examples = EXAMPLES({ "calibrate", "the stored constants" },
		{ "calibrate vllm.json --model llama-3.1-8b --on h200 --dry-run", "an output of vllm bench serve" },
		{ "calibrate --from-bench", "from gputune's own benches" }),
	.ask = ASK_OF(calibrate_ask, NULL, calibrate_ask_rows), .answer = calibrate_ask_any,
	.result = &calibrate_result, .answer_size = sizeof(struct calibrate_answer), .other = calibrate_other,
	.others = calibrate_others, .page = calibrate_page_any,
};
