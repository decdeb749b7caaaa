/* SPDX-License-Identifier: Apache-2.0 */
/* The serving side's queue pair. */
#ifndef NET_RDMA_SERVE_H
#define NET_RDMA_SERVE_H

#include "base/err.h"
#include "measure/bench/net/wire.h"

struct rdma_serve;

/* The device (that of netdev, where there is) and memory that a test needs. -ENODEV and *e where
 * there is none. */
int rdma_serve_start(const struct frame_start_test *t, uint64_t test, const char *netdev,
		     struct rdma_serve **out, struct err *e);
/* Connects to the client's queue pair; *own: where ours is. */
int rdma_serve_connect(struct rdma_serve *s, const struct frame_verbs *theirs,
		       struct frame_verbs *own, struct err *e);
void rdma_serve_count(struct rdma_serve *s, struct frame_counts *out);
/* What is still to come has come, or it ends without. */
void rdma_serve_finish(struct rdma_serve *s);
void rdma_serve_end(struct rdma_serve *s);

#endif
