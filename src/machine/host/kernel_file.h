/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel makes of a write to one of its text files: for machines that are only captured.
 */
#ifndef HOST_KERNEL_FILE_H
#define HOST_KERNEL_FILE_H

#include "machine/host/host.h"

struct kernel_file {
	struct host *h; /* for what stands beside it */
	struct arena *a;
	const char *path;
	const char *old; /* its text before */
	const char *now; /* out: its text afterwards, white space as it was */
};

/* Another file that the write changes: 0 or a negative errno. */
typedef int kernel_file_beside(void *ctx, const char *path, const char *text);

/* 0, or what write(2) would fail with: -EINVAL for a word that is not offered, for text where
 * numbers stand, for what the kernel never takes. */
int kernel_file_write(struct kernel_file *f, const char *text, kernel_file_beside *beside,
		      void *ctx);

#endif
