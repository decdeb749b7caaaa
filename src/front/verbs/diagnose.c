/* SPDX-License-Identifier: Apache-2.0 */
/* gputune diagnose: what holds a training run back, from its files or while it runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "front/session.h"
#include "front/model_ask.h"
#include "models/inference/arch.h"
#include "base/clock.h"
#include "base/text.h"
#include "front/terminal.h"
#include "models/diagnose/attach.h"
#include "machine/host/host.h"
#include "models/diagnose/diagnose.h"
#include "models/diagnose/page_diagnose.h"

enum { DIAGNOSE_RUNS_MAX = 64, DIAGNOSE_FILES_MAX = 1024 };

struct diagnosing {
	struct run *r;
	struct run_evidence ev;
	struct diagnose_ask ask;
	struct diagnosis_of_runs found;
	struct diagnose_view view;
	const char **names; /* of the runs */
	struct diagnose_trouble *troubles;
	size_t read; /* files that could be read */
};

/* diagnose --attach: looks at a job that runs, for some seconds. */

enum { STANDARD_MS = 500, STANDARD_FOR_MS = 20000 };

static int pid_of(struct run *r, int *out)
{
	unsigned long long v = 0;

	*out = 0;
	if (r->n_args > 1)
		return complain_text(EXIT_USAGE, "--attach takes one process");
	if (r->n_args && (parse_u64(r->args[0], &v) || v == 0 || v > 0x7fffffff))
		return complain_text(EXIT_USAGE,
				     "--attach takes the number of a process, not \"%s\"",
				     r->args[0]);
	*out = (int)v;
	return 0;
}

static void verb_diagnose_looks(struct attach *s, struct waiter *w, int interval_ms,
				long long for_ms)
{
	long long begin = clock_mono_ms(), due = begin;

	while (attach_look(s, clock_mono_s())) {
		if (clock_mono_ms() - begin >= for_ms)
			return;
		due += interval_ms;
		if (due < clock_mono_ms())
			due = clock_mono_ms();
		for (enum wake k; (k = waiter_until(w, due)) != WAKE_TIME;)
			if (k == WAKE_STOP)
				return;
	}
}

/* Looks at a job. An exit code after complaining. */
static int diagnose_attach(struct diagnosing *g)
{
	static const char *const name = "what runs now";
	struct run *r = g->r;
	struct host *h;
	struct attach s;
	struct waiter w;
	struct err e = { 0 };
	long long for_ms;
	int code, pid, interval_ms;

	if ((code = pid_of(r, &pid)) != 0)
		return code;
	if (!monitor_interval(r, STANDARD_MS, &interval_ms) || !monitor_for(r, &for_ms))
		return EXIT_USAGE;
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	g->ask.live = true;
	g->names = arena_array(&r->arena, 1, sizeof(*g->names));
	g->names[0] = name;
	g->ask.names = g->names;
	g->ask.n_runs = 1;
	code = attach_open(&r->arena, h, run_machine(r, h, false), pid, &g->ev, &s, &e);
	if (code) {
		host_close(h);
		return complain(EXIT_BLIND, &e);
	}
	if (!waiter_open(&w, false)) {
		host_close(h);
		return complain_text(EXIT_BLIND, "no descriptor for signals is to be had");
	}
	verb_diagnose_looks(&s, &w, interval_ms, for_ms ? for_ms : STANDARD_FOR_MS);
	waiter_close(&w);
	attach_close(&s);
	host_close(h);
	return 0;
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

static void verb_diagnose_trouble(struct diagnosing *g, const char *path, const struct err *e)
{
	const char *why = *e->hint ? arena_printf(&g->r->arena, "%s; %s", e->text, e->hint)
				   : arena_strdup(&g->r->arena, e->text);

	g->troubles =
		arena_grow(&g->r->arena, g->troubles, g->view.n_troubles, sizeof(*g->troubles));
	g->troubles[g->view.n_troubles++] = (struct diagnose_trouble){ path, why };
}

/* A file that was named has to be there; a broken one is said and the others are read. */
static int verb_diagnose_read_file(struct diagnosing *g, const char *path, size_t run, bool named)
{
	struct err e = { 0 };
	int code;

	if (g->ev.n_files >= DIAGNOSE_FILES_MAX)
		return complain_text(EXIT_USAGE, "more than %d files", DIAGNOSE_FILES_MAX);
	code = evidence_add(&g->ev, path, run, &e);
	if (code == -ENOENT || code == -EACCES || code == -EISDIR)
		return complain(EXIT_USAGE, &e);
	if (code == 0)
		g->read++;
	else if (named || code != -ENOTSUP)
		verb_diagnose_trouble(g, path, &e);
	return 0;
}

static int read_folder(struct diagnosing *g, const char *folder, size_t run)
{
	struct arena *a = &g->r->arena;
	struct host *h = run_live(g->r);
	char **names = NULL, real[HOST_PATH_MAX];
	size_t n = 0;
	int code = 0;

	if (!realpath(folder, real) || host_list(h, real, a, &names, &n))
		code = complain_text(EXIT_USAGE, "%s cannot be listed: %s", folder,
				     strerror(errno));
	for (size_t i = 0; i < n && !code; i++) {
		const char *path = arena_printf(a, "%s/%s", folder, names[i]);
		struct stat st;

		if (names[i][0] != '.' && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size)
			code = verb_diagnose_read_file(g, path, run, false);
	}
	host_close(h);
	return code;
}

static int read_path(struct diagnosing *g, const char *path, size_t run)
{
	return is_folder(path) ? read_folder(g, path, run)
			       : verb_diagnose_read_file(g, path, run, true);
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
		return complain_text(EXIT_USAGE,
				     "two runs are called \"%s\": files of one run stand together, "
				     "--run NAME=FILE,FILE",
				     name);
	if (g->ask.n_runs >= DIAGNOSE_RUNS_MAX)
		return complain_text(EXIT_USAGE, "more than %d runs", DIAGNOSE_RUNS_MAX);
	g->names = arena_grow(&g->r->arena, g->names, g->ask.n_runs, sizeof(*g->names));
	g->names[g->ask.n_runs] = name;
	*run = g->ask.n_runs++;
	g->ask.names = g->names;
	return 0;
}

/* "NAME=FILE,FILE". */
static int named_run(struct diagnosing *g, char *text)
{
	char *equals = strchr(text, '='), *save = NULL;
	size_t run = 0;
	int code;

	if (!equals || equals == text || !equals[1])
		return complain_text(EXIT_USAGE, "--run takes NAME=FILE,FILE, not \"%s\"", text);
	*equals = '\0';
	code = add_run(g, text, &run);
	for (char *p = strtok_r(equals + 1, ",", &save); p && !code; p = strtok_r(NULL, ",", &save))
		code = read_path(g, p, run);
	return code;
}

/* Several folders are several runs; files, and one folder, are one. */
static int plain_runs(struct diagnosing *g)
{
	char **args = g->r->args + 1;
	size_t n = (size_t)g->r->n_args - 1, run = 0;
	const char *name;
	bool folders = n > 1;
	int code = 0;

	for (size_t i = 0; i < n; i++)
		folders = folders && is_folder(args[i]);
	for (size_t i = 0; i < n && !code; i++) {
		name = folders || n == 1 ? last_part(&g->r->arena, args[i]) : "run";
		/* a/logs and b/logs: by their whole paths. */
		if (folders || i == 0)
			code = add_run(g, is_taken(g, name) ? args[i] : name, &run);
		code = code ? code : read_path(g, args[i], run);
	}
	return code;
}

/* GPUs of each file that tells of steps; 0: none or not known. */
static double *worlds(struct diagnosing *g)
{
	const struct run_evidence *ev = &g->ev;
	double *world = arena_array(&g->r->arena, ev->n_files + 1, sizeof(*world));
	bool *steps = arena_array(&g->r->arena, ev->n_files + 1, sizeof(*steps));

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
				return complain_text(EXIT_USAGE,
						     "%s is of %.0f GPUs and %s of %.0f: these are "
						     "two runs; name them: --run NAME=FILE, as "
						     "--run %.0f=%s --run %.0f=%s",
						     ev->files[k].path, world[k], ev->files[i].path,
						     world[i], world[k], ev->files[k].path,
						     world[i], ev->files[i].path);
	return 0;
}

/* Reads what the arguments and --run name. An exit code after complaining. */
static int diagnose_files(struct diagnosing *g)
{
	const char *runs = g->r->value[OPT_RUN_FILES];
	char *save = NULL;
	int code = plain_runs(g);

	if (runs)
		for (char *p = strtok_r(arena_strdup(&g->r->arena, runs), "\n", &save); p && !code;
		     p = strtok_r(NULL, "\n", &save))
			code = named_run(g, p);
	if (code)
		return code;
	if (!g->ask.n_runs)
		return complain_text(EXIT_USAGE,
				     "diagnose training needs files: logs, traces, recordings");
	if (!g->read) {
		for (size_t i = 0; i < g->view.n_troubles; i++)
			complain_text(EXIT_BLIND, "%s", g->troubles[i].why);
		return complain_text(
			EXIT_BLIND,
			"none of the files could be read as something of a training run");
	}
	return one_world(g);
}

/* The shape of --model; of a log's own words none is taken: they are names of files as often. */
static int read_model(struct diagnosing *g, struct model_file *file)
{
	struct run *r = g->r;
	const char *name = r->value[OPT_MODEL], *taken = NULL;
	struct model_hint none = { 0 };
	struct err e = { 0 };
	int code;

	if (!name)
		return 0;
	g->ask.model = name;
	g->ask.arch = &file->arch;
	code = predict_model_file(r, name, file);
	if (code < 0)
		return -code;
	if (code > 0) {
		g->ask.file = file;
		g->view.model_taken = file->taken;
		return 0;
	}
	if (model_find(&r->arena, g->ask.known, name, &none, &file->arch, &taken, &e) < 0)
		return complain(EXIT_USAGE, &e);
	g->view.model_taken = taken ? taken : file->arch.name;
	return 0;
}

static int verb_diagnose_print_answer(struct diagnosing *g)
{
	struct run *r = g->r;
	int code;

	diagnose_runs(&r->arena, &g->ev, &g->ask, &g->found);
	code = diagnose_code(&g->found);
	if (r->value[OPT_QUIET])
		return code;
	g->view.d = &g->found;
	g->view.ev = &g->ev;
	g->view.troubles = g->troubles;
	g->view.all = r->value[OPT_ALL] != NULL;
	if (run_wants_json(r))
		return run_print_result(r, &diagnose_result, &g->view, code);
	return run_print_doc(r, page_diagnose(&r->arena, &g->view), "gputune diagnose", code);
}

int verb_diagnose(struct run *r)
{
	struct diagnosing g = { .r = r,
				.ev = { .arena = &r->arena },
				.ask = { .known = run_knowledge(r) } };
	struct model_file file = { 0 };
	int code = read_model(&g, &file);

	if (code)
		return code;
	if (r->value[OPT_ATTACH])
		code = diagnose_attach(&g);
	else if (!r->n_args || strcmp(r->args[0], "training") != 0)
		return complain_text(
			EXIT_USAGE,
			"diagnose knows training (FILES...) and --attach [PID], not \"%s\"",
			r->n_args ? r->args[0] : "");
	else
		code = diagnose_files(&g);
	return code ? code : verb_diagnose_print_answer(&g);
}
