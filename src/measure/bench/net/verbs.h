/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA queue pairs through libibverbs, opened at run time; its header is not needed. The layouts
 * are those that its binary interface has kept since version 1.1 (64-bit); only what is used here
 * is named. A queue pair is reliable and connected (RC), with one piece of memory.
 */
#ifndef NET_VERBS_H
#define NET_VERBS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "measure/bench/net/wire.h"

struct ibv_context;
struct ibv_device;
struct ibv_pd;
struct ibv_cq;
struct ibv_qp;
struct ibv_mr;

enum verbs_op { VERBS_WRITE = 0, VERBS_SEND = 2, VERBS_READ = 4 };

/* ibv_wc */
struct verbs_done {
	uint64_t id;
	uint32_t status; /* 0: well */
	uint32_t opcode; /* 128 and more: something was received */
	uint32_t vendor;
	uint32_t bytes; /* received */
	uint32_t rest[6];
};
_Static_assert(sizeof(struct verbs_done) == 48, "as ibv_wc");

/* The functions that are used; missing ones answer NULL or ENOSYS. */
struct verbs_table {
	struct ibv_device **(*get_device_list)(int *n);
	void (*free_device_list)(struct ibv_device **list);
	const char *(*get_device_name)(struct ibv_device *d);
	struct ibv_context *(*open_device)(struct ibv_device *d);
	int (*close_device)(struct ibv_context *c);
	int (*query_port)(struct ibv_context *c, uint8_t port, void *attr);
	int (*query_gid_ex)(struct ibv_context *c, uint32_t port, uint32_t index, void *entry,
			    uint32_t flags, size_t size);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *c);
	int (*dealloc_pd)(struct ibv_pd *pd);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *p, size_t n, int access);
	int (*dereg_mr)(struct ibv_mr *mr);
	struct ibv_cq *(*create_cq)(struct ibv_context *c, int n, void *ctx, void *channel, int v);
	int (*destroy_cq)(struct ibv_cq *cq);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, void *attr);
	int (*modify_qp)(struct ibv_qp *qp, void *attr, int mask);
	int (*destroy_qp)(struct ibv_qp *qp);
	const char *(*status_text)(int status);
};

struct verbs_port {
	struct verbs_table fn;
	void *lib;
	struct ibv_context *context;
	char device[64];
	uint8_t number;
	uint32_t gid_index;
	uint8_t gid[16];
	uint16_t lid;
	uint8_t mtu;  /* 1 to 5: 256 to 4096 bytes */
	uint8_t link; /* 1 InfiniBand, 2 Ethernet */
	char netdev[IF_NAMESIZE];
};

/*
 * An active port, of Ethernet ones with a RoCE v2 address that holds an IPv4 one where there is;
 * the one whose network interface is netdev, where there is ("": any). -ENODEV and *e, with why.
 */
int verbs_port_open(const char *netdev, struct verbs_port *out, struct err *e);
void verbs_port_close(struct verbs_port *p);
/* "rxe0 port 1, GID 1 (10.0.0.1), MTU 1024". */
void verbs_port_describe(const struct verbs_port *p, char *buf, size_t n);

struct verbs_pair {
	struct verbs_port *port;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	uint8_t *memory;
	size_t bytes;
	unsigned inlined; /* a send of up to so many bytes goes with the request itself */
	struct frame_verbs own, theirs;
};

struct verbs_want {
	size_t bytes;	  /* of zeroed memory that the other side may read and write */
	unsigned depth;	  /* requests each way */
	unsigned inlined; /* bytes that should go with a request; less where the device cannot */
};

int verbs_pair_open(struct verbs_port *port, const struct verbs_want *want, struct verbs_pair *out,
		    struct err *e);
/* The other side's place is not believed beyond what it can do: reach its own memory. */
int verbs_pair_connect(struct verbs_pair *p, const struct frame_verbs *theirs, struct err *e);
void verbs_pair_close(struct verbs_pair *p);

/* n bytes at offset of our memory, to or from the same offset over there. 0 or -errno. */
int verbs_post(struct verbs_pair *p, enum verbs_op op, size_t offset, size_t n, uint64_t id,
	       bool signaled);
int verbs_post_receive(struct verbs_pair *p, size_t offset, size_t n, uint64_t id);
/* Up to n of what is done; 0: nothing yet; -errno. */
int verbs_poll(struct verbs_pair *p, struct verbs_done *out, int n);
/* Sets *e to what an unsuccessful one means; -EIO. */
int verbs_failed(const struct verbs_pair *p, const struct verbs_done *d, struct err *e);

/* libibverbs' structs, as its binary interface has them; numbers from its public header,
 * version 44. */

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
