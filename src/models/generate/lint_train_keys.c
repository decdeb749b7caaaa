/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and values against the list of what the program reads. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/generate/lint_train.h"

static void say(const struct train_doc *d, enum lint_level level, const char *code,
		const struct markup_node *n, const char *path, const char *fix, const char *says)
{
	lint_add(d->l, level, code, n->key ? n->key->line : n->line, path, fix,
		 train_schemas[d->format].source, "%s", says);
}

static void unknown(const struct train_doc *d, const struct markup_node *n, const char *path,
		    const struct train_key *section)
{
	const struct train_schema *s = &train_schemas[d->format];
	const char *near = train_key_near(d->l->a, d->format, path), *where = NULL, *fix;
	bool refuses = section ? section->type == KEY_STRICT : d->format == ACCELERATE_FILE;
	const char *way = refuses ? "and refuses to start with it" : "and ignores it";

	if (!near)
		where = train_key_elsewhere(d->format, path);
	/* Among arguments of other classes only what looks like a slip is one. */
	if ((d->loose || d->format == FSDP_FILE) && !near)
		return;
	fix = near    ? arena_printf(d->l->a, "%s?", near)
	      : where ? arena_printf(d->l->a, "it belongs to %s", where)
		      : "take it out";
	say(d, refuses ? LINT_ERROR : LINT_WARNING, refuses ? "unknown-key" : "dead-key", n, path,
	    fix,
	    d->loose
		    ? arena_printf(d->l->a, "transformers knows no argument %s", path)
		    : arena_printf(d->l->a, "no %s from %s to %s knows the key %s%s%s, %s", s->name,
				   s->oldest, s->newest, path, section ? "" : " here", "", way));
}

static void age(const struct train_doc *d, const struct markup_node *n, const struct train_key *k,
		const char *path)
{
	const struct train_schema *s = &train_schemas[d->format];

	if (k->until)
		say(d, k->instead && d->format != TRAINER_FILE ? LINT_WARNING : LINT_NOTE,
		    "removed", n, path, k->instead ? k->instead : "take it out",
		    arena_printf(d->l->a, "%s %s and later do not know %s any more", s->name,
				 k->until, path));
	else if (k->instead)
		say(d, LINT_WARNING, "old-key", n, path, k->instead,
		    arena_printf(d->l->a, "%s is an old name of %s", path, k->instead));
}

static bool one_of(const char *words, const char *s)
{
	size_t len = strlen(s);

	for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strcspn(at, " ") == len && strncasecmp(at, s, len) == 0)
			return true;
	return false;
}

/* PyYAML takes "2e-5" and "1e9" for texts: it wants a point and a sign. */
static bool number_to_pyyaml(const char *s)
{
	const char *e = strpbrk(s, "eE"), *point = strchr(s, '.');

	return !e || (point && point < e && (e[1] == '-' || e[1] == '+'));
}

static void number(const struct train_doc *d, const struct markup_node *n,
		   const struct train_key *k, const char *path)
{
	const struct markup_node *r = markup_real(n);
	double v;

	if (!markup_number(n, &v)) {
		say(d, LINT_ERROR, "bad-value", n, path, NULL,
		    arena_printf(d->l->a, "%s has to be a%s number, not %s%.40s%s", path,
				 k->type == KEY_INT ? " whole" : "", r->quoted ? "\"" : "",
				 r->kind == MARKUP_SCALAR ? r->text : "a map or list",
				 r->quoted ? "\"" : ""));
		return;
	}
	if (!d->json && !d->command && !number_to_pyyaml(r->text))
		say(d, LINT_ERROR, "yaml-number", n, path,
		    arena_printf(d->l->a, "%s",
				 strpbrk(r->text, "-") ? "write 2.0e-5 for 2e-5"
						       : "write 1.0e+9 for 1e9"),
		    arena_printf(d->l->a,
				 "Python's YAML reader takes %s for a text: a number with an "
				 "exponent needs a point and a sign",
				 r->text));
	else if (k->type == KEY_INT && fabs(v - round(v)) > 0)
		say(d, LINT_ERROR, "bad-value", n, path, NULL,
		    arena_printf(d->l->a, "%s has to be a whole number, not %.40s", path, r->text));
}

static void value(const struct train_doc *d, const struct markup_node *n, const struct train_key *k,
		  const char *path)
{
	const struct markup_node *r = markup_real(n);
	bool truth;

	if (!r || markup_null(r) || (r->kind == MARKUP_SCALAR && strcmp(r->text, "auto") == 0) ||
	    (r->kind == MARKUP_SCALAR && strpbrk(r->text, "${<")))
		return;
	if (k->type == KEY_BOOL && !markup_bool(r, &truth)) {
		/* "true" in quotes is taken as true by all; "false" is true to some. */
		if (r->kind != MARKUP_SCALAR || strcasecmp(r->text, "true") != 0)
			say(d, LINT_ERROR, "bad-value", n, path, "true or false, without quotes",
			    arena_printf(d->l->a, "%s is a switch: %s%.40s%s is none%s", path,
					 r->quoted ? "\"" : "",
					 r->kind == MARKUP_SCALAR ? r->text : "a map or list",
					 r->quoted ? "\"" : "",
					 r->quoted ? ", and a text that is not empty counts as true"
						   : ""));
		else if (d->json && r->quoted)
			say(d, LINT_WARNING, "bad-value", n, path, "true, without quotes",
			    arena_printf(d->l->a,
					 "%s is a switch, and \"%.40s\" is a text: it works "
					 "where any text counts as true",
					 path, r->text));
	} else if (k->type == KEY_INT || k->type == KEY_NUMBER) {
		number(d, n, k, path);
	} else if (k->type == KEY_WORDS &&
		   (r->kind != MARKUP_SCALAR || !one_of(k->words, r->text))) {
		say(d, LINT_ERROR, "bad-value", n, path, NULL,
		    arena_printf(d->l->a, "%s takes one of %s, not %.40s", path, k->words,
				 r->kind == MARKUP_SCALAR ? r->text : "a map or list"));
	}
}

static void twice(const struct train_doc *d, const struct markup_node *map)
{
	size_t n = 0;

	for (const struct markup_node *c = map->first; c && n < 400; c = c->next, n++)
		for (const struct markup_node *o = map->first; o != c; o = o->next)
			if (c->key && o->key && c->key->kind == MARKUP_SCALAR &&
			    o->key->kind == MARKUP_SCALAR && strcmp(c->key->text, "<<") != 0 &&
			    strcmp(c->key->text, o->key->text) == 0)
				say(d, LINT_ERROR, "key-twice", c, c->key->text, "take one out",
				    arena_printf(d->l->a,
						 "%s stands in line %u as well: the later one "
						 "counts, without a word",
						 c->key->text, o->key->line));
}

static void walk(const struct train_doc *d, const struct markup_node *map, const char *prefix,
		 const struct train_key *section, int depth)
{
	twice(d, map);
	for (const struct markup_node *c = map->first; c; c = c->next) {
		const char *name = c->key && c->key->kind == MARKUP_SCALAR ? c->key->text : NULL;
		const struct markup_node *r = markup_real(c);
		const struct train_key *k;
		const char *path;

		if (!name || strcmp(name, "<<") == 0 || strlen(name) > 100)
			continue;
		path = *prefix ? arena_printf(d->l->a, "%s.%s", prefix, name) : name;
		k = train_key(d->format, path);
		if (!k && d->loose && r && r->kind == MARKUP_MAP && depth < 3) {
			walk(d, r, "", NULL, depth + 1);
			continue;
		}
		if (!k) {
			unknown(d, c, path, section);
			continue;
		}
		age(d, c, k, path);
		if (k->type != KEY_OBJECT && k->type != KEY_STRICT)
			value(d, c, k, path);
		else if (r && r->kind == MARKUP_MAP && depth < 3)
			walk(d, r, path, k, depth + 1);
	}
}

void lint_train_keys(const struct train_doc *d)
{
	if (!d->command)
		walk(d, d->root, "", NULL, 0);
}
