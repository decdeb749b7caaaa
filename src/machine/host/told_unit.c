/* SPDX-License-Identifier: Apache-2.0 */
/* Enabling, masking and starting services of a captured machine: links below /etc/systemd/system
 * and control groups, as systemd would leave them. */
#include "machine/host/told_unit.h"

#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "machine/host/unit_file.h"
#include "machine/write/write.h"

/* A folder that is empty now goes too, as systemctl does with what it made. */
static void remove_empty_parent(struct host *h, struct arena *a, const char *path)
{
	const char *dir = path_folder(a, path);
	char **names;
	size_t n;

	if (strcmp(dir, UNIT_ETC) != 0 && host_list(h, dir, a, &names, &n) == 0 && n == 0)
		host_remove(h, dir);
}

static int mask(struct host *h, struct arena *a, const char *unit)
{
	const char *path = arena_printf(a, UNIT_ETC "/%s", unit);
	int masked = unit_is_masked(h, unit);

	return masked ? (masked < 0 ? masked : 0) : host_make_link(h, path, "/dev/null");
}

static int unmask(struct host *h, struct arena *a, const char *unit)
{
	int masked = unit_is_masked(h, unit);

	return masked > 0 ? host_remove(h, arena_printf(a, UNIT_ETC "/%s", unit)) : masked;
}

static int make_links(struct host *h, struct arena *a, const char *unit)
{
	const char **links, *path;
	size_t n;
	int r = unit_file_find(h, a, unit, &path);

	if (r == 0)
		r = unit_file_links(h, a, unit, path, &links, &n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = host_make_dir(h, path_folder(a, links[i]), 0755);
		if (r == 0 || r == -EEXIST)
			r = host_make_link(h, links[i], path);
		if (r == -EEXIST)
			r = 0;
	}
	return r;
}

static int remove_links(struct host *h, struct arena *a, const char *unit)
{
	const char **links;
	size_t n;
	int r = unit_links(h, a, unit, &links, &n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = host_remove(h, links[i]);
		remove_empty_parent(h, a, links[i]);
	}
	return r;
}

static int enable(struct host *h, struct arena *a, const char *unit, const char *value)
{
	const char *path;
	int r;

	if (strcmp(value, "masked") == 0)
		return mask(h, a, unit);
	if (strcmp(value, "enabled") != 0 && strcmp(value, "disabled") != 0)
		return -EINVAL;
	r = unit_file_find(h, a, unit, &path);
	if (r == 0)
		r = unmask(h, a, unit);
	if (r)
		return r;
	return *value == 'e' ? make_links(h, a, unit) : remove_links(h, a, unit);
}

static int stop(struct host *h, struct arena *a, const char *cgroup)
{
	char **names;
	size_t n = 0;
	int r = 0;

	if (!host_exists(h, cgroup))
		return 0;
	if (host_list(h, cgroup, a, &names, &n))
		n = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = host_remove(h, arena_printf(a, "%s/%s", cgroup, names[i]));
	return r ? r : host_remove(h, cgroup);
}

static int start(struct host *h, struct arena *a, const char *unit, const char *cgroup)
{
	static const char events[] = "populated 1\nfrozen 0\n";
	const char *path;
	int r = unit_is_masked(h, unit);

	if (r)
		return r < 0 ? r : -EBUSY;
	r = unit_file_find(h, a, unit, &path);
	if (r || host_exists(h, cgroup))
		return r;
	r = host_make_dir(h, cgroup, 0755);
	return r ? r
		 : host_put(h, arena_printf(a, "%s/cgroup.events", cgroup), events,
			    sizeof(events) - 1, 0444);
}

int told_unit(struct host *h, const char *unit, const char *field, const struct answer *value)
{
	struct arena a = { 0 };
	int r = -EINVAL;

	if (value->kind == ANSWER_TEXT && unit_name_is_sound(unit)) {
		if (strcmp(field, "enabled") == 0)
			r = enable(h, &a, unit, value->text);
		else if (strcmp(field, "active") == 0 && strcmp(value->text, "active") == 0)
			r = start(h, &a, unit, unit_cgroup(h, &a, unit));
		else if (strcmp(field, "active") == 0 && strcmp(value->text, "inactive") == 0)
			r = stop(h, &a, unit_cgroup(h, &a, unit));
	}
	arena_free(&a);
	return r;
}
