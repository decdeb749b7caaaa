/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frequency a core really runs at: a chain of additions that each need the one before, of which
 * every core since two decades does one a cycle, against the clock. Where the kernel lets this
 * process count cycles, they say how many an addition took; nothing is believed that a driver says.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/bench/bench.h"
#include "measure/bench/frequency.h"

/* The chain and the load in the instructions of x86-64 and arm64, and the kernel's counter. */

uint64_t cycles_chain(uint64_t start, uint64_t step, uint64_t loops)
{
#if defined(__x86_64__)
	__asm__ volatile("1:\n\t"
			 ".rept 64\n\t"
			 "addq %2, %0\n\t"
			 ".endr\n\t"
			 "decq %1\n\t"
			 "jnz 1b"
			 : "+r"(start), "+r"(loops)
			 : "r"(step)
			 : "cc");
#elif defined(__aarch64__)
	__asm__ volatile("1:\n\t"
			 ".rept 64\n\t"
			 "add %0, %0, %2\n\t"
			 ".endr\n\t"
			 "subs %1, %1, #1\n\t"
			 "b.ne 1b"
			 : "+r"(start), "+r"(loops)
			 : "r"(step)
			 : "cc");
#else
#endif
	return start;
}

/* As many as one vector has: of 128 bits on arm64, of 256 on x86-64 where it has them. */
#if defined(__aarch64__)
enum { LANES = 4 };
#else
enum { LANES = 8 };
#endif

enum { CHAINS = 12, VECTOR_LOOPS = 2000, COUNTED_LOOPS = 2000, COUNTED_TIMES = 7 };

/* x = x / 2 + 1/2 in independent chains, enough of them to hide each one's latency: from 1 it
 * stays 1 in every lane. The sum of all lanes. */
static inline __attribute__((always_inline)) float load_loop(unsigned loops)
{
	float __attribute__((vector_size(LANES * sizeof(float)))) x[CHAINS], half = { 0 };
	float sum = 0;

	for (unsigned i = 0; i < CHAINS; i++)
		for (unsigned k = 0; k < LANES; k++) {
			unsigned one = 1;

			/* The compiler must not know that all chains are the same. */
			__asm__ volatile("" : "+r"(one));
			x[i][k] = (float)one;
			half[k] = 0.5f;
		}
	for (; loops; loops--) {
		/* The chains live in registers only when no loop is left over them. */
#pragma GCC unroll 16
		for (unsigned i = 0; i < CHAINS; i++)
			x[i] = x[i] * half + half;
	}
	for (unsigned i = 0; i < CHAINS; i++)
		for (unsigned k = 0; k < LANES; k++)
			sum += x[i][k];
	return sum;
}

#if defined(__x86_64__)
static __attribute__((target("avx2,fma"))) float load_avx2(unsigned loops)
{
	return load_loop(loops);
}
#endif

static float load_any(unsigned loops)
{
	return load_loop(loops);
}

bool cycles_vector_load(double length)
{
	float (*load)(unsigned) = load_any;
	double end = clock_mono_s() + length;
	bool right = true;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		load = load_avx2;
#endif
	do {
		float sum = load(VECTOR_LOOPS);

		right = right && sum > CHAINS * LANES - 0.5f && sum < CHAINS * LANES + 0.5f;
	} while (clock_mono_s() < end);
	return right;
}

static double cycles_count_once(int fd)
{
	uint64_t cycles = 0;

	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	cycles_chain(0, 1, COUNTED_LOOPS);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &cycles, sizeof(cycles)) != (ssize_t)sizeof(cycles))
		return 0;
	return (double)cycles / ((double)CYCLES_CHAIN * COUNTED_LOOPS);
}

double cycles_an_add(void)
{
	/* Only what this thread does in user mode: an unprivileged process may count that much. */
	struct perf_event_attr what = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof(what),
					.config = PERF_COUNT_HW_CPU_CYCLES,
					.disabled = 1,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	int fd;
	double least = 0;

	if (!CYCLES_CHAIN)
		return 0;
	fd = (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return 0;
	/* The least: what else the counter saw only adds. */
	for (int i = 0; i < COUNTED_TIMES; i++) {
		double c = cycles_count_once(fd);

		if (c > 0 && (!(least > 0) || c < least))
			least = c;
	}
	close(fd);
	return least;
}

enum { PIECES_MAX = 256, STEP = 3 };

static const double piece_s = 100e-6, load_s = 1e-3;

struct frequency_arg {
	struct idset cpus; /* that work */
	struct idset of;   /* whose frequency is the figure */
	bool vector;	   /* between pieces, vector units work */
};

struct frequency_core {
	double mhz;
	size_t wrong;
};

struct frequency {
	const struct frequency_arg *arg;
	struct workers *workers;
	struct frequency_core *cores;
	double *sorted;
	bool *counts; /* by worker */
	double cycles_an_add, sample_s;
	uint64_t loops; /* a piece */
	double calibrated;
};

/* The rate of one piece in additions a second. */
static double frequency_piece(const struct frequency *s, struct frequency_core *core)
{
	double from = clock_mono_s(), to;
	uint64_t sum = cycles_chain(1, STEP, s->loops);

	to = clock_mono_s();
	core->wrong += sum != 1 + STEP * CYCLES_CHAIN * s->loops;
	return (double)(CYCLES_CHAIN * s->loops) / (to - from);
}

static void frequency_work(void *ctx, size_t i)
{
	struct frequency *s = ctx;
	struct frequency_core *core = &s->cores[i];
	double rates[PIECES_MAX], end = clock_mono_s() + s->sample_s;
	size_t n = 0;

	do {
		if (s->arg->vector)
			core->wrong += !cycles_vector_load(load_s);
		rates[n++] = frequency_piece(s, core);
	} while (n < PIECES_MAX && clock_mono_s() < end);
	/* The median: a piece in which an interrupt came is no frequency. */
	core->mhz = stat_median_in_place(rates, n) * s->cycles_an_add / 1e6;
}

/* How many loops are a piece, and what an addition costs. On a core that has woken up. */
static void calibrate(void *ctx, size_t i)
{
	struct frequency *s = ctx;
	double from, t, end = clock_mono_s() + 2e-3;

	if (i)
		return;
	while (clock_mono_s() < end)
		cycles_chain(1, STEP, 1000);
	from = clock_mono_s();
	cycles_chain(1, STEP, 10000);
	t = clock_mono_s() - from;
	s->loops = t > 0 ? (uint64_t)(piece_s / t * 10000) + 1 : 1000;
	s->calibrated = cycles_an_add();
}

static void frequency_teardown(void *state)
{
	struct frequency *s = state;

	if (s->workers)
		workers_end(s->workers);
	free(s->cores);
	free(s->sorted);
	free(s->counts);
}

static int frequency_prepare(struct frequency *s, struct err *e)
{
	size_t n = idset_count(&s->arg->cpus), i = 0;

	s->cores = heap_array(n, sizeof(*s->cores));
	s->sorted = heap_array(n, sizeof(*s->sorted));
	s->counts = heap_array(n, sizeof(*s->counts));
	IDSET_FOR_EACH (cpu, &s->arg->cpus)
		s->counts[i++] = idset_has(&s->arg->of, cpu);
	return workers_start(&s->arg->cpus, &s->workers, e);
}

static int frequency_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			   const char **variant, struct err *e)
{
	struct frequency *s = state;
	int r;

	s->arg = c->arg;
	s->sample_s = env->small ? 1e-3 : 10e-3;
	r = frequency_prepare(s, e);
	if (r)
		return r;
	workers_run(s->workers, calibrate, s);
	s->cycles_an_add = s->calibrated > 0 ? s->calibrated : 1;
	*variant = s->calibrated > 0
			   ? arena_printf(env->a, "%.2f cycles per addition, by the cycle counter",
					  s->calibrated)
			   : "one cycle per addition is assumed: the cycle counter is not readable";
	return 0;
}

static int frequency_run(void *state, struct bench_sample *out, struct err *e)
{
	struct frequency *s = state;
	size_t n = 0;

	workers_run(s->workers, frequency_work, s);
	for (size_t i = 0; i < workers_count(s->workers); i++)
		if (s->counts[i])
			s->sorted[n++] = s->cores[i].mhz;
	if (!n)
		return err_set(e, -EINVAL, "no core is selected");
	out->value[0] = stat_median_in_place(s->sorted, n);
	out->value[1] = out->value[0];
	for (size_t i = 0; i < n; i++)
		out->value[1] = fmin(out->value[1], s->sorted[i]);
	return 0;
}

static int frequency_verify(void *state, struct err *e)
{
	struct frequency *s = state;

	for (size_t i = 0; i < workers_count(s->workers); i++)
		if (s->cores[i].wrong)
			return err_set(e, -EILSEQ,
				       "core %zu of %zu computed wrong results, %zu times", i + 1,
				       workers_count(s->workers), s->cores[i].wrong);
	return 0;
}

/* --- cases ------------------------------------------------------------------------------------ */

static void frequency_add(const struct bench_env *env, struct bench_cases *out, const char *name,
			  const struct frequency_arg *want)
{
	struct frequency_arg *arg = ARENA_NEW(env->a, struct frequency_arg);
	const char *list = idset_format(env->a, &want->cpus), *of;

	*arg = *want;
	of = idset_equal(&arg->cpus, &arg->of)
		     ? ""
		     : arena_printf(env->a, "; only results of CPUs %s count",
				    idset_format(env->a, &arg->of));
	bench_case_add(
		env->a, out,
		(struct bench_case){
			.name = name,
			.setup =
				arg->vector
					? "1 ms of vector arithmetic before each interval of 0.1 ms"
					: "consecutive intervals of 0.1 ms",
			.placement =
				arena_printf(env->a, "one thread on each of CPUs %s%s", list, of),
			.arg = arg,
			/* The slowest of one is that one. */
			.n_figures = idset_count(&arg->of) > 1 ? 2 : 1 });
}

/* One core of these alone, then all CPUs at once. type: NULL where there is one type alone. */
static void add_type(const struct bench_env *env, struct bench_cases *out, const char *type,
		     const struct idset *of)
{
	struct frequency_arg arg = { .of = { 0 } };
	const char *suffix = type ? arena_printf(env->a, ":%s", type) : "";
	unsigned last;

	if (!of->n)
		return;
	/* The last one: the first ones have the most interrupts. */
	last = of->r[of->n - 1].hi;
	idset_add(env->a, &arg.of, last);
	arg.cpus = arg.of;
	frequency_add(env, out, arena_printf(env->a, "one%s", suffix), &arg);
	arg = (struct frequency_arg){ env->cpus, *of, false };
	if (idset_count(&env->cpus) > 1)
		frequency_add(env, out, arena_printf(env->a, "all%s", suffix), &arg);
	arg.vector = true;
	frequency_add(env, out, arena_printf(env->a, "all%s:vector", suffix), &arg);
}

static void frequency_cases(const struct bench_env *env, struct bench_cases *out)
{
	if (!CYCLES_CHAIN) {
		out->none = "no loop with a known cycle count for this processor type";
		return;
	}
	if (env->m->cpu.types.n < 2) {
		add_type(env, out, NULL, &env->cpus);
		return;
	}
	LIST_FOR_EACH (const struct core_type, t, &env->m->cpu.types) {
		struct idset of = idset_both(env->a, &env->cpus, &t->cpus.v);

		add_type(env, out, t->name, &of);
	}
}

static struct bench_limit frequency_limit(const struct bench_env *env, const struct bench_case *c)
{
	return limit_frequency(env, &((const struct frequency_arg *)c->arg)->of);
}

static const struct bench_figure figures[] = {
	{ "frequency", "median of the cores", "mhz", "MHz", BENCH_HIGHER },
	{ "slowest", "slowest core", "mhz", "MHz", BENCH_HIGHER },
};

const struct bench bench_cpu_frequency = {
	.name = "cpu-frequency",
	.title = "actual frequency of cores: one core busy, and all cores busy",
	.method = "A chain of dependent register additions: one cycle each, timed in intervals of "
		  "0.1 ms; a core's figure is the median of its intervals, so interrupts do not "
		  "count. If the cycle counter is readable, it gives the cycles per addition. With "
		  ":vector, vector multiplications of 256 bits (128 on arm64) load the core for 1 "
		  "ms before each interval. The sums are checked.",
	.version = 1,
	FIGURES(figures),
	.seconds = 1,
	.rounds = 3,
	.cases = frequency_cases,
	.state_size = sizeof(struct frequency),
	.setup = frequency_setup,
	.run = frequency_run,
	.verify = frequency_verify,
	.teardown = frequency_teardown,
	.limit = frequency_limit,
};
