/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: for how long something takes, until when to wait, what it cost. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Since some moment, the same in all threads and processes. */
long long clock_mono_ns(void);
long long clock_mono_ms(void);
double clock_mono_s(void);
/* How long this process has been there, by the kernel, within its tick of 10 ms; -1: not known. */
double clock_process_s(void);
/* CPU time of the whole process: its threads and the kernel's work for them included. */
long long clock_cpu_ns(void);
double clock_cpu_s(void);

#endif
