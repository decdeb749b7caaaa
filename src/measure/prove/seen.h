/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job uses of the machine, looked at from beside one run of it: the kernel's account of its
 * processes, and the machine's counters against those of a moment without it. Nothing is injected.
 */
#ifndef PROVE_SEEN_H
#define PROVE_SEEN_H

#include "base/shape.h"
#include "knowledge/job.h"
#include "machine/host/host.h"
#include "machine/model/machine.h"

/* Rates are a second, over the run. NAN: not known. */
struct job_seen {
	double wall_s, cpus; /* CPUs that it kept busy */
	double wakes, faults;
	double disk, net, rdma, copies;	  /* bytes; of the whole machine */
	double gpu;			  /* the busiest GPU, as a share */
	double gpu_bytes, memory, pinned; /* the most that it had, bytes */
	unsigned uses;			  /* USE_BIT: what follows from these */
	unsigned long long libraries;	  /* a bit for each row of job_vars whose library it maps */
};

/* Looks for a moment at the machine without the job; then until job_seen_end beside it. h: used by
 * another thread until then. NULL: no thread can be had. */
struct job_watch;
struct job_watch *job_seen_begin(struct arena *a, struct host *h, const struct machine *m);
void job_seen_end(struct job_watch *w, double wall_s, struct job_seen *out);
/* From rates to uses. */
void job_seen_judge(struct job_seen *s);

struct use_row {
	const char *name; /* "disk" */
	bool used;
	const char *seen; /* "12 MB/s" */
};
struct use_row *job_seen_rows(struct arena *a, const struct job_seen *s);
extern const struct shape use_row_shape;

/* The uses for which the setting can matter: by the benches that show it, else by its group. */
unsigned setting_uses_of(const char *id, const char *shown_by);
/* "disk, net" */
const char *job_uses_text(struct arena *a, unsigned uses);

/*
 * Who else uses the GPUs that are measured, by the driver's lists of processes. A process below
 * this one is part of what is measured; the GPUs in use are those on which one was seen.
 */
struct alone;
/*
 * Processes that use a GPU now do not count as other users: all of them (names NULL), or those
 * whose names are among these words. h: of its own, and used by another thread during a run. NULL:
 * no GPU can be seen.
 */
struct alone *alone_begin(struct arena *a, struct host *h, const char *names);
/* Names of those processes, "" for none. */
const char *alone_names(const struct alone *w);
/* Another user of the GPUs in use: "python3 (process 4242) on GPU 0", valid until the next call;
 * NULL: none, or w is. */
const char *alone_look(struct alone *w);
/* Looks several times a second until alone_end, which answers as alone_look for all that time. */
void alone_watch(struct alone *w);
const char *alone_end(struct alone *w);

#endif
