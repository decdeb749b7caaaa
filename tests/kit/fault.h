/* SPDX-License-Identifier: Apache-2.0 */
/* A host that passes everything on to another one, but fails one operation on purpose: for tests.
 */
#ifndef HOST_FAULT_H
#define HOST_FAULT_H

#include "machine/host/host.h"

/* What happens at operation at (the first is 1); 0: nothing, operations are only counted. */
struct fault_plan {
	size_t at;
	int code;  /* the negative errno it fails with; 0: the process ends at once, with status
		      FAULT_EXIT */
	bool late; /* the operation is done all the same, and only then fails or ends the process */
	/* An append that is operation at first writes keep of its bytes; 0: half. A put leaves as
	 * many in its new file, beside the old one. */
	bool torn;
	size_t keep;
};

enum { FAULT_EXIT = 86 };

/* Wraps inner, which it owns from then on: closing it closes inner. */
struct host *fault_open(struct host *inner, struct fault_plan plan);
/* Operations so far: every question and every write. */
size_t fault_operations(const struct host *fault);
/* What the operation that failed was about ("/proc/meminfo", "nvml 0 nvmlDeviceGetName"); "" when
 * none failed yet. */
const char *fault_where(const struct host *fault);

#endif
