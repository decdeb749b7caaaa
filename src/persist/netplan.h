/* SPDX-License-Identifier: Apache-2.0 */
/* Which definition of somebody else's network files is about an interface. Texts in, names out. */
#ifndef PERSIST_NETPLAN_H
#define PERSIST_NETPLAN_H

#include <stdbool.h>

#include "base/arena.h"

/*
 * The id of the definition in a YAML file of netplan that is about the interface: by its name, by
 * set-name, or by match. *section gets "ethernets" and so on. Reads block style with indents, which
 * is what installers and people write; NULL for everything else.
 */
const char *netplan_find(struct arena *a, const char *text, const char *interface, const char *mac,
			 const char **section);
/* The mtu that the file gives the id; NULL. */
const char *netplan_mtu(struct arena *a, const char *text, const char *section, const char *id);
/* Whether a .network file's [Match] names the interface; one that matches by anything else does
 * not count. */
bool networkd_matches(struct arena *a, const char *text, const char *interface);

#endif
