/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping, page size and placement of memory. */
#include "measure/bench/memory_map.h"

#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NODES_MAX = 1024 };

static int bind_to(void *p, size_t bytes, int node)
{
	unsigned long mask[NODES_MAX / (8 * sizeof(unsigned long))] = { 0 };
	size_t bits = 8 * sizeof(unsigned long);

	if (node >= NODES_MAX)
		return -EINVAL;
	mask[(size_t)node / bits] = 1ul << ((size_t)node % bits);
	return syscall(SYS_mbind, p, bytes, MPOL_BIND, mask, (unsigned long)NODES_MAX, 0) ? -errno
											  : 0;
}

int memory_map(size_t bytes, enum memory_pages pages, int node, void **out, struct err *e)
{
	/* Aligned to what a huge page is on x86-64 and arm64 with small pages of 4 KiB. */
	size_t align = 2 << 20, all = bytes + align, skip;
	char *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	if (p == MAP_FAILED)
		return err_set(e, -errno, "%zu MiB of memory cannot be had: %s", bytes >> 20,
			       strerror(errno));
	skip = (align - (uintptr_t)p % align) % align;
	if (skip)
		munmap(p, skip);
	if (align - skip)
		munmap(p + skip + bytes, align - skip);
	p += skip;
	/* Not supported: the pages are what they are; memory_huge_share tells. */
	madvise(p, bytes, pages == PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	r = node >= 0 ? bind_to(p, bytes, node) : 0;
	if (r) {
		munmap(p, bytes);
		return err_set(e, r, "memory cannot be placed on node %d: %s", node, strerror(-r));
	}
	*out = p;
	return 0;
}

void memory_unmap(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

double memory_huge_share(const void *p, size_t bytes)
{
	unsigned long lo, hi, kb, at = (unsigned long)(uintptr_t)p;
	FILE *f = fopen("/proc/self/smaps", "re");
	bool inside = false;
	double huge = -1;
	char line[512];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &lo, &hi) == 2)
			inside = lo <= at && at < hi;
		else if (inside && sscanf(line, "AnonHugePages: %lu kB", &kb) == 1)
			huge = (double)kb * 1024 / (double)bytes;
	}
	fclose(f);
	return huge > 1 ? 1 : huge;
}

static unsigned last_level(const struct machine *m)
{
	unsigned level = 0;

	LIST_FOR_EACH (const struct cpu_cache, c, &m->cpu.caches)
		if (c->level > level)
			level = c->level;
	return level;
}

long long memory_cache_total(const struct machine *m)
{
	unsigned level = last_level(m);
	long long sum = 0;

	LIST_FOR_EACH (const struct cpu_cache, c, &m->cpu.caches)
		if (c->level == level)
			sum += fact_or(&c->size_bytes, 0) * fact_or(&c->count, 1);
	return sum;
}

long long memory_cache_largest(const struct machine *m)
{
	long long most = 0;

	LIST_FOR_EACH (const struct cpu_cache, c, &m->cpu.caches)
		if (fact_or(&c->size_bytes, 0) > most)
			most = fact_or(&c->size_bytes, 0);
	return most;
}
