/* SPDX-License-Identifier: Apache-2.0 */
/* gputune tune --for COMMAND: this machine for this job, with proof. */
#include "verbs/tune/tune.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "machine/write/write.h"

enum { BUDGET_S = 7200, SETTLE_S = 1 };

static const char *const betters[] = { "higher", "lower" };

static const struct ask_row tune_ask_rows[] = {
	{ "for", "the job's command line; runs without a shell and without input",
	  ASK_TEXT(tune_ask, command), .arg = "COMMAND" },
	{ "metric",
	  "wall (default), json:.PATH, or a regular expression with one group for its output",
	  ASK_TEXT(tune_ask, metric), .arg = "WHAT" },
	{ "better", "whether a higher or a lower output of the job is better (default: higher)",
	  ASK_CHOICE(tune_ask, better, betters), .arg = "WAY" },
	{ "time-limit", "time limit of the whole run (default: 2h)",
	  ASK_TIME(tune_ask, pairs.budget_s) },
	{ "min-effect", "smallest effect that counts as a difference",
	  ASK_SHARE(tune_ask, pairs.min_effect, 0.0001, 1), .fallback = "1%" },
	{ "timeout", "time limit of one run of the job", ASK_TIME(tune_ask, pairs.limit_s),
	  .fallback = "10m" },
	{ "settle", "wait this long after each switch (default: as each setting requires)",
	  ASK_TIME(tune_ask, settle_s) },
	{ "seed", "repeat the order of an earlier run (default: random)",
	  ASK_TEXT(tune_ask, pairs.seed), .arg = "N" },
	{ "beside", "profiles to compare as a whole: built-in ones or INI files, comma-separated",
	  ASK_TEXT(tune_ask, beside), .arg = "LIST", .files = true },
	{ "resume", "continue the run that was interrupted", ASK_FLAG(tune_ask, resume) },
	{ "contribute", "also write the results to this file, without names, paths and commands",
	  ASK_TEXT(tune_ask, contribute), .arg = "FILE", .files = true },
	{ ASK_PART(tune_ask, narrow, narrow_ask) },
	{ ASK_PART(tune_ask, allow, allow_ask) },
	{ ASK_PART(tune_ask, machine, machine_ask) },
	{ ASK_PART(tune_ask, change, change_ask) },
	{ ASK_PART(tune_ask, state, state_ask) },
	{ ASK_PART(tune_ask, ranks, ranks_ask) },
};
static const struct ask_shape tune_ask_shape = ASK_SHAPE(tune_ask, "Measurement", tune_ask_rows);

/* --- a run that can go on --------------------------------------------------------------------- */

/* The first line of its file. */
struct tune_head {
	struct tune_ask ask;
	const char *candidates, *users;
	double seconds, before, spread;
	struct job_seen seen;
	struct real_list {
		double *items;
		size_t n;
	} runs;
};

/* clang-format off */
static const struct shape seen_shape = SHAPE_OF(job_seen, seen,
	{ "wall_s", NULL, SHAPE_REAL(job_seen, wall_s) },
	{ "cpus", NULL, SHAPE_REAL(job_seen, cpus) },
	{ "wakes", NULL, SHAPE_REAL(job_seen, wakes) },
	{ "faults", NULL, SHAPE_REAL(job_seen, faults) },
	{ "disk", NULL, SHAPE_REAL(job_seen, disk) },
	{ "net", NULL, SHAPE_REAL(job_seen, net) },
	{ "rdma", NULL, SHAPE_REAL(job_seen, rdma) },
	{ "copies", NULL, SHAPE_REAL(job_seen, copies) },
	{ "gpu", NULL, SHAPE_REAL(job_seen, gpu) },
	{ "memory", NULL, SHAPE_REAL(job_seen, memory) },
	{ "pinned", NULL, SHAPE_REAL(job_seen, pinned) },
	{ "uses", NULL, SHAPE_COUNT(job_seen, uses) },
	{ "libraries", NULL, SHAPE_COUNT(job_seen, libraries) });
static const struct shape head_shape = SHAPE_OF(tune_head, head,
	{ "command", NULL, SHAPE_TEXT(tune_head, ask.command) },
	{ "metric", NULL, SHAPE_TEXT(tune_head, ask.metric), .unknown = SHAPE_NULL },
	{ "only", NULL, SHAPE_TEXT(tune_head, ask.narrow.only), .unknown = SHAPE_NULL },
	{ "skip", NULL, SHAPE_TEXT(tune_head, ask.narrow.skip), .unknown = SHAPE_NULL },
	{ "allow", NULL, SHAPE_TEXT(tune_head, ask.allow.allow), .unknown = SHAPE_NULL },
	{ "beside", NULL, SHAPE_TEXT(tune_head, ask.beside), .unknown = SHAPE_NULL },
	{ "seed", NULL, SHAPE_TEXT(tune_head, ask.pairs.seed) },
	{ "candidates", NULL, SHAPE_TEXT(tune_head, candidates) },
	{ "users", NULL, SHAPE_TEXT(tune_head, users), .unknown = SHAPE_NULL, .later = true },
	{ "better", NULL, SHAPE_COUNT(tune_head, ask.better) },
	{ "min_effect", NULL, SHAPE_REAL(tune_head, ask.pairs.min_effect) },
	{ "budget_s", NULL, SHAPE_REAL(tune_head, ask.pairs.budget_s) },
	{ "limit_s", NULL, SHAPE_REAL(tune_head, ask.pairs.limit_s) },
	{ "settle_s", NULL, SHAPE_REAL(tune_head, ask.settle_s) },
	{ "seconds", NULL, SHAPE_REAL(tune_head, seconds) },
	{ "before", NULL, SHAPE_REAL(tune_head, before) },
	{ "spread", NULL, SHAPE_REAL(tune_head, spread) },
	{ "runs", NULL, SHAPE_REAL_LIST(tune_head, runs.items, runs.n) },
	{ "seen", NULL, SHAPE_OBJECT_AS(tune_head, seen, job_seen, seen_shape) });
static const struct result_shape head_result = {
	.name = "tune-run", .title = "A run of gputune tune", .meaning = "A run of tune.",
	.shape = &head_shape, .no_time = true, .no_version = true,
};
/* clang-format on */

struct tune_run {
	struct tuning *t;
	struct tune_ask ask; /* of a run that goes on: what it was asked */
	const char *file, *head;
	struct tune_head was;
	struct engine_clock clock;
};

static const char *candidates_digest(struct tuning *t)
{
	const struct plan *p = &t->g.planned.plan;
	struct record_pair *pairs = arena_array(t->g.d->arena, p->n, sizeof(*pairs));
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!p->changes[i].gate)
			pairs[n++] = (struct record_pair){ arena_printf(t->g.d->arena, "%s@%s",
									p->changes[i].s->id,
									p->changes[i].target),
							   p->changes[i].after };
	return record_digest(t->g.d->arena, pairs, n);
}

static int tune_begin(struct tune_run *r)
{
	struct tuning *t = r->t;
	const struct tune_ask *ask = t->ask;
	const struct proof *p = &t->g.proof;
	struct tune_head head = { .ask = *ask,
				  .candidates = candidates_digest(t),
				  .users = alone_names(t->g.engine.alone),
				  .seconds = t->seconds,
				  .before = t->before,
				  .spread = t->spread,
				  .seen = t->seen,
				  .runs = { t->runs, t->n_runs } };
	const char *text;
	struct err e = { 0 };
	int code;

	head.ask.pairs.seed = arena_printf(t->g.d->arena, "%llu", (unsigned long long)p->seed);
	head.ask.pairs.budget_s = p->budget_s;
	text = json_take_text(t->g.d->arena, result_shape_json(&head_result, &head, 0, 0),
			      JSON_COMPACT);
	if (!text)
		abort();
	code = door_state_ready(t->g.d, t->g.h, &ask->state, &e);
	if (code == 0)
		(void)host_own_dir(t->g.h, door_state(t->g.d, &ask->state));
	code = code ? code : tape_begin(t->tape, text, &e);
	if (code) {
		t->g.d->say(t->g.d->ctx, 0, &e);
		door_warn(t->g.d, "an interrupted run could not be resumed");
		return code;
	}
	return 0;
}

/* Kept already: the run was cut off behind that. */
static int was_applied(struct tune_run *r, const char *tag)
{
	struct journal j;
	struct door *d = r->t->g.d;
	int code = door_journal(d, r->t->g.h, false, &j);

	for (size_t i = 0; code == 0 && i < j.n; i++)
		if (j.items[i].state == TRANSACTION_APPLIED && j.items[i].reason &&
		    strcmp(j.items[i].reason, tag) == 0) {
			(void)host_remove(r->t->g.h, r->file);
			return door_refuse(d, EXIT_NOT_APPLIED,
					   "the run has already ended: its changes are transaction "
					   "%lu; \"gputune undo %lu\" undoes them",
					   j.items[i].txn, j.items[i].txn);
		}
	return code;
}

static const char *run_tag(struct arena *a, const struct tune_ask *ask, const char *seed)
{
	return arena_printf(a, "%s%stune %s", ask->change.reason ? ask->change.reason : "",
			    ask->change.reason ? "; " : "", seed);
}

/* What the interrupted run was asked, and what it had seen of the job. */
static int tune_resume(struct tune_run *r)
{
	struct tuning *t = r->t;
	struct door *d = t->g.d;
	struct tune_head *h = &r->was;
	struct err e = { 0 };

	if (!r->head)
		return door_refuse(d, EXIT_NOT_APPLIED, "%s: no interrupted run", r->file);
	if (result_shape_read(d->arena, &head_result, r->head, strlen(r->head), h, &e) ||
	    h->runs.n > TUNE_RUNS_MAX || !(h->seconds > 0) || !(h->before > 0))
		return door_refuse(d, EXIT_USAGE, "%s: not a saved run of tune; start a new run",
				   r->file);
	if (t->ask->command && strcmp(t->ask->command, h->ask.command) != 0)
		return door_refuse(d, EXIT_USAGE, "the interrupted run is for \"%s\"",
				   h->ask.command);
	r->ask = h->ask;
	r->ask.resume = true;
	r->ask.contribute = t->ask->contribute;
	r->ask.machine = t->ask->machine;
	r->ask.change = t->ask->change;
	r->ask.state = t->ask->state;
	r->ask.ranks = t->ask->ranks;
	t->ask = &r->ask;
	t->seen = h->seen;
	t->seconds = h->seconds;
	t->before = h->before;
	t->spread = h->spread;
	t->n_runs = h->runs.n;
	memcpy(t->runs, h->runs.items, h->runs.n * sizeof(t->runs[0]));
	return was_applied(r, run_tag(d->arena, &r->ask, h->ask.pairs.seed));
}

static int tune_open(struct tune_run *r)
{
	struct tuning *t = r->t;
	struct err e = { 0 };

	r->file = arena_printf(t->g.d->arena, "%s/tune.jsonl", door_state(t->g.d, &t->ask->state));
	if (t->dry)
		return 0;
	if (tape_open(t->g.d->arena, t->g.h, r->file, &t->tape, &r->head, &e))
		return door_fail(t->g.d, EXIT_BLIND, &e);
	if (t->ask->resume)
		return tune_resume(r);
	if (r->head)
		door_warn(t->g.d, "an earlier run was interrupted; --resume continues it");
	return 0;
}

/* --- the course ------------------------------------------------------------------------------- */

static void tune_prove_ask(struct tuning *t)
{
	const struct tune_ask *ask = t->ask;

	t->prove = (struct prove_ask){ .all = true,
				       .keep = true,
				       .command = ask->command,
				       .metric = ask->metric,
				       .better = ask->better,
				       .settle_s = ask->settle_s,
				       .pairs = ask->pairs,
				       .change = ask->change,
				       .state = ask->state };
	/* Who is not root has a ledger of their own. */
	if (geteuid() != 0 && !ask->machine.capture)
		t->prove.state.state = door_state(t->g.d, &ask->state);
	t->g.ask = &t->prove;
}

static int tune_times(struct tuning *t)
{
	struct proof *p = &t->g.proof;
	double one_s, all_s;

	prove_note_changes(&t->g);
	p->min_effect_asked = t->ask->pairs.min_effect;
	p->settle_s = t->ask->settle_s > 0 ? t->ask->settle_s : SETTLE_S;
	prove_times(&t->g.planned.plan, t->ask->settle_s <= 0, p);
	p->budget_s = t->ask->pairs.budget_s > 0 ? t->ask->pairs.budget_s : BUDGET_S;
	if (!p->n_changes)
		return 0;
	if (!tune_fit(t, &one_s, &all_s))
		return door_refuse(t->g.d, EXIT_USAGE,
				   "the time limit is too short: one run takes %.3g s; "
				   "--time-limit %.0fs tries one candidate, %.0fs all",
				   t->seconds, ceil(one_s), ceil(all_s));
	/* Without those that do not fit. */
	p->n_changes = 0;
	prove_note_changes(&t->g);
	p->what = "tune";
	p->many = true;
	return 0;
}

static int tune_prepare(struct tune_run *r)
{
	struct tuning *t = r->t;
	int code = door_check_overlay(t->g.d, &t->ask->machine, t->dry);

	code = code ? code : door_recover_first(t->g.d, t->g.h, &t->g.who, t->dry);
	code = code ? code : tune_open(r);
	if (!code && !t->ask->command)
		code = door_refuse(t->g.d, EXIT_USAGE, "tune requires --for 'COMMAND'");
	if (!code && !t->dry && !t->g.d->agreed && !t->g.d->attended)
		code = door_refuse(t->g.d, EXIT_USAGE,
				   "cannot prompt here: give --yes, or --dry-run to preview");
	if (code)
		return code;
	tune_prove_ask(t);
	t->g.proof.seed = pairs_seed(&t->ask->pairs);
	t->g.engine.clock = &engine_real;
	code = tune_together(t);
	code = code ? code : prove_command_window(&t->g);
	/* As rank 0 has it. */
	if (t->together && t->ask->metric && strcmp(t->ask->metric, "wall") != 0) {
		t->g.proof.window.figures[0].better =
			t->ask->better == 1 ? BENCH_LOWER : BENCH_HIGHER;
		t->g.proof.window.figures[0].key = "metric";
	}
	t->g.who.reason =
		run_tag(t->g.d->arena, t->ask,
			arena_printf(t->g.d->arena, "%llu", (unsigned long long)t->g.proof.seed));
	code = code ? code : tune_look(t);
	if (!code)
		prove_alone(&t->g, r->was.users);
	if (!code && !r->was.ask.command)
		code = tune_baseline(t);
	if (code)
		return code;
	t->uses = job_seen_rows(t->g.d->arena, &t->seen);
	tune_candidates(t);
	code = tune_times(t);
	code = code ? code : tune_alike(t, candidates_digest(t));
	if (!code && r->was.candidates && strcmp(r->was.candidates, candidates_digest(t)) != 0)
		code = door_refuse(t->g.d, EXIT_NOT_APPLIED,
				   "this machine has changed since the run began, so other "
				   "settings apply: start a new run");
	return code;
}

static const char *job_kind(struct tuning *t)
{
	struct arena *a = t->g.d->arena;
	const char *out = job_uses_text(a, t->seen.uses), *last = NULL;

	for (size_t i = 0; i < n_job_vars && i < 64; i++) {
		const char *lib = job_vars[i].library;

		if (!lib || !(t->seen.libraries & 1ULL << i) || (last && strcmp(last, lib) == 0))
			continue;
		if (!strstr(out, lib))
			out = arena_printf(a, "%s; %s", out, lib);
		last = lib;
	}
	return out;
}

static int tune_measure(struct tune_run *r)
{
	struct tuning *t = r->t;
	struct proof *p = &t->g.proof;
	const char *file = t->ask->contribute;
	int code;

	if (file && !(t->g.contribute = fopen(file, "wxe")))
		return door_refuse(t->g.d, EXIT_USAGE, "%s: %s", file, strerror(errno));
	if (t->ask->resume || tune_begin(r) == 0) {
		tape_clock(t->tape, t->g.engine.clock, &r->clock);
		t->g.engine.clock = &r->clock;
		t->g.engine.tape = t->tape;
	}
	/* The baseline was the warm-up. */
	p->warm = true;
	t->g.engine.pair_s = 2 * (t->seconds + p->settle_s);
	t->g.job = job_kind(t);
	code = prove_run(&t->g);
	t->measured = code >= 0;
	if (t->g.contribute && fclose(t->g.contribute))
		door_warn(t->g.d, "%s: %s", file, strerror(errno));
	if (t->g.engine.tape && p->stopped)
		door_warn(t->g.d, "interrupted: gputune tune --resume continues");
	else if (t->g.engine.tape && code >= 0 && !p->trouble)
		(void)host_remove(t->g.h, r->file);
	if (p->verdict == RULING_HELPS)
		t->after = p->window.figures[p->window.main].better == BENCH_HIGHER
				   ? t->before * p->compared.ruling.ratio
				   : t->before / p->compared.ruling.ratio;
	return code;
}

static int tune(struct tune_run *r)
{
	struct tuning *t = r->t;
	int code = tune_prepare(r);

	if (code)
		return code;
	if (!t->g.proof.n_changes) {
		tune_items(t);
		door_warn(t->g.d, "nothing to try: no setting or variable matters for this job");
		return EXIT_CLEAN;
	}
	if (t->dry) {
		tune_items(t);
		door_warn(t->g.d, "dry run: nothing was written; the job ran %zu times", t->n_runs);
		return EXIT_CLEAN;
	}
	code = door_agreed(
		t->g.d, t->g.d->agreed ? NULL : page_tune_plan(t->g.d->arena, t),
		arena_printf(t->g.d->arena,
			     "Measure for about %.0f min, and switch these settings on and off?",
			     ceil(t->plan_s / 60)));
	code = code ? code : tune_measure(r);
	if (code >= 0)
		tune_items(t);
	return code;
}

static int tune_answer(struct door *d, const struct tune_ask *ask, struct tuning *t)
{
	struct tune_run r = { .t = t };
	int code;

	t->ask = ask;
	t->dry = ask->change.dry_run;
	t->after = NAN;
	t->g.d = d;
	t->g.who = txn_who_here(d->arena, ask->change.reason);
	t->g.h = door_change_host(d, &ask->machine, t->dry);
	if (!t->g.h)
		return -EXIT_USAGE;
	code = tune_apart(t, tune(&r));
	window_close(&t->g.proof.window);
	host_close(t->g.users);
	host_close(t->g.h);
	return code;
}

VERB_HEAD(tune_answer_head, tuning, g.planned.m)

static struct doc *tune_page(struct arena *a, const struct tune_ask *ask, const struct tuning *t,
			     const struct page_view *view)
{
	(void)ask;
	return t->dry ? page_tune_plan(a, t) : page_tune(a, t, view->html);
}

VERB_ANSWER(tune_answer_any, tune_answer, tune_ask, tuning)
VERB_PAGE(tune_page_any, tune_page, tune_ask, tuning)

const struct verb tune_verb = {
	.name = "tune",
	.group = VERB_MEASURE,
	.common = true,
	.summary = "make one job faster: try settings, keep those proven to help, undo the others",
	.about = "Finds which resources the job uses, and tries every safe setting and variable "
		 "that affects them. Keeps what is proven to help and undoes the rest. Broken "
		 "hardware is named first. An interrupted run continues with --resume.",
	.exits = "0: decided; 3: it cannot start; 5: undecided, or the job cannot be measured",
	.words = "autotune optimize optimise speedup faster tuning",
	.examples = EXAMPLES(
		{ "tune --for 'python3 train.py --steps 50' --dry-run",
		  "what would be tried, for how long, and the risks" },
		{ "sudo tune --for './serve-bench' --metric json:.throughput --time-limit 1h",
		  "by a figure that the job prints, for an hour" },
		{ "sudo tune --resume", "continue after Ctrl-C, a kill or a reboot" }),
	.ask = &tune_ask_shape,
	.answer = tune_answer_any,
	.result = &tune_result,
	.answer_size = sizeof(struct tuning),
	.page = tune_page_any,
	.head = tune_answer_head,
	.changes = true,
	.keeps_json = true,
	.own_process = true,
};
