/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every single operation of a whole check fails once. Nothing may crash, and what could not be read
 * may make a verdict unknown or not applicable, but never a pass or a failure that was not there.
 */
#include "box.h"

#include <stdbool.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "fault.h"
#include "machine/knob/io.h"
#include "look/probe/probe.h"
#include "look/settings/check.h"

enum { WORKERS_MAX = 16 };

/* A verdict that stands although the fact it rests on was not read: known, and why it is right. */
struct exception {
	const char *where; /* the start of what failed */
	const char *id;
};

static const struct exception exceptions[] = {
	/* A driver that does not even count its GPUs does not answer, which is what the check is
	   about. */
	{ "nvml  nvmlDeviceGetCount", "gpu.driver " },
	{ NULL, NULL },
};

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

static struct host *machine_open(void)
{
	struct err e = { 0 };
	struct host *h = host_open_capture(MACHINES "/dgx-spark", &e);

	if (!h)
		fail_msg("%s", e.text);
	return h;
}

/* All that "gputune check" does with a machine. */
static void check_all(struct host *h, struct arena *a, struct findings *f)
{
	struct probe p = { .h = h, .a = a, .m = ARENA_NEW(a, struct machine), .deep = true };
	struct profile profile;
	struct err e = { 0 };

	assert_int_equal(profile_load(a, "default", &profile, &e), 0);
	probe_machine(&p);
	settings_check(a, p.m, &profile, read_knob, h, f);
}

/* "id target" -> kind + 1 */
static void verdicts(struct arena *a, const struct findings *f, struct map *out)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *x = &f->items[i];

		for (size_t t = 0; t < x->n_targets; t++)
			*map_at(a, out, arena_printf(a, "%s %s", x->s->id, x->targets[t])) =
				(void *)(intptr_t)(x->v.kind + 1);
	}
}

static bool excepted(const char *where, const char *key)
{
	for (size_t i = 0; exceptions[i].id; i++)
		if (strncmp(where, exceptions[i].where, strlen(exceptions[i].where)) == 0 &&
		    strncmp(key, exceptions[i].id, strlen(exceptions[i].id)) == 0)
			return true;
	return false;
}

/* Prints and counts the verdicts that a failed operation made up. */
static size_t made_up(const struct map *good, const struct map *now, const char *where, int code)
{
	size_t n = 0;

	for (size_t i = 0; i < now->cap; i++) {
		const char *key = now->slots[i].key;
		intptr_t kind = (intptr_t)now->slots[i].value - 1, was;

		if (!key || (kind != VERDICT_PASS && kind != VERDICT_FAIL))
			continue;
		was = (intptr_t)map_get(good, key) - 1;
		if (was == kind || excepted(where, key))
			continue;
		fprintf(stderr, "MADE UP: %s of %s: %s is %s, was %s\n", errno_name(code), where,
			key, verdict_name((enum verdict_kind)kind),
			was < 0 ? "no target" : verdict_name((enum verdict_kind)was));
		n++;
	}
	return n;
}

/* Fails operations first, first + step, ... of total; how many verdicts were made up. */
static size_t fail_each(const struct map *good, size_t total, size_t first, size_t step, int code)
{
	size_t n = 0;

	for (size_t at = first; at <= total; at += step) {
		struct host *h =
			fault_open(machine_open(), (struct fault_plan){ .at = at, .code = code });
		struct arena a = { 0 };
		struct findings f;
		struct map now = { 0 };

		check_all(h, &a, &f);
		if (!*fault_where(h))
			fail_msg("operation %zu of %zu was never reached", at, total);
		verdicts(&a, &f, &now);
		n += made_up(good, &now, fault_where(h), code);
		arena_free(&a);
		host_close(h);
	}
	return n;
}

static size_t baseline(struct arena *a, struct map *good)
{
	struct host *h = fault_open(machine_open(), (struct fault_plan){ 0 });
	struct findings f;
	size_t total;

	check_all(h, a, &f);
	verdicts(a, &f, good);
	total = fault_operations(h);
	host_close(h);
	return total;
}

/* The workers are processes: a crash in one is a failure of this test, not its end. */
static void every_operation(int code)
{
	struct arena a = { 0 };
	struct map good = { 0 };
	size_t total = baseline(&a, &good), stride = 1;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t workers = cpus < 1 ? 1 : cpus > WORKERS_MAX ? WORKERS_MAX : (size_t)cpus;
	pid_t pids[WORKERS_MAX];
	int bad = 0, status;

	/* For a quick look: STRIDE=50 fails every fiftieth operation only. */
	if (getenv("STRIDE"))
		stride = strtoul(getenv("STRIDE"), NULL, 10);
	assert_true(total > 500);
	for (size_t i = 0; i < workers; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			_exit(fail_each(&good, total, 1 + i * stride, workers * stride, code) != 0);
	}
	for (size_t i = 0; i < workers; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		bad |= status;
	}
	arena_free(&a);
	assert_int_equal(bad, 0);
}

static void test_eio(void **state)
{
	(void)state;
	every_operation(-EIO);
}

static void test_eacces(void **state)
{
	(void)state;
	every_operation(-EACCES);
}

/* The harness itself: the operation that is named fails, the others do not; and the process ends
 * where it is told. */
static void test_fault(void **state)
{
	struct host *h = fault_open(machine_open(), (struct fault_plan){ .at = 2, .code = -EIO });
	char buf[256];
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(host_read_line(h, "/proc/sys/vm/swappiness", buf, sizeof(buf)), 0);
	assert_int_equal(host_read_line(h, "/proc/sys/vm/swappiness", buf, sizeof(buf)), -EIO);
	assert_string_equal(fault_where(h), "/proc/sys/vm/swappiness");
	assert_int_equal(host_read_line(h, "/proc/sys/vm/swappiness", buf, sizeof(buf)), 0);
	assert_int_equal(fault_operations(h), 3);
	host_close(h);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		h = fault_open(machine_open(), (struct fault_plan){ .at = 1 });
		host_exists(h, "/proc");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), FAULT_EXIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_eio),
		cmocka_unit_test(test_eacces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
