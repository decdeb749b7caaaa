/* SPDX-License-Identifier: Apache-2.0 */
/* gputune bench NAME...: measure, and keep. */
#include "verbs/bench/bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "look/settings/findings.h"
#include "measure/bench/bench_json.h"
#include "measure/bench/conditions.h"
#include "measure/bench/gpu_ahead.h"

enum { LOOK_MS = 400, PROGRESS_SAMPLES = 9 };

/* One measurement under way. */
struct measuring {
	struct door *d;
	const struct bench_verb_ask *ask;
	struct host *h;
	struct machine *m;
	struct frame frame;
	struct record *record;
	struct bench_ranks ranks;
	struct watch_list watch;
	atomic_bool stop;
	int left_out; /* exit code for what was asked for by name and has no case here; 0 */
	bool unkept;  /* the state folder takes nothing: the result goes to a file alone */
};

static void bench_progress(void *ctx, const struct record_case *c, size_t done, size_t of)
{
	struct measuring *g = ctx;
	double last[PROGRESS_SAMPLES], value;
	size_t n = c->n < PROGRESS_SAMPLES ? c->n : PROGRESS_SAMPLES;
	const char *unit = c->series[0].unit_text;
	char so_far[160] = "warming up";

	if (n) {
		memcpy(last, c->series[0].x + c->n - n, n * sizeof(*last));
		value = stat_median_in_place(last, n);
		snprintf(so_far, sizeof(so_far), "%zu sample%s, %.4g %s", c->n, PLURAL(c->n), value,
			 unit);
	} else if (c->early.known) {
		snprintf(so_far, sizeof(so_far), "%.4g %s so far, %s", c->early.last, unit,
			 c->early.how);
	}
	door_progress(g->d, frame_left(&g->frame), false, "%s %s: round %zu of %zu, %s", c->bench,
		      c->name, done + 1, of, so_far);
}

/* Every readable setting with its value: what a later compare can say has changed. */
static void note_settings(struct measuring *g)
{
	struct arena *a = g->d->arena;
	struct record *rec = g->record;
	struct profile p;
	struct findings f;
	struct err e = { 0 };

	if (profile_load(a, "default", &p, &e))
		return;
	settings_check(a, g->m, &p, door_read_knob, g->h, &f);
	rec->settings = arena_array(a, f.n, sizeof(*rec->settings));
	for (size_t i = 0; i < f.n; i++) {
		const struct finding *it = &f.items[i];
		const char *meaning;

		if (it->s->health || !it->s->knob || !it->v.current || !*it->v.current)
			continue;
		meaning = strstr(it->v.current, " = ");
		rec->settings[rec->n_settings++] = (struct record_pair){
			*it->target ? arena_printf(a, "%s (%s)", it->s->id, it->target) : it->s->id,
			/* "10 % = 2191 MiB": what is set, without what it comes to at the moment.
			 */
			meaning ? arena_strndup(a, it->v.current, (size_t)(meaning - it->v.current))
				: it->v.current
		};
	}
	rec->settings_digest = record_digest(a, rec->settings, rec->n_settings);
}

/* Fills list for a group: "memory": benches whose names begin with it; "all": every bench. Returns
 * how many. */
static size_t named_together(const char *word, const struct bench **list)
{
	size_t n = 0, len = strlen(word);

	for (size_t i = 0; i < bench_count; i++)
		if (strcmp(word, "all") == 0 ||
		    (str_starts(benches[i]->name, word) && benches[i]->name[len] == '-'))
			list[n++] = benches[i];
	return n;
}

/* A wrong name is found before anything is measured. */
static int check_names(struct door *d, const struct ask_texts *names)
{
	const struct bench **list = arena_array(d->arena, bench_count, sizeof(*list));
	struct err e = { 0 };

	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->items[i];
		size_t n = strcspn(name, "/");
		const char *word = arena_strndup(d->arena, name, n);

		if (!bench_find(word) && (name[n] || !named_together(word, list))) {
			bench_unknown(&e, word);
			return door_fail(d, EXIT_USAGE, &e);
		}
	}
	return 0;
}

/* Or only how long it takes, while the frame plans. */
static int measure_one(struct measuring *g, const char *arg, struct record *rec)
{
	const struct bench **list = arena_array(g->d->arena, bench_count, sizeof(*list));
	const char *slash = strchr(arg, '/');
	char *name = arena_strndup(g->d->arena, arg, slash ? (size_t)(slash - arg) : strlen(arg));
	const struct bench *b = bench_find(name);

	if (!b) {
		frame_run_all(&g->frame, list, named_together(arg, list), rec);
		return 0;
	}
	switch (frame_run(&g->frame, b, slash ? slash + 1 : NULL, rec)) {
	case -ENOENT:
		return door_refuse(g->d, EXIT_USAGE, "%s has no case \"%s\" on this machine", name,
				   slash ? slash + 1 : "");
	case -EINVAL:
		g->left_out = EXIT_USAGE;
		break;
	case -ENODATA:
		g->left_out = g->left_out ? g->left_out : EXIT_BLIND;
		break;
	}
	return 0;
}

/* What was asked for by name and has no case here. Without any other result there is none. */
static int check_left_out(struct measuring *g)
{
	const struct record *r = g->record;

	if (!g->left_out || r->n)
		return 0;
	for (size_t i = 0; i + 1 < r->n_skipped; i++)
		door_refuse(g->d, g->left_out, "%s: %s", r->skipped[i].bench, r->skipped[i].reason);
	return door_refuse(g->d, g->left_out, "%s: %s", r->skipped[r->n_skipped - 1].bench,
			   r->skipped[r->n_skipped - 1].reason);
}

static int bench_measure(struct measuring *g)
{
	struct record_conditions *c = &g->record->conditions;
	struct record_moment first;
	struct record plan = { 0 };
	struct sampler *s;
	int code = 0;

	watch_list_make(g->d->arena, g->h, g->m, &g->watch);
	c->cpus = g->watch.cpus;
	conditions_look(g->h, &g->watch, &first);
	usleep(LOOK_MS * 1000);
	conditions_look(g->h, &g->watch, &c->before);
	c->idle_others = conditions_others(&first, &c->before);
	c->others = -1;
	c->steal_percent = conditions_steal(&first, &c->before);
	if (g->ask->require_idle && record_busy(c))
		return door_refuse(g->d, EXIT_NOT_APPLIED,
				   "the machine is busy: other programs use %.2f CPUs, the "
				   "hypervisor takes %.1f %% of CPU time; nothing was measured",
				   fmax(c->idle_others, 0), fmax(c->steal_percent, 0));
	s = sampler_start(g->h, &g->watch, &g->stop);
	frame_start(&g->frame);
	g->frame.planning = true;
	for (size_t i = 0; i < g->ask->names.n && code == 0; i++)
		code = measure_one(g, g->ask->names.items[i], &plan);
	g->frame.planning = false;
	door_progress(g->d, frame_left(&g->frame), false, "starting");
	for (size_t i = 0; i < g->ask->names.n && code == 0 && !atomic_load(&g->stop); i++)
		code = measure_one(g, g->ask->names.items[i], g->record);
	if (s)
		sampler_end(g->d->arena, s, c);
	g->record->partial = g->record->partial || atomic_load(&g->stop);
	conditions_look(g->h, &g->watch, &c->after);
	/* The other ranks are no others: they are what is measured. */
	c->after.own_s += team_near_cpu_s(g->ranks.team);
	c->others = conditions_others(&c->before, &c->after);
	c->steal_percent = conditions_steal(&c->before, &c->after);
	return code;
}

static const char *id_word(struct arena *a, const struct ask_texts *names)
{
	char *word = arena_strndup(a, names->items[0], strcspn(names->items[0], "/"));

	return names->n > 1 ? arena_printf(a, "%s-and-more", word) : word;
}

/* In the state folder. A result that cannot be kept is still an answer; one without any figure is
 * not kept among those that have some. */
static int bench_keep(struct measuring *g, int code)
{
	const char *state = door_state(g->d, &g->ask->state);
	struct err e = { 0 };
	int failed = 0;
	const char *text;

	/* Two that ran at once have begun with the same id. */
	g->record->id = store_new_id(g->d->arena, g->h, state, g->record->time_s,
				     id_word(g->d->arena, &g->ask->names));
	text = json_take_text(g->d->arena,
			      machine_result_json(&bench_result, g->m, g->record, code),
			      JSON_INDENT(1));
	if (!text)
		return door_refuse(g->d, EXIT_BLIND, "out of memory for the result");
	if (g->ask->state.state)
		g->record->state = shell_word(g->d->arena, g->ask->state.state);
	if (record_empty(g->record) || g->unkept)
		g->record->unkept = true;
	else
		failed = store_put(g->h, state, g->record->id, text, &e);
	if (failed) {
		g->d->say(g->d->ctx, 0, &e);
		record_note(g->d->arena, g->record, "not saved: %s", e.text);
		g->record->unkept = true;
	}
	return failed ? EXIT_BLIND : code;
}

/* What was asked for by name and did not run is as bad as a case that failed. */
static int result_code(const struct measuring *g)
{
	const struct record *r = g->record;

	for (size_t i = 0; i < r->n; i++)
		if (r->cases[i].error)
			return EXIT_FINDINGS;
	if (g->left_out)
		return EXIT_FINDINGS;
	return r->partial ? EXIT_BLIND : EXIT_CLEAN;
}

/* What the first of the benches can begin before there are facts. */
static struct gpu_preinit *begin_preinit(const struct measuring *g)
{
	const char *arg = g->ask->names.items[0], *slash = strchr(arg, '/');
	const struct bench *b = bench_find(
		arena_strndup(g->d->arena, arg, slash ? (size_t)(slash - arg) : strlen(arg)));

	return b && b->ahead ? b->ahead(&g->frame.env.ask, slash ? slash + 1 : NULL) : NULL;
}

/* CUDA gives a process one slice of MIG: that of its environment. */
static int choose_slice(struct measuring *g)
{
	const char *gpus = g->frame.env.ask.gpus;

	if (!gpus || !str_starts(gpus, "MIG-"))
		return 0;
	if (strchr(gpus, ','))
		return door_refuse(g->d, EXIT_USAGE,
				   "--gpus: a run can measure one MIG slice; name only one");
	setenv("CUDA_VISIBLE_DEVICES", gpus, 1);
	return 0;
}

/* Which slices a run on one of them left out. */
static void note_slices(struct measuring *g)
{
	const char *own = getenv("CUDA_VISIBLE_DEVICES");

	if (!g->frame.env.ahead)
		return;
	LIST_FOR_EACH (const struct gpu, gpu, &g->m->gpu.gpus)
		LIST_FOR_EACH (const struct mig_slice, s, &gpu->slices)
			if (seen_ok(&s->uuid.f) && (!own || strcmp(own, s->uuid.v) != 0))
				record_note(g->d->arena, g->record,
					    "not measured: MIG slice %s of GPU %u; use --gpus %s",
					    fact_text(&s->profile, "?"), gpu->index, s->uuid.v);
}

/* What cannot be kept is not measured for minutes first, unless the result goes to a file. */
static int check_folder(struct measuring *g)
{
	struct err e = { 0 };
	int r = door_state_ready(g->d, g->h, &g->ask->state, &e);

	r = r ? r : store_try(g->h, door_state(g->d, &g->ask->state), &e);
	if (r == 0)
		return 0;
	if (!g->d->to_file)
		return door_fail(g->d, EXIT_NOT_APPLIED, &e);
	g->unkept = true;
	g->d->say(g->d->ctx, 0, &e);
	return 0;
}

static int bench_all(struct measuring *g)
{
	struct arena *a = g->d->arena;
	struct record *rec = g->record;
	struct bench_env *env = &g->frame.env;
	int code = check_folder(g);

	if (code)
		return code;
	g->m = door_machine(g->d, g->h, &(struct door_look){ 0 });
	env->a = a;
	env->m = g->m;
	env->h = g->h;
	env->stop = &g->stop;
	g->frame.ctx = g;
	g->frame.progress = g->d->progress ? bench_progress : NULL;
	code = bench_ranks_begin(g->d, g->ask, env, &g->ranks);
	if (code)
		return code;
	rec->version = GPUTUNE_VERSION;
	rec->time_s = fact_or(&g->m->time_s, 0);
	record_fingerprint(a, g->h, g->m, rec);
	note_settings(g);
	note_slices(g);
	rec->id = store_new_id(a, g->h, door_state(g->d, &g->ask->state), rec->time_s,
			       id_word(a, &g->ask->names));
	code = bench_measure(g);
	bench_ranks_end(&g->ranks);
	code = code ? code : check_left_out(g);
	if (code)
		return code;
	record_summarise(rec);
	record_judge(a, rec);
	return bench_keep(g, result_code(g));
}

static int bench_answer(struct door *d, const struct bench_verb_ask *ask, struct bench_answer *out)
{
	struct measuring g = { .d = d,
			       .ask = ask,
			       .record = &out->record,
			       .frame = { .seconds = ask->seconds,
					  .samples = ask->runs,
					  .env = { .ask = ask->on,
						   .cpus = door_cpus(d, ask->cpus) } } };
	int code = check_names(d, &ask->names);

	if (code)
		return code;
	code = choose_slice(&g);
	if (code)
		return code;
	g.h = d->live(d->ctx);
	g.frame.env.ahead = begin_preinit(&g);
	code = bench_all(&g);
	gpu_preinit_end(g.frame.env.ahead);
	host_close(g.h);
	out->m = g.m;
	return code;
}

VERB_ANSWER(bench_answer_any, bench_answer, bench_verb_ask, bench_answer)
VERB_HEAD(bench_head, bench_answer, m)

/* --- what is asked ---------------------------------------------------------------------------- */

static const char *bench_names(size_t i)
{
	return i ? bench_proposal(i - 1) : "all";
}

/* clang-format off */
static const struct ask_row bench_verb_rows[] = {
	{ "NAME", "a bench, one of its cases (NAME/CASE), or all for a short run of each",
	  ASK_TEXTS(bench_verb_ask, names), .argument = true, .required = true, .proposal = bench_names,
	  .listed = "benches" },
	{ "for", "time for each case: 10s, 500ms, 2m", ASK_TIME(bench_verb_ask, seconds) },
	{ "runs", "samples per case; --for then has no effect",
	  ASK_COUNT(bench_verb_ask, runs, 1, RECORD_SAMPLES_MAX) },
	{ "cpus", "run only on these CPUs: 0-3,8", ASK_TEXT(bench_verb_ask, cpus), .arg = "LIST", .check = cpus_check },
	{ "require-idle", "refuse to measure on a busy machine", ASK_FLAG(bench_verb_ask, require_idle) },
	{ ASK_PART(bench_verb_ask, on, bench_ask) }, { ASK_PART_OF(bench_verb_ask, on, bench_peer_shape) },
	{ "rank", "collectives: rank of this process, below --ranks; rank 0 leads and prints",
	  ASK_COUNT(bench_verb_ask, rank, 0, RANKS_MAX - 1) },
	{ "ranks", "collectives: number of processes, which connect to --peer; 1: only this one, ignoring a "
	  "launcher's environment", ASK_COUNT(bench_verb_ask, ranks, 1, RANKS_MAX) },
	{ "local-processes", "collectives: start one process per GPU of this machine",
	  ASK_FLAG(bench_verb_ask, local_processes) },
	{ ASK_PART(bench_verb_ask, state, state_ask) },
};
/* clang-format on */

static const struct verb *const bench_subs[] = { &bench_list_verb, &bench_show_verb,
						 &bench_serve_verb, NULL };

/* clang-format off */
const struct verb bench_verb = {
	.name = "bench", .group = VERB_MEASURE, .common = true,
	.summary = "measure memory, GPUs, disks and network",
	.about = "Measures NAME in rounds until the median is known to 1 %, checks the result, and saves it. "
	  "NAME/CASE is one case, \"memory\" a short run of its benches, \"all\" of every bench. Ctrl-C keeps "
	  "the results so far. \"bench serve\" is the other end of network benches.",
	.exits = "1: a case failed, its result was wrong, or a named bench did not run; 3: the machine is busy "
	  "and --require-idle was given",
	.words = "benchmark measure speed perf performance stress burn stream fio iperf iperf3 nccl-tests "
	  "bandwidth speedtest",
	.examples = EXAMPLES({ "bench memory", "a short run of the memory benches" },
	  { "bench memory-bandwidth memory-latency", "two benches in full" },
	  { "bench disk --dir /data --for 5s", "a disk; requires a folder to write to" },
	  { "bench gemm/bf16:8192 --json before.json", "one case, saved for compare" },
	  { "bench all", "a short run of each" }),
	.ask = ASK_OF(bench_verb_ask, "Measurement", bench_verb_rows), .subs = bench_subs,
	.answer = bench_answer_any, .result = &bench_result, .answer_size = sizeof(struct bench_answer),
	.page = bench_page, .head = bench_head, .ranks = bench_by_ranks, .keeps_json = true, .own_process = true,
};
/* clang-format on */
