/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread, and those it starts, on some CPUs for a while. */
#ifndef BENCH_DISK_PIN_H
#define BENCH_DISK_PIN_H

#include <sched.h>

#include "base/idset.h"

/* Where it ran before, for pin_back; NULL: it stays where it may run, because that was refused. */
cpu_set_t *pin_to(const struct idset *cpus);
void pin_back(cpu_set_t *before);

#endif
