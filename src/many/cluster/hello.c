/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of announcements, each bounded by what is left of the frame. */
#include "many/cluster/hello.h"

#include <stdio.h>
#include <string.h>

static const uint8_t magic[4] = { 'g', 'p', 't', 'n' };

enum { VERSION = 1, HEAD = 8 + HELLO_TOKEN };

enum field {
	FIELD_NODE_NAME = 1,
	FIELD_INTERFACE,
	FIELD_PCI,
	FIELD_PORT_NAME,
	FIELD_SWITCH_ID,
	FIELD_MTU,
	FIELD_SPEED,
};

struct out {
	uint8_t *p;
	size_t n, cap;
	bool full;
};

static void put(struct out *o, unsigned what, const void *value, size_t len)
{
	if (!len || o->full)
		return;
	if (len > 255 || o->cap - o->n < len + 2) {
		o->full = true;
		return;
	}
	o->p[o->n++] = (uint8_t)what;
	o->p[o->n++] = (uint8_t)len;
	memcpy(o->p + o->n, value, len);
	o->n += len;
}

static void put_number(struct out *o, unsigned what, uint32_t v)
{
	const uint8_t bytes[] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8),
				  (uint8_t)v };

	if (v)
		put(o, what, bytes, sizeof(bytes));
}

size_t hello_write(const struct hello *h, uint8_t *out, size_t n)
{
	struct out o = { .p = out, .n = HEAD, .cap = n };

	if (n < HEAD)
		return 0;
	memcpy(out, magic, sizeof(magic));
	out[4] = VERSION;
	out[5] = 0;
	out[6] = (uint8_t)(h->node >> 8);
	out[7] = (uint8_t)h->node;
	memcpy(out + 8, h->token, HELLO_TOKEN);
	put(&o, FIELD_NODE_NAME, h->name, strnlen(h->name, sizeof(h->name)));
	put(&o, FIELD_INTERFACE, h->port, strnlen(h->port, sizeof(h->port)));
	put(&o, FIELD_PCI, h->pci, strnlen(h->pci, sizeof(h->pci)));
	put(&o, FIELD_PORT_NAME, h->port_name, strnlen(h->port_name, sizeof(h->port_name)));
	put(&o, FIELD_SWITCH_ID, h->switch_id, strnlen(h->switch_id, sizeof(h->switch_id)));
	put_number(&o, FIELD_MTU, h->mtu);
	put_number(&o, FIELD_SPEED, h->speed_mbps);
	return o.full ? 0 : o.n;
}

/* As much as fits, of printable ASCII; anything else becomes '?'. */
static void text(char *out, size_t cap, const uint8_t *p, size_t n)
{
	size_t k = n < cap ? n : cap - 1;

	for (size_t i = 0; i < k; i++)
		out[i] = p[i] > ' ' && p[i] < 0x7f ? (char)p[i] : '?';
	out[k] = '\0';
}

static uint32_t number(const uint8_t *p, size_t n)
{
	if (n != 4)
		return 0;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void take(struct hello *h, unsigned what, const uint8_t *p, size_t n)
{
	switch (what) {
	case FIELD_NODE_NAME:
		text(h->name, sizeof(h->name), p, n);
		break;
	case FIELD_INTERFACE:
		text(h->port, sizeof(h->port), p, n);
		break;
	case FIELD_PCI:
		text(h->pci, sizeof(h->pci), p, n);
		break;
	case FIELD_PORT_NAME:
		text(h->port_name, sizeof(h->port_name), p, n);
		break;
	case FIELD_SWITCH_ID:
		text(h->switch_id, sizeof(h->switch_id), p, n);
		break;
	case FIELD_MTU:
		h->mtu = number(p, n);
		break;
	case FIELD_SPEED:
		h->speed_mbps = number(p, n);
		break;
	default:
		break;
	}
}

bool hello_read(const uint8_t *bytes, size_t n, struct hello *out)
{
	struct hello h = { 0 };
	size_t at = HEAD;

	if (n < HEAD || memcmp(bytes, magic, sizeof(magic)) != 0 || bytes[4] != VERSION)
		return false;
	h.node = (unsigned)bytes[6] << 8 | bytes[7];
	memcpy(h.token, bytes + 8, HELLO_TOKEN);
	/* Short frames are filled up with zeroes: a field 0 ends them. */
	while (n - at >= 2 && bytes[at]) {
		size_t len = bytes[at + 1];

		if (n - at - 2 < len)
			return false;
		take(&h, bytes[at], bytes + at + 2, len);
		at += 2 + len;
	}
	if (!h.port[0])
		return false;
	*out = h;
	return true;
}

/* Chassis and port are a kind, then a MAC address or a text, by the kind. */
static void lldp_id(char *out, size_t cap, const uint8_t *p, size_t n, unsigned mac_kind)
{
	if (n == 7 && p[0] == mac_kind)
		snprintf(out, cap, "%02x:%02x:%02x:%02x:%02x:%02x", p[1], p[2], p[3], p[4], p[5],
			 p[6]);
	else if (n > 1)
		text(out, cap, p + 1, n - 1);
}

bool lldp_read(const uint8_t *bytes, size_t n, struct lldp *out)
{
	enum { END, CHASSIS, PORT, SYSTEM_NAME = 5, MAC_OF_CHASSIS = 4, MAC_OF_PORT = 3 };
	struct lldp l = { 0 };
	size_t at = 0;

	while (n - at >= 2) {
		unsigned what = bytes[at] >> 1;
		size_t len = (size_t)(bytes[at] & 1) << 8 | bytes[at + 1];
		const uint8_t *p = bytes + at + 2;

		if (what == END)
			break;
		if (n - at - 2 < len)
			return false;
		if (what == CHASSIS)
			lldp_id(l.chassis, sizeof(l.chassis), p, len, MAC_OF_CHASSIS);
		else if (what == PORT)
			lldp_id(l.port, sizeof(l.port), p, len, MAC_OF_PORT);
		else if (what == SYSTEM_NAME)
			text(l.system, sizeof(l.system), p, len);
		at += 2 + len;
	}
	if (!l.chassis[0] || !l.port[0])
		return false;
	*out = l;
	return true;
}
