/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups of jobs. Sources: admin-guide/cgroup-v2.rst; systemd, "The New Control Group
 * Interfaces" and org.freedesktop.systemd1(5), StartTransientUnit. Where systemd runs, it owns the
 * tree: a folder is made by hand only where it does not.
 */
#include "front/job_group.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/host/command.h"
#include "machine/write/write.h"

enum { SCOPE_MS = 5000, REPLY_MAX = 4096, SAID = 160, PROCS_MAX = 1 << 20, END_MS = 500 };
static const struct timespec nap = { 0, 5000000 };

/* Where version 2 is mounted: alone, or beside version 1. NULL: it is not. */
static const char *mounted(struct host *h)
{
	static const char *const at[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char path[64];

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		snprintf(path, sizeof(path), "%s/cgroup.controllers", at[i]);
		if (host_exists(h, path))
			return at[i];
	}
	return NULL;
}

/* The process's group of version 2, "/a/b"; NULL: not known. */
static const char *group_of(struct host *h, struct arena *a, pid_t pid)
{
	char *text, *at;

	if (host_read(h, arena_printf(a, "/proc/%ld/cgroup", (long)pid), REPLY_MAX, a, &text, NULL))
		return NULL;
	at = str_starts(text, "0::") ? text : strstr(text, "\n0::");
	if (!at)
		return NULL;
	at = strchr(at, '/');
	if (at)
		at[strcspn(at, "\n")] = '\0';
	return at;
}

/* --- systemd ---------------------------------------------------------------------------------- */

/* Asks the manager to put the process into a new scope. NULL, or why not. */
static const char *ask_manager(struct arena *a, const char *unit, const char *pid, const char *high,
			       const char *max)
{
	char *argv[] = { "busctl",
			 geteuid() ? "--user" : "--system",
			 "--timeout=5",
			 "--allow-interactive-authorization=no",
			 "call",
			 "org.freedesktop.systemd1",
			 "/org/freedesktop/systemd1",
			 "org.freedesktop.systemd1.Manager",
			 "StartTransientUnit",
			 "ssa(sv)a(sa(sv))",
			 (char *)unit,
			 "fail",
			 "6",
			 "CollectMode",
			 "s",
			 "inactive-or-failed",
			 "PIDs",
			 "au",
			 "1",
			 (char *)pid,
			 "Description",
			 "s",
			 "job of gputune run --guard",
			 "MemoryAccounting",
			 "b",
			 "true",
			 "MemoryHigh",
			 "t",
			 (char *)high,
			 "MemoryMax",
			 "t",
			 (char *)max,
			 "0",
			 NULL };
	const struct command_of_user how = { .limit_ms = SCOPE_MS, .max = REPLY_MAX };
	struct command_result result = { 0 };
	/* Without root the user's bus is found by the environment. */
	int r = geteuid() ? command_run_own(a, argv, &how, &result)
			  : command_run(a, argv, SCOPE_MS, REPLY_MAX, &result);

	if (r == 0 && result.status == 0)
		return NULL;
	return arena_printf(a, "systemd could not create a scope for the command (%s)",
			    r ? strerror(-r) : command_last_line(a, result.errors, SAID));
}

/* The answer comes before the process is there: its own group says when it is. */
static void enter_scope(struct host *h, struct arena *a, const char *mount, pid_t pid,
			const char *high, const char *max, struct job_group *out)
{
	const char *unit = arena_printf(a, "gputune-run-%ld.scope", (long)pid), *group = NULL;
	long long end = clock_mono_ms() + SCOPE_MS;

	out->why = ask_manager(a, unit, arena_printf(a, "%ld", (long)pid), high, max);
	while (!out->why && clock_mono_ms() < end) {
		group = group_of(h, a, pid);
		if (group && strstr(group, unit)) {
			out->dir = arena_printf(a, "%s%s", mount, group);
			return;
		}
		nanosleep(&nap, NULL);
	}
	if (!out->why)
		out->why = "systemd did not move the command into its scope in time";
}

/* --- by hand ---------------------------------------------------------------------------------- */

static int put(struct host *h, struct arena *a, const char *dir, const char *name, const char *text)
{
	return host_write(h, arena_printf(a, "%s/%s", dir, name), text);
}

static void enter_folder(struct host *h, struct arena *a, const char *mount, pid_t pid,
			 const char *high, const char *max, struct job_group *out)
{
	const char *own = group_of(h, a, getpid());
	const char *dir = arena_printf(a, "%s%s%sgputune-run-%ld", mount, own ? own : "",
				       own && str_ends(own, "/") ? "" : "/", (long)pid);
	int r = own ? host_make_dir(h, dir, 0755) : -ENOENT;

	if (r == 0) {
		/* Bounds first: it must not run for a moment without. */
		if (host_exists(h, arena_printf(a, "%s/memory.max", dir)))
			r = put(h, a, dir, "memory.max", max);
		r = r ? r : put(h, a, dir, "cgroup.procs", arena_printf(a, "%ld", (long)pid));
		if (r)
			host_remove(h, dir);
		else
			(void)put(h, a, dir, "memory.high", high);
	}
	if (r)
		out->why = arena_printf(a, "cannot create a control group for the command (%s)",
					strerror(-r));
	else
		out->dir = dir;
	out->ours = r == 0;
}

void job_group_make(struct host *h, struct arena *a, pid_t pid, long long high_bytes,
		    long long max_bytes, struct job_group *out)
{
	const char *mount = mounted(h), *high = arena_printf(a, "%lld", high_bytes),
		   *max = arena_printf(a, "%lld", max_bytes);
	char now[32];

	*out = (struct job_group){ .high_bytes = high_bytes };
	if (!mount) {
		out->why = "this kernel has no cgroup v2";
		return;
	}
	if (host_exists(h, "/run/systemd/system"))
		enter_scope(h, a, mount, pid, high, max, out);
	else
		enter_folder(h, a, mount, pid, high, max, out);
	if (!out->dir)
		return;
	out->name = path_name(out->dir);
	if (host_read_line(h, arena_printf(a, "%s/memory.max", out->dir), now, sizeof(now)))
		out->why = "the memory controller of cgroups is not available here";
	else if (strcmp(now, "max") == 0)
		out->why = "no limit could be set on its control group";
	else {
		out->max_bytes = strtoll(now, NULL, 10);
		out->limits = true;
		/* Its processes belong together: half a job only hangs. */
		(void)put(h, a, out->dir, "memory.oom.group", "1");
	}
}

/* --- afterwards ------------------------------------------------------------------------------- */

double kernel_figure(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at += n)
		if ((at == text || at[-1] == '\n' || at[-1] == ' ') &&
		    (at[n] == ' ' || word[n - 1] == '='))
			return strtod(at + n, NULL);
	return -1;
}

static double figure(struct host *h, const struct job_group *g, const char *name, const char *word)
{
	char path[HOST_PATH_MAX], text[REPLY_MAX];

	snprintf(path, sizeof(path), "%s/%s", g->dir, name);
	if (host_read_line(h, path, text, sizeof(text)))
		return -1;
	return *word ? kernel_figure(text, word) : strtod(text, NULL);
}

void job_group_look(struct host *h, const struct job_group *g, struct job_group_state *out)
{
	*out = (struct job_group_state){ .held_bytes = -1, .oom_kills = -1, .full = -1 };
	if (!g->dir)
		return;
	out->populated = figure(h, g, "cgroup.events", "populated") > 0;
	out->held_bytes = (long long)figure(h, g, "memory.current", "");
	out->oom_kills = (long long)figure(h, g, "memory.events", "oom_kill");
	out->full = figure(h, g, "memory.pressure", "full avg10=");
}

void job_group_signal(struct host *h, const struct job_group *g, int signal)
{
	ARENA_AUTO own = { 0 };
	char *text;

	/* Since Linux 5.14 the kernel ends a whole tree by itself. */
	if (g->dir && (signal != SIGKILL || put(h, &own, g->dir, "cgroup.kill", "1")) &&
	    host_read(h, arena_printf(&own, "%s/cgroup.procs", g->dir), PROCS_MAX, &own, &text,
		      NULL) == 0)
		for (char *at = text, *end; *at; at = end) {
			long pid = strtol(at, &end, 10);

			if (end == at)
				break;
			if (pid > 0)
				kill((pid_t)pid, signal);
			end += *end == '\n';
		}
}

void job_group_end(struct host *h, const struct job_group *g)
{
	long long end = clock_mono_ms() + END_MS;

	/* What was killed needs a moment to be gone. */
	while (g->dir && g->ours && host_remove(h, g->dir) == -EBUSY && clock_mono_ms() < end)
		nanosleep(&nap, NULL);
}
