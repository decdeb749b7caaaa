/* SPDX-License-Identifier: Apache-2.0 */
/* The serving side's queue pair. */
#ifndef NET_RDMA_SERVE_H
#define NET_RDMA_SERVE_H

#include "base/err.h"
#include "measure/bench/net/wire.h"
#include "measure/bench/net/socket.h"
#include "measure/bench/net/verbs.h"

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

/*
 * The messages of an RDMA test: a ring of slots, each a mark (which test, which message) and a
 * pattern. Both sides have the same ring at the same offsets.
 */

enum {
	RDMA_DEPTH = 128,    /* messages under way at most */
	RDMA_RING = 8 << 20, /* bytes at most, unless two slots are more */
	RDMA_MESSAGE_LEAST = 16,
	RDMA_MESSAGE_MOST = 4 << 20,
	RDMA_PING_MOST = 4096,
	RDMA_PING_BACK = 4096, /* where the answer lies */
	RDMA_INLINED = 220,    /* bytes, as perftest has it */
	RDMA_SAMPLED = 16,     /* of so many messages one is compared whole */
};

/* RDMA_DEPTH, fewer when messages are large. */
size_t rdma_slots(size_t size);
/* A queue pair for the test; small writes go with their request, as latency is measured by all. */
struct verbs_want rdma_want(const struct frame_start_test *t);
/* All slots with patterns; marks: message i in slot i. */
void rdma_fill(uint8_t *ring, size_t size, uint64_t test);
void rdma_mark(uint8_t *ring, size_t size, uint64_t test, uint64_t message);
/* No message that anybody sends. */
void rdma_unmark(uint8_t *ring, size_t size, uint64_t message);
/* Whether the message stands in its slot; whole: its pattern too, as in like (a ring). */
bool rdma_there(const uint8_t *ring, size_t size, uint64_t test, uint64_t message,
		const uint8_t *like);
/* How many messages went into a ring in order, and how many slots are not as they then must be. */
uint64_t rdma_arrived(const uint8_t *ring, size_t size, uint64_t test, const uint8_t *like,
		      uint64_t *wrong);
/*
 * Looking without pause: call it after each look in vain. After some thousand it lets others have
 * the CPU, which a software device may need. True about every millisecond then: time to look at the
 * clock. It is not looked at before, since that can cost more than what is waited for.
 */
struct rdma_spin {
	unsigned n;
	uint64_t told_ns;
};
bool rdma_spin(struct rdma_spin *s);
/* The port's own counters, or its interface's. */
struct link_bytes rdma_count(const struct verbs_port *p);

#endif
