/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written is in the journal before, and what is said to be done is in it afterwards: every
 * write and every addition to the journal is noted by a linker's wrap, and additions fail.
 */
#include <stdbool.h>

#include "base/text.h"
#include "lab.h"
#include "tune/txn/write.h"

#define REQUEST "/etc/gputune/boot.json"
#define SWAP_FILE "/proc/sys/vm/swappiness"

static struct {
	struct text journal;  /* what was added */
	const char *wants;    /* what has to be in it at the first write to anything else; NULL */
	size_t writes, added; /* of anything else; to the journal */
	size_t fails;	      /* the addition that fails when half of it is there; 0: none */
	bool lasts;	      /* and all behind it */
	const char *rival;   /* somebody sets vm.swappiness to it while the next addition is made */
	bool no_links;	     /* where a device lies cannot be seen */
	const char *clamped; /* what the machine makes of each 10 */
} seen;

static int begin(void **state)
{
	(void)state;
	text_free(&seen.journal);
	memset(&seen, 0, sizeof(seen));
	return 0;
}

static int end(void **state)
{
	return begin(state);
}

int __real_host_write(struct host *h, const char *path, const char *text);
int __wrap_host_write(struct host *h, const char *path, const char *text);
int __real_host_append(struct host *h, const char *path, const void *data, size_t len);
int __wrap_host_append(struct host *h, const char *path, const void *data, size_t len);
int __wrap_host_append(struct host *h, const char *path, const void *data, size_t len)
{
	/* The copy repeats it. */
	if (strcmp(path, TXN_JOURNAL) != 0)
		return __real_host_append(h, path, data, len);
	seen.added++;
	if (seen.fails && (seen.added == seen.fails || (seen.lasts && seen.added > seen.fails))) {
		__real_host_append(h, path, data, len / 2);
		return -ENOSPC;
	}
	text_addn(&seen.journal, data, len);
	if (seen.rival)
		assert_int_equal(__real_host_write(h, SWAP_FILE, seen.rival), 0);
	seen.rival = NULL;
	return __real_host_append(h, path, data, len);
}

static void written(void)
{
	if (!seen.writes++ && seen.wants &&
	    (!seen.journal.s || !strstr(seen.journal.s, seen.wants)))
		fail_msg("\"%s\" is not in the journal before something is written", seen.wants);
}

int __wrap_host_write(struct host *h, const char *path, const char *text)
{
	const char *taken = seen.clamped && strcmp(text, "10") == 0 ? seen.clamped : text;

	written();
	return __real_host_write(h, path, taken);
}

int __real_host_put(struct host *h, const char *path, const void *data, size_t len, unsigned mode);
int __wrap_host_put(struct host *h, const char *path, const void *data, size_t len, unsigned mode);
int __wrap_host_put(struct host *h, const char *path, const void *data, size_t len, unsigned mode)
{
	if (strcmp(path, TXN_JOURNAL) != 0 && strcmp(path, TXN_COPY) != 0 &&
	    strcmp(path, TXN_PUBLIC) != 0)
		written();
	return __real_host_put(h, path, data, len, mode);
}

int __real_host_link_path(struct host *h, const char *path, char *buf, size_t cap);
int __wrap_host_link_path(struct host *h, const char *path, char *buf, size_t cap);
int __wrap_host_link_path(struct host *h, const char *path, char *buf, size_t cap)
{
	return seen.no_links ? -EIO : __real_host_link_path(h, path, buf, cap);
}

int __real_host_remove(struct host *h, const char *path);
int __wrap_host_remove(struct host *h, const char *path);
int __wrap_host_remove(struct host *h, const char *path)
{
	written();
	return __real_host_remove(h, path);
}

static void change_two(struct lab *l)
{
	lab_change(l, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "10");
	lab_change(l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
}

/* --- the writer ------------------------------------------------------------------------------- */

/* An addition that failed in its middle is made again, and nothing is lost by its first half. */
static void test_again(void **state)
{
	struct transaction t = {
		.txn = 1, .op = "apply", .boot_id = LAB_BOOT, .time_s = 1, .user = "ada"
	};
	struct entry e = { .txn = 1,
			   .seq = 1,
			   .id = "memory.swappiness",
			   .target = "",
			   .knob = { KNOB_SYSCTL, "vm.swappiness", "" },
			   .place = "",
			   .before = "60",
			   .after = "10" };
	struct journal_writer w = { 0 };
	struct journal j;
	struct lab l;

	(void)state;
	lab_open(&l);
	assert_int_equal(host_own_dir(l.h, TXN_DIR), 0);
	w.h = l.h;
	assert_int_equal(write_flush(&w), 0);
	assert_int_equal(seen.added, 0);
	seen.fails = 1;
	write_begin(&w, &t, 1);
	assert_int_equal(write_flush(&w), -ENOSPC);
	write_intend(&w, &t, &e);
	assert_int_equal(write_flush(&w), 0);
	assert_int_equal(write_flush(&w), 0);
	assert_int_equal(seen.added, 2);
	/* Not from the copy. */
	assert_int_equal(host_remove(l.h, TXN_COPY), 0);
	lab_next(&l);
	lab_journal(&l, &j);
	assert_int_equal(j.n, 1);
	assert_string_equal(j.items[0].user, "ada");
	assert_int_equal(j.items[0].n, 1);
	assert_string_equal(j.items[0].entries[0].before, "60");
	assert_false(j.torn);
	w.h = l.h;
	w.dry = true;
	write_closed(&w, 1);
	assert_int_equal(write_flush(&w), 0);
	assert_int_equal(seen.added, 2);
	text_free(&w.waiting);
	lab_close(&l);
}

/* --- before a write --------------------------------------------------------------------------- */

static void test_intent_first(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	change_two(&l);
	seen.wants = "vm.swappiness";
	assert_int_equal(lab_apply(&l), 0);
	assert_int_equal(seen.writes, 2);
	seen.wants = "undoing";
	seen.writes = 0;
	assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), 0);
	assert_int_equal(seen.writes, 2);
	lab_close(&l);
}

/* What a boot means is decided, and on disk, before files that say so go. */
static void test_boot_first(void **state)
{
	static const char request[] =
		"0644:{\"schema\":\"gputune.boot/1\",\"written_by\":\"gputune\",\"rows\":[{"
		"\"id\":\"memory.swappiness\",\"kind\":\"sysctl\",\"name\":\"vm.swappiness\","
		"\"object\":\"\",\"numbers\":\"\",\"value\":\"10\",\"device\":\"\","
		"\"keeper\":\"sysctl\",\"by\":\"/etc/sysctl.d/99-zz-gputune.conf\"}]}";
	struct txn_who who = { .user = "tester", .version = "1" };
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "10");
	l.op = "persist";
	lab_make(&l, "persist", KNOB_FILE, REQUEST, request);
	/* Cut off behind its write. */
	seen.fails = seen.added + 2;
	seen.lasts = true;
	lab_change(&l, "persist", KNOB_FILE, "/etc/sysctl.d/99-zz-gputune.conf",
		   "0644:vm.swappiness = 10\\n");
	assert_int_not_equal(lab_apply(&l), 0);
	seen.fails = 0;
	box_file(&l.box, "o/root/proc/sys/kernel/random/boot_id",
		 "22222222-2222-2222-2222-222222222222\n");
	lab_next(&l);
	seen.wants = "carried over";
	seen.writes = 0;
	assert_int_equal(txn_recover(l.h, &l.a, &who, &l.report, &l.e), 0);
	assert_int_not_equal(seen.writes, 0);
	lab_close(&l);
}

/* --- at the write itself ---------------------------------------------------------------------- */

/* While the intent was on its way to the disk somebody set another value: it stays. */
static void test_meanwhile(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "10");
	seen.rival = "33";
	assert_int_equal(lab_apply(&l), -ECANCELED);
	assert_int_equal(seen.writes, 0);
	assert_int_equal(l.report.rows[0].outcome, OUTCOME_FAILED);
	assert_string_equal(l.report.rows[0].found, "33");
	assert_non_null(strstr(l.e.text, "another program"));
	assert_string_equal(lab_sysctl(&l, "vm.swappiness"), "33");
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -ENOENT);
	assert_string_equal(lab_sysctl(&l, "vm.swappiness"), "33");
	lab_close(&l);
}

/* A value that the machine makes another of is not the one that was asked for. */
static void test_clamped(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	change_two(&l);
	seen.clamped = "12";
	assert_int_equal(lab_apply(&l), -ECANCELED);
	assert_int_equal(l.report.rows[0].outcome, OUTCOME_CLAMPED);
	assert_string_equal(l.report.rows[0].found, "12");
	assert_int_equal(l.report.rows[1].outcome, OUTCOME_NOT_TRIED);
	assert_non_null(strstr(l.e.text, "10 was requested, but the machine set 12"));
	/* What it made of it is ours to take back. */
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* What a write resets has to be known before: where unreadable nothing is written. */
static void test_side_unreadable(void **state)
{
	size_t unread = 0;
	bool more = true;

	(void)state;
	for (size_t at = 1; more; at++) {
		struct txn_who who = { .user = "tester", .version = "1" };
		struct host *h;
		struct lab l;
		int r;

		begin(NULL);
		lab_open(&l);
		lab_change(&l, "disk.scheduler", KNOB_SYSFS, LAB_QUEUE "scheduler", "none");
		h = fault_open(lab_host(&l), (struct fault_plan){ .at = at, .code = -EIO });
		seen.wants = "nr_requests";
		r = txn_apply(h, &l.a, &l.plan, &who, &l.report, &l.e);
		more = fault_operations(h) >= at;
		unread += r && strstr(fault_where(h), "nr_requests") != NULL && !seen.writes;
		host_close(h);
		lab_close(&l);
	}
	assert_int_equal(unread, 1);
}

/* --- taking back ------------------------------------------------------------------------------ */

/* Whether it is still the same device has to be seen. */
static void test_place_unseen(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "disk.requests", KNOB_SYSFS, LAB_QUEUE "nr_requests", "32");
	seen.no_links = true;
	seen.writes = 0;
	assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), -EUCLEAN);
	assert_int_equal(l.report.rows[0].outcome, OUTCOME_STUCK);
	assert_non_null(strstr(l.report.rows[0].command, "64"));
	assert_non_null(strstr(l.report.rows[0].command, "nr_requests"));
	assert_int_equal(seen.writes, 0);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .force = true }), 0);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* Of what this version cannot read, or would refuse to write, it announces and writes nothing. */
static void test_unread_is_left(void **state)
{
	static const char *const intents[] = {
		"\"knob\":{\"kind\":\"quantum\",\"name\":\"x\",\"object\":\"\"},\"before\":\"1\"",
		"\"knob\":{\"kind\":\"sysctl\",\"name\":\"vm.dirty_ratio\",\"object\":\"\"},"
		"\"before\":\"x\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(intents) / sizeof(intents[0]); i++) {
		struct lab l;

		begin(NULL);
		lab_open(&l);
		box_file(&l.box, "o/root" TXN_JOURNAL,
			 arena_printf(
				 &l.a,
				 "{\"t\":\"begin\",\"txn\":1,\"op\":\"apply\",\"boot\":\"" LAB_BOOT
				 "\",\"time\":1}\n"
				 "{\"t\":\"intend\",\"txn\":1,\"seq\":1,\"id\":\"x.y\","
				 "\"target\":\"\",\"place\":\"\",\"after\":\"2\",%s}\n"
				 "{\"t\":\"end\",\"txn\":1,\"result\":\"applied\"}\n",
				 intents[i]));
		lab_by_hand(&l, "/proc/sys/vm/dirty_ratio", "2");
		lab_next(&l);
		seen.writes = 0;
		assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), -EUCLEAN);
		assert_int_equal(l.report.rows[0].outcome, OUTCOME_STUCK);
		assert_null(strstr(seen.journal.s, "undoing"));
		assert_int_equal(seen.writes, 0);
		lab_close(&l);
	}
}

/* --- what is said of it ----------------------------------------------------------------------- */

static void test_said_is_recorded(void **state)
{
	/* Of each batch, of what an undo announces, and of the end. */
	enum { LAST = 3 };
	static const int codes[2][LAST] = { { -ECANCELED, -ECANCELED, -EUCLEAN },
					    { -ENOSPC, -EUCLEAN, 0 } };

	(void)state;
	for (size_t at = 1; at <= LAST + 1; at++)
		for (int undo = 0; undo < 2; undo++) {
			struct journal j;
			struct lab l;
			int r;

			begin(NULL);
			lab_open(&l);
			change_two(&l);
			assert_true(!undo || lab_apply(&l) == 0);
			seen.fails = seen.added + at;
			r = undo ? lab_undo(&l, (struct txn_select){ 0 }) : lab_apply(&l);
			lab_journal(&l, &j);
			if (r == 0)
				assert_int_equal(j.items[0].state,
						 undo ? TRANSACTION_UNDONE : TRANSACTION_APPLIED);
			assert_int_equal(r, at > LAST ? 0 : codes[undo][at - 1]);
			/* What cannot be written there first is not changed. */
			assert_true(at > 1 || seen.writes == (undo ? 2 : 0));
			seen.fails = 0;
			lab_undo(&l, (struct txn_select){ .all = true });
			assert_true(lab_is_original(&l));
			lab_close(&l);
		}
}

/* A transaction that is over holds nothing, whatever line of an entry was lost. */
static void test_over(void **state)
{
	static const char *const ends[] = {
		"{\"t\":\"closed\",\"txn\":1}\n",
		"{\"t\":\"end\",\"txn\":1,\"result\":\"rolled-back\"}\n",
		"{\"t\":\"end\",\"txn\":1,\"result\":\"undone\"}\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct journal j;
		struct lab l;

		lab_open(&l);
		box_file(&l.box, "o/root" TXN_JOURNAL,
			 arena_printf(
				 &l.a,
				 "{\"t\":\"begin\",\"txn\":1,\"op\":\"apply\",\"boot\":\"" LAB_BOOT
				 "\",\"time\":1}\n"
				 "{\"t\":\"intend\",\"txn\":1,\"seq\":1,\"id\":\"x.y\","
				 "\"target\":\"\",\"place\":\"\",\"knob\":{\"kind\":\"sysctl\","
				 "\"name\":\"vm.swappiness\",\"object\":\"\"},"
				 "\"before\":\"60\",\"after\":\"10\"}\n"
				 "{\"t\":\"done\",\"txn\":1,\"seq\":1,\"read\":\"10\"}\n%s",
				 ends[i]));
		lab_by_hand(&l, SWAP_FILE, "10");
		lab_next(&l);
		lab_journal(&l, &j);
		assert_int_equal(j.n, 1);
		assert_int_equal(j.items[0].entries[0].state, ENTRY_UNDONE);
		assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -ENOENT);
		assert_string_equal(lab_sysctl(&l, "vm.swappiness"), "10");
		lab_close(&l);
	}
}

/* What was written before places were recorded is undone as well. */
static void test_no_place(void **state)
{
	static const char journal[] =
		"{\"t\":\"begin\",\"txn\":1,\"op\":\"apply\",\"boot\":\"" LAB_BOOT
		"\",\"time\":1}\n"
		"{\"t\":\"intend\",\"txn\":1,\"seq\":1,\"id\":\"x.y\",\"target\":\"\",\"knob\":{"
		"\"kind\":\"sysctl\",\"name\":\"vm.swappiness\",\"object\":\"\"},"
		"\"before\":\"60\",\"after\":\"10\"}\n"
		"{\"t\":\"done\",\"txn\":1,\"seq\":1,\"read\":\"10\"}\n"
		"{\"t\":\"end\",\"txn\":1,\"result\":\"applied\"}\n";
	struct lab l;

	(void)state;
	lab_open(&l);
	box_file(&l.box, "o/root" TXN_JOURNAL, journal);
	lab_by_hand(&l, SWAP_FILE, "10");
	lab_next(&l);
	assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), 0);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* The same for the steps of a trial: the first error is the one that is told, and none without. */
static void test_trial(void **state)
{
	struct txn_who who = { .user = "tester", .version = "1" };
	struct txn_trial *t;
	struct lab l;

	(void)state;
	lab_open(&l);
	change_two(&l);
	assert_int_equal(txn_trial_begin(l.h, &l.a, &who, "x", &l.report, &t, &l.e), 0);
	assert_int_equal(txn_trial_set(t, &l.plan, NULL, &l.report, &l.e), 0);
	assert_string_equal(l.e.text, "");
	assert_int_equal(txn_trial_set(t, &l.plan, NULL, &l.report, &l.e), -EBUSY);
	l.e = (struct err){ 0 };
	seen.fails = seen.added + 1;
	assert_int_equal(txn_trial_revert(t, &l.report, &l.e), -ENOSPC);
	assert_non_null(strstr(l.e.text, "journal"));
	assert_true(lab_is_original(&l));
	l.e = (struct err){ 0 };
	seen.fails = seen.added + 3;
	seen.lasts = true;
	seen.clamped = "12";
	assert_int_equal(txn_trial_set(t, &l.plan, NULL, &l.report, &l.e), -ECANCELED);
	assert_non_null(strstr(l.e.text, "10 was requested, but the machine set 12"));
	seen.fails = 0;
	assert_int_equal(txn_trial_end(t, &l.e), 0);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(again),   TEST(intent_first),    TEST(boot_first),	  TEST(meanwhile),
		TEST(clamped), TEST(side_unreadable), TEST(place_unseen), TEST(unread_is_left),
		TEST(over),    TEST(no_place),	      TEST(trial),	  TEST(said_is_recorded)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
