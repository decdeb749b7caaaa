/* SPDX-License-Identifier: Apache-2.0 */
/* The table of loops of the processor this was compiled for, and the loops themselves. */
#include "measure/bench/memory_kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

const char *memory_op_name(enum memory_op op)
{
	static const char *const names[] = { "read", "write", "copy", "triad" };

	return names[op];
}

size_t memory_op_bytes(enum memory_op op)
{
	static const size_t bytes[] = { 8, 8, 16, 24 };

	return bytes[op];
}

bool memory_kernel_has(const struct memory_kernel *k, enum memory_op op)
{
	return (op == MEMORY_READ && k->read) || (op == MEMORY_WRITE && k->write) ||
	       (op == MEMORY_COPY && k->copy) || (op == MEMORY_TRIAD && k->triad);
}

#if defined(__x86_64__)

static bool has_sse2(void)
{
	return true;
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

static uint64_t sum_of_two(__m128i s)
{
	return (uint64_t)_mm_cvtsi128_si64(s) +
	       (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(s, s));
}

static uint64_t read_sse2(const double *a, size_t n)
{
	__m128i s0 = _mm_setzero_si128(), s1 = s0, s2 = s0, s3 = s0;
	const __m128i *p = (const __m128i *)(const void *)a;

	for (size_t i = 0; i < n / 2; i += 4) {
		s0 = _mm_add_epi64(s0, _mm_load_si128(p + i));
		s1 = _mm_add_epi64(s1, _mm_load_si128(p + i + 1));
		s2 = _mm_add_epi64(s2, _mm_load_si128(p + i + 2));
		s3 = _mm_add_epi64(s3, _mm_load_si128(p + i + 3));
	}
	return sum_of_two(_mm_add_epi64(_mm_add_epi64(s0, s1), _mm_add_epi64(s2, s3)));
}

__attribute__((target("avx2"))) static uint64_t read_avx2(const double *a, size_t n)
{
	__m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
	const __m256i *p = (const __m256i *)(const void *)a;
	uint64_t out[4];

	for (size_t i = 0; i < n / 4; i += 4) {
		s0 = _mm256_add_epi64(s0, _mm256_load_si256(p + i));
		s1 = _mm256_add_epi64(s1, _mm256_load_si256(p + i + 1));
		s2 = _mm256_add_epi64(s2, _mm256_load_si256(p + i + 2));
		s3 = _mm256_add_epi64(s3, _mm256_load_si256(p + i + 3));
	}
	s0 = _mm256_add_epi64(_mm256_add_epi64(s0, s1), _mm256_add_epi64(s2, s3));
	memcpy(out, &s0, sizeof(out));
	return out[0] + out[1] + out[2] + out[3];
}

__attribute__((target("avx512f"))) static uint64_t read_avx512(const double *a, size_t n)
{
	__m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0;
	__m256i half;

	for (size_t i = 0; i < n; i += 32) {
		s0 = _mm512_add_epi64(s0, _mm512_load_si512(a + i));
		s1 = _mm512_add_epi64(s1, _mm512_load_si512(a + i + 8));
		s2 = _mm512_add_epi64(s2, _mm512_load_si512(a + i + 16));
		s3 = _mm512_add_epi64(s3, _mm512_load_si512(a + i + 24));
	}
	s0 = _mm512_add_epi64(_mm512_add_epi64(s0, s1), _mm512_add_epi64(s2, s3));
	/* In registers: gcc 13 aligns an array for them too little when it watches the stack. */
	half = _mm256_add_epi64(_mm512_castsi512_si256(s0), _mm512_extracti64x4_epi64(s0, 1));
	return sum_of_two(
		_mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}

/* One set of loops: vector type, lanes, load, store, what to do after the last store. */
#define X86_LOOPS(suffix, target_, type, lanes, set1, load, store, add, mul, fence)                \
	target_ static void write_##suffix(double *a, size_t n)                                    \
	{                                                                                          \
		const type v = set1(MEMORY_FILL);                                                  \
                                                                                                   \
		for (size_t i = 0; i < n; i += 4 * (lanes)) {                                      \
			store(a + i, v);                                                           \
			store(a + i + (lanes), v);                                                 \
			store(a + i + 2 * (lanes), v);                                             \
			store(a + i + 3 * (lanes), v);                                             \
		}                                                                                  \
		fence();                                                                           \
	}                                                                                          \
	target_ static void copy_##suffix(double *a, const double *b, size_t n)                    \
	{                                                                                          \
		for (size_t i = 0; i < n; i += 4 * (lanes)) {                                      \
			type v0 = load(b + i), v1 = load(b + i + (lanes)),                         \
			     v2 = load(b + i + 2 * (lanes)), v3 = load(b + i + 3 * (lanes));       \
                                                                                                   \
			store(a + i, v0);                                                          \
			store(a + i + (lanes), v1);                                                \
			store(a + i + 2 * (lanes), v2);                                            \
			store(a + i + 3 * (lanes), v3);                                            \
		}                                                                                  \
		fence();                                                                           \
	}                                                                                          \
	target_ static void triad_##suffix(double *a, const double *b, const double *c, size_t n)  \
	{                                                                                          \
		const type k = set1(MEMORY_SCALE);                                                 \
                                                                                                   \
		for (size_t i = 0; i < n; i += 2 * (lanes)) {                                      \
			type v0 = add(load(b + i), mul(k, load(c + i)));                           \
			type v1 = add(load(b + i + (lanes)), mul(k, load(c + i + (lanes))));       \
                                                                                                   \
			store(a + i, v0);                                                          \
			store(a + i + (lanes), v1);                                                \
		}                                                                                  \
		fence();                                                                           \
	}

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f")))
#define NO_TARGET
#define NO_FENCE() ((void)0)

X86_LOOPS(sse2, NO_TARGET, __m128d, 2, _mm_set1_pd, _mm_load_pd, _mm_store_pd, _mm_add_pd,
	  _mm_mul_pd, NO_FENCE)
X86_LOOPS(sse2_nt, NO_TARGET, __m128d, 2, _mm_set1_pd, _mm_load_pd, _mm_stream_pd, _mm_add_pd,
	  _mm_mul_pd, _mm_sfence)
X86_LOOPS(avx2, AVX2, __m256d, 4, _mm256_set1_pd, _mm256_load_pd, _mm256_store_pd, _mm256_add_pd,
	  _mm256_mul_pd, NO_FENCE)
X86_LOOPS(avx2_nt, AVX2, __m256d, 4, _mm256_set1_pd, _mm256_load_pd, _mm256_stream_pd,
	  _mm256_add_pd, _mm256_mul_pd, _mm_sfence)
X86_LOOPS(avx512, AVX512, __m512d, 8, _mm512_set1_pd, _mm512_load_pd, _mm512_store_pd,
	  _mm512_add_pd, _mm512_mul_pd, NO_FENCE)
X86_LOOPS(avx512_nt, AVX512, __m512d, 8, _mm512_set1_pd, _mm512_load_pd, _mm512_stream_pd,
	  _mm512_add_pd, _mm512_mul_pd, _mm_sfence)

const struct memory_kernel memory_kernels[] = {
	{ "sse2", has_sse2, read_sse2, write_sse2, copy_sse2, triad_sse2 },
	{ "sse2, non-temporal", has_sse2, NULL, write_sse2_nt, copy_sse2_nt, triad_sse2_nt },
	{ "avx2", has_avx2, read_avx2, write_avx2, copy_avx2, triad_avx2 },
	{ "avx2, non-temporal", has_avx2, NULL, write_avx2_nt, copy_avx2_nt, triad_avx2_nt },
	{ "avx512", has_avx512, read_avx512, write_avx512, copy_avx512, triad_avx512 },
	{ "avx512, non-temporal", has_avx512, NULL, write_avx512_nt, copy_avx512_nt,
	  triad_avx512_nt },
};

#elif defined(__aarch64__)

static bool always(void)
{
	return true;
}

static uint64_t read_neon(const double *a, size_t n)
{
	uint64x2_t s0 = vdupq_n_u64(0), s1 = s0, s2 = s0, s3 = s0;

	for (size_t i = 0; i < n; i += 8) {
		s0 = vaddq_u64(s0, vreinterpretq_u64_f64(vld1q_f64(a + i)));
		s1 = vaddq_u64(s1, vreinterpretq_u64_f64(vld1q_f64(a + i + 2)));
		s2 = vaddq_u64(s2, vreinterpretq_u64_f64(vld1q_f64(a + i + 4)));
		s3 = vaddq_u64(s3, vreinterpretq_u64_f64(vld1q_f64(a + i + 6)));
	}
	return vaddvq_u64(vaddq_u64(vaddq_u64(s0, s1), vaddq_u64(s2, s3)));
}

static inline void put_pair(double *a, float64x2_t v0, float64x2_t v1)
{
	vst1q_f64(a, v0);
	vst1q_f64(a + 2, v1);
}

/* No intrinsic makes this instruction. */
static inline void put_pair_nt(double *a, float64x2_t v0, float64x2_t v1)
{
	__asm__ volatile("stnp %q1, %q2, [%0]" : : "r"(a), "w"(v0), "w"(v1) : "memory");
}

#define ARM_LOOPS(suffix, put)                                                                     \
	static void write_##suffix(double *a, size_t n)                                            \
	{                                                                                          \
		const float64x2_t v = vdupq_n_f64(MEMORY_FILL);                                    \
                                                                                                   \
		for (size_t i = 0; i < n; i += 8) {                                                \
			put(a + i, v, v);                                                          \
			put(a + i + 4, v, v);                                                      \
		}                                                                                  \
	}                                                                                          \
	static void copy_##suffix(double *a, const double *b, size_t n)                            \
	{                                                                                          \
		for (size_t i = 0; i < n; i += 8) {                                                \
			float64x2_t v0 = vld1q_f64(b + i), v1 = vld1q_f64(b + i + 2),              \
				    v2 = vld1q_f64(b + i + 4), v3 = vld1q_f64(b + i + 6);          \
                                                                                                   \
			put(a + i, v0, v1);                                                        \
			put(a + i + 4, v2, v3);                                                    \
		}                                                                                  \
	}                                                                                          \
	static void triad_##suffix(double *a, const double *b, const double *c, size_t n)          \
	{                                                                                          \
		const float64x2_t k = vdupq_n_f64(MEMORY_SCALE);                                   \
                                                                                                   \
		for (size_t i = 0; i < n; i += 4)                                                  \
			put(a + i, vaddq_f64(vld1q_f64(b + i), vmulq_f64(k, vld1q_f64(c + i))),    \
			    vaddq_f64(vld1q_f64(b + i + 2), vmulq_f64(k, vld1q_f64(c + i + 2))));  \
	}

ARM_LOOPS(neon, put_pair)
ARM_LOOPS(neon_nt, put_pair_nt)

const struct memory_kernel memory_kernels[] = {
	{ "neon", always, read_neon, write_neon, copy_neon, triad_neon },
	{ "neon, non-temporal", always, NULL, write_neon_nt, copy_neon_nt, triad_neon_nt },
};

#else

static bool always(void)
{
	return true;
}

static uint64_t read_plain(const double *a, size_t n)
{
	uint64_t sum = 0, v;

	for (size_t i = 0; i < n; i++) {
		memcpy(&v, a + i, sizeof(v));
		sum += v;
	}
	return sum;
}

static void write_plain(double *a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] = MEMORY_FILL;
}

static void copy_plain(double *a, const double *b, size_t n)
{
	memcpy(a, b, n * sizeof(*a));
}

static void triad_plain(double *a, const double *b, const double *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + MEMORY_SCALE * c[i];
}

const struct memory_kernel memory_kernels[] = {
	{ "plain", always, read_plain, write_plain, copy_plain, triad_plain },
};

#endif

const size_t memory_kernel_count = sizeof(memory_kernels) / sizeof(memory_kernels[0]);
