/* SPDX-License-Identifier: Apache-2.0 */
/* Looks a process up in /proc; and knows which services set which kinds of knobs. */
#include "tune/watch/source.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "machine/knob/io.h"

/* What the audit system says of a process that no login stands behind. */
static const unsigned long long no_login = 0xffffffff;

static void look_unit(struct host *h, long pid, struct who *w)
{
	/* A container's unit is named in each of a dozen lines, where there is a tree for each
	 * controller. */
	char path[64], line[8192], *end;
	const char *last;

	snprintf(path, sizeof(path), "/proc/%ld/cgroup", pid);
	if (host_read_line(h, path, line, sizeof(line)))
		return;
	/* "0::/system.slice/tuned.service"; older layouts have several lines, the last is it. */
	end = strrchr(line, '\n');
	last = strrchr(end ? end : line, '/');
	if (last && last[1] && strlen(last + 1) < sizeof(w->unit) &&
	    (str_ends(last, ".service") || str_ends(last, ".scope")))
		strcpy(w->unit, last + 1);
}

void who_look(struct host *h, long pid, struct who *w)
{
	char path[64], text[WHO_NAME_MAX];
	unsigned long long uid;

	*w = (struct who){ .pid = pid, .login_uid = -1 };
	if (pid <= 0)
		return;
	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	if (host_read_line(h, path, w->name, sizeof(w->name)))
		w->name[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%ld/loginuid", pid);
	if (host_read_line(h, path, text, sizeof(text)) == 0 && parse_u64(text, &uid) == 0 &&
	    uid < no_login)
		w->login_uid = (long long)uid;
	look_unit(h, pid, w);
}

const char *who_text(struct arena *a, const struct who *w)
{
	const char *name = *w->name ? w->name : "a process that has exited";

	if (!w->pid)
		return "unknown";
	if (w->login_uid >= 0)
		return arena_printf(a, "%s (pid %ld, in the login session of uid %lld)", name,
				    w->pid, w->login_uid);
	if (*w->unit)
		return arena_printf(a, "%s (pid %ld, of %s)", name, w->pid, w->unit);
	return arena_printf(a, "%s (pid %ld)", name, w->pid);
}

/* Who is known to set what, by what these programs document. in: part of the name; "": any. */
static const struct {
	const char *unit;
	enum knob_kind kind;
	const char *in;
} likely[] = {
	{ "tuned.service", KNOB_SYSCTL, "" },
	{ "tuned.service", KNOB_SYSFS, "" },
	{ "power-profiles-daemon.service", KNOB_SYSFS, "/cpufreq/" },
	{ "thermald.service", KNOB_SYSFS, "/cpufreq/" },
	{ "auto-cpufreq.service", KNOB_SYSFS, "/cpufreq/" },
	{ "nvidia-persistenced.service", KNOB_NVML, "persistence-mode" },
	{ "nvidia-powerd.service", KNOB_NVML, "power-limit" },
	{ "nvidia-dcgm.service", KNOB_NVML, "" },
	{ "dcgm.service", KNOB_NVML, "" },
	{ "NetworkManager.service", KNOB_LINK, "" },
	{ "systemd-networkd.service", KNOB_LINK, "" },
};

enum { LIKELY = sizeof(likely) / sizeof(likely[0]) };
_Static_assert(LIKELY <= (int)WHO_LIKELY_MAX, "WHO_LIKELY_MAX");

static bool is_running(struct host *h, struct arena *a, const char *name)
{
	struct knob unit = { KNOB_UNIT, name, "" };
	struct err ignored = { 0 };
	const char *state;

	return knob_get(h, a, &unit, &state, &ignored) == 0 && str_ends(state, " active");
}

const char *who_likely(struct host *h, struct arena *a, const struct knob *k,
		       struct who_running *running)
{
	for (size_t i = 0; i < LIKELY; i++) {
		if (likely[i].kind != k->kind || !strstr(k->name, likely[i].in))
			continue;
		if (!running->is[i])
			running->is[i] = is_running(h, a, likely[i].unit) ? 1 : -1;
		if (running->is[i] > 0)
			return likely[i].unit;
	}
	return NULL;
}
