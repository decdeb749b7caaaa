/* SPDX-License-Identifier: Apache-2.0 */
/* The way to the peer: interface, its speed, its CPUs. */
#include "measure/bench/net/place.h"

#include <errno.h>
#include <string.h>

#include "measure/bench/net/handshake.h"

static void find_speed(const struct bench_env *env, struct net_place *p)
{
	const struct nic *n = machine_nic(env->m, p->link.name);

	p->no_speed = p->link.loopback ? "unknown: loopback has no line rate"
				       : "unknown: the interface reports no speed";
	if (!n)
		return;
	/* What virtual interfaces call their speed is a number from nowhere. */
	if (!*n->pci)
		p->no_speed = "unknown: a virtual interface has no line rate";
	else if (fact_or(&n->speed_mbps, 0) > 0)
		p->speed_mbps = fact_or(&n->speed_mbps, 0);
	LIST_FOR_EACH (const struct numa_node, m, &env->m->cpu.nodes) {
		struct idset both = idset_both(env->a, &env->cpus, &m->cpus.v);

		if ((long long)m->index == fact_or(&n->numa_node, -1) && idset_count(&both))
			p->cpus = both;
	}
}

/* What can be known wrong before anybody is spoken to. */
static int peer_known(const struct bench_env *env, struct net_address *to, struct err *e)
{
	struct token t;
	int r;

	if (!env->ask.token)
		return err_set(e, -EINVAL, NET_NO_TOKEN);
	r = net_address_parse(env->ask.peer, false, to, e);
	r = r ? r : token_load(env->ask.token, &t, e);
	explicit_bzero(&t, sizeof(t));
	return r;
}

bool net_place_find(const struct bench_env *env, struct net_place *out, struct bench_cases *cases)
{
	struct net_address to;
	struct err e = { 0 };

	*out = (struct net_place){
		.peer = env->ask.peer, .prefix = env->ask.peer ? "" : "loopback:", .cpus = env->cpus
	};
	if (!out->peer && (!env->ask.name || strncmp(env->ask.name, "loopback", 8) != 0)) {
		cases->none = "--peer is missing: a network is measured between two machines, and "
			      "the other one runs \"gputune bench serve\". Cases that begin with "
			      "loopback do not need it";
		cases->usage = true;
		return false;
	}
	if (!out->peer) {
		out->link = (struct net_link){
			.name = "lo", .loopback = true, .headers = 40, .mtu = 65536
		};
		find_speed(env, out);
		out->to = arena_printf(env->a, "over loopback to a child process, any of CPUs %s",
				       idset_format(env->a, &out->cpus));
		return true;
	}
	if (peer_known(env, &to, &e)) {
		cases->none = *e.hint ? arena_printf(env->a, "%s (%s)", e.text, e.hint)
				      : arena_strdup(env->a, e.text);
		cases->usage = true;
		return false;
	}
	link_to(&to, &out->link);
	find_speed(env, out);
	out->to = arena_printf(env->a, "from %s to %s, any of CPUs %s",
			       out->link.name[0] ? out->link.name : "this machine", out->peer,
			       idset_format(env->a, &out->cpus));
	return true;
}

void net_case_add(const struct bench_env *env, struct bench_cases *out, const struct net_place *p,
		  const char *name, const char *setup, const struct frame_start_test *t,
		  bool fast_open)
{
	struct net_arg *arg = ARENA_NEW(env->a, struct net_arg);

	*arg = (struct net_arg){ *p, *t, fast_open, env->small };
	bench_case_add(
		env->a, out,
		(struct bench_case){ .name = arena_printf(env->a, "%s%s", p->prefix, name),
				     .setup = setup,
				     .placement = p->to,
				     .arg = arg,
				     .n_figures = t->kind == TEST_CONNECT && !fast_open ? 2 : 0 });
}

int net_peer_start(const struct bench_env *env, const struct net_arg *arg, struct peer *p,
		   struct err *e)
{
	struct peer_ask ask = { arg->place.peer, env->ask.token, env->stop };
	int r = peer_open(&ask, p, e);

	return r ? r : peer_start(p, &arg->test, e);
}

int net_line_check(double payload, double slack, bool out, const struct net_carried *from,
		   const struct net_carried *to, const char *name, const char *text, struct err *e)
{
	const struct frame_counts *x = from->there, *y = to->there;
	const double least = 0.9 * payload - slack;
	double here = (double)(out ? to->here.tx - from->here.tx : to->here.rx - from->here.rx),
	       there = (double)(out ? y->nic_rx - x->nic_rx : y->nic_tx - x->nic_tx);

	if (from->here.known && to->here.known && here < least)
		return err_set(e, -EXDEV,
			       "%.3g MB were measured, but only %.3g MB passed %s: the data took "
			       "another path, so the figures are void",
			       payload / 1e6, here / 1e6, name);
	if (!((x->flags | y->flags) & COUNTS_NO_NIC) && there < least)
		return err_set(e, -EXDEV,
			       "%.3g MB were measured, but only %.3g MB passed the peer's %s, so "
			       "the figures are void",
			       payload / 1e6, there / 1e6, text);
	return 0;
}

int net_single_open(const struct bench_env *env, const struct bench_case *c, struct net_single *s,
		    char *text, struct err *e)
{
	int r;

	s->arg = c->arg;
	s->fd = -1;
	r = net_peer_start(env, s->arg, &s->peer, e);
	if (r)
		return r;
	s->fd = peer_stream(&s->peer, 0, e);
	r = s->fd < 0 ? s->fd : peer_ready(&s->peer, e);
	if (r)
		return r;
	net_no_delay(s->fd, true);
	stream_describe(s->fd, text);
	return 0;
}

void net_single_close(struct net_single *s)
{
	if (s->fd >= 0)
		net_drop(s->fd);
	peer_close(&s->peer);
}

bool net_stopped(const struct peer *p)
{
	return p->frames.stop && atomic_load(p->frames.stop);
}
