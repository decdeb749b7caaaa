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
/* What TensorRT-LLM takes for its cache of what is free behind the weights. */
#define SGLANG_PART 0.85 /* of memory for weights and cache: 0.82 to 0.9 by its defaults */
#define TRTLLM_PART 0.9

/* Libraries, driver context and allocator of one process on one GPU. */
static double framework(const struct ask *q)
{
	double v = q->engine == ENGINE_LLAMACPP ? 0.5 * GB : 1.2 * GB;

	return q->tp > 1 ? v + 1.0 * GB : v;
}

static double deployment_activations(const struct ask *q)
{
	const struct arch *a = q->arch;
	double wide = a->hidden * 6.0 +
		      2.0 * fmax(a->ffn, a->shared_ffn + a->top * a->expert_ffn) / q->tp +
		      3.0 * a->heads * fmax(a->head_dim, a->nope_dim) / q->tp;

	/* An engine that only decodes has no chunk. */
	return fmax(q->prefills > 0 ? 0 : q->chunk, q->batch) * wide * 2 +
	       fmax(q->batch, 16) * (double)a->vocab * 4;
}

static double cache_of(const struct ask *q, double tokens)
{
	int heads = q->arch->kv_lora ? 1 : q->arch->kv_heads;
	double split = fmax(1, fmin(q->tp, heads)) * q->pp * q->dp;

	return arch_cache_elements(q->arch, tokens) * q->cache_bytes / split;
}

static double state_of(const struct ask *q)
{
	return arch_state_bytes(q->arch) / (q->tp * q->pp * q->dp);
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
static double most_requests(const struct ask *q, const struct memory_footprint *m, double room)
{
	struct ask fewer = *q;
	double low = 0, high = q->batch;

	if (room >= q->batch * m->per_sequence)
		return floor(room / m->per_sequence);
	while (high - low > 1) {
		double at = floor((low + high) / 2);

		fewer.batch = (int)at;
		if (at * m->per_sequence <= room + m->activations - deployment_activations(&fewer))
			low = at;
		else
			high = at;
	}
	return low;
}

void memory_use(const struct ask *q, struct memory_footprint *m)
{
	double context = q->depth + q->prompt + q->output, split = q->tp * q->pp, room;
	struct memory_footprint now;

	*m = (struct memory_footprint){ .limit = place_memory_bytes(&q->place) };
	m->weights = weights_total(q) / split - weights_experts(q) * (q->dp - 1);
	m->per_sequence = cache_of(q, context) + state_of(q);
	m->per_token = cache_of(q, context + 1) - cache_of(q, context);
	m->cache = q->batch * cache_of(q, context);
	m->state = q->batch * state_of(q);
	m->activations = deployment_activations(q);
	m->workspace = q->engine == ENGINE_LLAMACPP ? 0.3 * GB : 0.6 * GB;
	m->graphs = q->eager || q->engine == ENGINE_LLAMACPP ? 0.1 * GB
							     : (0.3 + 0.008 * q->arch->layers) * GB;
	m->framework = framework(q);
	/* The system, the page cache's floor and what must stay free; on a card, fragments. */
	m->reserve = q->place.gpu->unified ? fmax(6 * GB, 0.05 * m->limit) : 0.03 * m->limit;
	m->total = m->weights + m->cache + m->state + m->activations + m->workspace + m->graphs +
		   m->framework + m->reserve;
	m->fits = m->total <= m->limit;
	if (q->prefills > 0) { /* an engine that takes prompts keeps those of one step */
		struct ask first = ask_of_prompts(q);
		struct memory_footprint prompts;

		first.output = 1, first.batch = first.dp;
		memory_use(&first, &prompts);
		m->fits = m->fits && prompts.fits;
	}
	room = m->limit - (m->total - m->cache - m->state);
	m->most_requests = m->per_sequence > 0 ? most_requests(q, m, room) : 0;
	m->most_context = most_context(q, room);
	/* Engines admit by what is in the cache now: on average half of an answer is. */
	now = *m;
	now.per_sequence = cache_of(q, context - q->output / 2) + state_of(q);
	if (q->engine == ENGINE_VLLM && !q->place.gpu->unified)
		room += m->reserve - (1 - VLLM_PART) * m->limit;
	/* Where that holds no weights, people set a larger part. */
	if (q->engine == ENGINE_SGLANG && SGLANG_PART * m->limit > m->weights)
		room = fmin(room, SGLANG_PART * m->limit - m->weights);
	if (q->engine == ENGINE_TRTLLM)
		room *= TRTLLM_PART;
	m->usual_cache = fmax(m->per_sequence, room);
	if (m->most_requests >= 1)
		m->whole_requests = fmin(m->most_requests, floor(m->usual_cache / m->per_sequence));
	m->usual_requests = now.per_sequence > 0 ? most_requests(q, &now, room) : 0;
}

/* What comes of a way to serve: one engine, or several copies of it that share the requests. */

const char *const goal_names[GOALS] = { "latency", "first-token", "throughput", "users" };
const char *const confidence_names[CONFIDENCES] = { "low", "medium", "high" };

/* Requests that fit when weights and the rest are so many times what was counted. */
static double users_if(const struct memory_footprint *m, double counted, double rest)
{
	double fixed = counted * m->weights +
		       rest * (m->activations + m->workspace + m->graphs + m->framework) +
		       m->reserve;
	double room = m->limit - fixed;

	return room > 0 && m->per_sequence > 0 ? floor(room / (counted * m->per_sequence)) : 0;
}

void way_simulated(struct arena *a, const struct ask *q, int copies, struct advise_outcome *o,
		   struct schedule *plan)
{
	struct ask k = *q;
	struct memory_footprint m;
	struct served s;

	k.batch = (q->batch + copies - 1) / copies;
	k.rate = q->rate / copies;
	memory_use(&k, &m);
	if (plan)
		serve(a, &k, &m, &s, plan);
	else
		serve_steady(&k, &m, &s);
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

void way_outcome(const struct ask *q, int copies, struct advise_outcome *o)
{
	way_simulated(NULL, q, copies, o, NULL);
}

bool goal_less(enum goal goal)
{
	return goal == GOAL_LATENCY || goal == GOAL_FIRST;
}

double outcome_of(const struct advise_outcome *o, enum goal goal)
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

double outcome_gain(const struct advise_outcome *a, const struct advise_outcome *b, enum goal goal)
{
	double before = outcome_of(a, goal), after = outcome_of(b, goal);

	if (!(before > 0) || !(after > 0) || !a->fits || !b->fits)
		return 0;
	return goal_less(goal) ? before / after : after / before;
}

/* A machine's facts as a place to run a model: which GPUs, how much memory is there. */

/* Memory that processes can have: what the kernel counts, or what the driver tells of a card. */
static void memory_of(struct arena *a, const struct machine *m, const struct gpu *g,
		      struct target_hw *p)
{
	long long kb = fact_or(&m->memory.total_kb, 0), card = fact_or(&g->memory_bytes, 0);

	if (p->gpu->unified && kb > 0) {
		p->memory = (double)kb * 1024;
		p->memory_from = arena_strdup(a, "the machine's MemTotal");
	} else if (!p->gpu->unified && card > 0) {
		p->memory = (double)card;
		p->memory_from = arena_strdup(a, "the GPU's, from the driver");
	}
}

int place_of(struct arena *a, const struct knowledge *known, const struct machine *m,
	     struct target_hw *out, struct err *e)
{
	const struct gpu *first = m->gpu.gpus.n ? m->gpu.gpus.items : NULL;
	const char *name = first ? fact_text(&first->name, NULL) : NULL;
	const struct gpu_kind *k = name ? gpu_kind_of(known, name) : NULL;

	if (!k) {
		err_set(e, -ENOENT,
			name ? "unknown GPU \"%.80s\""
			     : "no GPU found on the inspected machine%.0s",
			name ? name : "");
		err_hint(e, "give a machine: --on dgx-spark, --on \"2x dgx-spark\", --on "
			    "\"h100-sxm x8\"");
		return -ENOENT;
	}
	*out = (struct target_hw){ .gpu = k, .gpus = (int)m->gpu.gpus.n, .nodes = 1 };
	memory_of(a, m, first, out);
	out->taken = arena_printf(a, "%zu x %s", m->gpu.gpus.n, k->name);
	return 0;
}
