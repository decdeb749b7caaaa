/* SPDX-License-Identifier: Apache-2.0 */
/* Planted settings through the whole engine: what helps is kept and nothing else, other values and
 * profiles take its place where they are better, and a run that is cut off goes on where it was. */
#include <math.h>

#include "../sim/planted.h"
#include "lab.h"
#include "measure/prove/seen.h"
#include "measure/prove/tape.h"

#define TAPE "/var/lib/gputune/tune.jsonl"

/* The figure of tests/sim/tune_figure.c, with fewer runs: nightly has 50. */
static void test_kept(void **state)
{
	static const enum scene_kind scenes[] = { SCENE_QUIET, SCENE_DRIFT, SCENE_SKEWED };
	size_t good = 0, wrong = 0, runs = 9;

	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		struct planted x;

		planted_open(&x, scenes[seed % 3], 0.01, seed);
		planted_run(&x, NULL);
		good += x.n_good;
		wrong += x.n_bad + x.n_useless;
		planted_close(&x);
	}
	assert_true(good >= 9 * runs);
	assert_int_equal(wrong, 0);
}

/* The last change is another value of the first setting, the one before it stands for a profile. */
static void rivals_of(struct planted *x, double other, double profile)
{
	struct rival *r = arena_array(&x->a, 2, sizeof(*r));
	bool *spare = arena_array(&x->a, PLANTED, sizeof(*spare)),
	     *value = arena_array(&x->a, PLANTED, sizeof(*value)),
	     *whole = arena_array(&x->a, PLANTED, sizeof(*whole));

	spare[PLANTED - 1] = value[PLANTED - 1] = true;
	spare[PLANTED - 2] = whole[PLANTED - 2] = true;
	x->changes[PLANTED - 1].s = x->changes[0].s;
	x->effect[PLANTED - 1] = other;
	x->effect[PLANTED - 2] = profile;
	r[0] = (struct rival){ .name = "another value", .on = value, .beside = true };
	r[1] = (struct rival){ .name = "a profile", .on = whole };
	x->engine.spare = spare;
	x->engine.rivals = r;
	x->engine.n_rivals = 2;
}

static void test_rivals(void **state)
{
	static const struct {
		double other, profile;
		bool first, value, whole;
	} cases[] = {
		{ 0, 0, true, false, false },
		{ 0.08, 0, false, true, false },
		{ 0, 0.6, false, false, true },
		{ 0.08, 0.3, false, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct planted x;

		planted_open(&x, SCENE_QUIET, 0.004, 7 + i);
		rivals_of(&x, cases[i].other, cases[i].profile);
		planted_run(&x, NULL);
		assert_int_equal(x.proof.verdict, RULING_HELPS);
		assert_int_equal(x.kept[0], cases[i].first);
		assert_int_equal(x.kept[PLANTED - 1], cases[i].value);
		assert_int_equal(x.kept[PLANTED - 2], cases[i].whole);
		assert_int_equal(x.kept[1], !cases[i].whole);
		/* Before and after is of what is kept. */
		assert_true(x.proof.compared.ruling.low > (cases[i].whole ? 1.7 : 1.3));
		planted_close(&x);
	}
}

/* --- cut off and gone on ---------------------------------------------------------------------- */

struct cut_run {
	struct lab *lab;
	size_t stop_at; /* windows; 0: never */
	atomic_bool stop;
	struct planted x;
};

static int cut_measure(struct window *window, struct window_reading *out, struct err *e)
{
	struct cut_run *c = window->state;
	struct window own = *window;

	own.state = &c->x;
	if (c->stop_at && c->x.windows + 1 == c->stop_at) {
		atomic_store(&c->stop, true);
		return -EINTR;
	}
	return planted_measure(&own, out, e);
}

/* One run over what earlier ones left; the noise of a window is that of its number. */
static void one_run(struct cut_run *c)
{
	struct engine_clock clock, real = { planted_now, planted_wait, &c->x };
	const char *head = NULL;
	struct tape *tape = NULL;
	struct err e = { 0 };

	planted_open(&c->x, SCENE_QUIET, 0.01, 3);
	assert_int_equal(tape_open(&c->lab->a, c->lab->h, TAPE, &tape, &head, &e), 0);
	if (!head)
		assert_int_equal(tape_begin(tape, "{\"head\":1}", &e), 0);
	for (size_t i = 0; i < tape_windows(tape); i++)
		(void)scene_window(&c->x.scene, false);
	c->x.windows = tape_windows(tape);
	tape_clock(tape, &real, &clock);
	c->x.proof.window.measure = cut_measure;
	c->x.proof.window.state = c;
	c->x.engine.tape = tape;
	c->x.engine.stop = &c->stop;
	planted_run(&c->x, &clock);
}

static void test_resume(void **state)
{
	bool want[PLANTED];
	double ratio, took;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	assert_int_equal(host_own_dir(lab.h, "/var/lib/gputune"), 0);
	{
		struct cut_run whole = { .lab = &lab };

		one_run(&whole);
		assert_int_equal(whole.x.proof.verdict, RULING_HELPS);
		memcpy(want, whole.x.kept, sizeof(want));
		ratio = whole.x.proof.compared.ruling.ratio;
		took = whole.x.proof.took_s;
		planted_close(&whole.x);
		assert_int_equal(host_remove(lab.h, TAPE), 0);
	}
	for (size_t at = 5; at < 400; at += 37) {
		struct cut_run c = { .lab = &lab, .stop_at = at };

		one_run(&c);
		if (!c.x.proof.stopped) {
			assert_memory_equal(c.x.kept, want, sizeof(want));
			assert_float_equal(c.x.proof.compared.ruling.ratio, ratio, 1e-12);
			assert_float_equal(c.x.proof.took_s, took, 1e-6);
			planted_close(&c.x);
			lab_close(&lab);
			return;
		}
		assert_int_equal(c.x.proof.verdict, RULING_UNDECIDED);
		planted_close(&c.x);
		/* A process that was killed while it wrote. */
		if (at % 2)
			assert_int_equal(host_append(lab.h, TAPE, "{\"part\":\"scr", 12), 0);
	}
	fail_msg("it never came to an end");
}

/* A file of another run, or of nobody's: nothing of it is believed. */
static void test_bad_tape(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"{\"head\":1}\n{\"part\":\"pairs\"}\n",
		"{\"head\":1}\n\001\002\n",
		"x",
		("{\"head\":1}\n{\"part\":\"warm-up\",\"pair\":0,\"state\":\"on\",\"b\":false,"
		 "\"at_s\":0,\"end_s\":1,\"samples\":1,\"values\":[5],\"void\":null,\"code\":0}\n"),
	};
	struct lab lab;

	(void)state;
	lab_open(&lab);
	assert_int_equal(host_own_dir(lab.h, "/var/lib/gputune"), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct proof_window w = { .state = "off", .n = 1 };
		struct engine_clock clock;
		const char *head = NULL;
		struct tape *tape;
		struct err e = { 0 };
		int code;

		assert_int_equal(host_put(lab.h, TAPE, texts[i], strlen(texts[i]), 0600), 0);
		assert_int_equal(tape_open(&lab.a, lab.h, TAPE, &tape, &head, &e), 0);
		tape_clock(tape, &engine_real, &clock);
		assert_false(tape_play(tape, &w, &code, &e));
	}
	lab_close(&lab);
}

/* --- what a job uses, and what can matter for it ---------------------------------------------- */

/* A bench without a row would leave its settings out of every job. */
static void test_uses(void **state)
{
	(void)state;
	SETTING_FOR_EACH (s) {
		for (const char *at = s->shown_by ? s->shown_by : ""; *at;
		     at += strcspn(at, " "), at += strspn(at, " ")) {
			char word[64];

			snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, " "), at);
			if (!setting_uses_of("none.none", word))
				fail_msg("%s: %s has no row in setting_uses.rows", s->id, word);
		}
	}
	assert_int_equal(setting_uses_of("disk.scheduler", "disk/read-rand:4KiB:qd32"),
			 USE_BIT(USE_DISK));
	assert_int_equal(setting_uses_of("gpu.compute-mode", NULL), USE_BIT(USE_GPU));
	assert_int_equal(setting_uses_of("firmware.bios", NULL), 0);
	assert_int_equal(setting_uses_of("", ""), 0);
	/* A bit each in job_seen.libraries. */
	assert_true(n_job_vars < 64);
}

static void test_seen(void **state)
{
	static const struct {
		struct job_seen seen;
		unsigned uses;
	} cases[] = {
		{ { .cpus = 0.9 }, USE_BIT(USE_CPU) },
		{ { .cpus = 0.01, .disk = 2e6 }, USE_BIT(USE_DISK) },
		{ { .gpu = 0.5 }, USE_BIT(USE_GPU) | USE_BIT(USE_COPY) },
		{ { .gpu_bytes = 1e9 }, USE_BIT(USE_GPU) | USE_BIT(USE_COPY) },
		{ { .memory = 1e9, .faults = 5000, .pinned = 2e6 },
		  USE_BIT(USE_MEMORY) | USE_BIT(USE_FAULTS) | USE_BIT(USE_PINNED) },
		/* What is not known is not used. */
		{ { .cpus = NAN, .disk = NAN, .gpu = NAN, .net = -1 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job_seen s = cases[i].seen;

		job_seen_judge(&s);
		assert_int_equal(s.uses, cases[i].uses);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),   cmocka_unit_test(test_rivals),
		cmocka_unit_test(test_resume), cmocka_unit_test(test_bad_tape),
		cmocka_unit_test(test_uses),   cmocka_unit_test(test_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
