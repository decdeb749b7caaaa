/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work per joule: what a window measures, over the power that GPUs drew while it ran. By NVML's
 * count of energy (mJ since the driver was loaded); where a GPU has none, by its power, looked at
 * twenty times a second.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>

#include "base/clock.h"
#include "measure/prove/window.h"

enum { LOOK_NS = 50 * 1000000 };
/* No GPU draws as much, W: a sensor that says so is broken. */
static const double watts_max = 5000;

static const char energy[] = "nvmlDeviceGetTotalEnergyConsumption",
		  power[] = "nvmlDeviceGetPowerUsage";

struct meter {
	struct window inner;
	struct host *h; /* of its own: the thread asks while the window runs */
	const char *const *gpus;
	size_t n;
	bool counted; /* every one of them counts its energy */
	/* --- the thread's */
	atomic_bool stop;
	double joules;
	bool broken;
};

/* The sum over all GPUs, each number within bounds; negative: one of them does not say. */
static double meter_sum(const struct meter *m, const char *question, double most)
{
	double sum = 0;

	for (size_t i = 0; i < m->n; i++) {
		long long v = -1;

		if (host_ask_int(m->h, "nvml", m->gpus[i], question, &v) || v < 0 ||
		    (double)v > most)
			return -1;
		sum += 1e-3 * (double)v;
	}
	return sum;
}

static double meter_watts(const struct meter *m)
{
	double w = meter_sum(m, power, watts_max * 1e3);

	return w > 0 ? w : -1;
}

static void *meter_look(void *ctx)
{
	static const struct timespec nap = { 0, LOOK_NS };
	struct meter *m = ctx;
	double then = clock_mono_s(), was = meter_watts(m);
	bool last;

	do {
		double now, watts;

		last = atomic_load(&m->stop);
		if (!last)
			nanosleep(&nap, NULL);
		now = clock_mono_s();
		watts = meter_watts(m);
		m->broken = m->broken || watts < 0 || was < 0;
		m->joules += (watts + was) / 2 * (now - then);
		then = now;
		was = watts;
	} while (!last);
	return NULL;
}

static int meter_sampled(struct meter *m, struct window_reading *out, double *joules, struct err *e)
{
	pthread_t thread;
	int r;

	atomic_store(&m->stop, false);
	m->joules = 0;
	m->broken = false;
	if (pthread_create(&thread, NULL, meter_look, m))
		return err_set(e, -EAGAIN, "cannot create a thread to read power");
	r = m->inner.measure(&m->inner, out, e);
	atomic_store(&m->stop, true);
	pthread_join(thread, NULL);
	if (r == 0 && m->broken)
		return err_set(e, -ENODATA, "a GPU's power was not readable throughout");
	*joules = m->joules;
	return r;
}

static int meter_counted(struct meter *m, struct window_reading *out, double *joules, struct err *e)
{
	double before = meter_sum(m, energy, INFINITY), after;
	int r = m->inner.measure(&m->inner, out, e);

	if (r)
		return r;
	after = meter_sum(m, energy, INFINITY);
	if (before < 0 || after < 0)
		return err_set(e, -ENODATA, "a GPU's energy counter could not be read");
	if (after <= before)
		return err_set(e, -ENODATA, "a GPU's energy counter %s",
			       after < before ? "returned an older value than before"
					      : "did not advance");
	*joules = after - before;
	return 0;
}

static int per_joule_measure(struct window *w, struct window_reading *out, struct err *e)
{
	struct meter *m = w->state;
	struct window_reading in = { 0 };
	double begin = clock_mono_s(), joules = 0, watts, work;
	int r = m->counted ? meter_counted(m, &in, &joules, e) : meter_sampled(m, &in, &joules, e);

	if (r)
		return r;
	watts = joules / (clock_mono_s() - begin);
	if (!(watts > 0) || watts > watts_max * (double)m->n)
		return err_set(e, -EDOM, "%.0f W is not a plausible power of these GPUs", watts);
	work = in.value[m->inner.main];
	*out = in;
	out->value[0] =
		(m->inner.figures[m->inner.main].better == BENCH_HIGHER ? work : 1 / work) / watts;
	out->value[1] = work;
	return 0;
}

static void per_joule_close(struct window *w)
{
	window_close(&((struct meter *)w->state)->inner);
}

int window_per_joule(struct arena *a, struct host *h, const char *const *gpus, size_t n,
		     double loss, struct window *w, struct err *e)
{
	struct meter *m = ARENA_NEW(a, struct meter);
	const struct bench_figure *of = &w->figures[w->main];
	bool rate = of->better == BENCH_HIGHER;

	m->inner = *w;
	m->h = h;
	m->gpus = gpus;
	m->n = n;
	m->counted = meter_sum(m, energy, INFINITY) > 0;
	if (!n || (!m->counted && meter_watts(m) < 0))
		return err_set(e, -ENODATA, "no GPU here reports energy or power");
	w->figures[1] = *of;
	w->figures[0] = (struct bench_figure){
		.key = "per_joule",
		.title = "work per joule",
		.unit = rate ? arena_printf(a, "%s_per_w", of->unit) : "per_j",
		.unit_text = rate ? arena_printf(a, "%s/W", of->unit_text) : "per J",
		.better = BENCH_HIGHER
	};
	w->n_figures = 2;
	w->main = 0;
	w->tolerance[1] = loss;
	w->setup = arena_printf(a, "%s%s%s", w->setup, *w->setup ? ", " : "",
				m->counted ? "energy counted by the GPU"
					   : "energy from power, 20 readings a second");
	w->measure = per_joule_measure;
	w->close = per_joule_close;
	w->state = m;
	return 0;
}
