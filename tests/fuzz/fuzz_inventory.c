/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any files as the software of a machine: what "stack check" finds among them, judges and shows.
 * The input is sections, each a line "@@PATH" and the file's bytes; folders follow from the paths.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_captured.h"
#include "look/stack/judge.h"
#include "look/stack/page_stack.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { FILES = 48 };

struct file {
	const char *path;
	const char *s;
	size_t n;
};

struct tree {
	struct host host;
	struct file files[FILES];
	size_t n;
};

static const struct file *find(const struct tree *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->files[i].path, path) == 0)
			return &t->files[i];
	return NULL;
}

/* What stands behind "DIR/" in a path; NULL: it is not below. */
static const char *below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	n -= n && dir[n - 1] == '/';
	return strncmp(path, dir, n) == 0 && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

static int tree_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	const struct file *f = find((const struct tree *)h, path);

	if (!f)
		return -ENOENT;
	*len = f->n > cap ? cap + 1 : f->n;
	if (f->n)
		memcpy(buf, f->s, f->n < cap ? f->n : cap);
	return 0;
}

static int tree_link(struct host *h, const char *path, char *buf, size_t cap)
{
	const struct file *f = find((const struct tree *)h, path);

	if (!f)
		return -ENOENT;
	if (f->n < 3 || memcmp(f->s, "-> ", 3) != 0 || memchr(f->s, '\0', f->n))
		return -EINVAL;
	if (f->n - 3 >= cap)
		return -ENAMETOOLONG;
	memcpy(buf, f->s + 3, f->n - 3);
	buf[f->n - 3] = '\0';
	return 0;
}

static int tree_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	const struct tree *t = (const struct tree *)h;

	*names = NULL;
	*n = 0;
	for (size_t i = 0; i < t->n; i++) {
		const char *rest = below(t->files[i].path, path);
		char *name = rest ? arena_strndup(a, rest, strcspn(rest, "/")) : NULL;
		bool there = !name || !*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;

		for (size_t k = 0; k < *n && !there; k++)
			there = strcmp((*names)[k], name) == 0;
		if (there)
			continue;
		*names = arena_grow(a, *names, *n, sizeof(**names));
		(*names)[(*n)++] = name;
	}
	return *n ? 0 : -ENOENT;
}

static int tree_kind(struct host *h, const char *path, enum host_kind *out)
{
	const struct tree *t = (const struct tree *)h;
	char link[HOST_PATH_MAX];

	if (find(t, path)) {
		*out = tree_link(h, path, link, sizeof(link)) == 0 ? HOST_LINK : HOST_FILE;
		return 0;
	}
	*out = HOST_DIR;
	for (size_t i = 0; i < t->n; i++)
		if (below(t->files[i].path, path))
			return 0;
	return -ENOENT;
}

static int tree_ask(struct host *h, const char *api, const char *object, const char *field,
		    struct answer *out)
{
	(void)object;
	if (strcmp(api, "env") != 0 || strcmp(field, "VIRTUAL_ENV") != 0)
		return HOST_NOT_CAPTURED;
	*out = (struct answer){ .kind = ANSWER_TEXT, .text = "/venv" };
	(void)h;
	return 0;
}

static const struct host_ops tree_ops = {
	.read = tree_read, .link = tree_link, .list = tree_list, .kind = tree_kind, .ask = tree_ask
};

static void plant(struct tree *t, struct arena *a, const unsigned char *data, size_t size)
{
	const char *s = (const char *)data, *end = s + size;

	while (t->n < FILES && end - s > 2 && s[0] == '@' && s[1] == '@') {
		const char *nl = memchr(s, '\n', (size_t)(end - s)), *next;
		struct file *f = &t->files[t->n++];

		if (!nl)
			nl = end - 1;
		next = memmem(nl, (size_t)(end - nl), "\n@@", 3);
		f->path = arena_strndup(a, s + 2, (size_t)(nl - s) - 2);
		f->s = nl + 1;
		f->n = next && next > nl ? (size_t)(next - f->s) : next ? 0 : (size_t)(end - f->s);
		/* Of its own size: a byte too far is seen. */
		f->s = memcpy(malloc(f->n + 1), f->s, f->n);
		s = next ? next + 1 : end;
	}
}

static void is_valid(const struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_items; i++)
		if (inv->items[i].place >= inv->n_places || inv->items[i].c >= COMPONENTS ||
		    !inv->items[i].path)
			abort();
	for (size_t i = 0; i < inv->n_places; i++)
		for (size_t k = 0; k < inv->places[i].n_dists; k++)
			if (!inv->places[i].dists[k].name || !inv->places[i].dists[k].version)
				abort();
}

static void look(struct arena *a, struct tree *t)
{
	static const struct scan_options how = { .gpus = { { 90, 1300 }, { 121, 0 } },
						 .n_gpus = 2 };
	static const char *const envs[] = { "/venv" };
	struct stack_root root = { .h = &t->host, .fd = -1 };
	struct inventory_options what = { .scan = &how };
	struct inventory inv = { 0 };
	struct stack_findings found;
	struct stack_ask ask = {
		.m = fuzz_captured(), .inv = &inv, .how = &how, .gpus_from = "--gpu"
	};
	struct stack_view v = { .m = ask.m,
				.inv = &inv,
				.found = &found,
				.how = &how,
				.gpus_from = "--gpu",
				.all = true };
	struct err e = { 0 };
	json_t *j;

	if (t->n && t->files[0].n % 2) {
		what.envs = envs;
		what.n_envs = 1;
	}
	if (inventory_take(a, &root, &what, &inv, &e)) {
		if (!*e.text)
			abort();
		return;
	}
	is_valid(&inv);
	stack_judge(a, &ask, &found);
	for (size_t i = 0; i < found.n; i++)
		if (!found.items[i].id || !found.items[i].reason)
			abort();
	j = result_shape_json(&stack_check_result, &v, 0, 0);
	if (!j || !page_stack_check(a, &v))
		abort();
	json_decref(j);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct tree *t = calloc(1, sizeof(*t));
	struct arena a = { 0 };

	if (!t)
		abort();
	t->host.ops = &tree_ops;
	t->host.id.captured = true;
	plant(t, &a, data, size);
	look(&a, t);
	for (size_t i = 0; i < t->n; i++)
		free((char *)(uintptr_t)t->files[i].s);
	arena_free(&t->host.arena);
	arena_free(&a);
	free(t);
	return 0;
}
