/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes report and have received, put together: which ports share a cage, which cages a cable
 * or a switch joins, what topology that is, and what is wrong with it. Pure: nodes in, cluster out.
 *
 * A cage is one socket for a cable. Its ports (twins on a DGX Spark) are those of one node with
 * equal phys_switch_id and phys_port_name, or, on a DGX Spark, the same device and function number
 * on two PCI domains where phys_port_name does not say otherwise; never by the interface's name.
 * All indices are into the lists of struct cluster.
 */
#ifndef CLUSTER_LINKS_H
#define CLUSTER_LINKS_H

#include "many/cluster/node.h"
#include "many/cluster/rsh.h"

struct cluster_end {
	size_t node, port; /* port: into the node's list of ports */
};

/* The same, for what is told of links and paths. */
struct cluster_place {
	const struct cluster_node *of;
	const struct cluster_port *at;
};

enum cluster_way {
	CLUSTER_CABLE,	/* a frame came through that no bridge forwards */
	CLUSTER_SWITCH, /* broadcasts alone come through */
	CLUSTER_UNSURE, /* only datagrams or echoes: cable or switch */
	CLUSTER_WAYS,
};

/* Two ports that receive from each other (or one of them from the other). A twin receives from both
 * twins of the cage at the other end, so one cable may show as four links; wires fold them. */
struct cluster_link {
	struct cluster_end a, b; /* a before b */
	enum cluster_way way;
	bool a_hears, b_hears;
	struct cluster_place at_a, at_b;
};

struct cluster_cage {
	size_t node;
	const char *name; /* "p0"; the port's name where the driver has no other */
	size_t *ports;	  /* its twins, by PCI address */
	size_t n_ports;
	const char **names; /* theirs */
	const struct cluster_node *of;
	const char *twins_by;  /* how twins are known, in words; NULL: one port */
	size_t wire;	       /* CLUSTER_NONE: nothing received */
	const char *neighbour; /* system name of the other end by LLDP; NULL */
};
#define CLUSTER_NONE ((size_t)-1)

/* One way for packets, with one end a node: of a cable the twins of the same place in their cages,
 * on a switch the first ports of all nodes, the second, ... A plan gives each path a subnet of its
 * own. */
struct cluster_path {
	struct cluster_end *ends;
	size_t n_ends;
	struct cluster_place *places;
	long long speed_mbps; /* the slowest end's; 0: not known */
};

/* A cable between two cages, or a switch with all cages on it. */
struct cluster_wire {
	enum cluster_way way;
	bool data; /* a port of it is for data */
	size_t *cages;
	size_t n_cages;
	const struct cluster_cage **joined; /* the same */
	struct cluster_path *paths;
	size_t n_paths;
};

enum cluster_topology {
	CLUSTER_NOTHING,   /* no two nodes hear each other */
	CLUSTER_PAIR,	   /* two nodes, cables between them */
	CLUSTER_RING,	   /* three nodes, each with both others */
	CLUSTER_SWITCHED,  /* all on one switch (or more than one) */
	CLUSTER_RING_FOUR, /* four nodes in a ring without a switch: unsupported */
	CLUSTER_PARTIAL,   /* something is missing for any of these */
	CLUSTER_MIXED,	   /* cables between nodes and a switch */
	CLUSTER_TOPOLOGIES,
};
/* "pair", "ring", "switch", "ring-of-four", "partial", "mixed", "nothing". */
const char *cluster_topology_name(enum cluster_topology t);
const char *cluster_way_name(enum cluster_way w); /* "cable", "switch", "unsure" */

enum cluster_severity { CLUSTER_NOTE, CLUSTER_WARNING, CLUSTER_FAULT };
const char *cluster_severity_name(enum cluster_severity s); /* "note", "warning", "fault" */

struct cluster_finding {
	const char *code; /* a value of cluster_codes, never renamed: "mtu-mismatch" */
	enum cluster_severity severity;
	const char *node;     /* "" for the cluster */
	const char *port;     /* "" for the node */
	const char *text;     /* what is wrong, a sentence */
	const char *evidence; /* what was seen and where */
	const char *fix;      /* what a person does about it */
};

struct findings;
struct verdict;

struct cluster {
	struct cluster_node *nodes; /* in the order of the user's list */
	size_t n_nodes;
	struct cluster_link *links;
	size_t n_links;
	struct cluster_cage *cages;
	size_t n_cages;
	struct cluster_wire *wires;
	size_t n_wires;
	enum cluster_topology topology;
	const char *topology_why;	  /* a sentence; of what is unsupported the reason */
	bool supported;			  /* a topology that a plan can be made for */
	struct cluster_finding *findings; /* worst first */
	size_t n_findings;
	const struct findings *judged; /* a node each: cluster_judge_settings */
};

/* The codes that findings have, those that explain others first; the last has a NULL code. */
struct cluster_code {
	const char *code;
	enum cluster_severity severity; /* usual */
	const char *fix;
	/* Settings that judge it, by blanks; what it judges by itself and what it is about, as in
	 * struct cause of measure/doctor/doctor.h. */
	const char *setting, *judges, *given;
};
extern const struct cluster_code cluster_codes[];

/* Fills links, cages, wires and topology from out->nodes. */
void cluster_link(struct arena *a, struct cluster *out);
/* Adds findings; before (nodes of an earlier discovery, or NULL) is what GIDs are compared with. */
void cluster_judge(struct arena *a, struct cluster *c, const struct cluster *before);
/* Adds one finding about a port ("": the node; the cluster), and keeps the order. Of its texts only
 * what fmt makes is copied. severity and fix: the code's. */
void cluster_find(struct arena *a, struct cluster *c, const char *code, const char *node,
		  const char *port, const char *evidence, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));
/* The same about a port of the cluster. */
void cluster_find_at(struct arena *a, struct cluster *c, const char *code, struct cluster_end e,
		     const char *evidence, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* The same with its own severity and fix. */
void cluster_find_as(struct arena *a, struct cluster *c, const struct cluster_finding *f);

/* --- look-ups --- */
struct cluster_port *cluster_end_port(const struct cluster *c, struct cluster_end e);
/* The cage of a port, CLUSTER_NONE when it has none (virtual, wireless). */
size_t cluster_cage_of(const struct cluster *c, size_t node, const struct cluster_port *p);
/* True when the link can carry packets: carrier, and up. */
bool cluster_port_up(const struct cluster_port *p);
/* The wire has such a port. */
bool cluster_wire_data(const struct cluster *c, const struct cluster_wire *w);
/* "spark-1 p0", for sentences. */
const char *cluster_cage_text(struct arena *a, const struct cluster *c, size_t cage);

/* --- JSON: gputune.cluster-discover/1 --- */
extern const struct result_shape cluster_discover_result; /* of struct cluster */
/* Nodes of such a file, with links and wires made anew; findings are not read. */
int cluster_read(struct arena *a, const json_t *j, struct cluster *out, struct err *e);
/* The same from a file of at most 64 MiB. */
int cluster_load(struct arena *a, const char *path, struct cluster *out, struct err *e);

/* For links.c and the judges. */

/* From links to wires and their paths; sets each cage's wire. */
void cluster_make_wires(struct arena *a, struct cluster *c);
void cluster_make_topology(struct arena *a, struct cluster *c);

/* links.c: the cage of an end's port; "spark-1 enp1s0f0np0". */
size_t cluster_cage_at(const struct cluster *c, struct cluster_end e);
const char *cluster_end_text(struct arena *a, const struct cluster *c, struct cluster_end e);

/* judged.c: what a node told, as facts again. */
struct machine *cluster_machine(struct arena *a, const struct cluster_node *n);
/* judged.c: which of its ports are for data. */
void cluster_find_data(struct arena *a, struct cluster_node *n);
/* judged.c: what the settings that cluster_codes names say of each node. */
void cluster_judge_settings(struct arena *a, struct cluster *c);
/* The verdict of a setting that failed on this interface, RDMA port or PCI function of the node, ""
 * for the node itself; NULL: it did not. */
const struct verdict *cluster_fails(const struct cluster *c, size_t node, const char *setting,
				    const char *target);
/* "mlx5_0/1" */
const char *cluster_rdma_name(struct arena *a, const struct cluster_port *p);

/* Findings about nodes and cabling, and about ports and links. */
void cluster_judge_nodes(struct arena *a, struct cluster *c);
void cluster_judge_ports(struct arena *a, struct cluster *c);
void cluster_judge_gids(struct arena *a, struct cluster *c, const struct cluster *before);

/*
 * Discovering a cluster: all nodes describe themselves, then all send and listen on their ports at
 * the same time, then say which way they would send to the addresses that were found. Changes
 * nothing anywhere.
 */

struct discover_how {
	int air_ms;	/* how long ports send and listen; 0: 1 s */
	int answer_ms;	/* beyond that a node may take so long for an answer; 0: 10 s */
	bool all_links; /* virtual interfaces too */
	const struct cluster *before; /* an earlier discovery; NULL */
};

/*
 * Nodes that are out, or go out meanwhile, are in the result, with the reason and the finding
 * "dead-node". -EINTR, or another negative errno and *e when no discovery could be begun.
 */
int cluster_discover(struct arena *a, struct rsh *r, const struct rsh_target *targets,
		     const struct discover_how *how, struct cluster *out, struct err *e);

#endif
