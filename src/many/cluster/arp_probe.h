/* SPDX-License-Identifier: Apache-2.0 */
/* Whether somebody on a link has an address already. */
#ifndef CLUSTER_ARP_PROBE_H
#define CLUSTER_ARP_PROBE_H

#include <stddef.h>

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
