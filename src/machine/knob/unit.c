/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: whether they start at boot, and whether they run. Read from systemd's files and control
 * groups, so that a captured machine answers too; changed by systemctl. A service that runs no
 * process (one that set something once) has no control group and counts as inactive.
 *
 * The value is two words. The first: "enabled", "disabled", "masked", or "static" for a unit that
 * nothing could enable; it is left as it is then.
 */
#include <string.h>

#include "base/text.h"
#include "machine/host/unit_file.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

struct state {
	const char *enabled, *active;
};

static const char *const enabled_words[] = { "enabled", "disabled", "masked", "static" };
static const char *const active_words[] = { "active", "inactive" };

/* The word of a list that s starts with, followed by end; NULL when there is none. */
static const char *word_of(const char *const *list, size_t n, const char *s, char end)
{
	for (size_t i = 0; i < n; i++)
		if (str_starts(s, list[i]) && s[strlen(list[i])] == end)
			return list[i];
	return NULL;
}

static bool parse(const char *value, struct state *out)
{
	out->enabled = word_of(enabled_words, 4, value, ' ');
	if (!out->enabled)
		return false;
	out->active = word_of(active_words, 2, value + strlen(out->enabled) + 1, '\0');
	return out->active != NULL;
}

static bool in(const char *const *list, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], s) == 0)
			return true;
	return false;
}

/* Links that enabling by [Install] would not make are lost when it is disabled: 1 then. */
static int has_own_links(struct host *h, struct arena *a, const char *unit, const char *path)
{
	const char **have, **would;
	size_t n, m;
	int r = unit_links(h, a, unit, &have, &n);

	if (r == 0)
		r = unit_file_links(h, a, unit, path, &would, &m);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!in(would, m, have[i]))
			r = 1;
	return r;
}

static int read_enabled(struct host *h, struct arena *a, const char *unit, const char **out)
{
	const char *path, **links;
	size_t n;
	int r = unit_is_masked(h, unit);

	if (r) {
		*out = "masked";
		return r < 0 ? r : 0;
	}
	r = unit_file_find(h, a, unit, &path);
	if (r == 0)
		r = unit_links(h, a, unit, &links, &n);
	if (r == 0 && n) {
		*out = "enabled";
		return 0;
	}
	if (r == 0)
		r = unit_file_links(h, a, unit, path, &links, &n);
	if (r == 0)
		*out = n && !unit_file_is_generated(path) ? "disabled" : "static";
	return r;
}

static int unit_read_state(struct host *h, struct arena *a, const char *unit, struct state *out)
{
	enum host_kind kind;
	int r = read_enabled(h, a, unit, &out->enabled), k;

	if (r)
		return r;
	k = host_kind(h, unit_cgroup(h, a, unit), &kind);
	if (k && k != -ENOENT && k != -ENOTDIR)
		return k;
	out->active = k ? "inactive" : "active";
	return 0;
}

static int unit_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		    struct err *e)
{
	struct state s;
	int r = unit_read_state(h, a, k->name, &s);

	if (r)
		return knob_fail(e, r, "read", k);
	*value = arena_printf(a, "%s %s", s.enabled, s.active);
	return 0;
}

/* Refuses what could not be taken back: -EOPNOTSUPP and *e. */
static int check_change(struct host *h, struct arena *a, const struct knob *k,
			const struct state *now, const struct state *want, struct err *e)
{
	const char *path;

	if (strcmp(now->enabled, want->enabled) == 0)
		return 0;
	if (strcmp(now->enabled, "static") == 0 && strcmp(want->enabled, "masked") != 0)
		return err_set(e, -EOPNOTSUPP,
			       "could not set %s to %s: its unit file has no [Install] section, so "
			       "systemd cannot start the unit at boot",
			       k->name, want->enabled);
	if (strcmp(now->enabled, "enabled") == 0 && strcmp(want->enabled, "disabled") == 0 &&
	    unit_file_find(h, a, k->name, &path) == 0 && has_own_links(h, a, k->name, path) > 0)
		return err_set(e, -EOPNOTSUPP,
			       "could not disable %s: a link that its unit file does not define "
			       "enables the unit, and undo could not restore this link",
			       k->name);
	return 0;
}

/* Stopping comes before masking, starting after unmasking. A service whose file is static is given
 * back by unmasking alone, which "disabled" does too. */
static int unit_change(struct host *h, const char *unit, const struct state *now,
		       const struct state *want)
{
	bool stops = strcmp(now->active, "active") == 0 && strcmp(want->active, "active") != 0;
	const char *enabled = strcmp(want->enabled, "static") == 0 ? "disabled" : want->enabled;
	int r = 0;

	if (stops)
		r = host_set_text(h, "systemd", unit, "active", "inactive");
	if (r == 0 && strcmp(now->enabled, want->enabled) != 0)
		r = host_set_text(h, "systemd", unit, "enabled", enabled);
	if (r == 0 && !stops && strcmp(now->active, want->active) != 0)
		r = host_set_text(h, "systemd", unit, "active", want->active);
	return r;
}

/* The half that was done of what failed. */
static void restore_unit(struct host *h, struct arena *a, const char *unit, const struct state *was)
{
	struct state now;

	if (unit_read_state(h, a, unit, &now) == 0)
		(void)unit_change(h, unit, &now, was);
}

static int unit_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		    struct err *e)
{
	struct state now, want;
	int r = parse(value, &want) ? unit_read_state(h, a, k->name, &now) : -EINVAL;

	if (r)
		return knob_fail(e, r, "set", k);
	r = check_change(h, a, k, &now, &want, e);
	if (r)
		return r;
	r = unit_change(h, k->name, &now, &want);
	if (r) {
		restore_unit(h, a, k->name, &now);
		knob_fail(e, r, "set", k);
	}
	if (r == -ETIME)
		err_hint(e,
			 "gputune asked systemd to restore it: check systemctl "
			 "status %s",
			 k->name);
	return r;
}

static bool unit_valid(const struct knob *k, const char *value, const char **why)
{
	struct state s;

	if (!unit_name_valid(k->name))
		return knob_unsound(why, "invalid service name");
	if (*k->object)
		return knob_unsound(why, "\"object\" must be empty for a service");
	if (!value)
		return true;
	if (!parse(value, &s))
		return knob_unsound(
			why,
			"expected enabled, disabled, masked or static, and active or inactive");
	return true;
}

static const char *unit_command(struct arena *a, const struct knob *k, const char *value)
{
	struct state s;
	const char *verb, *run;

	if (!parse(value, &s))
		return NULL;
	run = strcmp(s.active, "active") == 0 ? "start" : "stop";
	if (strcmp(s.enabled, "static") == 0)
		return arena_printf(a, "systemctl %s %s", run, k->name);
	verb = strcmp(s.enabled, "enabled") == 0    ? "enable"
	       : strcmp(s.enabled, "disabled") == 0 ? "disable"
						    : "mask";
	if ((*verb == 'e') == (strcmp(run, "start") == 0))
		return arena_printf(a, "systemctl %s --now %s", verb, k->name);
	return arena_printf(a, "systemctl %s %s && systemctl %s %s", verb, k->name, run, k->name);
}

const struct knob_ops knob_ops_unit = {
	.get = unit_get,
	.set = unit_set,
	.valid = unit_valid,
	.command = unit_command,
};
