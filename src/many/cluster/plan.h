/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a cluster's links: which port gets which address and MTU, which names the nodes give
 * each other, and what stands against it. Pure: a discovered cluster and what nodes said of
 * themselves in, a wiring out. How a node makes it so is node_configure's part.
 */
#ifndef CLUSTER_PLAN_H
#define CLUSTER_PLAN_H

#include "many/cluster/address.h"
#include "many/cluster/links.h"

enum {
	WIRING_MTU = 9000,	    /* bytes */
	WIRING_SKEW_MS = 1000,	    /* clocks that differ by more are reported */
	WIRING_NETWORKS_MAX = 4096, /* of one node */
	WIRING_KEYS_MAX = 32,
};

/* A public key of a user: its private half should be on one machine alone. */
struct wiring_key {
	const char *file;   /* "id_ed25519.pub" */
	const char *digest; /* SHA-256 of the key, hexadecimal */
};

/* What a node said of itself before anything is planned: request "preflight". */
struct wiring_node {
	const char *failure; /* why it did not say it, a sentence; NULL: it did */
	const char *user;    /* whose program it is */
	long long euid;
	long long time_ms;   /* of its clock, since 1970 */
	const char *version; /* of gputune */
	/* Its clock less ours, and by how much that may be wrong; NAN: not known. */
	double skew_ms, skew_by_ms;
	const char *
		*network_texts; /* of its addresses and routes; what is no network is passed over */
	size_t n_network_texts;
	const struct ipv4 *networks;
	size_t n_networks;
	const struct wiring_key *keys;
	size_t n_keys;
	const char *const *host_keys; /* "ssh-ed25519 AAAA...": of its ssh server */
	size_t n_host_keys;
};

struct wiring_port {
	struct cluster_end end;
	const char *node, *port; /* their names */
	size_t path;		 /* into the wiring's paths */
	const char *address;	 /* "192.168.100.1/24" */
	bool there;		 /* it has that address today */
	long long mtu_now;	 /* bytes; -1: not known */
};

/* One subnet. */
struct wiring_path {
	size_t wire, path; /* in the cluster */
	enum cluster_way way;
	struct ipv4 network;
	const char *subnet; /* the same as text */
	bool kept;	    /* it is there today, with at least one of its ports */
	long long mtu;
	long long speed_mbps; /* 0: not known */
	size_t first, n;      /* its ports */
	const struct wiring_port *ports;
};

/* A ConnectX port whose link layer has to become Ethernet; in force after a reboot. */
struct wiring_switch {
	size_t node;
	const char *name; /* the node's */
	const char *pci;
	long long port; /* from 1, of the adapter */
};

struct wiring_trouble {
	const char *code;	 /* stable: "unsupported", "wrong-topology", "clock-skew", ... */
	bool stops;		 /* nothing is applied while it stands */
	const char *node, *port; /* "" where none is meant */
	const char *text, *fix;	 /* sentences */
};

struct wiring {
	const struct cluster *c;
	struct wiring_path *paths;
	size_t n_paths;
	struct wiring_port *ports; /* by path, then by node */
	size_t n_ports;
	const char **hosts;	  /* a node: lines for /etc/hosts; "" none */
	const char **known_hosts; /* a node: lines for /etc/ssh/ssh_known_hosts; "" none */
	const char **labels;	  /* a node: what it is called in these lines */
	struct wiring_switch *switches;
	size_t n_switches;
	struct wiring_trouble *troubles; /* those that stop first */
	size_t n_troubles;
};

struct wiring_target {
	const char *topology; /* "pair", "ring", "switch" or "auto" */
	long long mtu;	      /* 0: WIRING_MTU, or what the ports take */
	struct ipv4 base;     /* networks come from here; bits 0: as ipv4_next chooses */
	bool hosts;	      /* names and host keys too */
};

/* before: one a node of c. Never fails: what cannot be is a trouble that stops. */
void wiring_make(struct arena *a, const struct cluster *c, const struct wiring_node *before,
		 const struct wiring_target *wish, struct wiring *out);
/* Whether something stands against applying it. */
bool wiring_stopped(const struct wiring *w);

/* --- parts, one file each --- */
/* "TYPE BASE64" and nothing else: what may stand in a file of host keys. */
bool wiring_host_key_valid(const char *key);

#endif
