/* SPDX-License-Identifier: Apache-2.0 */
/* The equations with the numbers put in. */
#include "train/work.h"

static void line(struct train_answer *p, const char *text)
{
	if (p->n_lines < TRAIN_LINES)
		p->lines[p->n_lines++] = text;
}

static void compute(struct arena *a, struct train_answer *p, const struct train_shape *s,
		    const struct train_micro *m)
{
	const struct train_question *q = &p->q;
	double rate = train_gemm_rate(q, q->precision);

	line(p, arena_printf(a,
			     "a token: 6 x %.4g G parameters + attention = %.4g GFLOP forward and "
			     "backward; with recomputation %.4g",
			     p->active / 1e9, p->model_flops / 1e9, p->hardware_flops / 1e9));
	line(p, arena_printf(a,
			     "layers forward, one micro-batch of %.0f tokens: %.4g TFLOP / (%.4g "
			     "TFLOP/s x %.2f for their size) = %.4g ms",
			     s->tokens, (s->flops_dense + s->flops_expert) / 1e12, rate / 1e12,
			     m->size, 1e3 * m->linear));
	line(p, arena_printf(a, "attention forward: %.4g TFLOP / %.4g TFLOP/s = %.4g ms",
			     s->flops_attention / 1e12, train_flash_rate(q) / 1e12,
			     1e3 * m->attention));
	line(p, arena_printf(a,
			     "norms, residuals, activations, forward: %.4g ms; output head: %.4g "
			     "ms; forward %.4g, backward %.4g, recomputed %.4g ms",
			     1e3 * m->small, 1e3 * m->head, 1e3 * m->forward, 1e3 * m->backward,
			     1e3 * m->recompute));
	if (m->launch > 0)
		line(p,
		     arena_printf(a,
				  "the CPU needs %.4g ms more than the GPU to launch the kernels "
				  "of a micro-batch",
				  1e3 * m->launch));
}

void train_explain(struct arena *a, struct train_answer *p, const struct train_shape *s,
		   const struct train_micro *m)
{
	const struct train_question *q = &p->q;
	const struct train_time *t = &p->time;

	compute(a, p, s, m);
	for (size_t i = 0; i < p->n_comms; i++) {
		const struct train_comm *c = &p->comms[i];

		line(p,
		     arena_printf(a,
				  "%s (%s, %d ranks%s): %.0f x %.4g MB at %.4g GB/s (%s) = %.4g "
				  "ms, %.4g exposed",
				  train_collective_names[c->what], c->purpose, c->ranks,
				  c->between ? ", over the network" : "", c->count, c->bytes / 1e6,
				  c->busbw_gbs, c->from, 1e3 * c->total_s, 1e3 * c->exposed_s));
	}
	if (q->pp > 1)
		line(p,
		     arena_printf(a,
				  "bubble: (%d - 1) / (%d micro-batches x %d chunks) of the work "
				  "= %.4g ms",
				  q->pp, q->accumulation, q->interleave, 1e3 * t->bubble));
	line(p,
	     arena_printf(a,
			  "a step: %d x (%.4g + %.4g + %.4g) + launches %.4g + update %.4g + "
			  "exposed %.4g + bubble %.4g + waiting %.4g + loader %.4g = %.4g ms",
			  q->accumulation, 1e3 * m->forward, 1e3 * m->backward, 1e3 * m->recompute,
			  1e3 * t->launch, 1e3 * t->optimizer, 1e3 * t->exposed, 1e3 * t->bubble,
			  1e3 * t->slack, 1e3 * t->loader, 1e3 * t->total.value));
}
