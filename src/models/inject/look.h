/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels and copies of a moment add up to: a line of JSON. The object that looks into a
 * job has it, and so has record, for what PyTorch's own profiler tells it: no library of ours.
 */
#ifndef INJECT_LOOK_H
#define INJECT_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LOOK_RECORDS_MOST = 400000,
	LOOK_NAMES_MOST = 2048,
	LOOK_NAME_BYTES = 120,
	LOOK_LINE_BYTES = 16384,
};

struct look_record {
	uint64_t from, to;
	uint8_t device, kind; /* enum span_kind */
};

struct look_name {
	char text[LOOK_NAME_BYTES];
	uint64_t ns;
	unsigned n;
	bool comm;
};

/* Nanoseconds of any one clock. */
struct trace_look {
	uint64_t from, to; /* the moment; set before anything is added */
	double at_s;	   /* its end, seconds since 1970 */
	bool copies;	   /* copies were looked at, too */
	bool waits_seen;   /* waits of the host were, too */
	bool full;	   /* not everything had room */
	uint64_t pageable_ns, wait_ns, waits;
	struct look_record *records;
	struct look_name *names;
	size_t n, n_names;
	struct look_name *order[LOOK_NAMES_MOST];
	uint16_t slots[2 * LOOK_NAMES_MOST]; /* hash of a name's text: its number and one */
	char text[LOOK_LINE_BYTES];
	size_t text_n;
};

/* False: there is no memory. */
bool look_make(struct trace_look *l);
void look_free(struct trace_look *l);
void look_kernel(struct trace_look *l, const char *name, unsigned device, uint64_t from,
		 uint64_t to);
void look_copy(struct trace_look *l, unsigned device, uint64_t from, uint64_t to, bool pageable);
/* A thread of the job waited for the GPU. */
void look_wait(struct trace_look *l, uint64_t from, uint64_t to);
/* Appends the line to the file in one write, so that lines of several processes do not mix, and
 * begins anew. False: it cannot be written. */
bool look_write(struct trace_look *l, const char *path, int pid, int rank);
/* The same of a process that is left alone. */
bool look_write_none(struct trace_look *l, const char *path, int pid, int rank, const char *why);

#endif
