/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that stay open: made and taken back many times, kept, met by somebody else's change,
 * interrupted, and what others are told meanwhile. */
#include <stdbool.h>
#include <sys/wait.h>

#include "lab.h"

#define SWAP "vm.swappiness"
#define SWAP_FILE "/proc/sys/vm/swappiness"
#define DEPTH LAB_QUEUE "nr_requests"
#define SCHEDULER LAB_QUEUE "scheduler"

static const struct txn_who who = { .user = "tester", .version = "1" };

static struct txn_trial *begin(struct lab *l)
{
	struct txn_trial *t = NULL;

	lab_change(l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	lab_change(l, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "none");
	lab_change(l, "disk.queue-depth", KNOB_SYSFS, DEPTH, "512");
	lab_change(l, "gpu.clocks", KNOB_NVML, "gpu-clock-lock", "1000,1500");
	if (txn_trial_begin(l->h, &l->a, &who, "prove x", &l->report, &t, &l->e))
		fail_msg("%s", l->e.text);
	return t;
}

static void set(struct lab *l, struct txn_trial *t, const char *op)
{
	if (txn_trial_set(t, &l->plan, op, &l->report, &l->e))
		fail_msg("%s", l->e.text);
	assert_int_equal(l->report.n, 4);
	assert_string_equal(lab_sysctl(l, SWAP), "10");
	assert_string_equal(lab_queue(l, "scheduler"), "none");
	assert_int_equal(lab_clock(l), 1000);
}

static void test_there_and_back(void **state)
{
	struct txn_trial *t;
	struct journal j;
	struct lab l;

	(void)state;
	lab_open(&l);
	t = begin(&l);
	assert_int_equal(txn_trial_look(t, &l.plan, &l.e), 0);
	for (unsigned long i = 1; i <= 3; i++) {
		set(&l, t, NULL);
		assert_int_equal(l.report.txn, i);
		assert_int_equal(txn_trial_look(t, &l.plan, &l.e), 0);
		assert_int_equal(txn_trial_set(t, &l.plan, NULL, &l.report, &l.e), -EBUSY);
		assert_int_equal(txn_trial_revert(t, &l.report, &l.e), 0);
		assert_int_equal(txn_trial_revert(t, NULL, &l.e), 0);
		assert_true(lab_is_original(&l));
	}
	set(&l, t, NULL);
	assert_int_equal(txn_trial_end(t, &l.e), 0);
	assert_true(lab_is_original(&l));
	assert_false(host_exists(l.h, TXN_HOLDER));
	lab_next(&l);
	lab_journal(&l, &j);
	assert_int_equal(j.n, 4);
	for (size_t i = 0; i < j.n; i++) {
		assert_string_equal(j.items[i].op, TXN_PROVE);
		assert_int_equal(j.items[i].state, TRANSACTION_ROLLED_BACK);
	}
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -ENOENT);
	lab_close(&l);
}

static void test_keep(void **state)
{
	struct txn_trial *t;
	struct lab l;

	(void)state;
	lab_open(&l);
	t = begin(&l);
	assert_int_equal(txn_trial_keep(t, &l.e), -ENOENT);
	set(&l, t, NULL);
	assert_int_equal(txn_trial_revert(t, NULL, &l.e), 0);
	set(&l, t, "apply");
	assert_int_equal(txn_trial_keep(t, &l.e), 0);
	assert_int_equal(txn_trial_end(t, &l.e), 0);
	assert_string_equal(lab_sysctl(&l, SWAP), "10");
	lab_next(&l);
	/* As anything that was applied. */
	assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), 0);
	assert_int_equal(l.report.n, 4);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* On what was applied before: back means back to that. */
static void test_above_a_layer(void **state)
{
	struct txn_trial *t = NULL;
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "30");
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	assert_int_equal(txn_trial_begin(l.h, &l.a, &who, "prove x", &l.report, &t, &l.e), 0);
	assert_int_equal(txn_trial_set(t, &l.plan, NULL, &l.report, &l.e), 0);
	assert_int_equal(txn_trial_end(t, &l.e), 0);
	assert_string_equal(lab_sysctl(&l, SWAP), "30");
	lab_next(&l);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

static void test_foreign(void **state)
{
	struct txn_trial *t;
	struct lab l;

	(void)state;
	lab_open(&l);
	t = begin(&l);
	set(&l, t, NULL);
	lab_by_hand(&l, SWAP_FILE, "77");
	assert_int_equal(txn_trial_look(t, &l.plan, &l.e), -ESTALE);
	assert_non_null(strstr(l.e.text, SWAP));
	assert_int_equal(txn_trial_revert(t, NULL, &l.e), -ESTALE);
	/* Theirs stays, ours is back. */
	assert_string_equal(lab_sysctl(&l, SWAP), "77");
	assert_string_equal(lab_queue(&l, "nr_requests"), "64");
	assert_int_equal(txn_trial_look(t, &l.plan, &l.e), -ESTALE);
	assert_int_equal(txn_trial_set(t, &l.plan, NULL, &l.report, &l.e), -ESTALE);
	assert_int_equal(txn_trial_end(t, &l.e), 0);
	lab_close(&l);
}

static void test_refused(void **state)
{
	struct txn_trial *t;
	struct lab l;

	(void)state;
	lab_open(&l);
	t = begin(&l);
	l.changes[1].after = "bfq";
	assert_int_equal(txn_trial_set(t, &l.plan, NULL, &l.report, &l.e), -ECANCELED);
	assert_true(lab_is_original(&l));
	l.changes[1].after = "none";
	set(&l, t, NULL);
	assert_int_equal(txn_trial_end(t, &l.e), 0);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* Another process while a trial is under way, and after it was killed. */
static void test_holder(void **state)
{
	int ready[2], status;
	struct lab l;
	char byte = 0;
	pid_t pid;

	(void)state;
	lab_open(&l);
	/* The captured machine has no processes; this one's stands in for it. */
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		lab_next(&l);
		set(&l, begin(&l), NULL);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	assert_int_equal(lab_apply(&l), -EWOULDBLOCK);
	assert_non_null(strstr(l.e.text, "another gputune"));
	assert_true(host_exists(l.h, TXN_HOLDER));
	/* Who wrote the note cannot be seen in a capture, so nobody is named. */
	assert_null(txn_holder(l.h, &l.a));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_string_equal(lab_sysctl(&l, SWAP), "10");
	lab_next(&l);
	assert_int_equal(txn_recover(l.h, &l.a, &who, &l.report, &l.e), 0);
	assert_int_equal(l.report.recovered, 1);
	assert_true(lab_is_original(&l));
	lab_close(&l);
	close(ready[0]);
	close(ready[1]);
}

/* A live process is named by what it said; one that is gone, or another with its number, is not. */
static void test_holder_alive(void **state)
{
	static const char stat[] = "4711 (a b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9876 0";
	struct lab l;

	(void)state;
	lab_open(&l);
	box_file(&l.box, "m/root/proc/4711/stat", stat);
	box_file(&l.box, "m/root/var/lib/gputune/holder", "4711 9876 prove disk.x\a\n");
	lab_next(&l);
	assert_string_equal(txn_holder(l.h, &l.a), "\"gputune prove disk.x?\", process 4711");
	box_file(&l.box, "m/root/var/lib/gputune/holder", "4711 9875 prove disk.x\n");
	lab_next(&l);
	assert_null(txn_holder(l.h, &l.a));
	box_file(&l.box, "m/root/var/lib/gputune/holder", "4712 9876 prove disk.x\n");
	lab_next(&l);
	assert_null(txn_holder(l.h, &l.a));
	box_file(&l.box, "m/root/var/lib/gputune/holder", "nonsense\n");
	lab_next(&l);
	assert_null(txn_holder(l.h, &l.a));
	lab_close(&l);
}

static bool crash(struct lab *l, struct fault_plan fault)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct txn_trial *t;

		l->h = fault_open(lab_host(l), fault);
		t = begin(l);
		for (int i = 0; i < 2; i++) {
			set(l, t, NULL);
			txn_trial_look(t, &l->plan, &l->e);
			txn_trial_revert(t, NULL, &l->e);
		}
		txn_trial_end(t, &l->e);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == FAULT_EXIT;
}

/* Whenever it ends, the next command puts back what was there. */
static void test_crashes(void **state)
{
	bool more = true;
	size_t at = 1;

	(void)state;
	for (; more; at++) {
		struct journal j;
		struct lab l;

		lab_open(&l);
		more = crash(&l, (struct fault_plan){ .at = at, .torn = at % 2 });
		lab_next(&l);
		if (txn_recover(l.h, &l.a, &who, &l.report, &l.e))
			fail_msg("crash at %zu: %s", at, l.e.text);
		if (!lab_is_original(&l))
			fail_msg("crash at %zu: not as it was", at);
		lab_next(&l);
		lab_journal(&l, &j);
		for (size_t n = 0; n < j.n; n++)
			assert_int_equal(j.items[n].state, TRANSACTION_ROLLED_BACK);
		lab_close(&l);
	}
	print_message("%zu crashes\n", at - 2);
	assert_true(at > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_keep),
		cmocka_unit_test(test_above_a_layer),  cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_refused),	       cmocka_unit_test(test_holder),
		cmocka_unit_test(test_holder_alive),   cmocka_unit_test(test_crashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
