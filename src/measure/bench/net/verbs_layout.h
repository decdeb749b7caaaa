/* SPDX-License-Identifier: Apache-2.0 */
/* libibverbs' structs, as its binary interface has them; numbers from its public header,
 * version 44. */
#ifndef NET_VERBS_LAYOUT_H
#define NET_VERBS_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "measure/bench/net/verbs.h"

enum {
	PORT_ACTIVE = 4,
	GID_ROCE_V2 = 2,
	QP_RC = 2,
	STATE_INIT = 1,
	STATE_READY_TO_RECEIVE = 2,
	STATE_READY_TO_SEND = 3,
	ACCESS_LOCAL_WRITE = 1,
	ACCESS_REMOTE_WRITE = 2,
	ACCESS_REMOTE_READ = 4,
	FLAG_SIGNALED = 2,
	FLAG_INLINE = 8,
	MASK_STATE = 1,
	MASK_ACCESS = 8,
	MASK_PKEY = 16,
	MASK_PORT = 32,
	MASK_ADDRESS = 128,
	MASK_MTU = 256,
	MASK_TIMEOUT = 512,
	MASK_RETRIES = 1024,
	MASK_RNR_RETRIES = 2048,
	MASK_RECEIVE_PSN = 4096,
	MASK_READS = 8192,
	MASK_RNR_TIMER = 32768,
	MASK_SEND_PSN = 65536,
	MASK_READS_THERE = 131072,
	MASK_QP = 1048576,
};

struct ibv_cq {
	struct ibv_context *context;
};

struct ibv_mr {
	void *context, *pd, *addr;
	size_t length;
	uint32_t handle, lkey, rkey;
};
_Static_assert(offsetof(struct ibv_mr, lkey) == 36 && offsetof(struct ibv_mr, rkey) == 40,
	       "ibv_mr");

struct ibv_qp {
	struct ibv_context *context;
	void *rest[5];
	uint32_t handle, number;
};
_Static_assert(offsetof(struct ibv_qp, number) == 52, "ibv_qp");

struct sge {
	uint64_t address;
	uint32_t length, lkey;
};

/* The largest of the union that follows is not named, but has to be there. */
struct send_wr {
	uint64_t id;
	struct send_wr *next;
	struct sge *list;
	int n;
	uint32_t opcode, flags, immediate;
	uint64_t remote;
	uint32_t rkey, rest[19];
};
_Static_assert(sizeof(struct send_wr) == 128 && offsetof(struct send_wr, remote) == 40 &&
		       offsetof(struct send_wr, opcode) == 28,
	       "ibv_send_wr");

struct receive_wr {
	uint64_t id;
	struct receive_wr *next;
	struct sge *list;
	int n;
};
_Static_assert(sizeof(struct receive_wr) == 32, "ibv_recv_wr");

struct ibv_context {
	struct ibv_device *device;
	void *older[11];
	int (*poll_cq)(struct ibv_cq *cq, int n, struct verbs_done *out);
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited);
	void *others[12];
	int (*post_send)(struct ibv_qp *qp, struct send_wr *wr, struct send_wr **bad);
	int (*post_recv)(struct ibv_qp *qp, struct receive_wr *wr, struct receive_wr **bad);
};
_Static_assert(offsetof(struct ibv_context, poll_cq) == 96 &&
		       offsetof(struct ibv_context, post_send) == 208 &&
		       offsetof(struct ibv_context, post_recv) == 216,
	       "ibv_context");

/* What ibv_query_port's binary form fills is 48 bytes; newer forms more. */
struct port_attr {
	uint32_t state, max_mtu, active_mtu, gids, caps, max_message, bad_pkey, bad_qkey;
	uint16_t pkeys, lid, sm_lid;
	uint8_t lmc, max_vl, sm_sl, subnet_timeout, init_type, width, speed, physical, link, flags;
	uint8_t newer[64];
};
_Static_assert(offsetof(struct port_attr, lid) == 34 && offsetof(struct port_attr, link) == 46,
	       "ibv_port_attr");

struct gid_entry {
	uint8_t gid[16];
	uint32_t index, port, type, netdev;
};
_Static_assert(sizeof(struct gid_entry) == 32, "ibv_gid_entry");

struct qp_cap {
	uint32_t sends, receives, send_sges, receive_sges, inline_bytes;
};

struct qp_init {
	void *context;
	struct ibv_cq *send_cq, *receive_cq;
	void *srq;
	struct qp_cap cap;
	uint32_t type;
	int signal_all;
};
_Static_assert(sizeof(struct qp_init) == 64 && offsetof(struct qp_init, type) == 52,
	       "ibv_qp_init_attr");

struct address {
	_Alignas(8) uint8_t gid[16];
	uint32_t flow;
	uint8_t gid_index, hops, traffic_class, pad;
	uint16_t lid;
	uint8_t service_level, path_bits, rate, global, port, pad2;
};
_Static_assert(sizeof(struct address) == 32 && offsetof(struct address, lid) == 24 &&
		       offsetof(struct address, port) == 30,
	       "ibv_ah_attr");

struct qp_attr {
	uint32_t state, current, mtu, migration, qkey, receive_psn, send_psn, qp, access;
	struct qp_cap cap;
	struct address address, other_address;
	uint16_t pkey, other_pkey;
	uint8_t drain_notify, draining, reads, reads_there, rnr_timer, port, timeout, retries,
		rnr_retries, other_port, other_timeout;
	uint32_t rate;
};
_Static_assert(sizeof(struct qp_attr) == 144 && offsetof(struct qp_attr, address) == 56 &&
		       offsetof(struct qp_attr, pkey) == 120 &&
		       offsetof(struct qp_attr, rnr_timer) == 128 &&
		       offsetof(struct qp_attr, rate) == 136,
	       "ibv_qp_attr");

#endif
