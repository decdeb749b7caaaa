/* SPDX-License-Identifier: Apache-2.0 */
/* gputune fleet: results and captures of many machines, from files and folders, one by one. */
#include "many/fleet/fleet.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "front/session.h"
#include "measure/prove/ledger_view.h"

enum { FOLDERS_DEEP = 8 };

struct gather {
	struct run *r;
	struct fleet *f;
	struct profile profile; /* for captures */
	struct text buffer;	/* one file at a time */
	bool golden;		/* the next one is the golden machine */
	int code;
};

static void refuse(struct gather *g, const char *path, const char *why)
{
	if (g->golden)
		g->code = complain_text(EXIT_USAGE, "%s: %s", path, why);
	else
		fleet_refuse(g->f, path, why);
}

/* "node7" of "/results/node7.json". */
static const char *verb_fleet_name_of(struct arena *a, const char *path)
{
	char *name = basename(arena_strdup(a, path));
	char *dot = strrchr(name, '.');

	if (dot && dot != name)
		*dot = '\0';
	return name;
}

static void add_text(struct gather *g, const char *path, const char *text, size_t len)
{
	struct arena a = { 0 };
	struct err e = { 0 };

	if (!g->golden)
		fleet_add(g->f, path, verb_fleet_name_of(&a, path), text, len);
	else if (fleet_golden(g->f, path, text, len, &e))
		refuse(g, path, e.text);
	arena_free(&a);
}

/* A regular file only: a pipe or device among the results would hold us up. */
static void verb_fleet_add_file(struct gather *g, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = 1;

	text_clear(&g->buffer);
	if (fd < 0 || fstat(fd, &st)) {
		refuse(g, path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		refuse(g, path, "it is no regular file");
	} else if (st.st_size > FLEET_FILE_MAX) {
		refuse(g, path, "it is larger than any result");
	} else {
		/* It may grow while it is read; what is there now has to be whole. */
		text_reserve(&g->buffer, (size_t)st.st_size + 1);
		while (g->buffer.len < (size_t)st.st_size && n > 0) {
			n = read(fd, g->buffer.s + g->buffer.len,
				 (size_t)st.st_size - g->buffer.len);
			g->buffer.len += n > 0 ? (size_t)n : 0;
		}
		if (n < 0)
			refuse(g, path, strerror(errno));
		else
			add_text(g, path, g->buffer.s, g->buffer.len);
	}
	if (fd >= 0)
		close(fd);
}

/* A captured machine is checked here, with an arena of its own. */
static void add_capture(struct gather *g, const char *path)
{
	struct run one = *g->r;
	struct findings found;
	struct err e = { 0 };
	struct host *h = host_open_capture(path, &e);
	struct machine *m;
	json_t *j;
	char *text;

	if (!h) {
		refuse(g, path, e.text);
		return;
	}
	one.arena = (struct arena){ 0 };
	m = run_machine(&one, h, false);
	settings_check(&one.arena, m, &g->profile, run_read_knob, h, &found);
	j = measured_check_json(&one.arena, m, &g->profile, &found, NULL, 0);
	text = json_dumps(j, JSON_COMPACT);
	if (text)
		add_text(g, path, text, strlen(text));
	else
		refuse(g, path, "its findings are no text");
	free(text);
	json_decref(j);
	arena_free(&one.arena);
	host_close(h);
}

static void verb_fleet_add_path(struct gather *g, const char *path, int depth, bool named);

static int natural(const struct dirent **a, const struct dirent **b)
{
	return str_natural((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void verb_fleet_add_folder(struct gather *g, const char *path, int depth)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, visible, natural);

	if (n < 0)
		refuse(g, path, strerror(errno));
	else if (depth == FOLDERS_DEEP)
		refuse(g, path, "it lies too many folders deep");
	for (int i = 0; i < n; i++) {
		struct text child = { 0 };

		text_printf(&child, "%s/%s", path, names[i]->d_name);
		if (depth < FOLDERS_DEEP)
			verb_fleet_add_path(g, child.s, depth + 1, false);
		text_free(&child);
		free(names[i]);
	}
	free(names);
}

/* In folders only what is called like a result is read, and no link is followed. */
static void verb_fleet_add_path(struct gather *g, const char *path, int depth, bool named)
{
	struct text meta = { 0 };
	struct stat st;
	bool capture;

	if ((named ? stat : lstat)(path, &st)) {
		refuse(g, path, strerror(errno));
		return;
	}
	text_printf(&meta, "%s/meta.json", path);
	capture = S_ISDIR(st.st_mode) && access(meta.s, F_OK) == 0;
	text_free(&meta);
	if (capture || (S_ISREG(st.st_mode) && str_ends(path, ".tar")))
		add_capture(g, path);
	else if (S_ISDIR(st.st_mode) && g->golden)
		refuse(g, path, "the golden machine is one file or capture");
	else if (S_ISDIR(st.st_mode))
		verb_fleet_add_folder(g, path, depth);
	else if (named ||
		 (S_ISREG(st.st_mode) && (str_ends(path, ".json") || str_ends(path, ".jsonl"))))
		verb_fleet_add_file(g, path);
}

static int fleet_code(const struct fleet *f)
{
	/* Ledgers alone: nothing is compared. */
	if (!f->n)
		return f->n_proofs && !f->n_refused ? EXIT_CLEAN : EXIT_BLIND;
	if ((f->golden ? f->n_drifted : f->n_differs) || f->n_bench_outliers || f->n_states)
		return EXIT_FINDINGS;
	return f->n_refused ? EXIT_BLIND : EXIT_CLEAN;
}

static int verb_fleet_print(struct run *r, const struct fleet *f, int code)
{
	/* In HTML everything has room: it can be filtered and folded. */
	bool html = r->value[OPT_FORMAT] && strcmp(r->value[OPT_FORMAT], "html") == 0;
	struct fleet_view how = { .all = html || r->value[OPT_ALL],
				  .between = r->value[OPT_ALL] != NULL,
				  .html = html };

	if (r->value[OPT_QUIET])
		return code;
	if (r->value[OPT_FORMAT] && strcmp(r->value[OPT_FORMAT], "json") == 0)
		return run_print_result(r, &fleet_result, f, code);
	return run_print_doc(r, page_fleet(&r->arena, f, &how), "gputune fleet", code);
}

int verb_fleet(struct run *r)
{
	struct gather g = { .r = r };
	int code = EXIT_USAGE;

	if (!run_profile(r, &g.profile))
		return EXIT_USAGE;
	g.f = fleet_new(&r->arena, r->value[OPT_VALUES] != NULL);
	if (r->value[OPT_GOLDEN]) {
		g.golden = true;
		verb_fleet_add_path(&g, r->value[OPT_GOLDEN], 0, true);
		g.golden = false;
	}
	for (int i = 0; i < r->n_args && !g.code; i++)
		verb_fleet_add_path(&g, r->args[i], 0, true);
	if (!g.code) {
		fleet_settle(g.f);
		code = verb_fleet_print(r, g.f, fleet_code(g.f));
	}
	text_free(&g.buffer);
	fleet_free(g.f);
	return code;
}
