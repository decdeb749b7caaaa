/* SPDX-License-Identifier: Apache-2.0 */
/* A step put together: micro-batches on stages, bubbles, what stays exposed, the update. */
#include <math.h>

#include "models/training/work.h"

const char *const train_limit_names[TRAIN_LIMITS] = {
	"memory-capacity", "compute", "memory-bandwidth", "launch", "link", "bubble", "loader"
};

static double max_of(const double *v, size_t n, size_t *at)
{
	double most = -1;

	for (size_t i = 0; i < n; i++)
		if (v[i] > most)
			most = v[i], *at = i;
	return most;
}

static void name_limit(struct arena *a, struct train_answer *p, const struct train_micro *m)
{
	const struct train_time *t = &p->time;
	double micros = p->q.accumulation, parts[TRAIN_LIMITS] = { 0 };
	size_t at = TRAIN_LIMIT_COMPUTE;

	parts[TRAIN_LIMIT_COMPUTE] = t->forward + t->backward + t->recompute;
	parts[TRAIN_LIMIT_BANDWIDTH] = 3 * m->small * micros + t->optimizer;
	parts[TRAIN_LIMIT_COMPUTE] -= 3 * m->small * micros;
	parts[TRAIN_LIMIT_LAUNCH] = t->launch;
	parts[TRAIN_LIMIT_LINK] = t->exposed + t->contention;
	parts[TRAIN_LIMIT_BUBBLE] = t->bubble;
	parts[TRAIN_LIMIT_LOADER] = t->loader;
	max_of(parts, TRAIN_LIMITS, &at);
	p->limit = p->memory.fits ? (enum train_limit)at : TRAIN_LIMIT_MEMORY;
	if (!p->memory.fits)
		p->limit_why = arena_printf(a, "%.1f GB are needed on a GPU, %.1f GB are there",
					    p->memory.total / 1e9, p->memory.limit / 1e9);
	else
		p->limit_why = arena_printf(a, "%.0f %% of a step of %s ms",
					    100 * parts[at] / t->total.value,
					    train_plain(a, 1e3 * t->total.value, 4));
}

static struct figure scaled(struct figure f, double by)
{
	return (struct figure){ f.value * by, f.low * by, f.high * by };
}

/* Operations of a token that the hardware does. */
static double hardware_flops(const struct train_answer *p)
{
	const struct train_config *q = &p->q;
	struct arch_parts parts;

	if (q->recompute == TRAIN_FULL)
		return p->model_flops + arch_recomputed_ops(&q->arch, q->sequence);
	if (q->recompute != TRAIN_SELECTIVE || (q->way != TRAIN_FSDP && q->way != TRAIN_HSDP))
		return p->model_flops;
	parts = arch_parts(&q->arch);
	return p->model_flops + 0.4 * 2 * (parts.active - parts.head);
}

static void train_predict_rates(struct train_answer *p)
{
	const struct train_config *q = &p->q;

	p->peak_flops = train_peak(q->place.gpu, q->precision);
	p->tokens_s_gpu = scaled(p->tokens_s, 1.0 / q->place.gpus);
	p->mfu = scaled(p->tokens_s_gpu, p->model_flops / p->peak_flops);
	p->hfu = scaled(p->tokens_s_gpu, p->hardware_flops / p->peak_flops);
}

/* A step may not begin before its samples are there; workers fetch ahead meanwhile. */
static double loader_wait(const struct train_config *q, double step)
{
	double samples = (double)q->micro_batch * q->accumulation;

	if (q->loader_s <= 0)
		return 0;
	return fmax(0, samples * q->loader_s / fmax(1, q->workers) - step);
}

static void train_predict_put_together(const struct train_config *q, const struct train_shape *s,
				       const struct train_micro *m, const struct train_exposed *x,
				       struct train_time *t)
{
	double micros = q->accumulation, work, machines;

	t->forward = micros * m->forward;
	t->backward = micros * m->backward;
	t->recompute = micros * m->recompute;
	t->launch = micros * m->launch;
	t->optimizer = train_optimizer_s(q, s);
	t->comm = x->total_s;
	t->exposed = x->step_s + micros * x->micro_s;
	t->contention = x->contend_s;
	work = t->forward + t->backward + t->recompute + t->launch + micros * x->micro_s;
	t->bubble = work * (q->pp - 1) / (micros * q->interleave);
	work = t->forward + t->backward + t->recompute + t->launch + t->optimizer + t->exposed +
	       t->contention + t->bubble;
	machines = fmax(1, q->place.nodes);
	t->slack = work * train_fit_of(q)->v[TFIT_SLACK] * log2(machines);
	t->loader = loader_wait(q, work + t->slack);
	t->total.value = work + t->slack + t->loader;
}

/* Nobody states the CPU, and launching rests on that of one machine: on two other hosts of H200s it
 * took 1.3 to 1.9 times as long. */
#define CPU_UNKNOWN 2.0

/* What a step would take with a CPU that needs that many times as long to launch. */
static double step_with(const struct train_answer *p, const struct train_shape *s,
			struct train_micro m, const struct train_exposed *x, double cpu)
{
	struct train_time t;

	m.launch = train_launch_s(&m, cpu);
	train_predict_put_together(&p->q, s, &m, x, &t);
	return t.total.value;
}

/* Two errors that know nothing of each other, as factors. */
static double both(double a, double b)
{
	return exp(hypot(log(a), log(b)));
}

static void intervals(struct arena *a, struct train_answer *p, const struct train_shape *shape,
		      const struct train_micro *m, const struct train_exposed *x)
{
	const struct train_spread *s = train_spread_of(&p->q);
	double tokens = (double)p->q.global_batch * p->q.sequence, step = p->time.total.value;
	double slower = step_with(p, shape, *m, x, CPU_UNKNOWN) / step;
	double faster = step / step_with(p, shape, *m, x, 1 / CPU_UNKNOWN);

	p->time.total.low = step / both(s->high, faster);
	p->time.total.high = step * both(1 / s->low, slower);
	p->tokens_s = (struct figure){ tokens / step, tokens / p->time.total.high,
				       tokens / p->time.total.low };
	p->interval_of =
		slower > 1.01 || faster > 1.01
			? arena_printf(a,
				       "%s; and a CPU that takes half to twice as long to launch "
				       "kernels, which makes the step %s to %s ms",
				       s->of, train_plain(a, 1e3 * step / faster, 4),
				       train_plain(a, 1e3 * step * slower, 4))
			: s->of;
}

void train_predict(struct arena *a, const struct train_config *q, struct train_answer *out)
{
	struct train_shape s;
	struct train_micro m;
	struct train_exposed x;
	struct arch_parts parts = arch_parts(&q->arch);

	*out = (struct train_answer){ .q = *q, .parameters = parts.total, .active = parts.active };
	train_shape_of(q, &s);
	train_micro_of(q, &s, &m);
	train_memory_of(q, &out->memory);
	train_comms_of(a, &s, &m, out, &x);
	train_predict_put_together(q, &s, &m, &x, &out->time);
	out->model_flops = train_model_flops(q);
	out->hardware_flops = hardware_flops(out);
	intervals(a, out, &s, &m, &x);
	train_predict_rates(out);
	name_limit(a, out, &m);
	train_explain(a, out, &s, &m);
}
