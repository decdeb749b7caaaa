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
/* What the file gives the id, "mtu" for one; NULL. */
const char *netplan_value(struct arena *a, const char *text, const char *section, const char *id,
			  const char *key);
/* Whether the id's match is by address, in either style. */
bool netplan_is_by_address(struct arena *a, const char *text, const char *section, const char *id);
/* Whether a .network file's [Match] means the interface, by name or by address (mac "": not known);
 * one that matches by anything else does not count. */
bool networkd_matches(struct arena *a, const char *text, const char *interface, const char *mac);

#endif
