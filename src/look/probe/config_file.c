/* SPDX-License-Identifier: Apache-2.0 */
/* What the probes of configuration files share: which files are read and in which order, their
 * lines, and what one line becomes. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "look/probe/config.h"
#include "machine/host/host.h"

static void note_unread(struct config_reader *r, const char *path)
{
	if (r->n_unread++ < CONFIG_UNREAD_MAX)
		text_printf(&r->unread, "%s%s", r->unread.len ? " " : "", path);
}

char **config_files(struct config_reader *r, const char *const *folders, size_t n_folders,
		    const char *suffix, size_t *n)
{
	int *why = arena_array(r->p->a, n_folders, sizeof(*why));
	char **paths = host_merged(r->p->h, r->p->a, folders, n_folders, suffix, why, n);

	for (size_t i = 0; i < n_folders; i++)
		if (why[i] == -EACCES || why[i] == -EPERM)
			note_unread(r, folders[i]);
	return paths;
}

char *config_text(struct config_reader *r, const char *path, bool joined)
{
	size_t len = 0;
	char *text;
	int ret = r->bytes < CONFIG_BYTES_MAX
			  ? host_read(r->p->h, path, CONFIG_FILE_MAX, r->p->a, &text, &len)
			  : -EFBIG;

	if (ret) {
		/* A folder named like a file, and what a capture does not hold, are no loss. */
		if (ret != -ENOENT && ret != -ENOTDIR && ret != -EISDIR && ret != HOST_NOT_CAPTURED)
			note_unread(r, path);
		return NULL;
	}
	r->bytes += len;
	r->file = path;
	for (char *c = text; joined && (c = strstr(c, "\\\n")); c += 2)
		memcpy(c, " \v", 2); /* counted as a line, and blank */
	return text;
}

/* Blanks at the ends are cut; a tab or the mark of a joined line becomes a blank. */
static char *clean_line(char *line, size_t n)
{
	size_t len;
	char *s;

	line[n] = '\0';
	for (char *c = line; *c; c++)
		if (*c == '\t' || *c == '\v' || *c == '\r')
			*c = ' ';
	s = line + (str_trim(line, n, &len) - line);
	s[len] = '\0';
	for (const char *c = s; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return NULL;
	return s;
}

char *config_line(struct config_reader *r, struct config_lines *l)
{
	while (l->next && *l->next) {
		char *line = l->next, *end = strchr(line, '\n');
		size_t n = end ? (size_t)(end - line) : strlen(line);

		r->line = ++l->line;
		for (size_t i = 0; i < n; i++)
			l->line += line[i] == '\v';
		l->next = end ? end + 1 : NULL;
		if (n > CONFIG_LINE_MAX)
			continue;
		line = clean_line(line, n);
		if (line && *line && !strchr(l->comment, *line))
			return line;
	}
	return NULL;
}

char *config_word(char **at)
{
	char *s = *at + strspn(*at, " "), *end;
	bool quoted = false;

	if (!*s)
		return NULL;
	for (end = s; *end && (quoted || *end != ' '); end++)
		if (*end == '"')
			quoted = !quoted;
	*at = *end ? end + 1 : end;
	*end = '\0';
	return s;
}

char *config_unquote(char *s)
{
	size_t n = strlen(s);

	if (n >= 2 && (*s == '"' || *s == '\'') && s[n - 1] == *s) {
		s[n - 1] = '\0';
		return s + 1;
	}
	return s;
}

struct assignment *config_add(struct config_reader *r, const char *kind, enum config_layer layer,
			      const char *key, const char *value)
{
	struct arena *a = r->p->a;
	struct assignment *it;

	if (!*key || r->n >= CONFIG_ASSIGNMENTS_MAX)
		return NULL;
	it = list_add(a, &r->p->m->config.assignments, sizeof(*it));
	it->kind = kind;
	it->name = utf8_clean(a, arena_strdup(a, key));
	it->file = r->file;
	it->line = r->line;
	r->n++;
	it->rank = layer == LAYER_NONE ? 0 : (unsigned)layer << 16 | r->n;
	if (value)
		it->value = fact_str_of(utf8_clean(a, arena_strdup(a, value)), "", r->file);
	else
		it->value.f = fact_unseen(-ENOENT, "", r->file);
	return it;
}

struct assignment *config_add_path(struct config_reader *r, enum config_layer layer,
				   const char *path, const char *value)
{
	static const char procfs[] = "/proc/sys/", modules[] = "/sys/module/",
			  parameters[] = "/parameters/";
	const char *leaf;
	char *key;

	if (str_starts(path, procfs)) {
		key = arena_strdup(r->p->a, path + strlen(procfs));
		for (char *c = key; *c; c++)
			if (*c == '/')
				*c = '.';
		return config_add(r, "sysctl", layer, key, value);
	}
	leaf = str_starts(path, modules) ? strstr(path, parameters) : NULL;
	if (leaf) {
		path += strlen(modules);
		key = arena_printf(r->p->a, "%.*s.%s", (int)(leaf - path), path,
				   leaf + strlen(parameters));
		return config_add(r, "module-parameter", layer, key, value);
	}
	return str_starts(path, "/sys/") ? config_add(r, "sysfs", layer, path, value) : NULL;
}

void config_add_argument(struct config_reader *r, char *word)
{
	char *value;

	word = config_unquote(word);
	value = strchr(word, '=');
	if (value)
		*value++ = '\0';
	config_add(r, "boot-argument", LAYER_BOOT, word, value ? config_unquote(value) : "");
}

/*
 * The attributes that udev rules set, with the conditions under which they do. Conditions are kept
 * as text: whether a rule matches a device is judged where the device is known. See udev(7).
 */

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
