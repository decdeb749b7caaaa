/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: sizes, swap, transparent and explicit huge pages. */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "base/fact.h"
#include "machine/model/rows.h"

/* Explicit huge pages of one size on one node (node -1: the whole machine). */
struct huge_pool {
	const char *name;     /* "1048576kB", "1048576kB node0" */
	struct fact_int node; /* -1: all nodes */
	struct fact_int size_kb;
	struct fact_int total, free, reserved, surplus; /* pages */
	struct fact_int
		requested; /* pages asked for on the kernel command line; absent when not asked */
};

/* Transparent huge pages of one size (kernels 6.8 and later). */
struct thp_size {
	const char *name; /* "hugepages-64kB" */
	struct fact_int size_kb;
	struct fact_str enabled; /* the chosen word */
};

struct swap_area {
	const char *name;     /* "/swap.img" */
	struct fact_str type; /* "file", "partition" */
	struct fact_int size_kb, used_kb, priority;
};

/* A slice or container whose limit the kernel's control groups hold. */
struct memory_group {
	const char *name;	    /* "system.slice/docker-1f....scope" */
	struct fact_int max_bytes;  /* -1: no limit */
	struct fact_int anon_bytes; /* what its programs hold, page cache left out */
	struct fact_int oom_kills;
};

struct memory {
	struct fact_int total_kb, available_kb, free_kb, cached_kb, buffers_kb, shmem_kb, dirty_kb;
	/* What the kernel keeps free, and how far apart its steps of reclaim are (of 10000). */
	struct fact_int min_free_kb, watermark_scale;
	struct fact_int swap_total_kb, swap_free_kb;
	struct fact_int hugetlb_kb, hugepage_size_kb;
	struct fact_int cma_total_kb, cma_free_kb;
	struct fact_int page_size; /* bytes */
	struct fact_str thp_enabled, thp_defrag, thp_shmem;
	struct fact_int shm_size;     /* bytes, of /dev/shm */
	struct fact_int memlock;      /* bytes, RLIMIT_MEMLOCK of this process; -1 is unlimited */
	struct fact_str memlock_kept; /* "present": gputune's file of limits; absent */
	struct fact_int open_files, stack; /* likewise: the most that may be open; bytes */
	struct list pools;		   /* struct huge_pool */
	struct list thp_sizes;		   /* struct thp_size */
	struct list swaps;		   /* struct swap_area */
	struct list groups;		   /* struct memory_group: those with a limit */
};

extern const struct shape memory_shape, huge_pool_shape, thp_size_shape, swap_area_shape,
	memory_group_shape;

#endif
