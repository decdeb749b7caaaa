/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of mounted file systems, in bytes. Object: a path. */
#include <string.h>
#include <sys/statvfs.h>

#include "host/ask.h"

static int statfs_ask(void **state, struct arena *a, const char *object, const char *field,
		      struct answer *out)
{
	struct statvfs st;
	unsigned long long blocks;

	(void)state;
	(void)a;
	if (statvfs(object, &st) < 0)
		return -errno;
	if (strcmp(field, "total_bytes") == 0)
		blocks = st.f_blocks;
	else if (strcmp(field, "free_bytes") == 0)
		blocks = st.f_bfree;
	else if (strcmp(field, "avail_bytes") == 0)
		blocks = st.f_bavail;
	else
		return -EINVAL;
	answer_int(out, (long long)(blocks * st.f_frsize));
	return 0;
}

const struct provider provider_statfs = { .api = "statfs", .ask = statfs_ask };
