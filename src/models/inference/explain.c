/* SPDX-License-Identifier: Apache-2.0 */
/* The equations with the numbers put in, so that a person can follow each figure. */
#include <math.h>

#include "models/inference/predict.h"

static void explain_add(struct arena *a, struct prediction *p, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void explain_add(struct arena *a, struct prediction *p, const char *fmt, ...)
{
	va_list ap;

	if (p->n_lines >= EXPLAIN_LINES)
		return;
	va_start(ap, fmt);
	p->lines[p->n_lines++] = arena_vprintf(a, fmt, ap);
	va_end(ap);
}

static void parts(struct arena *a, struct prediction *p)
{
	const struct ask *q = &p->q.ask;
	const struct arch *m = &p->q.arch;
	struct arch_parts n = arch_parts(m);
	const struct format *f = q->weights;

	explain_add(
		a, p,
		"parameters: attention %.3g + linear attention %.3g + dense %.3g + shared %.3g + "
		"experts %.4g + "
		"router %.2g + head %.3g + embedding %.3g + others %.3g = %.4g billion; %.4g "
		"active",
		n.attention / 1e9, n.linear / 1e9, n.dense / 1e9, n.shared / 1e9, n.experts / 1e9,
		n.router / 1e9, n.head / 1e9, n.embed / 1e9, n.aside / 1e9, n.total / 1e9,
		n.active / 1e9);
	explain_add(a, p,
		    "bytes a parameter (%s): attention %.4g, linear %.4g, dense %.4g, shared %.4g, "
		    "experts "
		    "%.4g, "
		    "head %.4g, embedding %.4g; %.2f GB in all",
		    f->name, f->attention, f->linear, f->dense, f->shared, f->experts, f->head,
		    f->embed, p->weight_bytes / 1e9);
}

static void memory_lines(struct arena *a, struct prediction *p)
{
	const struct memory_footprint *m = &p->memory;
	const struct ask *q = &p->q.ask;

	explain_add(
		a, p,
		"memory of one GPU: weights %.2f + cache %.2f + state %.2f + activations %.2f + "
		"workspace %.2f + "
		"graphs %.2f + framework %.2f + left free %.2f = %.2f GB, of %.2f GB",
		m->weights / 1e9, m->cache / 1e9, m->state / 1e9, m->activations / 1e9,
		m->workspace / 1e9, m->graphs / 1e9, m->framework / 1e9, m->reserve / 1e9,
		m->total / 1e9, m->limit / 1e9);
	explain_add(a, p,
		    "cache: %d x %.0f tokens x %.0f elements x %.4g bytes / GPUs = %.3f GB; one "
		    "token more "
		    "is %.1f KB",
		    q->batch, q->depth + q->prompt + q->output,
		    arch_cache_elements(q->arch, q->depth + q->prompt + q->output) /
			    fmax(1, q->depth + q->prompt + q->output),
		    q->cache_bytes, m->cache / 1e9, m->per_token / 1e3);
}

static void step_lines(struct arena *a, struct prediction *p)
{
	const struct decode_step *s = &p->step;
	const struct ask *q = &p->q.ask;
	const double *v = q->fit->v;

	explain_add(a, p,
		    "bandwidth: %.0f GB/s x %.3f x %d / (%d + %.0f) = %.0f GB/s (experts: x %.3f); "
		    "4-bit "
		    "weights x %.3f",
		    q->place.gpu->bandwidth, v[FIT_DENSE], q->arch->hidden, q->arch->hidden,
		    v[FIT_WIDTH], bandwidth_of(q, FIT_DENSE, 2) / 1e9, v[FIT_EXPERT], v[FIT_FOUR]);
	explain_add(a, p,
		    "step of %.0f requests: every-token weights %.3f GB %.2f ms + experts %.3f GB "
		    "(%.1f %% "
		    "of them "
		    "reached) %.2f ms + head %.3f GB %.2f ms + cache %.3f GB %.2f ms + state %.3f "
		    "GB %.2f "
		    "ms = %.2f ms",
		    p->served.running, s->dense_bytes / 1e9, s->dense, s->expert_bytes / 1e9,
		    100 * s->reached, s->expert, s->head_bytes / 1e9, s->head, s->cache_read / 1e9,
		    s->cache, s->state_read / 1e9, s->state, s->memory);
	explain_add(a, p,
		    "step: longer of reading %.2f and multiplying %.2f (%.3g operations), + "
		    "launches %.2f "
		    "+ sequences "
		    "%.2f + links %.2f (%d x %.0f us%s), beside the CPU's work of %.2f ms: %.2f ms",
		    s->memory, s->compute, s->ops, s->launch, s->sequence, s->link, s->reduces,
		    s->reduce_us,
		    q->pp > 1 ? arena_printf(a, ", %.2f ms from stage to stage",
					     s->link - 1e-3 * s->reduces * s->reduce_us)
			      : "",
		    s->host, s->total);
	if (q->draft > 0)
		explain_add(a, p,
			    "guesses: %d ahead, %.0f %% right: %.2f tokens a step, %.2f ms a token",
			    q->draft, 100 * q->accept, p->served.tokens_a_step, p->served.step);
}

void predict_explain(struct arena *a, struct prediction *p)
{
	const struct prompt *r = &p->prompt;
	const struct ask *q = &p->q.ask;
	const struct served *s = &p->served;

	p->n_lines = 0;
	parts(a, p);
	memory_lines(a, p);
	step_lines(a, p);
	explain_add(
		a, p,
		"prompt of %.0f tokens in %.0f chunk%s: multiplying %.3g operations %.1f ms (%.1f "
		"TFLOP/s) + reading "
		"weights %.1f + attention %.3g operations %.1f + linear attention %.1f + launches "
		"%.1f "
		"+ links %.1f "
		"= %.1f ms",
		q->prompt * (1 - q->cached), r->chunks, r->chunks < 2 ? "" : "s", r->ops,
		r->multiply, r->multiply > 0 ? r->ops / r->multiply / 1e9 : 0, r->weights,
		r->attention_ops, r->attention, r->scan, r->launch, r->link, r->total);
	explain_add(a, p,
		    "time to first token: %.1f ms to the engine and back, the prompt, and what "
		    "waits (%.1f "
		    "ms)%s: %.1f ms",
		    q->fit->v[FIT_FIRST_MS], s->waiting,
		    q->batch > 1 ? (q->rounds > 1 ? ", requests coming in turn"
						  : ", all beginning at once")
				 : "",
		    s->ttft);
	explain_add(a, p,
		    "time a token: step %.2f ms%s = %.2f ms; %.0f run at a time: %.4g tokens/s",
		    s->step, q->batch > 1 ? " and others' prompts in between" : "", s->tpot,
		    s->running, s->throughput);
}
