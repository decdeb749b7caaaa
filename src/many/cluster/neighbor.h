/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbor discovery: every port that is up announces itself and keeps what it receives. Three
 * steps, so that no node can be too late: all open, then all announce, then all listen. Layer-2
 * frames of our own EtherType to 01:80:C2:00:00:0E, which no bridge forwards, and to everybody;
 * LLDP is only listened to; datagrams to ff02::1 for whoever may not open a raw socket, and echo
 * requests there in place of frames. Nothing but these is sent, and nothing is changed beyond the
 * ports' list of multicast addresses while they are open.
 */
#ifndef CLUSTER_NEIGHBOR_H
#define CLUSTER_NEIGHBOR_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "many/cluster/node.h"

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
	char pci[HELLO_TEXT], port_name[HELLO_TEXT], switch_id[HELLO_TEXT]; /* "": not known */
	uint32_t mtu, speed_mbps;					    /* 0: not known */
};

/* Bytes written; 0 when they do not fit into n. */
size_t hello_write(const struct hello *h, uint8_t *out, size_t n);
/* False when the bytes are no announcement of this version. */
bool hello_read(const uint8_t *bytes, size_t n, struct hello *out);

struct lldp {
	char chassis[HELLO_TEXT], port[HELLO_TEXT], system[HELLO_TEXT]; /* "": not known */
};
/* The payload of an LLDP frame, from its first field on. False when chassis or port is missing or
 * a field leads out of the frame. */
bool lldp_read(const uint8_t *bytes, size_t n, struct lldp *out);

struct neighbor_discovery;

struct neighbor_options {
	uint8_t token[HELLO_TOKEN];
	unsigned node;	  /* number of this node in the discovery */
	const char *name; /* of this node */
};

/*
 * Opens the ports of n that are up and wired and notes in each port's listened how. n lives as long
 * as the discovery, whose own memory comes from a. -errno and *e only when there is no memory for
 * anything.
 */
int neighbor_open(struct arena *a, const struct neighbor_options *how, struct cluster_node *n,
		  struct neighbor_discovery **out, struct err *e);
/* Announces again and again for ms, and listens. 0, or -EINTR when stopped says so. */
int neighbor_announce(struct neighbor_discovery *air, int ms, bool (*stopped)(void *ctx),
		      void *ctx);
/* Takes what has come meanwhile and sets n->heard. */
void neighbor_receive(struct neighbor_discovery *air);
void neighbor_close(struct neighbor_discovery *air);

/* The sockets of a discovery, each port has some. */

/* One port of a discovery. */
struct neighbor_port {
	struct cluster_port *port;
	unsigned index;	  /* of the interface */
	int frames, lldp; /* -1: none */
	uint8_t mac[6];
	bool has_six; /* a link-local IPv6 address */
	uint8_t hello[HELLO_MAX];
	size_t hello_len;
};

struct neighbor_discovery {
	struct arena *a;
	struct cluster_node *node;
	struct neighbor_options how;
	struct neighbor_port *ports;
	size_t n_ports;
	int datagrams, echo; /* one socket for all ports; -1: none */
};

/* What came in, once. */
struct neighbor_message {
	struct neighbor_port *at;
	const char *way;
	struct hello hello; /* of "link", "broadcast" and "ipv6" */
	struct lldp lldp;   /* of "lldp" */
	char address[INET6_ADDRSTRLEN];
};

/* Whether somebody on a link has an address already. */

enum { TAKEN_MAX = 64, TAKEN_MAC = 18 };

struct arp_probe_ask {
	const char *port, *address; /* "192.168.100.1/24" */
	char by[TAKEN_MAC];	    /* out: the MAC that answered; "": none did */
};

/*
 * Asks all ports at once by ARP (RFC 5227: probes with no address of ours) and waits for 250 ms.
 * 0 or -errno when no port could be asked: then nothing is known. TAKEN_MAX of them at most.
 */
int arp_probe(struct arp_probe_ask *asks, size_t n);

#endif
