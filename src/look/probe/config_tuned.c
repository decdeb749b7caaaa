/* SPDX-License-Identifier: Apache-2.0 */
/* What the active profile of tuned sets, with the profiles that it includes. Plug-ins and sections
 * whose effect is not one value of one place are left out, and so are values with variables. */
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "look/probe/config.h"

enum { DEPTH_MAX = 8, PROFILES_MAX = 32 /* in all */ };

struct tuned {
	struct config_reader *r;
	enum config_layer sysctl;
	struct map read; /* profiles, so that a circle of them ends */
};

/* A place that a section's key sets; key NULL: the key is the place. */
static const struct {
	const char *section, *key, *path;
} rows[] = {
	{ "vm", "transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled" },
	{ "vm", "transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled" },
	{ "vm", "transparent_hugepage.defrag", "/sys/kernel/mm/transparent_hugepage/defrag" },
	{ "cpu", "governor", "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor" },
	{ "cpu", "energy_performance_preference",
	  "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference" },
	{ "cpu", "no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo" },
	{ "disk", "elevator", "/sys/block/*/queue/scheduler" },
	{ "disk", "readahead", "/sys/block/*/queue/read_ahead_kb" },
	{ "sysfs", NULL, NULL },
};

static void section_line(struct tuned *t, const char *section, char *key, char *value)
{
	struct config_reader *r = t->r;
	size_t n;

	str_trim(key, strlen(key), &n);
	key[n] = '\0';
	value = config_unquote(value + strspn(value, " "));
	if (strstr(value, "${"))
		return;
	if (strcmp(section, "sysctl") == 0)
		config_add(r, "sysctl", t->sysctl, key, value);
	if (strcmp(section, "bootloader") == 0 && str_starts(key, "cmdline")) {
		char *word;

		value += strspn(value, "+-");
		while ((word = config_word(&value)))
			config_add_argument(r, word);
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(section, rows[i].section) == 0 &&
		    (!rows[i].key || strcmp(key, rows[i].key) == 0))
			config_add_path(r, LAYER_TUNED, rows[i].path ? rows[i].path : key, value);
}

static void profile(struct tuned *t, const char *name, int depth);

/* "include=a, b" of [main]: those first, so that this profile's own lines stand over them. */
static void includes(struct tuned *t, char *names, int depth)
{
	char *name;

	for (char *c = names; *c; c++)
		if (*c == ',' || *c == ';')
			*c = ' ';
	while ((name = config_word(&names)))
		profile(t, name, depth + 1);
}

static void profile_text(struct tuned *t, const char *path, char *text, int depth)
{
	struct config_lines l = { .next = text, .comment = "#;" };
	const char *section = "";
	char *line;

	while ((line = config_line(t->r, &l))) {
		char *value = strchr(line, '=');

		if (*line == '[') {
			line[strcspn(line, "]")] = '\0';
			section = line + 1;
		} else if (value && value > line) {
			unsigned at = t->r->line;

			*value++ = '\0';
			if (strcmp(section, "main") == 0 && str_starts(line, "include"))
				includes(t, value, depth);
			t->r->file = path;
			t->r->line = at;
			section_line(t, section, line, value);
		}
	}
}

static void profile(struct tuned *t, const char *name, int depth)
{
	static const char *const folders[] = { "/etc/tuned/profiles", "/etc/tuned",
					       "/usr/lib/tuned/profiles", "/usr/lib/tuned" };

	void **at;

	/* A name, never a way out of the folders. */
	if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
		    strlen(name) ||
	    *name == '.' || depth >= DEPTH_MAX || t->read.n >= PROFILES_MAX)
		return;
	at = map_at(t->r->p->a, &t->read, name);
	if (*at)
		return;
	*at = t;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *path = arena_printf(t->r->p->a, "%s/%s/tuned.conf", folders[i], name);
		char *text = config_text(t->r, path, false);

		if (text) {
			profile_text(t, path, text, depth);
			return;
		}
	}
}

/* By default tuned applies the system's own sysctl files after the profile's. */
static bool reapplies_sysctl(struct config_reader *r)
{
	char *text = config_text(r, "/etc/tuned/tuned-main.conf", false);
	const char *value = text ? text_value(r->p->a, text, "reapply_sysctl", '=') : NULL;

	return !value || (strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0);
}

void config_tuned(struct config_reader *r)
{
	const struct service *s = machine_service(r->p->m, "tuned.service");
	struct tuned t = { .r = r };
	char *names, *name;

	if (!s || fact_or(&s->enabled, 0) + fact_or(&s->active, 0) == 0)
		return;
	r->p->m->config.tuned_profile = probe_str(r->p, "/etc/tuned/", "active_profile");
	if (!seen_ok(&r->p->m->config.tuned_profile.f))
		return;
	t.sysctl = reapplies_sysctl(r) ? LAYER_TUNED_EARLY : LAYER_TUNED;
	names = arena_strdup(r->p->a, r->p->m->config.tuned_profile.v);
	while ((name = config_word(&names)))
		profile(&t, name, 0);
}
