/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/memory.h: key, title, unit and place of every fact. */
#include "machine/model/memory.h"

/* clang-format off */
const struct shape huge_pool_shape = SHAPE_OF(huge_pool, huge_pool,
	FACT_NAME(huge_pool, name, "Name"),
	FACT(huge_pool, node, "Node", NULL),
	FACT(huge_pool, size_kb, "Size", "KiB"),
	{ "total_pages", NULL, "Total", "pages", SHAPE_FACT(huge_pool, total) },
	{ "free_pages", NULL, "Free", "pages", SHAPE_FACT(huge_pool, free) },
	{ "reserved_pages", NULL, "Reserved", "pages", SHAPE_FACT(huge_pool, reserved) },
	{ "surplus_pages", NULL, "Surplus", "pages", SHAPE_FACT(huge_pool, surplus) },
	{ "requested_pages", NULL, "Requested", "pages", SHAPE_FACT(huge_pool, requested) });

const struct shape thp_size_shape = SHAPE_OF(thp_size, thp_size,
	FACT_NAME(thp_size, name, "Name"),
	FACT(thp_size, size_kb, "Size", "KiB"),
	FACT(thp_size, enabled, "Enabled", NULL));

const struct shape swap_area_shape = SHAPE_OF(swap_area, swap_area,
	FACT_NAME(swap_area, name, "Name"),
	FACT(swap_area, type, "Type", NULL),
	FACT(swap_area, size_kb, "Size", "KiB"),
	FACT(swap_area, used_kb, "Used", "KiB"),
	FACT(swap_area, priority, "Priority", NULL));

const struct shape memory_group_shape = SHAPE_OF(memory_group, memory_group,
	FACT_NAME(memory_group, name, "Name"),
	FACT(memory_group, max_bytes, "Limit", "bytes"),
	FACT(memory_group, anon_bytes, "Held", "bytes"),
	FACT(memory_group, oom_kills, "Killed", NULL));

const struct shape memory_shape = SHAPE_OF(memory, memory,
	FACT(memory, total_kb, "Total", "KiB"),
	FACT(memory, available_kb, "Available", "KiB"),
	FACT(memory, free_kb, "Free", "KiB"),
	FACT(memory, cached_kb, "Cached", "KiB"),
	FACT(memory, buffers_kb, "Buffers", "KiB"),
	FACT(memory, shmem_kb, "Shared", "KiB"),
	FACT(memory, dirty_kb, "Dirty", "KiB"),
	FACT(memory, min_free_kb, "Minimum free", "KiB"),
	FACT(memory, watermark_scale, "Watermark scale factor", NULL),
	FACT(memory, swap_total_kb, "Swap total", "KiB"),
	FACT(memory, swap_free_kb, "Swap free", "KiB"),
	FACT(memory, hugetlb_kb, "Hugetlb", "KiB"),
	FACT(memory, hugepage_size_kb, "Hugepage size", "KiB"),
	FACT(memory, cma_total_kb, "CMA total", "KiB"),
	FACT(memory, cma_free_kb, "CMA free", "KiB"),
	{ "page_size_bytes", NULL, "Page size", "bytes", SHAPE_FACT(memory, page_size) },
	FACT(memory, thp_enabled, "THP enabled", NULL),
	FACT(memory, thp_defrag, "THP defrag", NULL),
	FACT(memory, thp_shmem, "THP shmem", NULL),
	{ "shm_bytes", NULL, "/dev/shm size", "bytes", SHAPE_FACT(memory, shm_size) },
	{ "memlock_bytes", NULL, "Memlock", "bytes", SHAPE_FACT(memory, memlock) },
	FACT(memory, memlock_kept, "Memlock kept by gputune", NULL),
	FACT(memory, open_files, "Open files maximum", NULL),
	{ "stack_bytes", NULL, "Stack", "bytes", SHAPE_FACT(memory, stack) },
	FACT_LIST(memory, pools, "Pools", huge_pool),
	FACT_LIST(memory, thp_sizes, "THP sizes", thp_size),
	FACT_LIST(memory, swaps, "Swaps", swap_area),
	FACT_LIST(memory, groups, "Groups with a limit", memory_group));
/* clang-format on */
