/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the two configuration files; knows which keys there are and which values they take. */
#include "base/preference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/ini_file.h"
#include "base/text.h"

enum { FILE_BYTES = 64 << 10 };

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

struct asked {
	struct arena *a;
	const char *key, **value;
	struct ini_file file;
};

/* Sections are there for the eye. */
static int preference_key(void *ctx, const char *section, const char *key, const char *value)
{
	struct asked *x = ctx;

	(void)section;
	if (!is_known(key, value))
		return ini_bad(&x->file, "%s = %s: not a valid line of a configuration", key,
			       value);
	if (!*x->value && strcmp(key, x->key) == 0)
		*x->value = arena_strdup(x->a, value);
	return 1;
}

static int read_one(struct arena *a, const char *path, const char *key, const char **value,
		    struct err *e)
{
	struct asked x = { .a = a, .key = key, .value = value, .file = { .path = path, .e = e } };
	TEXT_AUTO t = { 0 };
	int r = fd_read_input(path, FILE_BYTES, &t);

	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r)
		return err_set(e, r, "%s: %s", path, strerror(-r));
	r = ini_file_read(&x.file, t.s, t.len, preference_key, &x);
	if (r)
		err_hint(e, "a line is \"key = value\": profile, waivers, color (auto, never), "
			    "ascii (yes, no)");
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
