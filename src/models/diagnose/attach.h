/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at a running job from outside: NVML and /proc, nothing else. Nothing is injected, traced
 * or stopped; what this user may not read stays unknown. What was seen becomes evidence, as if a
 * file had told it.
 */
#ifndef DIAGNOSE_ATTACH_H
#define DIAGNOSE_ATTACH_H

#include "base/arena.h"
#include "base/err.h"
#include "models/diagnose/evidence.h"
#include "machine/host/host.h"
#include "machine/model/machine.h"
#include "look/monitor/monitor.h"

enum { ATTACH_THREADS_MAX = 8192, ATTACH_PROCESSES_MAX = 2048 };

struct attach_thread {
	int pid, tid;
	char name[32];
	unsigned long long first, last; /* ticks of CPU */
	size_t looks, waits_disk;
	bool main; /* the process's first thread */
};

struct attach_process {
	int pid, parent;
	char name[32];
	bool rank;   /* uses a GPU, or a launcher numbered it */
	bool worker; /* a child of a rank that is none itself */
};

struct attach {
	struct arena *a;
	struct host *h;
	struct monitor mon;
	struct monitor_state state;
	int root; /* 0: all that use a GPU */
	const int *gpu_pids;
	size_t n_gpu_pids;
	struct attach_process *processes;
	size_t n_processes;
	struct attach_thread *threads;
	size_t n_threads, looks;
	double begun_s, now_s, before_s;
	double *before, *values, *rates;
	struct run_evidence *ev;
	size_t file; /* of the evidence: the look itself */
};

/*
 * root: the process whose tree is looked at; 0: the processes that use GPUs, and their children.
 * Makes the evidence's file of this look, in run 0. -ESRCH when there is no such process, -ENOENT
 * when no GPU is used by anyone.
 */
int attach_open(struct arena *a, struct host *h, const struct machine *m, int root,
		struct run_evidence *ev, struct attach *out, struct err *e);
/* One look; now_s: monotonic seconds. False: the job has ended. */
bool attach_look(struct attach *s, double now_s);
/* Adds what was seen to the evidence, and gives back what was held. */
void attach_close(struct attach *s);

#endif
