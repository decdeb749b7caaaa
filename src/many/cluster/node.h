/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node of a cluster as it describes itself: what it is, its ports, their neighbors, and which
 * way its kernel would send. All of it comes from another machine, so whoever reads it from JSON
 * goes through cluster_node_read, which believes no size and no name. Texts and lists live as long
 * as the arena they were built in. Facts carry how they were seen (base/fact.h): what a
 * node could not see is a state, never a zero.
 */
#ifndef CLUSTER_NODE_H
#define CLUSTER_NODE_H

#include <jansson.h>
#include <sys/socket.h>

#include "base/err.h"
#include "machine/model/machine.h"

enum {
	CLUSTER_NODES_MAX = 32,
	CLUSTER_PORTS_MAX = 64,	    /* of one node */
	CLUSTER_ADDRESSES_MAX = 64, /* of one port */
	CLUSTER_GIDS_MAX = 256,	    /* of one port */
	CLUSTER_HEARD_MAX = 4096,   /* by one node */
	CLUSTER_ROUTES_MAX = 4096,
	CLUSTER_NAME_MAX = 253,
	CLUSTER_GPUS_MAX = 256,
};
#define CLUSTER_MEMORY_MAX (1ll << 50) /* bytes of one node */

/* "192.168.100.1/24" or "fe80::1/64": an address and the length of its prefix. */
struct cluster_address {
	const char *name;
};

/*
 * One port of an adapter as the system sees it: one PCI function with one interface, and the RDMA
 * device of the same function. Facts of what a DGX Spark calls a twin are those of two such ports.
 */
struct cluster_port {
	const char *name; /* the interface, "enp1s0f0np0" */
	const char *pci;  /* "0000:01:00.0"; "" for virtual ones */
	/* As the node's machine reads it; only the members in the rows of node.c are sent. */
	struct nic nic;
	struct rdma_port rdma;
	struct pci_function function;
	/* Absent where the port has no RDMA. */
	struct fact_str rdma_device; /* "rocep1s0f0" */
	struct fact_int rdma_port;   /* from 1 */
	struct fact_int
		active_mtu; /* bytes; by the verbs library, so unasked where there is none */
	bool data;	    /* for data, not for management (is_data_port); cluster_link fills it */
	struct list addresses; /* struct cluster_address */
	/* How this port listened: "frames" (layer 2), "ipv6"; absent or denied: not at all. */
	struct fact_str listened;
};

/*
 * A neighbor of a port. way:
 *   "link"       our frame to the address that bridges never forward: one cable lies between
 *   "broadcast"  our frame to everybody
 *   "lldp"       an announcement of a switch or host (IEEE 802.1AB): node is its system name
 *   "ipv6"       our datagram to ff02::1
 *   "echo"       an answer to an echo request to ff02::1: only address is known
 */
struct cluster_neighbor {
	const char *name; /* our port */
	const char *way;
	struct fact_str node, port; /* theirs */
	struct fact_str address;    /* MAC of the frame, or IPv6 address of the datagram */
	struct fact_str pci, port_name, switch_id; /* as their frame says */
	struct fact_int mtu, speed_mbps;	   /* as their frame says */
	struct fact_int count;
};

/* Which way the kernel sends to an address. */
struct cluster_route {
	const char *name;     /* the address, without prefix */
	struct fact_str port; /* the interface it leaves by; absent where there is no route */
};

struct cluster_node {
	const char *name;    /* as the user calls it; unique in the cluster */
	const char *address; /* what ssh is given: "host", "user@host" */
	const char *failure; /* why it did not answer, a sentence; "" when it did */
	struct fact_str hostname;
	struct fact_str digest;	 /* of machine and boot: equal only for one machine named twice */
	struct fact_str version; /* of gputune there */
	struct fact_str platform, product, os, kernel, arch;
	struct fact_str driver, cuda, nccl; /* versions */
	struct fact_str nccl_conf; /* settings of /etc/nccl.conf but for names of devices; "none" */
	struct fact_str gpu;	   /* name of the GPUs, "NVIDIA GB10" */
	struct fact_int gpus, memory_bytes;
	struct fact_int euid;
	struct fact_int
		captured; /* 1: the inventory is that of a capture, only the neighbors are live */
	struct fact_int adapters; /* ConnectX functions on PCI */
	struct fact_str
		hotplug; /* DGX Spark's scripts that take the adapter away without a cable */
	struct fact_int ip_forward;
	struct fact_str forward;       /* "accept", "drop": of the FORWARD hook */
	struct fact_str forward_by;    /* the program and chain it was read from */
	struct fact_str default_route; /* interface of the default route */
	struct list ports;	       /* struct cluster_port */
	struct list heard;	       /* struct cluster_neighbor */
	struct list routes;	       /* struct cluster_route */
};

extern const struct shape cluster_node_shape, cluster_port_shape;

#define NODE_PORTS(p, node) LIST_FOR_EACH (struct cluster_port, p, &(node)->ports)

/*
 * A node as another machine or a file has it: lists within the bounds above, names of interfaces,
 * PCI addresses and IP addresses in their form, counts in their range, no text with control
 * characters. Fills only what the JSON has; -EINVAL and *e, with the place, otherwise.
 */
int cluster_node_read(struct arena *a, const json_t *j, struct cluster_node *out, struct err *e);

/* NULL when there is none of that name. */
struct cluster_port *cluster_port_find(const struct cluster_node *n, const char *name);

/* A name that may be an argument of ssh and stand in a file name: letters, digits, "._-@:%[]",
 * not beginning with '-' or '.'. */
bool cluster_name_valid(const char *name);
/* What another machine says to people, in the arena: whole characters of at most most bytes, each
 * that would control a terminal as '?'. */
const char *cluster_clean_text(struct arena *a, const char *s, size_t most);

/* --- addresses --- */
struct cluster_prefix {
	int family; /* AF_INET, AF_INET6 */
	unsigned bits;
	unsigned char bytes[16]; /* the address, network order */
};
/* "ADDRESS/PREFIX" or "ADDRESS" (all bits). -EINVAL. */
int cluster_prefix_parse(const char *text, struct cluster_prefix *out);
/* Of a mask as getifaddrs has it; NULL: 0. */
unsigned cluster_prefix_length(const struct sockaddr *mask);
/* The IPv4 address in a RoCE v2 GID; false when it is none. */
bool cluster_gid_ipv4(const struct rdma_gid *g, unsigned char out[4]);
/* Both in one subnet: equal prefixes. */
bool cluster_prefix_same(const struct cluster_prefix *a, const struct cluster_prefix *b);
/* fe80::/10 or 169.254.0.0/16. */
bool cluster_prefix_link_local(const struct cluster_prefix *p);

#endif
