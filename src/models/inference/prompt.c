/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prompts: taken in chunks; each chunk multiplies with all weights of its layers (reading them
 * once), and attention looks back on everything before.
 */
#include <math.h>

#include "models/inference/work.h"

/* One chunk of m tokens, in seconds: multiplications, and reading. */
static void chunk_time(const struct ask *q, double m, double *multiply, double *weights)
{
	const struct arch *a = q->arch;
	struct arch_parts p = arch_parts(a);
	double chosen = a->moe_layers * (double)a->top * p.one_expert;
	double plain = p.active - chosen - p.head;
	double reached = arch_experts_reached(a, m);
	double rows = a->experts ? fmax(1, m * a->top / (a->experts * reached)) : m;
	double split = q->tp;

	*multiply = 2 * m * plain / split / math_rate(q, m, false) +
		    (chosen > 0 ? 2 * m * chosen / split / math_rate(q, rows, true) : 0);
	*weights = weights_dense(q) * q->pp / bandwidth_of(q, FIT_DENSE, q->weights->dense) +
		   weights_experts(q) * q->pp * reached /
			   bandwidth_of(q, FIT_EXPERT, q->weights->experts);
}

void prompt_time(const struct ask *q, double count, double n, double depth, struct prompt *out)
{
	const struct arch *a = q->arch;
	double tokens = count * n, chunk = fmin(q->chunk, tokens), multiply, weights;
	double half = q->place.gpu->half * 1e12 * q->fit->v[FIT_MATH_CACHE];

	*out = (struct prompt){ 0 };
	if (tokens <= 0)
		return;
	out->chunks = fmax(1, ceil(tokens / chunk - 1e-9));
	chunk_time(q, tokens / out->chunks, &multiply, &weights);
	out->multiply = 1e3 * multiply * out->chunks;
	out->weights = 1e3 * weights * out->chunks;
	out->ops = 2 * tokens * (arch_parts(a).active - arch_parts(a).head) / q->tp;
	out->attention_ops = count * arch_attention_ops(a, n, depth) / q->tp;
	out->attention = 1e3 * count * arch_attention_effort(a, n, depth) / q->tp / half;
	out->scan = tokens * arch_state_bytes(a) / (q->fit->v[FIT_SCAN] * 1e12) * 1e3 / q->tp;
	out->launch =
		1e-3 * out->chunks *
		(a->layers * q->fit->v[FIT_CHUNK_US] +
		 a->moe_layers * (double)a->experts *
			 arch_experts_reached(a, tokens / out->chunks) * q->fit->v[FIT_FILL_US]);
	if (q->tp > 1)
		out->link = 1e-3 * out->chunks * link_reduces(a) *
			    link_reduce_us(q, tokens / out->chunks * a->hidden * 2);
	out->link += out->chunks * link_stage(q, tokens / out->chunks);
	out->total =
		out->multiply + out->weights + out->attention + out->scan + out->launch + out->link;
}
