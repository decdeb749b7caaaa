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

/*
 * A bench's state: size zeroed bytes that begin with a client, which has its session, device and
 * queue pairs, connected. On failure nothing is left. To free after rdma_client_close.
 */
int rdma_client_new(const struct bench_env *env, const struct bench_case *c, size_t size,
		    void **state, const char **variant, struct err *e);
void rdma_client_close(struct rdma_client *s);
/* One completion, within ten seconds, or when the user asks to stop. *e is set. */
int rdma_client_wait(struct rdma_client *s, struct verbs_done *out, struct err *e);
/* The device that would be used, for placement; false: none, and why is in cases. */
bool rdma_place_find(const struct bench_env *env, struct net_place *out, struct bench_cases *cases);

#endif
