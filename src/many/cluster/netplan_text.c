/* SPDX-License-Identifier: Apache-2.0 */
/* netplan's YAML. Of an address list that others begin, netplan appends ours to theirs; scalars of
 * ours win, since the file sorts behind theirs. */
#include "many/cluster/netplan_text.h"

#include "base/text.h"
#include "tune/persist/quote.h"

static const char head[] =
	"# Written by gputune cluster plan: addresses of the links between machines.\n"
	"# Taken back to the byte by \"gputune cluster undo\"; edit it and it is yours.\n"
	"network:\n"
	"  version: 2\n"
	"  ethernets:\n";

const char *netplan_text(struct arena *a, const struct wire_port *ports, size_t n, const char **why)
{
	TEXT_AUTO out = { 0 };

	text_add(&out, head);
	for (size_t i = 0; i < n; i++) {
		const struct wire_port *p = &ports[i];
		const char *id = quote_yaml(a, p->id ? p->id : p->name, why),
			   *name = quote_yaml(a, p->name, why),
			   *address = quote_yaml(a, p->address, why);

		if (!id || !name || !address)
			return NULL;
		/* Link-local addresses make GIDs that move the others; a boot must not wait for a
		 * machine that is off. */
		text_printf(&out,
			    "    %s:\n"
			    "      dhcp4: false\n"
			    "      dhcp6: false\n"
			    "      accept-ra: false\n"
			    "      link-local: []\n"
			    "      optional: true\n"
			    "      mtu: %lld\n"
			    "      addresses: [%s]\n",
			    id, p->mtu, address);
		if (p->set_name)
			text_printf(&out, "      set-name: %s\n", name);
	}
	return arena_strdup(a, out.s);
}
