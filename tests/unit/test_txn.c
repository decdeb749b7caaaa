/* SPDX-License-Identifier: Apache-2.0 */
/* Applying and undoing on a small machine: layers, somebody else's changes, what a write resets,
 * knobs that cannot be read, reboots, locks. */
#include <stdbool.h>
#include <sys/wait.h>

#include "lab.h"

#define SWAP "vm.swappiness"
#define SWAP_FILE "/proc/sys/vm/swappiness"
#define DEPTH LAB_QUEUE "nr_requests"
#define SCHEDULER LAB_QUEUE "scheduler"
#define LOCK "gpu-clock-lock"

static void swap_to(struct lab *l, const char *after)
{
	lab_make(l, "memory.swappiness", KNOB_SYSCTL, SWAP, after);
}

static enum outcome outcome(const struct lab *l, size_t i)
{
	assert_true(i < l->report.n);
	return l->report.rows[i].outcome;
}

static void test_there_and_back(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	lab_change(&l, "net.buffers", KNOB_SYSCTL, "net.ipv4.tcp_rmem", "4096 87380 16777216");
	lab_change(&l, "gpu.clocks", KNOB_NVML, LOCK, "1000,1500");
	assert_int_equal(lab_apply(&l), 0);
	assert_int_equal(l.report.txn, 1);
	assert_int_equal(l.report.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(outcome(&l, i), OUTCOME_DONE);
	assert_string_equal(lab_sysctl(&l, SWAP), "10");
	assert_string_equal(lab_sysctl(&l, "net.ipv4.tcp_rmem"), "4096 87380 16777216");
	assert_int_equal(lab_clock(&l), 1000);
	assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), 0);
	assert_int_equal(l.report.n, 3);
	assert_int_equal(outcome(&l, 0), OUTCOME_RESET);
	assert_int_equal(outcome(&l, 1), OUTCOME_RESTORED);
	assert_true(lab_is_original(&l));
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -ENOENT);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .txn = 1 }), -ENOENT);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .txn = 77 }), -ESRCH);
	lab_close(&l);
}

/* 60 -> 30 -> 10 as transactions 1 and 2, taken out in both orders. */
static void test_layers(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		struct lab l;

		lab_open(&l);
		swap_to(&l, "30");
		swap_to(&l, "10");
		if (order == 0) {
			lab_undo_txn(&l, 1);
			assert_int_equal(outcome(&l, 0), OUTCOME_COVERED);
			assert_string_equal(lab_sysctl(&l, SWAP), "10");
			lab_undo_txn(&l, 2);
		} else {
			lab_undo_txn(&l, 2);
			assert_string_equal(lab_sysctl(&l, SWAP), "30");
			lab_undo_txn(&l, 1);
		}
		assert_int_equal(outcome(&l, 0), OUTCOME_RESTORED);
		assert_true(lab_is_original(&l));
		lab_close(&l);
	}
}

/* Three layers, the middle one first, then the lowest, then the top. */
static void test_three_layers(void **state)
{
	static const unsigned orders[][3] = { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 },
					      { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } };

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct lab l;

		lab_open(&l);
		swap_to(&l, "40");
		swap_to(&l, "30");
		swap_to(&l, "10");
		for (size_t k = 0; k < 3; k++)
			lab_undo_txn(&l, orders[i][k]);
		assert_true(lab_is_original(&l));
		lab_close(&l);
	}
}

/* 60 -> 30, somebody sets 50, 50 -> 10: what transaction 2 goes back to is theirs, also when 1 is
 * taken out before. */
static void test_foreign_between(void **state)
{
	(void)state;
	for (int first = 1; first <= 2; first++) {
		struct lab l;

		lab_open(&l);
		swap_to(&l, "30");
		lab_by_hand(&l, SWAP_FILE, "50");
		swap_to(&l, "10");
		lab_undo_txn(&l, (unsigned long)first);
		assert_string_equal(lab_sysctl(&l, SWAP), first == 1 ? "10" : "50");
		lab_undo_txn(&l, (unsigned long)(3 - first));
		assert_string_equal(lab_sysctl(&l, SWAP), "50");
		assert_int_equal(outcome(&l, 0), first == 1 ? OUTCOME_RESTORED : OUTCOME_FOREIGN);
		lab_close(&l);
	}
}

static void test_foreign(void **state)
{
	struct lab l;
	struct hold_row *rows;
	struct journal j;
	size_t n;

	(void)state;
	lab_open(&l);
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	assert_int_equal(lab_apply(&l), 0);
	lab_by_hand(&l, SWAP_FILE, "33");
	lab_journal(&l, &j);
	assert_int_equal(txn_status(l.h, &l.a, &j, &rows, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(rows[0].hold, HOLD_FOREIGN);
	assert_string_equal(rows[0].now, "33");
	assert_int_equal(rows[1].hold, HOLD_OURS);
	/* Looking first: nothing comes of it. */
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true, .dry = true }), 0);
	assert_int_equal(outcome(&l, 0), OUTCOME_RESTORED);
	assert_int_equal(outcome(&l, 1), OUTCOME_FOREIGN);
	assert_string_equal(lab_sysctl(&l, "vm.dirty_ratio"), "5");
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_int_equal(outcome(&l, 1), OUTCOME_FOREIGN);
	assert_string_equal(l.report.rows[1].found, "33");
	assert_non_null(strstr(l.report.rows[1].sentence, "33"));
	assert_string_equal(lab_sysctl(&l, SWAP), "33");
	assert_string_equal(lab_sysctl(&l, "vm.dirty_ratio"), "20");
	/* Asked for again, by force. */
	assert_int_equal(lab_undo(&l, (struct txn_select){ .txn = 1, .force = true }), 0);
	assert_int_equal(outcome(&l, 0), OUTCOME_RESTORED);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* Undoing what somebody put back already writes nothing. */
static void test_already(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	swap_to(&l, "10");
	lab_by_hand(&l, SWAP_FILE, "60");
	lab_undo_txn(&l, 1);
	assert_int_equal(outcome(&l, 0), OUTCOME_ALREADY);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

static void test_stale(void **state)
{
	struct lab l;
	struct journal j;

	(void)state;
	lab_open(&l);
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	lab_by_hand(&l, SWAP_FILE, "33");
	assert_int_equal(lab_apply(&l), -ESTALE);
	assert_non_null(strstr(l.e.text, "33"));
	assert_string_equal(lab_sysctl(&l, "vm.dirty_ratio"), "20");
	lab_journal(&l, &j);
	assert_int_equal(j.n, 0);
	lab_close(&l);
}

/* A change with something against it is not made. */
static void test_gated(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5")->gate = GATE_ALLOW;
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	assert_int_equal(lab_apply(&l), 0);
	assert_int_equal(l.report.n, 1);
	assert_string_equal(lab_sysctl(&l, "vm.dirty_ratio"), "20");
	assert_string_equal(lab_sysctl(&l, SWAP), "10");
	lab_close(&l);
}

/* The third of four is refused: those before are taken back, the one behind is not tried. */
static void test_rolled_back(void **state)
{
	struct lab l;
	struct journal j;

	(void)state;
	lab_open(&l);
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	lab_change(&l, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "bfq");
	lab_change(&l, "gpu.clocks", KNOB_NVML, LOCK, "1000,1500");
	assert_int_equal(lab_apply(&l), -ECANCELED);
	assert_int_equal(l.report.n, 4);
	assert_int_equal(outcome(&l, 0), OUTCOME_ROLLED_BACK);
	assert_int_equal(outcome(&l, 1), OUTCOME_ROLLED_BACK);
	assert_int_equal(outcome(&l, 2), OUTCOME_FAILED);
	assert_int_equal(outcome(&l, 3), OUTCOME_NOT_TRIED);
	assert_true(lab_is_original(&l));
	lab_journal(&l, &j);
	assert_int_equal(j.n, 1);
	assert_int_equal(j.items[0].state, TRANSACTION_ROLLED_BACK);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -ENOENT);
	lab_close(&l);
}

/* What its kind would refuse to write again is not changed; nor is what would reset such a thing.
 */
static void test_no_way_back(void **state)
{
	static const char *const odd[] = { "6\x1b[0m0", "6\xff" };
	struct journal j;
	struct lab l;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		lab_open(&l);
		box_file(&l.box, "m/root/proc/sys/vm/swappiness", odd[i]);
		lab_change(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
		assert_int_equal(lab_apply(&l), -ECANCELED);
		assert_non_null(strstr(l.e.text, "could not be restored"));
		assert_string_equal(lab_sysctl(&l, SWAP), odd[i]);
		lab_close(&l);
		lab_open(&l);
		box_file(&l.box, "m/root/sys/devices/pci0/nvme0n1/queue/nr_requests", odd[i]);
		lab_change(&l, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "none");
		assert_int_equal(lab_apply(&l), -ECANCELED);
		assert_string_equal(lab_queue(&l, "scheduler"), "mq-deadline");
		lab_journal(&l, &j);
		assert_int_equal(j.bad_lines, 0);
		lab_close(&l);
	}
}

/* --- what a write resets besides -------------------------------------------------------------- */

static void test_sides(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "none");
	assert_string_equal(lab_queue(&l, "nr_requests"), "1023");
	lab_undo_txn(&l, 1);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

static const struct step {
	const char *id, *knob, *after;
} both[] = { { "disk.scheduler", SCHEDULER, "none" }, { "disk.queue-depth", DEPTH, "512" } };

/* Scheduler and depth, in one transaction or two, in both orders of making and of undoing: always
 * back to the start, and what is not yet undone holds in between. */
static void sides_of_each_other(bool one, size_t made_first, size_t undone_first)
{
	struct lab l;
	const struct step *last = &both[!undone_first];

	lab_open(&l);
	for (size_t i = 0; i < 2; i++) {
		const struct step *s = &both[i ? !made_first : made_first];

		lab_change(&l, s->id, KNOB_SYSFS, s->knob, s->after);
		if (!one || i == 1)
			assert_int_equal(lab_apply(&l), 0);
	}
	assert_int_equal(
		lab_undo(&l, (struct txn_select){ .only = &both[undone_first].id, .n_only = 1 }),
		0);
	if (made_first == 0)
		assert_string_equal(lab_queue(&l, last == &both[0] ? "scheduler" : "nr_requests"),
				    last->after);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .only = &last->id, .n_only = 1 }), 0);
	if (!lab_is_original(&l))
		fail_msg("one %d, made first %zu, undone first %zu: scheduler %s, depth %s", one,
			 made_first, undone_first, lab_queue(&l, "scheduler"),
			 lab_queue(&l, "nr_requests"));
	lab_close(&l);
}

static void test_sides_in_any_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		sides_of_each_other(i & 1, i >> 1 & 1, i >> 2 & 1);
}

/* Two schedulers on each other, the lower one taken out first: the queue's depth is what it was
 * before both. */
static void test_sides_of_layers(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "none");
	lab_make(&l, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "kyber");
	lab_undo_txn(&l, 1);
	assert_int_equal(outcome(&l, 0), OUTCOME_COVERED);
	lab_undo_txn(&l, 2);
	assert_int_equal(outcome(&l, 0), OUTCOME_RESTORED);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* Somebody sets the depth between our scheduler and our depth: theirs is what is left. */
static void test_side_foreign(void **state)
{
	(void)state;
	for (unsigned long first = 1; first <= 2; first++) {
		struct lab l;

		lab_open(&l);
		lab_make(&l, both[0].id, KNOB_SYSFS, SCHEDULER, "none");
		lab_by_hand(&l, DEPTH, "300");
		lab_make(&l, both[1].id, KNOB_SYSFS, DEPTH, "512");
		lab_undo_txn(&l, first);
		lab_undo_txn(&l, 3 - first);
		assert_string_equal(lab_queue(&l, "scheduler"), "mq-deadline");
		if (first == 1)
			assert_string_equal(lab_queue(&l, "nr_requests"), "300");
		lab_close(&l);
	}
}

/* Who puts the scheduler back by hand has reset the depth with it: undo has no business there. */
static void test_side_by_hand(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "none");
	lab_by_hand(&l, SCHEDULER, "mq-deadline");
	lab_by_hand(&l, DEPTH, "300");
	lab_undo_txn(&l, 1);
	assert_int_equal(outcome(&l, 0), OUTCOME_ALREADY);
	assert_string_equal(lab_queue(&l, "nr_requests"), "300");
	lab_close(&l);
}

static enum hold hold_of(struct lab *l, const char *id, const char **by)
{
	struct hold_row *rows;
	struct journal j;
	size_t n;

	lab_journal(l, &j);
	assert_int_equal(txn_status(l->h, &l->a, &j, &rows, &n), 0);
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].e->id, id) == 0) {
			*by = rows[i].by;
			return rows[i].hold;
		}
	fail_msg("no row of %s", id);
	return HOLD_UNKNOWN;
}

/* A depth that our own later scheduler has reset is nobody else's; once somebody has put the
 * scheduler back, what the depth is came from there. */
static void test_side_status(void **state)
{
	struct lab l;
	const char *by = NULL;

	(void)state;
	lab_open(&l);
	lab_make(&l, "disk.queue-depth", KNOB_SYSFS, DEPTH, "512");
	lab_make(&l, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "none");
	assert_int_equal(hold_of(&l, "disk.scheduler", &by), HOLD_OURS);
	assert_int_equal(hold_of(&l, "disk.queue-depth", &by), HOLD_RESET);
	assert_string_equal(by, "disk.scheduler of transaction 2");
	lab_by_hand(&l, DEPTH, "300");
	assert_int_equal(hold_of(&l, "disk.queue-depth", &by), HOLD_FOREIGN);
	lab_by_hand(&l, DEPTH, "1023");
	lab_by_hand(&l, SCHEDULER, "kyber");
	lab_by_hand(&l, DEPTH, "1023");
	assert_int_equal(hold_of(&l, "disk.queue-depth", &by), HOLD_FOREIGN);
	lab_undo_txn(&l, 1);
	assert_int_equal(outcome(&l, 0), OUTCOME_FOREIGN);
	lab_close(&l);
}

/* --- knobs that cannot be read ---------------------------------------------------------------- */

static void test_no_getter(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "gpu.clocks", KNOB_NVML, LOCK, "1000,1500");
	lab_make(&l, "gpu.clocks", KNOB_NVML, LOCK, "1700,1900");
	assert_int_equal(lab_clock(&l), 1700);
	lab_undo_txn(&l, 2);
	assert_int_equal(outcome(&l, 0), OUTCOME_RESTORED);
	assert_int_equal(lab_clock(&l), 1000);
	lab_undo_txn(&l, 1);
	assert_int_equal(outcome(&l, 0), OUTCOME_RESET);
	assert_non_null(l.report.rows[0].sentence);
	assert_true(lab_is_original(&l));
	lab_close(&l);
	lab_open(&l);
	lab_make(&l, "gpu.clocks", KNOB_NVML, LOCK, "1000,1500");
	lab_make(&l, "gpu.clocks", KNOB_NVML, LOCK, "1700,1900");
	lab_undo_txn(&l, 1);
	assert_int_equal(outcome(&l, 0), OUTCOME_COVERED);
	assert_int_equal(lab_clock(&l), 1700);
	lab_undo_txn(&l, 2);
	assert_int_equal(outcome(&l, 0), OUTCOME_RESET);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* --- reboots ---------------------------------------------------------------------------------- */

static void reboot(struct lab *l)
{
	/* Not a kernel that answers writes: the file is another one after a boot. */
	box_file(&l->box, "o/root/proc/sys/kernel/random/boot_id",
		 "22222222-2222-2222-2222-222222222222\n");
	box_file(&l->box, "o/told/nvml.json", "{}\n");
	lab_next(l);
}

static void test_reboot(void **state)
{
	struct lab l;
	struct hold_row *rows;
	struct journal j;
	size_t n;

	(void)state;
	lab_open(&l);
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	lab_change(&l, "gpu.clocks", KNOB_NVML, LOCK, "1000,1500");
	assert_int_equal(lab_apply(&l), 0);
	lab_by_hand(&l, SWAP_FILE, "60");
	reboot(&l);
	lab_journal(&l, &j);
	assert_int_equal(txn_status(l.h, &l.a, &j, &rows, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(rows[0].hold, HOLD_LOST);
	/* That this boot has the same value by itself does not make it ours. */
	assert_int_equal(rows[1].hold, HOLD_LOST);
	assert_int_equal(rows[2].hold, HOLD_LOST);
	/* What went with the boot is not undone: what was there before is of a boot that is gone.
	 */
	lab_by_hand(&l, SWAP_FILE, "44");
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -ENOENT);
	assert_int_equal(l.report.n, 0);
	assert_string_equal(lab_sysctl(&l, SWAP), "44");
	assert_string_equal(lab_sysctl(&l, "vm.dirty_ratio"), "5");
	lab_close(&l);
}

#define DISK "root/sys/devices/pci0/nvme0n1"

/* The disk goes away, or comes back, with what was written to it. */
static void plug(struct lab *l, bool in)
{
	static const char *const at[][2] = { { "m/" DISK, "m/away" }, { "o/" DISK, "o/away" } };
	char from[512], to[512];

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(rename(box_path(&l->box, at[i][in], from, sizeof(from)),
					box_path(&l->box, at[i][!in], to, sizeof(to))),
				 0);
	lab_next(l);
}

static size_t held(struct lab *l)
{
	struct hold_row *rows;
	struct journal j;
	size_t n;

	lab_journal(l, &j);
	assert_int_equal(txn_status(l->h, &l->a, &j, &rows, &n), 0);
	return n;
}

static void leave_away(struct lab *l)
{
	lab_open(l);
	lab_make(l, "disk.depth", KNOB_SYSFS, DEPTH, "128");
	plug(l, false);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(lab_undo(l, (struct txn_select){ .all = true }), -EUCLEAN);
		assert_int_equal(outcome(l, 0), OUTCOME_STUCK);
		assert_non_null(strstr(l->report.rows[0].sentence, "left unchanged"));
		assert_null(l->report.rows[0].command);
		assert_int_equal(held(l), 1);
	}
}

/* What is not there just now is not gone: it is left open until it is there again, until somebody
 * gives it up, or until the boot that ends its value. */
static void test_away(void **state)
{
	struct lab l;

	(void)state;
	leave_away(&l);
	plug(&l, true);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_int_equal(outcome(&l, 0), OUTCOME_RESTORED);
	assert_true(lab_is_original(&l));
	assert_int_equal(held(&l), 0);
	lab_close(&l);

	leave_away(&l);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true, .force = true }), 0);
	assert_int_equal(outcome(&l, 0), OUTCOME_GONE);
	assert_int_equal(held(&l), 0);
	plug(&l, true);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true, .force = true }), -ENOENT);
	lab_close(&l);

	leave_away(&l);
	reboot(&l);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -ENOENT);
	assert_int_equal(held(&l), 0);
	lab_close(&l);
}

/* Another device under the name is not touched, by force neither. */
static void test_elsewhere(void **state)
{
	struct lab l;
	char link[512];

	(void)state;
	lab_open(&l);
	lab_make(&l, "disk.depth", KNOB_SYSFS, DEPTH, "128");
	box_path(&l.box, "m/root/sys/block/nvme0n1", link, sizeof(link));
	box_file(&l.box, "m/root/sys/devices/pci1/nvme0n1/queue/nr_requests", "128\n");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("../devices/pci1/nvme0n1", link), 0);
	lab_next(&l);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -EUCLEAN);
	assert_int_equal(outcome(&l, 0), OUTCOME_STUCK);
	assert_string_equal(lab_queue(&l, "nr_requests"), "128");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("../devices/pci0/nvme0n1", link), 0);
	lab_next(&l);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* A value that our own file sets again at boot is still ours to take back. */
static void test_reboot_kept(void **state)
{
	struct lab l;
	struct hold_row *rows;
	struct journal j;
	size_t n;

	(void)state;
	lab_open(&l);
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	assert_int_equal(lab_apply(&l), 0);
	l.op = "persist";
	lab_change(&l, "persist", KNOB_FILE, "/etc/gputune/boot.json",
		   "0644:{\"schema\":\"gputune.boot/1\",\"written_by\":\"gputune\",\"rows\":[{"
		   "\"id\":\"memory.swappiness\",\"kind\":\"sysctl\",\"name\":\"vm.dirty_ratio\","
		   "\"object\":\"\",\"numbers\":\"\",\"value\":\"5\",\"device\":\"\","
		   "\"keeper\":\"sysctl\",\"by\":\"/etc/sysctl.d/99-zz-gputune.conf\"}]}");
	assert_int_equal(lab_apply(&l), 0);
	l.op = NULL;
	reboot(&l);
	lab_journal(&l, &j);
	assert_int_equal(txn_status(l.h, &l.a, &j, &rows, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(rows[0].hold, HOLD_OURS);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_string_equal(lab_sysctl(&l, "vm.dirty_ratio"), "20");
	lab_close(&l);
}

/* The journal as it is when a crash came before its last line. */
static void cut_last_line(struct lab *l)
{
	char *text, *end;
	size_t n;

	assert_int_equal(host_read(l->h, TXN_JOURNAL, 1 << 20, &l->a, &text, &n), 0);
	text[n - 1] = '\0';
	end = strrchr(text, '\n');
	assert_non_null(end);
	end[1] = '\0';
	lab_set_journal(l, text);
}

/* A crash before a reboot leaves nothing to roll back but what outlives boots. */
static void test_reboot_open(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	assert_int_equal(lab_apply(&l), 0);
	cut_last_line(&l);
	reboot(&l);
	lab_undo(&l, (struct txn_select){ .all = true });
	assert_string_equal(lab_sysctl(&l, "vm.dirty_ratio"), "5");
	lab_close(&l);
}

/* Which boot it was could not be read: nothing says that the value is gone. */
static void test_boot_unknown(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	box_file(&l.box, "o/root/proc/sys/kernel/random/boot_id", "");
	lab_next(&l);
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	assert_int_equal(lab_apply(&l), 0);
	box_file(&l.box, "o/root/proc/sys/kernel/random/boot_id",
		 "22222222-2222-2222-2222-222222222222\n");
	lab_next(&l);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_int_equal(outcome(&l, 0), OUTCOME_RESTORED);
	assert_string_equal(lab_sysctl(&l, "vm.dirty_ratio"), "20");
	lab_close(&l);
}

/* --- several at a time, and none -------------------------------------------------------------- */

static void test_locked(void **state)
{
	struct lab l;
	int ready[2], done[2], status;
	char byte = 0;
	pid_t pid;

	(void)state;
	lab_open(&l);
	swap_to(&l, "10");
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(done), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct host *h = lab_host(&l);
		int r = host_lock(h, TXN_LOCK);

		if (write(ready[1], "x", 1) != 1 || read(done[0], &byte, 1) != 1)
			_exit(2);
		_exit(r ? 1 : 0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	assert_int_equal(lab_apply(&l), -EWOULDBLOCK);
	assert_non_null(strstr(l.e.text, "another gputune"));
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -EWOULDBLOCK);
	assert_string_equal(lab_sysctl(&l, SWAP), "10");
	assert_string_equal(lab_sysctl(&l, "vm.dirty_ratio"), "20");
	assert_int_equal(write(done[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(done[i]);
	}
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

static void test_readonly(void **state)
{
	struct txn_who who = { .user = "tester", .version = "1" };
	struct answer v = { .kind = ANSWER_INT, .i = 1 };
	struct host *h;
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	h = host_open_readonly(lab_host(&l));
	assert_int_equal(host_write(h, SWAP_FILE, "1"), -EROFS);
	assert_int_equal(host_write_at(h, SWAP_FILE, 0, "1", 1), -EROFS);
	assert_int_equal(host_set(h, "nvml", "0", "nvmlDeviceGetPersistenceMode", &v), -EROFS);
	assert_int_equal(host_put(h, "/etc/x", "x", 1, 0644), -EROFS);
	assert_int_equal(host_append(h, "/etc/x", "x", 1), -EROFS);
	assert_int_equal(host_make_dir(h, "/etc/d", 0755), -EROFS);
	assert_int_equal(host_make_link(h, "/etc/l", "x"), -EROFS);
	assert_int_equal(host_remove(h, SWAP_FILE), -EROFS);
	assert_int_equal(host_lock(h, TXN_LOCK), -EROFS);
	assert_int_equal(txn_apply(h, &l.a, &l.plan, &who, &l.report, &l.e), -EROFS);
	assert_int_equal(
		txn_undo(h, &l.a, &(struct txn_select){ .all = true }, &who, &l.report, &l.e),
		-EROFS);
	assert_int_equal(txn_recover(h, &l.a, &who, &l.report, &l.e), -EROFS);
	host_close(h);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* --- crashes ---------------------------------------------------------------------------------- */

static void fill(struct lab *l)
{
	lab_change(l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	lab_change(l, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "none");
	lab_change(l, "disk.queue-depth", KNOB_SYSFS, DEPTH, "512");
	lab_change(l, "gpu.clocks", KNOB_NVML, LOCK, "1000,1500");
	lab_change(l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_bytes", "1048576");
}

/* The process that applies ends at the operation, with so many bytes of a line written; true when
 * it came so far. */
static bool crash(struct lab *l, void (*fill_plan)(struct lab *l), struct fault_plan fault)
{
	struct txn_who who = { .user = "tester", .version = "1" };
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct host *h = fault_open(lab_host(l), fault);

		fill_plan(l);
		txn_apply(h, &l->a, &l->plan, &who, &l->report, &l->e);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == FAULT_EXIT;
}

/* A disk that takes what is written and fails when it is to be kept: what is not on it is not
 * changed, and the sentence names the file. */
static void test_no_sync(void **state)
{
	struct txn_who who = { .user = "tester", .version = "1" };
	size_t first = 0, undone = 0;

	(void)state;
	for (size_t at = 1; at < 60; at++) {
		struct lab l;
		struct host *h;
		int r;

		lab_open(&l);
		lab_change(&l, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "10");
		h = fault_open(lab_host(&l),
			       (struct fault_plan){ .at = at, .code = -EIO, .late = true });
		r = txn_apply(h, &l.a, &l.plan, &who, &l.report, &l.e);
		if (r == -ECANCELED && strcmp(fault_where(h), TXN_JOURNAL) == 0) {
			first++;
			assert_string_equal(l.e.text, TXN_JOURNAL
					    ": Input/output error; gputune must record a change "
					    "there before making it");
			assert_string_equal(lab_value(&l, KNOB_SYSCTL, "vm.swappiness"), "60");
		}
		host_close(h);
		lab_next(&l);
		lab_undo(&l, (struct txn_select){ .all = true });
		assert_string_equal(lab_value(&l, KNOB_SYSCTL, "vm.swappiness"), "60");
		lab_make(&l, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "10");
		h = fault_open(lab_host(&l),
			       (struct fault_plan){ .at = at, .code = -EIO, .late = true });
		l.e = (struct err){ 0 };
		txn_undo(h, &l.a, &(struct txn_select){ .all = true }, &who, &l.report, &l.e);
		if (strstr(l.e.text, "nothing was undone")) {
			undone++;
			assert_string_equal(fault_where(h), TXN_JOURNAL);
			assert_string_equal(lab_value(&l, KNOB_SYSCTL, "vm.swappiness"), "10");
		}
		host_close(h);
		lab_next(&l);
		lab_undo(&l, (struct txn_select){ .all = true });
		assert_string_equal(lab_value(&l, KNOB_SYSCTL, "vm.swappiness"), "60");
		lab_close(&l);
	}
	/* Reading the journal before the first addition, writing it anew, and the addition. */
	assert_int_equal(first, 3);
	assert_int_equal(undone, 2);
}

/* What was cut may be any part of a line. */
static void test_crashes(void **state)
{
	static const size_t kept[] = { 0, 30, 300 };
	size_t crashes = 0;
	bool more = true;

	(void)state;
	for (size_t at = 1; more; at++)
		for (size_t i = 0; more && i < sizeof(kept) / sizeof(kept[0]); i++) {
			struct txn_who who = { .user = "tester", .version = "1" };
			struct journal j;
			struct lab l;
			int r;

			lab_open(&l);
			more = crash(
				&l, fill,
				(struct fault_plan){ .at = at, .torn = i > 0, .keep = kept[i] });
			lab_next(&l);
			r = more ? txn_recover(l.h, &l.a, &who, &l.report, &l.e)
				 : lab_undo(&l, (struct txn_select){ .all = true });
			if (r)
				fail_msg("crash at %zu: %s", at, l.e.text);
			lab_next(&l);
			lab_journal(&l, &j);
			/* Cut behind the last byte, all was done. */
			if (more && j.n && j.items[0].state == TRANSACTION_APPLIED)
				r = lab_undo(&l, (struct txn_select){ .all = true });
			if (r || !lab_is_original(&l))
				fail_msg("crash at %zu, kept %zu: not as it was", at, kept[i]);
			lab_next(&l);
			lab_journal(&l, &j);
			assert_int_equal(j.bad_lines, 0);
			for (size_t n = 0; n < j.n; n++)
				assert_int_not_equal(j.items[n].state, TRANSACTION_OPEN);
			assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -ENOENT);
			lab_close(&l);
			crashes += more;
		}
	print_message("%zu crashes\n", crashes);
	assert_true(crashes > 100);
}

#define WANTED "/etc/systemd/system/multi-user.target.wants/"

static void fill_halves(struct lab *l)
{
	lab_change(l, "services.x", KNOB_UNIT, "x.service", "disabled inactive");
	lab_change(l, "persist.files", KNOB_FILE, WANTED "gputune-boot.service",
		   "link:/etc/systemd/system/gputune-boot.service");
}

static void open_halves(struct lab *l)
{
	lab_open(l);
	box_file(&l->box, "m/root/usr/lib/systemd/system/x.service",
		 "[Install]\nWantedBy=multi-user.target\n");
	box_link(&l->box, "m/root" WANTED "x.service", "/usr/lib/systemd/system/x.service");
	box_link(&l->box, "m/root" WANTED "gputune-boot.service",
		 "/etc/systemd/system/old.service");
	box_file(&l->box, "m/root/sys/fs/cgroup/system.slice/x.service/cgroup.procs", "42\n");
}

static void expect_whole(struct lab *l, size_t at)
{
	const char *unit = lab_value(l, KNOB_UNIT, "x.service"),
		   *link = lab_value(l, KNOB_FILE, WANTED "gputune-boot.service");

	if (strcmp(unit, "enabled active") != 0 ||
	    strcmp(link, "link:/etc/systemd/system/old.service") != 0)
		fail_msg("operation %zu: %s, %s", at, unit, link);
	lab_close(l);
}

/* A service is stopped and then disabled, a link is taken away and then made: the first half alone
 * is ours, and is taken back. */
static void test_halves(void **state)
{
	struct txn_who who = { .user = "tester", .version = "1" };
	bool more = true;

	(void)state;
	for (size_t at = 1; more; at++) {
		struct lab l;

		open_halves(&l);
		more = crash(&l, fill_halves, (struct fault_plan){ .at = at });
		lab_next(&l);
		if (more && txn_recover(l.h, &l.a, &who, &l.report, &l.e))
			fail_msg("crash at %zu: %s", at, l.e.text);
		lab_next(&l);
		lab_undo(&l, (struct txn_select){ .all = true });
		expect_whole(&l, at);
	}
	more = true;
	for (size_t at = 1; more; at++) {
		struct lab l;
		struct host *h;

		open_halves(&l);
		fill_halves(&l);
		h = fault_open(lab_host(&l), (struct fault_plan){ .at = at, .code = -EIO });
		txn_apply(h, &l.a, &l.plan, &who, &l.report, &l.e);
		more = fault_operations(h) >= at;
		host_close(h);
		lab_next(&l);
		lab_undo(&l, (struct txn_select){ .all = true });
		expect_whole(&l, at);
	}
}

/* One write of two that fails, or that says so: what was there is there. */
static void test_halves_alone(void **state)
{
	static const struct {
		struct knob k;
		const char *before, *after;
	} rows[] = {
		{ { KNOB_UNIT, "x.service", "" }, "enabled active", "disabled inactive" },
		{ { KNOB_FILE, WANTED "gputune-boot.service", "" },
		  "link:/etc/systemd/system/old.service",
		  "link:/etc/systemd/system/gputune-boot.service" },
	};
	bool more = true;

	(void)state;
	for (size_t at = 1; more; at++)
		for (size_t i = 0; i < 4; i++) {
			const struct knob *k = &rows[i / 2].k;
			struct fault_plan fault = { .at = at, .code = -EIO, .late = i % 2 };
			const char *want, *now;
			struct host *h;
			struct lab l;

			open_halves(&l);
			h = fault_open(lab_host(&l), fault);
			want = knob_set(h, &l.a, k, rows[i / 2].after, &l.e) ? rows[i / 2].before
									     : rows[i / 2].after;
			more = (i && more) || fault_operations(h) >= at;
			host_close(h);
			lab_next(&l);
			now = lab_value(&l, k->kind, k->name);
			if (strcmp(now, want) != 0)
				fail_msg("operation %zu of %s: %s", at, k->name, now);
			lab_close(&l);
		}
}

/* A crash of an undo in the middle of two layers, and the lower one undone next. */
static void test_crash_between_layers(void **state)
{
	(void)state;
	for (size_t at = 1;; at++) {
		struct txn_who who = { .user = "tester", .version = "1" };
		struct txn_select top = { .txn = 2 };
		struct lab l;
		int status;
		pid_t pid;

		lab_open(&l);
		swap_to(&l, "30");
		swap_to(&l, "10");
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct host *h = fault_open(lab_host(&l), (struct fault_plan){ .at = at });

			txn_undo(h, &l.a, &top, &who, &l.report, &l.e);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		lab_next(&l);
		lab_undo(&l, (struct txn_select){ .txn = 1 });
		lab_undo(&l, (struct txn_select){ .txn = 2 });
		if (!lab_is_original(&l))
			fail_msg("crash at %zu: swappiness is %s", at, lab_sysctl(&l, SWAP));
		lab_close(&l);
		if (WEXITSTATUS(status) != FAULT_EXIT)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_three_layers),
		cmocka_unit_test(test_foreign_between),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_already),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_gated),
		cmocka_unit_test(test_rolled_back),
		cmocka_unit_test(test_no_way_back),
		cmocka_unit_test(test_sides),
		cmocka_unit_test(test_sides_in_any_order),
		cmocka_unit_test(test_side_foreign),
		cmocka_unit_test(test_side_by_hand),
		cmocka_unit_test(test_side_status),
		cmocka_unit_test(test_no_getter),
		cmocka_unit_test(test_sides_of_layers),
		cmocka_unit_test(test_reboot),
		cmocka_unit_test(test_away),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_reboot_kept),
		cmocka_unit_test(test_reboot_open),
		cmocka_unit_test(test_boot_unknown),
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_readonly),
		cmocka_unit_test(test_crashes),
		cmocka_unit_test(test_no_sync),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_halves_alone),
		cmocka_unit_test(test_crash_between_layers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
