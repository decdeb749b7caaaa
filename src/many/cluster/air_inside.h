/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of the air, between air.c and air_socket.c. */
#ifndef CLUSTER_AIR_INSIDE_H
#define CLUSTER_AIR_INSIDE_H

#include <netinet/in.h>

#include "many/cluster/air.h"

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
