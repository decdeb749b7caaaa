/* SPDX-License-Identifier: Apache-2.0 */
/* What the RDMA benches share on the measuring side. */
#ifndef NET_RDMA_H
#define NET_RDMA_H

#include "measure/bench/net/peer.h"
#include "measure/bench/net/place.h"
#include "measure/bench/net/rdma_serve.h"

struct rdma_client {
	const struct net_arg *arg;
	struct peer peer;
	struct verbs_port port;
	struct verbs_pair pair;
};

/* Session, device and queue pairs, connected; *s is zeroed. rdma_client_close either way. */
int rdma_client_open(const struct bench_env *env, const struct bench_case *c, struct rdma_client *s,
		     const char **variant, struct err *e);
void rdma_client_close(struct rdma_client *s);
/* One completion, within ten seconds, or when the user asks to stop. *e is set. */
int rdma_client_wait(struct rdma_client *s, struct verbs_done *out, struct err *e);
/* The device that would be used, for placement; false: none, and why is in cases. */
bool rdma_place_find(const struct bench_env *env, struct net_place *out, struct bench_cases *cases);

#endif
