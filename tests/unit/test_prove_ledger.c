/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts that are kept: written and read back, expired, damaged, and never lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "machine/write/write.h"
#include "measure/prove/ledger.h"

/* A captured machine without anything, that takes writes. */
struct lab {
	struct box box;
	struct host *h;
	struct arena a;
	struct ledger_here here;
};

static void lab_open(struct lab *l)
{
	char capture[128], overlay[128];
	struct err e = { 0 };

	memset(l, 0, sizeof(*l));
	box_make(&l->box);
	box_file(&l->box, "c/meta.json", BOX_META("absent"));
	box_file(&l->box, "c/root/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
	box_folder(&l->box, "c/root/var/lib");
	l->h = host_open_overlay(box_path(&l->box, "c", capture, sizeof(capture)),
				 box_path(&l->box, "o", overlay, sizeof(overlay)), &e);
	if (!l->h)
		fail_msg("%s", e.text);
}

static void lab_close(struct lab *l)
{
	host_close(l->h);
	box_remove(&l->box);
	arena_free(&l->a);
}

static struct machine *a_machine(struct arena *a, const char *kernel)
{
	struct machine *m = ARENA_NEW(a, struct machine);

	m->nodename = (struct fact_str){ { .seen = SEEN_OK }, "spark-1" };
	m->kernel.release = (struct fact_str){ { .seen = SEEN_OK }, kernel };
	m->cpu.model = (struct fact_str){ { .seen = SEEN_OK }, "A CPU" };
	m->gpu.driver = (struct fact_str){ { .seen = SEEN_OK }, "580.95" };
	return m;
}

static struct ledger_row a_row(const struct ledger_here *here)
{
	return (struct ledger_row){ .setting = "disk.read-ahead",
				    .target = "nvme0n1",
				    .before = "128",
				    .after = "4096",
				    .bench = "disk/sequential",
				    .figure = "rate",
				    .unit = "GB/s",
				    .verdict = RULING_HELPS,
				    .ratio = 1.031,
				    .low = 1.024,
				    .high = 1.039,
				    .min_effect = 0.01,
				    .pairs = 12,
				    .seed = "fedcba9876543210",
				    .time_s = 1763700000,
				    .where = *here,
				    .version = "0.1.0" };
}

static void add(struct host *h, const struct ledger_row *row)
{
	struct err e = { 0 };

	if (ledger_add(h, NULL, row, &e))
		fail_msg("%s", e.text);
}

static const char *said(struct arena *a, struct host *h, const struct machine *m,
			const char *setting, const char *target, enum ledger_valid valid)
{
	struct ledger_answer answer;
	struct ledger l;

	ledger_load(a, h, m, NULL, &l);
	ledger_find(a, &l, setting, target, &answer);
	assert_int_equal(answer.valid, valid);
	return ledger_text(a, &answer);
}

static void test_round_trip(void **state)
{
	struct lab lab;
	const struct machine *m;
	struct ledger_here here;
	struct ledger_row row, *back;
	struct ledger l;

	(void)state;
	lab_open(&lab);
	m = a_machine(&lab.a, "6.17.0");
	ledger_load(&lab.a, lab.h, m, NULL, &l);
	assert_true(l.n == 0 && l.state == 0 && l.n_bad == 0);
	ledger_here(&lab.a, lab.h, m, &here);
	row = a_row(&here);
	add(lab.h, &row);
	row.verdict = RULING_UNDECIDED;
	row.low = 0;
	row.high = (double)INFINITY;
	row.bench = row.before = row.unit = NULL;
	row.command = "./serve --n 1 \"two words\"";
	row.kept = true;
	add(lab.h, &row);
	ledger_load(&lab.a, lab.h, m, NULL, &l);
	assert_true(l.n == 2 && l.n_bad == 0);
	back = &l.rows[0];
	assert_string_equal(back->setting, "disk.read-ahead");
	assert_string_equal(back->before, "128");
	assert_string_equal(back->bench, "disk/sequential");
	assert_null(back->command);
	assert_true(back->pairs == 12);
	assert_string_equal(back->seed, "fedcba9876543210");
	assert_true(fabs(back->low - 1.024) < 1e-15 && back->time_s == 1763700000);
	assert_int_equal(back->verdict, RULING_HELPS);
	assert_false(back->kept);
	back = &l.rows[1];
	assert_null(back->bench);
	assert_null(back->before);
	assert_string_equal(back->command, row.command);
	assert_true(back->kept && back->low <= 0 && isinf(back->high));
	lab_close(&lab);
}

static void test_texts(void **state)
{
	struct lab lab;
	const struct machine *m;
	struct ledger_here here;
	struct ledger_row row;

	(void)state;
	lab_open(&lab);
	m = a_machine(&lab.a, "6.17.0");
	assert_string_equal(said(&lab.a, lab.h, m, "disk.read-ahead", NULL, LEDGER_NONE),
			    "unmeasured");
	ledger_here(&lab.a, lab.h, m, &here);
	row = a_row(&here);
	add(lab.h, &row);
	assert_string_equal(said(&lab.a, lab.h, m, "disk.read-ahead", "nvme0n1", LEDGER_VALID),
			    "+3.1 % [2.4, 3.9] on disk/sequential, kernel 6.17.0, driver 580.95");
	/* Another target, another setting: nothing was said of them. */
	said(&lab.a, lab.h, m, "disk.read-ahead", "nvme1n1", LEDGER_NONE);
	said(&lab.a, lab.h, m, "disk.scheduler", NULL, LEDGER_NONE);
	row.verdict = RULING_NO_DIFFERENCE;
	row.ratio = 1.001;
	row.low = 0.995;
	row.high = 1.008;
	row.time_s++;
	row.target = "";
	add(lab.h, &row);
	/* Newer, and of all targets. */
	assert_string_equal(said(&lab.a, lab.h, m, "disk.read-ahead", "nvme1n1", LEDGER_VALID),
			    "no difference (less than 0.8 %) on disk/sequential, kernel 6.17.0, "
			    "driver 580.95");
	lab_close(&lab);
}

static void test_expiry(void **state)
{
	struct lab lab;
	const struct machine *old;
	struct machine *m;
	struct ledger_here here;
	struct ledger_row row;

	(void)state;
	lab_open(&lab);
	old = a_machine(&lab.a, "6.14.0");
	m = a_machine(&lab.a, "6.17.0");
	ledger_here(&lab.a, lab.h, old, &here);
	row = a_row(&here);
	add(lab.h, &row);
	m->gpu.driver.v = "590.1";
	assert_string_equal(said(&lab.a, lab.h, m, "disk.read-ahead", NULL, LEDGER_EXPIRED),
			    "+3.1 % [2.4, 3.9] on disk/sequential, kernel 6.14.0, driver 580.95; "
			    "expired: kernel 6.14.0 became 6.17.0, driver 580.95 became 590.1");
	m->gpu.driver.v = "580.95";
	m->gpu.driver.f.seen = SEEN_ABSENT;
	said(&lab.a, lab.h, m, "disk.read-ahead", NULL, LEDGER_EXPIRED);
	m->gpu.driver.f.seen = SEEN_OK;
	/* What is valid goes before what is newer, what is decided before what is not. */
	ledger_here(&lab.a, lab.h, m, &row.where);
	row.time_s -= 1000;
	row.ratio = 0.96;
	row.low = 0.95;
	row.high = 0.97;
	row.verdict = RULING_HURTS;
	add(lab.h, &row);
	assert_string_equal(said(&lab.a, lab.h, m, "disk.read-ahead", NULL, LEDGER_VALID),
			    "-4.0 % [-5.0, -3.0] on disk/sequential, kernel 6.17.0, driver 580.95");
	row.time_s += 5000;
	row.verdict = RULING_UNDECIDED;
	add(lab.h, &row);
	assert_true(strstr(said(&lab.a, lab.h, m, "disk.read-ahead", NULL, LEDGER_VALID),
			   "-4.0 % [") != NULL);
	/* Another machine's verdicts are not ours. */
	m->cpu.model.v = "Another CPU";
	said(&lab.a, lab.h, m, "disk.read-ahead", NULL, LEDGER_NONE);
	lab_close(&lab);
}

/* Whatever stands in the file: what is sound is found, the rest named, nothing rewritten. */
/* What was found of several as one is said of each of them, and never as if it were of it alone. */
static void test_joint(void **state)
{
	static const struct {
		const char *setting, *text;
	} rows[] = { { "a.b", "combined with c.d+e.f: +3.1 %" },
		     { "c.d", "combined with a.b+e.f: +3.1 %" },
		     { "e.f", "combined with a.b+c.d: +3.1 %" },
		     { "a.b+c.d+e.f", "+3.1 %" } };
	struct lab lab;
	const struct machine *m;
	struct ledger_here here;
	struct ledger_row row;
	const char *text;

	(void)state;
	lab_open(&lab);
	m = a_machine(&lab.a, "6.17.0");
	ledger_here(&lab.a, lab.h, m, &here);
	row = a_row(&here);
	row.setting = "a.b+c.d+e.f";
	row.target = "";
	row.before = row.after = NULL;
	add(lab.h, &row);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		text = said(&lab.a, lab.h, m, rows[i].setting, "nvme0n1", LEDGER_VALID);
		assert_int_equal(strncmp(text, rows[i].text, strlen(rows[i].text)), 0);
	}
	said(&lab.a, lab.h, m, "a", NULL, LEDGER_NONE);
	said(&lab.a, lab.h, m, "d", NULL, LEDGER_NONE);
	/* One of its own that decides nothing says less; one that does says more, however old. */
	row.setting = "c.d";
	row.time_s -= 10;
	row.verdict = RULING_UNDECIDED;
	add(lab.h, &row);
	text = said(&lab.a, lab.h, m, "c.d", NULL, LEDGER_VALID);
	assert_non_null(strstr(text, "combined with"));
	row.verdict = RULING_NO_DIFFERENCE;
	row.ratio = 1;
	row.low = 0;
	row.high = (double)INFINITY;
	add(lab.h, &row);
	text = said(&lab.a, lab.h, m, "c.d", NULL, LEDGER_VALID);
	assert_int_equal(strncmp(text, "no difference on ", 17), 0);
	lab_close(&lab);
}

static void test_damage(void **state)
{
	static const char *const lines[] = { "rubbish", "{}", "[1]",
					     "{\"schema\":\"gputune.plan/1\"}", "\xff\xfe" };
	struct lab lab;
	const struct machine *m;
	struct ledger_here here;
	struct ledger_row row;
	struct ledger l;

	(void)state;
	lab_open(&lab);
	m = a_machine(&lab.a, "6.17.0");
	ledger_here(&lab.a, lab.h, m, &here);
	row = a_row(&here);
	add(lab.h, &row);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		host_append(lab.h, LEDGER_FILE, lines[i], strlen(lines[i]));
		host_append(lab.h, LEDGER_FILE, "\n", 1);
	}
	host_append(lab.h, LEDGER_FILE, "{\"schema\":\"gputune.led", 22);
	ledger_load(&lab.a, lab.h, m, NULL, &l);
	assert_true(l.n == 1 && l.n_bad == 6);
	assert_int_equal(l.bad[0].line, 2);
	assert_string_equal(l.bad[5].why, "the ledger was truncated");
	/* The next row is not glued to what was cut short. */
	add(lab.h, &row);
	ledger_load(&lab.a, lab.h, m, NULL, &l);
	assert_true(l.n == 2 && l.n_bad == 6);
	lab_close(&lab);
}

/* A row with one thing wrong is refused both ways. */
static void refused(struct ledger_row row)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	json_t *j = result_shape_json(&ledger_result, &row, 0, 0);
	char *text = json_dumps(j, JSON_COMPACT);

	/* It is refused before the machine is looked at. */
	assert_int_equal(ledger_add(NULL, NULL, &row, &e), -EINVAL);
	assert_true(*e.text != 0);
	if (text)
		assert_int_equal(ledger_row_parse(&a, text, strlen(text), &row, &e), -EINVAL);
	free(text);
	json_decref(j);
	arena_free(&a);
}

static void test_refused(void **state)
{
	static char longer[LEDGER_TEXT_MAX + 2];
	const struct ledger_here here = { "m", "n", "k", "", "", "" };
	struct ledger_row good = a_row(&here), row;

	(void)state;
	memset(longer, 'x', LEDGER_TEXT_MAX + 1);
	row = good, row.verdict = RULING_GO_ON, refused(row);
	row = good, row.ratio = -1, refused(row);
	row = good, row.ratio = 1e9, refused(row);
	row = good, row.low = 1.1, refused(row);
	row = good, row.high = 0.9, refused(row);
	row = good, row.setting = "a b", refused(row);
	row = good, row.setting = "", refused(row);
	row = good, row.figure = longer, refused(row);
	row = good, row.command = "x", refused(row);
	row = good, row.bench = NULL, refused(row);
	row = good, row.pairs = 1 << 30, refused(row);
	row = good, row.where.machine = "", refused(row);
	row = good, row.time_s = 1LL << 60, refused(row);
}

/* Every single byte of a line changed: read or refused, never worse; and what is read is sound. */
static void test_bytes(void **state)
{
	const struct ledger_here here = { "m", "n", "k", "d", "f", "h" };
	struct ledger_row row = a_row(&here), out;
	json_t *j = result_shape_json(&ledger_result, &row, 0, 0);
	char *text = json_dumps(j, JSON_COMPACT);
	size_t n = strlen(text), taken = 0;

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (int byte = 0; byte < 256; byte += 7) {
			struct arena a = { 0 };
			struct err e = { 0 };
			char was = text[i];

			text[i] = (char)byte;
			if (ledger_row_parse(&a, text, n, &out, &e) == 0) {
				taken++;
				assert_int_equal(ledger_row_check(&out, &e), 0);
			}
			text[i] = was;
			arena_free(&a);
		}
	assert_true(taken > 0);
	free(text);
	json_decref(j);
}

static void test_unreadable(void **state)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct ledger_answer answer;
	struct ledger_row row;
	struct ledger l;
	struct host *h;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	ledger_here(&lab.a, lab.h, a_machine(&lab.a, "6.17.0"), &lab.here);
	row = a_row(&lab.here);
	/* A file where the folder should be: said, not overwritten. */
	box_file(&lab.box, "o/root" LEDGER_DIR, "mine");
	assert_true(ledger_add(lab.h, NULL, &row, &e) < 0);
	assert_true(strstr(e.text, LEDGER_DIR) != NULL);
	lab_close(&lab);
	/* Nothing is said of what could not be read. */
	l = (struct ledger){ .state = -EACCES };
	ledger_find(&a, &l, "disk.read-ahead", NULL, &answer);
	assert_int_equal(answer.valid, LEDGER_UNSEEN);
	assert_string_equal(ledger_text(&a, &answer), "unknown: the ledger is unreadable");
	assert_null(answer.row);
	lab_open(&lab);
	ledger_here(&lab.a, lab.h, a_machine(&lab.a, "6.17.0"), &lab.here);
	row = a_row(&lab.here);
	h = host_open_readonly(lab.h);
	assert_int_equal(ledger_add(h, NULL, &row, &e), -EROFS);
	lab.h = h;
	lab_close(&lab);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_texts),
		cmocka_unit_test(test_expiry),	   cmocka_unit_test(test_damage),
		cmocka_unit_test(test_joint),	   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bytes),	   cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
