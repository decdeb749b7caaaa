/* SPDX-License-Identifier: Apache-2.0 */
/* Keyfiles and .network files: one port, one address, no other way to get one. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "many/cluster/config_text.h"
#include "tune/persist/quote.h"
#include "base/text.h"

static const char head[] =
	"# Written by gputune cluster plan: the address of a link between machines.\n"
	"# Taken back to the byte by \"gputune cluster undo\"; edit it and it is yours.\n";

void nm_uuid(const char *interface, char out[NM_UUID_SIZE])
{
	static const char space[] = "gputune cluster connection ";
	uint8_t d[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state s;

	crypto_hash_sha256_init(&s);
	crypto_hash_sha256_update(&s, (const uint8_t *)space, sizeof(space) - 1);
	crypto_hash_sha256_update(&s, (const uint8_t *)interface, strlen(interface));
	crypto_hash_sha256_final(&s, d);
	/* Version 8, made of whatever the maker likes. Source: RFC 9562, 5.8. */
	d[6] = (uint8_t)((d[6] & 0x0f) | 0x80);
	d[8] = (uint8_t)((d[8] & 0x3f) | 0x80);
	snprintf(out, NM_UUID_SIZE,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", d[0], d[1],
		 d[2], d[3], d[4], d[5], d[6], d[7], d[8], d[9], d[10], d[11], d[12], d[13], d[14],
		 d[15]);
}

const char *nm_text(struct arena *a, const struct wire_port *p, const char **why)
{
	const char *name = quote_interface(a, p->name, why);
	char uuid[NM_UUID_SIZE];

	if (!name)
		return NULL;
	nm_uuid(p->name, uuid);
	return arena_printf(a,
			    "%s[connection]\nid=gputune-cluster-%s\nuuid=%s\ntype=ethernet\n"
			    "interface-name=%s\nautoconnect=true\nautoconnect-priority=100\n\n"
			    "[ethernet]\nmtu=%lld\n\n"
			    "[ipv4]\nmethod=manual\naddress1=%s\nnever-default=true\n\n"
			    "[ipv6]\nmethod=disabled\n",
			    head, name, uuid, name, p->mtu, p->address);
}

const char *networkd_text(struct arena *a, const struct wire_port *p, const char **why)
{
	const char *name = quote_interface(a, p->name, why);

	if (!name)
		return NULL;
	return arena_printf(a,
			    "%s[Match]\nName=%s\n\n[Link]\nMTUBytes=%lld\nRequiredForOnline=no\n\n"
			    "[Network]\nDHCP=no\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n"
			    "Address=%s\n",
			    head, name, p->mtu, p->address);
}

/* netplan's YAML. Of an address list that others begin, netplan appends ours to theirs; scalars of
 * ours win, since the file sorts behind theirs. */

static const char netplan_head[] =
	"# Written by gputune cluster plan: addresses of the links between machines.\n"
	"# Taken back to the byte by \"gputune cluster undo\"; edit it and it is yours.\n"
	"network:\n"
	"  version: 2\n"
	"  ethernets:\n";

const char *netplan_text(struct arena *a, const struct wire_port *ports, size_t n, const char **why)
{
	TEXT_AUTO out = { 0 };

	text_add(&out, netplan_head);
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
