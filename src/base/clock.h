/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: for how long something takes, until when to wait, what it cost; points in time. */
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

/* Points in time as results and files write them: RFC 3339, UTC, whole seconds. */

enum { STAMP_SIZE = 32 };

/* "2026-11-21T04:50:00Z" for seconds since 1970; -ERANGE when the year has not four digits. */
int stamp_format(long long seconds, char out[STAMP_SIZE]);
/* The reverse, for exactly that form; -EINVAL otherwise. */
int stamp_parse(const char *text, long long *out);

#endif
