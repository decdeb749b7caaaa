/* SPDX-License-Identifier: Apache-2.0 */
/* gputune lint: what is wrong with what people wrote for NCCL, launchers and engines. */
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "front/session.h"
#include "front/model_ask.h"
#include "knowledge/nccl_vars.h"
#include "look/stack/inventory.h"
#include "models/generate/page_generate.h"

struct linting {
	struct run *r;
	struct lint lint;
	struct lint_on on;
	const char **files;
	size_t n_files;
};

static void looked_at(struct linting *w, const char *name)
{
	w->files = arena_grow(&w->r->arena, w->files, w->n_files, sizeof(*w->files));
	w->files[w->n_files++] = name;
}

static int lint_named_file(struct linting *w, const char *path)
{
	size_t len;
	char *text = predict_file(w->r, path, LINT_TEXT_MAX, &len, NULL);

	if (!text)
		return EXIT_USAGE;
	looked_at(w, path);
	lint_file(&w->lint, path, text, len);
	if (strspn(text, " \t\r\n") == len) {
		w->lint.file = path;
		lint_add(&w->lint, LINT_WARNING, "empty", 0, path, NULL, NULL,
			 "there is nothing in this file: nothing was judged");
		w->lint.file = NULL;
	}
	return 0;
}

/* A file of a machine or an image, if it is there. */
static void machine_file(struct linting *w, struct host *h, const char *path, const char *name)
{
	char *text;
	size_t len;

	if (host_read(h, path, LINT_TEXT_MAX, &w->r->arena, &text, &len))
		return;
	looked_at(w, name);
	lint_file(&w->lint, name, text, len);
}

/* The files that set variables for everybody. */
static void usual_files(struct linting *w, struct host *h, const char *prefix, const char *home)
{
	struct arena *a = &w->r->arena;
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
		x.value = arena_strdup(&w->r->arena, v.text);
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
	struct arena *a = &w->r->arena;

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
	struct run *r = w->r;
	struct scan_options how = { 0 };
	const char *env = r->value[OPT_ENV];
	struct inventory_options what = { .envs = &env, .n_envs = env ? 1 : 0, .scan = &how };
	struct inventory inv = { 0 };
	struct err e = { 0 };

	if (inventory_take(&r->arena, root, &what, &inv, &e))
		return complain(EXIT_USAGE, &e);
	for (size_t i = 0; i < inv.n_items; i++) {
		const struct stack_item *k = &inv.items[i];

		if (k->c != COMPONENT_NCCL || !k->version ||
		    (w->on.nccl && version_order(w->on.nccl, k->version) <= 0))
			continue;
		w->on.nccl = k->version;
		w->on.nccl_from = arena_printf(&r->arena, "%s", k->path);
	}
	nccl_by_name(w, root->h);
	return 0;
}

static int image(struct linting *w)
{
	struct stack_root root = { .fd = -1, .contents = true };
	struct err e = { 0 };
	int code;

	root.h = rootfs_open(w->r->value[OPT_ROOTFS], &root.fd, &e);
	if (!root.h)
		return complain(EXIT_USAGE, &e);
	w->on.image = true;
	w->on.nccl = NULL;
	code = w->r->value[OPT_NCCL] ? 0 : nccl_of(w, &root);
	if (w->r->value[OPT_NCCL])
		w->on.nccl = w->r->value[OPT_NCCL];
	if (!code)
		usual_files(w, root.h, w->r->value[OPT_ROOTFS], "/root");
	host_close(root.h);
	return code;
}

/* A model's files, where the command names a path of this machine. */
static const struct model_file *verb_lint_model_of(void *ctx, const char *name)
{
	struct run *r = ctx;
	struct model_file *f = ARENA_NEW(&r->arena, struct model_file);
	struct stat st;

	if (stat(name, &st) < 0)
		return NULL;
	return predict_model_file(r, name, f) > 0 ? f : NULL;
}

static int verb_lint_look(struct linting *w, struct host *h)
{
	struct run *r = w->r;
	int code = 0;

	if (r->value[OPT_ENV] && !r->value[OPT_NCCL] && !r->value[OPT_ROOTFS]) {
		struct stack_root root = { h, -1, !r->value[OPT_HOST] };

		code = nccl_of(w, &root);
	}
	if (!code && r->value[OPT_ROOTFS])
		code = image(w);
	for (int i = 0; i < r->n_before && !code; i++)
		code = lint_named_file(w, r->args[i]);
	if (!code && r->n_args > r->n_before) {
		looked_at(w, "command line");
		lint_words(&w->lint, r->args + r->n_before, (size_t)(r->n_args - r->n_before));
	}
	if (!code && !r->n_args && !r->value[OPT_ROOTFS]) {
		struct answer home;
		bool told = host_ask(h, "env", "", "HOME", &home) == 0 &&
			    home.kind == ANSWER_TEXT && home.text[0] == '/';

		usual_files(w, h, "", told ? arena_strdup(&r->arena, home.text) : NULL);
		own_environment(w, h);
	}
	return code;
}

static int verb_lint_print_answer(struct linting *w)
{
	struct lint_view v = {
		.l = &w->lint, .on = &w->on, .looked_at = w->files, .n = w->n_files
	};
	int code;

	lint_sort(&w->lint);
	for (size_t i = 0; i < w->lint.n; i++)
		v.count[w->lint.findings[i].level]++;
	code = v.count[LINT_NOTE] < w->lint.n ? EXIT_FINDINGS : EXIT_CLEAN;
	if (w->r->value[OPT_QUIET])
		return code;
	if (run_wants_json(w->r))
		return run_print_result(w->r, &lint_result, &v, code);
	return run_print_doc(w->r, page_lint(&w->r->arena, &v), "gputune lint", code);
}

int verb_lint(struct run *r)
{
	struct linting w = { .r = r };
	struct gen_node node;
	struct host *h = run_host(r);
	struct machine *m = h ? run_machine(r, h, false) : NULL;
	const char *nccl = r->value[OPT_NCCL];
	struct fits fits;
	int code;

	if (!h)
		return EXIT_USAGE;
	if (nccl && (!strchr(nccl, '.') || nccl[strspn(nccl, "0123456789.")])) {
		host_close(h);
		return complain_text(EXIT_USAGE,
				     "--nccl takes a release like 2.28.9, not \"%.40s\"", nccl);
	}
	fits_default(&fits);
	w.lint = (struct lint){ .a = &r->arena, .on = &w.on };
	w.on.fits = &fits;
	w.on.known = run_knowledge(r);
	w.on.model = r->value[OPT_HOST] ? NULL : verb_lint_model_of;
	w.on.model_ctx = r;
	if (m) {
		gen_node_of(&r->arena, m, fact_text(&m->nodename, ""),
			    r->value[OPT_HOST] ? r->value[OPT_HOST] : "this machine", &node);
		w.on.node = &node;
		w.on.nccl = node.nccl;
	}
	w.on.nccl_from = "the system's library";
	if (nccl) {
		w.on.nccl = nccl;
		w.on.nccl_from = "--nccl";
	}
	code = verb_lint_look(&w, h);
	host_close(h);
	return code ? code : verb_lint_print_answer(&w);
}
