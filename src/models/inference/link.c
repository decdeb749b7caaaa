/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPUs tell each other: an all-reduce behind each block with tensor parallelism, activations
 * between stages. Each costs a latency and the bytes that a ring sends.
 */
#include <math.h>

#include "models/inference/work.h"

/* Ethernet between two machines of this kind: 200 Gb/s over both halves of the adapter. */
#define NETWORK 24.0
/* InfiniBand of a server: one 400 Gb/s adapter a GPU. */
#define NETWORK_SERVER 48.0

int link_reduces(const struct arch *a)
{
	int mixers = a->linear_layers + arch_full_layers(a) + a->window_layers;

	return mixers + a->moe_layers + arch_dense_layers(a);
}

static bool between_nodes(const struct ask *q)
{
	return q->place.nodes > 1 && q->tp > place_per_node(&q->place);
}

/* A ring passes each machine once over each of its adapters: a server has one for each GPU. */
static double bandwidth(const struct ask *q, bool between, int gpus, int adapters)
{
	const struct gpu_kind *g = q->place.gpu;
	double link = gpu_link_gbs(g, gpus), net = q->place.network;

	if (!between && link > 0)
		return link * 1e9;
	if (net <= 0)
		net = g->server ? NETWORK_SERVER : NETWORK;
	if (adapters > 1 && g->server)
		net = fmin(link > 0 ? link : net, net * adapters);
	return net * 1e9;
}

double link_reduce_us(const struct ask *q, double bytes)
{
	bool between = between_nodes(q);
	double n = q->tp, latency = q->fit->v[between ? FIT_NET_US : FIT_LINK_US];
	int each = place_per_node(&q->place);

	/* Steps over the network go from machine to machine. */
	if (between)
		latency *= sqrt(fmax(1, ceil(n / each) / 2));
	return latency + 1e6 * 2 * (n - 1) / n * bytes /
				 (bandwidth(q, between, q->tp, each) * q->fit->v[FIT_LINK]);
}

/* Milliseconds from one stage to the next. */
static double handed_on(const struct ask *q, double bytes, bool between)
{
	int each = place_per_node(&q->place), gpus = q->tp * q->pp < each ? q->tp * q->pp : each;

	return 1e3 * (1e-6 * q->fit->v[between ? FIT_NET_US : FIT_LINK_US] +
		      bytes / (bandwidth(q, between, gpus, 1) * q->fit->v[FIT_LINK]));
}

double link_stage(const struct ask *q, double tokens)
{
	int borders = q->pp - 1, across = borders, each = place_per_node(&q->place);
	double bytes = tokens * q->arch->hidden * 2;

	if (borders < 1)
		return 0;
	/* Stages stand one after the other: the network is passed from machine to machine. */
	if (q->tp < each)
		across = q->place.nodes > 1 ? borders * q->tp / each : 0;
	return (across ? across * handed_on(q, bytes, true) : 0) +
	       (borders - across ? (borders - across) * handed_on(q, bytes, false) : 0);
}
