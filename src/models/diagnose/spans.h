/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and copies of one GPU, laid over one another, and which of them are communication. */
#ifndef DIAGNOSE_SPANS_H
#define DIAGNOSE_SPANS_H

#include <stdbool.h>
#include <stddef.h>

enum span_kind { SPAN_COMPUTE, SPAN_COMM, SPAN_COPY, SPAN_KINDS };
/* Fed in order of start. Times in any one unit. */
struct spans {
	double first, last;	    /* of all */
	double sum[SPAN_KINDS];	    /* time with at least one of that kind; NAN: not looked at */
	double to[SPAN_KINDS];	    /* end of the last one of that kind */
	double kernels, kernels_to; /* time with a kernel of either kind */
	double any, any_to;
	size_t n[SPAN_KINDS];
	bool begun;
};
void spans_add(struct spans *s, enum span_kind kind, double from, double to);
/* A kernel, by its name, that is one of communication. */
bool span_is_comm(const char *kernel);

#endif
