/* SPDX-License-Identifier: Apache-2.0 */
/* The equations with the numbers put in. */
#include <math.h>

#include "models/training/work.h"

static void line(struct train_answer *p, const char *text)
{
	if (p->n_lines < TRAIN_LINES)
		p->lines[p->n_lines++] = text;
}

const char *train_plain(struct arena *a, double v, int figures)
{
	double m = fabs(v);
	int before = m > 0 && isfinite(m) ? (int)floor(log10(m)) + 1 : figures;
	int digits = figures - before;

	if (!isfinite(v))
		return "endless";
	return arena_printf(a, "%.*f", digits < 0 ? 0 : digits > 12 ? 12 : digits, v);
}

/* Milliseconds. */
static const char *ms(struct arena *a, double seconds)
{
	return train_plain(a, 1e3 * seconds, 4);
}

static void train_explain_operations(struct arena *a, struct train_answer *p)
{
	double part = train_trained_part(&p->q);

	line(p, arena_printf(a,
			     "a token: %.4g x %s G parameters + attention = %s GFLOP forward and "
			     "backward%s; with recomputation %s",
			     2 * (2 + part), train_plain(a, p->active / 1e9, 4),
			     train_plain(a, p->model_flops / 1e9, 4),
			     part < 1 ? ", frozen weights without gradients" : "",
			     train_plain(a, p->hardware_flops / 1e9, 4)));
}

/* The passes of a micro-batch, each with all of its parts. */
static void train_explain_passes(struct arena *a, struct train_answer *p,
				 const struct train_micro *m)
{
	const char *routes = "";

	if (m->routing > 0)
		routes = arena_printf(a, " + routing %s", ms(a, m->routing));
	line(p,
	     arena_printf(a,
			  "forward: layers %s + attention %s + norms, residuals, activations %s%s "
			  "+ output head %s + loss %s + weights cast %s = %s ms",
			  ms(a, m->linear), ms(a, m->attention), ms(a, m->small), routes,
			  ms(a, m->head), ms(a, m->logits), ms(a, m->casts), ms(a, m->forward)));
	if (m->routing > 0)
		routes = arena_printf(a, " + 2 x routing %s", ms(a, m->routing));
	line(p, arena_printf(a,
			     "backward: %.4g x (layers %s + output head %s) + 2.5 x attention %s + "
			     "2 x norms, residuals, activations %s%s + 2 x loss %s + gradients "
			     "cast and added %s = %s ms",
			     m->back, ms(a, m->linear), ms(a, m->head), ms(a, m->attention),
			     ms(a, m->small), routes, ms(a, m->logits), ms(a, m->accumulated),
			     ms(a, m->backward)));
	if (m->recompute > 0)
		line(p, arena_printf(a, "computed again before the backward pass: %s ms",
				     ms(a, m->recompute)));
}

/* Heads that kernels are not made for. */
static const char *wide(struct arena *a, const struct train_shape *s)
{
	double more = s->effort_attention / s->flops_attention;

	return more > 1.005 ? arena_printf(a, " x %.2f for heads wider than 128", more) : "";
}

static void train_explain_compute(struct arena *a, struct train_answer *p,
				  const struct train_shape *s, const struct train_micro *m)
{
	const struct train_config *q = &p->q;
	double rate = train_gemm_rate(q, q->precision);

	train_explain_operations(a, p);
	line(p,
	     arena_printf(a,
			  "layers forward, one micro-batch of %.0f tokens: %s TFLOP / (%s "
			  "TFLOP/s x %.2f for their size) = %s ms",
			  s->tokens, train_plain(a, (s->flops_dense + s->flops_expert) / 1e12, 4),
			  train_plain(a, rate / 1e12, 4), m->size, ms(a, m->linear)));
	line(p, arena_printf(a, "attention forward: %s TFLOP / %s TFLOP/s%s%s = %s ms",
			     train_plain(a, s->flops_attention / 1e12, 4),
			     train_plain(a, train_flash_rate(q) / 1e12, 4), wide(a, s),
			     q->attention == TRAIN_EAGER ? " x 2, and scores through memory" : "",
			     ms(a, m->attention)));
	train_explain_passes(a, p, m);
	if (m->launch > 0)
		line(p, arena_printf(a,
				     "the CPU needs %s ms more than the GPU to launch the kernels "
				     "of a micro-batch",
				     ms(a, m->launch)));
}

static void train_explain_step(struct arena *a, struct train_answer *p, const struct train_micro *m)
{
	const struct train_config *q = &p->q;
	const struct train_time *t = &p->time;

	if (t->contention > 0)
		line(p,
		     arena_printf(a,
				  "contention: hidden communication slows the computation beside "
				  "it by %.4g of its time = %s ms",
				  train_fit_of(q)->v[TFIT_CONTEND], ms(a, t->contention)));
	if (q->pp > 1)
		line(p,
		     arena_printf(a,
				  "bubble: (%d - 1) / (%d micro-batches x %d chunks) of the work "
				  "= %s ms",
				  q->pp, q->accumulation, q->interleave, ms(a, t->bubble)));
	line(p, arena_printf(a,
			     "a step: %d x (%s + %s + %s) + launches %s + update %s + exposed %s + "
			     "contention %s + bubble %s + waiting %s + loader %s = %s ms",
			     q->accumulation, ms(a, m->forward), ms(a, m->backward),
			     ms(a, m->recompute), ms(a, t->launch), ms(a, t->optimizer),
			     ms(a, t->exposed), ms(a, t->contention), ms(a, t->bubble),
			     ms(a, t->slack), ms(a, t->loader), ms(a, t->total.value)));
}

void train_explain(struct arena *a, struct train_answer *p, const struct train_shape *s,
		   const struct train_micro *m)
{
	train_explain_compute(a, p, s, m);
	for (size_t i = 0; i < p->n_comms; i++) {
		const struct train_comm *c = &p->comms[i];

		line(p, arena_printf(
				a,
				"%s (%s, %d ranks%s): %.0f x %s MB at %s GB/s (%s) = %s ms, %s "
				"exposed",
				train_collective_names[c->what], c->purpose, c->ranks,
				c->between ? ", over the network" : "", c->count,
				train_plain(a, c->bytes / 1e6, 4), train_plain(a, c->busbw_gbs, 4),
				c->from, ms(a, c->total_s), ms(a, c->exposed_s)));
	}
	train_explain_step(a, p, m);
}
