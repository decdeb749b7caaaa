/* SPDX-License-Identifier: Apache-2.0 */
/* gputune lint: what is wrong with what people wrote for NCCL, launchers and engines. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "knowledge/nccl_vars.h"
#include "look/defects/world.h"
#include "look/stack/inventory.h"
#include "machine/host/confine.h"
#include "models/generate/page_generate.h"
#include "verbs/defect_rows.h"
#include "verbs/model_files.h"

struct lint_ask {
	struct machine_ask machine;
	const char *rootfs, *env, *nccl;
	struct ask_texts files, command;
};

static int release_check(const char *text, struct err *e)
{
	if (strchr(text, '.') && !text[strspn(text, "0123456789.")])
		return 0;
	return err_set(e, -EINVAL, "expected a release like 2.28.9, got \"%.40s\"", text);
}

static const struct ask_row lint_ask_rows[] = {
	{ "FILE", "files to check", ASK_TEXTS(lint_ask, files), .argument = true, .files = true },
	{ "COMMAND", "a command line to check", ASK_TEXTS(lint_ask, command), .argument = true,
	  .behind = true },
	{ ASK_PART(lint_ask, machine, machine_ask) },
	{ "rootfs", "check this root file system, such as an unpacked container image",
	  ASK_TEXT(lint_ask, rootfs), .arg = "DIR", .files = true },
	{ "env", "a Python environment to check; may be given several times",
	  ASK_TEXT(lint_ask, env), .arg = "DIR", .join = ',', .files = true },
	{ "nccl", "the NCCL version to check for (default: the installed one)",
	  ASK_TEXT(lint_ask, nccl), .arg = "VERSION", .check = release_check },
};

struct linting {
	struct door *d;
	const struct lint_ask *ask;
	struct lint lint;
	struct lint_on on;
	const char **files;
	size_t n_files;
};

static void looked_at(struct linting *w, const char *name)
{
	ARENA_ADD(w->d->arena, w->files, w->n_files) = name;
}

static int lint_named_file(struct linting *w, const char *path)
{
	size_t len;
	char *text = door_file(w->d, path, LINT_TEXT_MAX, &len, NULL);

	if (!text)
		return -EXIT_USAGE;
	looked_at(w, path);
	lint_file(&w->lint, path, text, len);
	if (strspn(text, " \t\r\n") == len) {
		w->lint.file = path;
		lint_add(&w->lint, LINT_WARNING, "empty", 0, path, NULL, NULL,
			 "the file is empty: nothing was judged");
		w->lint.file = NULL;
	}
	return 0;
}

/* A file of a machine or an image, if it is there. */
static void machine_file(struct linting *w, struct host *h, const char *path, const char *name)
{
	char *text;
	size_t len;

	if (host_read(h, path, LINT_TEXT_MAX, w->d->arena, &text, &len))
		return;
	looked_at(w, name);
	lint_file(&w->lint, name, text, len);
}

/* The files that set variables for everybody. */
static void usual_files(struct linting *w, struct host *h, const char *prefix, const char *home)
{
	struct arena *a = w->d->arena;
	const char *const paths[] = { "/etc/nccl.conf", "/etc/environment",
				      home ? arena_printf(a, "%s/.nccl.conf", home) : NULL };
	char **names;
	size_t n;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (paths[i])
			machine_file(w, h, paths[i], arena_printf(a, "%s%s", prefix, paths[i]));
	if (host_list(h, "/etc/profile.d", a, &names, &n))
		return;
	for (size_t i = 0; i < n && i < 1000; i++) {
		const char *path = arena_printf(a, "/etc/profile.d/%s", names[i]);

		if (str_ends(path, ".sh"))
			machine_file(w, h, path, arena_printf(a, "%s%s", prefix, path));
	}
}

/* What this shell has: only names of the table are asked for. */
static void own_environment(struct linting *w, struct host *h)
{
	w->lint.file = "this shell";
	for (size_t i = 0; i < n_known_vars; i++) {
		struct answer v;
		struct lint_var x = { .name = known_vars[i].name };

		if (host_ask(h, "env", "", x.name, &v) || v.kind != ANSWER_TEXT)
			continue;
		x.value = arena_strdup(w->d->arena, v.text);
		w->lint.variables++;
		lint_var(&w->lint, &x);
	}
	w->lint.file = NULL;
}

/* By the name of its file, where no loader's cache tells: "libnccl.so.2.28.9". */
static void nccl_by_name(struct linting *w, struct host *h)
{
	static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu",
					       "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
					       "/usr/local/lib" };
	struct arena *a = w->d->arena;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !w->on.nccl; i++) {
		char **names;
		size_t n;

		if (host_list(h, folders[i], a, &names, &n))
			continue;
		for (size_t k = 0; k < n; k++)
			if (str_starts(names[k], "libnccl.so.2.")) {
				w->on.nccl = names[k] + strlen("libnccl.so.");
				w->on.nccl_from = arena_printf(a, "%s/%s", folders[i], names[k]);
			}
	}
}

/* The oldest NCCL of an image or of Python environments: what it ignores is ignored. */
static int nccl_of(struct linting *w, const struct stack_root *root)
{
	struct scan_options how = { 0 };
	const char *env = w->ask->env;
	struct inventory_options what = { .envs = &env, .n_envs = env ? 1 : 0, .scan = &how };
	struct inventory inv = { 0 };
	struct err e = { 0 };

	if (inventory_take(w->d->arena, root, &what, &inv, &e))
		return door_fail(w->d, EXIT_USAGE, &e);
	for (size_t i = 0; i < inv.n_items; i++) {
		const struct stack_item *k = &inv.items[i];

		if (k->c != COMPONENT_NCCL || !k->version ||
		    (w->on.nccl && version_order(w->on.nccl, k->version) <= 0))
			continue;
		w->on.nccl = k->version;
		w->on.nccl_from = arena_printf(w->d->arena, "%s", k->path);
	}
	nccl_by_name(w, root->h);
	return 0;
}

static int image(struct linting *w)
{
	struct stack_root root = { .fd = -1, .contents = true };
	struct err e = { 0 };
	int code;

	root.h = rootfs_open(w->ask->rootfs, &root.fd, &e);
	if (!root.h)
		return door_fail(w->d, EXIT_USAGE, &e);
	w->on.image = true;
	w->on.nccl = NULL;
	code = w->ask->nccl ? 0 : nccl_of(w, &root);
	if (w->ask->nccl)
		w->on.nccl = w->ask->nccl;
	if (!code)
		usual_files(w, root.h, w->ask->rootfs, "/root");
	host_close(root.h);
	return code;
}

/* A model's files, where the command names a path of this machine. */
static const struct model_file *lint_model(void *ctx, const char *name)
{
	struct door *d = ctx;
	struct model_file *f = ARENA_NEW(d->arena, struct model_file);
	struct stat st;

	if (stat(name, &st) < 0)
		return NULL;
	return door_model_file(d, name, f) > 0 ? f : NULL;
}

static int lint_look(struct linting *w, struct host *h)
{
	const struct lint_ask *ask = w->ask;
	int code = 0;

	if (ask->env && !ask->nccl && !ask->rootfs) {
		struct stack_root root = { h, -1, !ask->machine.capture };

		code = nccl_of(w, &root);
	}
	if (!code && ask->rootfs)
		code = image(w);
	for (size_t i = 0; i < ask->files.n && !code; i++)
		code = lint_named_file(w, ask->files.items[i]);
	if (!code && ask->command.n) {
		looked_at(w, "command line");
		lint_words(&w->lint, ask->command.items, ask->command.n);
	}
	if (!code && !ask->files.n && !ask->command.n && !ask->rootfs) {
		struct answer home;
		bool known = host_ask(h, "env", "", "HOME", &home) == 0 &&
			     home.kind == ANSWER_TEXT && home.text[0] == '/';

		usual_files(w, h, "", known ? arena_strdup(w->d->arena, home.text) : NULL);
		own_environment(w, h);
	}
	return code;
}

/* Known defects that what was read sets off on this machine. */
static void lint_defects(struct linting *w)
{
	struct lint *l = &w->lint;
	const struct defect_words words = { l->env, l->started, w->on.nccl };
	struct defect_matches found;
	struct defect_rows rows;

	defects_rows(w->d, &rows);
	defects_of_words(l->a, &rows, w->on.node->facts, &words, &found);
	for (size_t i = 0; i < found.n; i++) {
		const struct defect_match *m = &found.items[i];
		const char *proof = "", *name = "", *file;
		json_t *at = NULL;

		/* A variable of ours, "NAME=VALUE"; else the command, which is the longest. */
		for (size_t k = 0; k < m->n_proofs && !at; k++) {
			const char *text = m->proofs[k].text;

			name = arena_strndup(l->a, text, strcspn(text, "="));
			at = json_object_get(l->env_at, name);
			proof = strlen(text) > strlen(proof) ? text : proof;
		}
		file = at ? defect_text(at, "file") : NULL;
		l->file = file ? arena_strdup(l->a, file) : "command line";
		lint_add(l, m->state == DEFECT_HERE ? LINT_WARNING : LINT_NOTE, "known-defect",
			 (unsigned)json_integer_value(json_object_get(at, "line")),
			 at ? name : arena_printf(l->a, "%.80s", proof),
			 defect_text_of(m->row, "fix", "says"), defect_list(l->a, m->row, "source"),
			 "%s (defect %s)", defect_text(m->row, "title"), defect_text(m->row, "id"));
	}
	l->file = NULL;
}

static void lint_begin(struct linting *w, struct host *h)
{
	const char *capture = w->ask->machine.capture;
	struct arena *a = w->d->arena;
	struct machine *m = door_machine(w->d, h, &(struct door_look){ 0 });
	struct gen_node *node = ARENA_NEW(a, struct gen_node);
	struct fits *fits = ARENA_NEW(a, struct fits);

	fits_default(fits);
	gen_node_of(a, m, fact_text(&m->nodename, ""), capture ? capture : "this machine", node);
	w->lint = (struct lint){ .a = a,
				 .on = &w->on,
				 .env = json_object(),
				 .env_at = json_object(),
				 .started = json_array() };
	w->on = (struct lint_on){ .fits = fits,
				  .known = door_knowledge(w->d, capture),
				  .model = capture ? NULL : lint_model,
				  .model_ctx = w->d,
				  .node = node,
				  .nccl = w->ask->nccl ? w->ask->nccl : node->nccl,
				  .nccl_from = w->ask->nccl ? "--nccl" : "the system's library" };
}

static int lint_answer(struct door *d, const struct lint_ask *ask, struct lint_view *out)
{
	struct linting *w = ARENA_NEW(d->arena, struct linting);
	HOST_AUTO *h = door_host(d, &ask->machine);
	int code;

	if (!h)
		return -EXIT_USAGE;
	w->d = d;
	w->ask = ask;
	lint_begin(w, h);
	code = lint_look(w, h);
	if (!code)
		lint_defects(w);
	json_decref(w->lint.env);
	json_decref(w->lint.env_at);
	json_decref(w->lint.started);
	if (code)
		return code;
	lint_sort(&w->lint);
	*out = (struct lint_view){
		.l = &w->lint, .on = &w->on, .looked_at = w->files, .n = w->n_files
	};
	for (size_t i = 0; i < w->lint.n; i++)
		out->count[w->lint.findings[i].level]++;
	return out->count[LINT_NOTE] < w->lint.n ? EXIT_FINDINGS : EXIT_CLEAN;
}

VERB_ANSWER(lint_ask_any, lint_answer, lint_ask, lint_view)
VERB_PAGE_OF(lint_page, page_lint, lint_view)

/* Links of an image are kept inside of it by openat2 alone. */
SHAPE_GIVES(unsigned, lint_confine, lint_ask, x->rootfs ? CONFINE_OPENAT2 : 0)

/* clang-format off */
const struct verb lint_verb = {
	.name = "lint", .group = VERB_LOOK,
	.summary = "find mistakes in NCCL and engine variables, scripts and command lines",
	.about = "Reads environments, shell and Slurm scripts, compose files and the command after \"--\". "
	  "Finds variables and options that the installed NCCL or engine ignores, or that do harm on this "
	  "machine. Without FILE: this machine's own files. Runs nothing.",
	.exits = "1: an error or a warning was found", .words = "env environment variables validate nccl",
	.examples = EXAMPLES({ "lint", "this machine's own files and this shell" },
		{ "lint run.sh -- torchrun --nproc-per-node 8 train.py", "a script and a command line" },
		{ "lint --nccl 2.27 run.sh", "for another version of NCCL" }),
	.ask = ASK_OF(lint_ask, NULL, lint_ask_rows), .answer = lint_ask_any, .result = &lint_result,
	.page = lint_page, .reads = READS_FILES, .confine = lint_confine,
};
