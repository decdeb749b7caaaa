/* SPDX-License-Identifier: Apache-2.0 */
/* The job in /proc; for attach.c alone. */
#ifndef DIAGNOSE_ATTACH_PROC_H
#define DIAGNOSE_ATTACH_PROC_H

#include "models/diagnose/attach.h"

/* Finds the job's processes anew; those that are gone stay listed. */
void attach_processes(struct attach *s);
const struct attach_process *attach_process_of(const struct attach *s, int pid);
/* CPU time and state of every thread of the job. False: none is left. */
bool attach_threads(struct attach *s);
/* CPUs that the ranks may use, all together; NAN: not told. */
double attach_cpus_allowed(struct attach *s);
/* Variables that say how NCCL and the threads are set, where this user may read them: traits. */
void attach_environment(struct attach *s, int pid);

#endif
