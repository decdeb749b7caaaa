/* SPDX-License-Identifier: Apache-2.0 */
/* Files for the next boot as transactions: every operation of an install and of a remove fails once
 * and is the last of a process once; afterwards everything is there or nothing is. */
#include "lab.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tune/persist/persist.h"

#define DROP_IN "/etc/sysctl.d/99-zz-gputune.conf"

static const struct {
	enum knob_kind kind;
	const char *name, *value;
} files[] = {
	{ KNOB_FILE, "/etc/sysctl.d/", "0755:" },
	{ KNOB_FILE, DROP_IN, "0644:vm.swappiness = 10\\n" },
	{ KNOB_BOOTARG, "iommu", "pt" },
	{ KNOB_FILE, "/etc/gputune/", "0755:" },
	{ KNOB_FILE, PERSIST_REQUEST, "0644:{}\\n" },
	{ KNOB_FILE, "/etc/systemd/system/multi-user.target.wants/", "0755:" },
	{ KNOB_FILE, PERSIST_UNIT_LINK, "link:" PERSIST_UNIT },
};
enum { FILES = sizeof(files) / sizeof(files[0]) };
_Static_assert((int)FILES <= (int)LAB_CHANGES, "the lab's plan has room");

static const struct txn_select all = { .all = true, .op = "persist" };

static void open_lab(struct lab *l)
{
	*l = (struct lab){ 0 };
	box_make(&l->box);
	lab_machine(&l->box);
	box_folder(&l->box, "m/root/etc/systemd/system");
	box_file(&l->box, "m/root/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
	l->h = lab_host(l);
}

static void fill(struct lab *l, const char *drop_in)
{
	for (size_t i = 0; i < FILES; i++)
		lab_change(l, "persist.files", files[i].kind, files[i].name,
			   strcmp(files[i].name, DROP_IN) == 0 ? drop_in : files[i].value);
}

static int install(struct lab *l, struct host *h)
{
	struct txn_who who = { .user = "tester", .version = "1", .op = "persist" };

	return txn_apply(h, &l->a, &l->plan, &who, &l->report, &l->e);
}

static int take_back(struct lab *l, struct host *h)
{
	struct txn_who who = { .user = "tester", .version = "1" };

	return txn_undo(h, &l->a, &all, &who, &l->report, &l->e);
}

/* How many of the files are there, as they shall be. */
static size_t there(struct lab *l)
{
	size_t n = 0;

	for (size_t i = 0; i < FILES; i++) {
		const char *v = lab_value(l, files[i].kind, files[i].name);
		bool gone = strcmp(v, files[i].kind == KNOB_FILE ? "absent" : "not set") == 0;

		if (!gone && strcmp(v, files[i].value) != 0 && strcmp(v, "0755:others") != 0)
			fail_msg("%s is neither there nor absent: %s", files[i].name, v);
		n += !gone;
	}
	return n;
}

static size_t new_files(struct lab *l)
{
	static const char *const names[] = { DROP_IN HOST_NEW, PERSIST_REQUEST HOST_NEW,
					     PERSIST_GRUB HOST_NEW,
					     "/etc/default/.gputune-made-grub.d.gputune-new" };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		n += host_exists(l->h, names[i]);
	return n;
}

static bool left_over(struct lab *l)
{
	return new_files(l) || host_exists(l->h, "/etc/default/grub.d");
}

/* The process ends at operation at, torn: in the middle of it; true when it came so far. */
static bool dies(struct lab *l, size_t at, bool torn, int (*what)(struct lab *l, struct host *h))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct host *h =
			fault_open(lab_host(l), (struct fault_plan){ .at = at, .torn = torn });

		what(l, h);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == FAULT_EXIT;
}

static void test_there_and_back(void **state)
{
	struct lab l;
	struct hold_row *rows;
	struct journal j;
	size_t n;

	(void)state;
	open_lab(&l);
	assert_int_equal(there(&l), 0);
	fill(&l, files[1].value);
	if (install(&l, l.h))
		fail_msg("%s", l.e.text);
	lab_next(&l);
	assert_int_equal(there(&l), FILES);
	/* They are no settings that are in force now, and undo without a number passes them by. */
	lab_journal(&l, &j);
	txn_status(l.h, &l.a, &j, &rows, &n);
	assert_int_equal(n, 0);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -ENOENT);
	assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), -ENOENT);
	assert_int_equal(there(&l), FILES);
	/* By its number it is undone like any other. */
	assert_int_equal(lab_undo(&l, (struct txn_select){ .txn = 1 }), 0);
	assert_int_equal(there(&l), 0);
	assert_false(left_over(&l));
	lab_close(&l);
}

/* A second install over the first; an edit in between is theirs. */
static void test_edited(void **state)
{
	static const struct knob drop_in = { KNOB_FILE, DROP_IN, "" };
	struct lab l;
	struct err e = { 0 };

	(void)state;
	open_lab(&l);
	fill(&l, "0644:vm.swappiness = 5\\n");
	assert_int_equal(install(&l, l.h), 0);
	lab_next(&l);
	lab_change(&l, "persist.files", KNOB_FILE, DROP_IN, files[1].value);
	assert_int_equal(install(&l, l.h), 0);
	lab_next(&l);
	assert_int_equal(there(&l), FILES);
	assert_int_equal(knob_set(l.h, &l.a, &drop_in, "0644:# mine\\n", &e), 0);
	assert_int_equal(take_back(&l, l.h), 0);
	lab_next(&l);
	assert_string_equal(lab_value(&l, KNOB_FILE, DROP_IN), "0644:# mine\\n");
	assert_string_equal(lab_value(&l, KNOB_FILE, "/etc/gputune/"), "absent");
	/* The folder that holds their file stays. */
	assert_string_equal(lab_value(&l, KNOB_FILE, "/etc/sysctl.d/"), "0755:others");
	lab_close(&l);
}

static void test_install_fails(void **state)
{
	size_t failures = 0;
	bool more = true;

	(void)state;
	for (size_t at = 1; more; at++) {
		struct lab l;
		struct host *h;
		int r;

		open_lab(&l);
		h = fault_open(lab_host(&l), (struct fault_plan){ .at = at, .code = -EIO });
		fill(&l, files[1].value);
		r = install(&l, h);
		more = fault_operations(h) >= at;
		host_close(h);
		lab_next(&l);
		if (r && r != -EUCLEAN && there(&l))
			fail_msg("failed at %zu: %zu files are there", at, there(&l));
		assert_int_equal(take_back(&l, l.h), r == -EUCLEAN || r == 0 ? 0 : -ENOENT);
		lab_next(&l);
		if (there(&l) || left_over(&l))
			fail_msg("failed at %zu: something was left", at);
		failures += r != 0;
		lab_close(&l);
	}
	print_message("%zu failures\n", failures);
	assert_true(failures > 50);
}

static size_t install_dies(bool torn, size_t *half)
{
	size_t crashes = 0;
	bool more = true;

	for (size_t at = 1; more; at++) {
		struct txn_who who = { .user = "tester", .version = "1" };
		struct lab l;
		size_t left;

		open_lab(&l);
		fill(&l, files[1].value);
		more = dies(&l, at, torn, install);
		lab_next(&l);
		left = new_files(&l);
		*half += left;
		assert_int_equal(txn_recover(l.h, &l.a, &who, &l.report, &l.e), 0);
		if (l.report.n_leftovers != left || new_files(&l))
			fail_msg("died at %zu: %zu of %zu files were removed", at,
				 l.report.n_leftovers, left);
		lab_next(&l);
		if (there(&l) && there(&l) != FILES)
			fail_msg("died at %zu: %zu files are there", at, there(&l));
		take_back(&l, l.h);
		lab_next(&l);
		if (there(&l) || left_over(&l))
			fail_msg("died at %zu: something was left", at);
		crashes += more;
		lab_close(&l);
	}
	print_message("%zu crashes\n", crashes);
	return crashes;
}

static void test_install_dies(void **state)
{
	size_t half = 0;

	(void)state;
	assert_true(install_dies(false, &half) > 50);
	assert_int_equal(half, 0);
	assert_true(install_dies(true, &half) > 50);
	assert_int_equal(half, 4);
}

static size_t remove_dies(void)
{
	size_t crashes = 0;
	bool more = true;

	for (size_t at = 1; more; at++) {
		struct lab l;

		open_lab(&l);
		fill(&l, "0644:vm.swappiness = 5\\n");
		assert_int_equal(install(&l, l.h), 0);
		lab_next(&l);
		lab_change(&l, "persist.files", KNOB_FILE, DROP_IN, files[1].value);
		assert_int_equal(install(&l, l.h), 0);
		lab_next(&l);
		more = dies(&l, at, true, take_back);
		lab_next(&l);
		take_back(&l, l.h);
		lab_next(&l);
		if (there(&l) || left_over(&l))
			fail_msg("died at %zu: something was left", at);
		crashes += more;
		lab_close(&l);
	}
	print_message("%zu crashes\n", crashes);
	return crashes;
}

static void test_remove_dies(void **state)
{
	(void)state;
	assert_true(remove_dies() > 50);
}

/* What is not ours keeps its place beside the file, whatever it is called; and what cannot be
 * removed keeps the change open. */
static void test_beside(void **state)
{
	static const char mine[] = DROP_IN HOST_NEW;
	struct lab l;
	struct host *h;

	(void)state;
	open_lab(&l);
	fill(&l, files[1].value);
	assert_int_equal(install(&l, l.h), 0);
	lab_next(&l);
	assert_int_equal(host_make_link(l.h, mine, "/etc/passwd"), 0);
	assert_int_equal(take_back(&l, l.h), 0);
	assert_int_equal(l.report.n_leftovers, 1);
	assert_string_equal(l.report.leftovers[0], DROP_IN HOST_NEW
			    " is not a regular file owned by root: left unchanged");
	assert_true(host_exists(l.h, mine));
	lab_next(&l);
	assert_int_equal(host_remove(l.h, mine), 0);
	/* The folder stayed with it. */
	assert_int_equal(host_remove(l.h, "/etc/sysctl.d"), 0);
	fill(&l, files[1].value);
	assert_int_equal(install(&l, l.h), 0);
	lab_next(&l);
	for (size_t at = 1; at; at++) {
		size_t n;

		host_put(l.h, mine, "half", 4, 0600);
		h = fault_open(lab_host(&l), (struct fault_plan){ .at = at, .code = -EIO });
		take_back(&l, h);
		n = fault_operations(h);
		host_close(h);
		lab_next(&l);
		take_back(&l, l.h);
		if (there(&l) || left_over(&l))
			fail_msg("failed at %zu: something was left", at);
		lab_next(&l);
		if (n < at)
			break;
		fill(&l, files[1].value);
		assert_int_equal(install(&l, l.h), 0);
		lab_next(&l);
	}
	lab_close(&l);
}

/* What a file that is written in its place held before lies beside it: it goes once the file holds
 * it again, and stays while it is the only copy. */
static void test_saved(void **state)
{
	static const char hosts[] = "/etc/hosts", saved[] = "/etc/hosts" HOST_OLD,
			  before[] = "127.0.0.1 localhost\n";

	(void)state;
	for (int other = 0; other < 2; other++) {
		struct lab l;

		open_lab(&l);
		assert_int_equal(host_put(l.h, hosts, before, strlen(before), 0644), 0);
		lab_make(&l, "cluster.hosts", KNOB_BLOCK, hosts, "0644:10.0.0.1 a\\n");
		assert_int_equal(host_put(l.h, saved, before, strlen(before) - (size_t)other, 0600),
				 0);
		assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
		assert_string_equal(lab_value(&l, KNOB_BLOCK, hosts), "absent");
		assert_int_equal(l.report.n_leftovers, 1);
		assert_non_null(
			strstr(l.report.leftovers[0],
			       other ? "It was left unchanged: compare" : "removed /etc/hosts"));
		assert_int_equal(host_exists(l.h, saved), other);
		lab_close(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_edited),
		cmocka_unit_test(test_install_fails),  cmocka_unit_test(test_install_dies),
		cmocka_unit_test(test_remove_dies),    cmocka_unit_test(test_beside),
		cmocka_unit_test(test_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
