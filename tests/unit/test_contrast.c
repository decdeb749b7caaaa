/* SPDX-License-Identifier: Apache-2.0 */
/* How often is asked, rates of recorded rows, and what is called different between two recordings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "look/monitor/contrast.h"
#include "look/probe/probe.h"

static char folder[64];

static const char *file_of(const char *name)
{
	static char path[2][128];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static void assert_near(double got, double wanted, double within)
{
	if (!(fabs(got - wanted) <= within))
		fail_msg("%.12g, not %.12g", got, wanted);
}

/* --- how often is asked ----------------------------------------------------------------------- */

/* Passes everything on to a capture, and counts. */
struct counting {
	struct host host;
	struct host *base;
	size_t asked, clocks, powers, temperatures, links, refused;
};

static int count_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct host *base = ((struct counting *)h)->base;

	return base->ops->read(base, path, buf, cap, len);
}

static int count_ask(struct host *h, const char *api, const char *object, const char *field,
		     struct answer *out)
{
	struct counting *c = (struct counting *)h;

	c->asked++;
	c->clocks += strcmp(field, "nvmlDeviceGetClockInfo(SM)") == 0;
	c->powers += strcmp(field, "nvmlDeviceGetPowerUsage") == 0;
	c->temperatures += strcmp(field, "nvmlDeviceGetTemperature(GPU)") == 0;
	c->links += strcmp(field, "nvmlDeviceGetCurrPcieLinkWidth") == 0;
	if (strcmp(field, "nvmlDeviceGetFieldValues(PCIE_COUNT_TX_BYTES)") == 0) {
		c->refused++;
		return -EOPNOTSUPP;
	}
	return c->base->ops->ask(c->base, api, object, field, out);
}

static const struct host_ops counting_ops = { .read = count_read, .ask = count_ask };

/* The plan of looks at a captured machine with four GPUs. */
static void count_begin(struct counting *c, struct arena *a, struct monitor *mon)
{
	struct machine *m = ARENA_NEW(a, struct machine);
	struct err e = { 0 };
	struct probe p;

	*c = (struct counting){ .host.ops = &counting_ops };
	c->base = host_open_capture(MACHINES "/h200-x4", &e);
	assert_non_null(c->base);
	p = (struct probe){ .h = c->base, .a = a, .m = m };
	probe_machine(&p);
	monitor_make(a, c->base, m, mon);
}

static void test_how_often(void **state)
{
	struct counting c;
	struct monitor_state s = { 0 };
	struct arena a = { 0 };
	struct monitor mon;
	double *values;

	(void)state;
	count_begin(&c, &a, &mon);
	assert_int_equal(mon.machine.n_gpus, 4);
	values = arena_array(&a, mon.n, sizeof(*values));
	/* Ten seconds, ten times a second, each a little early or late. */
	for (int i = 0; i < 100; i++) {
		monitor_look(&mon, &c.host, &s, 100 + 0.1 * (double)i + (i % 3 - 1) * 0.004,
			     values);
		for (size_t k = 0; k < mon.n; k++)
			assert_true(isnan(values[k]) || values[k] >= 0);
		assert_true(values[monitor_find(&mon, "gpu.link-width", "gpu3")] >= 0);
	}
	assert_int_equal(c.clocks, 4 * 100);
	assert_in_range(c.powers, 4 * 30, 4 * 50);
	assert_int_equal(c.temperatures, 4 * 10);
	assert_in_range(c.links, 4 * 2, 4 * 3);
	assert_int_equal(c.refused, 4);
	/* After a minute it might be another driver. */
	monitor_look(&mon, &c.host, &s, 170, values);
	assert_int_equal(c.refused, 8);
	monitor_state_free(&s);
	host_close(c.base);
	arena_free(&a);
}

/* Once a second is once a second, also at looks once a second. */
static void test_every_second(void **state)
{
	struct counting c;
	struct monitor_state s = { 0 };
	struct arena a = { 0 };
	struct monitor mon;
	double *values;

	(void)state;
	count_begin(&c, &a, &mon);
	values = arena_array(&a, mon.n, sizeof(*values));
	for (int i = 0; i < 20; i++) {
		monitor_look(&mon, &c.host, &s, 100 + i + (i % 2 ? -0.01 : 0.01), values);
		if (i)
			assert_near(s.beats[BEAT_SLOW].at_s - s.beats[BEAT_SLOW].before_s, 1, 0.03);
	}
	assert_int_equal(c.temperatures, 4 * 20);
	monitor_state_free(&s);
	host_close(c.base);
	arena_free(&a);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void test_rates(void **state)
{
	struct column_of columns[] = { { column_type_find("cpu.busy"), "", BEAT_LOOK },
				       { column_type_find("rdma.sent"), "mlx5_0/1", BEAT_SLOW },
				       { column_type_find("gpu.temperature"), "gpu0", BEAT_SLOW },
				       { column_type_find("gpu.sm-clock"), "gpu0", BEAT_LOOK } };
	struct monitor mon = { .columns = columns, .n = 4 };
	struct recording_rates r = { 0 };
	struct arena a = { 0 };
	double out[4];

	(void)state;
	for (int i = 0; i <= 40; i++) {
		int second = i / 10;
		double v[] = { 0.2 * i, 5e9 * second, 40 + second % 2, 1980 };

		recording_rates(&a, &r, &mon, 0.1 * i, v, out);
		assert_near(out[3], 1980, 0);
		if (i)
			assert_near(out[0], 2, 1e-9);
		else
			assert_true(isnan(out[0]) && isnan(out[1]));
		/* What is asked once a second speaks once a second. */
		assert_int_equal(isnan(out[2]), i % 10 != 0);
		if (i && i % 10 == 0)
			assert_near(out[1], 5e9, 1);
		else
			assert_true(isnan(out[1]));
	}
	/* Where nothing moves it was asked all the same. */
	for (int i = 41; i <= 60; i++) {
		double v[] = { 0.2 * i, 20e9, 40, 1980 };

		recording_rates(&a, &r, &mon, 0.1 * i, v, out);
		if (i == 55)
			assert_near(out[1], 0, 0);
	}
	arena_free(&a);
}

/* --- two recordings --------------------------------------------------------------------------- */

enum { QUIET = 24, ROWS = 400 };

/* QUIET columns that follow their own past (phi), and one whose mean is what is asked for. */
static void write_one(const char *path, uint64_t seed, double phi, double clock, bool more)
{
	struct column_of columns[QUIET + 2];
	struct monitor mon = { .columns = columns, .n = QUIET + 1 + more };
	struct recording_end end = { .whole = true, .status = more ? 3 : 0, .command_cpu_s = 4.5 };
	char targets[QUIET + 1][16], *words[] = { (char *)"job", NULL };
	struct stat_random random = { seed };
	struct err e = { 0 };
	double v[QUIET + 2], x[QUIET] = { 0 };
	struct recorder *r;

	mon.machine.name = "here";
	for (size_t i = 0; i < QUIET; i++) {
		snprintf(targets[i], sizeof(targets[i]), "gpu%zu", i);
		columns[i] = (struct column_of){ column_type_find("gpu.power"), targets[i], false };
	}
	columns[QUIET] = (struct column_of){ column_type_find("gpu.sm-clock"), "gpu0", BEAT_LOOK };
	columns[QUIET + 1] = (struct column_of){ column_type_find("memory.dirty"), "", BEAT_LOOK };
	r = recorder_open(path, &mon, words, 1700000000, 500, &e);
	if (!r)
		fail_msg("%s", e.text);
	for (int k = -200; k < ROWS; k++) {
		for (size_t i = 0; i < QUIET; i++) {
			x[i] = phi * x[i] + sqrt(1 - phi * phi) * 30 * stat_random_normal(&random);
			v[i] = 500 + x[i];
		}
		v[QUIET] = clock + 20 * stat_random_normal(&random);
		v[QUIET + 1] = 1e6;
		if (k >= 0)
			assert_int_equal(recorder_row(r, k * 500, v), 0);
	}
	assert_int_equal(recorder_close(r, &end), 0);
}

static size_t found(const struct contrast *v)
{
	return v->count[CONTRAST_HIGHER] + v->count[CONTRAST_LOWER];
}

/* Like and like, twelve pairs: by the rule one pair in twenty is called different. */
static void test_like(void **state)
{
	static const double phis[] = { 0, 0.9 };

	(void)state;
	for (size_t p = 0; p < 2; p++) {
		size_t wrong = 0;

		for (uint64_t i = 0; i < 12; i++) {
			struct contrast v;
			struct arena a = { 0 };
			struct err e = { 0 };

			write_one(file_of("x"), 100 + 2 * i, phis[p], 1500, false);
			write_one(file_of("y"), 101 + 2 * i, phis[p], 1500, false);
			assert_int_equal(contrast_read(&a, file_of("x"), file_of("y"), &v, &e), 0);
			assert_int_equal(v.n, QUIET + 1);
			/* Correlated ones sometimes look as if they were worth too few. */
			assert_true(v.count[CONTRAST_CANNOT] <= (p ? 4 : 0));
			wrong += found(&v) > 0;
			unlink(file_of("x"));
			unlink(file_of("y"));
			arena_free(&a);
		}
		assert_true(wrong <= 3);
	}
}

static void test_unlike(void **state)
{
	struct contrast v;
	struct arena a = { 0 };
	struct err e = { 0 };

	(void)state;
	write_one(file_of("x"), 71, 0.5, 1500, false);
	write_one(file_of("y"), 72, 0.5, 1440, true);
	assert_int_equal(contrast_read(&a, file_of("x"), file_of("y"), &v, &e), 0);
	assert_int_equal(v.n, QUIET + 2);
	assert_int_equal(found(&v), 1);
	assert_int_equal(v.rows[QUIET].verdict, CONTRAST_LOWER);
	assert_near(v.rows[QUIET].difference, -60, 6);
	assert_true(v.rows[QUIET].interval.low < -60 && v.rows[QUIET].interval.high > -66);
	assert_near(v.rows[0].a.effective, ROWS / 3.6, ROWS / 6.0);
	assert_near(v.rows[0].a.deviation, 30, 5);
	assert_int_equal(v.rows[QUIET + 1].verdict, CONTRAST_CANNOT);
	assert_non_null(strstr(v.rows[QUIET + 1].reason, "first"));
	assert_int_equal(v.b.rec.end.status, 3);
	/* With itself: the same to the last bit. */
	assert_int_equal(contrast_read(&a, file_of("y"), file_of("y"), &v, &e), 0);
	assert_int_equal(v.count[CONTRAST_SAME], v.n);
	for (size_t i = 0; i < v.n; i++)
		assert_true(!(fabs(v.rows[i].difference) > 0));
	assert_int_equal(v.n_differs, 0);
	assert_int_equal(contrast_read(&a, file_of("x"), file_of("no-such"), &v, &e), -ENOENT);
	arena_free(&a);
}

/* A rise that never ends is one event, not hundreds. */
static void test_drift(void **state)
{
	struct column_of column = { column_type_find("gpu.temperature"), "gpu0", false };
	struct monitor mon = { .machine.name = "here", .columns = &column, .n = 1 };
	struct contrast v;
	struct arena a = { 0 };
	struct err e = { 0 };

	(void)state;
	for (int side = 0; side < 2; side++) {
		const char *path = file_of(side ? "up" : "down");
		struct recorder *r = recorder_open(path, &mon, NULL, 1700000000, 500, &e);

		assert_non_null(r);
		for (int k = 0; k < ROWS; k++) {
			double c = 40 + (side ? 0.05 * k : 30 - 0.05 * k) + side;

			assert_int_equal(recorder_row(r, k * 500, &c), 0);
		}
		assert_int_equal(recorder_close(r, NULL), 0);
	}
	assert_int_equal(contrast_read(&a, file_of("up"), file_of("down"), &v, &e), 0);
	assert_int_equal(found(&v), 0);
	assert_false(v.a.rec.end.whole);
	arena_free(&a);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/gputune-contrast-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = { "x", "y", "up", "down" };

		snprintf(command, sizeof(command), "%s/%s", folder, names[i]);
		unlink(command);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_often), cmocka_unit_test(test_every_second),
		cmocka_unit_test(test_rates),	  cmocka_unit_test(test_like),
		cmocka_unit_test(test_unlike),	  cmocka_unit_test(test_drift),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
