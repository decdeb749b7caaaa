/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be in memory at the same time, by part. Sizes that no shape tells (libraries, CUDA
 * graphs, what an engine sets aside) are taken from engines' own start-up messages, rounded up:
 * what is said to fit has to fit.
 */
#include <math.h>

#include "models/inference/work.h"

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
