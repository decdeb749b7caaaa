/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs reserved at run time: made, read back, refused, cut off at every write, and taken away. */
#include <errno.h>

#include "machine/knob/io.h"
#include "memory_host.h"

#define CGROUPS "/sys/fs/cgroup"
#define HANDED CGROUPS "/cgroup.subtree_control"
#define GROUP CGROUPS "/gputune-isolated"
#define CPUS GROUP "/cpuset.cpus"
#define STATE GROUP "/cpuset.cpus.partition"

struct lab {
	struct arena a;
	struct host *h;
	struct host_ops ops;
	struct host_writes writes;
	struct err e;
};

static const struct knob isolated = { KNOB_CPUSET, "isolated", "" };
static const char before[] = "none, controller off";

/* The kernel's side of it: a group brings its files along, and what is written to them is not what
 * is read. */
static int kernel_make(struct host *h, enum host_kind kind, const char *path, const char *target,
		       unsigned mode)
{
	int r = memory_make(h, kind, path, target, mode);

	if (r == 0) {
		memory_file(h, CPUS, "\n");
		memory_file(h, STATE, "member\n");
	}
	return r;
}

static int kernel_remove(struct host *h, const char *path)
{
	int r = memory_gate(h, memory_find(h, path));

	if (r)
		return r;
	memset(memory_find(h, CPUS), 0, sizeof(struct memory_place));
	memset(memory_find(h, STATE), 0, sizeof(struct memory_place));
	memset(memory_find(h, path), 0, sizeof(struct memory_place));
	return 0;
}

static int kernel_write(struct host *h, const char *path, long long offset, const void *data,
			size_t len)
{
	struct memory_place *p = memory_find(h, path);
	int r = p ? memory_gate(h, p) : -ENOENT;

	(void)offset;
	if (r)
		return r;
	if (strcmp(path, HANDED) == 0)
		memory_file(h, path,
			    *(const char *)data == '+' ? "cpu cpuset memory\n" : "cpu memory\n");
	else if (strcmp(path, STATE) == 0 && len == 8 && strcmp(memory_text(h, CPUS), "1-9\n") == 0)
		memory_file(h, path, "isolated invalid (no such CPU)\n");
	else
		p->len = (size_t)snprintf(p->data, sizeof(p->data), "%.*s\n", (int)len,
					  (const char *)data);
	return 0;
}

static int setup(void **state)
{
	struct lab *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->h = memory_open();
	l->ops = *l->h->ops;
	l->writes = *l->ops.writes;
	l->writes.write = kernel_write;
	l->writes.make = kernel_make;
	l->writes.remove = kernel_remove;
	l->ops.writes = &l->writes;
	l->h->ops = &l->ops;
	memory_folder(l->h, CGROUPS);
	memory_file(l->h, CGROUPS "/cgroup.controllers", "cpuset cpu memory\n");
	memory_file(l->h, HANDED, "cpu memory\n");
	*state = l;
	return 0;
}

static int teardown(void **state)
{
	struct lab *l = *state;

	arena_free(&l->a);
	host_close(l->h);
	free(l);
	return 0;
}

static const char *get(struct lab *l)
{
	const char *value = NULL;
	int r = knob_get(l->h, &l->a, &isolated, &value, &l->e);

	return r ? errno_name(r) : value;
}

static int set(struct lab *l, const char *value)
{
	return knob_set(l->h, &l->a, &isolated, value, &l->e);
}

static void test_there_and_back(void **state)
{
	struct lab *l = *state;

	assert_string_equal(get(l), before);
	assert_string_equal(knob_read(l->h, &l->a, &isolated).v, before);
	assert_int_equal(set(l, "1-3"), 0);
	assert_string_equal(get(l), "1-3");
	assert_string_equal(memory_text(l->h, STATE), "isolated\n");
	assert_int_equal(set(l, "2,3"), 0);
	assert_true(knob_same(&isolated, get(l), "2-3"));
	assert_int_equal(set(l, before), 0);
	assert_string_equal(get(l), before);
	assert_null(memory_find(l->h, GROUP));
	assert_string_equal(memory_text(l->h, HANDED), "cpu memory\n");
}

/* Where somebody used the controller before, it stays; where somebody does by now, too. */
static void test_others(void **state)
{
	struct lab *l = *state;

	memory_file(l->h, HANDED, "cpu cpuset memory\n");
	assert_string_equal(get(l), "none");
	assert_int_equal(set(l, "1"), 0);
	assert_int_equal(set(l, "none"), 0);
	assert_string_equal(get(l), "none");
	assert_int_equal(set(l, "1"), 0);
	memory_find(l->h, HANDED)->refuses = -EBUSY;
	assert_int_equal(set(l, before), 0);
	assert_true(knob_same(&isolated, get(l), before));
}

static void test_refused(void **state)
{
	struct lab *l = *state;

	assert_int_equal(set(l, "1-9"), -EINVAL);
	assert_non_null(strstr(l->e.text, "no such CPU"));
	assert_string_equal(get(l), before);
	assert_int_equal(set(l, "0-3"), -EINVAL);
	assert_non_null(strstr(l->e.text, "CPU 0"));
	assert_int_equal(set(l, "not finished"), -EINVAL);
	assert_int_equal(set(l, ""), -EINVAL);
	assert_int_equal(set(l, "1;2"), -EINVAL);
	memory_file(l->h, CGROUPS "/cgroup.controllers", "cpu memory\n");
	assert_string_equal(get(l), "EOPNOTSUPP");
	memset(memory_find(l->h, CGROUPS "/cgroup.controllers"), 0, sizeof(struct memory_place));
	assert_string_equal(get(l), "ENOENT");
	assert_int_equal(knob_read(l->h, &l->a, &isolated).f.seen, SEEN_ABSENT);
}

/* A list that the kernel does not take leaves those CPUs set aside that were. */
static void test_old_ones_come_back(void **state)
{
	struct lab *l = *state;

	assert_int_equal(set(l, "1-3"), 0);
	assert_int_equal(set(l, "1-9"), -EINVAL);
	assert_non_null(strstr(l->e.text, "no such CPU"));
	assert_string_equal(get(l), "1-3");
	assert_string_equal(memory_text(l->h, STATE), "isolated\n");
	for (int n = 1; n <= 3; n++) {
		memory_of(l->h)->tried = 0;
		memory_of(l->h)->fail_at = n;
		memory_of(l->h)->fail_once = true;
		assert_int_equal(set(l, "2"), -EIO);
		assert_string_equal(get(l), "1-3");
	}
	memory_of(l->h)->fail_at = 0;
}

/* Of a large machine every second CPU. */
static void test_long_list(void **state)
{
	struct lab *l = *state;
	char list[2048] = "1";

	for (int cpu = 3; cpu < 512; cpu += 2)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%d", cpu);
	assert_int_equal(set(l, list), 0);
	assert_string_equal(get(l), list);
	assert_int_equal(set(l, before), 0);
}

/* Everything behind the nth write is lost, as when the power goes; what is left counts as ours and
 * goes back to what was there. */
static void cut_at(struct lab *l, int n, const char *from, const char *to)
{
	struct memory_host *m = memory_of(l->h);
	const char *now;

	m->tried = 0;
	m->fail_at = 0;
	assert_int_equal(set(l, from), 0);
	m->fail_at = n;
	set(l, to);
	m->fail_at = 0;
	now = get(l);
	if (!knob_same(&isolated, now, from) && !knob_same(&isolated, now, to))
		fail_msg("write %d of %s to %s leaves %s", n, from, to, now);
	assert_int_equal(set(l, before), 0);
	assert_string_equal(get(l), before);
	assert_null(memory_find(l->h, GROUP));
	assert_string_equal(memory_text(l->h, HANDED), "cpu memory\n");
}

static void test_cut_off(void **state)
{
	for (int n = 1; n <= 8; n++) {
		cut_at(*state, n, before, "1-3");
		cut_at(*state, n, "1-3", before);
		cut_at(*state, n, "1-3", "2");
	}
}

static void test_commands(void **state)
{
	struct lab *l = *state;

	assert_string_equal(knob_command(&l->a, &isolated, "none"),
			    "echo member > " STATE " && rmdir " GROUP);
	assert_non_null(strstr(knob_command(&l->a, &isolated, "1-3"), "echo 1-3 > " CPUS));
	assert_null(knob_command(&l->a, &isolated, "1;2"));
	assert_false(knob_same(&isolated, "none", "1"));
	assert_false(knob_same(&isolated, "1", "2"));
	assert_true(knob_same(&isolated, "not finished", "2"));
	assert_false(knob_holds(&isolated, "not finished", "2"));
	assert_true(knob_holds(&isolated, "2,3", "2-3"));
	assert_true(knob_holds(&isolated, before, "none"));
	assert_false(knob_same(&isolated, "not finished", "none"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_there_and_back),     TEST(test_others),    TEST(test_refused),
		TEST(test_old_ones_come_back), TEST(test_long_list), TEST(test_cut_off),
		TEST(test_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
