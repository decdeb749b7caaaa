/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the two configuration files; knows which keys there are and which values they take. */
#include "base/preference.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

enum { LINES_MAX = 1000 };

/* Values that a key takes, ended by NULL; no list: any. */
static const struct {
	const char *key, *const *values;
} keys[] = {
	{ "profile", NULL },
	{ "waivers", NULL },
	{ "color", (const char *const[]){ "auto", "never", NULL } },
	{ "ascii", (const char *const[]){ "yes", "no", NULL } },
};

static bool is_known(const char *key, const char *value)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].key, key) != 0)
			continue;
		for (size_t k = 0; keys[i].values && keys[i].values[k]; k++)
			if (strcmp(keys[i].values[k], value) == 0)
				return true;
		return !keys[i].values && *value;
	}
	return false;
}

/* 0, with *value where the line has the key and it had none yet; -EINVAL. */
static int take_line(struct arena *a, const char *line, const char *key, const char **value)
{
	const char *sign = strchr(line, '='), *at;
	size_t n;

	at = str_trim(line, strcspn(line, "\n"), &n);
	if (!n || *at == '#' || *at == ';' || (*at == '[' && at[n - 1] == ']'))
		return 0;
	if (!sign)
		return -EINVAL;
	at = str_trim(line, (size_t)(sign - line), &n);
	line = arena_strndup(a, at, n);
	at = str_trim(sign + 1, strcspn(sign + 1, "\n"), &n);
	at = arena_strndup(a, at, n);
	if (!is_known(line, at))
		return -EINVAL;
	if (!*value && strcmp(line, key) == 0)
		*value = at;
	return 0;
}

static int read_one(struct arena *a, const char *path, const char *key, const char **value,
		    struct err *e)
{
	int fd = fd_open_input(path), r = 0, number = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[1024];

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (!f)
		return err_set(e, fd < 0 ? fd : -ENOMEM, "%s: %s", path,
			       strerror(fd < 0 ? -fd : ENOMEM));
	while (r == 0 && number < LINES_MAX && fgets(line, sizeof(line), f)) {
		number++;
		r = take_line(a, line, key, value);
	}
	fclose(f);
	if (!r)
		return 0;
	err_set(e, r, "%s:%d: not a line of a configuration", path, number);
	err_hint(e, "a line is \"key = value\": profile, waivers, color (auto, never), ascii (yes, "
		    "no)");
	return r;
}

int preference_get(struct arena *a, const char *key, const char **value, struct err *e)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME"), *own = NULL;
	int r = 0;

	*value = NULL;
	if (geteuid() && config && *config == '/')
		own = arena_printf(a, "%s/gputune/config", config);
	else if (geteuid() && home && *home == '/')
		own = arena_printf(a, "%s/.config/gputune/config", home);
	if (own)
		r = read_one(a, own, key, value, e);
	return r ? r : read_one(a, CONFIG_SITE, key, value, e);
}
