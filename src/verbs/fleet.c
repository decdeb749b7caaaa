/* SPDX-License-Identifier: Apache-2.0 */
/* gputune fleet: results and captures of many machines, from files and folders, one by one. */
#include "many/fleet/fleet.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/confine.h"
#include "many/history/history.h"
#include "measure/prove/ledger_view.h"
#include "verbs/door.h"

enum { FOLDERS_DEEP = 8 };

struct fleet_ask {
	struct ask_texts files;
	struct profile_ask settings;
	const char *golden;
	bool values, all;
};

static const struct ask_row fleet_ask_rows[] = {
	{ "FILE",
	  "results, ledgers of proofs and captures, or folders of them; -: a line of JSON "
	  "a node from standard input",
	  ASK_TEXTS(fleet_ask, files), .argument = true, .required = true, .files = true },
	{ ASK_PART(fleet_ask, settings, profile_ask) },
	{ "golden", "compare with the machine of this result or capture",
	  ASK_TEXT(fleet_ask, golden), .arg = "FILE", .files = true },
	{ "values", "also compare values that pass", ASK_FLAG(fleet_ask, values) },
	{ "all", "also differences that only follow from the platform", ASK_FLAG(fleet_ask, all) },
};
static const struct ask_shape fleet_ask_shape = ASK_SHAPE(fleet_ask, NULL, fleet_ask_rows);

struct gather {
	struct door *d;
	struct fleet *f;
	struct profile profile; /* for captures */
	struct text buffer;	/* one file at a time */
	bool golden;		/* the next one is the golden machine */
	int code;
};

static void refuse(struct gather *g, const char *path, const char *why)
{
	if (g->golden)
		g->code = door_refuse(g->d, EXIT_USAGE, "%s: %s", path, why);
	else
		fleet_refuse(g->f, path, why);
}

/* "node7" of "/results/node7.json". */
static const char *fleet_name_of(struct arena *a, const char *path)
{
	char *name = basename(arena_strdup(a, path));
	char *dot = strrchr(name, '.');

	if (dot && dot != name)
		*dot = '\0';
	return name;
}

static void gather_text(struct gather *g, const char *path, const char *text, size_t len)
{
	struct arena a = { 0 };
	struct err e = { 0 };

	if (!g->golden)
		fleet_add(g->f, path, fleet_name_of(&a, path), text, len);
	else if (fleet_golden(g->f, path, text, len, &e))
		refuse(g, path, e.text);
	arena_free(&a);
}

/* A regular file only: a pipe or device among the results would hold us up. */
static void gather_file(struct gather *g, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = 1;

	text_clear(&g->buffer);
	if (fd < 0 || fstat(fd, &st)) {
		refuse(g, path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		refuse(g, path, "not a regular file");
	} else if (st.st_size > FLEET_FILE_MAX) {
		refuse(g, path, "too large for a result");
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
			gather_text(g, path, g->buffer.s, g->buffer.len);
	}
	if (fd >= 0)
		close(fd);
}

/* A captured machine is checked here, with an arena of its own. */
static void gather_capture(struct gather *g, const char *path)
{
	struct door one = *g->d;
	struct arena own = { 0 };
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
	one.arena = &own;
	m = door_machine(&one, h, &(struct door_look){ 0 });
	settings_check(&own, m, &g->profile, door_read_knob, h, &found);
	j = measured_check_json(&own, m, &g->profile, &found, NULL, 0);
	text = json_dumps(j, JSON_COMPACT);
	if (text)
		gather_text(g, path, text, strlen(text));
	else
		refuse(g, path, "its findings are not text");
	free(text);
	json_decref(j);
	arena_free(&own);
	host_close(h);
}

static void gather_machine(void *ctx, const char *machine, const char *text, size_t len)
{
	struct gather *g = ctx;

	fleet_add(g->f, "history", machine, text, len);
}

/* Each machine of a history as it was when it was last seen. */
static void gather_history(struct gather *g, const char *path)
{
	struct history h;
	struct err e = { 0 };

	if (history_open_still(&h, g->d->arena, path, &e) || history_now(&h, gather_machine, g, &e))
		refuse(g, path, e.text);
	history_close(&h);
}

/* Standard input: a line a node, with the name that a launcher put before it. What ansible says in
 * two lines has its name in the first. */
static void gather_lines(struct gather *g, FILE *in)
{
	const char *node = "", *name, *rest;
	struct arena a = { 0 };
	size_t cap = 0, count = 0;
	char *line = NULL;
	ssize_t n;

	while (!g->code && (n = getdelim(&line, &cap, '\n', in)) > 0) {
		size_t len = (size_t)n;

		count++;
		while (len && strchr("\r\n", line[len - 1]))
			line[--len] = '\0';
		if (fleet_line(&a, line, len, &name, &rest)) {
			const char *who = *name ? name : node;

			who = *who ? who : arena_printf(&a, "line %zu", count);
			if (len > FLEET_FILE_MAX)
				refuse(g, who, "larger than any result");
			else
				fleet_add(g->f, who, who, rest, len - (size_t)(rest - line));
			node = "";
		} else if (str_ends(line, ">>")) {
			node = name;
		} else if (*name) {
			refuse(g, name, arena_printf(g->d->arena, "no result: %.200s", rest));
		} else if (len) {
			refuse(g, arena_printf(g->d->arena, "line %zu", count), "not JSON");
		}
	}
	free(line);
	arena_free(&a);
}

static void gather_path(struct gather *g, const char *path, int depth, bool named);

static int natural(const struct dirent **a, const struct dirent **b)
{
	return str_natural((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void gather_folder(struct gather *g, const char *path, int depth)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, visible, natural);

	if (n < 0)
		refuse(g, path, strerror(errno));
	else if (depth == FOLDERS_DEEP)
		refuse(g, path, "too many folders deep");
	for (int i = 0; i < n; i++) {
		struct text child = { 0 };

		text_printf(&child, "%s/%s", path, names[i]->d_name);
		if (depth < FOLDERS_DEEP)
			gather_path(g, child.s, depth + 1, false);
		text_free(&child);
		free(names[i]);
	}
	free(names);
}

/* In folders only what is called like a result is read, and no link is followed. */
static void gather_path(struct gather *g, const char *path, int depth, bool named)
{
	struct text meta = { 0 };
	struct stat st;
	bool capture;

	if (named && strcmp(path, "-") == 0 && !g->golden) {
		gather_lines(g, stdin);
		return;
	}
	if ((named ? stat : lstat)(path, &st)) {
		refuse(g, path, strerror(errno));
		return;
	}
	text_printf(&meta, "%s/meta.json", path);
	capture = S_ISDIR(st.st_mode) && access(meta.s, F_OK) == 0;
	text_free(&meta);
	if (capture || (S_ISREG(st.st_mode) && str_ends(path, ".tar")))
		gather_capture(g, path);
	else if (S_ISDIR(st.st_mode) && g->golden)
		refuse(g, path, "--golden takes one file or capture");
	else if (S_ISDIR(st.st_mode))
		gather_folder(g, path, depth);
	else if (named && !g->golden && str_ends(path, ".db"))
		gather_history(g, path);
	else if (named ||
		 (S_ISREG(st.st_mode) && (str_ends(path, ".json") || str_ends(path, ".jsonl"))))
		gather_file(g, path);
}

static int fleet_exit(const struct fleet *f)
{
	/* Ledgers alone: nothing is compared. */
	if (!f->n)
		return f->n_proofs && !f->n_refused ? EXIT_CLEAN : EXIT_BLIND;
	if ((f->golden ? f->n_drifted : f->n_differs) || f->n_bench_outliers || f->n_states)
		return EXIT_FINDINGS;
	return f->n_refused ? EXIT_BLIND : EXIT_CLEAN;
}

static int fleet_answer(struct door *d, const struct fleet_ask *ask, struct fleet *out)
{
	struct gather g = { .d = d };
	int code = door_profile(d, &ask->settings, &g.profile);

	if (code)
		return code;
	g.f = fleet_new(d->arena, ask->values);
	if (ask->golden) {
		g.golden = true;
		gather_path(&g, ask->golden, 0, true);
		g.golden = false;
	}
	for (size_t i = 0; i < ask->files.n && !g.code; i++)
		gather_path(&g, ask->files.items[i], 0, true);
	if (!g.code)
		fleet_settle(g.f);
	text_free(&g.buffer);
	fleet_free(g.f);
	*out = *g.f;
	return g.code ? g.code : fleet_exit(out);
}

static struct doc *fleet_page(struct arena *a, const struct fleet_ask *ask, const struct fleet *f,
			      const struct page_view *view)
{
	/* In HTML everything has room: it can be filtered and folded. */
	const struct fleet_view how = { .all = view->html || ask->all,
					.between = ask->all,
					.html = view->html };

	return page_fleet(a, f, &how);
}

/* A history is read by a library. */
static unsigned fleet_confine(const void *ask)
{
	const struct fleet_ask *f = ask;
	unsigned needs = 0;

	for (size_t i = 0; i < f->files.n; i++)
		needs |= str_ends(f->files.items[i], ".db") ? (unsigned)CONFINE_CODE : 0;
	return needs;
}

VERB_ANSWER(fleet_answer_any, fleet_answer, fleet_ask, fleet)
VERB_PAGE(fleet_page_any, fleet_page, fleet_ask, fleet)

const struct verb fleet_verb = {
	.name = "fleet",
	.group = VERB_MANY,
	.summary = "compare many machines and find differences and outliers",
	.about = "Reads results of check, status, verify and bench, and captures, of many "
		 "machines. Reports which are equal, what differs, the outliers in each platform, "
		 "and with --golden the differences from that machine.",
	.exits = "1: a difference was found; 5: a file could not be read",
	.words = "outliers hosts ansible",
	.examples = EXAMPLES(
		{ "fleet results/", "a folder with one result per machine" },
		{ "fleet results/ --golden results/node1.json", "differences from one of them" },
		{ "fleet -", "a line of JSON a node, as pdsh, clush and ansible write it" },
		{ "fleet history.db", "machines of a history (gputune since), as last seen" },
		{ "fleet node1.tar node2.tar --only memory", "captures, one group" }),
	.ask = &fleet_ask_shape,
	.answer = fleet_answer_any,
	.result = &fleet_result,
	.page = fleet_page_any,
	.reads = READS_FILES,
	.confine = fleet_confine,
};
