/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's CPUs, there and back. */
#include "measure/bench/disk_pin.h"

enum { CPUS_MAX = 8192 };

cpu_set_t *pin_to(const struct idset *cpus)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX), *before = CPU_ALLOC(CPUS_MAX);
	bool done = false;

	if (set && before && sched_getaffinity(0, size, before) == 0) {
		CPU_ZERO_S(size, set);
		IDSET_FOR_EACH (cpu, cpus)
			if (cpu < CPUS_MAX)
				CPU_SET_S(cpu, size, set);
		done = sched_setaffinity(0, size, set) == 0;
	}
	CPU_FREE(set);
	if (done)
		return before;
	CPU_FREE(before);
	return NULL;
}

void pin_back(cpu_set_t *before)
{
	if (!before)
		return;
	sched_setaffinity(0, CPU_ALLOC_SIZE(CPUS_MAX), before);
	CPU_FREE(before);
}
