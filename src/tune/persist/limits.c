/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else limits locked memory. In sessions pam_limits lets the more particular domain win,
 * wherever it stands, and the later file among equals (limits.conf is before all of limits.d); for
 * services the last drop-in of systemd's manager wins, by its name.
 */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "tune/persist/persist.h"

enum { WORDS = 4 };

static bool is_no_limit(const char *s)
{
	static const char *const words[] = { "unlimited", "infinity", "-1", "infinity:infinity" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(s, words[i]) == 0)
			return true;
	return false;
}

static bool is_later(const struct persist_source *s, const char *ours)
{
	return strcmp(path_name(s->path), path_name(ours)) > 0;
}

/* "* hard memlock 65536": our lines are for everybody, and for root. */
static void session_line(struct arena *a, const struct persist_source *s, unsigned number,
			 char *line, struct kept *row)
{
	char *words[WORDS] = { NULL }, *save = NULL;
	bool alike;

	line[strcspn(line, "#")] = '\0';
	for (size_t i = 0; i < WORDS; i++) {
		words[i] = strtok_r(i ? NULL : line, " \t\r", &save);
		if (!words[i])
			return;
	}
	if (strcmp(words[2], "memlock") != 0 || is_no_limit(words[3]))
		return;
	alike = strcmp(words[0], "*") == 0 || strcmp(words[0], "root") == 0;
	if (!alike)
		row->contested = arena_printf(a, "%s:%u sets %s for %s", s->path, number, words[3],
					      words[0]);
	else if (str_starts(s->path, "/etc/security/limits.d/") && is_later(s, PERSIST_LIMITS))
		row->loses = arena_printf(a, "%s:%u sets %s for %s", s->path, number, words[3],
					  words[0]);
}

static void service_line(struct arena *a, const struct persist_source *s, unsigned number,
			 char *line, struct kept *row)
{
	char *equals = strchr(line, '='), *key, *value;
	size_t n;

	if (!equals || !is_later(s, PERSIST_SYSTEM_CONF))
		return;
	key = arena_strdup(a, str_trim(line, (size_t)(equals - line), &n));
	key[n] = '\0';
	value = arena_strdup(a, str_trim(equals + 1, strlen(equals + 1), &n));
	value[n] = '\0';
	if (strcmp(key, "DefaultLimitMEMLOCK") == 0 && *value && !is_no_limit(value))
		row->loses = arena_printf(a, "%s:%u sets %s for services", s->path, number, value);
}

void persist_limits_losers(struct arena *a, const struct persist_wish *w, struct kept *row)
{
	for (size_t i = 0; i < w->n_sources; i++) {
		const struct persist_source *s = &w->sources[i];
		bool service = strstr(s->path, "/systemd/system.conf.d/") != NULL;
		unsigned number = 0;

		if ((!service && !str_starts(s->path, "/etc/security/limits.")) ||
		    strcmp(s->path, PERSIST_LIMITS) == 0 ||
		    strcmp(s->path, PERSIST_SYSTEM_CONF) == 0)
			continue;
		for (const char *at = s->text; *at; at += *at == '\n') {
			size_t n = strcspn(at, "\n");
			char *line = arena_strndup(a, at, n);

			number++;
			at += n;
			if (service)
				service_line(a, s, number, line, row);
			else
				session_line(a, s, number, line, row);
		}
	}
}
