/* SPDX-License-Identifier: Apache-2.0 */
/* A captured machine that is read once and stays, for targets that judge something on a machine. */
#ifndef FUZZ_CAPTURED_H
#define FUZZ_CAPTURED_H

#include <stdlib.h>

#include "look/probe/probe.h"

static inline const struct machine *fuzz_captured(void)
{
	static struct arena kept;
	static struct machine *m;
	static struct host *h; /* facts point into it */
	struct err e = { 0 };

	if (m)
		return m;
	m = ARENA_NEW(&kept, struct machine);
	h = host_open_capture(MACHINES "/hgx-h100", &e);
	if (!h)
		abort();
	probe_machine(&(struct probe){ .h = h, .a = &kept, .m = m, .lean = true, .config = true });
	return m;
}

#endif
