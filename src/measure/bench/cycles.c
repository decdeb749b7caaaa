/* SPDX-License-Identifier: Apache-2.0 */
/* The chain and the load in the instructions of x86-64 and arm64, and the kernel's counter. */
#include "measure/bench/cycles.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

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
	(void)step;
	(void)loops;
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
