/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes and kind of mounted file systems. Object: a path. Fields: "total_bytes", "free_bytes",
 * "avail_bytes" (what is free for others than root), and "type", the number of statfs(2)
 * (linux/magic.h).
 */
#include <stdint.h>
#include <string.h>
#include <sys/vfs.h>

#include "machine/host/ask.h"

/* Some file systems of the network report sizes that no signed number holds. */
static long long bytes(unsigned long long blocks, unsigned long long size)
{
	unsigned long long product;

	return __builtin_mul_overflow(blocks, size, &product) || product > INT64_MAX
		       ? INT64_MAX
		       : (long long)product;
}

static int statfs_ask(void **state, struct arena *a, const char *object, const char *field,
		      struct answer *out)
{
	struct statfs st;
	unsigned long long size;

	(void)state;
	(void)a;
	if (statfs(object, &st) < 0)
		return -errno;
	size = (unsigned long long)(st.f_frsize ? st.f_frsize : st.f_bsize);
	if (strcmp(field, "total_bytes") == 0)
		answer_int(out, bytes(st.f_blocks, size));
	else if (strcmp(field, "free_bytes") == 0)
		answer_int(out, bytes(st.f_bfree, size));
	else if (strcmp(field, "avail_bytes") == 0)
		answer_int(out, bytes(st.f_bavail, size));
	else if (strcmp(field, "type") == 0)
		answer_int(out, st.f_type);
	else
		return -EINVAL;
	return 0;
}

const struct provider provider_statfs = { .api = "statfs", .ask = statfs_ask };
