/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the CPU probe. They run in this order: types look at the frequency policies. */
#ifndef PROBE_CPU_H
#define PROBE_CPU_H

#include "look/probe/probe.h"

/* "/sys/devices/system/cpu/cpuN/", in arena memory. */
const char *cpu_dir(struct probe *p, unsigned cpu);

void probe_cpu_freq(struct probe *p);
void probe_cpu_types(struct probe *p);
void probe_cpu_idle(struct probe *p);

#endif
