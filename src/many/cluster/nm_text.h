/* SPDX-License-Identifier: Apache-2.0 */
/* Files of NetworkManager and of networkd for one port each (see netplan_text.h). Pure. */
#ifndef CLUSTER_NM_TEXT_H
#define CLUSTER_NM_TEXT_H

#include "many/cluster/netplan_text.h"

enum { NM_UUID_SIZE = 37 };

/* The identity of our connection for a port, the same on every call and on every machine: it names
 * a file of that machine alone. */
void nm_uuid(const char *interface, char out[NM_UUID_SIZE]);
/* A keyfile. NULL and *why: the name cannot stand in it. */
const char *nm_text(struct arena *a, const struct wire_port *p, const char **why);
/* A .network file. */
const char *networkd_text(struct arena *a, const struct wire_port *p, const char **why);

#endif
