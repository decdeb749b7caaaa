/* SPDX-License-Identifier: Apache-2.0 */
/* gputune diagnose: what holds a training run back, from its files or while it runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/host/confine.h"
#include "machine/host/host.h"
#include "models/diagnose/attach.h"
#include "models/diagnose/diagnose.h"
#include "models/diagnose/page_diagnose.h"
#include "verbs/hang.h"
#include "models/inference/arch.h"
#include "verbs/model_ask.h"
#include "verbs/model_files.h"

enum { DIAGNOSE_RUNS_MAX = 64, DIAGNOSE_FILES_MAX = 1024 };

struct judged_ask {
	const char *model;
	bool all;
};

static const struct ask_row judged_ask_rows[] = {
	MODEL_ROW(judged_ask, model),
	{ "all", "also show excluded causes", ASK_FLAG(judged_ask, all), .letter = 'a' },
};
static const struct ask_shape judged_ask_shape = ASK_SHAPE(judged_ask, NULL, judged_ask_rows);

struct job_ask {
	struct machine_ask machine;
	struct judged_ask judged;
	bool attach;
	const char *pid;
	double for_s, interval_s;
};

static const struct ask_row job_ask_rows[] = {
	{ "PID", "with --attach: the first process of the job", ASK_TEXT(job_ask, pid),
	  .argument = true },
	{ "attach", "watch a running job: the process tree of PID, or all processes that use GPUs",
	  ASK_FLAG(job_ask, attach) },
	{ "for", "watch the job for this long", ASK_TIME(job_ask, for_s), .min = 0.1, .max = 86400,
	  .fallback = "20s" },
	{ "interval", "interval between samples", ASK_TIME(job_ask, interval_s), .min = 0.1,
	  .max = 3600, .fallback = "500ms" },
	{ ASK_PART(job_ask, judged, judged_ask) },
	{ ASK_PART(job_ask, machine, machine_ask) },
};

struct run_files_ask {
	struct judged_ask judged;
	struct ask_texts files, runs;
};

static int run_check(const char *text, struct err *e)
{
	const char *equals = strchr(text, '=');

	if (equals && equals > text && equals[1])
		return 0;
	return err_set(e, -EINVAL, "expected NAME=FILE,FILE, got \"%s\"", text);
}

static const struct ask_row run_files_ask_rows[] = {
	{ "FILE", "logs, traces and recordings of the run, or folders of them",
	  ASK_TEXTS(run_files_ask, files), .argument = true, .files = true },
	{ "run", "files or folders of one run, separated by commas; repeatable",
	  ASK_TEXTS(run_files_ask, runs), .arg = "NAME=FILES", .check = run_check },
	{ ASK_PART(run_files_ask, judged, judged_ask) },
};

/* What is made along the way, and what is shown of it. */
struct diagnosing {
	struct diagnose_view view; /* first: the answer */
	struct door *d;
	struct run_evidence ev;
	struct diagnose_ask ask;
	struct diagnosis_of_runs found;
	struct model_file model;
	const char **names; /* of the runs */
	struct diagnose_trouble *troubles;
	size_t read; /* files that could be read */
};

/* diagnose --attach: looks at a job that runs, for some seconds. */

static int pid_of(struct door *d, const struct job_ask *ask, int *out)
{
	unsigned long long v = 0;

	*out = 0;
	if (ask->pid && (parse_u64(ask->pid, &v) || v == 0 || v > 0x7fffffff))
		return door_refuse(d, EXIT_USAGE, "--attach takes a process number, got \"%s\"",
				   ask->pid);
	*out = (int)v;
	return 0;
}

static int diagnose_looks(struct door *d, struct attach *s, const struct job_ask *ask)
{
	long long begin = clock_mono_ms(), due = begin;
	int code = door_wait(d, begin);

	while (!code && attach_look(s, clock_mono_s())) {
		if ((double)(clock_mono_ms() - begin) >= 1e3 * ask->for_s)
			return 0;
		due += (long long)(1e3 * ask->interval_s);
		if (due < clock_mono_ms())
			due = clock_mono_ms();
		code = door_wait(d, due);
	}
	return code < 0 ? code : 0;
}

static int diagnose_attach(struct diagnosing *g, const struct job_ask *ask)
{
	struct door *d = g->d;
	HOST_AUTO *h = NULL;
	struct attach s;
	struct err e = { 0 };
	int pid, code = pid_of(d, ask, &pid);

	if (code)
		return code;
	h = door_host(d, &ask->machine);
	if (!h)
		return -EXIT_USAGE;
	g->ask.live = true;
	g->names = arena_array(d->arena, 1, sizeof(*g->names));
	g->names[0] = "running now";
	g->ask.names = g->names;
	g->ask.n_runs = 1;
	if (attach_open(d->arena, h, door_machine(d, h, &(struct door_look){ 0 }), pid, &g->ev, &s,
			&e))
		return door_fail(d, EXIT_BLIND, &e);
	code = diagnose_looks(d, &s, ask);
	attach_close(&s);
	return code;
}

/* Which files belong to which run: arguments, folders, --run NAME=FILE,FILE. */

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *last_part(struct arena *a, const char *path)
{
	char *own = arena_strdup(a, path), *slash;
	size_t n = strlen(own);

	while (n > 1 && own[n - 1] == '/')
		own[--n] = '\0';
	slash = strrchr(own, '/');
	return slash && slash[1] ? slash + 1 : own;
}

static void add_trouble(struct diagnosing *g, const char *path, const struct err *e)
{
	const char *why = *e->hint ? arena_printf(g->d->arena, "%s; %s", e->text, e->hint)
				   : arena_strdup(g->d->arena, e->text);

	ARENA_ADD(g->d->arena, g->troubles, g->view.n_troubles) =
		(struct diagnose_trouble){ path, why };
}

/* A file that was named has to be there; a broken one is said and the others are read. */
static int diagnose_file(struct diagnosing *g, const char *path, size_t run, bool named)
{
	struct err e = { 0 };
	int code;

	if (g->ev.n_files >= DIAGNOSE_FILES_MAX)
		return door_refuse(g->d, EXIT_USAGE, "more than %d files", DIAGNOSE_FILES_MAX);
	code = evidence_add(&g->ev, path, run, &e);
	if (code == -ENOENT || code == -EACCES || code == -EISDIR)
		return door_fail(g->d, EXIT_USAGE, &e);
	if (code == 0)
		g->read++;
	else if (named || code != -ENOTSUP)
		add_trouble(g, path, &e);
	return 0;
}

static int read_folder(struct diagnosing *g, const char *folder, size_t run)
{
	struct arena *a = g->d->arena;
	HOST_AUTO *h = g->d->live(g->d->ctx);
	char **names = NULL, real[HOST_PATH_MAX];
	size_t n = 0;
	int code = 0;

	if (!realpath(folder, real) || host_list(h, real, a, &names, &n))
		code = door_refuse(g->d, EXIT_USAGE, "cannot list %s: %s", folder, strerror(errno));
	for (size_t i = 0; i < n && !code; i++) {
		const char *path = arena_printf(a, "%s/%s", folder, names[i]);
		struct stat st;

		if (names[i][0] != '.' && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size)
			code = diagnose_file(g, path, run, false);
	}
	return code;
}

static int read_path(struct diagnosing *g, const char *path, size_t run)
{
	return is_folder(path) ? read_folder(g, path, run) : diagnose_file(g, path, run, true);
}

static bool is_taken(const struct diagnosing *g, const char *name)
{
	for (size_t i = 0; i < g->ask.n_runs; i++)
		if (strcmp(g->names[i], name) == 0)
			return true;
	return false;
}

static int add_run(struct diagnosing *g, const char *name, size_t *run)
{
	if (is_taken(g, name))
		return door_refuse(g->d, EXIT_USAGE,
				   "two runs are named \"%s\": give all files of a run in one "
				   "option: --run NAME=FILE,FILE",
				   name);
	if (g->ask.n_runs >= DIAGNOSE_RUNS_MAX)
		return door_refuse(g->d, EXIT_USAGE, "more than %d runs", DIAGNOSE_RUNS_MAX);
	g->names = arena_grow(g->d->arena, g->names, g->ask.n_runs, sizeof(*g->names));
	g->names[g->ask.n_runs] = name;
	*run = g->ask.n_runs++;
	g->ask.names = g->names;
	return 0;
}

/* "NAME=FILE,FILE". */
static int named_run(struct diagnosing *g, const char *said)
{
	char *text = arena_strdup(g->d->arena, said), *equals = strchr(text, '='), *save = NULL;
	size_t run = 0;
	int code;

	*equals = '\0';
	code = add_run(g, text, &run);
	for (char *p = strtok_r(equals + 1, ",", &save); p && !code; p = strtok_r(NULL, ",", &save))
		code = read_path(g, p, run);
	return code;
}

/* Several folders are several runs; files, and one folder, are one. */
static int plain_runs(struct diagnosing *g, const struct ask_texts *files)
{
	const char *const *args = files->items;
	size_t n = files->n, run = 0;
	const char *name;
	bool folders = n > 1;
	int code = 0;

	for (size_t i = 0; i < n; i++)
		folders = folders && is_folder(args[i]);
	for (size_t i = 0; i < n && !code; i++) {
		name = folders || n == 1 ? last_part(g->d->arena, args[i]) : "run";
		/* a/logs and b/logs: by their whole paths. */
		if (folders || i == 0)
			code = add_run(g, is_taken(g, name) ? args[i] : name, &run);
		code = code ? code : read_path(g, door_saved(g->d, args[i]), run);
	}
	return code;
}

/* GPUs of each file that tells of steps; 0: none or not known. */
static double *worlds(struct diagnosing *g)
{
	const struct run_evidence *ev = &g->ev;
	double *world = arena_array(g->d->arena, ev->n_files + 1, sizeof(*world));
	bool *steps = arena_array(g->d->arena, ev->n_files + 1, sizeof(*steps));

	for (size_t i = 0; i < ev->n_figures; i++)
		if (ev->figures[i].kind <= FIGURE_SAMPLES_PER_S)
			steps[ev->figures[i].file] = true;
	for (size_t i = 0; i < ev->n_traits; i++) {
		const struct run_attribute *t = &ev->traits[i];

		/* Communicators of parts of the ranks are smaller. */
		if (t->kind == TRAIT_WORLD_SIZE && steps[t->file] && t->value > world[t->file])
			world[t->file] = t->value;
	}
	return world;
}

/* Logs of a run with 8 GPUs and of one with 16 are no single run. */
static int one_world(struct diagnosing *g)
{
	const struct run_evidence *ev = &g->ev;
	const double *world = worlds(g);

	for (size_t i = 0; i < ev->n_files; i++)
		for (size_t k = 0; k < i && world[i] > 0; k++)
			if (world[k] > 0 && ev->files[k].run == ev->files[i].run &&
			    (world[k] > world[i] || world[k] < world[i]))
				return door_refuse(g->d, EXIT_USAGE,
						   "%s has %.0f GPUs and %s has %.0f: these are "
						   "two runs; name them: --run NAME=FILE, as --run "
						   "%.0f=%s --run %.0f=%s",
						   ev->files[k].path, world[k], ev->files[i].path,
						   world[i], world[k], ev->files[k].path, world[i],
						   ev->files[i].path);
	return 0;
}

/* Reads what the arguments and --run name. */
static int diagnose_files(struct diagnosing *g, const struct run_files_ask *ask)
{
	int code = plain_runs(g, &ask->files);

	for (size_t i = 0; i < ask->runs.n && !code; i++)
		code = named_run(g, ask->runs.items[i]);
	if (code)
		return code;
	if (!g->ask.n_runs)
		return door_refuse(g->d, EXIT_USAGE,
				   "diagnose training requires files: logs, traces, recordings");
	if (!g->read) {
		for (size_t i = 0; i < g->view.n_troubles; i++)
			door_warn(g->d, "%s", g->troubles[i].why);
		return door_refuse(g->d, EXIT_BLIND,
				   "no data of a training run found in the files");
	}
	return one_world(g);
}

/* The shape of --model; of a log's own words none is taken: they are names of files as often. */
static int read_model(struct diagnosing *g, const char *name)
{
	struct model_file *file = &g->model;
	const char *taken = NULL;
	struct model_hint none = { 0 };
	struct err e = { 0 };
	int code;

	if (!name)
		return 0;
	g->ask.model = name;
	g->ask.arch = &file->arch;
	code = door_model_file(g->d, name, file);
	if (code < 0)
		return code;
	if (code > 0) {
		g->ask.file = file;
		g->view.model_taken = file->taken;
		return 0;
	}
	if (model_find(g->d->arena, g->ask.known, name, &none, &file->arch, &taken, &e) < 0)
		return door_fail(g->d, EXIT_USAGE, &e);
	g->view.model_taken = taken ? taken : file->arch.name;
	return 0;
}

static int diagnose_begin(struct diagnosing *g, struct door *d, const struct judged_ask *ask,
			  bool captured)
{
	g->d = d;
	g->ev.arena = d->arena;
	g->ask.known = door_knowledge(d, captured);
	g->view.all = ask->all;
	return read_model(g, ask->model);
}

static int diagnose_end(struct diagnosing *g)
{
	diagnose_runs(g->d->arena, &g->ev, &g->ask, &g->found);
	g->view.d = &g->found;
	g->view.ev = &g->ev;
	g->view.troubles = g->troubles;
	return diagnose_code(&g->found);
}

static int job_answer(struct door *d, const struct job_ask *ask, struct diagnosing *g)
{
	int code;

	if (!ask->attach)
		return door_refuse(d, EXIT_USAGE,
				   "name what to diagnose: \"gputune diagnose training %s\", "
				   "serving URL, hang PID, or --attach [PID]",
				   ask->pid ? ask->pid : "FILES...");
	code = diagnose_begin(g, d, &ask->judged, ask->machine.capture);
	code = code ? code : diagnose_attach(g, ask);
	return code ? code : diagnose_end(g);
}

static int training_answer(struct door *d, const struct run_files_ask *ask, struct diagnosing *g)
{
	int code = diagnose_begin(g, d, &ask->judged, false);

	code = code ? code : diagnose_files(g, ask);
	return code ? code : diagnose_end(g);
}

VERB_ANSWER(job_answer_any, job_answer, job_ask, diagnosing)
VERB_ANSWER(training_answer_any, training_answer, run_files_ask, diagnosing)
VERB_PAGE_OF(diagnose_page, page_diagnose, diagnose_view)

/* SQLite, for exports of a profiler. */
static unsigned diagnose_confine(const void *ask)
{
	(void)ask;
	return CONFINE_CODE;
}

static const struct verb diagnose_training_verb = {
	.name = "training",
	.summary = "find what slows down a training run, from its files",
	.about = "Reads trainer logs, torch.profiler traces, nsys exports, NCCL logs, nccl-tests, "
		 "nvidia-smi and recordings, in any combination. Prints tokens/s, MFU, step time "
		 "by part, scaling between runs, and the bottleneck with its evidence and cost.",
	.exits = "0: no bottleneck found; 1: a bottleneck was found; 5: undecided",
	.examples = EXAMPLES(
		{ "diagnose training job.rec train.log", "a recording of the run and its log" },
		{ "diagnose training --run small=w8 --run large=w16 --model llama-3.1-8b",
		  "how the job scales between two runs" }),
	.ask = ASK_OF(run_files_ask, NULL, run_files_ask_rows),
	.answer = training_answer_any,
	.result = &diagnose_result,
	.answer_size = sizeof(struct diagnosing),
	.page = diagnose_page,
	.reads = READS_FILES,
	.confine = diagnose_confine,
};

static const struct verb *const diagnose_subs[] = { &diagnose_training_verb, &diagnose_serving_verb,
						    &diagnose_hang_verb, NULL };

const struct verb diagnose_verb = {
	.name = "diagnose",
	.group = VERB_MODELS,
	.summary = "find what slows down or hangs a training or serving job",
	.about = "--attach watches a running job through NVML and /proc and names its bottleneck. "
		 "Each cause is certain, likely, possible or excluded, with evidence. \"diagnose "
		 "training\" reads the files of a run; \"diagnose hang\" finds why a job is stuck.",
	.exits = "0: no bottleneck found; 1: a bottleneck was found; 5: undecided",
	.words = "bottleneck slow-training straggler profiler",
	.examples = EXAMPLES({ "diagnose training job.rec train.log", "from the files of a run" },
			     { "diagnose --attach", "the job that uses the GPUs now" }),
	.ask = ASK_OF(job_ask, NULL, job_ask_rows),
	.subs = diagnose_subs,
	.answer = job_answer_any,
	.result = &diagnose_result,
	.answer_size = sizeof(struct diagnosing),
	.page = diagnose_page,
};
