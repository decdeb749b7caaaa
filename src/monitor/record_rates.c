/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of a recording says by itself and with the one before. */
#include <math.h>
#include <string.h>

#include "monitor/recording.h"

/* Beats are kept to well within this; whatever stood still for longer has been asked. */
#define SURELY_ASKED 1.5
/* The kernel counts in ticks of 10 ms: in a moment there is no rate. */
#define RATE_LEAST_S 0.05

/* Whether this row was asked for what belongs to a beat: something of it changed. */
static bool asked_in(const struct recording_rates *r, enum monitor_beat beat,
		     const struct monitor *mon, double at_s, const double *values)
{
	bool asked = beat == BEAT_LOOK || !r->begun ||
		     at_s - r->beats[beat].at_s >= SURELY_ASKED * beat_seconds[beat];

	for (size_t i = 0; i < mon->n && !asked; i++)
		asked = mon->columns[i].beat == beat && isfinite(values[i]) &&
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
	bool asked[BEATS];

	if (!r->before) {
		r->before = arena_array(a, mon->n, sizeof(*r->before));
		for (size_t b = 0; b < BEATS; b++)
			r->beats[b].before = arena_array(a, mon->n, sizeof(*r->before));
	}
	for (size_t b = 0; b < BEATS; b++)
		asked[b] = asked_in(r, (enum monitor_beat)b, mon, at_s, values);
	for (size_t i = 0; i < mon->n; i++) {
		const struct column_of *c = &mon->columns[i];
		const struct beat_asked *b = &r->beats[c->beat];

		if (!asked[c->beat])
			out[i] = NAN;
		else if (c->type->kind == COLUMN_GAUGE)
			out[i] = values[i];
		else
			out[i] = r->begun ? rate(values[i], b->before[i], at_s - b->at_s)
					  : (double)NAN;
	}
	memcpy(r->before, values, mon->n * sizeof(*values));
	r->before_s = at_s;
	for (size_t b = 0; b < BEATS; b++)
		if (asked[b]) {
			memcpy(r->beats[b].before, values, mon->n * sizeof(*values));
			r->beats[b].at_s = at_s;
		}
	r->begun = true;
}
