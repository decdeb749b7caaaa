/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of files that give ports of a cluster their address and MTU: netplan's (here),
 * NetworkManager's and networkd's (nm_text.h). Each file is wholly ours. Pure.
 */
#ifndef CLUSTER_CONFIG_TEXT_H
#define CLUSTER_CONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

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

/* Files of NetworkManager and of networkd for one port each (see netplan_text.h). Pure. */

enum { NM_UUID_SIZE = 37 };

/* The identity of our connection for a port, the same on every call and on every machine: it names
 * a file of that machine alone. */
void nm_uuid(const char *interface, char out[NM_UUID_SIZE]);
/* A keyfile. NULL and *why: the name cannot stand in it. */
const char *nm_text(struct arena *a, const struct wire_port *p, const char **why);
/* A .network file. */
const char *networkd_text(struct arena *a, const struct wire_port *p, const char **why);

#endif
