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

/* Through the cache: loops of which the compiler makes vectors, for sums of so many bytes. */
#define CACHED_LOOPS(suffix, target_, bytes)                                                       \
	target_ static uint64_t read_##suffix(const double *a, size_t n)                           \
	{                                                                                          \
		typedef uint64_t words __attribute__((vector_size(bytes)));                        \
		const words *p = (const words *)(const void *)a;                                   \
		words s0 = { 0 }, s1 = s0, s2 = s0, s3 = s0;                                       \
		uint64_t sum = 0;                                                                  \
                                                                                                   \
		for (size_t i = 0; i < n * sizeof(*a) / (bytes); i += 4) {                         \
			s0 += p[i];                                                                \
			s1 += p[i + 1];                                                            \
			s2 += p[i + 2];                                                            \
			s3 += p[i + 3];                                                            \
		}                                                                                  \
		s0 += s1 + s2 + s3;                                                                \
		for (size_t i = 0; i < (bytes) / sizeof(*a); i++)                                  \
			sum += s0[i];                                                              \
		return sum;                                                                        \
	}                                                                                          \
	target_ static void write_##suffix(double *a, size_t n)                                    \
	{                                                                                          \
		for (size_t i = 0; i < n; i++)                                                     \
			a[i] = MEMORY_FILL;                                                        \
	}                                                                                          \
	target_ static void copy_##suffix(double *restrict a, const double *restrict b, size_t n)  \
	{                                                                                          \
		for (size_t i = 0; i < n; i++)                                                     \
			a[i] = b[i];                                                               \
	}                                                                                          \
	target_ static void triad_##suffix(double *restrict a, const double *restrict b,           \
					   const double *restrict c, size_t n)                     \
	{                                                                                          \
		for (size_t i = 0; i < n; i++)                                                     \
			a[i] = b[i] + MEMORY_SCALE * c[i];                                         \
	}

/* Past it: type is a vector of doubles, stream what stores one. */
#define STREAM_LOOPS(suffix, target_, type, stream, fence)                                         \
	target_ static void write_##suffix(double *a, size_t n)                                    \
	{                                                                                          \
		const type v = (type){ 0 } + MEMORY_FILL;                                          \
                                                                                                   \
		for (size_t i = 0; i < n; i += sizeof(type) / sizeof(*a))                          \
			stream(a + i, v);                                                          \
		fence();                                                                           \
	}                                                                                          \
	target_ static void copy_##suffix(double *a, const double *b, size_t n)                    \
	{                                                                                          \
		for (size_t i = 0; i < n; i += sizeof(type) / sizeof(*a))                          \
			stream(a + i, *(const type *)(const void *)(b + i));                       \
		fence();                                                                           \
	}                                                                                          \
	target_ static void triad_##suffix(double *a, const double *b, const double *c, size_t n)  \
	{                                                                                          \
		for (size_t i = 0; i < n; i += sizeof(type) / sizeof(*a)) {                        \
			const type v = *(const type *)(const void *)(b + i) +                      \
				       MEMORY_SCALE * *(const type *)(const void *)(c + i);        \
                                                                                                   \
			stream(a + i, v);                                                          \
		}                                                                                  \
		fence();                                                                           \
	}

#define NO_TARGET
CACHED_LOOPS(plain, NO_TARGET, 16)

static bool always(void)
{
	return true;
}

#if defined(__x86_64__)

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f")))

CACHED_LOOPS(avx2, AVX2, 32)
CACHED_LOOPS(avx512, AVX512, 64)
STREAM_LOOPS(sse2_nt, NO_TARGET, __m128d, _mm_stream_pd, _mm_sfence)
STREAM_LOOPS(avx2_nt, AVX2, __m256d, _mm256_stream_pd, _mm_sfence)
STREAM_LOOPS(avx512_nt, AVX512, __m512d, _mm512_stream_pd, _mm_sfence)

const struct memory_kernel memory_kernels[] = {
	{ "sse2", always, read_plain, write_plain, copy_plain, triad_plain },
	{ "sse2, non-temporal", always, NULL, write_sse2_nt, copy_sse2_nt, triad_sse2_nt },
	{ "avx2", has_avx2, read_avx2, write_avx2, copy_avx2, triad_avx2 },
	{ "avx2, non-temporal", has_avx2, NULL, write_avx2_nt, copy_avx2_nt, triad_avx2_nt },
	{ "avx512", has_avx512, read_avx512, write_avx512, copy_avx512, triad_avx512 },
	{ "avx512, non-temporal", has_avx512, NULL, write_avx512_nt, copy_avx512_nt,
	  triad_avx512_nt },
};

#elif defined(__aarch64__)

typedef double two_vectors __attribute__((vector_size(32)));

/* No intrinsic makes this instruction. */
static inline void stream_pair(double *a, two_vectors v)
{
	const float64x2_t *p = (const float64x2_t *)&v;

	__asm__ volatile("stnp %q1, %q2, [%0]" : : "r"(a), "w"(p[0]), "w"(p[1]) : "memory");
}
#define NO_FENCE() ((void)0)

STREAM_LOOPS(neon_nt, NO_TARGET, two_vectors, stream_pair, NO_FENCE)

const struct memory_kernel memory_kernels[] = {
	{ "neon", always, read_plain, write_plain, copy_plain, triad_plain },
	{ "neon, non-temporal", always, NULL, write_neon_nt, copy_neon_nt, triad_neon_nt },
};

#else

const struct memory_kernel memory_kernels[] = {
	{ "plain", always, read_plain, write_plain, copy_plain, triad_plain },
};

#endif

const size_t memory_kernel_count = sizeof(memory_kernels) / sizeof(memory_kernels[0]);
