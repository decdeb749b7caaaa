/* SPDX-License-Identifier: Apache-2.0 */
/* A proof on a small machine whose workload is a formula: what helps, hurts, does nothing or breaks
 * it is found; somebody else's change and an interruption end it; and whenever truncated, the
 * next command puts back what was there. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/stat.h"
#include "lab.h"
#include "measure/prove/engine.h"
#include "measure/prove/window.h"

#define SWAP "vm.swappiness"
#define SWAP_FILE "/proc/sys/vm/swappiness"
#define DEPTH LAB_QUEUE "nr_requests"
#define SCHEDULER LAB_QUEUE "scheduler"
#define TAPE "/var/lib/gputune/tune.jsonl"
#define RMEM "net.ipv4.tcp_rmem"

/* A workload that looks at the machine as any program would, by a door of its own. */
struct world {
	struct lab lab;
	struct host *eyes;
	struct stat_random noise;
	double sigma;
	double swap, depth, scheduler,
		rmem; /* effects, as a share, of the values that the plan sets */
	double p99_of_swap;
	bool breaks;				       /* with swap */
	size_t foreign_at, stop_at, fail_at, flake_at; /* windows until it happens; 0: never */
	size_t windows;
	double time;
	atomic_bool stop;
	struct proof proof;
	struct prove_engine engine;
};

static bool is_set(struct world *w, enum knob_kind kind, const char *name, const char *value)
{
	struct knob k = { kind, name, "" };
	struct arena a = { 0 };
	struct err e = { 0 };
	const char *now = "";
	bool same = knob_get(w->eyes, &a, &k, &now, &e) == 0 && knob_same(&k, now, value);

	arena_free(&a);
	return same;
}

static double noisy(struct world *w, double v)
{
	return v * exp(w->sigma * stat_random_normal(&w->noise));
}

static int measure(struct window *window, struct window_reading *out, struct err *e)
{
	struct world *w = window->state;
	bool swap = is_set(w, KNOB_SYSCTL, SWAP, "10");
	double rate = 100;

	w->windows++;
	if (w->windows == w->foreign_at)
		lab_by_hand(&w->lab, SWAP_FILE, "77");
	if (w->windows == w->stop_at)
		atomic_store(&w->stop, true);
	if (w->windows == w->fail_at)
		return err_set(e, -EIO, "a sensor fell off");
	if (w->windows == w->flake_at)
		return err_set(e, -EBADMSG, "the cable fell out for a moment");
	if (swap && w->breaks)
		return err_set(e, -EBADMSG, "the result is wrong");
	rate *= swap ? 1 + w->swap : 1;
	rate *= is_set(w, KNOB_SYSFS, DEPTH, "512") ? 1 + w->depth : 1;
	rate *= is_set(w, KNOB_SYSFS, SCHEDULER, "none") ? 1 + w->scheduler : 1;
	rate *= is_set(w, KNOB_SYSCTL, RMEM, "4096 87380 16777216") ? 1 + w->rmem : 1;
	out->samples = 1;
	out->value[0] = noisy(w, rate);
	out->value[1] = noisy(w, 50 * (swap ? 1 + w->p99_of_swap : 1));
	return 0;
}

static double now(void *ctx)
{
	return ((struct world *)ctx)->time;
}

static void wait_for(void *ctx, double seconds, const atomic_bool *stop)
{
	(void)stop;
	((struct world *)ctx)->time += seconds;
}

static void open_world(struct world *w, uint64_t seed)
{
	*w = (struct world){ .sigma = 0.003, .noise = { seed } };
	lab_open(&w->lab);
	w->eyes = lab_host(&w->lab);
}

/* Fills proof and engine for the plan of the lab, and begins. */
static int try_begin(struct world *w, const struct engine_clock *clock, struct err *e)
{
	static const struct txn_who who = { .user = "tester", .version = "1" };

	w->proof = (struct proof){
		.what = "test",
		.window = { .kind = "test",
			    .name = "formula",
			    .setup = "",
			    .of = "",
			    .figures = { { "rate", "rate", "per_s", "1/s", BENCH_HIGHER },
					 { "p99", "p99", "us", "us", BENCH_LOWER } },
			    .n_figures = 2,
			    .measure = measure,
			    .state = w },
		.min_effect_asked = 0.01,
		.seed = w->noise.state + 1,
		.settle_s = 1,
		.budget_s = 3600
	};
	w->engine = (struct prove_engine){ .a = &w->lab.a,
					   .p = &w->proof,
					   .clock = clock,
					   .stop = &w->stop,
					   .plan = &w->lab.plan };
	return switch_begin(w->lab.h, &w->lab.a, &who, "prove test", &w->lab.plan, &w->engine.sw,
			    e);
}

static void begin(struct world *w, const struct engine_clock *clock)
{
	struct err e = { 0 };

	if (try_begin(w, clock, &e))
		fail_msg("%s", e.text);
}

static void end(struct world *w)
{
	struct err e = { 0 };

	switch_end(w->engine.sw, &e);
}

static void close_world(struct world *w)
{
	host_close(w->eyes);
	lab_close(&w->lab);
}

static void plan_swap(struct world *w)
{
	lab_change(&w->lab, "memory.swappiness", KNOB_SYSCTL, SWAP, "10");
}

static void prove(struct world *w)
{
	const struct engine_clock clock = { now, wait_for, w };
	bool on[LAB_CHANGES];

	memset(on, true, sizeof(on));
	begin(w, &clock);
	engine_prove(&w->engine, on);
	end(w);
}

static void verdict_of(struct world *w, enum ruling_kind want)
{
	prove(w);
	if (w->proof.verdict != want)
		fail_msg("%s: %s", ruling_name(w->proof.verdict), w->proof.why);
	assert_null(w->proof.trouble);
	assert_true(lab_is_original(&w->lab));
}

static void test_helps(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 1);
	plan_swap(&w);
	w.swap = 0.05;
	verdict_of(&w, RULING_HELPS);
	assert_true(w.proof.compared.ruling.low > 1.02 && w.proof.compared.ruling.high < 1.08);
	/* The other figure was looked at long enough. */
	assert_int_equal(w.proof.compared.n_guards, 1);
	assert_false(w.proof.compared.guards[0].guard.early);
	assert_true(w.proof.compared.pairs.n >= RULE_GUARD_PAIRS);
	close_world(&w);
}

static void test_hurts(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 2);
	plan_swap(&w);
	w.swap = -0.05;
	verdict_of(&w, RULING_HURTS);
	assert_true(w.proof.compared.ruling.high < 1);
	close_world(&w);
}

static void test_nothing(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 3);
	plan_swap(&w);
	verdict_of(&w, RULING_NO_DIFFERENCE);
	assert_true(w.proof.compared.ruling.resolution < 0.01);
	close_world(&w);
}

/* It helps the one and costs the other. */
static void test_guard(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 4);
	plan_swap(&w);
	w.swap = 0.05;
	w.p99_of_swap = 0.2;
	verdict_of(&w, RULING_UNDECIDED);
	assert_non_null(strstr(w.proof.why, "a trade"));
	assert_non_null(strstr(w.proof.why, "p99"));
	close_world(&w);
}

static void test_breaks(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 5);
	plan_swap(&w);
	w.swap = 0.5;
	w.breaks = true;
	verdict_of(&w, RULING_HURTS);
	assert_non_null(strstr(w.proof.why, "the workload fails"));
	/* Without the setting the same says nothing of it. */
	close_world(&w);
	open_world(&w, 5);
	plan_swap(&w);
	w.fail_at = 3;
	verdict_of(&w, RULING_UNDECIDED);
	close_world(&w);
}

/* What goes wrong once, whoever's window it meets, is no harm of the setting's. */
static void test_flake(void **state)
{
	size_t with = 0;

	(void)state;
	for (size_t at = 1; at < 60; at++) {
		struct world w;

		open_world(&w, 5);
		plan_swap(&w);
		w.flake_at = at;
		prove(&w);
		assert_int_not_equal(w.proof.verdict, RULING_HURTS);
		assert_int_not_equal(w.proof.verdict, RULING_HELPS);
		if (strstr(w.proof.why, "failed once with the setting, but not when repeated")) {
			with++;
			assert_int_equal(w.proof.verdict, RULING_UNDECIDED);
			assert_non_null(strstr(w.proof.why, "the cable"));
		}
		assert_true(lab_is_original(&w.lab));
		close_world(&w);
	}
	assert_true(with);
}

/* Too noisy for anything small: the machine against itself says so, and no more time is spent. */
static void test_coarse(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 6);
	plan_swap(&w);
	w.sigma = 0.4;
	w.swap = 0.05;
	verdict_of(&w, RULING_UNDECIDED);
	assert_int_equal(w.proof.same.kind, SAME_COARSE);
	assert_int_equal(w.proof.compared.pairs.n, 16);
	close_world(&w);
	/* What is large enough is seen all the same. */
	open_world(&w, 6);
	plan_swap(&w);
	w.sigma = 0.4;
	w.swap = 9;
	verdict_of(&w, RULING_HELPS);
	assert_int_equal(w.proof.same.kind, SAME_COARSE);
	close_world(&w);
}

static void test_budget(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 7);
	plan_swap(&w);
	prove(&w);
	assert_true(w.proof.took_s <= 3600);
	close_world(&w);
	open_world(&w, 7);
	plan_swap(&w);
	w.swap = 0.05;
	for (int i = 0; i < 2; i++) {
		const struct engine_clock clock = { now, wait_for, &w };
		bool on[LAB_CHANGES] = { true };

		w.time = 0;
		begin(&w, &clock);
		/* 4 windows of warm-up and 16 pairs of 2 s; the second has time for 5 pairs. */
		w.proof.budget_s = i ? 14 : 60;
		engine_prove(&w.engine, on);
		assert_true(w.proof.took_s <= w.proof.budget_s);
		assert_int_equal(w.proof.verdict, i ? RULING_UNDECIDED : RULING_HELPS);
		if (i)
			assert_non_null(strstr(w.proof.why, "--time-limit"));
		end(&w);
		lab_next(&w.lab);
		plan_swap(&w);
	}
	close_world(&w);
}

static void test_stopped(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 8);
	plan_swap(&w);
	w.swap = 0.05;
	w.stop_at = 45;
	verdict_of(&w, RULING_UNDECIDED);
	assert_true(w.proof.stopped);
	assert_non_null(strstr(w.proof.why, "interrupted"));
	close_world(&w);
}

/* Somebody sets the knob while it is measured: theirs stays, and no verdict is made of it. */
static void test_foreign(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 9);
	plan_swap(&w);
	w.foreign_at = 44;
	prove(&w);
	assert_int_equal(w.proof.verdict, RULING_UNDECIDED);
	assert_non_null(strstr(w.proof.why, "another program or user"));
	assert_null(w.proof.trouble);
	assert_non_null(strstr(w.proof.foreign, "77"));
	assert_string_equal(lab_sysctl(&w.lab, SWAP), "77");
	close_world(&w);
}

static void test_cannot_be_set(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 10);
	lab_change(&w.lab, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "bfq");
	verdict_of(&w, RULING_UNDECIDED);
	assert_non_null(strstr(w.proof.why, "cannot be changed here"));
	close_world(&w);
}

static void test_keep(void **state)
{
	const bool on[LAB_CHANGES] = { true };
	unsigned long txn = 0;
	struct err e = { 0 };
	struct world w;

	(void)state;
	open_world(&w, 11);
	plan_swap(&w);
	w.swap = 0.05;
	begin(&w, &(const struct engine_clock){ now, wait_for, &w });
	engine_prove(&w.engine, on);
	assert_int_equal(switch_keep(w.engine.sw, on, "default", &txn, &e), 0);
	end(&w);
	assert_string_equal(lab_sysctl(&w.lab, SWAP), "10");
	lab_next(&w.lab);
	assert_int_equal(lab_undo(&w.lab, (struct txn_select){ .txn = txn }), 0);
	assert_true(lab_is_original(&w.lab));
	close_world(&w);
}

/* Six settings: one helps, one hurts, one breaks nothing and does nothing; two are one group. */
static void test_many(void **state)
{
	const bool *good = NULL;
	struct world w;

	(void)state;
	open_world(&w, 12);
	plan_swap(&w);
	lab_change(&w.lab, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "none");
	lab_change(&w.lab, "disk.queue-depth", KNOB_SYSFS, DEPTH, "512");
	lab_change(&w.lab, "net.tcp-rmem", KNOB_SYSCTL, RMEM, "4096 87380 16777216");
	lab_change(&w.lab, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	lab_change(&w.lab, "gpu.clocks", KNOB_NVML, "gpu-clock-lock", "1000,1500");
	w.swap = 0.06;
	w.depth = 0.05;
	w.rmem = -0.08;
	begin(&w, &(const struct engine_clock){ now, wait_for, &w });
	engine_prove_many(&w.engine, &good);
	end(&w);
	if (w.proof.verdict != RULING_HELPS)
		fail_msg("%s: %s", ruling_name(w.proof.verdict), w.proof.why);
	assert_int_equal(w.proof.n_members, 5);
	assert_true(lab_is_original(&w.lab));
	for (size_t i = 0; i < w.proof.n_members; i++) {
		const struct proof_member *m = &w.proof.members[i];
		bool helps = strstr(m->id, "swappiness") || strstr(m->id, "queue");

		if (helps ? m->state != MEMBER_SHOWN : m->state >= MEMBER_STAYS)
			fail_msg("%s: %s", m->id,
				 m->state >= MEMBER_STAYS ? "stays" : "does not stay");
		if (strstr(m->id, "rmem"))
			assert_int_equal(m->effect.say, SCREEN_HURTS);
	}
	/* A new scheduler sets the queue's depth: they go together. */
	assert_true(good[0] && good[1] && good[2] && !good[3] && !good[4] && !good[5]);
	assert_true(w.proof.compared.ruling.low > 1.08 && w.proof.compared.ruling.high < 1.16);
	close_world(&w);
}

/* Of three values one is best, one breaks what is measured, one loses too much of the other figure.
 */
static void levels_of(struct world *w, double swap, double tolerance, size_t want,
		      enum ruling_kind verdict)
{
	static const bool masks[3][3] = { { true }, { [1] = true }, { [2] = true } };
	static const struct prove_level at[] = { { "10", masks[0] },
						 { "512", masks[1] },
						 { "none", masks[2] } };
	size_t best;

	plan_swap(w);
	lab_change(&w->lab, "disk.queue-depth", KNOB_SYSFS, DEPTH, "512");
	lab_change(&w->lab, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "none");
	w->swap = swap;
	w->p99_of_swap = 0.2;
	w->depth = 0.05;
	begin(w, &(const struct engine_clock){ now, wait_for, w });
	w->proof.window.tolerance[1] = tolerance;
	best = engine_prove_levels(&w->engine, at, 3);
	end(w);
	if (best != want || w->proof.verdict != verdict)
		fail_msg("%zu: %s: %s", best, ruling_name(w->proof.verdict), w->proof.why);
	assert_int_equal(w->proof.n_members, 3);
	assert_true(lab_is_original(&w->lab));
}

static void test_levels(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, 21);
	levels_of(&w, 0.1, 0.5, 0, RULING_HELPS);
	assert_int_equal(w.proof.members[0].state, MEMBER_SHOWN);
	assert_true(w.proof.compared.pairs.n >= 8 && w.proof.members[1].screened);
	close_world(&w);
	open_world(&w, 22);
	levels_of(&w, 0.1, 0.05, 1, RULING_HELPS);
	assert_non_null(strstr(w.proof.members[0].fault, "by more than the accepted loss"));
	close_world(&w);
	open_world(&w, 23);
	w.breaks = true;
	levels_of(&w, 0.1, 0.5, 1, RULING_HELPS);
	assert_non_null(strstr(w.proof.members[0].fault, "the workload fails"));
	close_world(&w);
}

static void plan_three(struct world *w)
{
	plan_swap(w);
	lab_change(&w->lab, "disk.queue-depth", KNOB_SYSFS, DEPTH, "512");
	lab_change(&w->lab, "net.tcp-rmem", KNOB_SYSCTL, RMEM, "4096 87380 16777216");
}

static void prove_three(struct world *w, double budget_s)
{
	const struct engine_clock clock = { now, wait_for, w };
	const bool *good = NULL;

	plan_three(w);
	begin(w, &clock);
	w->proof.many = true;
	w->proof.budget_s = budget_s;
	engine_prove_many(&w->engine, &good);
	end(w);
	assert_true(lab_is_original(&w->lab));
}

static bool any_goes_on(const struct proof *p)
{
	for (size_t i = 0; i < p->n_members; i++)
		if (p->members[i].state != MEMBER_OUT)
			return true;
	return false;
}

/* Nothing looks good: on a quiet machine that is an answer, on a noisy one it is none. */
static void test_many_nothing(void **state)
{
	struct world w;
	size_t seen = 0;

	(void)state;
	open_world(&w, 13);
	prove_three(&w, 3600);
	assert_int_equal(w.proof.verdict, RULING_NO_DIFFERENCE);
	assert_non_null(strstr(w.proof.why, "at most"));
	close_world(&w);
	for (uint64_t seed = 1; seed <= 12; seed++) {
		open_world(&w, seed);
		w.sigma = 0.06;
		prove_three(&w, 3600);
		if (!any_goes_on(&w.proof)) {
			seen++;
			assert_int_equal(w.proof.verdict, RULING_UNDECIDED);
			assert_non_null(strstr(w.proof.why, "could have been missed"));
		}
		close_world(&w);
	}
	assert_true(seen);
}

/* That what looked best is nothing says little of what looked worse by chance. */
static void test_many_little(void **state)
{
	struct world w;
	size_t no = 0, missed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 80; seed++) {
		const struct proof *p = &w.proof;
		double most = 0;

		open_world(&w, seed);
		w.sigma = 0.01;
		prove_three(&w, 3600);
		for (size_t i = 0; i < p->n_members; i++) {
			const struct proof_member *m = &p->members[i];

			if (m->screened && m->state == MEMBER_OUT)
				most = fmax(most, m->effect.high);
		}
		if (p->verdict == RULING_NO_DIFFERENCE) {
			no++;
			assert_true(most < 1.01);
		} else if (p->compared.verdict == RULING_NO_DIFFERENCE) {
			missed++;
			assert_int_equal(p->verdict, RULING_UNDECIDED);
			assert_non_null(strstr(p->why, "the best candidate"));
		}
		close_world(&w);
	}
	assert_true(no && missed);
}

/* Where there is no time to leave each out, mixtures have shown who helps. However short the time
 * is, it holds, and what began comes to the whole. */
static void test_many_short(void **state)
{
	struct world w;
	size_t left = 0;

	(void)state;
	for (double budget = 20; budget < 160; budget += 7) {
		open_world(&w, 14);
		w.swap = 0.06;
		w.depth = 0.05;
		prove_three(&w, budget);
		if (w.proof.took_s > budget + 1e-9)
			fail_msg("%g of %g s", w.proof.took_s, budget);
		if (w.proof.verdict == RULING_UNDECIDED)
			assert_non_null(strstr(w.proof.why, "--time-limit"));
		else
			assert_int_equal(w.proof.verdict, RULING_HELPS);
		for (size_t i = 0; i < w.proof.n_members; i++) {
			const struct proof_member *m = &w.proof.members[i];

			assert_true(m->state != MEMBER_SHOWN || m->effect.say == SCREEN_KEEP);
			left += m->confirmed;
		}
		close_world(&w);
	}
	assert_true(left);
}

/* --- cut off anywhere ------------------------------------------------------------------------- */

enum { POINTS = 500 };

/* A short proof of three changes; the door fails or the process ends at operation at. */
static size_t cut(struct world *w, struct fault_plan fault, bool many, bool taped)
{
	const struct engine_clock own = { now, wait_for, w };
	struct engine_clock clock = own;
	const char *head = NULL;
	struct tape *tape = NULL;
	const bool on[LAB_CHANGES] = { true, true, true };
	struct err e = { 0 };
	const bool *good;
	size_t n;

	plan_swap(w);
	lab_change(&w->lab, "disk.scheduler", KNOB_SYSFS, SCHEDULER, "none");
	lab_change(&w->lab, "gpu.clocks", KNOB_NVML, "gpu-clock-lock", "1000,1500");
	w->lab.h = fault_open(w->lab.h, fault);
	w->swap = 0.2;
	if (taped && (host_own_dir(w->lab.h, "/var/lib/gputune") ||
		      tape_open(&w->lab.a, w->lab.h, TAPE, &tape, &head, &e) ||
		      (!head && tape_begin(tape, "{\"head\":1}", &e))))
		return 0;
	if (taped)
		tape_clock(tape, &own, &clock);
	if (try_begin(w, &clock, &e))
		return 0;
	w->engine.tape = tape;
	if (many)
		engine_prove_many(&w->engine, &good);
	else
		engine_prove(&w->engine, on);
	end(w);
	n = fault_operations(w->lab.h);
	return n;
}

static void one_point(size_t at, int way, bool many)
{
	static const struct fault_plan ways[] = { { .code = 0 },
						  { .torn = true },
						  { .code = -EIO } };
	struct fault_plan fault = ways[way];
	struct journal j;
	struct world w;
	int status, r;
	pid_t pid;

	open_world(&w, 20);
	fault.at = at;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		cut(&w, fault, many, false);
		if (getenv("PROVE_TELL"))
			printf("%s: %s; %s; %s\n", ruling_name(w.proof.verdict), w.proof.why,
			       w.proof.trouble, fault_where(w.lab.h));
		fflush(stdout);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	lab_next(&w.lab);
	r = lab_undo(&w.lab, (struct txn_select){ .all = true });
	if ((r && r != -ENOENT) || !lab_is_original(&w.lab))
		fail_msg("cut off at %zu, way %d: not as it was: %s", at, way, w.lab.e.text);
	lab_next(&w.lab);
	lab_journal(&w.lab, &j);
	assert_int_equal(j.bad_lines, 0);
	for (size_t n = 0; n < j.n; n++)
		if (strcmp(j.items[n].op, "undo") != 0 &&
		    j.items[n].state != TRANSACTION_ROLLED_BACK &&
		    j.items[n].state != TRANSACTION_UNDONE)
			fail_msg("cut off at %zu, way %d: transaction %lu is %s", at, way,
				 j.items[n].txn, transaction_state_name(j.items[n].state));
	close_world(&w);
}

static void test_cut_off(void **state)
{
	const char *asked = getenv("PROVE_POINTS");
	size_t points = asked ? strtoul(asked, NULL, 10) : POINTS, done = 0;

	(void)state;
	for (int many = 0; many < 2; many++) {
		struct world w;
		size_t operations, step;

		open_world(&w, 20);
		operations = cut(&w, (struct fault_plan){ 0 }, many, false);
		close_world(&w);
		/* Never a multiple of what one switch takes, and one way after the other. */
		step = operations * 2 / points;
		step = step < 1 ? 1 : (step - 1) | 1;
		for (size_t at = 1; at <= operations; at += step)
			one_point(at, (int)(done++ % 3), many);
		print_message("%zu operations of a proof of %s, every %zu.\n", operations,
			      many ? "many" : "one", step);
	}
	print_message("%zu points, all as before\n", done);
	assert_true(done >= points);
}

/* Killed at an operation of any kind, also while the run's file or the journal is written: it goes
 * on where it was, to the verdict that it would have come to, and all is as before. */
static void test_resumed(void **state)
{
	const char *asked = getenv("PROVE_POINTS");
	size_t points = asked ? strtoul(asked, NULL, 10) : 60, operations, step, whole;
	struct world w;

	(void)state;
	open_world(&w, 20);
	operations = cut(&w, (struct fault_plan){ 0 }, true, true);
	whole = w.windows;
	assert_int_equal(w.proof.verdict, RULING_HELPS);
	close_world(&w);
	step = operations / points ? (operations / points) | 1 : 1;
	for (size_t at = 1; at <= operations; at += step) {
		struct fault_plan fault = { .at = at, .torn = at % 2 };
		int status;
		pid_t pid;

		open_world(&w, 20);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			cut(&w, fault, true, true);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		lab_next(&w.lab);
		/* As the next command does: it puts back what is open. */
		(void)lab_undo(&w.lab, (struct txn_select){ .all = true });
		assert_true(lab_is_original(&w.lab));
		lab_next(&w.lab);
		cut(&w, (struct fault_plan){ 0 }, true, true);
		if (w.proof.verdict != RULING_HELPS || w.windows > whole + 12)
			fail_msg("killed at %zu of %zu: %s, %zu of %zu windows: %s", at, operations,
				 ruling_name(w.proof.verdict), w.windows, whole, w.proof.why);
		lab_next(&w.lab);
		assert_true(lab_is_original(&w.lab));
		close_world(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helps),	     cmocka_unit_test(test_hurts),
		cmocka_unit_test(test_nothing),	     cmocka_unit_test(test_guard),
		cmocka_unit_test(test_breaks),	     cmocka_unit_test(test_flake),
		cmocka_unit_test(test_coarse),	     cmocka_unit_test(test_budget),
		cmocka_unit_test(test_stopped),	     cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_keep),	     cmocka_unit_test(test_cannot_be_set),
		cmocka_unit_test(test_many),	     cmocka_unit_test(test_levels),
		cmocka_unit_test(test_many_nothing), cmocka_unit_test(test_many_little),
		cmocka_unit_test(test_many_short),   cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_resumed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
