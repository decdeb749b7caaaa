/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions whose cycles are known, on the processor this was compiled for. */
#ifndef BENCH_FREQUENCY_H
#define BENCH_FREQUENCY_H

#include <stdbool.h>
#include <stdint.h>

/* Additions a loop of cycles_chain; 0: there is no chain for this processor. */
#if defined(__x86_64__) || defined(__aarch64__)
enum { CYCLES_CHAIN = 64 };
#else
enum { CYCLES_CHAIN = 0 };
#endif

/* start + step * CYCLES_CHAIN * loops, added up one by one. Both are registers: some cores do
 * additions of constants without taking a cycle. loops >= 1. */
uint64_t cycles_chain(uint64_t start, uint64_t step, uint64_t loops);
/* Keeps the vector units busy for so long; false when they computed wrong. */
bool cycles_vector_load(double seconds);
/* Cycles that an addition of the chain takes here, by the kernel's counter; 0 where this process
 * may not count them (virtual machines, perf_event_paranoid). */
double cycles_an_add(void);

#endif
