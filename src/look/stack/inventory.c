/* SPDX-License-Identifier: Apache-2.0 */
/* The system's loader cache and the CUDA toolkits; and the GPU code of everything found. */
#include "look/stack/inventory.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "look/stack/inventory_inside.h"
#include "look/stack/ld_cache.h"

size_t take_place(struct take *t, enum place_kind kind, const char *path)
{
	struct inventory *v = t->out;

	for (size_t i = 0; i < v->n_places; i++)
		if (v->places[i].kind == kind && strcmp(v->places[i].path, path) == 0)
			return i;
	v->places = arena_grow(t->a, v->places, v->n_places, sizeof(*v->places));
	v->places[v->n_places] =
		(struct stack_place){ .kind = kind, .path = arena_strdup(t->a, path) };
	return v->n_places++;
}

struct stack_item *take_item(struct take *t, enum component c, size_t place, const char *path)
{
	struct inventory *v = t->out;

	for (size_t i = 0; i < v->n_items; i++)
		if (v->items[i].c == c && strcmp(v->items[i].path, path) == 0)
			return NULL;
	v->items = arena_grow(t->a, v->items, v->n_items, sizeof(*v->items));
	v->items[v->n_items] =
		(struct stack_item){ .c = c, .place = place, .path = arena_strdup(t->a, path) };
	return &v->items[v->n_items++];
}

/* "libnccl.so.2": one number behind ".so.", or LLVM's "libLLVM-15.so.1". */
static bool plain_soname(const char *name)
{
	const char *so = strstr(name, ".so.");

	if (!so)
		return false;
	for (so += 4; *so; so++)
		if (!isdigit((unsigned char)*so))
			return false;
	return true;
}

static void add_library(struct take *t, size_t place, const char *name, const char *path)
{
	enum component c = component_of_soname(name);
	struct stack_item *item;

	if (c == COMPONENTS ||
	    !(c == COMPONENT_LLVM ? strstr(name, ".so.") != NULL : plain_soname(name)))
		return;
	item = take_item(t, c, place, path);
	if (item)
		item->soname = arena_strdup(t->a, name);
}

void take_folder(struct take *t, size_t place, const char *dir)
{
	char **names;
	size_t n;

	if (host_list(t->root->h, dir, t->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		add_library(t, place, names[i], arena_printf(t->a, "%s/%s", dir, names[i]));
}

static int on_cached(void *ctx, const char *name, const char *path)
{
	struct take *t = ctx;

	/* A toolkit whose folder the loader knows is the toolkit's, not a second one. */
	if (!str_starts(path, "/usr/local/cuda"))
		add_library(t, 0, name, path);
	return 0;
}

static void take_system(struct take *t)
{
	char *data;
	size_t len;
	int code = host_read(t->root->h, "/etc/ld.so.cache", LD_CACHE_MAX, t->a, &data, &len);

	take_place(t, PLACE_SYSTEM, "/");
	if (!code)
		code = ld_cache_each(data, len, on_cached, t);
	t->out->system_seen = code == 0;
	if (code == -EBADMSG)
		t->out->system_why = "/etc/ld.so.cache is not in glibc's format";
	else if (code)
		t->out->system_why =
			arena_printf(t->a, "/etc/ld.so.cache: %s",
				     code == HOST_NOT_CAPTURED ? "not captured" : strerror(-code));
}

/* {"cuda": {"version": "13.0.1"}}; older ones have text: "CUDA Version 10.2.89". */
static const char *toolkit_version(struct take *t, const char *dir)
{
	const char *version = NULL, *said;
	char *text;
	json_t *j;

	if (host_read(t->root->h, arena_printf(t->a, "%s/version.json", dir), HOST_READ_MAX, t->a,
		      &text, NULL) == 0) {
		j = json_loads(text, 0, NULL);
		if (j && json_unpack(j, "{s:{s:s}}", "cuda", "version", &said) == 0)
			version = arena_strdup(t->a, said);
		json_decref(j);
	}
	/* "cuda-13.0": what the folder is called says the release. */
	if (!version && strstr(dir, "/cuda-"))
		version = strstr(dir, "/cuda-") + 6;
	return version && isdigit((unsigned char)*version) ? version : NULL;
}

static void take_toolkit(struct take *t, const char *dir)
{
	static const char *const libs[] = { "lib64", "lib", "targets/x86_64-linux/lib",
					    "targets/sbsa-linux/lib", "targets/aarch64-linux/lib" };
	size_t i = take_place(t, PLACE_TOOLKIT, dir), before = t->out->n_items;

	t->out->places[i].version = toolkit_version(t, dir);
	t->out->places[i].nvcc = host_exists(t->root->h, arena_printf(t->a, "%s/bin/nvcc", dir));
	/* These are links to each other: the first that has any is enough. */
	for (size_t k = 0; k < 5 && t->out->n_items == before; k++)
		take_folder(t, i, arena_printf(t->a, "%s/%s", dir, libs[k]));
}

/* /usr/local/cuda is a link to one of the others, as a rule. */
static void take_toolkits(struct take *t)
{
	char **names, target[HOST_PATH_MAX];
	size_t n;

	if (host_list(t->root->h, "/usr/local", t->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *dir = arena_printf(t->a, "/usr/local/%s", names[i]);

		if (!str_starts(names[i], "cuda") ||
		    host_link(t->root->h, dir, target, sizeof(target)) == 0)
			continue;
		if (host_exists(t->root->h, arena_printf(t->a, "%s/bin", dir)) ||
		    host_exists(t->root->h, arena_printf(t->a, "%s/lib64", dir)))
			take_toolkit(t, dir);
	}
}

/* --- GPU code --- */

static void merge(struct arena *a, struct scan *into, const struct scan *s)
{
	for (size_t i = 0; i < s->codes.n; i++)
		code_add(a, &into->codes, &s->codes.items[i]);
	into->entries += s->entries;
	into->containers += s->containers;
	into->size += s->size;
	if (s->error && !into->error)
		into->error = arena_printf(a, "%s: %s", s->path, s->error);
}

static void scan_one(struct take *t, struct stack_item *item, const char *path)
{
	struct input_file f;
	struct err e = { 0 };
	struct scan s;

	if (stack_open(t->root, path, &f, &e)) {
		item->code.error = item->code.error ? item->code.error : arena_strdup(t->a, e.text);
		return;
	}
	scan_input(t->a, &f.in, path, t->how->scan, &s);
	input_close(&f);
	merge(t->a, &item->code, &s);
	item->scanned = true;
}

/* "dir/prefix*" below a folder. */
static void scan_pattern(struct take *t, struct stack_item *item, const char *base,
			 const char *pattern)
{
	const char *slash = strrchr(pattern, '/'), *name = slash ? slash + 1 : pattern;
	size_t n = strlen(name), count;
	const char *dir = arena_printf(t->a, "%s%s%.*s", base, slash ? "/" : "",
				       slash ? (int)(slash - pattern) : 0, pattern);
	char **names;

	if (name[n - 1] != '*') {
		if (host_exists(t->root->h, arena_printf(t->a, "%s/%s", dir, name)))
			scan_one(t, item, arena_printf(t->a, "%s/%s", dir, name));
		return;
	}
	if (host_list(t->root->h, dir, t->a, &names, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(names[i], name, n - 1) != 0 || !scan_name(names[i]))
			continue;
		scan_one(t, item, arena_printf(t->a, "%s/%s", dir, names[i]));
		/* Further names in a library's folder are links to the same file. */
		if (item->soname)
			return;
	}
}

static void take_code(struct take *t, struct stack_item *item)
{
	const struct component_row *row = &components[item->c];
	const char *base =
		item->soname ? path_folder(t->a, item->path) : t->out->places[item->place].packages;

	if (!row->code || !base)
		return;
	for (const char *const *p = row->code; *p; p++)
		if (!item->soname == (strchr(*p, '/') || !row->soname))
			scan_pattern(t, item, base, *p);
	code_sort(&item->code.codes);
}

int inventory_take(struct arena *a, const struct stack_root *root,
		   const struct inventory_options *how, struct inventory *out, struct err *e)
{
	struct take t = { a, root, how, out };
	int code;

	*out = (struct inventory){ 0 };
	take_system(&t);
	take_toolkits(&t);
	code = take_python(&t, e);
	if (code)
		return code;
	for (size_t i = 0; i < out->n_items; i++) {
		take_version(&t, &out->items[i]);
		if (how->deep && out->items[i].soname)
			take_said(&t, &out->items[i]);
		if (root->contents)
			take_code(&t, &out->items[i]);
	}
	return 0;
}
