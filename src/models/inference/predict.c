/* SPDX-License-Identifier: Apache-2.0 */
/* Putting the parts together: figures, their intervals, and which part is the longest. */
#include "models/inference/predict.h"

#include <math.h>

#include "models/inference/rows.h"

/* The equations with the numbers put in, so that a person can follow each figure. */

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

	explain_add(a, p,
		    "parameters: attention %.3g + linear attention %.3g + dense %.3g + shared %.3g "
		    "+ experts %.4g + router %.2g + head %.3g + embedding %.3g + others %.3g = "
		    "%.4g B: %s",
		    n.attention / 1e9, n.linear / 1e9, n.dense / 1e9, n.shared / 1e9,
		    n.experts / 1e9, n.router / 1e9, n.head / 1e9, n.embed / 1e9, n.aside / 1e9,
		    n.total / 1e9, arch_size(a, m));
	explain_add(a, p,
		    "bytes per parameter (%s): attention %.4g, linear %.4g, dense %.4g, shared "
		    "%.4g, experts %.4g, head %.4g, embedding %.4g; %.2f GB in total",
		    f->name, f->attention, f->linear, f->dense, f->shared, f->experts, f->head,
		    f->embed, p->weight_bytes / 1e9);
}

static void memory_lines(struct arena *a, struct prediction *p)
{
	const struct memory_footprint *m = &p->memory;
	const struct ask *q = &p->q.ask;

	explain_add(a, p,
		    "memory per GPU: weights %.2f + cache %.2f + state %.2f + activations %.2f + "
		    "workspace %.2f + graphs %.2f + framework %.2f + kept free %.2f = %.2f GB, of "
		    "%.2f GB",
		    m->weights / 1e9, m->cache / 1e9, m->state / 1e9, m->activations / 1e9,
		    m->workspace / 1e9, m->graphs / 1e9, m->framework / 1e9, m->reserve / 1e9,
		    m->total / 1e9, m->limit / 1e9);
	explain_add(a, p,
		    "KV cache: %d x %.0f tokens x %.0f elements x %.4g bytes / GPUs = %.3f GB; "
		    "each further token %.1f KB",
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
		    "4-bit weights x %.3f",
		    q->place.gpu->bandwidth, v[FIT_DENSE], q->arch->hidden, q->arch->hidden,
		    v[FIT_WIDTH], bandwidth_of(q, FIT_DENSE, 2) / 1e9, v[FIT_EXPERT], v[FIT_FOUR]);
	explain_add(a, p,
		    "step of %.0f requests: every-token weights %.3f GB %.2f ms + experts %.3f GB "
		    "(%.1f %% of them reached) %.2f ms + head %.3f GB %.2f ms + cache %.3f GB %.2f "
		    "ms + state %.3f GB %.2f ms = %.2f ms",
		    p->served.running, s->dense_bytes / 1e9, s->dense, s->expert_bytes / 1e9,
		    100 * s->reached, s->expert, s->head_bytes / 1e9, s->head, s->cache_read / 1e9,
		    s->cache, s->state_read / 1e9, s->state, s->memory);
	explain_add(a, p,
		    "step: %.2f ms = the larger of reading %.2f and compute %.2f (%.3g operations) "
		    "+ launches %.2f + sequences %.2f + links %.2f (%d x %.0f us%s), overlapped "
		    "with CPU work of %.2f",
		    s->total, s->memory, s->compute, s->ops, s->launch, s->sequence, s->link,
		    s->reduces, s->reduce_us,
		    q->pp > 1 ? arena_printf(a, ", %.2f ms between stages",
					     s->link - 1e-3 * s->reduces * s->reduce_us)
			      : "",
		    s->host);
	if (q->draft > 0)
		explain_add(a, p,
			    "speculative tokens: %d, %.0f %% accepted: %.2f tokens per step, %.2f "
			    "ms per token",
			    q->draft, 100 * q->accept, p->served.tokens_a_step, p->served.step);
}

/* Fills lines: done by predict. */
static void predict_explain(struct arena *a, struct prediction *p)
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
		"prompt of %.0f tokens in %.0f chunk%s: matrix multiplications %.3g operations "
		"%.1f ms (%.1f TFLOP/s) + reading weights %.1f + attention %.3g operations %.1f + "
		"linear attention %.1f + links %.1f, overlapped with launches of %.1f ms: %.1f ms",
		q->prompt * (1 - q->cached), r->chunks, r->chunks < 2 ? "" : "s", r->ops,
		r->multiply, r->multiply > 0 ? r->ops / r->multiply / 1e9 : 0, r->weights,
		r->attention_ops, r->attention, r->scan, r->link, r->launch, r->total);
	explain_add(a, p,
		    "TTFT: %.1f ms to the engine and back + prompt %.1f + waiting for admission "
		    "%.1f + steps and prompts of others %.1f%s: %.1f ms",
		    q->fit->v[FIT_FIRST_MS], r->total, s->waiting,
		    s->ttft - q->fit->v[FIT_FIRST_MS] - r->total - s->waiting,
		    q->batch > 1 ? (q->rounds > 1 ? ", requests arriving one after another"
						  : ", all starting at once")
				 : "",
		    s->ttft);
	explain_add(a, p, "TPOT: step %.2f ms%s = %.2f ms; %.0f run concurrently: %.4g tokens/s",
		    s->step, q->batch > 1 ? " plus other requests' prompts" : "", s->tpot,
		    s->running, s->throughput);
}

const char *const limit_names[LIMITS] = { "memory-capacity", "memory-bandwidth", "compute", "link",
					  "launch" };

static const char *spread_source(struct arena *a, const struct spread *s)
{
	static const char *const on[] = { "GB10", "H100 and H200", "B200, B300 and GB200",
					  "other GPUs (not measured on this GPU)" };
	const char *engine = s->engine == ENGINES ? "all engines" : engine_names[s->engine];
	const char *tested = s->tested ? arena_printf(a, "coverage tested %d %%", s->tested)
				       : "coverage untested";

	return arena_printf(a, "%s on %s, %s", engine, on[s->hardware], tested);
}

static const struct spread *infer_predict_spread_of(const struct ask *q, int measure)
{
	const struct spread *best = NULL;
	enum hardware h = measured_class(q->place.gpu);
	enum users users = q->dp > 1 || q->prefills > 0	 ? USERS_APART
			   : q->batch > 1 || q->rate > 0 ? USERS_MANY
							 : USERS_ONE;

	for (size_t i = 0; i < spread_count; i++) {
		const struct spread *s = &spreads[i];

		if (s->measure != measure || s->users != users ||
		    (s->engine != ENGINES && s->engine != q->engine) || s->hardware != h)
			continue;
		if (!best || s->engine != ENGINES)
			best = s;
	}
	return best;
}

struct figure served_figure(const struct query *q, const struct served *s, int measure,
			    const struct spread **whose)
{
	const double v[MEASURES] = { s->ttft, s->tpot, s->throughput };
	double wider = q->arch.guessed ? 1.5 : 1;

	*whose = infer_predict_spread_of(&q->ask, measure);
	if (!*whose)
		return (struct figure){ v[measure], v[measure] * 0.5, v[measure] * 2 };
	wider *= 1 + (*whose)->grow * fmin(2, log(s->crowding));
	return (struct figure){ v[measure], v[measure] * fmin(1, pow((*whose)->low, wider)),
				v[measure] * fmax(1, pow((*whose)->high, wider)) };
}

/* No step is shorter than reading its bytes at the data sheet's rate. */
static void clip_by_memory(struct prediction *p)
{
	const struct decode_step *s = &p->step;
	const struct ask *q = &p->q.ask;
	double least = 1e3 * step_bytes(s) / (q->place.gpu->bandwidth * 1e9) /
		       fmax(1, p->served.tokens_a_step);
	double most = least > 0 ? 1e3 * p->served.running * q->pp / least : INFINITY;

	p->tpot.low = fmin(p->tpot.value, fmax(p->tpot.low, least));
	p->throughput.high = fmax(p->throughput.value, fmin(p->throughput.high, most));
}

static const char *links_why(struct arena *a, const struct decode_step *s)
{
	double reduces = 1e-3 * s->reduces * s->reduce_us;

	if (s->link < 2 * reduces)
		return arena_printf(a, "%d all-reduces of %.0f us take %.2f of %.2f ms per step",
				    s->reduces, s->reduce_us, reduces, s->total);
	return arena_printf(a, "transfers between stages take %.2f of %.2f ms per step",
			    s->link - reduces, s->total);
}

static void limit_of_step(struct arena *a, struct prediction *p)
{
	const struct decode_step *s = &p->step;
	const struct ask *q = &p->q.ask;
	double gb = step_bytes(s) / 1e9 / q->pp;

	if (!p->memory.fits) {
		p->limit = LIMIT_CAPACITY;
		p->limit_why =
			arena_printf(a, "needs %.1f GB of %s, but only %.1f GB is available",
				     p->memory.total / 1e9,
				     q->place.gpu->unified ? "the machine's memory" : "each GPU",
				     p->memory.limit / 1e9);
	} else if (s->host > 0.8 * s->total) {
		p->limit = LIMIT_LAUNCH;
		p->limit_why =
			arena_printf(a, "CPU work for %.0f requests takes %.2f of %.2f ms per step",
				     p->served.running, s->host, s->total);
	} else if (fmax(s->memory, s->compute) < fmax(s->link, s->launch + s->sequence)) {
		p->limit = s->link > s->launch + s->sequence ? LIMIT_LINK : LIMIT_LAUNCH;
		p->limit_why =
			p->limit == LIMIT_LINK
				? links_why(a, s)
				: arena_printf(
					  a,
					  "launches and scheduling take %.2f of %.2f ms per step",
					  s->launch + s->sequence, s->total);
	} else if (s->compute > s->memory) {
		p->limit = LIMIT_COMPUTE;
		p->limit_why =
			arena_printf(a, "matrix multiplications take %.2f of %.2f ms per step",
				     s->compute, s->total);
	} else {
		p->limit = LIMIT_BANDWIDTH;
		p->limit_why = arena_printf(
			a, "each GPU reads %.2f GB per step%s, which takes %.2f of %.2f ms", gb,
			q->pp > 1 ? arena_printf(a, ", %d stages in sequence", q->pp) : "",
			s->memory, s->total);
	}
}

static void limit_of_prompt(struct prediction *p)
{
	const struct prompt *r = &p->prompt;
	double compute = r->multiply + r->attention + r->scan;

	p->prompt_limit = r->link > fmax(compute, r->weights)	  ? LIMIT_LINK
			  : r->launch > fmax(compute, r->weights) ? LIMIT_LAUNCH
			  : r->weights > compute		  ? LIMIT_BANDWIDTH
								  : LIMIT_COMPUTE;
}

static void draw_curve(struct arena *a, struct prediction *p)
{
	struct ask q = p->q.ask;
	bool fits = true;

	for (int batch = 1; p->n_curve < CURVE_POINTS && fits; batch *= 2) {
		struct memory_footprint m;
		struct served s;

		q.batch = batch;
		q.rounds = fmax(q.rounds, 8); /* else beginning and end count too much */
		memory_use(&q, &m);
		serve(a, &q, &m, &s, NULL);
		if (batch == 1) /* with its prompt, as in the other rows */
			s.throughput = 1e3 * q.output / (s.ttft + (q.output - 1) * s.tpot);
		fits = m.fits;
		p->curve[p->n_curve++] =
			(struct curve_point){ batch, s.ttft, s.tpot, s.throughput, fits };
	}
}

void predict(struct arena *a, const struct query *q, const struct fits *fits,
	     struct prediction *out)
{
	const struct ask *k;
	const struct memory_footprint *m = &out->memory;
	struct figure *const figures[MEASURES] = { &out->ttft, &out->tpot, &out->throughput };
	struct ask first;
	double rest;

	*out = (struct prediction){ .q = *q, .calibration = fits->origin };
	out->q.ask.arch = &out->q.arch;
	k = &out->q.ask;
	memory_use(k, &out->memory);
	serve(a, k, m, &out->served, &out->schedule);
	step_time(k, out->served.running, k->depth + k->prompt + k->output / 2, 1, &out->step);
	first = ask_of_prompts(k);
	prompt_time(&first, 1, k->prompt * (1 - k->cached), k->depth + k->prompt * k->cached,
		    &out->prompt);
	for (int i = 0; i < MEASURES; i++) {
		*figures[i] = served_figure(&out->q, &out->served, i, &out->spread[i]);
		if (out->spread[i])
			out->whose[i] = spread_source(a, out->spread[i]);
	}
	rest = m->activations + m->workspace + m->graphs + m->framework;
	out->bytes.value = m->total - m->reserve;
	out->bytes.low = 0.97 * (m->weights + m->cache + m->state) + 0.5 * rest;
	out->bytes.high = 1.05 * (m->weights + m->cache + m->state) + 1.5 * rest;
	out->weight_bytes = weights_total(k);
	clip_by_memory(out);
	limit_of_step(a, out);
	limit_of_prompt(out);
	if (k->rate <= 0)
		draw_curve(a, out);
	predict_explain(a, out);
}

/* 95 % lie within so many times the half-width of 80 %, with tails as heavy as Laplace's
 * distribution: ln 20 / ln 5. */
static const double wider = 1.86;

struct figure figure_wider(struct figure f)
{
	if (f.value > 0 && f.low > 0)
		f = (struct figure){ f.value, f.value * pow(f.low / f.value, wider),
				     f.value * pow(f.high / f.value, wider) };
	return f;
}

const char *predict_claim(struct arena *a, const struct prediction *p, double tokens_s,
			  const char **why)
{
	const struct ask *k = &p->q.ask;
	struct decode_step s;
	double bytes, needed, each = 1e3 / tokens_s;
	struct figure most = figure_wider(p->tpot);

	step_time(k, 1, k->depth + k->prompt + k->output / 2, 1, &s);
	bytes = step_bytes(&s) - s.state_read;
	needed = bytes / 1e9 * tokens_s / p->served.tokens_a_step;
	if (needed > k->place.gpu->bandwidth) {
		*why = arena_printf(
			a,
			"%.6g tokens/s at %.1f GB per token, %.6g times per second, needs %.0f "
			"GB/s; the data sheet has %.0f GB/s. Impossible with these weights, unless "
			"a step yields more than %.3g token%s",
			tokens_s, bytes / 1e9, tokens_s, needed, k->place.gpu->bandwidth,
			p->served.tokens_a_step, PLURAL(p->served.tokens_a_step));
		return "impossible";
	}
	*why = arena_printf(a,
			    "%.6g tokens/s is %.4g ms per token; predicted: %.4g (%.4g to %.4g); "
			    "required memory bandwidth: %.0f of %.0f GB/s",
			    tokens_s, each, p->tpot.value, p->tpot.low, p->tpot.high, needed,
			    k->place.gpu->bandwidth);
	return each < most.low || each > most.high ? "outside" : "inside";
}
