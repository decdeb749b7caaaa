/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the processes of a job meet over the network, and the secret that they share. By PMIx where
 * the launcher speaks it: rank 0 listens at a port that is free and puts its addresses and a secret
 * of this job. Else at the address that the launcher tells, with a secret from a file.
 */
#ifndef NET_MEET_H
#define NET_MEET_H

#include "machine/host/ranks.h"
#include "measure/bench/net/handshake.h"

struct meet {
	struct net_address address; /* of rank 0 */
	struct token token;
	int listener; /* rank 0's, where it listens already; 0: it does not */
};

/* token_file NULL: a file of the user's own, made where it is missing; limit_s: for rank 0 to say
 * where it is. -EINVAL and *e: nothing tells where; -errno. */
int meet_find(const struct ranks *r, const char *token_file, double limit_s, struct meet *out,
	      struct err *e);

#endif
