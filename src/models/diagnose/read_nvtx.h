/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of NVTX in an export of nsys: which are steps, and what the host does between and in them.
 * Only for the readers of such exports.
 */
#ifndef DIAGNOSE_READ_NVTX_H
#define DIAGNOSE_READ_NVTX_H

#include <stdint.h>

#include "models/diagnose/read.h"
#include "models/inference/sqlite.h"

enum { NVTX_NAMES = 32, NVTX_ROWS_MAX = 1000000, NVTX_DEPTH = 64, NVTX_PROCESSES = 256 };

/* Nanoseconds of the export's clock. */
struct nvtx_step {
	int64_t from, to; /* to the next one's begin; of the last one to its own end */
	long long number; /* as it is named; -1 */
};

/* A range that is no step, of none that tells more: in order, one behind the other. */
struct nvtx_phase {
	int64_t from, to;
	size_t name;
};

struct nvtx_name {
	const char *text;      /* without the number at its end */
	enum figure_kind kind; /* FIGURE_KINDS: of the user's own */
};

/* The thread of a process that marks steps, or else most time. */
struct nvtx_process {
	int64_t pid;
	struct nvtx_step *steps;
	size_t n_steps;
	struct nvtx_phase *phases;
	size_t n_phases;
	struct nvtx_name names[NVTX_NAMES];
	size_t n_names;
	int64_t from, to; /* its steps behind warming-up; 0, 0: it has none */
	int64_t weight;
};

struct nvtx {
	struct nvtx_process *items;
	size_t n;
};

void nvtx_read(struct sql *q, struct nvtx *out);
/* The process, or the only one there is; NULL. */
const struct nvtx_process *nvtx_of(const struct nvtx *all, int64_t pid);

/* How long a GPU had nothing to do in each range: told in order of time. */
struct nvtx_idle {
	const struct nvtx_process *p; /* NULL: none */
	size_t next, save;
	int64_t idle[NVTX_NAMES];
};
void nvtx_idle_add(struct nvtx_idle *i, int64_t from, int64_t to);
/* Whether the process saved at that time; asked in order of time. */
bool nvtx_saves(struct nvtx_idle *i, int64_t at);

/* What of each step was communication that nothing hid. */
struct nvtx_rounds {
	const struct nvtx_process *p;
	double *exposed; /* ns, of each of p's steps; NAN: warming-up. NULL: it has none */
	size_t at;
	struct spans now;
	int64_t until[SPAN_KINDS]; /* when the last kernel of each kind ends */
};
void nvtx_rounds_begin(struct arena *a, struct nvtx_rounds *r, const struct nvtx_process *p);
void nvtx_rounds_add(struct nvtx_rounds *r, enum span_kind kind, int64_t from, int64_t to);
void nvtx_rounds_end(struct nvtx_rounds *r);

#endif
