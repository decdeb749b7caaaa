/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements, proofs and recordings as charts: what is drawn, what is left out, and that neither
 * a short dip nor a short throttling is lost when many moments are thrown together. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine/model/gpu.h"
#include "look/monitor/monitor.h"
#include "measure/bench/page_bench.h"
#include "measure/prove/page_prove.h"
#include "look/monitor/figures_recording.h"

static void test_size(void **state)
{
	static const struct {
		const char *name;
		double bytes; /* 0: no size */
		const char *kind;
	} rows[] = { { "all-reduce:8B", 8, "all-reduce" },
		     { "all-reduce:8MiB:in-place", 8 << 20, "all-reduce:in-place" },
		     { "256KiB", 256 << 10, "" },
		     { "256MiB:huge", 256 << 20, "huge" },
		     { "read-seq:1MiB:qd32", 1 << 20, "read-seq:qd32" },
		     { "triad", 0, NULL },
		     { "bf16:8192", 0, NULL },
		     { "KiB", 0, NULL },
		     { "8KB", 0, NULL },
		     { "::", 0, NULL },
		     { "", 0, NULL } };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *kind = NULL;
		double bytes = 0;

		if (figures_size(&a, rows[i].name, &bytes, &kind) != (rows[i].bytes > 0))
			fail_msg("%s", rows[i].name);
		if (rows[i].bytes > 0) {
			assert_true(bytes == rows[i].bytes);
			assert_string_equal(kind, rows[i].kind);
		}
	}
	arena_free(&a);
}

/* --- a recording ------------------------------------------------------------------------------ */

enum { CLOCK, REASONS, POWER, COLUMNS };

static struct column_of columns[COLUMNS];

static struct monitor machine(struct monitor_gpu *gpu)
{
	static const char *const names[COLUMNS] = { "gpu.sm-clock", "gpu.reasons", "gpu.power" };

	for (int i = 0; i < COLUMNS; i++) {
		columns[i] =
			(struct column_of){ .type = column_type_find(names[i]), .target = "gpu0" };
		assert_non_null(columns[i].type);
	}
	*gpu = (struct monitor_gpu){ .sm_max_mhz = 1980, .power_limit_w = 700, .slowdown_c = -1 };
	return (struct monitor){ .columns = columns,
				 .n = COLUMNS,
				 .machine = { .gpus = gpu, .n_gpus = 1 } };
}

/* One look in 100,000 is slow, another one throttled. */
static void test_recording(void **state)
{
	struct monitor_gpu gpu;
	struct monitor mon = machine(&gpu);
	struct arena a = { 0 };
	struct timeline *t = timeline_new(&a, &mon);
	struct doc *d = doc_new(&a);
	const char *svg;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		const double row[COLUMNS] = { i == 77777 ? 345 : 1980,
					      i == 55555 ? EVENT_SW_POWER : EVENT_IDLE, 400 };

		assert_true(timeline_row(t, (int64_t)i * 100, row));
	}
	timeline_add(d, t);
	assert_int_equal(d->n, 1);
	svg = d->nodes[0]->svg;
	assert_non_null(strstr(svg, "core clock: 345.0 to 1980 MHz"));
	assert_non_null(strstr(svg, "power cap from 55"));
	assert_non_null(strstr(svg, "throttled: 1 times"));
	assert_non_null(strstr(svg, "700.0 W, power limit"));
	assert_null(strstr(svg, "temperature"));
	assert_true(strlen(svg) < 100000);
	arena_free(&a);
}

static void test_no_gpu(void **state)
{
	struct monitor mon = { 0 };
	struct arena a = { 0 };
	struct timeline *t = timeline_new(&a, &mon);
	struct doc *d = doc_new(&a);

	(void)state;
	timeline_add(d, t);
	assert_true(timeline_row(t, 0, NULL));
	timeline_add(d, t);
	assert_int_equal(d->n, 0);
	arena_free(&a);
}

/* --- a ledger --------------------------------------------------------------------------------- */

static struct ledger_row row(const char *setting, const char *machine, double ratio, double low,
			     double high, enum ruling_kind verdict)
{
	return (struct ledger_row){ .setting = setting,
				    .target = "",
				    .bench = "disk/read",
				    .figure = "rate",
				    .verdict = verdict,
				    .ratio = ratio,
				    .low = low,
				    .high = high,
				    .where = { .machine = machine } };
}

/* The newest of each question of this machine. */
static void test_ledger(void **state)
{
	struct ledger_row rows[] = {
		row("disk.read-ahead", "m", 0.9, 0.8, 0.95, RULING_HURTS),
		row("net.rmem-max", "m", 1.2, 1.1, 1.3, RULING_HELPS),
		row("disk.read-ahead", "m", 1.05, 1.04, 1.06, RULING_HELPS),
		row("memory.thp-enabled", "other", 3, 2, 4, RULING_HELPS),
		row("cpu.governor", "m", 1.001, 0, INFINITY, RULING_UNDECIDED),
	};
	const struct ledger l = { .rows = rows, .n = 5, .here = { .machine = "m" } }, none = { 0 };
	struct arena a = { 0 };
	struct doc *d = doc_new(&a);
	const char *svg;

	(void)state;
	figures_ledger(d, &none);
	assert_int_equal(d->n, 0);
	figures_ledger(d, &l);
	assert_int_equal(d->n, 1);
	svg = d->nodes[0]->svg;
	assert_non_null(strstr(svg, "disk.read-ahead, disk/read: 1.050 (1.040 to 1.060), helps"));
	assert_null(strstr(svg, "0.900"));
	assert_null(strstr(svg, "memory.thp"));
	assert_non_null(strstr(svg, "cpu.governor, disk/read: 1.001, undecided"));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_recording),
		cmocka_unit_test(test_no_gpu),
		cmocka_unit_test(test_ledger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
