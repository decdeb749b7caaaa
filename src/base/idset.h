/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of small numbers (logical CPUs, NUMA nodes, GPUs) as sorted, disjoint, inclusive ranges:
 * the kernel's "0-4,10-14". Cost is by ranges, not by members, so 4,096 CPUs are one range.
 */
#ifndef BASE_IDSET_H
#define BASE_IDSET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct idrange {
	unsigned lo, hi;
};

struct idset {
	struct idrange *r;
	size_t n;
};

/* The largest member a set may have; a list with a larger one is refused. */
enum { IDSET_MAX = 1 << 20 };

/* Parses the kernel's list format ("", "3", "0-4,10-14", also "0-15:2/4" strides). -EINVAL
 * otherwise. */
int idset_parse(struct arena *a, const char *s, struct idset *out);
void idset_add(struct arena *a, struct idset *set, unsigned id);
bool idset_has(const struct idset *set, unsigned id);
size_t idset_count(const struct idset *set);
bool idset_equal(const struct idset *x, const struct idset *y);
bool idset_intersects(const struct idset *x, const struct idset *y);
bool idset_contains(const struct idset *outer, const struct idset *inner);
/* Members of x that are in y too. */
struct idset idset_both(struct arena *a, const struct idset *x, const struct idset *y);
/* Members of x that are not in y. */
struct idset idset_minus(struct arena *a, const struct idset *x, const struct idset *y);
/* "0-4,10-14"; the empty set gives "". */
char *idset_format(struct arena *a, const struct idset *set);

#define IDSET_FOR_EACH(id, set)                                                                    \
	for (size_t id##_range_ = 0; id##_range_ < (set)->n; id##_range_++)                        \
		for (unsigned id = (set)->r[id##_range_].lo; id <= (set)->r[id##_range_].hi; id++)

#endif
