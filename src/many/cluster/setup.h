/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one node has to change for its part of a wiring: from the configuration that came over the
 * network to knobs with values, the texts of files, and what stands against it. Two steps: a trial,
 * which is gone after a reboot and is taken back unless it is confirmed (addresses, MTU, files
 * below /run), and what is kept afterwards (files below /etc). Reads the machine through the host
 * interface, writes nothing.
 */
#ifndef CLUSTER_SETUP_H
#define CLUSTER_SETUP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "machine/host/host.h"
#include "tune/plan/plan.h"
#include "tune/txn/txn.h"
#include "base/arena.h"
#include "base/shape.h"

/*
 * Texts of files that give ports of a cluster their address and MTU: netplan's (here),
 * NetworkManager's and networkd's (below). Each file is wholly ours. Pure.
 */

/* What a port shall have. */
struct wire_port {
	const char *name;    /* the interface */
	const char *address; /* "192.168.100.1/24" */
	long long mtu;	     /* bytes */
	/* netplan: the definition of others that is about the port, NULL: none, ours is the first.
	 */
	const char *id;
	/* The interface's name has to be said again, or a .link file made for the MTU would take
	 * it away (see tune/persist/link.c). */
	bool set_name;
};

/* One file for all ports. NULL and *why (a sentence): a name cannot stand in it. */
const char *netplan_text(struct arena *a, const struct wire_port *ports, size_t n,
			 const char **why);

/* Files of NetworkManager and of networkd for one port each. Pure. */

enum { NM_UUID_SIZE = 37 };

/* The identity of our connection for a port, the same on every call and on every machine: it names
 * a file of that machine alone. */
void nm_uuid(const char *interface, char out[NM_UUID_SIZE]);
/* A keyfile. NULL and *why: the name cannot stand in it. */
const char *nm_text(struct arena *a, const struct wire_port *p, const char **why);
/* A .network file. */
const char *networkd_text(struct arena *a, const struct wire_port *p, const char **why);

/* What transactions of clusters are called in the journal. */
#define SETUP_OP "cluster"
#define SETUP_NETPLAN "90-gputune-cluster.yaml"

enum { SETUP_PORTS_MAX = 64, SETUP_TEXT_MAX = 1 << 16 };

struct setup_port {
	const char *name, *address; /* valid, as wire_port has them */
	long long mtu;		    /* bytes, 576 to 65536 */
};

/* A ConnectX port that is to speak Ethernet from the next boot on. */
struct setup_type {
	const char *pci; /* "0000:01:00.0" */
	long long port;	 /* of the adapter: 1 or 2 */
};

struct setup_want {
	struct setup_port ports[SETUP_PORTS_MAX];
	size_t n;
	struct setup_type types[SETUP_PORTS_MAX];
	size_t n_types;
	const char *hosts, *known_hosts; /* lines, checked by their knob; "" none */
	/* Of a change that is to be made: of what a person agreed to, NULL: none; seconds until it
	 * goes back by itself, 0: DEADMAN_S. */
	const char *digest;
	long long limit_s;
};

/* What came with a request, of the rows setup_want_shape; texts that it lacks become "". -EINVAL
 * and *e. */
int setup_want_check(struct arena *a, struct setup_want *out, struct err *e);
extern const struct shape setup_want_shape;

enum setup_owner { SETUP_NOBODY, SETUP_NETPLAN_OWNS, SETUP_MANAGER, SETUP_NETWORKD, SETUP_OWNERS };
const char *setup_owner_name(enum setup_owner o); /* "netplan", ...; "nobody" */

struct setup_refusal {
	const char *code; /* stable: "rdma-in-use", "gpu-busy", "own-link", ... */
	const char *port; /* "" the node */
	const char *text, *fix;
};

struct setup_file {
	const char *path, *text; /* as it will be kept */
};

struct setup {
	struct plan trial, keep;		  /* of both every change is open */
	enum setup_owner owners[SETUP_PORTS_MAX]; /* by the configuration's ports */
	struct setup_file *files;
	size_t n_files;
	struct setup_refusal *refusals;
	size_t n_refusals;
	const char **notes;
	size_t n_notes;
};

void setup_make(struct arena *a, struct host *h, const struct machine *m,
		const struct setup_want *want, struct setup *out);
/* Hexadecimal. */
const char *setup_sha256(struct arena *a, const void *bytes, size_t n);
/* Equal for equal changes: what a person agreed to is what is made. Hexadecimal SHA-256. */
const char *setup_digest(struct arena *a, const struct setup *s);

/* --- setup_owner.c: who gives links their addresses, and its files --- */
struct setup_sources; /* the files of others that may name a link */
struct setup_sources *setup_sources_read(struct arena *a, struct host *h, const struct machine *m);
enum setup_owner setup_owner_of(const struct setup_sources *s, const struct nic *n);
/* The definition of netplan for the port, as wire_port has it. */
void setup_definition(struct arena *a, const struct setup_sources *s, const struct nic *n,
		      struct wire_port *p);

/* --- what stands against changing these ports ------------------------------------------------- */
void setup_gates(struct arena *a, struct host *h, const struct machine *m,
		 const struct setup_want *want, struct setup *out);
enum setup_refusal_kind {
	REFUSED_UNREADABLE,
	REFUSED_NAME,
	REFUSED_NO_PORT,
	REFUSED_OWN_LINK,
	REFUSED_BOND,
	REFUSED_WIRELESS,
	REFUSED_IFUPDOWN,
	REFUSED_DEFAULT_ROUTE,
	REFUSED_RDMA,
	REFUSED_GPU,
	REFUSED_EDITED,
	REFUSED_TAKEN,
};
/* port: "" the node. */
void setup_refuse(struct arena *a, struct setup *s, enum setup_refusal_kind k, const char *port,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Whose queue pairs "rdma -j res show qp" lists on that device: "ib_write_bw (process 123), ...";
 * "" nobody's; NULL: the text is none of that. Pure. */
const char *setup_rdma_users(struct arena *a, const char *json, const char *device);
/* Where no program lists queue pairs: who has an RDMA device open, in the same words; "" nobody. */
const char *setup_rdma_openers(struct arena *a, struct host *h);

/* --- having owners read their files ----------------------------------------------------------- */
/* Programs that make those knobs' files hold, as argument vectors ended by NULL; *n of them. */
char ***setup_reloads(struct arena *a, struct host *h, const struct knob *knobs, size_t n_knobs,
		      size_t *n);
/* Runs them, one after the other; -errno and *e of the first that fails. */
int setup_reload(struct arena *a, struct host *h, const struct knob *knobs, size_t n,
		 struct err *e);

/* A node's setup as it goes to the coordinator. */

struct setup_change {
	bool keep; /* made when it is confirmed, not for trial */
	struct knob knob;
	const char *before, *after; /* NULL: not known */
};

struct setup_answer {
	struct setup_change *changes;
	size_t n_changes;
	struct setup_file *files;
	size_t n_files;
	struct setup_refusal *refusals;
	size_t n_refusals;
	const char **notes;
	size_t n_notes;
	const char **owners; /* "enp1s0f0np0: netplan" */
	size_t n_owners;
	const char **commands; /* programs that it runs, their words with blanks between */
	size_t n_commands;
	const char *digest;
};

void setup_answer(struct arena *a, struct host *h, const struct setup *s,
		  const struct setup_want *want, struct setup_answer *out);

#endif
