/* SPDX-License-Identifier: Apache-2.0 */
/* gputune model: shapes of models of one's own, read from their files. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/rows.h"
#include "base/text.h"
#include "knowledge/package.h"
#include "machine/write/write.h"
#include "render/doc.h"
#include "verbs/model_files.h"

struct model_add_ask {
	const char *file, *name;
	bool dry_run;
};

struct model_added {
	const char *name, *path, *row, *taken;
	bool written, replaced, guessed;
};

/* clang-format off */
static const struct ask_row model_add_ask_rows[] = {
	{ "FILE", "a config.json, a checkpoint folder or a GGUF file", ASK_TEXT(model_add_ask, file),
	  .argument = true, .required = true, .files = true },
	{ "name", "name of the model (default: that of its folder or file)",
	  ASK_TEXT(model_add_ask, name), .arg = "NAME" },
	{ "dry-run", "show the entry and write nothing", ASK_FLAG(model_add_ask, dry_run) },
};

static const struct shape model_added_shape = SHAPE_OF(model_added, added,
	{ "name", "Name of the model.", SHAPE_TEXT(model_added, name) },
	{ "path", "Path of your models.rows.", SHAPE_TEXT(model_added, path), .unknown = SHAPE_NULL },
	{ "row", "The entry, in the form of models.rows.", SHAPE_TEXT(model_added, row) },
	{ "taken", "Values read and values assumed.", SHAPE_TEXT(model_added, taken) },
	{ "written", NULL, SHAPE_FLAG(model_added, written) },
	{ "replaced", "true: an earlier entry with that name was replaced.", SHAPE_FLAG(model_added, replaced) },
	{ "uncertain", "true: some figures were assumed.", SHAPE_FLAG(model_added, guessed) });

static const struct result_shape model_result = {
	.name = "model", .title = "gputune model add",
	.meaning = "A model's shape and formats, as read from its files.",
	.shape = &model_added_shape, .exit_codes = 1u << 0 | 1u << 2 | 1u << 3,
};
/* clang-format on */

/* "org/Acme-9B/config.json" is Acme-9B. */
static const char *name_of_path(struct arena *a, const char *path)
{
	size_t n = strlen(path), from;

	if (str_ends(path, "/config.json"))
		n -= strlen("/config.json");
	else if (str_ends(path, ".gguf") || str_ends(path, ".json"))
		n -= 5;
	while (n > 1 && path[n - 1] == '/')
		n--;
	for (from = n; from > 0 && path[from - 1] != '/';)
		from--;
	return arena_strndup(a, path + from, n - from);
}

/* "Acme-9B" is asked for by "acme|9b". NULL: it has no letters. */
static const char *keys_of(struct arena *a, const char *name)
{
	char *keys = arena_alloc(a, strlen(name) + 1), *to = keys;

	for (const char *s = name; *s; s++) {
		bool dot = *s == '.' && s > name && isdigit((unsigned char)s[-1]) &&
			   isdigit((unsigned char)s[1]);

		if (isalnum((unsigned char)*s) || dot)
			*to++ = (char)tolower((unsigned char)*s);
		else if (to > keys && to[-1] != '|')
			*to++ = '|';
	}
	while (to > keys && to[-1] == '|')
		to--;
	*to = '\0';
	return *keys ? keys : NULL;
}

static const char *today(struct arena *a)
{
	char stamp[STAMP_SIZE];

	return stamp_format((long long)time(NULL), stamp) == 0 ? arena_strndup(a, stamp, 10) : NULL;
}

static struct model_row row_of(struct arena *a, const struct model_file *f, const char *path,
			       const char *name)
{
	struct model_row r = { .keys = keys_of(a, name), .a = f->arch };
	const struct format *x = &f->exact;

	r.a.name = name;
	r.a.source = path;
	r.a.date = today(a);
	r.a.format = f->format;
	r.a.scale = 0;
	if (x->name)
		r.a.stored = (struct part_bytes){ x->experts, x->dense, x->shared, x->attention,
						  x->linear,  x->head,	x->embed };
	return r;
}

/* The user's file with the row in the place of one of its name, else at its end. */
static int with_row(struct door *d, const char *old, const char *row, struct model_added *out,
		    const char **text)
{
	struct arena *a = d->arena;
	const char *first = strchr(row, ' ');
	size_t n = (size_t)(first - row) + 1;

	*text = "";
	for (const char *s = old; *s;) {
		size_t len = strcspn(s, "\n");

		if (strncmp(s, row, n) == 0) {
			out->replaced = true;
			*text = arena_printf(a, "%s%s\n", *text, row);
		} else {
			*text = arena_printf(a, "%s%.*s\n", *text, (int)len, s);
		}
		s += len + (s[len] == '\n');
	}
	if (!out->replaced)
		*text = arena_printf(a, "%s%s\n", *text, row);
	return 0;
}

/* As it was or with the row, whole at any time; refused where it would not be read afterwards. */
static int keep_row(struct door *d, struct host *h, struct model_added *out)
{
	struct row_list rows = { 0 };
	struct err e = { 0 };
	const char *text, *folder = arena_strndup(d->arena, out->path,
						  strlen(out->path) - strlen("/models.rows"));
	char *old = "";
	size_t len;
	int code = host_read(h, out->path, ROW_BYTES_MAX, d->arena, &old, &len);

	if (code && code != -ENOENT && code != -ENOTDIR)
		return door_refuse(d, EXIT_NOT_APPLIED, "%s: cannot read: %s", out->path,
				   strerror(-code));
	with_row(d, code ? "" : old, out->row, out, &text);
	if (rows_read(d->arena, &model_table, text, strlen(text), out->path, &rows, &e) < 0)
		return door_fail(d, EXIT_NOT_APPLIED, &e);
	code = door_folders(d, h, folder, 0755, &e);
	code = code ? code : host_put(h, out->path, text, strlen(text), 0644);
	if (code)
		return door_refuse(d, EXIT_NOT_APPLIED, "cannot write %s: %s", out->path,
				   *e.text ? e.text : strerror(-code));
	out->written = true;
	return 0;
}

static int model_add_answer(struct door *d, const struct model_add_ask *ask,
			    struct model_added *out)
{
	struct arena *a = d->arena;
	const char *name = ask->name ? ask->name : name_of_path(a, ask->file);
	HOST_AUTO *h = d->live(d->ctx);
	struct row_list rows = { 0 };
	struct model_file f = { 0 };
	struct model_row row;
	struct err e = { 0 };
	int code = door_model_file(d, ask->file, &f);

	if (code == 0)
		code = door_refuse(d, EXIT_USAGE, "%s: not found", ask->file);
	if (code > 0)
		code = keys_of(a, name) ? 0
					: door_refuse(d, EXIT_USAGE,
						      "\"%s\" has no letters: give --name", name);
	if (code < 0)
		goto end;
	row = row_of(a, &f, ask->file, name);
	*out = (struct model_added){ .name = name, .taken = f.taken, .guessed = f.arch.guessed };
	out->row = row_as_text(a, &model_table, &row);
	out->path = knowledge_home(a, h, "XDG_CONFIG_HOME", "/.config",
				   "gputune/knowledge/models.rows");
	if (rows_read(a, &model_table, out->row, strlen(out->row), ask->file, &rows, &e) < 0)
		code = door_fail(d, EXIT_USAGE, &e);
	else if (!out->path && !ask->dry_run)
		code = door_refuse(d, EXIT_USAGE, "neither XDG_CONFIG_HOME nor HOME is set");
	else if (!ask->dry_run)
		code = keep_row(d, h, out);
end:
	return code;
}

static struct doc *page_model(struct arena *a, const struct model_added *v)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Model");
	doc_verdict(d, v->guessed ? STYLE_WARN : STYLE_GOOD,
		    arena_printf(a, "%s: %s%s%s", v->name,
				 v->replaced  ? "replaced in "
				 : v->written ? "added to "
					      : "not written",
				 v->written ? v->path : "",
				 v->guessed ? "; some figures are assumed" : ""),
		    NULL);
	doc_text(d, "Read: %s.", v->taken);
	doc_text(d, "%s", v->row);
	return d;
}

VERB_ANSWER(model_add_any, model_add_answer, model_add_ask, model_added)
VERB_PAGE_OF(model_page, page_model, model_added)

static const struct verb model_add_verb = {
	.name = "add",
	.summary = "read a model's files and store its dimensions under a name",
	.about = "Reads config.json with its quantization, or a GGUF header, and writes an entry "
		 "to your models.rows. Predictions then accept the model by name.",
	.exits = "3: your models.rows cannot be read or written, and is unchanged",
	.examples =
		EXAMPLES({ "model add ~/models/Acme-9B", "a checkpoint's folder" },
			 { "model add acme-9b-Q4_K_M.gguf --name Acme-9B", "a GGUF file" },
			 { "model add config.json --name Acme-9B --dry-run", "show the entry" }),
	.ask = ASK_OF(model_add_ask, NULL, model_add_ask_rows),
	.answer = model_add_any,
	.result = &model_result,
	.page = model_page,
	.writes = true,
};

static const struct verb *const model_subs[] = { &model_add_verb, NULL };

const struct verb model_verb = {
	.name = "model",
	.group = VERB_MODELS,
	.summary = "add your own model, to use its name in predictions",
	.about = "Adds models that are not built in, from their own files. \"gputune list models\" "
		 "lists all.",
	.words = "checkpoint config gguf catalogue catalog import",
	.examples = EXAMPLES({ "model add ~/models/Acme-9B", "a model from its folder" },
			     { "list models", "all models" }),
	.subs = model_subs,
};
