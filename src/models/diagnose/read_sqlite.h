/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of reading an export of nsys share. */
#ifndef DIAGNOSE_READ_SQLITE_H
#define DIAGNOSE_READ_SQLITE_H

#include <stdint.h>

#include "models/diagnose/read.h"
#include "models/inference/sqlite.h"

/* What was watched: the longest time of a GPU, and how many had work. */
struct watched {
	double most_s, gpus;
	size_t rows;
	int64_t from, to; /* the steps that ranges of NVTX mark, of all processes; 0, 0: none */
};

enum { SQLITE_GPUS_MAX = 64, NUMBERINGS_MAX = 4 };

/* Expressions of SQL over a row t of kernels or copies: its GPU, what that takes, its process. */
struct numbering {
	const char *gpu, *join, *pid;
};
/* The ways to ask, the most exact first: the first that the export answers. How many. */
size_t sqlite_numberings(struct sql *q, struct numbering *out);

/* Kernels and copies of each GPU, and steps. 0 or *q's error. */
int read_sqlite_gpus(struct sql *q, const struct read_place *p, struct watched *w);

#endif
