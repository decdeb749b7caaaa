/* SPDX-License-Identifier: Apache-2.0 */
/* Another user of a GPU that is measured, through the real loader and a stub of NVML: one who
 * leaves costs one window, one who stays ends the run with everything undone, and the run goes on
 * later. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "lab.h"
#include "stub_file.h"

#include "measure/prove/engine.h"

#define SWAP "vm.swappiness"
#define TAPE "/var/lib/gputune/tune.jsonl"
#define COMPUTE "nvmlDeviceGetComputeRunningProcesses"
#define GRAPHICS "nvmlDeviceGetGraphicsRunningProcesses"

/* How long it waits, s, and for how much of that the other one stays. */
enum { PATIENCE = 600, FOREVER = 1 << 20 };

static char description[] = "/tmp/gputune-stub-XXXXXX";

struct scene {
	struct lab lab;
	struct host *eyes, *gpus;
	struct proof proof;
	struct prove_engine engine;
	struct alone *alone;
	double time, left_at, waited;
	size_t windows, comes_at; /* 0: never */
	double stays;
	bool there, dies; /* the process ends while it waits */
	size_t said;
};

/* A GPU on which this process computes, and in list the one that started it. */
static void describe(const char *list, const char *more)
{
	FILE *f = fopen(description, "w");
	bool same = list && strcmp(list, COMPUTE) == 0;

	assert_non_null(f);
	fprintf(f,
		"- nvmlDeviceGetCount=1\nstub anew=1\n0 " COMPUTE "=%d\n0 " COMPUTE "(0).pid=%d\n",
		1 + same, getpid());
	if (list)
		fprintf(f, "0 %s=%d\n0 %s(%d).pid=%d\n", list, 1 + same, list, same, getppid());
	fprintf(f, "%s", more);
	fclose(f);
}

static int measure(struct window *window, struct window_reading *out, struct err *e)
{
	struct scene *s = window->state;
	struct knob k = { KNOB_SYSCTL, SWAP, "" };
	struct arena a = { 0 };
	const char *v = "";

	s->time += 1;
	if (++s->windows == s->comes_at) {
		describe(COMPUTE, "");
		s->there = true;
		s->left_at = s->time + s->stays;
	}
	out->samples = 1;
	out->value[0] = 100 + (double)(s->windows * 7 % 5) / 100;
	if (knob_get(s->eyes, &a, &k, &v, e) == 0 && strcmp(v, "10") == 0)
		out->value[0] *= 1.05;
	/* It fails for want of memory, say; that is not the setting's doing. */
	if (s->there)
		out->value[0] = 1;
	arena_free(&a);
	return s->there ? err_set(e, -EBADMSG, "out of memory") : 0;
}

static double now(void *ctx)
{
	return ((struct scene *)ctx)->time;
}

static void wait_for(void *ctx, double seconds, const atomic_bool *stop)
{
	struct scene *s = ctx;

	(void)stop;
	s->time += seconds;
	if (!s->there)
		return;
	/* Nothing is changed meanwhile. */
	assert_true(lab_is_original(&s->lab));
	s->waited += seconds;
	if (s->dies)
		raise(SIGKILL);
	if (s->time < s->left_at)
		return;
	describe(NULL, "");
	s->there = false;
}

static void shared(void *ctx, const char *why, double left_s)
{
	struct scene *s = ctx;

	s->said++;
	assert_non_null(strstr(why, "another user of the GPU: "));
	assert_non_null(strstr(why, "on GPU 0"));
	assert_true(left_s > 0 && left_s < PATIENCE);
}

static void scene_open(struct scene *s)
{
	describe(NULL, "");
	*s = (struct scene){ 0 };
	lab_open(&s->lab);
	assert_int_equal(host_own_dir(s->lab.h, "/var/lib/gputune"), 0);
	s->eyes = lab_host(&s->lab);
	s->gpus = host_open_live();
}

static void scene_close(struct scene *s)
{
	host_close(s->eyes);
	host_close(s->gpus);
	lab_close(&s->lab);
}

/* One process's run; goes on where an earlier one's file ends. names: as alone_begin. */
static void one_run(struct scene *s, const char *names)
{
	static const struct txn_who who = { .user = "tester", .version = "1" };
	struct engine_clock clock, real = { now, wait_for, s };
	bool on[LAB_CHANGES] = { true };
	const char *head = NULL;
	struct err e = { 0 };

	s->proof = (struct proof){
		.what = "test",
		.window = { .kind = "test",
			    .name = "formula",
			    .setup = "",
			    .of = "",
			    .figures = { { "rate", "rate", "per_s", "1/s", BENCH_HIGHER } },
			    .n_figures = 1,
			    .measure = measure,
			    .state = s },
		.min_effect_asked = 0.01,
		.seed = 3,
		.settle_s = 1,
		.budget_s = 7200
	};
	s->engine = (struct prove_engine){ .a = &s->lab.a,
					   .p = &s->proof,
					   .clock = &clock,
					   .plan = &s->lab.plan,
					   .alone_s = PATIENCE,
					   .shared = shared,
					   .ctx = s };
	s->lab.plan = (struct plan){ 0 };
	lab_change(&s->lab, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
	s->engine.alone = alone_begin(&s->lab.a, s->gpus, names);
	assert_non_null(s->engine.alone);
	assert_int_equal(tape_open(&s->lab.a, s->lab.h, TAPE, &s->engine.tape, &head, &e), 0);
	if (!head)
		assert_int_equal(tape_begin(s->engine.tape, "{\"head\":1}", &e), 0);
	s->windows = tape_windows(s->engine.tape);
	tape_clock(s->engine.tape, &real, &clock);
	if (switch_begin(s->lab.h, &s->lab.a, &who, "prove test", &s->lab.plan, &s->engine.sw, &e))
		fail_msg("%s", e.text);
	engine_prove(&s->engine, on);
	switch_end(s->engine.sw, &e);
	assert_null(s->proof.trouble);
	assert_true(lab_is_original(&s->lab));
}

static size_t shared_windows(const struct proof *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_windows; i++)
		n += p->windows[i].fault && strstr(p->windows[i].fault, "another user of the GPU");
	return n;
}

static void helps(struct scene *s, size_t lost)
{
	if (s->proof.verdict != RULING_HELPS)
		fail_msg("%s: %s", ruling_name(s->proof.verdict), s->proof.why);
	assert_float_equal(s->proof.compared.ruling.ratio, 1.05, 0.002);
	assert_int_equal(shared_windows(&s->proof), lost);
	/* How long a pair takes is not counted from one that waited. */
	assert_true(s->engine.pair_s < 6);
}

static void test_leaves(void **state)
{
	(void)state;
	for (size_t at = 1; at < 50; at += 6) {
		struct scene s;

		scene_open(&s);
		s.comes_at = at;
		s.stays = 90;
		one_run(&s, NULL);
		helps(&s, 1);
		assert_int_equal(s.said, 1);
		assert_true(s.waited >= 88 && s.waited < 92);
		scene_close(&s);
	}
}

/* The process ends in the middle of the wait, or when the wait is over: the next one goes on. */
static void test_stays(void **state)
{
	(void)state;
	for (size_t at = 3; at < 50; at += 15) {
		struct scene s;

		scene_open(&s);
		s.comes_at = at;
		s.stays = FOREVER;
		one_run(&s, NULL);
		assert_true(s.proof.stopped);
		assert_int_equal(s.proof.verdict, RULING_UNDECIDED);
		assert_non_null(strstr(s.proof.why, "another user of the GPU stayed for"));
		assert_true(s.waited <= PATIENCE && s.waited > PATIENCE - 3);
		/* Still there: it does not count as known, unless it was from the start. */
		s.comes_at = 0;
		s.waited = 0;
		lab_next(&s.lab);
		one_run(&s, "Xorg");
		assert_true(s.proof.stopped && s.waited > PATIENCE - 3);
		describe(NULL, "");
		s.there = false;
		lab_next(&s.lab);
		one_run(&s, "Xorg");
		/* The first window of the second run taught it which GPU is in use. */
		assert_in_range(shared_windows(&s.proof), 1, 3);
		helps(&s, shared_windows(&s.proof));
		scene_close(&s);
	}
}

static void test_killed(void **state)
{
	(void)state;
	for (size_t at = 2; at < 50; at += 15) {
		struct scene s;
		int status;
		pid_t pid;

		scene_open(&s);
		s.comes_at = at;
		s.stays = FOREVER;
		s.dies = true;
		pid = fork();
		if (pid == 0) {
			describe(NULL, "");
			one_run(&s, NULL);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		lab_next(&s.lab);
		/* Before anybody has repaired anything. */
		assert_true(lab_is_original(&s.lab));
		describe(NULL, "");
		s.comes_at = 0;
		one_run(&s, "");
		helps(&s, 1);
		scene_close(&s);
	}
}

/* Who counts as another user, and who does not. */
static void test_who(void **state)
{
	static const struct {
		const char *first, *then, *more, *names;
		bool other;
	} cases[] = {
		{ NULL, NULL, "", NULL, false },
		{ NULL, COMPUTE, "", NULL, true },
		{ NULL, GRAPHICS, "", NULL, true },
		/* There before. */
		{ COMPUTE, COMPUTE, "", NULL, false },
		{ GRAPHICS, GRAPHICS, "", NULL, false },
		/* A run that goes on: there again, and by which name. */
		{ COMPUTE, COMPUTE, "", "", true },
		{ COMPUTE, COMPUTE, "", "no-such", true },
		{ COMPUTE, COMPUTE, "", "its own", false },
		/* Instances of a GPU; one on which nothing of what is measured runs; a process that
		 * is seen by the driver alone. */
		{ NULL, COMPUTE,
		  "0 nvmlDeviceGetMigMode.current=1\n0 nvmlDeviceGetMigMode.pending=1\n", NULL,
		  false },
		{ NULL, COMPUTE, "0 " COMPUTE "(0).pid=4194000\n", NULL, false },
		{ NULL, COMPUTE, "0 " COMPUTE "(1).pid=4194000\n", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host *h;
		struct arena a = { 0 };
		struct alone *w;
		const char *who, *names = cases[i].names;
		char path[64], own[64] = "";

		describe(cases[i].first, cases[i].more);
		h = host_open_live();
		snprintf(path, sizeof(path), "/proc/%d/comm", getppid());
		assert_int_equal(host_read_line(h, path, own, sizeof(own)), 0);
		w = alone_begin(&a, h, names && strcmp(names, "its own") == 0 ? own : names);
		describe(cases[i].then, cases[i].more);
		alone_watch(w);
		who = alone_end(w);
		if (!who == cases[i].other)
			fail_msg("case %zu: %s", i, who ? who : "nobody");
		assert_true(!who ||
			    strstr(who, arena_printf(&a, "(process %d) on GPU 0", getppid())));
		host_close(h);
		arena_free(&a);
	}
	assert_null(alone_look(NULL));
}

/* One who was there for some of the run is seen after it. */
static void test_beside(void **state)
{
	struct host *h = host_open_live();
	struct arena a = { 0 };
	struct alone *w;

	(void)state;
	describe(NULL, "");
	w = alone_begin(&a, h, NULL);
	alone_watch(w);
	describe(COMPUTE, "");
	usleep(900000);
	describe(NULL, "");
	assert_non_null(alone_end(w));
	alone_watch(w);
	assert_null(alone_end(w));
	host_close(h);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaves), cmocka_unit_test(test_stays),
		cmocka_unit_test(test_killed), cmocka_unit_test(test_who),
		cmocka_unit_test(test_beside),
	};
	int r;

	if (stub_is_real() && !getenv("LD_LIBRARY_PATH"))
		return 77;
	assert_true(stub_file_make(description));
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(description);
	return r;
}
