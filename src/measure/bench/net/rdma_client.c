/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a connected queue pair on the measuring side. */
#include "measure/bench/net/rdma_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void rdma_client_close(struct rdma_client *s)
{
	if (s->pair.port)
		verbs_pair_close(&s->pair);
	verbs_port_close(&s->port);
	peer_close(&s->peer);
}

static int open_client(const struct bench_env *env, const struct bench_case *c,
		       struct rdma_client *s, const char **variant, struct err *e)
{
	struct peer_ask ask = { .token_file = env->ask.token, .stop = env->stop };
	struct verbs_want want = rdma_want(&((const struct net_arg *)c->arg)->test);
	struct frame_verbs theirs;
	char *text = arena_alloc(env->a, 160);
	int r;

	s->arg = c->arg;
	ask.address = s->arg->place.peer;
	r = peer_open(&ask, &s->peer, e);
	r = r ? r : peer_start(&s->peer, &s->arg->test, e);
	r = r ? r : verbs_port_open(s->arg->place.link.name, &s->port, e);
	r = r ? r : verbs_pair_open(&s->port, &want, &s->pair, e);
	r = r ? r : peer_verbs(&s->peer, &s->pair.own, &theirs, e);
	r = r ? r : verbs_pair_connect(&s->pair, &theirs, e);
	r = r ? r : peer_ready(&s->peer, e);
	if (r) {
		rdma_client_close(s);
		return r;
	}
	verbs_port_describe(&s->port, text, 160);
	*variant = text;
	return 0;
}

int rdma_client_new(const struct bench_env *env, const struct bench_case *c, size_t size,
		    void **state, const char **variant, struct err *e)
{
	void *s = calloc(1, size);
	int r = s ? open_client(env, c, s, variant, e) : err_set(e, -ENOMEM, "no memory");

	if (r)
		free(s);
	else
		*state = s;
	return r;
}

int rdma_client_wait(struct rdma_client *s, struct verbs_done *out, struct err *e)
{
	struct rdma_spin spin = { 0 };
	long long end = 0;

	for (;;) {
		int n = verbs_poll(&s->pair, out, 1);

		if (n < 0)
			return err_set(e, n, "%s: its completion queue cannot be read",
				       s->port.device);
		if (n > 0)
			return out->status ? verbs_failed(&s->pair, out, e) : 0;
		if (!rdma_spin(&spin))
			continue;
		if (s->peer.frames.stop && atomic_load(s->peer.frames.stop))
			return err_set(e, -EINTR, "interrupted");
		end = end ? end : net_now_ms() + STREAM_QUIET_MS;
		if (net_now_ms() > end)
			return peer_fail(&s->peer, -ETIMEDOUT, "its queue pair is silent", e);
	}
}

bool rdma_place_find(const struct bench_env *env, struct net_place *out, struct bench_cases *cases)
{
	struct verbs_port port;
	struct err e = { 0 };
	char text[160];

	/* The question that nobody can answer by an option comes first. */
	if (!env->m->net.rdma.n) {
		cases->none = "no RDMA device (nothing below /sys/class/infiniband)";
		return false;
	}
	if (!net_place_find(env, out, cases))
		return false;
	if (verbs_port_open(out->link.name, &port, &e)) {
		cases->none = arena_strdup(env->a, e.text);
		return false;
	}
	verbs_port_describe(&port, text, sizeof(text));
	verbs_port_close(&port);
	out->to = arena_printf(env->a, "%s to %s", text,
			       out->peer ? out->peer : "a child process on the same port");
	out->no_speed = "unknown: the port tells no speed";
	LIST_FOR_EACH (const struct rdma_port, p, &env->m->net.rdma) {
		if (strcmp(p->device, port.device) != 0 || p->number != port.number)
			continue;
		if (!*p->pci)
			out->no_speed = "unknown: a software device has no line of its own";
		else
			out->speed_mbps = fact_or(&p->rate_mbps, 0);
	}
	return true;
}
