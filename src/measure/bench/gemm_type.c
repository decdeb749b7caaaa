/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of number formats, their codes there and back, and the random tables. Layouts of the
 * eight-bit formats: "FP8 Formats for Deep Learning" (Micikevicius and others, 2022); of four bits:
 * OCP Microscaling Formats 1.0.
 */
#include "measure/bench/gemm_type.h"

#include <math.h>
#include <string.h>

#include "base/stat.h"

#define ULP(bits) (1.0 / (double)(1ull << (bits)))

/* clang-format off */
/* Codes of A, B and D; multiple, block and cc_min; sigma, round, sum and sum_k; flags; why. */
#define CODES(a_, b_, d_) .a = CODE_##a_, .b = CODE_##b_, .d = CODE_##d_
#define NEEDS(multiple_, block_, cc_) .multiple = (multiple_), .block = (block_), .cc_min = (cc_)
#define ERROR(sigma_, round_, sum_, sum_k_) \
	.sigma = (sigma_), .round = (round_), .sum = (sum_), .sum_k = (sum_k_)

const struct gemm_type gemm_types[] = {
	{ .name = "bf16", CODES(BF16, BF16, BF16), NEEDS(8, 0, 80),
	  ERROR(1, ULP(8), ULP(11), ULP(23)),
	  .why = "tensor cores support BF16 from compute capability 8.0 on" },
	{ .name = "fp16", CODES(F16, F16, F16), NEEDS(8, 0, 70),
	  ERROR(1, ULP(10), ULP(11), ULP(23)),
	  .why = "tensor cores require compute capability 7.0" },
	{ .name = "fp8-e4m3", CODES(E4M3, E4M3, BF16), NEEDS(16, 0, 89), .tn_only = true,
	  ERROR(1, ULP(8), 0.1, ULP(18)),
	  .why = "tensor cores support FP8 from compute capability 8.9 on" },
	{ .name = "fp8-e5m2", CODES(E5M2, E4M3, BF16), NEEDS(16, 0, 89), .tn_only = true,
	  ERROR(1, ULP(8), 0.1, ULP(18)),
	  .why = "tensor cores support FP8 from compute capability 8.9 on" },
	{ .name = "int8", CODES(I8, I8, I32), NEEDS(16, 0, 75), .tn_only = true, .uniform = true,
	  .why = "tensor cores support INT8 from compute capability 7.5 on" },
	{ .name = "tf32", CODES(F32, F32, F32), NEEDS(4, 0, 80), .tf32 = true,
	  ERROR(1, ULP(9), ULP(8), ULP(23)),
	  .why = "tensor cores support TF32 from compute capability 8.0 on" },
	{ .name = "fp32", CODES(F32, F32, F32), NEEDS(1, 0, 0),
	  ERROR(1, ULP(23), 0, ULP(24)) },
	{ .name = "fp64", CODES(F64, F64, F64), NEEDS(1, 0, 0),
	  ERROR(1, ULP(52), 0, ULP(52)) },
	{ .name = "sparse-bf16", CODES(BF16, BF16, BF16), NEEDS(32, 0, 80),
	  .tn_only = true, .sparse = true,
	  ERROR(1, ULP(8), ULP(11), ULP(23)),
	  .why = "sparse tensor cores require compute capability 8.0" },
	{ .name = "sparse-fp16", CODES(F16, F16, F16), NEEDS(32, 0, 80),
	  .tn_only = true, .sparse = true,
	  ERROR(1, ULP(10), ULP(11), ULP(23)),
	  .why = "sparse tensor cores require compute capability 8.0" },
	{ .name = "sparse-fp8", CODES(E4M3, E4M3, BF16), NEEDS(32, 0, 89),
	  .tn_only = true, .sparse = true,
	  ERROR(1, ULP(8), 0.1, ULP(18)),
	  .why = "tensor cores support sparse FP8 from compute capability 8.9 on" },
	{ .name = "sparse-int8", CODES(I8, I8, I32), NEEDS(32, 0, 80),
	  .tn_only = true, .sparse = true, .uniform = true,
	  .why = "sparse tensor cores require compute capability 8.0" },
	{ .name = "mxfp8", CODES(E4M3, E4M3, BF16), NEEDS(128, 32, 100), .tn_only = true,
	  ERROR(1, ULP(8), 0.02, ULP(20)),
	  .why = "block-scaled FP8 requires compute capability 10.0 (Blackwell)" },
	{ .name = "nvfp4", CODES(E2M1, E2M1, BF16), NEEDS(128, 16, 100), .tn_only = true,
	  ERROR(2, ULP(8), 0.02, ULP(20)),
	  .why = "NVFP4 requires compute capability 10.0 (Blackwell)" },
};
/* clang-format on */
const size_t gemm_type_count = sizeof(gemm_types) / sizeof(gemm_types[0]);

const struct gemm_type *gemm_type_find(const char *name, size_t len)
{
	for (size_t i = 0; i < gemm_type_count; i++)
		if (strlen(gemm_types[i].name) == len && memcmp(gemm_types[i].name, name, len) == 0)
			return &gemm_types[i];
	return NULL;
}

/* --- codes ------------------------------------------------------------------------------------ */
struct layout {
	unsigned bits, mantissa; /* mantissa 0: an integer */
	int bias;
	uint64_t largest; /* code of the largest finite value */
};

static const struct layout layouts[GEMM_CODES] = {
	[CODE_F64] = { 64, 52, 1023, 0x7fefffffffffffff },
	[CODE_F32] = { 32, 23, 127, 0x7f7fffff },
	[CODE_F16] = { 16, 10, 15, 0x7bff },
	[CODE_BF16] = { 16, 7, 127, 0x7f7f },
	[CODE_E4M3] = { 8, 3, 7, 0x7e },
	[CODE_E5M2] = { 8, 2, 15, 0x7b },
	[CODE_E2M1] = { 4, 1, 1, 0x7 },
	[CODE_I8] = { 8, 0, 0, 0x7f },
	[CODE_I32] = { 32, 0, 0, 0x7fffffff },
};

unsigned gemm_code_bits(enum gemm_code c)
{
	return layouts[c].bits;
}

static double decode_integer(const struct layout *l, uint64_t code)
{
	uint64_t sign = 1ull << (l->bits - 1), all = (sign << 1) - 1;

	code &= all;
	return code & sign ? -(double)(all - code + 1) : (double)code;
}

double gemm_decode(enum gemm_code c, uint64_t code)
{
	const struct layout *l = &layouts[c];
	uint64_t sign = 1ull << (l->bits - 1), magnitude = code & (sign - 1),
		 m = magnitude & ((1ull << l->mantissa) - 1);
	int e = (int)(magnitude >> l->mantissa);
	double v;

	if (!l->mantissa)
		return decode_integer(l, code);
	if (magnitude > l->largest)
		/* E4M3 has no infinity; elsewhere it is the code after the largest. */
		v = c != CODE_E4M3 && magnitude == l->largest + 1 ? INFINITY : NAN;
	else if (e)
		v = ldexp((double)(m + (1ull << l->mantissa)), e - l->bias - (int)l->mantissa);
	else
		v = ldexp((double)m, 1 - l->bias - (int)l->mantissa);
	return code & sign ? -v : v;
}

double gemm_largest(enum gemm_code c)
{
	return gemm_decode(c, layouts[c].largest);
}

static uint64_t encode_integer(const struct layout *l, double v)
{
	double most = (double)l->largest;

	v = rint(fmin(fmax(v, -most), most));
	return (uint64_t)(int64_t)v & (l->largest << 1 | 1);
}

uint64_t gemm_encode(enum gemm_code c, double v)
{
	const struct layout *l = &layouts[c];
	uint64_t sign = signbit(v) ? 1ull << (l->bits - 1) : 0, q;
	int e;

	if (!l->mantissa)
		return encode_integer(l, v);
	v = fabs(v);
	if (v >= gemm_largest(c))
		return sign | l->largest;
	if (!(v > 0))
		return sign;
	frexp(v, &e);
	e = e - 1 < 1 - l->bias ? 1 - l->bias : e - 1;
	/* An integer, ties to even; a carry goes on into the exponent by itself. */
	q = (uint64_t)rint(ldexp(v, (int)l->mantissa - e));
	q += (uint64_t)(e + l->bias - 1) << l->mantissa;
	return sign | (q > l->largest ? l->largest : q);
}

void gemm_bad_bits(enum gemm_code c, uint64_t *bits, uint64_t *value)
{
	const struct layout *l = &layouts[c];

	*bits = (l->largest << 1 | 1);
	*value = 0x8080808080808080 & *bits;
	if (!l->mantissa)
		return;
	*bits = ((1ull << (l->bits - 1)) - 1) & ~((1ull << l->mantissa) - 1);
	*value = *bits;
}

unsigned char gemm_poison(enum gemm_code c)
{
	return layouts[c].mantissa ? 0xff : 0x80;
}

/* --- random tables ---------------------------------------------------------------------------- */
void gemm_table_fill(const struct gemm_type *t, enum gemm_code c, uint64_t seed, uint64_t *table)
{
	struct stat_random r = { seed };
	double most = gemm_largest(c);

	for (size_t i = 0; i < GEMM_TABLE; i++) {
		double v = INFINITY;

		if (t->uniform)
			v = (double)stat_random_below(&r, 2 * (size_t)most + 1) - most;
		while (fabs(v) > most)
			v = t->sigma * stat_random_normal(&r);
		table[i] = gemm_encode(c, v);
	}
}

/* The constants of a 64-bit mixer (Stafford's variant 13), as in gemm.ptx. */
uint32_t gemm_pick(uint64_t seed, uint64_t i)
{
	uint64_t z = (i + seed) * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)(z >> 48);
}

bool gemm_stays(uint64_t seed, uint64_t i)
{
	/* Of the six pairs, four bits each. */
	unsigned pair = gemm_pick(seed, i / 4) * 6 >> 16;

	return 0xca6953u >> (4 * pair + i % 4) & 1;
}

/* --- scales of blocks ------------------------------------------------------------------------- */
enum { TILE_ROWS = 128, TILE_BLOCKS = 4, TILE_BYTES = 512, TILE_STRIDE = 32 };

size_t gemm_scale_bytes(const struct gemm_type *t, uint64_t rows, uint64_t k)
{
	uint64_t tile = (uint64_t)TILE_BLOCKS * t->block;

	return t->block ? (size_t)((k + tile - 1) / tile * ((rows + TILE_ROWS - 1) / TILE_ROWS) *
				   TILE_BYTES)
			: 0;
}

uint64_t gemm_scale_place(const struct gemm_type *t, uint64_t row, uint64_t at, uint64_t k)
{
	uint64_t tile = (uint64_t)TILE_BLOCKS * t->block, across = (k + tile - 1) / tile,
		 block = at / t->block;

	return (row / TILE_ROWS * across + block / TILE_BLOCKS) * TILE_BYTES +
	       row % TILE_STRIDE * (TILE_BYTES / TILE_STRIDE) +
	       row % TILE_ROWS / TILE_STRIDE * TILE_BLOCKS + block % TILE_BLOCKS;
}

void gemm_scale_table(const struct gemm_type *t, uint64_t seed, uint64_t *table, double *values)
{
	/* UE4M3 is E4M3 without a sign: 0.5 to 2; UE8M0 is the exponent alone: 0.5, 1, 2. */
	enum { HALF_E4M3 = 0x30, E4M3_STEPS = 17, HALF_E8M0 = 0x7e, E8M0_STEPS = 3, ONE = 0x7f };
	struct stat_random r = { seed };
	bool small = t->block == 16;

	for (size_t i = 0; i < GEMM_TABLE; i++) {
		table[i] = small ? HALF_E4M3 + stat_random_below(&r, E4M3_STEPS)
				 : HALF_E8M0 + stat_random_below(&r, E8M0_STEPS);
		values[i] =
			small ? gemm_decode(CODE_E4M3, table[i]) : ldexp(1, (int)table[i] - ONE);
	}
}

size_t gemm_bytes(enum gemm_code c, uint64_t n)
{
	return (size_t)((n * layouts[c].bits + 127) / 128 * 16);
}

double gemm_tolerance(const struct gemm_type *t, double exact, double magnitude, uint64_t k)
{
	return t->round * fabs(exact) +
	       (t->sum + t->sum_k * (double)k) * magnitude / sqrt((double)k);
}

bool gemm_close(const struct gemm_type *t, double got, double exact, double magnitude, uint64_t k)
{
	return fabs(got - exact) <= gemm_tolerance(t, exact, magnitude, k);
}
