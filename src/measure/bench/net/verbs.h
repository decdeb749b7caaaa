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

#endif
