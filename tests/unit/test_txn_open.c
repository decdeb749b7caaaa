/* SPDX-License-Identifier: Apache-2.0 */
/* What stays open: lines that cannot be read, an undo that cannot say so first, one by force that
 * gets stuck, a line that was cut in its number, values of an earlier boot. */
#include <stdbool.h>

#include "base/text.h"
#include "fault.h"
#include "machine/write/write.h"
#include "lab.h"

#define SWAP "vm.swappiness"
#define SWAP_FILE "/proc/sys/vm/swappiness"
#define JOURNAL_FILE "o/root" TXN_JOURNAL
#define BEGIN(n)                                                                                   \
	"{\"t\":\"begin\",\"txn\":" #n ",\"op\":\"apply\",\"boot\":\"" LAB_BOOT "\",\"time\":1,"   \
	"\"user\":\"u\",\"version\":\"9\",\"changes\":1}\n"
#define INTEND(n, seq, kind, name, before, after)                                                  \
	"{\"t\":\"intend\",\"txn\":" #n ",\"seq\":" #seq ",\"id\":\"" name "\",\"target\":\"\","   \
	"\"knob\":{\"kind\":\"" kind "\",\"name\":\"" name "\",\"object\":\"\"},\"place\":\"\","   \
	"\"before\":\"" before "\",\"after\":\"" after "\"}\n"
#define DONE(n, seq, read)                                                                         \
	"{\"t\":\"done\",\"txn\":" #n ",\"seq\":" #seq ",\"read\":\"" read "\"}\n"
#define APPLIED(n) "{\"t\":\"end\",\"txn\":" #n ",\"result\":\"applied\"}\n"

static void load(struct lab *l, const char *text, struct journal *j)
{
	lab_open(l);
	box_file(&l->box, JOURNAL_FILE, text);
	lab_next(l);
	lab_journal(l, j);
}

static struct hold_row *holds(struct lab *l, size_t *n)
{
	struct hold_row *rows;
	struct journal j;
	struct err e = { 0 };

	assert_int_equal(journal_load(l->h, &l->a, false, &j, &e), 0);
	assert_int_equal(txn_status(l->h, &l->a, &j, &rows, n), 0);
	return rows;
}

/* The line of a later version hides neither itself nor what stands behind it. */
static void test_unread(void **state)
{
	static const char *const lines[] = {
		INTEND(1, 1, "quantum", "x.y", "1", "2") DONE(1, 1, "2"),
		INTEND(1, 1, "sysctl", "vm.../x", "1", "2") DONE(1, 1, "2"),
		/* Cut out of the middle: what was done had an intent. */
		DONE(1, 1, "2"),
		"",
	};

	static const char *const names[] = { "x.y", "vm.../x", "unreadable", "unreadable" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		TEXT_AUTO text = { 0 };
		struct hold_row *rows;
		struct journal j;
		struct lab l;
		size_t n;

		text_add(&text, BEGIN(1));
		text_add(&text, lines[i]);
		text_add(&text,
			 INTEND(1, 2, "sysctl", SWAP, "60", "10") DONE(1, 2, "10") APPLIED(1));
		load(&l, text.s, &j);
		lab_by_hand(&l, SWAP_FILE, "10");
		assert_int_equal(j.items[0].n, 2);
		assert_true(j.items[0].entries[0].unread);
		assert_int_equal(j.items[0].entries[0].knob.kind, KNOB_NONE);
		assert_string_equal(j.items[0].entries[0].id, names[i]);
		assert_int_equal(j.items[0].entries[1].state, ENTRY_DONE);
		rows = holds(&l, &n);
		assert_int_equal(n, 2);
		assert_int_equal(rows[0].hold, HOLD_UNKNOWN);
		assert_int_equal(rows[1].hold, HOLD_OURS);
		/* The rest is taken back; what cannot be read stays open, however often. */
		for (int again = 0; again < 2; again++) {
			assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), -EUCLEAN);
			assert_int_equal(l.report.n, again ? 1 : 2);
			assert_int_equal(l.report.rows[l.report.n - 1].outcome, OUTCOME_STUCK);
			assert_non_null(
				strstr(l.report.rows[l.report.n - 1].sentence, "version 9"));
			assert_true(lab_is_original(&l));
		}
		rows = holds(&l, &n);
		assert_int_equal(n, 1);
		assert_true(rows[0].e->unread);
		/* It does not stand before what can be undone. */
		lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
		lab_undo_txn(&l, 4);
		lab_close(&l);
	}
}

/* Of two transactions the newer of which cannot be read the older is the newest to be undone. */
static void test_unread_is_newest(void **state)
{
	struct journal j;
	struct lab l;

	(void)state;
	load(&l,
	     BEGIN(1) INTEND(1, 1, "sysctl", SWAP, "60", "10") DONE(1, 1, "10") APPLIED(1) BEGIN(2)
		     INTEND(2, 1, "quantum", "x.y", "1", "2") DONE(2, 1, "2") APPLIED(2),
	     &j);
	lab_by_hand(&l, SWAP_FILE, "10");
	assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), 0);
	assert_true(lab_is_original(&l));
	assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), -EUCLEAN);
	lab_close(&l);
}

/* Interrupted, with a line that cannot be read: rolled back as far as it goes, and said. */
static void test_unread_open(void **state)
{
	struct txn_who who = { .user = "tester", .version = "1" };
	struct journal j;
	struct lab l;

	(void)state;
	load(&l,
	     BEGIN(1) INTEND(1, 1, "quantum", "x.y", "1", "2") DONE(1, 1, "2")
		     INTEND(1, 2, "sysctl", SWAP, "60", "10"),
	     &j);
	lab_by_hand(&l, SWAP_FILE, "10");
	assert_int_equal(txn_recover(l.h, &l.a, &who, &l.report, &l.e), 0);
	lab_next(&l);
	assert_true(lab_is_original(&l));
	lab_journal(&l, &j);
	assert_int_equal(j.items[0].state, TRANSACTION_INCOMPLETE);
	lab_close(&l);
}

/* "closed" of transaction 10, cut behind the first digit, and ended by what was added later. */
static void test_cut_number(void **state)
{
	static const char *const cut[] = {
		"{\"t\":\"closed\",\"txn\":1\n",
		"{\"t\":\"end\",\"txn\":1\n",
		"{\"t\":\"closed\",\"txn\":1,\n",
		"{\"t\":\"begin\",\"txn\":1,\"op\":\"undo\"\n",
		"{\"t\":\"end\",\"txn\":1,\"result\":\"rolled-back\"\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		TEXT_AUTO text = { 0 };
		struct journal j;
		struct lab l;

		text_add(&text, BEGIN(1) INTEND(1, 1, "sysctl", SWAP, "60", "10") DONE(1, 1, "10")
					APPLIED(1));
		text_add(&text, cut[i]);
		text_add(&text, BEGIN(11));
		load(&l, text.s, &j);
		lab_by_hand(&l, SWAP_FILE, "10");
		if (lab_undo(&l, (struct txn_select){ .txn = 1 }) || !lab_is_original(&l))
			fail_msg("%s: was believed", cut[i]);
		lab_close(&l);
	}
}

/* Left to somebody, then asked for by force, and stuck: that is the last word of it. True when the
 * operation was one that makes it so. */
static bool force_stuck(size_t at, bool *more)
{
	struct txn_who who = { .user = "tester", .version = "1" };
	struct txn_select force = { .force = true };
	struct hold_row *rows;
	struct host *h;
	struct journal j;
	struct lab l;
	size_t n;
	bool stuck;

	lab_open(&l);
	lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	lab_by_hand(&l, SWAP_FILE, "33");
	lab_undo_txn(&l, 1);
	rows = holds(&l, &n);
	assert_int_equal(n, 0);
	h = fault_open(lab_host(&l), (struct fault_plan){ .at = at, .code = -EIO });
	stuck = txn_undo(h, &l.a, &force, &who, &l.report, &l.e) == -EUCLEAN && l.report.n == 1 &&
		l.report.rows[0].outcome == OUTCOME_STUCK;
	*more = fault_operations(h) >= at;
	host_close(h);
	lab_next(&l);
	rows = holds(&l, &n);
	if (stuck && (n != 1 || rows[0].e->state != ENTRY_STUCK ||
		      rows[0].t->state != TRANSACTION_INCOMPLETE))
		fail_msg("operation %zu: stuck, and forgotten", at);
	lab_undo(&l, force);
	assert_true(lab_is_original(&l));
	rows = holds(&l, &n);
	assert_int_equal(n, 0);
	lab_journal(&l, &j);
	assert_int_equal(j.items[0].state, TRANSACTION_UNDONE);
	assert_int_equal(lab_undo(&l, force), -ENOENT);
	lab_close(&l);
	return stuck;
}

static void test_force_stuck(void **state)
{
	size_t stuck = 0;
	bool more = true;

	(void)state;
	for (size_t at = 1; more; at++)
		stuck += force_stuck(at, &more);
	assert_true(stuck > 0);
}

/* Whatever the journal refuses: nothing is taken back that it does not know of. */
static void test_undo_says_so_first(void **state)
{
	bool more = true;
	size_t refused = 0;

	(void)state;
	for (size_t at = 1; more; at++) {
		struct txn_select all = { .all = true };
		struct txn_who who = { .user = "tester", .version = "1" };
		struct journal j;
		struct host *h;
		struct lab l;
		bool back, known = false;
		int r;

		lab_open(&l);
		lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
		h = fault_open(lab_host(&l), (struct fault_plan){ .at = at, .code = -ENOSPC });
		r = txn_undo(h, &l.a, &all, &who, &l.report, &l.e);
		more = fault_operations(h) >= at;
		host_close(h);
		lab_next(&l);
		back = strcmp(lab_sysctl(&l, SWAP), "10") != 0;
		lab_journal(&l, &j);
		for (size_t i = 0; i < j.n; i++)
			for (size_t k = 0; k < j.items[i].n; k++)
				known = known || j.items[i].entries[k].undoing ||
					j.items[i].entries[k].state != ENTRY_DONE;
		if (back && !known)
			fail_msg("operation %zu: the journal does not know", at);
		if (r && r != -EUCLEAN && back)
			fail_msg("operation %zu: %d, but it was taken back", at, r);
		if (!back && r == 0)
			fail_msg("operation %zu: all well, but it was not taken back", at);
		if (r && strstr(l.e.text, "nothing was undone")) {
			refused++;
			assert_false(back);
		}
		lab_undo(&l, all);
		assert_true(lab_is_original(&l));
		lab_close(&l);
	}
	assert_true(refused > 0);
}

/* The last number that a reader takes is the format's: there is none to give. */
static void test_last_number(void **state)
{
	enum { JUMP = 100000, LAST = 9999999 };
	TEXT_AUTO text = { 0 };
	struct journal j;
	struct lab l;

	(void)state;
	for (int n = JUMP; n < LAST; n += JUMP)
		text_printf(&text, "{\"t\":\"closed\",\"txn\":%d}\n", n);
	text_add(&text, BEGIN(9999999) INTEND(9999999, 1, "sysctl", SWAP, "60", "60")
				DONE(9999999, 1, "60") APPLIED(9999999));
	load(&l, text.s, &j);
	assert_int_equal(j.n, 1);
	assert_int_equal(j.next, LAST + 1);
	lab_change(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	assert_int_equal(lab_apply(&l), -EOVERFLOW);
	assert_non_null(strstr(l.e.text, "the highest possible number"));
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

static void keep(struct lab *l, const char *gpu)
{
	l->op = "persist";
	lab_change(l, "persist.files", KNOB_FILE, "/etc/gputune/boot.json",
		   arena_printf(&l->a,
				"0644:{\"schema\":\"gputune.boot/1\",\"written_by\":\"gputune\","
				"\"rows\":[{\"id\":\"gpu.sm-clock-lock\",\"kind\":\"nvml\","
				"\"name\":\"gpu-clock-lock\",\"object\":\"%s\",\"numbers\":\"\","
				"\"value\":\"1000,1500\",\"device\":\"\",\"keeper\":\"unit\","
				"\"by\":\"/etc/systemd/system/gputune-boot.service\"}]}",
				gpu));
	assert_int_equal(lab_apply(l), 0);
	l->op = NULL;
}

/* What is kept is a knob of an object: the same of another GPU is none of it. */
static void test_kept_by_object(void **state)
{
	static const struct {
		const char *gpu;
		enum hold hold;
	} rows[] = { { LAB_GPU, HOLD_UNKNOWN }, { "0000:ff:00.0", HOLD_LOST } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct hold_row *found;
		struct journal j;
		struct lab l;
		size_t n;

		lab_open(&l);
		lab_make(&l, "gpu.clocks", KNOB_NVML, "gpu-clock-lock", "1000,1500");
		keep(&l, rows[i].gpu);
		lab_by_hand(&l, "/proc/sys/kernel/random/boot_id", "22222222-2222\n");
		lab_next(&l);
		found = holds(&l, &n);
		assert_int_equal(n, 1);
		assert_int_equal(found[0].hold, rows[i].hold);
		lab_journal(&l, &j);
		txn_carry_over(l.h, &l.a, &j);
		assert_int_equal(j.items[0].entries[0].lost, rows[i].hold == HOLD_LOST);
		lab_close(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unread),	       cmocka_unit_test(test_unread_is_newest),
		cmocka_unit_test(test_unread_open),    cmocka_unit_test(test_cut_number),
		cmocka_unit_test(test_last_number),    cmocka_unit_test(test_force_stuck),
		cmocka_unit_test(test_kept_by_object), cmocka_unit_test(test_undo_says_so_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
