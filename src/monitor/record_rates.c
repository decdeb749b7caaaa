/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of a recording says by itself and with the one before. */
#include <math.h>
#include <string.h>

#include "monitor/recording.h"

/* Slow columns are asked once a second; whatever stood still for longer has been asked. */
#define SURELY_ASKED_S 1.5
/* The kernel counts in ticks of 10 ms: in a moment there is no rate. */
#define RATE_LEAST_S 0.05

static bool slow_row(const struct recording_rates *r, const struct monitor *mon, double at_s,
		     const double *values)
{
	bool asked = !r->begun || at_s - r->slow_s >= SURELY_ASKED_S;

	for (size_t i = 0; i < mon->n && !asked; i++)
		asked = mon->columns[i].slow && isfinite(values[i]) &&
			(values[i] < r->before[i] || values[i] > r->before[i]);
	return asked;
}

static double rate(double now, double before, double s)
{
	return s >= RATE_LEAST_S && now >= before ? (now - before) / s : (double)NAN;
}

void recording_rates(struct arena *a, struct recording_rates *r, const struct monitor *mon,
		     double at_s, const double *values, double *out)
{
	bool slow;

	if (!r->before) {
		r->before = arena_array(a, mon->n, sizeof(*r->before));
		r->slow_before = arena_array(a, mon->n, sizeof(*r->slow_before));
	}
	slow = slow_row(r, mon, at_s, values);
	for (size_t i = 0; i < mon->n; i++) {
		const struct column_of *c = &mon->columns[i];

		if (c->slow && !slow)
			out[i] = NAN;
		else if (c->type->kind == COLUMN_GAUGE)
			out[i] = values[i];
		else if (!r->begun)
			out[i] = NAN;
		else
			out[i] = c->slow ? rate(values[i], r->slow_before[i], at_s - r->slow_s)
					 : rate(values[i], r->before[i], at_s - r->before_s);
	}
	memcpy(r->before, values, mon->n * sizeof(*values));
	r->before_s = at_s;
	if (slow) {
		memcpy(r->slow_before, values, mon->n * sizeof(*values));
		r->slow_s = at_s;
	}
	r->begun = true;
}
