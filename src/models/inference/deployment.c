/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be in memory at the same time, by part. Sizes that no shape tells (libraries, CUDA
 * graphs, what an engine sets aside) are taken from engines' own start-up messages, rounded up:
 * what is said to fit has to fit.
 */
#include <errno.h>
#include <math.h>

#include "models/inference/work.h"
#include "models/inference/advise.h"
#include "machine/model/machine.h"
#include "models/inference/predict.h"

#define GB 1e9
/* What vLLM takes of a card's memory unless it is told otherwise. */
#define VLLM_PART 0.9

/* Libraries, driver context and allocator of one process on one GPU. */
static double framework(const struct ask *q)
{
	double v = q->engine == ENGINE_LLAMACPP ? 0.5 * GB : 1.2 * GB;

	return q->tp > 1 ? v + 1.0 * GB : v;
}

static double activations(const struct ask *q)
{
	const struct arch *a = q->arch;
	double wide = a->hidden * 6.0 +
		      2.0 * fmax(a->ffn, a->shared_ffn + a->top * a->expert_ffn) / q->tp +
		      3.0 * a->heads * fmax(a->head_dim, a->nope_dim) / q->tp;

	return fmax(q->chunk, q->batch) * wide * 2 + fmax(q->batch, 16) * (double)a->vocab * 4;
}

static double cache_of(const struct ask *q, double tokens)
{
	int heads = q->arch->kv_lora ? 1 : q->arch->kv_heads;
	double split = fmax(1, fmin(q->tp, heads)) * q->pp;

	return arch_cache_elements(q->arch, tokens) * q->cache_bytes / split;
}

static double state_of(const struct ask *q)
{
	return arch_state_bytes(q->arch) / (q->tp * q->pp);
}

/* The longest context at which batch requests fit, to a token's millionth. */
static double most_context(const struct ask *q, double room)
{
	double low = 0, high = CONTEXT_MOST;

	if (room <= 0)
		return 0;
	for (int i = 0; i < 60; i++) {
		double at = (low + high) / 2;

		if (q->batch * (cache_of(q, at) + state_of(q)) <= room)
			low = at;
		else
			high = at;
	}
	return q->batch * (cache_of(q, high) + state_of(q)) <= room ? CONTEXT_MOST : floor(low);
}

/* Requests of this length that fit: fewer at a time also need less room for what they compute. */
static double most_requests(const struct ask *q, const struct need *m, double room)
{
	struct ask fewer = *q;
	double low = 0, high = q->batch;

	if (room >= q->batch * m->per_sequence)
		return floor(room / m->per_sequence);
	while (high - low > 1) {
		double at = floor((low + high) / 2);

		fewer.batch = (int)at;
		if (at * m->per_sequence <= room + m->activations - activations(&fewer))
			low = at;
		else
			high = at;
	}
	return low;
}

void memory_use(const struct ask *q, struct need *m)
{
	double context = q->depth + q->prompt + q->output, split = q->tp * q->pp, room;

	*m = (struct need){ .limit = place_memory_bytes(&q->place) };
	m->weights = weights_total(q) / split;
	m->per_sequence = cache_of(q, context) + state_of(q);
	m->per_token = cache_of(q, context + 1) - cache_of(q, context);
	m->cache = q->batch * cache_of(q, context);
	m->state = q->batch * state_of(q);
	m->activations = activations(q);
	m->workspace = q->engine == ENGINE_LLAMACPP ? 0.3 * GB : 0.6 * GB;
	m->graphs = q->eager || q->engine == ENGINE_LLAMACPP ? 0.1 * GB
							     : (0.3 + 0.008 * q->arch->layers) * GB;
	m->framework = framework(q);
	/* The system, the page cache's floor and what must stay free; on a card, fragments. */
	m->reserve = q->place.gpu->unified ? fmax(6 * GB, 0.05 * m->limit) : 0.03 * m->limit;
	m->total = m->weights + m->cache + m->state + m->activations + m->workspace + m->graphs +
		   m->framework + m->reserve;
	m->fits = m->total <= m->limit;
	room = m->limit - (m->total - m->cache - m->state);
	m->most_requests = m->per_sequence > 0 ? most_requests(q, m, room) : 0;
	m->usual_requests =
		m->per_sequence > 0 && q->engine == ENGINE_VLLM && !q->place.gpu->unified
			? most_requests(q, m, room + m->reserve - (1 - VLLM_PART) * m->limit)
			: m->most_requests;
	m->most_context = most_context(q, room);
}

/* What comes of a way to serve: one engine, or several copies of it that share the requests. */

const char *const goal_names[GOALS] = { "latency", "first-token", "throughput", "users" };
const char *const confidence_names[CONFIDENCES] = { "low", "medium", "high" };

/* Requests that fit when weights and the rest are so many times what was counted. */
static double users_if(const struct need *m, double counted, double rest)
{
	double fixed = counted * m->weights +
		       rest * (m->activations + m->workspace + m->graphs + m->framework) +
		       m->reserve;
	double room = m->limit - fixed;

	return room > 0 && m->per_sequence > 0 ? floor(room / (counted * m->per_sequence)) : 0;
}

void way_outcome(const struct ask *q, int copies, struct outcome *o)
{
	struct ask k = *q;
	struct need m;
	struct served s;

	k.batch = (q->batch + copies - 1) / copies;
	memory_use(&k, &m);
	serve(&k, &m, &s);
	o->ttft = s.ttft;
	o->tpot = s.tpot;
	o->answer = s.ttft + fmax(0, k.output - 1) * s.tpot;
	/* The copies together have no more requests than there are. */
	o->throughput = s.throughput * q->batch / k.batch;
	o->users = m.most_requests * copies;
	/* As wide as the memory's own interval (predict.c). */
	o->users_low = users_if(&m, 1.05, 1.5) * copies;
	o->users_high = users_if(&m, 0.97, 0.5) * copies;
	o->bytes = m.total - m.reserve;
	o->gpus = k.tp * k.pp * copies;
	o->bytes_all = o->bytes * o->gpus;
	o->fits = m.fits;
}

bool goal_less(enum goal goal)
{
	return goal == GOAL_LATENCY || goal == GOAL_FIRST;
}

double outcome_of(const struct outcome *o, enum goal goal)
{
	switch (goal) {
	case GOAL_FIRST:
		return o->ttft;
	case GOAL_THROUGHPUT:
		return o->throughput;
	case GOAL_USERS:
		return o->users;
	default:
		return o->answer;
	}
}

double outcome_gain(const struct outcome *a, const struct outcome *b, enum goal goal)
{
	double before = outcome_of(a, goal), after = outcome_of(b, goal);

	if (!(before > 0) || !(after > 0) || !a->fits || !b->fits)
		return 0;
	return goal_less(goal) ? before / after : after / before;
}

/* A machine's facts as a place to run a model: which GPUs, how much memory is there. */

/* Memory that processes can have: what the kernel counts, or what the driver tells of a card. */
static void memory_of(struct arena *a, const struct machine *m, const struct gpu *g,
		      struct place *p)
{
	long long kb = fact_or(&m->memory.total_kb, 0), card = fact_or(&g->memory_bytes, 0);

	if (p->gpu->unified && kb > 0) {
		p->memory = (double)kb * 1024;
		p->memory_from = arena_strdup(a, "read: MemTotal");
	} else if (!p->gpu->unified && card > 0) {
		p->memory = (double)card;
		p->memory_from = arena_strdup(a, "read: the driver's total");
	}
}

int place_per_node(const struct place *p)
{
	int each = p->gpu->per_node, even = (p->gpus + p->nodes - 1) / p->nodes;

	/* Full machines but for the last, unless somebody told how many there are. */
	return p->nodes > 1 && each > even && (p->gpus + each - 1) / each == p->nodes ? each : even;
}

int place_of(struct arena *a, const struct knowledge *known, const struct machine *m,
	     struct place *out, struct err *e)
{
	const struct gpu *first = m->gpu.gpus.n ? m->gpu.gpus.items : NULL;
	const char *name = first ? fact_text(&first->name, NULL) : NULL;
	const struct gpu_kind *k = name ? gpu_kind_of(known, name) : NULL;

	if (!k) {
		err_set(e, -ENOENT,
			name ? "the GPU \"%.80s\" is not in the list"
			     : "no GPU is seen on the machine that was looked at%.0s",
			name ? name : "");
		err_hint(e, "name a machine: --on dgx-spark, --on \"2x dgx-spark\", --on "
			    "\"h100-sxm x8\"");
		return -ENOENT;
	}
	*out = (struct place){ .gpu = k, .gpus = (int)m->gpu.gpus.n, .nodes = 1 };
	memory_of(a, m, first, out);
	out->taken = arena_printf(a, "%zu x %s", m->gpu.gpus.n, k->name);
	return 0;
}

/*
 * What GPUs tell each other: an all-reduce behind each block with tensor parallelism, activations
 * between stages. Each costs a latency and the bytes that a ring sends.
 */

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
