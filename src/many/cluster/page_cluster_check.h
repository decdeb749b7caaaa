/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a check of a cluster: what is wrong, who is to blame, what every path carries. */
#ifndef CLUSTER_PAGE_CLUSTER_CHECK_H
#define CLUSTER_PAGE_CLUSTER_CHECK_H

#include "many/cluster/check.h"
#include "render/doc.h"

/* all: every result, also those of the first try that were repeated, and where figures come from.
 */
struct doc *page_cluster_check(struct arena *a, const struct check *c, bool all);

#endif
