/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of a recording says by itself and with the one before. */
#include <math.h>
#include <string.h>

#include "look/monitor/recording.h"

/* Beats are kept to well within this; whatever stood still for longer has been asked. */
#define SURELY_ASKED 1.5
/* The kernel counts in ticks of 10 ms: in a moment there is no rate. */
#define RATE_LEAST_S 0.05

/* A type that this version does not know is made anew at each reading. */
static bool same_type(const struct column_type *x, const struct column_type *y)
{
	return x == y || (strcmp(x->name, y->name) == 0 && strcmp(x->unit, y->unit) == 0 &&
			  x->kind == y->kind);
}

bool recording_alike(const struct recording *a, const struct recording *b)
{
	bool alike = a->mon.n == b->mon.n;

	for (size_t i = 0; i < a->mon.n && alike; i++)
		alike = same_type(a->mon.columns[i].type, b->mon.columns[i].type) &&
			strcmp(a->mon.columns[i].target, b->mon.columns[i].target) == 0;
	return alike;
}

static bool changed(double now, double before)
{
	return isnan(now) != isnan(before) || now < before || now > before;
}

/* Whether this row was asked for what belongs to a beat: something of it changed. */
static void see_asked(struct recording_rates *r, enum monitor_beat beat, const struct monitor *mon,
		      double at_s, const double *values)
{
	bool asked = beat == BEAT_LOOK || !r->begun;

	for (size_t i = 0; i < mon->n && !asked; i++)
		asked = mon->columns[i].beat == beat && changed(values[i], r->before[i]);
	r->guessed[beat] = !asked;
	r->asked[beat] = asked || at_s - r->beats[beat].at_s >= SURELY_ASKED * beat_seconds[beat];
}

double recording_asked_s(enum monitor_beat beat, double then_s, bool guessed, double now_s)
{
	return guessed ? fmin(then_s, now_s - beat_seconds[beat]) : then_s;
}

static double rate(double now, double before, double s)
{
	return s >= RATE_LEAST_S && now >= before ? (now - before) / s : (double)NAN;
}

void recording_rates(struct arena *a, struct recording_rates *r, const struct monitor *mon,
		     double at_s, const double *values, double *out)
{
	bool was_guess[BEATS];

	if (!mon->n)
		return;
	if (!r->before) {
		r->before = arena_array(a, mon->n, sizeof(*r->before));
		for (size_t b = 0; b < BEATS; b++)
			r->beats[b].before = arena_array(a, mon->n, sizeof(*r->before));
	}
	for (size_t b = 0; b < BEATS; b++) {
		was_guess[b] = r->begun && r->guessed_at[b];
		see_asked(r, (enum monitor_beat)b, mon, at_s, values);
	}
	for (size_t i = 0; i < mon->n; i++) {
		const struct column_of *c = &mon->columns[i];
		const struct beat_asked *b = &r->beats[c->beat];
		double s = at_s - recording_asked_s(c->beat, b->at_s, was_guess[c->beat], at_s);

		if (!r->asked[c->beat])
			out[i] = NAN;
		else if (c->type->kind == COLUMN_GAUGE)
			out[i] = values[i];
		else
			out[i] = r->begun ? rate(values[i], b->before[i], s) : (double)NAN;
	}
	memcpy(r->before, values, mon->n * sizeof(*values));
	for (size_t b = 0; b < BEATS; b++)
		if (r->asked[b]) {
			memcpy(r->beats[b].before, values, mon->n * sizeof(*values));
			r->beats[b].before_s = r->beats[b].at_s;
			r->beats[b].at_s = at_s;
			r->guessed_at[b] = r->guessed[b];
		}
	r->begun = true;
}
