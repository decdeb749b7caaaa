/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds one of CUDA's libraries (cuBLASLt, NCCL, NVRTC, cuFile) where machines keep them, newest
 * first, and keeps the path for the record.
 */
#ifndef CUDA_LIBRARY_H
#define CUDA_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "machine/host/vendor.h"

struct cuda_library {
	void *handle;
	char soname[64];     /* "libcublasLt.so.13" */
	char path[PATH_MAX]; /* the file that was opened, behind all links */
};

/* Newest first, NULL at the end: what cuda_library_open takes. */
extern const char *const cuda_cublaslt[], *const cuda_nccl[], *const cuda_cufile[],
								      *const cuda_cusparselt[];

/*
 * Looks in the folders of GPUTUNE_LIB_DIR (colons between them), then as the loader does, in
 * toolkit folders, in the distribution's, in Python wheels and in NVIDIA's HPC SDK; the first place
 * with any of the sonames wins. Wheels are searched for a user other than root, or when wheels is
 * true; a folder that others may write to is left out for root. Fills the table like vendor_open;
 * the caller checks that the functions it cannot do without are there.
 * -ELIBACC and *e: not found, not loadable (with the loader's reason), or left out for root.
 */
int cuda_library_open(const char *const *sonames, bool wheels, const struct vendor_symbol *symbols,
		      size_t n, void *table, struct cuda_library *out, struct err *e);
void cuda_library_close(struct cuda_library *l);

#endif
