/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack check: what of the software stack is there, and whether it is made for this GPU. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "front/verbs/page.h"
#include "front/verbs/stack.h"
#include "look/stack/page_stack.h"

static int ptxas_knows(void *ctx, const char *path, unsigned sm)
{
	char text[16];

	snprintf(text, sizeof(text), "sm_%u", sm);
	return stack_find_text(ctx, path, text);
}

static const char **named(struct run *r, size_t *n)
{
	const char **list = NULL;
	char *save = NULL,
	     *text = r->value[OPT_ENV] ? arena_strdup(&r->arena, r->value[OPT_ENV]) : NULL;

	for (char *p = text ? strtok_r(text, ",", &save) : NULL; p;
	     p = strtok_r(NULL, ",", &save)) {
		list = arena_grow(&r->arena, list, *n, sizeof(*list));
		list[(*n)++] = p;
	}
	return list;
}

/* The environment of the python3 that a shell would find: PREFIX/bin/python3. */
static const char *python_on_path(struct run *r, struct host *h)
{
	struct answer said;
	char *list, *save = NULL;

	if (host_ask(h, "env", "", "PATH", &said) || said.kind != ANSWER_TEXT)
		return NULL;
	list = arena_strdup(&r->arena, said.text);
	for (char *p = strtok_r(list, ":", &save); p; p = strtok_r(NULL, ":", &save)) {
		size_t len = strlen(p);

		if (*p == '/' && len > 4 && strcmp(p + len - 4, "/bin") == 0 &&
		    host_exists(h, arena_printf(&r->arena, "%s/python3", p)))
			return arena_strndup(&r->arena, p, len - 4);
	}
	return NULL;
}

static int exit_code(const struct stack_findings *f)
{
	if (f->count[VERDICT_FAIL])
		return EXIT_FINDINGS;
	return f->count[VERDICT_UNKNOWN] ? EXIT_BLIND : EXIT_CLEAN;
}

/* The parts of a view, which lives as long as the run. */
struct looked {
	struct scan_options how;
	struct inventory inv;
	struct stack_findings found;
	struct stack_view view;
};

int stack_see(struct run *r, const struct stack_root *root, struct machine *m,
	      const struct stack_view **out)
{
	struct looked *l = ARENA_NEW(&r->arena, struct looked);
	struct inventory_options what = { .deep = r->value[OPT_DEEP], .scan = &l->how };
	struct stack_ask ask = { .m = m, .inv = &l->inv, .how = &l->how };
	struct err e = { 0 };
	const char *usual;
	int code = stack_targets(r, m, &l->how, &l->view.gpus_from);

	if (code)
		return code;
	l->view.m = m;
	l->view.inv = &l->inv;
	l->view.found = &l->found;
	l->view.how = &l->how;
	l->view.rootfs = r->value[OPT_ROOTFS];
	l->view.all = r->value[OPT_ALL];
	what.envs = named(r, &what.n_envs);
	what.only_envs = what.n_envs > 0;
	usual = what.n_envs || root->fd >= 0 ? NULL : python_on_path(r, root->h);
	if (usual && host_exists(root->h, arena_printf(&r->arena, "%s/lib", usual))) {
		struct inventory_options no = { .envs = &usual, .n_envs = 1, .scan = &l->how };

		/* Without a folder for packages it is no environment; that is no error here. */
		if (inventory_take(&r->arena, &(struct stack_root){ root->h, -1, false }, &no,
				   &l->inv, &e) == 0) {
			what.envs = no.envs;
			what.n_envs = 1;
		}
	}
	code = inventory_take(&r->arena, root, &what, &l->inv, &e);
	if (code)
		return complain(EXIT_USAGE, &e);
	ask.gpus_from = l->view.gpus_from;
	ask.ptxas_knows = ptxas_knows;
	ask.ctx = (void *)(uintptr_t)root;
	stack_judge(&r->arena, &ask, &l->found);
	*out = &l->view;
	return 0;
}

static int look(struct run *r, const struct stack_root *root, struct machine *m)
{
	const struct stack_view *v;
	int code = stack_see(r, root, m, &v), failed;

	if (code)
		return code;
	code = exit_code(v->found);
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, stack_check_json(v, (long long)time(NULL), code));
		return code;
	}
	failed = run_print_doc(r, page_stack_check(&r->arena, v), "gputune stack check");
	return failed ? failed : code;
}

int stack_check(struct run *r)
{
	struct stack_root root = { .fd = -1 };
	struct host *h, *image = NULL;
	struct err e = { 0 };
	int code;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "stack check takes no argument \"%s\"",
				     r->args[0]);
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	if (r->value[OPT_ROOTFS]) {
		image = rootfs_open(r->value[OPT_ROOTFS], &root.fd, &e);
		if (!image) {
			host_close(h);
			return complain(EXIT_USAGE, &e);
		}
	}
	root.h = image ? image : h;
	root.contents = image || !r->value[OPT_HOST];
	code = look(r, &root, run_machine(r, h, false));
	if (image)
		host_close(image);
	host_close(h);
	return code;
}
