/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ports say to each other, as bytes: our own announcement, and of LLDP's (IEEE 802.1AB) what
 * names the sender. Frames come from whoever is on the wire: a parser takes any bytes, reads none
 * beyond them, and what it gives out is text without control characters.
 *
 * An announcement is the magic "gptn", version 1, a byte 0, the sender's node number (2 bytes,
 * network order), the token of the discovery (16 bytes), then fields: a byte what, a byte how long,
 * the value. Fields that are not known are passed over. Its EtherType is 0x88B5, which IEEE 802
 * gives to experiments within one's own network.
 */
#ifndef CLUSTER_HELLO_H
#define CLUSTER_HELLO_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HELLO_TYPE = 0x88B5,
	LLDP_TYPE = 0x88CC,
	HELLO_TOKEN = 16,
	HELLO_MAX = 512, /* bytes of an announcement */
	HELLO_TEXT = 64,
	HELLO_UDP_PORT = 21188, /* of the datagrams to ff02::1 */
};

struct hello {
	uint8_t token[HELLO_TOKEN]; /* by chance, one a discovery: others' frames are passed over */
	unsigned node;		    /* number of the sender in the discovery, to 65535 */
	char name[HELLO_TEXT];	    /* the node's; cut where it is longer */
	char port[IF_NAMESIZE];
	char pci[HELLO_TEXT], port_name[HELLO_TEXT], switch_id[HELLO_TEXT]; /* "": not told */
	uint32_t mtu, speed_mbps;					    /* 0: not told */
};

/* Bytes written; 0 when they do not fit into n. */
size_t hello_write(const struct hello *h, uint8_t *out, size_t n);
/* False when the bytes are no announcement of this version. */
bool hello_read(const uint8_t *bytes, size_t n, struct hello *out);

struct lldp {
	char chassis[HELLO_TEXT], port[HELLO_TEXT], system[HELLO_TEXT]; /* "": not told */
};
/* The payload of an LLDP frame, from its first field on. False when chassis or port is missing or
 * a field leads out of the frame. */
bool lldp_read(const uint8_t *bytes, size_t n, struct lldp *out);

#endif
