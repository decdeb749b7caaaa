/* SPDX-License-Identifier: Apache-2.0 */
/* systemd's files of one service, read as systemctl reads them. Nothing here asks systemd. */
#include "machine/host/unit_file.h"

#include <string.h>

#include "base/text.h"

enum { UNIT_MAX = 128 * 1024, LINKS_MAX = 64 };

bool unit_name_valid(const char *unit)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@-";
	size_t n = strlen(unit);

	return n > strlen(".service") && n < 256 && str_ends(unit, ".service") &&
	       !strchr("-._:@", *unit) && !unit[strspn(unit, plain)];
}

int unit_is_masked(struct host *h, const char *unit)
{
	char path[HOST_PATH_MAX], target[HOST_PATH_MAX];
	int r = path_join(UNIT_ETC, unit, path, sizeof(path));

	if (r == 0)
		r = host_link_path(h, path, target, sizeof(target));
	/* Not there, or a file. */
	if (r == -ENOENT || r == -ENOTDIR || r == -EINVAL)
		return 0;
	return r ? r : strcmp(target, "/dev/null") == 0;
}

int unit_file_find(struct host *h, struct arena *a, const char *unit, const char **path)
{
	/* In systemd's order of precedence. */
	static const char *const dirs[] = { UNIT_ETC,
					    "/run/systemd/system",
					    "/run/systemd/generator",
					    "/usr/local/lib/systemd/system",
					    "/usr/lib/systemd/system",
					    "/lib/systemd/system",
					    "/run/systemd/generator.late" };
	bool masked = unit_is_masked(h, unit) == 1;
	enum host_kind kind;

	for (size_t i = masked; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		const char *at = arena_printf(a, "%s/%s", dirs[i], unit);

		/* What a capture never saw is not there: the usual folders are always looked at. */
		if (host_kind(h, at, &kind))
			continue;
		*path = at;
		return 0;
	}
	return -ENOENT;
}

bool unit_file_is_generated(const char *path)
{
	return str_starts(path, "/run/");
}

struct links {
	struct arena *a;
	const char **items;
	size_t n;
};

static void add(struct links *l, const char *path)
{
	if (l->n == LINKS_MAX)
		return;
	ARENA_ADD(l->a, l->items, l->n) = path;
}

/* One word of an [Install] line. Specifiers and paths are nothing a service of ours has. */
static void add_word(struct links *l, const char *kind, const char *unit, const char *word)
{
	if (!*word || strpbrk(word, "/%\"'\\") || *word == '.')
		return;
	add(l, *kind ? arena_printf(l->a, UNIT_ETC "/%s.%s/%s", word, kind, unit)
		     : arena_printf(l->a, UNIT_ETC "/%s", word));
}

static void unit_file_add_line(struct links *l, const char *unit, char *line)
{
	static const struct {
		const char *key, *kind;
	} rows[] = { { "WantedBy", "wants" },
		     { "RequiredBy", "requires" },
		     { "UpheldBy", "upholds" },
		     { "Alias", "" } };
	char *value = strchr(line, '='), *save = NULL;
	size_t n;

	if (!value)
		return;
	str_trim(line, (size_t)(value - line), &n);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strlen(rows[i].key) != n || strncmp(line, rows[i].key, n) != 0)
			continue;
		for (char *w = strtok_r(value + 1, " \t", &save); w;
		     w = strtok_r(NULL, " \t", &save))
			add_word(l, rows[i].kind, unit, w);
	}
}

int unit_file_links(struct host *h, struct arena *a, const char *unit, const char *path,
		    const char ***links, size_t *n)
{
	struct links l = { .a = a };
	char *text, *save = NULL;
	bool install = false;
	int r = host_read(h, path, UNIT_MAX, a, &text, NULL);

	if (r)
		return r;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		if (*line == '[')
			install = str_starts(line, "[Install]");
		else if (install && *line != '#' && *line != ';')
			unit_file_add_line(&l, unit, line);
	}
	*links = l.items;
	*n = l.n;
	return 0;
}

/* What could not be seen is not absent for that. */
static bool is_failure(int r)
{
	return r != -ENOENT && r != -ENOTDIR && r != HOST_NOT_CAPTURED;
}

/* 1: an alias, which is a link in /etc to the unit's file under another name; 0: not. */
static int is_alias(struct host *h, const char *path, const char *unit)
{
	char target[HOST_PATH_MAX];
	int r = host_link(h, path, target, sizeof(target));

	if (r)
		return r == -EINVAL || !is_failure(r) ? 0 : r;
	return strcmp(path_name(target), unit) == 0;
}

/* 1: the name in /etc, or what lies in it, enables the unit; *path is then where. */
static int enables(struct host *h, struct arena *a, const char *name, const char *unit,
		   const char **path)
{
	enum host_kind kind;
	int r;

	*path = arena_printf(a, UNIT_ETC "/%s", name);
	if (str_ends(name, ".wants") || str_ends(name, ".requires") || str_ends(name, ".upholds")) {
		*path = arena_printf(a, "%s/%s", *path, unit);
		r = host_kind(h, *path, &kind);
		return r == 0 ? 1 : is_failure(r) ? r : 0;
	}
	return str_ends(name, ".service") && strcmp(name, unit) != 0 ? is_alias(h, *path, unit) : 0;
}

int unit_links(struct host *h, struct arena *a, const char *unit, const char ***links, size_t *n)
{
	struct links l = { .a = a };
	char **names;
	size_t count;
	int r = host_list(h, UNIT_ETC, a, &names, &count);

	if (r)
		return r;
	for (size_t i = 0; i < count; i++) {
		const char *path;

		r = enables(h, a, names[i], unit, &path);
		if (r < 0)
			return r;
		if (r)
			add(&l, path);
	}
	*links = l.items;
	*n = l.n;
	return 0;
}

const char *unit_cgroup(struct host *h, struct arena *a, const char *unit)
{
	static const char v2[] = "/sys/fs/cgroup/system.slice",
			  v1[] = "/sys/fs/cgroup/systemd/system.slice";

	return arena_printf(a, "%s/%s", !host_exists(h, v2) && host_exists(h, v1) ? v1 : v2, unit);
}
