/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of files over those that are compiled in. It knows places and order, not what rows mean. */
#include "knowledge/knowledge.h"

#include <string.h>

#include "base/rows.h"
#include "knowledge/package.h"
#include "machine/host/host.h"

const struct knowledge knowledge_built_in = { .gpus = gpu_kinds, .models = model_rows };

const char knowledge_package[] = KNOWLEDGE_FOLDER;

/* The package's folder is the first of them. */
enum { PACKAGE = 1, FOLDERS = 3 };

struct knowledge_reading {
	struct arena *a;
	struct host *h;
	const char *folders[FOLDERS]; /* later ones win; NULL: it has none */
	struct data_package package;  /* over the first of them */
	knowledge_warn *warn;
	void *ctx;
};

/* The rows of a file; none where there is none, or it is wrong. */
static struct row_list knowledge_read_file(struct knowledge_reading *g, const struct row_table *t,
					   const char *folder)
{
	const char *path = arena_printf(g->a, "%s/%s.rows", folder, t->name);
	struct row_list rows = { 0 };
	struct err e = { 0 };
	size_t len;
	char *text;
	int code = host_read(g->h, path, ROW_BYTES_MAX, g->a, &text, &len);

	if (code == -ENOENT || code == -ENOTDIR || code == HOST_NOT_CAPTURED)
		return rows;
	if (code)
		err_set(&e, code, "%s: cannot read: %s", path, strerror(-code));
	else
		code = rows_read(g->a, t, text, len, path, &rows, &e);
	if (code && !e.hint[0])
		err_hint(&e, "gputune ignores the whole file");
	if (code)
		g->warn(g->ctx, &e);
	return rows;
}

static char *row_at(const struct row_table *t, const struct row_list *rows, size_t i)
{
	return (char *)rows->items + i * t->size;
}

static const char *name_of(const struct row_table *t, const char *row)
{
	return *(const char *const *)(const void *)(row + t->columns[0].offset);
}

/* The row of this name; NULL: none. */
static char *row_named(const struct row_table *t, const struct row_list *rows, const char *name)
{
	for (size_t i = 0; i < rows->n; i++)
		if (strcmp(name_of(t, row_at(t, rows, i)), name) == 0)
			return row_at(t, rows, i);
	return NULL;
}

/* New rows before all others, the rest in the place of those with their names. */
static void lay_over(struct arena *a, const struct row_table *t, struct row_list *under,
		     const struct row_list *over)
{
	struct row_list all = { .items = arena_array(a, under->n + over->n + 1, t->size) };

	for (size_t i = 0; i < over->n; i++)
		if (!row_named(t, under, name_of(t, row_at(t, over, i))))
			memcpy(row_at(t, &all, all.n++), row_at(t, over, i), t->size);
	for (size_t i = 0; i < under->n; i++) {
		const char *own = row_at(t, under, i), *other = row_named(t, over, name_of(t, own));

		memcpy(row_at(t, &all, all.n++), other ? other : own, t->size);
	}
	*under = all;
}

/* The rows of the signed data package: package_open has read them once. */
static void lay_package(struct knowledge_reading *g, const struct row_table *t,
			struct row_list *all)
{
	const char *name = arena_printf(g->a, "%s.rows", t->name);
	const json_t *text = json_object_get(g->package.files, name);
	struct row_list rows;
	struct err e;

	if (text && rows_read(g->a, t, json_string_value(text), json_string_length(text), name,
			      &rows, &e) == 0)
		lay_over(g->a, t, all, &rows);
}

static const void *read_table(struct knowledge_reading *g, const struct row_table *t,
			      const void *built_in, size_t n, size_t folders)
{
	struct row_list all = { .items = (void *)(uintptr_t)built_in, .n = n };

	for (size_t i = 0; i < folders; i++) {
		struct row_list rows = { 0 };

		if (g->folders[i])
			rows = knowledge_read_file(g, t, g->folders[i]);
		if (rows.n)
			lay_over(g->a, t, &all, &rows);
		if (i == 0)
			lay_package(g, t, &all);
	}
	return all.items;
}

void knowledge_read(struct arena *a, struct host *h, bool captured, knowledge_warn *warn, void *ctx,
		    struct knowledge *out)
{
	struct knowledge_reading g = { .a = a, .h = h, .warn = warn, .ctx = ctx };
	struct err e = { 0 };

	if (package_read(a, h, &g.package, &e) && *e.text)
		warn(ctx, &e);
	g.folders[0] = knowledge_package;
	g.folders[1] = "/etc/gputune/knowledge";
	g.folders[2] = knowledge_home(a, h, "XDG_CONFIG_HOME", "/.config", "gputune/knowledge");
	out->gpus =
		read_table(&g, &gpu_table, gpu_kinds, n_gpu_kinds, captured ? PACKAGE : FOLDERS);
	out->models = read_table(&g, &model_table, model_rows, n_model_rows, FOLDERS);
	package_close(&g.package);
}
