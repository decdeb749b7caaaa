/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast memory is read, written, copied, and combined (a = b + 3 c), by which CPUs and from
 * which node. Every worker touches its own part first, so that it lies on its own node unless a
 * node is asked for.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/bench.h"
#include "measure/bench/memory_bandwidth.h"
#include "measure/bench/memory_latency.h"

struct bandwidth_arg {
	enum memory_op op;
	struct idset cpus;
	int node;			      /* -1: each CPU's own */
	const struct memory_kernel **fastest; /* found by the first set-up; to NULL before */
};

struct bandwidth {
	const struct bandwidth_arg *arg;
	const struct memory_kernel *kernel;
	struct workers *workers;
	double *a, *b, *c;
	size_t n, part; /* doubles: of an array, of a worker */
	size_t passes;
	double sample_s;	/* how long a sample takes */
	uint64_t *want, *wrong; /* sums, and passes with another sum; one a worker */
};

static double pattern_b(size_t i)
{
	return 1 + (double)(i % 1024) / 1024;
}

static double pattern_c(size_t i)
{
	return 2 + (double)(i % 509) / 512;
}

static void part_of(const struct bandwidth *s, size_t i, size_t *from, size_t *n)
{
	*from = i * s->part;
	*n = *from >= s->n ? 0 : s->n - *from < s->part ? s->n - *from : s->part;
}

static void memory_bandwidth_touch(void *ctx, size_t i)
{
	struct bandwidth *s = ctx;
	size_t from, n;

	part_of(s, i, &from, &n);
	for (size_t k = from; k < from + n; k++) {
		uint64_t bits;

		s->b[k] = pattern_b(k);
		memcpy(&bits, &s->b[k], sizeof(bits));
		s->want[i] += bits;
		if (s->c)
			s->c[k] = pattern_c(k);
		if (s->a)
			s->a[k] = 0;
	}
}

static void memory_bandwidth_pass(void *ctx, size_t i)
{
	struct bandwidth *s = ctx;
	size_t from, n;

	part_of(s, i, &from, &n);
	for (size_t p = 0; p < s->passes; p++)
		switch (s->arg->op) {
		case MEMORY_READ:
			s->wrong[i] += s->kernel->read(s->b + from, n) != s->want[i];
			break;
		case MEMORY_WRITE:
			s->kernel->write(s->a + from, n);
			break;
		case MEMORY_COPY:
			s->kernel->copy(s->a + from, s->b + from, n);
			break;
		default:
			s->kernel->triad(s->a + from, s->b + from, s->c + from, n);
		}
}

static bool memory_kernel_has(const struct memory_kernel *k, enum memory_op op)
{
	return (op == MEMORY_READ && k->read) || (op == MEMORY_WRITE && k->write) ||
	       (op == MEMORY_COPY && k->copy) || (op == MEMORY_TRIAD && k->triad);
}

/* Tries all kernels, once for all rounds, keeps the fastest, and how many passes make a sample. */
static void memory_bandwidth_choose(struct bandwidth *s)
{
	double best = INFINITY;

	s->passes = 1;
	for (size_t i = 0; i < memory_kernel_count; i++) {
		const struct memory_kernel *k = &memory_kernels[i], *old = s->kernel;
		double t = INFINITY;

		if (!k->usable() || !memory_kernel_has(k, s->arg->op) ||
		    (*s->arg->fastest && k != *s->arg->fastest))
			continue;
		s->kernel = k;
		for (int again = 0; again < 3; again++)
			t = fmin(t, workers_run(s->workers, memory_bandwidth_pass, s));
		if (t < best)
			best = t;
		else
			s->kernel = old;
	}
	*s->arg->fastest = s->kernel;
	s->passes = best < s->sample_s ? (size_t)fmin(s->sample_s / fmax(best, 1e-7), 10000) : 1;
	if (!s->passes)
		s->passes = 1;
}

static size_t array_bytes(const struct bench_env *env)
{
	long long cache = memory_cache_total(env->m),
		  free_kb = fact_or(&env->m->memory.available_kb, 1 << 20),
		  want = cache > 0 ? 4 * cache : 256ll << 20;

	if (env->small)
		return 256 << 10;
	if (want < 64ll << 20)
		want = 64ll << 20;
	if (want > free_kb * 1024 / 8)
		want = free_kb * 1024 / 8;
	return (size_t)want / 4096 * 4096;
}

static void bandwidth_teardown(void *state)
{
	struct bandwidth *s = state;
	size_t bytes = s->n * sizeof(double);

	if (s->workers)
		workers_end(s->workers);
	memory_unmap(s->a, bytes);
	memory_unmap(s->b, bytes);
	memory_unmap(s->c, bytes);
	free(s->want);
	free(s->wrong);
}

static int map_arrays(struct bandwidth *s, struct err *e)
{
	size_t bytes = s->n * sizeof(double);
	void *p[3] = { NULL, NULL, NULL };
	int r = memory_map(bytes, PAGES_HUGE, s->arg->node, &p[1], e);

	if (r == 0 && s->arg->op != MEMORY_READ)
		r = memory_map(bytes, PAGES_HUGE, s->arg->node, &p[0], e);
	if (r == 0 && s->arg->op == MEMORY_TRIAD)
		r = memory_map(bytes, PAGES_HUGE, s->arg->node, &p[2], e);
	s->a = p[0];
	s->b = p[1];
	s->c = p[2];
	return r;
}

static int bandwidth_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			   const char **variant, struct err *e)
{
	struct bandwidth *s = state;
	size_t n;
	int r;

	s->arg = c->arg;
	s->n = array_bytes(env) / sizeof(double);
	s->sample_s = env->small ? 1e-3 : 20e-3;
	r = map_arrays(s, e);
	if (r == 0)
		r = workers_start(&s->arg->cpus, &s->workers, e);
	if (r)
		return r;
	n = workers_count(s->workers);
	s->part = (s->n / n + 63) / 64 * 64;
	s->want = heap_array(n, sizeof(*s->want));
	s->wrong = heap_array(n, sizeof(*s->wrong));
	workers_run(s->workers, memory_bandwidth_touch, s);
	memory_bandwidth_choose(s);
	*variant = s->kernel->name;
	return 0;
}

/* Bytes read and written per element as the program sees them; what a cache reads before a write
 * is not counted. */
static size_t memory_op_bytes(enum memory_op op)
{
	static const size_t bytes[] = { 8, 8, 16, 24 };

	return bytes[op];
}

static int bandwidth_run(void *state, struct bench_sample *out, struct err *e)
{
	struct bandwidth *s = state;
	double t = workers_run(s->workers, memory_bandwidth_pass, s);

	if (!(t > 0))
		return err_set(e, -ETIME, "the clock did not advance");
	out->value[0] = (double)(s->n * memory_op_bytes(s->arg->op) * s->passes) / t / 1e9;
	return 0;
}

static double memory_bandwidth_wanted(const struct bandwidth *s, size_t i)
{
	switch (s->arg->op) {
	case MEMORY_WRITE:
		return MEMORY_FILL;
	case MEMORY_COPY:
		return pattern_b(i);
	default:
		return pattern_b(i) + MEMORY_SCALE * pattern_c(i);
	}
}

static int bandwidth_verify(void *state, struct err *e)
{
	struct bandwidth *s = state;

	for (size_t i = 0; s->arg->op == MEMORY_READ && i < workers_count(s->workers); i++)
		if (s->wrong[i])
			return err_set(
				e, -EILSEQ,
				"worker %zu read different data than was written, %llu times", i,
				(unsigned long long)s->wrong[i]);
	for (size_t i = 0; s->a && i < s->n; i++)
		/* Bit for bit: all values are exact. */
		if (s->a[i] < memory_bandwidth_wanted(s, i) ||
		    s->a[i] > memory_bandwidth_wanted(s, i) || isnan(s->a[i]))
			return err_set(e, -EILSEQ, "element %zu of %zu is %g, not %g", i, s->n,
				       s->a[i], memory_bandwidth_wanted(s, i));
	return 0;
}

/* --- cases ------------------------------------------------------------------------------------ */

static const char *memory_op_name(enum memory_op op)
{
	static const char *const names[] = { "read", "write", "copy", "triad" };

	return names[op];
}

static void memory_bandwidth_add(const struct bench_env *env, struct bench_cases *out,
				 enum memory_op op, const char *suffix, struct idset cpus, int node)
{
	struct bandwidth_arg *arg = ARENA_NEW(env->a, struct bandwidth_arg);
	const char *list = idset_format(env->a, &cpus);

	*arg = (struct bandwidth_arg){ op, cpus, node,
				       ARENA_NEW(env->a, const struct memory_kernel *) };
	bench_case_add(
		env->a, out,
		(struct bench_case){
			.name = arena_printf(env->a, "%s%s", memory_op_name(op), suffix),
			.setup = arena_printf(env->a, "arrays of %zu MiB, %zu threads",
					      array_bytes(env) >> 20, idset_count(&cpus)),
			.placement = node < 0
					     ? arena_printf(env->a,
							    "one thread on each of CPUs %s, memory "
							    "on the NUMA node of the first access",
							    list)
					     : arena_printf(env->a,
							    "one thread on each of CPUs %s, memory "
							    "on node %d",
							    list, node),
			.arg = arg });
}

/* Every node's CPUs from their own memory, and from every other node's. */
static void add_nodes(const struct bench_env *env, struct bench_cases *out)
{
	LIST_FOR_EACH (const struct numa_node, n, &env->m->cpu.nodes) {
		struct idset cpus = idset_both(env->a, &n->cpus.v, &env->cpus);

		if (!idset_count(&cpus))
			continue;
		LIST_FOR_EACH (const struct numa_node, memory, &env->m->cpu.nodes)
			if (fact_or(&memory->mem_total_bytes, 0) > 0)
				memory_bandwidth_add(
					env, out, n == memory ? MEMORY_TRIAD : MEMORY_READ,
					arena_printf(env->a,
						     n == memory ? ":node%u" : ":node%u-from%u",
						     n->index, memory->index),
					cpus, (int)memory->index);
	}
}

static void bandwidth_cases(const struct bench_env *env, struct bench_cases *out)
{
	size_t all = idset_count(&env->cpus), n = 0;
	struct idset some = { 0 };

	for (enum memory_op op = 0; op < MEMORY_OPS; op++)
		memory_bandwidth_add(env, out, op, "", env->cpus, -1);
	if (env->m->cpu.nodes.n > 1)
		add_nodes(env, out);
	if (env->m->cpu.types.n > 1)
		LIST_FOR_EACH (const struct core_type, t, &env->m->cpu.types) {
			struct idset cpus = idset_both(env->a, &t->cpus.v, &env->cpus);

			if (idset_count(&cpus))
				memory_bandwidth_add(env, out, MEMORY_TRIAD,
						     arena_printf(env->a, ":%s", t->name), cpus,
						     -1);
		}
	/* How many threads it takes: 1, 2, 4, ... in the order of the CPUs' numbers. */
	IDSET_FOR_EACH (cpu, &env->cpus) {
		struct idset copy = { 0 };

		idset_add(env->a, &some, cpu);
		n++;
		if (n >= all || (n & (n - 1)))
			continue;
		IDSET_FOR_EACH (id, &some)
			idset_add(env->a, &copy, id);
		memory_bandwidth_add(env, out, MEMORY_TRIAD,
				     arena_printf(env->a, ":%zu-thread%s", n, PLURAL(n)), copy, -1);
	}
}

static struct bench_limit bandwidth_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct bandwidth_arg *arg = c->arg;

	return limit_memory(env, limit_sockets(env->m, &arg->cpus, arg->node));
}

static const struct bench_figure figures[] = {
	{ "rate", "rate", "gb_per_s", "GB/s", BENCH_HIGHER },
};

const struct bench bench_memory_bandwidth = {
	.name = "memory-bandwidth",
	.title = "bandwidth of memory: read, write, copy, triad",
	.method = "Arrays are at least four times the last-level cache. The result is that of the "
		  "fastest vector width, with stores either through the cache or around it. Bytes "
		  "per element, as the program sees them: read 8, write 8, copy 16, triad 24. GB "
		  "are 10^9 bytes. All data is checked afterwards.",
	.version = 1,
	FIGURES(figures),
	.brief = "read write copy triad",
	.seconds = 2,
	.rounds = 5,
	.cases = bandwidth_cases,
	.state_size = sizeof(struct bandwidth),
	.setup = bandwidth_setup,
	.run = bandwidth_run,
	.verify = bandwidth_verify,
	.teardown = bandwidth_teardown,
	.limit = bandwidth_limit,
};

/* The table of loops of the processor this was compiled for, and the loops themselves. */

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

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
