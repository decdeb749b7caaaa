/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's questions, and threads. */
#include "measure/bench/gpu_load_watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void gpu_watch_open(struct gpu_watch *w, const struct gpu_place *p)
{
	/* The measurement's own door: the sampler beside it uses the other one. */
	w->h = p->facts ? host_open_live() : NULL;
	snprintf(w->object, sizeof(w->object), "%u", p->index);
}

void gpu_watch_close(struct gpu_watch *w)
{
	if (w->h)
		host_close(w->h);
	w->h = NULL;
}

static double ask(const struct gpu_watch *w, const char *question, double factor)
{
	long long v;

	if (!w->h || host_ask_int(w->h, "nvml", w->object, question, &v))
		return -1;
	return (double)v * factor;
}

void gpu_watch_brief(const struct gpu_watch *w, struct gpu_look *out)
{
	*out = (struct gpu_look){ .at_s = clock_mono_s(),
				  .sm_mhz = -1,
				  .memory_mhz = -1,
				  .busy_percent = -1,
				  .reasons = -1,
				  .capped_us = -1,
				  .warm_us = -1,
				  .brake_us = -1,
				  .link_gen = -1,
				  .link_width = -1 };
	out->power_w = ask(w, "nvmlDeviceGetPowerUsage", 1e-3);
	out->temperature_c = ask(w, "nvmlDeviceGetTemperature(GPU)", 1);
}

#define FIELD(name) "nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_" name ")"

void gpu_watch_look(const struct gpu_watch *w, struct gpu_look *out)
{
	double driver, hardware;

	gpu_watch_brief(w, out);
	out->sm_mhz = ask(w, "nvmlDeviceGetClockInfo(SM)", 1);
	out->memory_mhz = ask(w, "nvmlDeviceGetClockInfo(MEM)", 1);
	out->busy_percent = ask(w, "nvmlDeviceGetUtilizationRates.gpu", 1);
	out->reasons = (long long)ask(w, "nvmlDeviceGetCurrentClocksEventReasons", 1);
	/* The driver counts nanoseconds. */
	out->capped_us = ask(w, FIELD("SW_POWER_CAP"), 1e-3);
	driver = ask(w, FIELD("SW_THERM_SLOWDOWN"), 1e-3);
	hardware = ask(w, FIELD("HW_THERM_SLOWDOWN"), 1e-3);
	out->warm_us = driver < 0 ? hardware : hardware < 0 ? driver : driver + hardware;
	out->brake_us = ask(w, FIELD("HW_POWER_BRAKE_SLOWDOWN"), 1e-3);
	out->link_gen = (long long)ask(w, "nvmlDeviceGetCurrPcieLinkGeneration", 1);
	out->link_width = (long long)ask(w, "nvmlDeviceGetCurrPcieLinkWidth", 1);
}

struct turn {
	void (*work)(void *ctx, size_t i);
	void *ctx;
	size_t i;
	pthread_t thread;
	bool started;
};

static void *turn_main(void *arg)
{
	struct turn *t = arg;

	t->work(t->ctx, t->i);
	return NULL;
}

void gpu_each(size_t n, void (*work)(void *ctx, size_t i), void *ctx)
{
	struct turn *turns = n > 1 ? calloc(n, sizeof(*turns)) : NULL;

	for (size_t i = 0; i < n; i++) {
		if (turns) {
			turns[i] = (struct turn){ .work = work, .ctx = ctx, .i = i };
			turns[i].started =
				pthread_create(&turns[i].thread, NULL, turn_main, &turns[i]) == 0;
		}
		/* One after another is better than none. */
		if (!turns || !turns[i].started)
			work(ctx, i);
	}
	for (size_t i = 0; turns && i < n; i++)
		if (turns[i].started)
			pthread_join(turns[i].thread, NULL);
	free(turns);
}
