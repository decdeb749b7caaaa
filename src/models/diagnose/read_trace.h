/* SPDX-License-Identifier: Apache-2.0 */
/* What a PyTorch profiler's trace comes down to while it streams by. Only for its readers. */
#ifndef DIAGNOSE_READ_TRACE_H
#define DIAGNOSE_READ_TRACE_H

#include "models/diagnose/read.h"

enum { TRACE_SPANS_MAX = 4000000, TRACE_RANGES_MAX = 1000000, TRACE_DEVICES_MAX = 64 };

/* A kernel or copy; microseconds. */
struct trace_span {
	double from, to;
	int device; /* index of devices */
	enum span_kind kind;
};

/* A range of the host: a step, the wait for a batch. */
struct trace_range {
	double from, to;
	enum figure_kind kind; /* FIGURE_STEP_S: a step */
	long long step;
	size_t line;
};

struct trace_device {
	long long id;
	size_t lines[SPAN_KINDS];
	double longest[SPAN_KINDS];
};

struct trace_call {
	char name[64];
	double s, longest;
	size_t line;
	enum figure_kind kind;
	double n;
};

enum { TRACE_CALLS_MAX = 64 };

struct trace {
	struct read_place at;
	int rank;	/* -1: the trace does not say */
	bool host_only; /* no GPU is named at its head: operators of the host are taken too */
	struct trace_span *spans, *host;
	size_t n_spans, n_host;
	struct trace_range *ranges;
	size_t n_ranges, events, dropped, collectives;
	struct trace_device devices[TRACE_DEVICES_MAX];
	size_t n_devices;
	struct trace_call calls[TRACE_CALLS_MAX];
	size_t n_calls;
	size_t host_line[SPAN_KINDS];
};

/* An event (an object of traceEvents), at t->at.line. */
void trace_event(struct trace *t, const json_t *event);
/* A kernel of communication that says what it was; us: how long it ran. */
void trace_collective(struct trace *t, const json_t *event, double us);
/* The trace is over: figures. */
void trace_tell(struct trace *t);
void trace_free(struct trace *t);

#endif
