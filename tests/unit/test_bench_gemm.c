/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Number formats against the compiler's own, names, tables, verdicts row by row; then products and
 * collectives through the real loader on stand-ins that compute on the CPU, and what goes wrong in
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/bench/collective.h"
#include "measure/bench/gemm.h"
#include "measure/bench/gpu_load.h"
#include "measure/bench/bench.h"

/* --- number formats --------------------------------------------------------------------------- */

static void test_codes_there_and_back(void **state)
{
	(void)state;
	for (enum gemm_code c = 0; c < GEMM_CODES; c++) {
		unsigned bits = gemm_code_bits(c);

		/* -128 is left out: -127 is the lowest that is drawn. */
		for (uint64_t x = 0; bits <= 16 && x < 1ull << bits; x++) {
			double v = gemm_decode(c, x);

			if (isfinite(v) && fabs(v) <= gemm_largest(c) && fabs(v) > 0)
				assert_int_equal(gemm_encode(c, v), x);
		}
	}
}

static void test_codes_round(void **state)
{
	struct stat_random r = { 7 };

	(void)state;
	for (int i = 0; i < 20000; i++) {
		double v = stat_random_normal(&r) * exp(8 * stat_random_normal(&r));
		float f = (float)v;
		uint64_t got = gemm_encode(CODE_F32, v), below;
		uint32_t bits;

		memcpy(&bits, &f, sizeof(bits));
		assert_int_equal(got, bits);
		/* Nearest: neither neighbour is nearer. */
		got = gemm_encode(CODE_E4M3, v / 100) & 0x7f;
		for (below = 0; below <= 0x7e; below++)
			assert_true(fabs(fabs(v / 100) - gemm_decode(CODE_E4M3, got)) <=
				    fabs(fabs(v / 100) - gemm_decode(CODE_E4M3, below)));
	}
	/* By the formats' papers. */
	assert_true(gemm_largest(CODE_E4M3) >= 448 && gemm_largest(CODE_E4M3) <= 448);
	assert_true(gemm_largest(CODE_E5M2) >= 57344 && gemm_largest(CODE_E5M2) <= 57344);
	assert_true(gemm_largest(CODE_E2M1) >= 6 && gemm_largest(CODE_E2M1) <= 6);
	assert_true(isnan(gemm_decode(CODE_E4M3, 0x7f)));
	assert_true(isinf(gemm_decode(CODE_E5M2, 0x7c)));
	assert_true(isnan(gemm_decode(CODE_BF16, 0xffff)));
	assert_int_equal(gemm_encode(CODE_I8, -127), 0x81);
	/* Ties go to the even one: 1 + 1/16 lies between 1 and 1 + 1/8. */
	assert_int_equal(gemm_encode(CODE_E4M3, 1.0625), 0x38);
	assert_int_equal(gemm_encode(CODE_E4M3, 1.1875), 0x3a);
}

static void test_random_tables(void **state)
{
	uint64_t *table = calloc(GEMM_TABLE, sizeof(*table));

	(void)state;
	for (size_t i = 0; i < gemm_type_count; i++) {
		const struct gemm_type *t = &gemm_types[i];
		double sum = 0, square = 0, want = t->uniform ? 127 / sqrt(3) : t->sigma;

		gemm_table_fill(t, t->a, 1, table);
		for (size_t k = 0; k < GEMM_TABLE; k++) {
			double v = gemm_decode(t->a, table[k]);

			assert_true(fabs(v) <= gemm_largest(t->a));
			sum += v;
			square += v * v;
		}
		/* Both signs, the spread that was asked for, neither zeros nor saturated. */
		assert_true(fabs(sum / GEMM_TABLE) < 0.03 * want);
		assert_true(fabs(sqrt(square / GEMM_TABLE) / want - 1) < 0.06);
	}
	free(table);
}

static void test_nan_never_passes(void **state)
{
	const struct gemm_type *t = gemm_type_find("bf16", 4);

	(void)state;
	assert_true(gemm_close(t, 100.2, 100, 6000, 8192));
	assert_false(gemm_close(t, 104, 100, 6000, 8192));
	assert_false(gemm_close(t, NAN, 100, 6000, 8192));
	assert_false(gemm_close(t, INFINITY, 100, 6000, 8192));
	/* Integers are exact. */
	t = gemm_type_find("int8", 4);
	assert_true(gemm_close(t, -5, -5, 6000, 8192));
	assert_false(gemm_close(t, -5, -6, 6000, 8192));
	/* A product of the size that one wrong block gives is noticed in every format. */
	for (size_t i = 0; i < gemm_type_count; i++)
		assert_true(gemm_tolerance(&gemm_types[i], 90, 0.64 * 8192, 8192) < 20);
}

static void test_tables_agree(void **state)
{
	static const struct {
		const char *gpu;
		unsigned cc, sms;
		double mhz; /* that the sheet goes with */
	} chips[] = { { "NVIDIA H200", 90, 132, 1830 },
		      { "NVIDIA H100 80GB HBM3", 90, 132, 1830 },
		      { "NVIDIA B200", 100, 148, 1860 },
		      { "NVIDIA A100-SXM4-80GB", 80, 108, 1410 },
		      { "NVIDIA RTX 6000 Ada Generation", 89, 142, 2505 },
		      { "NVIDIA L40S", 89, 142, 2520 },
		      { "NVIDIA GeForce RTX 4090", 89, 128, 2520 },
		      { "NVIDIA GeForce RTX 5090", 120, 170, 2407 },
		      { "NVIDIA GB10", 121, 48, 2550 } };
	const struct gpu_kind *sheet;

	(void)state;
	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		for (size_t k = 0; k < gemm_type_count; k++) {
			const struct gemm_type *t = &gemm_types[k];
			double s = gemm_peak_sheet(t, chips[i].gpu, &sheet),
			       p = gemm_peak_at(t, chips[i].gpu, chips[i].cc, chips[i].sms,
						chips[i].mhz);

			if (!(s > 0) || !(p > 0) || t->a == CODE_F64)
				continue;
			if (fabs(p / s - 1) > 0.12)
				fail_msg("%s %s: %g by the clock, %g by the sheet", chips[i].gpu,
					 t->name, p, s);
		}
	assert_true(gemm_peak_at(&gemm_types[0], "", 35, 10, 1000) <= 0);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "bf16",	    "bf17:8192", "bf16:0",    "bf16:1x2",
					   "bf16:1x2x3x4",  "bf16:",	 "burn:",     "bf16:8192x",
					   "bf16:99999999", "bf16:-8",	 "bf16: 128", "" };
	const struct gemm_type *t;
	struct gemm_dims d;
	struct arena a = { 0 };
	bool burn;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(gemm_name_parse(bad[i], &burn, &t, &d));
	assert_true(gemm_name_parse("fp8-e4m3:4096x4096x16384", &burn, &t, &d));
	assert_string_equal(t->name, "fp8-e4m3");
	assert_true(d.m == 4096 && d.n == 4096 && d.k == 16384 && !burn);
	assert_true(gemm_name_parse("burn:int8", &burn, &t, &d));
	assert_true(burn && d.m == 8192);
	assert_true(gemm_name_parse("bf16:up:decode", &burn, &t, &d));
	assert_true(d.n == 16);
	assert_non_null(gemm_why_not(&a, gemm_type_find("nvfp4", 5),
				     (struct gemm_dims){ 8192, 8192, 8192 }, 90));
	assert_null(gemm_why_not(&a, gemm_type_find("nvfp4", 5),
				 (struct gemm_dims){ 8192, 8192, 8192 }, 121));
	assert_non_null(gemm_why_not(&a, gemm_type_find("int8", 4),
				     (struct gemm_dims){ 100, 128, 128 }, 90));
	arena_free(&a);
}

/* --- the load signature ----------------------------------------------------------------------- */

static void test_verdicts(void **state)
{
	static const struct {
		const char *what, *gpu;
		struct gpu_load_sample s;
		double limit_w;
		enum gpu_load_verdict want;
	} rows[] = {
		/* seconds, TFLOP/s, GB/s, MHz, W, C, busy, reasons, held by power, heat, brake,
		   link */
		{ "as measured",
		  "NVIDIA H200",
		  { 1, 670, 4170, 1390, 690, 55, 100, 4, 0.97, 0, 0, 5, 16 },
		  700,
		  GPU_LOAD_HEALTHY },
		{ "hot",
		  "NVIDIA H200",
		  { 1, 670, 4170, 1390, 690, 55, 100, 4, 0.97, 0.3, 0, 5, 16 },
		  700,
		  GPU_LOAD_THERMAL },
		{ "hot by the bits alone",
		  "NVIDIA H200",
		  { 1, 670, 4170, 1390, 690, 55, 100, 0x24, 0.97, -1, 0, 5, 16 },
		  700,
		  GPU_LOAD_THERMAL },
		{ "warm for a moment",
		  "NVIDIA H200",
		  { 1, 670, 4170, 1390, 690, 55, 100, 4, 0.97, 0.01, 0, 5, 16 },
		  700,
		  GPU_LOAD_HEALTHY },
		{ "brake",
		  "NVIDIA H200",
		  { 1, 670, 4170, 1390, 690, 55, 100, 4, 0.97, 0, 0.05, 5, 16 },
		  700,
		  GPU_LOAD_BRAKE },
		{ "lowered limit",
		  "NVIDIA H200",
		  { 1, 420, 4170, 1100, 400, 55, 100, 4, 0.97, 0, 0, 5, 16 },
		  400,
		  GPU_LOAD_CAPPED },
		{ "three times slower",
		  "NVIDIA H200",
		  { 1, 220, 4170, 1390, 690, 55, 100, 4, 0.97, 0, 0, 5, 16 },
		  700,
		  GPU_LOAD_SLOW },
		{ "slow memory",
		  "NVIDIA H200",
		  { 1, 670, 2100, 1390, 690, 55, 100, 4, 0.97, 0, 0, 5, 16 },
		  700,
		  GPU_LOAD_SLOW },
		{ "half a link",
		  "NVIDIA H200",
		  { 1, 670, 4170, 1390, 690, 55, 100, 4, 0.97, 0, 0, 5, 8 },
		  700,
		  GPU_LOAD_LINK },
		{ "a generation less",
		  "NVIDIA H200",
		  { 1, 670, 4170, 1390, 690, 55, 100, 4, 0.97, 0, 0, 4, 16 },
		  700,
		  GPU_LOAD_LINK },
		{ "latched",
		  "NVIDIA H200",
		  { 1, 180, 4170, 500, 200, 55, 100, 0, 0, 0, 0, 5, 16 },
		  700,
		  GPU_LOAD_LATCH },
		{ "low, and no reasons told: no latch",
		  "NVIDIA H200",
		  { 1, 180, 4170, 500, 200, 55, 100, -1, 0, 0, 0, 5, 16 },
		  700,
		  GPU_LOAD_SLOW },
		{ "low of clock and power alone, and no reasons told: not healthy",
		  "NVIDIA GB10",
		  { 1, -1, -1, 611, 22, 70, 96, -1, -1, -1, -1, -1, -1 },
		  -1,
		  GPU_LOAD_SLOW },
		{ "slow for its limit: no latch",
		  "NVIDIA H200",
		  { 1, 180, 4170, 500, 200, 55, 100, 4, 0.97, 0, 0, 5, 16 },
		  200,
		  GPU_LOAD_CAPPED },
		{ "spark",
		  "NVIDIA GB10",
		  { 1, 62, 165, 2400, 85, 70, 96, 0, 0, 0, 0, -1, -1 },
		  -1,
		  GPU_LOAD_HEALTHY },
		{ "spark, latched by its supply",
		  "NVIDIA GB10",
		  { 1, 15, 165, 611, 22, 70, 96, 0, 0, 0, 0, -1, -1 },
		  -1,
		  GPU_LOAD_LATCH },
		{ "spark, not busy: no latch",
		  "NVIDIA GB10",
		  { 1, 15, 165, 611, 22, 70, 3, 0, 0, 0, 0, -1, -1 },
		  -1,
		  GPU_LOAD_SLOW },
		{ "never heard of",
		  "NVIDIA X1",
		  { 1, 1, 4170, 1390, 690, 55, 100, 4, 0.97, 0, 0, 5, 16 },
		  700,
		  GPU_LOAD_HEALTHY },
		{ "nothing told",
		  "NVIDIA X1",
		  { 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
		  -1,
		  GPU_LOAD_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gpu_load_sample s[8];
		struct gpu_load_facts f = { rows[i].gpu, 5, 16, rows[i].limit_w,
					    rows[i].limit_w < 0 ? -1 : 700 };
		struct gpu_load_answer a;

		for (size_t k = 0; k < 8; k++)
			s[k] = rows[i].s;
		gpu_load_judge(s, 8, &f, gpu_load_limit_of(rows[i].gpu), &a);
		if (a.verdict != rows[i].want)
			fail_msg("%s: %s, not %s (%s)", rows[i].what,
				 gpu_load_verdict_name(a.verdict),
				 gpu_load_verdict_name(rows[i].want), a.text);
		assert_true((a.verdict == GPU_LOAD_HEALTHY || a.verdict == GPU_LOAD_UNKNOWN) ==
			    !*a.remedy);
		/* How it began does not count. */
		s[0].warm_s = s[1].warm_s = 1;
		gpu_load_judge(s, 8, &f, gpu_load_limit_of(rows[i].gpu), &a);
		assert_int_equal(a.verdict, rows[i].want);
		gpu_load_judge(s, 3, &f, NULL, &a);
		assert_int_equal(a.verdict, GPU_LOAD_UNKNOWN);
	}
	/* Thresholds stand below what was seen, by less than half. */
	for (size_t i = 0; i < gpu_load_limit_count; i++) {
		const struct gpu_kind *sheet;
		double peak =
			gemm_peak_sheet(gemm_type_find("bf16", 4), gpu_load_limits[i].name, &sheet);

		assert_true(peak > 0 && gpu_load_limits[i].tflop_s < 0.8 * peak &&
			    gpu_load_limits[i].tflop_s > 0.4 * peak);
	}
}

/* --- collectives, the pure part --------------------------------------------------------------- */

static void test_collective_numbers(void **state)
{
	struct arena a = { 0 };
	struct collective_sizes z;
	uint64_t v;

	(void)state;
	assert_true(fabs(collective_bus_factor(COLLECTIVE_ALL_REDUCE, 4) - 1.5) < 1e-12);
	assert_true(fabs(collective_bus_factor(COLLECTIVE_ALL_GATHER, 4) - 0.75) < 1e-12);
	assert_true(fabs(collective_bus_factor(COLLECTIVE_BROADCAST, 4) - 1) < 1e-12);
	assert_true(fabs(collective_bus_factor(COLLECTIVE_SEND_RECEIVE, 4) - 1) < 1e-12);
	assert_true(collective_size_parse("8GiB", &v) && v == 8ull << 30);
	assert_true(collective_size_parse("8B", &v) && v == 8);
	assert_false(collective_size_parse("8", &v));
	assert_false(collective_size_parse("0B", &v));
	assert_false(collective_size_parse("65GiB", &v));
	assert_false(collective_size_parse("-1B", &v));
	assert_string_equal(collective_size_text(&a, 1536), "1536B");
	assert_string_equal(collective_size_text(&a, 3 << 20), "3MiB");
	z = collective_sizes(COLLECTIVE_ALL_GATHER, 8, 4);
	assert_true(z.segment == 8 && z.total == 32 && z.from == 8 && z.to == 32);
	z = collective_sizes(COLLECTIVE_REDUCE_SCATTER, 4096, 4);
	assert_true(z.from == 4096 && z.to == 1024);
	arena_free(&a);
}

static void test_nccl_log(void **state)
{
	struct nccl_paths p;

	(void)state;
	nccl_log_parse("box:7:9 [0] NCCL INFO Channel 00/24 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
		       "box:7:9 [0] NCCL INFO Channel 01/24 : 1[1] -> 2[0] [send] via "
		       "NET/Socket/0/GDRDMA\n"
		       "box:7:9 [0] NCCL INFO Channel 02/24 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
		       "box NCCL INFO AllReduce: 8589934592 Bytes -> Algo RING proto SIMPLE "
		       "channel{Lo..Hi}={0..23}\n",
		       &p);
	assert_string_equal(p.via, "P2P/CUMEM, NET/Socket");
	assert_string_equal(p.algorithm, "RING, SIMPLE");
	assert_true(p.sockets);
	nccl_log_parse("via via Algo  proto \n Channel via /////", &p);
	assert_false(p.sockets);
	nccl_log_parse("", &p);
	assert_string_equal(p.via, "");
}

/* --- on stand-ins ----------------------------------------------------------------------------- */

static void stub(const char *cuda, const char *cublaslt, const char *nccl)
{
	setenv("GPUTUNE_STUB_CUDA", cuda, 1);
	setenv("GPUTUNE_STUB_CUBLASLT", cublaslt, 1);
	setenv("GPUTUNE_STUB_NCCL", nccl, 1);
	unsetenv("NCCL_DEBUG");
	unsetenv("NCCL_DEBUG_FILE");
}

static struct record *measured(struct arena *a, const struct bench *b, const char *name,
			       const char *gpus, int *code)
{
	struct record *r = ARENA_NEW(a, struct record);
	struct frame f = { .env = { .a = a,
				    .m = ARENA_NEW(a, struct machine),
				    .ask = { .gpus = gpus },
				    .small = true },
			   .seconds = 0.01,
			   .samples = 3 };

	*code = frame_run(&f, b, name, r);
	return r;
}

static void expect_right(const struct bench *b, const char *name, const char *gpus)
{
	struct arena a = { 0 };
	int code;
	struct record *r = measured(&a, b, name, gpus, &code);

	assert_int_equal(code, 0);
	assert_true(r->n > 0);
	for (size_t i = 0; i < r->n; i++) {
		if (r->cases[i].error)
			fail_msg("%s %s: %s", b->name, r->cases[i].name, r->cases[i].error);
		assert_true(r->cases[i].verified);
		assert_true(r->cases[i].n >= 2);
		assert_true(r->cases[i].series[0].x[0] > 0);
		assert_true(strlen(r->cases[i].variant) > 4);
	}
	arena_free(&a);
}

/* The case fails, and says so with these words. */
static void expect_error(const struct bench *b, const char *name, const char *words)
{
	struct arena a = { 0 };
	int code;
	struct record *r = measured(&a, b, name, NULL, &code);

	assert_int_equal(code, 0);
	if (!r->cases[0].error || !strstr(r->cases[0].error, words))
		fail_msg("%s: \"%s\", not \"%s\"", name,
			 r->cases[0].error ? r->cases[0].error : "no error", words);
	assert_false(r->cases[0].verified);
	arena_free(&a);
}

static void test_products(void **state)
{
	struct arena a = { 0 };
	struct record *r;
	int code;

	(void)state;
	stub("gpus=1", "", "");
	for (size_t i = 0; i < gemm_type_count; i++)
		if (gemm_types[i].cc_min <= 90)
			expect_right(&bench_gemm, arena_printf(&a, "%s:64", gemm_types[i].name),
				     NULL);
	stub("gpus=2", "broken=1", "");
	expect_right(&bench_gemm, "bf16:64", NULL);
	expect_right(&bench_gemm, "bf16:64:gpu1", NULL);
	expect_right(&bench_gemm, "burn:fp16:64", NULL);
	/* What this chip has not is no error of anybody's. */
	r = measured(&a, &bench_gemm, "nvfp4:128", NULL, &code);
	assert_int_equal(code, -ENODATA);
	assert_true(r->n_skipped >= 1 && r->n == 0);
	assert_non_null(strstr(r->skipped[0].reason, "Blackwell"));
	measured(&a, &bench_gemm, "nonsense:128", NULL, &code);
	assert_int_equal(code, -ENOENT);
	arena_free(&a);
}

/* Places of scales: the two that NVIDIA's documentation of nvmath-python gives for 128 x 128
 * elements in blocks of 16, and that no two share one. */
static void test_scale_places(void **state)
{
	const struct gemm_type *t = gemm_type_find("nvfp4", 5), *mx = gemm_type_find("mxfp8", 5);
	unsigned char *seen;

	(void)state;
	assert_int_equal(gemm_scale_place(t, 5, 32, 128), 82);
	assert_int_equal(gemm_scale_place(t, 5, 95, 128), 593);
	assert_int_equal(gemm_scale_bytes(t, 128, 128), 1024);
	/* What fills the last tiles counts. */
	assert_int_equal(gemm_scale_bytes(t, 129, 80), 2 * 2 * 512);
	assert_int_equal(gemm_scale_bytes(mx, 128, 128), 512);
	assert_int_equal(gemm_scale_bytes(gemm_type_find("bf16", 4), 128, 128), 0);
	seen = calloc(gemm_scale_bytes(t, 384, 256), 1);
	for (uint64_t row = 0; row < 384; row++)
		for (uint64_t at = 0; at < 256; at += 16) {
			uint64_t place = gemm_scale_place(t, row, at, 256);

			assert_true(place < gemm_scale_bytes(t, 384, 256));
			assert_int_equal(seen[place]++, 0);
		}
	free(seen);
}

/* Formats of a chip that nobody here had in hand: what is handed over is what is documented. */
static void test_block_scales(void **state)
{
	struct arena a = { 0 };
	struct record *r;
	int code;

	(void)state;
	stub("gpus=1 cc=100", "", "");
	expect_right(&bench_gemm, "nvfp4:128", NULL);
	expect_right(&bench_gemm, "mxfp8:128", NULL);
	/* Several tiles of scales down and across. */
	expect_right(&bench_gemm, "burn:nvfp4:256x128x256", NULL);
	stub("gpus=1 cc=100", "wrong=1", "");
	expect_error(&bench_gemm, "nvfp4:128", "element (0, 0)");
	stub("gpus=1 cc=120", "refuse=33", "");
	expect_error(&bench_gemm, "nvfp4:128", "has no usable algorithm for nvfp4");
	stub("gpus=1", "", "");
	r = measured(&a, &bench_gemm, "mxfp8:128", NULL, &code);
	assert_int_equal(code, -ENODATA);
	assert_non_null(strstr(r->skipped[0].reason, "this GPU has 9.0"));
	arena_free(&a);
}

/* Two zeros in four: no matter how the search ends, the same algorithm in every round. */
static void test_sparse(void **state)
{
	static const char *const names[] = { "sparse-bf16:64", "sparse-fp16:64", "sparse-fp8:64",
					     "sparse-int8:64" };
	struct arena a = { 0 };
	struct record *r;
	int code, stay = 0;

	(void)state;
	stub("gpus=1", "", "");
	unsetenv("GPUTUNE_STUB_CUSPARSELT");
	for (size_t i = 0; i < 4; i++) {
		expect_right(&bench_gemm, names[i], NULL);
		r = measured(&a, &bench_gemm, names[i], NULL, &code);
		assert_non_null(strstr(r->cases[0].variant, "cuSPARSELt 0.8.0 algorithm 2 of 3"));
		assert_non_null(strstr(r->cases[0].setup, "two zeros in every four"));
	}
	for (uint64_t i = 0; i < 400; i++)
		stay += gemm_stays(7, i);
	assert_int_equal(stay, 200);
	setenv("GPUTUNE_STUB_CUSPARSELT", "wrong=1", 1);
	expect_error(&bench_gemm, names[0], "element (0, 0)");
	setenv("GPUTUNE_STUB_CUSPARSELT", "blind=1", 1);
	expect_error(&bench_gemm, names[0], "reports dense data as sparse");
	setenv("GPUTUNE_STUB_CUSPARSELT", "nosearch=1", 1);
	expect_error(&bench_gemm, names[0], "CUSPARSE_STATUS_NOT_SUPPORTED");
	setenv("GPUTUNE_STUB_CUSPARSELT", "refuse=28", 1);
	expect_error(&bench_gemm, names[2], "setting up sparse matrix A");
	/* An older one is as good as none, and it is said why. */
	setenv("GPUTUNE_STUB_CUSPARSELT", "version=5", 1);
	r = measured(&a, &bench_gemm, names[0], NULL, &code);
	assert_int_equal(code, -ENODATA);
	assert_non_null(
		strstr(r->skipped[0].reason, "which has a different interface: 0.6 is required"));
	unsetenv("GPUTUNE_STUB_CUSPARSELT");
	arena_free(&a);
}

/* The search as it is on a real machine, with its finals; one of three algorithms fails. */
static void test_search(void **state)
{
	struct arena a = { 0 };
	struct record *r = ARENA_NEW(&a, struct record);
	struct frame f = { .env = { .a = &a, .m = ARENA_NEW(&a, struct machine) },
			   .seconds = 0.01,
			   .samples = 3 };

	(void)state;
	stub("gpus=1", "broken=1", "");
	assert_int_equal(frame_run(&f, &bench_gemm, "bf16:64", r), 0);
	if (r->cases[0].error)
		fail_msg("%s", r->cases[0].error);
	assert_true(r->cases[0].verified);
	/* Three ways to store the operands, two algorithms each that run, and their variations. */
	assert_non_null(strstr(r->cases[0].variant, "best of 2"));
	assert_null(strstr(r->cases[0].variant, "algorithm 1,"));
	assert_int_equal(r->cases[0].n_series, 2);
	arena_free(&a);
}

static void test_product_faults(void **state)
{
	(void)state;
	stub("gpus=1", "wrong=1", "");
	expect_error(&bench_gemm, "bf16:64", "element (0, 0)");
	expect_error(&bench_gemm, "int8:64", "element (0, 0)");
	stub("gpus=1", "nan=1", "");
	expect_error(&bench_gemm, "fp32:64", "are NaN or were never written");
	stub("gpus=1", "skip=1", "");
	expect_error(&bench_gemm, "fp16:64", "are NaN or were never written");
	expect_error(&bench_gemm, "int8:64", "are NaN or were never written");
	stub("gpus=1", "flips=1", "");
	expect_error(&bench_gemm, "bf16:64", "a repeated product differs");
	stub("gpus=1", "refuse=28", "");
	expect_error(&bench_gemm, "fp8-e4m3:64", "has no usable algorithm for fp8-e4m3");
	stub("gpus=1 version=12080", "notinit=1", "");
	expect_error(&bench_gemm, "bf16:64", "requires a driver for CUDA 13");
	stub("gpus=1", "nomemory=1", "");
	expect_error(&bench_gemm, "bf16:64", "CUBLAS_STATUS_ALLOC_FAILED");
	stub("gpus=1 memory=1000000", "", "");
	expect_error(&bench_gemm, "bf16:64", "cannot allocate 64 MiB");
}

/* Who is asked to stop makes no product. */
static void test_bits_stop(void **state)
{
	static const atomic_bool stop = true;
	struct arena a = { 0 };
	struct bench_env env = { .a = &a, .m = ARENA_NEW(&a, struct machine) };
	struct bench_cases ignored = { 0 };
	struct gemm_shared shared = { 0 };
	struct gpu_places on;
	struct err e = { 0 };
	const char *text;
	uint64_t bits;

	(void)state;
	stub("gpus=1", "", "");
	gpu_places_find(&env, &ignored, &on);
	assert_int_equal(on.n, 1);
	assert_int_equal(gemm_bits(&shared, on.items, &a, &stop, &bits, &text, &e), -EINTR);
	assert_false(shared.open);
	arena_free(&a);
}

static void test_load(void **state)
{
	(void)state;
	stub("gpus=2", "", "");
	expect_right(&bench_gpu_load, NULL, NULL);
}

static void test_collectives(void **state)
{
	struct arena a = { 0 };
	int code;
	struct record *r;

	(void)state;
	stub("gpus=2", "", "");
	expect_right(&bench_collectives, NULL, NULL);
	r = measured(&a, &bench_collectives, "all-reduce:64KiB", NULL, &code);
	assert_int_equal(code, 0);
	assert_non_null(strstr(r->cases[0].variant, "NCCL 2.21.9"));
	assert_non_null(strstr(r->cases[0].variant, "RING, LL"));
	assert_non_null(strstr(r->cases[0].variant, "P2P/CUMEM"));
	assert_non_null(strstr(r->cases[0].variant, "multicast off"));
	assert_string_equal(getenv("NCCL_NVLS_ENABLE"), "0");
	r = measured(&a, &bench_collectives, NULL, "0", &code);
	assert_int_equal(code, -ENODATA);
	assert_non_null(strstr(r->skipped[0].reason, "one GPU"));
	arena_free(&a);
}

static void test_collective_faults(void **state)
{
	(void)state;
	for (enum collective_op op = 0; op < COLLECTIVE_OPS; op++) {
		char name[64];

		stub("gpus=2", "", "wrong");
		snprintf(name, sizeof(name), "%s:64KiB", collective_name(op));
		expect_error(&bench_collectives, name, "received wrong data");
	}
	stub("gpus=2", "", "hang");
	expect_error(&bench_collectives, "all-reduce:64KiB", "was aborted");
	stub("gpus=2", "", "refuse");
	expect_error(&bench_collectives, "all-reduce:64KiB", "ncclSystemError");
	stub("gpus=2", "", "sockets");
	expect_error(&bench_collectives, "broadcast:64KiB", "NCCL uses TCP sockets");
	stub("gpus=2 memory=100000", "", "");
	expect_error(&bench_collectives, "all-reduce:64KiB", "are free");
}

/* It falls off the bus while its results are looked at. What it held stays with it: the last test
 * that needs its memory. */
static void test_lost(void **state)
{
	(void)state;
	stub("gpus=1 lost_after=8", "", "");
	expect_error(&bench_gemm, "bf16:64", "CUDA_ERROR_LAUNCH_FAILED");
	stub("gpus=2 lost_after=30 memory=1000000000", "", "");
	expect_error(&bench_collectives, "all-gather:64KiB", "CUDA_ERROR_LAUNCH_FAILED");
}

/* In a folder of its own, nothing, or a library without functions. */
static void test_libraries(void **state)
{
	char folder[] = "/tmp/gputune-test-XXXXXX", path[600], target[600];
	const char *real = getenv("GPUTUNE_LIB_DIR");
	static const char *const names[] = { "libcublasLt.so.14", "libnccl.so.2",
					     "libcusparseLt.so.0" };
	struct cublaslt lt;
	struct cusparselt sparse;
	struct nccl n;
	struct err e = { 0 };

	(void)state;
	assert_non_null(real);
	assert_non_null(mkdtemp(folder));
	snprintf(target, sizeof(target), "%s/hollow.so", real);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		assert_int_equal(symlink(target, path), 0);
	}
	setenv("GPUTUNE_LIB_DIR", folder, 1);
	setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
	assert_int_equal(cublaslt_open(&lt, &e), -ELIBACC);
	assert_non_null(strstr(e.text, "cublasLtMatmul"));
	/* What would change the arithmetic is gone, and it is said. */
	assert_null(getenv("NVIDIA_TF32_OVERRIDE"));
	assert_string_equal(lt.cleared, "NVIDIA_TF32_OVERRIDE");
	assert_int_equal(nccl_open(&n, &e), -ELIBACC);
	assert_non_null(strstr(e.text, "is not NCCL 2.7 or later"));
	assert_int_equal(cusparselt_open(&sparse, &e), -ELIBACC);
	assert_non_null(strstr(e.text, "has no cusparseLtMatmul"));
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes_there_and_back),
		cmocka_unit_test(test_codes_round),
		cmocka_unit_test(test_random_tables),
		cmocka_unit_test(test_nan_never_passes),
		cmocka_unit_test(test_tables_agree),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_collective_numbers),
		cmocka_unit_test(test_nccl_log),
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_scale_places),
		cmocka_unit_test(test_block_scales),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_product_faults),
		cmocka_unit_test(test_bits_stop),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_collectives),
		cmocka_unit_test(test_collective_faults),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
