/* SPDX-License-Identifier: Apache-2.0 */
/* Keyfiles and .network files: one port, one address, no other way to get one. */
#include "many/cluster/nm_text.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "tune/persist/quote.h"

static const char head[] =
	"# Written by gputune cluster plan: the address of a link between machines.\n"
	"# Taken back to the byte by \"gputune cluster undo\"; edit it and it is yours.\n";

void nm_uuid(const char *interface, char out[NM_UUID_SIZE])
{
	static const char space[] = "gputune cluster connection ";
	uint8_t d[SHA256_BYTES];
	struct sha256 s;

	sha256_begin(&s);
	sha256_add(&s, space, sizeof(space) - 1);
	sha256_add(&s, interface, strlen(interface));
	sha256_end(&s, d);
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
