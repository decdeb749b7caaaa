/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes that udev rules set, with the conditions under which they do. Conditions are kept
 * as text: whether a rule matches a device is judged where the device is known. See udev(7).
 */
#include <string.h>

#include "look/probe/config.h"

enum { TERMS_MAX = 64, GUARDS_MAX = 16, NAME_MAX_ = 128 };

/* KEY{attribute}OP"value" */
struct term {
	char *key, *attribute, *op, *value;
};

/* A rule that jumps over the next ones: they hold only where its conditions do not. */
struct guard {
	char *label;
	const char *condition;
};

struct udev_file {
	struct guard guards[GUARDS_MAX];
	size_t n;
};

/* Ends s after its first n characters and moves *at there. */
static char *cut(struct config_reader *r, char **at, size_t n)
{
	char *s = arena_strndup(r->p->a, *at, n);

	*at += n;
	return s;
}

/* False at the end of the line, and where it is no rule. */
static bool next_term(struct config_reader *r, char **at, struct term *t)
{
	size_t n;

	*at += strspn(*at, " ,");
	n = strspn(*at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	if (!n || n > NAME_MAX_)
		return false;
	t->key = cut(r, at, n);
	t->attribute = NULL;
	if (**at == '{') {
		n = strcspn(++*at, "}");
		if (!(*at)[n] || n > NAME_MAX_)
			return false;
		t->attribute = cut(r, at, n);
		++*at;
	}
	*at += strspn(*at, " ");
	n = strspn(*at, "=!+-:");
	if (!n || n > 2)
		return false;
	t->op = cut(r, at, n);
	*at += strspn(*at, " ei");
	if (**at != '"')
		return false;
	++*at;
	for (n = 0; (*at)[n] && (*at)[n] != '"'; n++)
		if ((*at)[n] == '\\' && (*at)[n + 1])
			n++;
	if (!(*at)[n])
		return false;
	t->value = cut(r, at, n);
	++*at;
	return true;
}

static bool is_condition(const struct term *t)
{
	return strcmp(t->op, "==") == 0 || strcmp(t->op, "!=") == 0;
}

static void add_condition(struct text *when, const struct term *t, bool inverted)
{
	bool equal = (*t->op == '=') != inverted;

	text_printf(when, "%s%s", when->len ? ", " : "", t->key);
	if (t->attribute)
		text_printf(when, "{%s}", t->attribute);
	text_printf(when, "%s\"%s\"", equal ? "==" : "!=", t->value);
}

/* Remembers a jump: one condition is turned round, of several only their text can be kept. */
static void add_guard(struct config_reader *r, struct udev_file *f, const struct term *terms,
		      size_t n, char *label)
{
	const struct term *only = NULL;
	size_t conditions = 0;
	TEXT_AUTO text = { 0 };

	for (size_t i = 0; i < n; i++)
		if (is_condition(&terms[i])) {
			conditions++;
			only = &terms[i];
			add_condition(&text, only, false);
		}
	if (!conditions || f->n == GUARDS_MAX)
		return;
	if (conditions == 1) {
		text_clear(&text);
		add_condition(&text, only, true);
	}
	f->guards[f->n++] = (struct guard){
		.label = label,
		.condition = arena_printf(r->p->a, conditions == 1 ? "%s" : "not (%s)", text.s),
	};
}

static void end_guards(struct udev_file *f, const char *label)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->guards[i].label, label) != 0)
			f->guards[kept++] = f->guards[i];
	f->n = kept;
}

static const char *config_udev_conditions(struct config_reader *r, const struct udev_file *f,
					  const struct term *terms, size_t n)
{
	TEXT_AUTO when = { 0 };

	for (size_t i = 0; i < n; i++)
		if (is_condition(&terms[i]))
			add_condition(&when, &terms[i], false);
	for (size_t i = 0; i < f->n; i++)
		text_printf(&when, "%s%s", when.len ? ", " : "", f->guards[i].condition);
	return arena_strdup(r->p->a, when.s ? when.s : "");
}

static void config_udev_add(struct config_reader *r, const struct term *t, const char *when)
{
	struct assignment *it = NULL;

	if (strcmp(t->key, "ATTR") == 0)
		it = config_add(r, "udev", LAYER_UDEV, t->attribute, t->value);
	if (strcmp(t->key, "SYSCTL") == 0)
		it = config_add_path(r, LAYER_UDEV,
				     arena_printf(r->p->a, "/proc/sys/%s", t->attribute), t->value);
	if (it)
		it->when = fact_str_of(when, "", r->file);
}

static void config_udev_rule(struct config_reader *r, struct udev_file *f, char *line)
{
	struct term terms[TERMS_MAX];
	const char *when = NULL;
	size_t n = 0;

	while (n < TERMS_MAX && next_term(r, &line, &terms[n]))
		n++;
	for (size_t i = 0; i < n; i++)
		if (strcmp(terms[i].key, "LABEL") == 0)
			end_guards(f, terms[i].value);
	for (size_t i = 0; i < n; i++) {
		if (is_condition(&terms[i]) || !terms[i].attribute || *terms[i].op == '-')
			continue;
		if (!when)
			when = config_udev_conditions(r, f, terms, n);
		config_udev_add(r, &terms[i], when);
	}
	for (size_t i = 0; i < n; i++)
		if (strcmp(terms[i].key, "GOTO") == 0)
			add_guard(r, f, terms, n, terms[i].value);
}

void config_udev(struct config_reader *r)
{
	static const char *const folders[] = { "/etc/udev/rules.d", "/run/udev/rules.d",
					       "/usr/local/lib/udev/rules.d",
					       "/usr/lib/udev/rules.d", "/lib/udev/rules.d" };
	size_t n;
	char **paths = config_files(r, folders, sizeof(folders) / sizeof(folders[0]), ".rules", &n);

	for (size_t i = 0; i < n; i++) {
		struct config_lines l = { .next = config_text(r, paths[i], true), .comment = "#" };
		struct udev_file f = { 0 };
		char *line;

		while ((line = config_line(r, &l)))
			config_udev_rule(r, &f, line);
	}
}
