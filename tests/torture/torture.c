/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full plan on the largest captured machine, interrupted everywhere: an operation of the host
 * fails (before it is done, or after), or the process ends there (with half a line written, too).
 * In applying, in undoing what was applied, and in rolling back what a first crash left. Whatever
 * was left behind: after the next undo the machine is what it was, to the byte, and the journal can
 * be read.
 *
 * Points are spread evenly over all operations, never twice the same; TORTURE_POINTS=N asks for
 * more or fewer, 0 for every operation. TORTURE_ONLY="apply fails late at 607" is that one again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"
#include "machine/write/write.h"
#include "same.h"
#include "machine/knob/io.h"
#include "tune/plan/plan.h"
#include "look/probe/probe.h"
#include "tune/txn/txn.h"

enum { WORKERS_MAX = 16, POINTS = 1200 };

static const char machine[] = MACHINES "/hgx-h100";
static const struct txn_who who = { .user = "torture", .version = GPUTUNE_VERSION };
static const struct txn_select everything = { .all = true };

/* What is interrupted: an apply, or an undo of what was applied or half applied. */
enum stage { APPLYING, UNDOING, RECOVERING, STAGES };

/* How a run is interrupted. */
static const struct way {
	const char *name;
	struct fault_plan fault; /* but for where */
	enum stage stage;
} ways[] = {
	{ "apply fails", { .code = -EIO }, APPLYING },
	{ "apply fails late", { .code = -EIO, .late = true }, APPLYING },
	{ "apply dies", { .code = 0 }, APPLYING },
	{ "apply dies, line torn", { .torn = true }, APPLYING },
	{ "undo fails", { .code = -EIO }, UNDOING },
	{ "undo fails late", { .code = -EIO, .late = true }, UNDOING },
	{ "undo dies", { .code = 0 }, UNDOING },
	{ "undo dies, line torn", { .torn = true }, UNDOING },
	{ "recovery fails", { .code = -EIO }, RECOVERING },
	{ "recovery dies", { .code = 0 }, RECOVERING },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

struct torture {
	struct arena a;
	struct plan plan;
	char folder[64];
	char start[STAGES][96];	   /* the overlay that a stage begins with; "" for none */
	size_t operations[STAGES]; /* without a fault */
	size_t step, points;
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static struct host *open_overlay(const char *overlay)
{
	struct err e = { 0 };
	struct host *h = host_open_overlay(machine, overlay, &e);

	if (!h)
		die("%s", e.text);
	return h;
}

/* --- the plan --------------------------------------------------------------------------------- */

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

static struct fact_str exact_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_exact(ctx, a, k);
}

static void plan_of(struct torture *t, struct host *h, const char *name, struct plan *out)
{
	struct probe p = { .h = h,
			   .a = &t->a,
			   .m = ARENA_NEW(&t->a, struct machine),
			   .deep = true,
			   .config = true };
	struct profile *profile = ARENA_NEW(&t->a, struct profile);
	struct findings *f = ARENA_NEW(&t->a, struct findings);
	const char **allow = arena_array(&t->a, 1000, sizeof(*allow));
	struct plan_target w = { .profile = profile, .allow = allow };
	struct err e = { 0 };

	if (profile_load(&t->a, name, profile, &e))
		die("%s", e.text);
	SETTING_FOR_EACH (s)
		allow[w.n_allow++] = s->id;
	probe_machine(&p);
	settings_check(&t->a, p.m, profile, read_knob, h, f);
	plan_make(&t->a, p.m, &w, f, read_knob, exact_knob, h, out);
}

/* Of the profile that changes most. */
static void make_plan(struct torture *t, struct host *h)
{
	static const char *const names[] = { "default", "published", "max-performance",
					     "low-latency" };
	const char *best = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct plan p;

		plan_of(t, h, names[i], &p);
		if (plan_open_changes(&p) <= plan_open_changes(&t->plan))
			continue;
		t->plan = p;
		best = names[i];
	}
	printf("%s on %s: %zu changes\n", best, strrchr(machine, '/') + 1,
	       plan_open_changes(&t->plan));
}

/* --- one interruption ------------------------------------------------------------------------- */

static size_t apply_to(struct torture *t, const char *overlay, struct fault_plan fault, int *result)
{
	struct host *h = fault_open(open_overlay(overlay), fault);
	struct txn_report report;
	struct arena a = { 0 };
	struct err e = { 0 };
	size_t n;

	*result = txn_apply(h, &a, &t->plan, &who, &report, &e);
	n = fault_operations(h);
	if (*result && !fault.at)
		die("apply: %s", e.text);
	host_close(h);
	arena_free(&a);
	return n;
}

static size_t undo_in(const char *overlay, struct fault_plan fault, int *result, struct err *e)
{
	struct host *h = fault_open(open_overlay(overlay), fault);
	struct txn_report report;
	struct arena a = { 0 };
	size_t n;

	*result = txn_undo(h, &a, &everything, &who, &report, e);
	n = fault_operations(h);
	host_close(h);
	arena_free(&a);
	return n;
}

static void interrupt(struct torture *t, const struct way *way, size_t at, const char *overlay)
{
	struct fault_plan fault = way->fault;
	struct err e = { 0 };
	int result, status;
	pid_t pid;

	fault.at = at;
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		if (way->stage != APPLYING)
			undo_in(overlay, fault, &result, &e);
		else
			apply_to(t, overlay, fault, &result);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != (fault.code ? 0 : FAULT_EXIT))
		die("%s at %zu: the process ended with %d", way->name, at, status);
}

static bool journal_is_fine(const char *overlay)
{
	struct host *h = open_overlay(overlay);
	struct arena a = { 0 };
	struct err e = { 0 };
	struct journal j;
	bool fine = journal_load(h, &a, true, &j, &e) == 0 && !j.bad_lines;

	for (size_t i = 0; fine && i < j.n; i++)
		fine = strcmp(j.items[i].op, "undo") == 0 ||
		       j.items[i].state == TRANSACTION_UNDONE ||
		       j.items[i].state == TRANSACTION_ROLLED_BACK;
	host_close(h);
	arena_free(&a);
	return fine;
}

/* False after saying what is not as it was. */
static bool one_point(struct torture *t, const struct way *way, size_t at, const char *overlay)
{
	struct err e = { 0 };
	char where[512] = "";
	int result;

	if (*t->start[way->stage])
		folder_copy(t->start[way->stage], overlay);
	interrupt(t, way, at, overlay);
	undo_in(overlay, (struct fault_plan){ 0 }, &result, &e);
	if (result == 0 || result == -ENOENT) {
		if (!same_as_capture(machine, overlay, where, sizeof(where)))
			result = -EUCLEAN;
		else if (!journal_is_fine(overlay))
			snprintf(where, sizeof(where), "the journal"), result = -EUCLEAN;
	} else {
		snprintf(where, sizeof(where), "%s", e.text);
	}
	if (result && result != -ENOENT) {
		fprintf(stderr, "NOT AS IT WAS: %s at %zu: %s\n", way->name, at, where);
		return false;
	}
	folder_remove(overlay);
	return true;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* The points of all ways in a row; 0 after the last. */
static size_t point(const struct torture *t, size_t i, const struct way **way)
{
	for (size_t w = 0; w < WAYS; w++) {
		size_t n = (t->operations[ways[w].stage] + t->step - 1) / t->step;

		*way = &ways[w];
		/* Each way begins somewhere else, so that together they meet more operations. */
		if (i < n)
			return 1 +
			       (i * t->step + w * t->step / WAYS) % t->operations[ways[w].stage];
		i -= n;
	}
	return 0;
}

static void work(struct torture *t, size_t worker, size_t workers)
{
	size_t bad = 0, at;
	const struct way *way;
	char overlay[96];

	for (size_t i = worker; bad < 5 && (at = point(t, i, &way)); i += workers) {
		snprintf(overlay, sizeof(overlay), "%s/%zu", t->folder, i);
		bad += !one_point(t, way, at, overlay);
	}
	_exit(bad != 0);
}

/* One point by the name that a failure had; leaves the overlay behind when it fails again. */
static bool only(struct torture *t, const char *name)
{
	char overlay[96];

	snprintf(overlay, sizeof(overlay), "%s/only", t->folder);
	for (size_t w = 0; w < WAYS; w++) {
		size_t n = strlen(ways[w].name), at;

		if (strncmp(name, ways[w].name, n) != 0 || strncmp(name + n, " at ", 4) != 0)
			continue;
		at = strtoul(name + n + 4, NULL, 10);
		if (at)
			return one_point(t, &ways[w], at, overlay);
	}
	die("TORTURE_ONLY=%s: there is no such point", name);
}

/* Undoes a copy of what a stage begins with. */
static void measure_undo(struct torture *t, enum stage stage)
{
	char undone[96], where[512];
	struct err e = { 0 };
	int result;

	snprintf(undone, sizeof(undone), "%s/undone", t->folder);
	folder_copy(t->start[stage], undone);
	t->operations[stage] = undo_in(undone, (struct fault_plan){ 0 }, &result, &e);
	if (result || !same_as_capture(machine, undone, where, sizeof(where)))
		die("not even without a fault is the machine as it was: %s",
		    result ? e.text : where);
	folder_remove(undone);
}

static void measure(struct torture *t)
{
	static const struct way halfway = { .name = "apply dies" };
	char where[512];
	int result;

	snprintf(t->start[UNDOING], sizeof(t->start[0]), "%s/applied", t->folder);
	snprintf(t->start[RECOVERING], sizeof(t->start[0]), "%s/half", t->folder);
	t->operations[APPLYING] = apply_to(t, t->start[UNDOING], (struct fault_plan){ 0 }, &result);
	if (same_as_capture(machine, t->start[UNDOING], where, sizeof(where)))
		die("applying changed nothing");
	interrupt(t, &halfway, t->operations[APPLYING] * 3 / 4, t->start[RECOVERING]);
	measure_undo(t, UNDOING);
	measure_undo(t, RECOVERING);
}

static void plan_points(struct torture *t)
{
	const char *wanted = getenv("TORTURE_POINTS");
	size_t all = 0, n = wanted ? strtoul(wanted, NULL, 10) : POINTS;
	const struct way *way;

	for (size_t w = 0; w < WAYS; w++)
		all += t->operations[ways[w].stage];
	t->step = n && n < all ? all / n : 1;
	/* A batch of equal changes must not always be met at the same place. */
	while (t->step > 1 && (t->step % 2 == 0 || t->step % 3 == 0 || t->step % 5 == 0))
		t->step++;
	while (point(t, t->points, &way))
		t->points++;
	printf("%zu operations in applying, %zu in undoing, %zu in recovering; every %zu. of them, "
	       "in %d ways\n",
	       t->operations[APPLYING], t->operations[UNDOING], t->operations[RECOVERING], t->step,
	       WAYS);
	fflush(stdout);
}

int main(void)
{
	const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm"
			  : getenv("TMPDIR")		? getenv("TMPDIR")
							: "/tmp";
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t workers = cpus < 1 ? 1 : cpus > WORKERS_MAX ? WORKERS_MAX : (size_t)cpus;
	struct torture t = { 0 };
	struct err e = { 0 };
	struct host *h = host_open_capture(machine, &e);
	int bad = 0, status;

	if (!h)
		die("%s", e.text);
	snprintf(t.folder, sizeof(t.folder), "%.40s/gputune-torture-XXXXXX", tmp);
	if (!mkdtemp(t.folder))
		die("%s: %s", t.folder, strerror(errno));
	make_plan(&t, h);
	host_close(h);
	measure(&t);
	if (getenv("TORTURE_ONLY")) {
		bad = !only(&t, getenv("TORTURE_ONLY"));
		workers = 0;
	} else {
		plan_points(&t);
	}
	for (size_t i = 0; i < workers; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (pid == 0)
			work(&t, i, workers);
	}
	for (size_t i = 0; i < workers; i++)
		bad |= wait(&status) < 0 || status != 0;
	if (!bad) {
		folder_remove(t.folder);
		printf("%zu crash points, all as before\n", t.points);
	}
	arena_free(&t.a);
	return bad;
}
