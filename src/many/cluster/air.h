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

#endif
