/* SPDX-License-Identifier: Apache-2.0 */
/* From totals to shares of the time, and those to words. */
#include "measure/bench/gpu_state.h"

#include <stdio.h>
#include <string.h>

void gpu_state_begin(struct gpu_state *s, const struct gpu_place *p)
{
	gpu_watch_open(&s->watch, p);
	gpu_watch_look(&s->watch, &s->before);
	s->begun = true;
}

static void add(char *text, size_t size, const char *what, double before, double after, double us)
{
	size_t len = strlen(text);
	double percent = us > 0 ? 100 * (after - before) / us : 0;

	if (before >= 0 && after >= 0 && percent > 1 && len < size)
		snprintf(text + len, size - len, "; %s %.0f %% of the time", what,
			 percent > 100 ? 100 : percent);
}

void gpu_state_end(struct gpu_state *s, char *text, size_t size)
{
	struct gpu_look after;
	double us;

	if (!s->begun)
		return;
	gpu_watch_look(&s->watch, &after);
	us = (after.at_s - s->before.at_s) * 1e6;
	add(text, size, "held by its power cap", s->before.capped_us, after.capped_us, us);
	add(text, size, "too warm", s->before.warm_us, after.warm_us, us);
	add(text, size, "under the power brake", s->before.brake_us, after.brake_us, us);
	gpu_watch_close(&s->watch);
	s->begun = false;
}

void gpu_state_link(const struct gpu_place *p, char *text, size_t size)
{
	long long gen = p->facts ? fact_or(&p->facts->pcie_gen_max, 0) : 0,
		  width = p->facts ? fact_or(&p->facts->pcie_width_max, 0) : 0;
	size_t len = strlen(text);
	struct gpu_watch w;
	struct gpu_look now;

	gpu_watch_open(&w, p);
	gpu_watch_look(&w, &now);
	gpu_watch_close(&w);
	if (now.link_gen > 0 && now.link_width > 0 && len < size &&
	    (now.link_gen < gen || now.link_width < width))
		snprintf(text + len, size - len,
			 "; its link runs at generation %lld with %lld lanes, not %lld with %lld",
			 now.link_gen, now.link_width, gen, width);
}
