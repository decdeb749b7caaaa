/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of one or several machines matters to those who start programs on them: GPUs, memory, RDMA
 * ports, interfaces, the NCCL that is installed; and how the machines are joined, by their
 * addresses. Filled from facts (gen_node_of) or from a discovery of a cluster.
 */
#ifndef GENERATE_NODES_H
#define GENERATE_NODES_H

#include "base/ipv4.h"
#include "machine/model/machine.h"

enum { GEN_NODES_MAX = 64, GEN_PORTS_MAX = 64 };

/* An RDMA port. Texts are never NULL. */
struct gen_port {
	const char *device; /* "rocep1s0f0" */
	unsigned number;    /* from 1 */
	const char *netdev, *pci;
	const char *cage; /* "p0": ports of a machine with an equal one are twins; "": not known */
	bool infiniband;
	bool foreign;  /* neither of InfiniBand and Ethernet (EFA): not for NCCL's own transport */
	bool up, down; /* neither: not seen */
	/* What nic.twins says of its twin and wants; NULL: nothing is wrong, or it has none. */
	const char *twin, *twin_wanted;
	long long rate_mbps; /* 0: not known */
	const char *address; /* "192.168.0.1/24"; "": none, or not seen */
};

/* An interface without RDMA that is up and has an address. */
struct gen_link {
	const char *name, *address;
	long long speed_mbps; /* 0: not known */
	bool wireless;
};

struct gen_node {
	const char *name;
	const char *address;  /* how others reach it, without prefix; "": not known */
	const char *control;  /* the interface of that address; "": not known */
	const char *from;     /* "this machine", "capture PATH", ... */
	const char *platform; /* "dgx-spark", "hgx", ...; "": not known */
	const char *gpu;      /* NVML's name; "" */
	size_t gpus;
	bool unified;	  /* GPUs share the host's memory */
	const char *nccl; /* version of the system's library; NULL: not seen */
	long long total_bytes, available_bytes, free_bytes; /* of the host; 0: not known */
	struct gen_port *ports;
	size_t n_ports;
	struct gen_link *links;
	size_t n_links;
	const struct machine *facts; /* NULL: from a discovery */
	bool invented;		     /* the name is ours: nobody can be reached by it */
};

enum gen_shape {
	SHAPE_ALONE,
	SHAPE_FABRIC,	  /* InfiniBand: every port reaches every other */
	SHAPE_COMMON,	  /* one subnet or more that all share: a pair, or a switch */
	SHAPE_RING,	  /* three machines, each pair with subnets of its own */
	SHAPE_NEIGHBOURS, /* subnets that only some share, and no ring of three */
	SHAPE_SOCKETS,	  /* no RDMA port that is up on every machine */
	SHAPE_UNKNOWN,	  /* RDMA ports, whose addresses were not seen */
	SHAPES,
};
extern const char *const gen_shape_names[SHAPES];

struct gen_cluster {
	struct gen_node *nodes;
	size_t n;
	enum gen_shape shape;
	const char *shape_why; /* a sentence */
	const char *common;    /* subnet of the control interfaces, "10.0.0.0/24"; "": none */
	unsigned prefix;       /* bits of the subnets between RDMA ports; 0: not known */
	const struct knowledge *known; /* of GPUs; NULL: what is compiled in */
};

void gen_node_of(struct arena *a, const struct machine *m, const char *name, const char *from,
		 struct gen_node *out);
/* Fills shape, and address and control of every node that has none. */
void gen_cluster_judge(struct arena *a, struct gen_cluster *c);
/* GPUs of all nodes. */
size_t gen_gpus(const struct gen_cluster *c);
/* A name that may stand in hostfiles and as an argument: letters, digits, "._-:", not first '-'. */
bool gen_name_valid(const char *name);
/* The ports that carry traffic between machines: up, as fast as the fastest, and with an address
 * where any has one, of a kind that NCCL's own transport takes (net_ib: link layers InfiniBand and
 * Ethernet). False: this one does not. */
bool gen_port_used(const struct gen_node *n, const struct gen_port *p);

/* The network of "10.0.0.1/24". False: no IPv4 address with prefix. */
bool gen_subnet(const char *address, struct ipv4 *net);

#endif
