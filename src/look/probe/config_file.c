/* SPDX-License-Identifier: Apache-2.0 */
/* What the probes of configuration files share: which files are read and in which order, their
 * lines, and what one line becomes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "look/probe/config.h"
#include "machine/host/merged.h"
#include "base/utf8.h"

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
