/* SPDX-License-Identifier: Apache-2.0 */
/* What a boot means for changes of before: which original counts, what waits, what is closed. */
#include <stdbool.h>

#include "lab.h"
#include "tune/txn/layer.h"

#define SWAP "vm.swappiness"
#define SWAP_FILE "root/proc/sys/vm/swappiness"
#define REQUEST "/etc/gputune/boot.json"

static const struct txn_select all = { .all = true };

static void install(struct lab *l, const char *value)
{
	l->op = "persist";
	lab_make(
		l, "persist", KNOB_FILE, REQUEST,
		arena_printf(
			&l->a,
			"0644:{\"schema\":\"gputune.boot/1\",\"written_by\":\"gputune\",\"rows\":[{"
			"\"id\":\"memory.swappiness\",\"kind\":\"sysctl\",\"name\":\"" SWAP "\","
			"\"object\":\"\",\"numbers\":\"\",\"value\":\"%s\",\"device\":\"\","
			"\"keeper\":\"sysctl\",\"by\":\"/etc/sysctl.d/99-zz-gputune.conf\"}]}",
			value));
	l->op = NULL;
}

/* After it the file of ours has set value; NULL: nobody has set anything. */
static void reboot(struct lab *l, const char *value)
{
	box_file(&l->box, "o/root/proc/sys/kernel/random/boot_id",
		 "22222222-2222-2222-2222-222222222222\n");
	box_file(&l->box, "o/" SWAP_FILE, value ? arena_printf(&l->a, "%s\n", value) : "60\n");
	lab_next(l);
}

static void recover(struct lab *l)
{
	struct txn_who who = { .user = "tester", .version = "1" };

	assert_int_equal(txn_recover(l->h, &l->a, &who, &l->report, &l->e), 0);
	lab_next(l);
}

/* Entries of the knob that are open, in all transactions. */
static size_t open_entries(struct lab *l)
{
	struct journal j;
	size_t n = 0;

	lab_journal(l, &j);
	for (size_t i = 0; i < j.n; i++)
		for (size_t k = 0; k < j.items[i].n; k++)
			n += j.items[i].entries[k].knob.kind == KNOB_SYSCTL &&
			     entry_is_active(&j.items[i].entries[k]);
	return n;
}

/* Of two changes what was there before the first; both are the boot's one entry then. */
static void test_first_original(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "5");
	install(&l, "5");
	assert_int_equal(open_entries(&l), 2);
	reboot(&l, "5");
	recover(&l);
	assert_int_equal(open_entries(&l), 1);
	assert_int_equal(lab_undo(&l, all), 0);
	assert_true(lab_is_original(&l));
	assert_int_equal(open_entries(&l), 0);
	lab_close(&l);
}

/* What no file of ours has set again went with the boot; another value is somebody's. */
static void test_lost(void **state)
{
	static const char *const values[] = { "60", "10", "33" };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct lab l;

		lab_open(&l);
		lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
		reboot(&l, values[i]);
		recover(&l);
		assert_int_equal(open_entries(&l), 0);
		assert_int_equal(lab_undo(&l, all), -ENOENT);
		assert_string_equal(lab_sysctl(&l, SWAP), values[i]);
		lab_close(&l);
	}
}

/* Set at boot by our file, and set to another value before we looked: it is theirs. */
static void test_not_in_effect(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	install(&l, "10");
	reboot(&l, "33");
	recover(&l);
	assert_int_equal(open_entries(&l), 0);
	/* Decided once: who sets it to our value later is not us. */
	lab_by_hand(&l, "/proc/sys/vm/swappiness", "10");
	recover(&l);
	assert_int_equal(open_entries(&l), 0);
	assert_int_equal(lab_undo(&l, all), -ENOENT);
	assert_string_equal(lab_sysctl(&l, SWAP), "10");
	lab_close(&l);
}

/* Our file sets what was there before any change of ours: nothing of them is left to take back. */
static void test_back_at_boot(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	install(&l, "60");
	reboot(&l, "60");
	recover(&l);
	assert_int_equal(open_entries(&l), 0);
	lab_undo(&l, all);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

static void move(struct lab *l, const char *from, const char *to)
{
	char a[512], b[512];

	assert_int_equal(
		rename(box_path(&l->box, from, a, sizeof(a)), box_path(&l->box, to, b, sizeof(b))),
		0);
}

/* What cannot be read just now is neither carried over nor closed: it waits until it can be. */
static void test_waits(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	install(&l, "10");
	reboot(&l, "10");
	move(&l, "m/" SWAP_FILE, "m-away");
	move(&l, "o/" SWAP_FILE, "o-away");
	lab_next(&l);
	recover(&l);
	assert_int_equal(open_entries(&l), 1);
	move(&l, "m-away", "m/" SWAP_FILE);
	move(&l, "o-away", "o/" SWAP_FILE);
	lab_next(&l);
	recover(&l);
	assert_int_equal(open_entries(&l), 1);
	assert_int_equal(lab_undo(&l, all), 0);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* A request that cannot be read may have named anything: what is as we left it is ours. */
static void test_unreadable_request(void **state)
{
	static const char *const values[] = { "10", "33" };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct lab l;

		lab_open(&l);
		lab_make(&l, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
		l.op = "persist";
		lab_make(&l, "persist", KNOB_FILE, REQUEST, "0644:{\"schema\":\"gputune.boot/9\"}");
		l.op = NULL;
		reboot(&l, values[i]);
		recover(&l);
		assert_int_equal(open_entries(&l), i == 0);
		assert_int_equal(lab_undo(&l, all), i == 0 ? 0 : -ENOENT);
		assert_string_equal(lab_sysctl(&l, SWAP), i == 0 ? "60" : "33");
		lab_close(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_original), cmocka_unit_test(test_lost),
		cmocka_unit_test(test_back_at_boot),   cmocka_unit_test(test_not_in_effect),
		cmocka_unit_test(test_waits),	       cmocka_unit_test(test_unreadable_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
