/* SPDX-License-Identifier: Apache-2.0 */
/* gputune calibrate: constants of predictions from what was measured on this machine. */
#include <math.h>
#include <string.h>

#include "verbs/calibrations.h"
#include "measure/bench/bench.h"
#include "front/session.h"
#include "front/model_ask.h"
#include "models/inference/predict.h"
#include "base/text.h"

/* One call: what was told, of which machine. */
struct asked {
	struct infer_options w;
	struct model_file file;
	struct target_hw place;
	struct calibrate_place at;
	const char *digest; /* of this machine; NULL: --on names another */
};

/* The machine that is calibrated; its digest is that of bench results. */
static int verb_calibrate_find_machine(struct run *r, struct host *h, struct asked *q)
{
	struct record rec = { 0 };
	struct err e = { 0 };
	struct machine *m;

	if (q->w.on) {
		if (place_parse(&r->arena, run_knowledge(r), q->w.on, &q->place, &e) < 0)
			return complain(EXIT_USAGE, &e);
		calibrate_place_of(&r->arena, NULL, NULL, &q->place, &q->at);
		return 0;
	}
	m = run_machine(r, h, false);
	if (!m)
		return EXIT_BLIND;
	if (place_of(&r->arena, run_knowledge(r), m, &q->place, &e) < 0)
		return complain(EXIT_BLIND, &e);
	q->w.place = &q->place;
	calibrate_place_of(&r->arena, h, m, NULL, &q->at);
	record_fingerprint(&r->arena, h, m, &rec);
	q->digest = rec.machine;
	return 0;
}

static int verb_calibrate_asked_words(struct run *r, struct asked *q)
{
	int code = predict_words(r, &q->w);

	if (code || !q->w.model)
		return code;
	code = predict_model_file(r, q->w.model, &q->file);
	if (code < 0)
		return -code;
	if (code > 0) {
		q->w.file = &q->file;
		q->w.weight_bytes = q->file.bytes;
	}
	return 0;
}

static int verb_calibrate_read_log(struct run *r, const char *path, struct log_runs *runs)
{
	struct err e = { 0 };
	size_t len;
	char *text = predict_file(r, path, LOG_BYTES_MAX, &len, NULL);

	if (!text)
		return EXIT_USAGE;
	if (memchr(text, '\0', len))
		return complain_text(EXIT_USAGE, "%s: no text: it holds NUL bytes", path);
	return logs_read(&r->arena, path, text, runs, &e) < 0 ? complain(EXIT_USAGE, &e) : 0;
}

/* --log, given once or often, and what follows it. */
static int read_logs(struct run *r, struct log_runs *runs)
{
	const char *list = r->value[OPT_LOG];
	int code = 0;

	while (!code && list && *list) {
		size_t n = strcspn(list, "\n");

		code = verb_calibrate_read_log(r, arena_strndup(&r->arena, list, n), runs);
		list += n + (list[n] == '\n');
	}
	for (int i = 0; !code && i < r->n_args; i++)
		code = verb_calibrate_read_log(r, r->args[i], runs);
	return code;
}

/* Nothing to read: what is kept. */
static int verb_calibrate_show(struct run *r, struct host *h, const struct asked *q)
{
	const struct state_ask state = { r->value[OPT_STATE] };
	struct calibration_file file;
	struct calibration_stored kept = {
		.taken = q->at.taken,
		.file = calibrate_stored(&r->door, h, &state, &q->at, &file) ? &file : NULL
	};
	int code = kept.file && file.why_not ? EXIT_FINDINGS : EXIT_CLEAN;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &calibration_show_result, &kept, code);
	return run_print_doc(r, page_calibration_stored(&r->arena, &kept), "gputune calibrate",
			     EXIT_CLEAN)
		       ? EXIT_USAGE
		       : code;
}

static bool any_stored(const struct calibration *c)
{
	for (size_t i = 0; i < c->n_groups; i++)
		if (c->groups[i].kept || c->groups[i].hinted)
			return true;
	return false;
}

static int print_answer(struct run *r, const struct calibrate_page *p)
{
	if (r->value[OPT_QUIET])
		return p->code;
	if (run_wants_json(r))
		return run_print_result(r, &calibrate_result, p, p->code);
	return run_print_doc(r, page_calibrate(&r->arena, p), "gputune calibrate", p->code);
}

static int verb_calibrate_fit(struct run *r, struct host *h, struct asked *q)
{
	const struct state_ask state = { r->value[OPT_STATE] };
	struct calibrate_page p = { .taken = q->w.on ? q->place.taken : q->at.taken,
				    .gpu = q->place.gpu->name,
				    .verbose = r->value[OPT_VERBOSE] != NULL };
	struct calibrate_hint *hints = NULL;
	struct bench_facts facts = { 0 };
	struct log_runs runs = { 0 };
	struct calibration c;
	struct fits base;
	size_t n = 0;
	int code = read_logs(r, &runs);

	if (code)
		return code;
	if (r->value[OPT_FROM_BENCH]) {
		bench_facts_of(&r->door, h, bench_state(r), q->digest, q->place.gpu->name, &facts);
		calibrate_hints(&r->arena, &facts, &q->place, &hints, &n);
		p.asked_bench = true;
	}
	p.hints = n;
	p.bench_cases = facts.n;
	fits_default(&base);
	calibrate(&r->arena, &runs, &q->w, hardware_of(q->place.gpu), hints, n, &base, &c);
	p.code = any_stored(&c) ? EXIT_CLEAN : EXIT_FINDINGS;
	if (p.code == EXIT_CLEAN && !r->value[OPT_DRY_RUN]) {
		code = -calibrate_keep(&r->door, h, &state, &q->at, &c, &p.stored);
		if (code)
			return code;
	}
	p.c = &c;
	return print_answer(r, &p);
}

static int with_machine(struct run *r, struct host *live, struct asked *q)
{
	const struct state_ask state = { r->value[OPT_STATE] };
	bool nothing = !r->value[OPT_LOG] && !r->n_args && !r->value[OPT_FROM_BENCH];

	if (r->value[OPT_FORGET])
		return nothing ? -calibrate_forget(&r->door, live, &state, &q->at)
			       : complain_text(EXIT_USAGE, "--forget stands alone");
	return nothing ? verb_calibrate_show(r, live, q) : verb_calibrate_fit(r, live, q);
}

int verb_calibrate(struct run *r)
{
	struct asked *q = ARENA_NEW(&r->arena, struct asked);
	struct host *h, *live;
	int code = verb_calibrate_asked_words(r, q);

	if (code)
		return code;
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	code = verb_calibrate_find_machine(r, h, q);
	host_close(h);
	if (code)
		return code;
	live = host_open_live(); /* the state folder is here, whatever machine it speaks of */
	code = with_machine(r, live, q);
	host_close(live);
	return code;
}
