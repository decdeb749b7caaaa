/* SPDX-License-Identifier: Apache-2.0 */
/* Who has, or may have, the last word at boot where it is not we: a later file, a daemon, a boot
 * menu's drop-in that begins anew. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tune/persist/netplan.h"
#include "tune/persist/persist.h"

/*
 * Who else limits locked memory. In sessions pam_limits lets the more particular domain win,
 * wherever it stands, and the later file among equals (limits.conf is before all of limits.d); for
 * services the last drop-in of systemd's manager wins, by its name.
 */

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
			 char *line, struct persist_entry *row)
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
			 char *line, struct persist_entry *row)
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

/* Fills loses and contested of the row of PERSIST_IN_LIMITS, from files of /etc/security and
 * systemd's system.conf.d among the sources. */
static void persist_limits_losers(struct arena *a, const struct persist_target *w,
				  struct persist_entry *row)
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

/* Of every row. */

/* "/etc/sysctl.d/x.conf:3" -> "x.conf". */
static const char *file_name(struct arena *a, const char *what)
{
	return path_name(arena_strndup(a, what, strcspn(what, ":")));
}

/* systemd reads /etc/sysctl.conf where a folder links to it, in the place of the link, which every
 * distribution calls 99-sysctl.conf; other init systems read it last. */
static const char *name_in_order(struct arena *a, const struct machine *m, const char *what)
{
	if (str_starts(what, "/etc/sysctl.conf:") && fact_is(&m->software.init, "systemd"))
		return "99-sysctl.conf";
	return file_name(a, what);
}

static bool is_later_file(struct arena *a, const struct machine *m, const struct persist_entry *row,
			  const char *what)
{
	return strcmp(name_in_order(a, m, what), path_name(row->by)) > 0;
}

/* A pattern of sysctl.d sets nothing that some file names, and ours names it. */
static bool is_by_pattern(struct arena *a, const struct machine *m, const struct persist_entry *row,
			  const struct owner *o)
{
	if (row->keeper != PERSIST_IN_SYSCTL)
		return false;
	LIST_FOR_EACH (struct assignment, it, &m->config.assignments)
		if (it->kind && it->name && it->file && strcmp(it->kind, "sysctl") == 0 &&
		    strpbrk(it->name, "*?[") &&
		    strcmp(arena_printf(a, "%s:%u", it->file, it->line), o->what) == 0)
			return true;
	return false;
}

/* Whether the owner acts after ours. Lines of files of the same kind go by name; the kernel's
 * arguments come before all; services after all but the unit, which waits for them. */
static bool acts_later(struct arena *a, const struct machine *m, const struct persist_entry *row,
		       const struct owner *o)
{
	/* kernel-install makes the entries anew. */
	if (row->keeper == PERSIST_IN_BOOT_ARGUMENT && strcmp(row->by, BOOT_DROP_IN) != 0)
		return false;
	if (str_starts(o->what, "kernel argument"))
		return row->keeper == PERSIST_IN_BOOT_ARGUMENT && strchr(o->what, '/') &&
		       !strstr(o->what, "/proc/cmdline") && is_later_file(a, m, row, o->what);
	if (strstr(o->what, ".service"))
		return row->keeper != PERSIST_IN_UNIT || o->fights;
	if (*o->what != '/')
		return o->fights;
	/* udev rules and tmpfiles.d set the same kind of thing, at different times. */
	if (strstr(o->what, "/udev/rules.d/") && row->keeper == PERSIST_IN_TMPFILES)
		return true;
	if (strstr(o->what, "/tmpfiles.d/") && row->keeper == PERSIST_IN_UDEV)
		return false;
	if (is_by_pattern(a, m, row, o))
		return false;
	return row->keeper != PERSIST_IN_UNIT && is_later_file(a, m, row, o->what);
}

static bool is_number_same(const char *x, const char *y)
{
	long long a, b;

	return parse_i64(x, &a) == 0 && parse_i64(y, &b) == 0 && a == b;
}

static bool is_same_value(const char *x, const char *y)
{
	return x && (strcmp(x, y) == 0 || is_number_same(x, y));
}

static void by_owner(struct arena *a, const struct machine *m, struct persist_entry *row)
{
	struct change c = { .knob = row->knob };

	plan_owners(a, m, &c);
	for (size_t i = 0; i < c.n_owners; i++) {
		const struct owner *o = &c.owners[i];

		if ((!o->at_boot && !o->fights) || is_same_value(o->value, row->value) ||
		    strstr(o->what, "gputune") || !acts_later(a, m, row, o))
			continue;
		if (o->value && o->at_boot)
			row->loses = arena_printf(a, "%s sets %s%s", o->what, o->value,
						  o->fights ? ", and may do so at any time" : "");
		else
			row->contested = arena_printf(a, "%s may set it%s", o->what,
						      o->fights ? " at any time" : "");
	}
}

/* A drop-in behind ours that assigns the arguments without the ones before it. */
static const char *by_boot_menu(struct arena *a, const struct persist_target *w)
{
	static const char key[] = "GRUB_CMDLINE_LINUX_DEFAULT=";

	for (size_t i = 0; i < w->n_sources; i++) {
		const struct persist_source *s = &w->sources[i];

		if (!str_starts(s->path, "/etc/default/grub.d/") ||
		    strcmp(path_name(s->path), path_name(PERSIST_GRUB)) <= 0)
			continue;
		for (const char *at = strstr(s->text, key); at; at = strstr(at + 1, key)) {
			size_t n = strcspn(at, "\n");

			if ((at == s->text || at[-1] == '\n') &&
			    !memmem(at, n, "$GRUB_CMDLINE_LINUX_DEFAULT",
				    strlen("$GRUB_CMDLINE_LINUX_DEFAULT")) &&
			    !memmem(at, n, "${GRUB_CMDLINE_LINUX_DEFAULT}",
				    strlen("${GRUB_CMDLINE_LINUX_DEFAULT}")))
				return arena_printf(a, "%s resets the values of earlier drop-ins",
						    s->path);
		}
	}
	return NULL;
}

/* Another's file of netplan. */
static bool is_netplan(const struct persist_source *s)
{
	return str_starts(s->path, "/etc/netplan/") && strcmp(s->path, PERSIST_NETPLAN) != 0;
}

static const char *by_netplan(struct arena *a, const struct machine *m,
			      const struct persist_target *w, const struct persist_entry *row)
{
	const struct nic *n = machine_nic(m, row->knob.object);
	const char *id, *section = NULL;

	if (strcmp(row->by, PERSIST_NETPLAN) != 0 || !n)
		return NULL;
	id = persist_netplan_id(a, w, n, &section);
	for (size_t i = 0; i < w->n_sources && id; i++) {
		const struct persist_source *s = &w->sources[i];
		const char *mtu;

		if (!is_netplan(s) || strcmp(path_name(s->path), path_name(PERSIST_NETPLAN)) < 0)
			continue;
		mtu = netplan_value(a, s->text, section, id, "mtu");
		if (mtu && !is_same_value(mtu, row->value))
			return arena_printf(a, "%s sets %s", s->path, mtu);
	}
	return NULL;
}

void persist_losers(struct arena *a, const struct machine *m, const struct persist_target *w,
		    struct persist *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct persist_entry *row = &p->rows[i];

		if (row->keeper == PERSIST_IN_NONE || row->keeper == PERSIST_IN_SELF)
			continue;
		row->loses = row->contested = NULL;
		if (row->keeper == PERSIST_IN_LIMITS)
			persist_limits_losers(a, w, row);
		else if (row->keeper == PERSIST_IN_LINK)
			row->loses = by_netplan(a, m, w, row);
		else
			by_owner(a, m, row);
		if (!row->loses && row->keeper == PERSIST_IN_BOOT_ARGUMENT)
			row->loses = by_boot_menu(a, w);
	}
}
