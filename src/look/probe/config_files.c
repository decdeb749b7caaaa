/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of sysctl.d, tmpfiles.d and modprobe.d. See sysctl.d(5), tmpfiles.d(5), modprobe.d(5).
 */
#include <string.h>

#include "base/map.h"
#include "look/probe/config.h"

#define FOLDERS(name)                                                                              \
	{                                                                                          \
		"/etc/" name, "/run/" name, "/usr/local/lib/" name, "/usr/lib/" name, "/lib/" name \
	}
enum { N_FOLDERS = 5 };

/* Whichever of the two ways of writing a key it is, the path with dots for slashes comes out. */
static void dotted_key(char *key)
{
	for (char *c = key; *c; c++)
		if (*c == '/')
			*c = '.';
}

static void sysctl_line(struct config_reader *r, char *line, bool boot)
{
	char *eq = strchr(line, '='), *key = line;
	enum config_layer layer = boot ? LAYER_SYSCTL : LAYER_NONE;
	size_t n;

	if (*key == '-')
		key++;
	else if (!eq)
		return;
	if (eq)
		*eq++ = '\0';
	key += strspn(key, " /");
	str_trim(key, strlen(key), &n);
	key[n] = '\0';
	dotted_key(key);
	if (boot && strpbrk(key, "*?["))
		layer = LAYER_SYSCTL_GLOB;
	config_add(r, "sysctl", layer, key, eq ? eq + strspn(eq, " ") : NULL);
}

static void sysctl_file(struct config_reader *r, const char *path, bool boot)
{
	struct config_lines l = { .next = config_text(r, path, false), .comment = "#;" };
	char *line;

	while ((line = config_line(r, &l)))
		sysctl_line(r, line, boot);
}

/* /etc/sysctl.conf is read at boot where a folder links to it, and where no systemd is. */
static bool links_to_conf(struct config_reader *r, const char *path)
{
	char target[HOST_PATH_MAX];

	return host_link_path(r->p->h, path, target, sizeof(target)) == 0 &&
	       strcmp(target, "/etc/sysctl.conf") == 0;
}

void config_sysctl(struct config_reader *r)
{
	static const char *const folders[] = FOLDERS("sysctl.d");
	bool linked = false;
	size_t n;
	char **paths = config_files(r, folders, N_FOLDERS, ".conf", &n);

	for (size_t i = 0; i < n; i++) {
		bool conf = links_to_conf(r, paths[i]);

		linked |= conf;
		sysctl_file(r, conf ? "/etc/sysctl.conf" : paths[i], true);
	}
	if (!linked)
		sysctl_file(r, "/etc/sysctl.conf", !fact_is(&r->p->m->software.init, "systemd"));
}

/* "w /sys/kernel/mm/ksm/run - - - - 1": the argument is the seventh field, to the end of the line.
 * Of plain lines with one path the first counts; those with "+" all do, in their order. */
static void tmpfiles_line(struct config_reader *r, char *line, struct map *seen)
{
	char *type = config_word(&line), *path = config_word(&line);
	enum config_layer layer = LAYER_TMPFILES;

	if (!path || *type != 'w')
		return;
	for (int i = 0; i < 4; i++)
		if (!config_word(&line))
			return;
	line += strspn(line, " ");
	path = config_unquote(path);
	if (!strchr(type, '+')) {
		void **at = map_at(r->p->a, seen, path);

		if (*at)
			layer = LAYER_NONE;
		*at = r;
	}
	config_add_path(r, layer, path, config_unquote(line));
}

void config_tmpfiles(struct config_reader *r)
{
	static const char *const folders[] = FOLDERS("tmpfiles.d");
	struct map seen = { 0 };
	size_t n;
	char **paths = config_files(r, folders, N_FOLDERS, ".conf", &n);

	for (size_t i = 0; i < n; i++) {
		struct config_lines l = { .next = config_text(r, paths[i], false), .comment = "#" };
		char *line;

		while ((line = config_line(r, &l)))
			tmpfiles_line(r, line, &seen);
	}
}

/* "options zfs zfs_arc_max=1 zfs_prefetch_disable=1". */
static void modprobe_line(struct config_reader *r, char *line)
{
	char *word = config_word(&line), *module, *value;

	if (strcmp(word, "options") != 0 || !(module = config_word(&line)))
		return;
	for (char *c = module; *c; c++)
		if (*c == '-')
			*c = '_';
	while ((word = config_word(&line))) {
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		config_add(r, "module-parameter", LAYER_MODULE,
			   arena_printf(r->p->a, "%s.%s", module, word),
			   value ? config_unquote(value) : "");
	}
}

void config_modprobe(struct config_reader *r)
{
	static const char *const folders[] = FOLDERS("modprobe.d");
	size_t n;
	char **paths = config_files(r, folders, N_FOLDERS, ".conf", &n);

	for (size_t i = 0; i < n; i++) {
		struct config_lines l = { .next = config_text(r, paths[i], true), .comment = "#" };
		char *line;

		while ((line = config_line(r, &l)))
			modprobe_line(r, line);
	}
}
