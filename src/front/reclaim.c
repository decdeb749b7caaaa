/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By memory.reclaim of the root control group (Linux 5.19), which takes a number of bytes;
 * drop_caches takes all or nothing, and directory entries with it. "swappiness=0" (Linux 6.9) keeps
 * it from programs' own memory; an older kernel is asked only where there is no swap. Source:
 * admin-guide/cgroup-v2.rst.
 */
#include "front/reclaim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "front/job_group.h"
#include "machine/write/write.h"

/* One write holds us in the kernel until it is done: a step of a GiB takes some tenths of a second.
 */
enum { STEP_KB = 1 << 20, IDLE_MAX = 3, IDLE_PART = 64, MEMINFO_MAX = 8192 };
#define RECLAIM "/sys/fs/cgroup/memory.reclaim"

long long meminfo_kb(struct host *h, const char *key)
{
	char text[MEMINFO_MAX];
	double kb = host_read_line(h, "/proc/meminfo", text, sizeof(text))
			    ? -1
			    : kernel_figure(text, key);

	return kb < 0 ? -1 : (long long)kb;
}

/* The kernel may release less than was asked for: that is no error. */
static int reclaim_step(struct host *h, const struct reclaim *r, long long kb)
{
	char text[64];
	int code;

	snprintf(text, sizeof(text), "%lld swappiness=0", kb * 1024);
	code = host_write(h, RECLAIM, text);
	if (code == -EINVAL && !r->swap) {
		snprintf(text, sizeof(text), "%lld", kb * 1024);
		code = host_write(h, RECLAIM, text);
	}
	return code == -EAGAIN ? 0 : code;
}

static int reclaim_refused(int code, struct err *e)
{
	switch (code) {
	case -ENOENT:
		err_set(e, code, "page cache cannot be released in part here: %s does not exist",
			RECLAIM);
		err_hint(e, "a partial release requires Linux 5.19 and cgroup v2; \"echo 1 > "
			    "/proc/sys/vm/drop_caches\" releases all page cache");
		return code;
	case -EINVAL:
		err_set(e, code, "this kernel would also move program memory to swap");
		err_hint(e, "use Linux 6.9, or turn swap off during the release (swapoff -a)");
		return code;
	default:
		return err_set(e, code, "%s: %s", RECLAIM, strerror(-code));
	}
}

int reclaim_cache(struct host *h, struct reclaim *r, struct err *e)
{
	double begin = clock_mono_s();
	int idle = 0;

	r->before_kb = r->after_kb = meminfo_kb(h, "MemFree:");
	if (r->before_kb < 0)
		return err_set(e, -ENODATA, "cannot read free memory");
	while (r->after_kb < r->want_kb && !r->why) {
		long long step = r->want_kb - r->after_kb, was = r->after_kb;
		int code;

		step = step > STEP_KB ? STEP_KB : step;
		code = reclaim_step(h, r, step);
		if (code && !r->steps)
			return reclaim_refused(code, e);
		r->steps++;
		r->after_kb = meminfo_kb(h, "MemFree:");
		r->took_s = clock_mono_s() - begin;
		/* Others take memory meanwhile, so that one idle step says little. */
		idle = r->after_kb - was < step / IDLE_PART ? idle + 1 : 0;
		if (code || r->after_kb < 0)
			r->why = code == -EINTR ? "interrupted" : "failed partway";
		else if (r->after_kb < r->want_kb && idle == IDLE_MAX)
			r->why = "the kernel releases no more memory";
		else if (r->after_kb < r->want_kb && r->took_s > RECLAIM_LIMIT_S)
			r->why = "the time limit was reached";
	}
	return 0;
}
