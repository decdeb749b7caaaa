/* SPDX-License-Identifier: Apache-2.0 */
/* Single changes in JSON and YAML by place: the bytes around keep their form. */
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/text.h"
#include "models/generate/lint_train.h"
#include "models/generate/train_edit.h"

void train_edit_leave(struct train_edit *e, unsigned line, const char *what, const char *why)
{
	if (e->n_left < TRAIN_LEFT_MAX)
		e->left[e->n_left++] = (struct train_left){ line, what, why };
}

const struct markup_node *train_edit_at(const struct train_edit *e, const char *path)
{
	const struct train_doc d = { .root = e->root, .loose = e->format == TRAINER_FILE };
	const struct markup_node *n = d.root ? train_at(&d, path) : NULL;

	for (size_t i = 0; i < e->n_renamed; i++) {
		size_t len = strlen(e->renamed[i].path);

		if (strncmp(e->renamed[i].path, path, len) == 0 && path[len] == '.')
			return markup_find(e->renamed[i].n, path + len + 1);
		if (strcmp(e->renamed[i].path, path) == 0)
			return e->renamed[i].n;
	}

	/* train_at leaves null out, which is a value to be changed here. */
	return n ? n : d.root ? markup_find(d.root, path) : NULL;
}

const struct markup_node *train_edit_bare(const struct markup_node *n, struct markup_node *own)
{
	if (!n || n->kind != MARKUP_SCALAR || !n->quoted)
		return n;
	*own = *n;
	own->quoted = false;
	return own;
}

static void change(struct train_edit *e, const struct markup_node *n, size_t at, size_t len,
		   const char *with, const char *what, const char *reason)
{
	struct edit one = { .at = at, .n = len, .with = with, .what = what, .reason = reason };
	struct err err = { 0 };

	if (edit_add(e->a, &e->edits, &one, &err) < 0)
		train_edit_leave(e, n->line, what, arena_strdup(e->a, err.text));
}

/* Shared with other places, or of a form that is not changed here. */
static const char *train_edit_place_shared(const struct markup_node *n)
{
	for (const struct markup_node *p = n; p; p = p->parent) {
		if (p->kind == MARKUP_ALIAS)
			return "its value is an alias, whose target is also used elsewhere";
		if (p->anchor)
			return "its value has an anchor, so it is also used elsewhere";
	}
	if (!n)
		return NULL;
	return n->tagged ? "its value has a YAML tag" : n->block ? "a multi-line text" : NULL;
}

static bool train_edit_place_same(const struct markup_node *n, const char *value, bool text)
{
	struct markup_node other = { .kind = MARKUP_SCALAR, .text = value, .quoted = text };
	double x, y;
	bool p, q;

	if (n->kind != MARKUP_SCALAR || (n->quoted && !text))
		return false;
	if (markup_number(n, &x) && markup_number(&other, &y))
		return fabs(x - y) <= 0;
	if (markup_bool(n, &p) && markup_bool(&other, &q))
		return p == q;
	return strcasecmp(n->text, value) == 0;
}

/* A scalar as this file's language has it; like: in the quotes of another. */
static const char *written(const struct train_edit *e, const char *value, bool text,
			   const struct markup_node *like)
{
	char quote = like && like->quoted ? e->m.text[like->begin] : 0;
	const char *own;

	if (!text)
		return value;
	if (!e->m.json && !quote &&
	    !value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")] &&
	    strcasecmp(value, "no") != 0 && strcasecmp(value, "yes") != 0)
		return value;
	if (quote == '\'' && !strchr(value, '\''))
		return arena_printf(e->a, "'%s'", value);
	own = json_take_text(e->a, json_string(value), JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	return own ? own : "\"\"";
}

static const char *last_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

/* --- putting in ------------------------------------------------------------------------------- */
/* Bytes in front of a key in its line: the indentation, or "- " with it. */
static const char *indent_of(const struct train_edit *e, const struct markup_node *key)
{
	size_t from = key->begin;
	char *s;

	while (from && e->m.text[from - 1] != '\n')
		from--;
	s = arena_strndup(e->a, e->m.text + from, key->begin - from);
	for (char *c = s; *c; c++)
		if (*c != ' ' && *c != '\t')
			*c = ' ';
	return s;
}

static bool one_line(const struct train_edit *e, const struct markup_node *map)
{
	return !memchr(e->m.text + map->begin, '\n', map->end - map->begin);
}

static size_t line_behind(const struct train_edit *e, size_t at)
{
	const char *end;

	if (at && e->m.text[at - 1] == '\n')
		return at;
	end = memchr(e->m.text + at, '\n', e->m.len - at);
	return end ? (size_t)(end - e->m.text) + 1 : e->m.len;
}

/* Taken out already. */
static bool train_edit_place_gone(const struct train_edit *e, const struct markup_node *n)
{
	for (size_t i = 0; i < e->edits.n; i++) {
		const struct edit *x = &e->edits.at[i];

		if (x->n && !*x->with && x->at <= n->key->begin && n->key->begin < x->at + x->n)
			return true;
	}
	return false;
}

/* Nothing stays of what this map had. */
static bool emptied(const struct train_edit *e, const struct markup_node *map)
{
	for (const struct markup_node *c = map->first; c; c = c->next)
		if (!c->key || !train_edit_place_gone(e, c))
			return false;
	return true;
}

/* What was put in behind entries that are all gone has nothing to be parted from. */
static void without_comma(struct train_edit *e, const struct markup_node *map)
{
	for (size_t i = 0; i < e->edits.n; i++) {
		struct edit *x = &e->edits.at[i];

		if (!x->n && x->at == map->last->end && *x->with == ',')
			x->with += 1 + strspn(x->with + 1, " \t\r\n");
	}
}

/* entry: "key: value" of this language. */
static void train_edit_place_put_in(struct train_edit *e, const struct markup_node *map,
				    const char *entry, const char *what, const char *reason)
{
	const char *newline = e->m.crlf ? "\r\n" : "\n", *with;
	size_t at;

	if (!map->last) {
		at = map->begin + 1;
		with = entry;
	} else if (map->flow) {
		at = map->last->end;
		with = one_line(e, map) ? arena_printf(e->a, ", %s", entry)
					: arena_printf(e->a, ",%s%s%s", newline,
						       indent_of(e, map->last->key), entry);
	} else {
		at = line_behind(e, map->last->end);
		with = arena_printf(e->a, "%s%s%s%s",
				    at && e->m.text[at - 1] != '\n' ? newline : "",
				    indent_of(e, map->first->key), entry,
				    at && e->m.text[at - 1] != '\n' ? "" : newline);
	}
	change(e, map, at, 0, with, what, reason);
	if (map->flow && map->last && emptied(e, map))
		without_comma(e, map);
}

static const char *entry_of(const struct train_edit *e, const char *name, const char *value)
{
	return e->m.json ? arena_printf(e->a, "\"%s\": %s", name, value)
			 : arena_printf(e->a, "%s: %s", name, value);
}

/* The map where the Trainer's arguments stand: that of the first that is there. */
static const struct markup_node *train_edit_place_beside(const struct train_edit *e)
{
	static const char *const keys[] = { "per_device_train_batch_size",
					    "gradient_accumulation_steps",
					    "output_dir",
					    "learning_rate",
					    "gradient_checkpointing",
					    "dataloader_num_workers" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct markup_node *n = train_edit_at(e, keys[i]);

		if (n && n->parent)
			return n->parent;
	}
	return e->root;
}

static void train_edit_place_insert(struct train_edit *e, const char *path, const char *value,
				    bool text, const char *what, const char *reason)
{
	const char *name = last_of(path), *entry;
	const struct markup_node *map = e->root;
	const char *section = NULL;

	if (name != path) {
		section = arena_strndup(e->a, path, (size_t)(name - path) - 1);
		map = train_edit_at(e, section);
	}
	if (e->format == TRAINER_FILE && !section)
		map = train_edit_place_beside(e);
	entry = entry_of(e, name, written(e, value, text, NULL));
	if (!map && section && !strchr(section, '.')) {
		/* The whole section, on one line. */
		entry = entry_of(e, section, arena_printf(e->a, "{%s}", entry));
		map = e->root;
	}
	if (!map || map->kind != MARKUP_MAP) {
		train_edit_leave(e, map ? map->line : 0, what, "its section is missing");
		return;
	}
	if (train_edit_place_shared(map)) {
		train_edit_leave(e, map->line, what, train_edit_place_shared(map));
		return;
	}
	train_edit_place_put_in(e, map, entry, what, reason);
}

void train_edit_set(struct train_edit *e, const char *path, const char *value, bool text,
		    const char *reason)
{
	const struct markup_node *n = train_edit_at(e, path);
	const char *what;

	if (!n) {
		train_edit_place_insert(e, path, value, text,
					arena_printf(e->a, "%s: %s", path, value), reason);
		return;
	}
	if (train_edit_place_same(n, value, text) ||
	    (n->kind == MARKUP_SCALAR && strcmp(n->text, "auto") == 0))
		return;
	what = arena_printf(e->a, "%s: %s%.60s%s -> %s", path, n->quoted && !text ? "\"" : "",
			    n->kind == MARKUP_SCALAR ? n->text : "...",
			    n->quoted && !text ? "\"" : "", value);
	if (n->kind != MARKUP_SCALAR || train_edit_place_shared(n)) {
		train_edit_leave(e, n->line, what,
				 train_edit_place_shared(n) ? train_edit_place_shared(n)
							    : "a section");
		return;
	}
	change(e, n, n->begin, n->end - n->begin,
	       /* "key:" with nothing behind it. */
	       arena_printf(e->a, "%s%s",
			    n->begin == n->end && n->begin && e->m.text[n->begin - 1] == ':' ? " "
											     : "",
			    written(e, value, text, n)),
	       what, reason);
}

/* --- taking out ------------------------------------------------------------------------------- */
void train_edit_drop(struct train_edit *e, const struct markup_node *n, const char *reason)
{
	const struct markup_node *map = n->parent, *before = NULL;
	bool first = true; /* of those that stay */
	const char *what = arena_printf(e->a, "%s: removed", n->key ? n->key->text : "");
	size_t from, to;

	if (!map || !n->key)
		return;
	if (n->anchor || train_edit_place_shared(map)) {
		train_edit_leave(e, n->line, what,
				 n->anchor ? train_edit_place_shared(n)
					   : train_edit_place_shared(map));
		return;
	}
	for (const struct markup_node *c = map->first; c && c != n; c = c->next) {
		before = c;
		first = first && c->key && train_edit_place_gone(e, c);
	}
	/* With the comma in front of it; what nothing stands in front of, with the one behind. */
	if (map->flow) {
		from = first || !before ? n->key->begin : before->end;
		to = first && n->next ? n->next->key->begin : n->end;
	} else {
		from = n->key->begin;
		while (from && e->m.text[from - 1] != '\n')
			from--;
		to = line_behind(e, n->end);
		/* "- key: value" of a list keeps its dash. */
		if (strchr(arena_strndup(e->a, e->m.text + from, n->key->begin - from), '-')) {
			train_edit_leave(e, n->line, what, "its key is the first of a list entry");
			return;
		}
	}
	change(e, n, from, to - from, "", what, reason);
	if (map->flow && emptied(e, map))
		without_comma(e, map);
}

void train_edit_rename(struct train_edit *e, const struct markup_node *n, const char *path,
		       const char *reason)
{
	const struct markup_node *k = n->key;
	const char *name = last_of(path), *what = arena_printf(e->a, "%s -> %s", k->text, name);

	if (train_edit_place_shared(k) || e->n_renamed >= TRAIN_RENAMES_MAX) {
		train_edit_leave(e, k->line, what,
				 train_edit_place_shared(k) ? train_edit_place_shared(k)
							    : "too many changes");
		return;
	}
	e->renamed[e->n_renamed].path = path;
	e->renamed[e->n_renamed++].n = n;
	change(e, k, k->begin, k->end - k->begin, written(e, name, k->quoted || e->m.json, k), what,
	       reason);
}
