/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wires themselves: every port that is up announces itself and keeps what it hears. Three
 * steps, so that no node can be too late: all open, then all say, then all hear. Layer-2 frames of
 * our own EtherType to 01:80:C2:00:00:0E, which no bridge forwards, and to everybody; LLDP is only
 * listened to; datagrams to ff02::1 for whoever may not open a raw socket, and echo requests there
 * in place of frames. Nothing but these is sent, and nothing is changed beyond the ports' list of
 * multicast addresses while they are open.
 */
#ifndef CLUSTER_AIR_H
#define CLUSTER_AIR_H

#include <netinet/in.h>

#include "many/cluster/hello.h"
#include "many/cluster/node.h"

struct air;

struct air_how {
	uint8_t token[HELLO_TOKEN];
	unsigned node;	  /* number of this node in the discovery */
	const char *name; /* of this node */
};

/*
 * Opens the ports of n that are up and wired and notes in each port's listened how. n lives as long
 * as the air, whose own memory comes from a. -errno and *e only when there is no memory for
 * anything.
 */
int air_open(struct arena *a, const struct air_how *how, struct cluster_node *n, struct air **out,
	     struct err *e);
/* Announces again and again for ms, and listens. 0, or -EINTR when stopped says so. */
int air_say(struct air *air, int ms, bool (*stopped)(void *ctx), void *ctx);
/* Takes what has come meanwhile and sets n->heard. */
void air_hear(struct air *air);
void air_close(struct air *air);

/* The sockets of the air, between air.c and air_socket.c. */

/* One port on the air. */
struct air_port {
	struct cluster_port *port;
	unsigned index;	  /* of the interface */
	int frames, lldp; /* -1: none */
	uint8_t mac[6];
	bool has_six; /* a link-local IPv6 address */
	uint8_t hello[HELLO_MAX];
	size_t hello_len;
};

struct air {
	struct arena *a;
	struct cluster_node *node;
	struct air_how how;
	struct air_port *ports;
	size_t n_ports;
	int datagrams, echo; /* one socket for all ports; -1: none */
};

/* What came in, once. */
struct air_news {
	struct air_port *at;
	const char *way;
	struct hello hello; /* of "link", "broadcast" and "ipv6" */
	struct lldp lldp;   /* of "lldp" */
	char address[INET6_ADDRSTRLEN];
};

/* Opens what a port can listen with; why says, as an errno, why frames cannot be opened. */
int air_open_frames(struct air_port *p);
int air_open_datagrams(void);
int air_open_echo(void);

void air_send_frames(const struct air_port *p);
void air_send_datagram(const struct air *air, const struct air_port *p);
void air_send_echo(const struct air *air, const struct air_port *p, unsigned round);

/* One frame or datagram: 1 when *out was set, 0 when it is nobody's of ours, -EAGAIN when there is
 * none. */
int air_take_frame(struct air_port *p, struct air_news *out);
int air_take_lldp(struct air_port *p, struct air_news *out);
int air_take_datagram(struct air *air, struct air_news *out);
int air_take_echo(struct air *air, struct air_news *out);

#endif
