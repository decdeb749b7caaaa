/* SPDX-License-Identifier: Apache-2.0 */
/* Changes on top of each other where the lower one is taken out first: the pairs of sysctls of
 * which one write zeroes the other, and what a write resets besides. */
#include <stdbool.h>

#include "lab.h"

#define RATIO "vm.dirty_ratio"
#define BYTES "vm.dirty_bytes"
#define MB "1048576"

static void make(struct lab *l, const char *name, const char *value)
{
	lab_make(l, name, KNOB_SYSCTL, name, value);
}

/* The lower of two goes: the upper one goes back to what was there before either, whichever of the
 * pair that was. */
static void test_pair(void **state)
{
	static const struct {
		const char *hand, *value; /* what somebody had set */
		const char *lower, *low, *upper, *up;
		const char *ratio, *bytes; /* in the end */
	} rows[] = {
		{ BYTES, "2097152", RATIO, "5", BYTES, MB, BYTES "=2097152", "2097152" },
		{ RATIO, "30", RATIO, "5", BYTES, MB, "30", RATIO "=30" },
		{ RATIO, "30", BYTES, MB, RATIO, "5", "30", RATIO "=30" },
		{ BYTES, "2097152", BYTES, MB, RATIO, "5", BYTES "=2097152", "2097152" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned long first = 1; first <= 2; first++) {
			struct hold_row *held;
			struct journal j;
			struct lab l;
			size_t n;

			lab_open(&l);
			lab_by_hand(&l,
				    arena_printf(&l.a, "/proc/sys/vm/%s",
						 strchr(rows[i].hand, '.') + 1),
				    rows[i].value);
			assert_string_equal(lab_sysctl(&l, RATIO), rows[i].ratio);
			make(&l, rows[i].lower, rows[i].low);
			make(&l, rows[i].upper, rows[i].up);
			lab_undo_txn(&l, first);
			if (first == 1) {
				assert_int_equal(l.report.rows[0].outcome, OUTCOME_COVERED);
				assert_non_null(strstr(l.report.rows[0].sentence, "transaction 2"));
				assert_string_equal(lab_sysctl(&l, rows[i].upper), rows[i].up);
			} else {
				assert_string_equal(lab_sysctl(&l, rows[i].lower), rows[i].low);
			}
			lab_journal(&l, &j);
			assert_int_equal(txn_status(l.h, &l.a, &j, &held, &n), 0);
			assert_int_equal(n, 1);
			lab_undo_txn(&l, 3 - first);
			assert_string_equal(lab_sysctl(&l, RATIO), rows[i].ratio);
			assert_string_equal(lab_sysctl(&l, BYTES), rows[i].bytes);
			lab_journal(&l, &j);
			assert_int_equal(txn_status(l.h, &l.a, &j, &held, &n), 0);
			assert_int_equal(n, 0);
			lab_close(&l);
		}
}

/* Somebody's later value of what our write has reset is put back when taking it back resets that.
 */
static void test_side_later(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_make(&l, "disk.scheduler", KNOB_SYSFS, LAB_QUEUE "scheduler", "none");
	lab_by_hand(&l, LAB_QUEUE "nr_requests", "300");
	lab_undo_txn(&l, 1);
	assert_string_equal(lab_queue(&l, "scheduler"), "mq-deadline");
	assert_string_equal(lab_queue(&l, "nr_requests"), "300");
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_pair),
					    cmocka_unit_test(test_side_later) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
