/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of training: each cause with evidence for it and against it, made up of figures; parts
 * that add up; order; what cannot be told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "models/diagnose/diagnose.h"

struct bench_of {
	struct arena a;
	struct run_evidence ev;
	struct diagnosis_of_runs d;
};

static void file(struct bench_of *b, const char *format, size_t run)
{
	b->ev.arena = &b->a;
	b->ev.files = arena_grow(&b->a, b->ev.files, b->ev.n_files, sizeof(*b->ev.files));
	b->ev.files[b->ev.n_files++] =
		(struct evidence_file){ .path = "made-up", .format = format, .run = run };
}

static void one(struct bench_of *b, enum figure_kind k, double v, int rank, long long step)
{
	evidence_figure(&b->ev, (struct metric_sample){ .kind = k,
							.value = v,
							.at = NAN,
							.over_s = NAN,
							.rank = rank,
							.step = step,
							.file = b->ev.n_files - 1,
							.line = 1 });
}

static void total(struct bench_of *b, enum figure_kind k, double v, double over, const char *text)
{
	evidence_figure(&b->ev, (struct metric_sample){ .kind = k,
							.value = v,
							.at = NAN,
							.over_s = over,
							.rank = 0,
							.step = -1,
							.text = text,
							.file = b->ev.n_files - 1,
							.total = true });
}

static void text(struct bench_of *b, enum trait_kind k, const char *s, double v)
{
	evidence_trait(&b->ev, (struct run_attribute){ k, s, v, -1, b->ev.n_files - 1, 2 });
}

static void every(struct bench_of *b, enum figure_kind k, double v)
{
	for (int i = 1; i <= 20; i++)
		one(b, k, v, -1, i);
}

static const struct run_verdict *judge(struct bench_of *b, size_t runs)
{
	struct diagnose_ask ask = { .n_runs = runs };

	diagnose_runs(&b->a, &b->ev, &ask, &b->d);
	return &b->d.verdicts[0];
}

static const struct judged_cause *of(const struct run_verdict *v, const char *id)
{
	for (size_t i = 0; i < v->n_causes; i++)
		if (strcmp(v->causes[i].row->id, id) == 0)
			return &v->causes[i];
	fail_msg("no cause %s", id);
	return NULL;
}

static void adds_up(const struct bench_of *b)
{
	const struct step_split *s = &b->d.runs[0].split;
	double sum = 0;

	for (size_t p = 0; p < PARTS; p++)
		sum += s->s[p];
	assert_true(fabs(sum - s->step_s) < 1e-9 * s->step_s);
}

/* A healthy step of a log: 1 s of which all is told. */
static void healthy(struct bench_of *b)
{
	file(b, "training log", 0);
	every(b, FIGURE_STEP_S, 1);
	every(b, FIGURE_FORWARD_S, 0.3);
	every(b, FIGURE_BACKWARD_S, 0.62);
	every(b, FIGURE_OPTIMIZER_S, 0.05);
	every(b, FIGURE_DATA_S, 0.01);
}

/* The same with a part that takes too long beside it. */
static const struct run_verdict *with(struct bench_of *b, enum figure_kind k, double v)
{
	*b = (struct bench_of){ 0 };
	file(b, "training log", 0);
	every(b, FIGURE_STEP_S, 0.97 + v);
	every(b, FIGURE_FORWARD_S, 0.3);
	every(b, FIGURE_BACKWARD_S, 0.62);
	every(b, FIGURE_OPTIMIZER_S, 0.05);
	if (k != FIGURE_DATA_S)
		every(b, FIGURE_DATA_S, 0);
	every(b, k, v);
	return judge(b, 1);
}

static void test_healthy(void **state)
{
	struct bench_of b = { 0 };
	const struct run_verdict *v;

	(void)state;
	healthy(&b);
	v = judge(&b, 1);
	adds_up(&b);
	assert_null(v->main);
	assert_true(v->healthy);
	assert_int_equal(diagnose_code(&b.d), 0);
	assert_true(of(v, "loader")->how == IS_EXCLUDED);
	arena_free(&b.a);
}

static void test_parts(void **state)
{
	static const struct {
		enum figure_kind k;
		const char *id;
	} rows[] = { { FIGURE_DATA_S, "loader" },
		     { FIGURE_SYNC_S, "sync" },
		     { FIGURE_CHECKPOINT_S, "checkpoint" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench_of b;
		const struct run_verdict *v = with(&b, rows[i].k, 0.3);

		adds_up(&b);
		assert_non_null(v->main);
		assert_string_equal(v->main->id, rows[i].id);
		assert_true(fabs(of(v, rows[i].id)->share - 0.3 / 1.27) < 1e-6);
		assert_int_equal(diagnose_code(&b.d), 1);
		arena_free(&b.a);
		v = with(&b, rows[i].k, 0.01);
		assert_null(v->main);
		arena_free(&b.a);
	}
}

/* Saving that is told for every tenth step costs a tenth of what it takes. */
static void test_seldom(void **state)
{
	struct bench_of b = { 0 };
	const struct run_verdict *v;

	(void)state;
	healthy(&b);
	one(&b, FIGURE_CHECKPOINT_S, 2, -1, 10);
	one(&b, FIGURE_CHECKPOINT_S, 2, -1, 20);
	v = judge(&b, 1);
	assert_true(of(v, "checkpoint")->share < 0.25 && of(v, "checkpoint")->share > 0.1);
	arena_free(&b.a);
}

static void ranks(struct bench_of *b, double own0, double own1, bool turns)
{
	file(b, "training log", 0);
	text(b, TRAIT_WORLD_SIZE, "2", 2);
	for (int i = 1; i <= 20; i++)
		for (int r = 0; r < 2; r++) {
			double own = (r ^ (turns && i % 2)) ? own1 : own0;
			double last = fmax(own0, own1) + 0.05;

			one(b, FIGURE_STEP_S, last, r, i);
			one(b, FIGURE_COMM_EXPOSED_S, last - own, r, i);
			one(b, FIGURE_COMM_S, last - own + 0.1, r, i);
			one(b, FIGURE_FORWARD_S, 0.3 * own, r, i);
			one(b, FIGURE_BACKWARD_S, 0.7 * own, r, i);
			one(b, FIGURE_DATA_S, 0, r, i);
		}
}

static void test_ranks(void **state)
{
	struct bench_of b = { 0 };
	const struct run_verdict *v;

	(void)state;
	ranks(&b, 1, 1.4, false);
	v = judge(&b, 1);
	adds_up(&b);
	assert_string_equal(v->main->id, "straggler");
	assert_true(of(v, "straggler")->how == IS_CERTAIN);
	assert_int_equal(b.d.runs[0].slow.slowest, 1);
	assert_true(fabs(b.d.runs[0].slow.slowest_s - 0.4) < 1e-9);
	assert_true(of(v, "uneven")->how == IS_EXCLUDED);
	arena_free(&b.a);

	b = (struct bench_of){ 0 };
	ranks(&b, 1, 1.4, true);
	v = judge(&b, 1);
	assert_string_equal(v->main->id, "uneven");
	assert_true(of(v, "straggler")->how == IS_EXCLUDED);
	arena_free(&b.a);

	b = (struct bench_of){ 0 };
	ranks(&b, 1, 1.001, false);
	v = judge(&b, 1);
	assert_null(v->main);
	assert_true(v->healthy);
	arena_free(&b.a);
}

/* Ranks that are all alike are told apart, and none is to blame. */
static void test_alike(void **state)
{
	struct bench_of b = { 0 };
	const struct run_verdict *v;

	(void)state;
	ranks(&b, 1, 1, false);
	v = judge(&b, 1);
	assert_true(of(v, "straggler")->how == IS_EXCLUDED);
	assert_true(b.d.runs[0].slow.often < 1e-9);
	arena_free(&b.a);
}

static void comm(struct bench_of *b, double all, double exposed)
{
	file(b, "training log", 0);
	text(b, TRAIT_WORLD_SIZE, "8", 8);
	every(b, FIGURE_STEP_S, 1 + exposed);
	every(b, FIGURE_FORWARD_S, 0.3);
	every(b, FIGURE_BACKWARD_S, 0.6);
	every(b, FIGURE_OPTIMIZER_S, 0.1);
	every(b, FIGURE_DATA_S, 0);
	every(b, FIGURE_COMM_S, all);
	every(b, FIGURE_COMM_EXPOSED_S, exposed);
}

static void test_comm(void **state)
{
	static const struct {
		double all, exposed;
		const char *main;
	} rows[] = {
		{ 0.5, 0.5, "overlap" },   /* nothing is hidden */
		{ 1.8, 1.2, "network" },   /* more than there is to hide it behind */
		{ 0.5, 0.05, NULL },	   /* hidden but for the last of it */
		{ 0.08, 0.08, "overlap" }, /* nothing is hidden, and it costs 7 % */
		{ 0.04, 0.04, NULL },	   /* too little to matter */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench_of b = { 0 };
		const struct run_verdict *v;

		comm(&b, rows[i].all, rows[i].exposed);
		v = judge(&b, 1);
		adds_up(&b);
		if (rows[i].main)
			assert_string_equal(v->main ? v->main->id : "", rows[i].main);
		else
			assert_null(v->main);
		arena_free(&b.a);
	}
}

/* One file of many ranks does not tell waiting for a slower rank from a slow network. */
static void test_comm_of_one(void **state)
{
	struct bench_of b = { 0 };
	const struct judged_cause *c;

	(void)state;
	comm(&b, 1.8, 1.2);
	c = of(judge(&b, 1), "network");
	assert_true(c->how == IS_LIKELY);
	assert_non_null(c->against);
	arena_free(&b.a);

	b = (struct bench_of){ 0 };
	file(&b, "training log", 0);
	text(&b, TRAIT_WORLD_SIZE, "2", 2);
	for (int i = 1; i <= 20; i++)
		for (int r = 0; r < 2; r++) {
			one(&b, FIGURE_STEP_S, 2.2, r, i);
			one(&b, FIGURE_COMM_EXPOSED_S, 1.2, r, i);
			one(&b, FIGURE_COMM_S, 1.8, r, i);
			one(&b, FIGURE_FORWARD_S, 0.4, r, i);
			one(&b, FIGURE_BACKWARD_S, 0.6, r, i);
			one(&b, FIGURE_DATA_S, 0, r, i);
		}
	c = of(judge(&b, 1), "network");
	assert_true(c->how == IS_CERTAIN);
	assert_null(c->against);
	arena_free(&b.a);
}

/* A traced GPU: two steps of 1 s in a window of 2 s. */
static void traced(struct bench_of *b, double compute, double idle, double kernels)
{
	file(b, "trace", 0);
	text(b, TRAIT_GPU, "NVIDIA H200", NAN);
	for (int i = 1; i <= 2; i++)
		one(b, FIGURE_STEP_S, 1, 0, i);
	total(b, FIGURE_COMPUTE_S, 2 * compute, 2, NULL);
	total(b, FIGURE_COMM_EXPOSED_S, 0, 2, NULL);
	total(b, FIGURE_COPY_EXPOSED_S, 0, 2, NULL);
	total(b, FIGURE_IDLE_S, 2 * idle, 2, NULL);
	total(b, FIGURE_KERNELS, 2 * kernels, 2, NULL);
}

static void test_trace(void **state)
{
	struct bench_of b = { 0 };
	const struct run_verdict *v;

	(void)state;
	traced(&b, 0.02, 0.98, 5000);
	v = judge(&b, 1);
	adds_up(&b);
	assert_true(b.d.runs[0].split.gpu_clock);
	assert_true(of(v, "launch")->how <= IS_LIKELY && of(v, "launch")->share > 0.9);
	arena_free(&b.a);

	b = (struct bench_of){ 0 };
	traced(&b, 0.98, 0.02, 2000);
	v = judge(&b, 1);
	assert_null(v->main);
	arena_free(&b.a);

	/* Idle because the host waits for data: a log says so. */
	b = (struct bench_of){ 0 };
	traced(&b, 0.5, 0.5, 2000);
	one(&b, FIGURE_DATA_S, 0.45, 0, 1);
	one(&b, FIGURE_DATA_S, 0.45, 0, 2);
	v = judge(&b, 1);
	adds_up(&b);
	assert_string_equal(v->main->id, "loader");
	assert_true(fabs(b.d.runs[0].split.s[PART_DATA] - 0.45) < 1e-9);
	arena_free(&b.a);

	/* Products without tensor cores. */
	b = (struct bench_of){ 0 };
	traced(&b, 0.99, 0.01, 2000);
	total(&b, FIGURE_GEMM_S, 1.6, 2, "fp32");
	total(&b, FIGURE_GEMM_S, 0.1, 2, "bf16");
	v = judge(&b, 1);
	assert_string_equal(v->main->id, "precision");
	arena_free(&b.a);
}

static void test_gpu(void **state)
{
	struct bench_of b = { 0 };
	const struct run_verdict *v;

	(void)state;
	healthy(&b);
	file(&b, "gputune recording", 0);
	for (int i = 0; i < 20; i++) {
		one(&b, FIGURE_GPU_UTIL, 0.99, 3, -1);
		one(&b, FIGURE_SM_MHZ, 1200, 3, -1);
		one(&b, FIGURE_SM_MAX_MHZ, 1980, 3, -1);
		one(&b, FIGURE_GPU_MEMORY, 20e9, 3, -1);
		one(&b, FIGURE_GPU_MEMORY_TOTAL, 141e9, 3, -1);
		evidence_figure(&b.ev, (struct metric_sample){ .kind = FIGURE_THROTTLED,
							       .value = 0.8,
							       .at = NAN,
							       .over_s = NAN,
							       .rank = 3,
							       .step = -1,
							       .text = "thermal",
							       .file = 1 });
	}
	text(&b, TRAIT_CHECKPOINTING, "full", NAN);
	v = judge(&b, 1);
	assert_string_equal(v->main->id, "throttled");
	assert_non_null(strstr(of(v, "throttled")->says, "heat"));
	assert_true(of(v, "recompute")->how == IS_LIKELY);
	assert_true(of(v, "memory")->how == IS_EXCLUDED);
	one(&b, FIGURE_ALLOC_RETRIES, 12, -1, -1);
	v = judge(&b, 1);
	assert_true(of(v, "memory")->how == IS_CERTAIN);
	arena_free(&b.a);
}

static void test_nccl(void **state)
{
	struct bench_of b = { 0 };
	const struct run_verdict *v;

	(void)state;
	comm(&b, 0.5, 0.5);
	text(&b, TRAIT_NCCL_NET, "Socket", NAN);
	v = judge(&b, 1);
	/* On one machine NCCL names sockets and does not use them. */
	assert_true(of(v, "socket")->how == IS_EXCLUDED);
	text(&b, TRAIT_NCCL_TRANSPORT, "NET/Socket/0", NAN);
	text(&b, TRAIT_VARIABLE, "NCCL_IB_DISABLE=1", NAN);
	v = judge(&b, 1);
	assert_true(of(v, "socket")->how == IS_CERTAIN);
	text(&b, TRAIT_VARIABLE, "NCCL_P2P_DISABLE=1", NAN);
	text(&b, TRAIT_VARIABLE, "NCCL_ALGO=Ring", NAN);
	v = judge(&b, 1);
	assert_true(of(v, "peer")->how == IS_CERTAIN);
	assert_true(of(v, "forced")->how == IS_POSSIBLE);
	arena_free(&b.a);
}

static void test_too_much(void **state)
{
	struct bench_of b = { 0 };

	(void)state;
	healthy(&b);
	every(&b, FIGURE_SYNC_S, 0.7);
	judge(&b, 1);
	adds_up(&b);
	assert_true(b.d.runs[0].split.too_much > 0.5);
	assert_true(b.d.runs[0].n_notes > 0);
	arena_free(&b.a);
}

/* Whoever tells of no communication is not accused of it, and nothing is certain by what cannot be.
 */
static void test_untold(void **state)
{
	struct bench_of b = { 0 };
	const struct run_verdict *v;

	(void)state;
	file(&b, "training log", 0);
	text(&b, TRAIT_WORLD_SIZE, "8", 8);
	every(&b, FIGURE_STEP_S, 0.5);
	every(&b, FIGURE_DATA_S, 0.001);
	every(&b, FIGURE_FORWARD_S, 0.1);
	every(&b, FIGURE_BACKWARD_S, 0.1);
	v = judge(&b, 1);
	adds_up(&b);
	assert_false(b.d.runs[0].split.told[PART_COMM]);
	assert_true(fabs(b.d.runs[0].split.s[PART_REST] - 0.299) < 1e-9);
	assert_true(of(v, "overlap")->how == IS_UNSEEN);
	assert_int_equal(diagnose_code(&b.d), 5);
	every(&b, FIGURE_DATA_S, 0.9);
	every(&b, FIGURE_DATA_S, 0.9);
	v = judge(&b, 1);
	adds_up(&b);
	assert_non_null(b.d.runs[0].impossible);
	assert_false(v->healthy);
	for (size_t i = 0; i < CAUSES; i++)
		assert_true(v->causes[i].how != IS_CERTAIN);
	arena_free(&b.a);
}

static void test_nothing(void **state)
{
	struct bench_of b = { 0 };
	const struct run_verdict *v;

	(void)state;
	file(&b, "training log", 0);
	v = judge(&b, 1);
	assert_false(v->healthy);
	assert_int_equal(diagnose_code(&b.d), 5);
	assert_true(v->n_missing > 0);
	arena_free(&b.a);
}

/* Warming-up: the first steps of twenty take ten times as long, and do not count. */
static void test_warm_up(void **state)
{
	struct bench_of b = { 0 };

	(void)state;
	file(&b, "training log", 0);
	for (int i = 1; i <= 20; i++)
		one(&b, FIGURE_STEP_S, i <= 2 ? 10 : 1, -1, i);
	judge(&b, 1);
	assert_true(fabs(b.d.runs[0].sums[FIGURE_STEP_S].high - 1) < 1e-9);
	assert_int_equal(b.d.runs[0].steps, 18);
	arena_free(&b.a);
}

static unsigned next(unsigned long long *s)
{
	*s = *s * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(*s >> 33);
}

static double wild(unsigned long long *s)
{
	static const double odd[] = { 0, -1, 1e300, 1e-300, -1e300, 1, 0.5 };

	return next(s) % 4 ? (double)(next(s) % 1000) / 100 : odd[next(s) % 7];
}

/* Whatever files claim: the parts add up, shares are shares, each verdict has its sentence. */
static void test_wild(void **state)
{
	unsigned long long s = 7;

	(void)state;
	for (int turn = 0; turn < 400; turn++) {
		struct bench_of b = { 0 };
		const struct run_verdict *v;
		unsigned figures = next(&s) % 200;

		file(&b, "one", 0);
		file(&b, "two", next(&s) % 2);
		for (unsigned i = 0; i < figures; i++) {
			struct metric_sample f = { .kind = next(&s) % FIGURE_KINDS,
						   .value = wild(&s),
						   .at = next(&s) % 3 ? (double)NAN : wild(&s),
						   .over_s = next(&s) % 2 ? (double)NAN : wild(&s),
						   .rank = (int)(next(&s) % 5) - 1,
						   .step = (long long)(next(&s) % 8) - 1,
						   .text = next(&s) % 3 ? NULL : "fp32",
						   .file = next(&s) % 2,
						   .total = next(&s) % 3 == 0 };

			evidence_figure(&b.ev, f);
		}
		for (unsigned i = next(&s) % 20; i > 0; i--)
			text(&b, next(&s) % TRAIT_KINDS, next(&s) % 2 ? "full" : "NVIDIA H200",
			     wild(&s));
		v = judge(&b, 2);
		for (size_t r = 0; r < 2; r++) {
			const struct step_split *x = &b.d.runs[r].split;
			double sum = 0;

			assert_non_null(b.d.verdicts[r].verdict);
			for (size_t p = 0; isfinite(x->step_s) && p < PARTS; p++) {
				assert_true(x->s[p] >= 0);
				sum += x->s[p];
			}
			if (isfinite(x->step_s))
				assert_true(fabs(sum - x->step_s) <= 1e-6 * x->step_s);
		}
		for (size_t i = 0; i < CAUSES; i++) {
			assert_true(v->causes[i].says || v->causes[i].how == IS_UNSEEN);
			assert_false(v->causes[i].share > 1);
		}
		arena_free(&b.a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy), cmocka_unit_test(test_parts),
		cmocka_unit_test(test_seldom),	cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_comm),	cmocka_unit_test(test_comm_of_one),
		cmocka_unit_test(test_trace),	cmocka_unit_test(test_gpu),
		cmocka_unit_test(test_nccl),	cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_warm_up),
		cmocka_unit_test(test_wild),	cmocka_unit_test(test_alike),
		cmocka_unit_test(test_untold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
