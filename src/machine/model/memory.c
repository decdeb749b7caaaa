/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/memory.h: key, title, unit and place of every fact. */
#include "machine/model/memory.h"

static const struct field huge_pool_fields[] = {
	FIELD_ROW(huge_pool, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(huge_pool, node, FIELD_INT, "node", "Node", NULL),
	FIELD_ROW(huge_pool, size_kb, FIELD_INT, "size_kb", "Size", "KiB"),
	FIELD_ROW(huge_pool, total, FIELD_INT, "total_pages", "Total", "pages"),
	FIELD_ROW(huge_pool, free, FIELD_INT, "free_pages", "Free", "pages"),
	FIELD_ROW(huge_pool, reserved, FIELD_INT, "reserved_pages", "Reserved", "pages"),
	FIELD_ROW(huge_pool, surplus, FIELD_INT, "surplus_pages", "Surplus", "pages"),
	FIELD_ROW(huge_pool, requested, FIELD_INT, "requested_pages", "Requested", "pages"),
};
const struct schema schema_huge_pool = SCHEMA(huge_pool, huge_pool_fields);

static const struct field thp_size_fields[] = {
	FIELD_ROW(thp_size, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(thp_size, size_kb, FIELD_INT, "size_kb", "Size", "KiB"),
	FIELD_ROW(thp_size, enabled, FIELD_STR, "enabled", "Enabled", NULL),
};
const struct schema schema_thp_size = SCHEMA(thp_size, thp_size_fields);

static const struct field swap_area_fields[] = {
	FIELD_ROW(swap_area, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(swap_area, type, FIELD_STR, "type", "Type", NULL),
	FIELD_ROW(swap_area, size_kb, FIELD_INT, "size_kb", "Size", "KiB"),
	FIELD_ROW(swap_area, used_kb, FIELD_INT, "used_kb", "Used", "KiB"),
	FIELD_ROW(swap_area, priority, FIELD_INT, "priority", "Priority", NULL),
};
const struct schema schema_swap_area = SCHEMA(swap_area, swap_area_fields);

static const struct field memory_fields[] = {
	FIELD_ROW(memory, total_kb, FIELD_INT, "total_kb", "Total", "KiB"),
	FIELD_ROW(memory, available_kb, FIELD_INT, "available_kb", "Available", "KiB"),
	FIELD_ROW(memory, free_kb, FIELD_INT, "free_kb", "Free", "KiB"),
	FIELD_ROW(memory, cached_kb, FIELD_INT, "cached_kb", "Cached", "KiB"),
	FIELD_ROW(memory, dirty_kb, FIELD_INT, "dirty_kb", "Dirty", "KiB"),
	FIELD_ROW(memory, swap_total_kb, FIELD_INT, "swap_total_kb", "Swap total", "KiB"),
	FIELD_ROW(memory, swap_free_kb, FIELD_INT, "swap_free_kb", "Swap free", "KiB"),
	FIELD_ROW(memory, hugetlb_kb, FIELD_INT, "hugetlb_kb", "Hugetlb", "KiB"),
	FIELD_ROW(memory, hugepage_size_kb, FIELD_INT, "hugepage_size_kb", "Hugepage size", "KiB"),
	FIELD_ROW(memory, cma_total_kb, FIELD_INT, "cma_total_kb", "CMA total", "KiB"),
	FIELD_ROW(memory, cma_free_kb, FIELD_INT, "cma_free_kb", "CMA free", "KiB"),
	FIELD_ROW(memory, page_size, FIELD_INT, "page_size_bytes", "Page size", "bytes"),
	FIELD_ROW(memory, thp_enabled, FIELD_STR, "thp_enabled", "THP enabled", NULL),
	FIELD_ROW(memory, thp_defrag, FIELD_STR, "thp_defrag", "THP defrag", NULL),
	FIELD_ROW(memory, thp_shmem, FIELD_STR, "thp_shmem", "THP shmem", NULL),
	FIELD_ROW(memory, shm_size, FIELD_INT, "shm_bytes", "/dev/shm size", "bytes"),
	FIELD_ROW(memory, memlock, FIELD_INT, "memlock_bytes", "Memlock", "bytes"),
	FIELD_SUB(memory, pools, FIELD_LIST, "pools", "Pools", &schema_huge_pool),
	FIELD_SUB(memory, thp_sizes, FIELD_LIST, "thp_sizes", "THP sizes", &schema_thp_size),
	FIELD_SUB(memory, swaps, FIELD_LIST, "swaps", "Swaps", &schema_swap_area),
};
const struct schema schema_memory = SCHEMA(memory, memory_fields);
