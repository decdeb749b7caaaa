/* SPDX-License-Identifier: Apache-2.0 */
/* Figures and findings of a record, from its samples and conditions. */
#include "measure/bench/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const stops[] = { "interval", "time", "count", "interrupted", "error" };

const char *record_stop_name(enum record_stop s)
{
	return stops[s];
}

int record_stop_parse(const char *name, enum record_stop *out)
{
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		if (strcmp(stops[i], name) == 0) {
			*out = (enum record_stop)i;
			return 0;
		}
	return -EINVAL;
}

bool record_wrong(const struct record_case *c)
{
	return c->error && strncmp(c->error, RECORD_WRONG, strlen(RECORD_WRONG)) == 0;
}

bool record_empty(const struct record *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->cases[i].n || r->cases[i].early.known || record_wrong(&r->cases[i]))
			return false;
	return true;
}

void record_summarise(struct record *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct record_case *c = &r->cases[i];

		for (size_t k = 0; k < c->n_series; k++)
			c->series[k].has_summary =
				!record_wrong(c) &&
				stat_summary(c->series[k].x, c->n, &c->series[k].s) == 0;
	}
}

void record_note(struct arena *a, struct record *r, const char *fmt, ...)
{
	va_list ap;

	r->notes = arena_grow(a, r->notes, r->n_notes, sizeof(*r->notes));
	va_start(ap, fmt);
	r->notes[r->n_notes++] = arena_vprintf(a, fmt, ap);
	va_end(ap);
}

void record_skip(struct arena *a, struct record *r, const char *bench, const char *reason)
{
	r->skipped = arena_grow(a, r->skipped, r->n_skipped, sizeof(*r->skipped));
	r->skipped[r->n_skipped++] = (struct record_skip){ bench, reason };
}

enum record_place record_place(const struct record_series *s)
{
	if (!s->band.known || !s->has_summary)
		return PLACE_UNKNOWN;
	if (s->s.median < s->band.low)
		return PLACE_BELOW;
	return s->s.median > s->band.high ? PLACE_ABOVE : PLACE_WITHIN;
}

bool record_worse(const struct record_series *s)
{
	return record_place(s) == (s->better == BENCH_HIGHER ? PLACE_BELOW : PLACE_ABOVE);
}

const char *record_place_name(enum record_place p)
{
	static const char *const names[] = { NULL, "below", "within", "above" };

	return names[p];
}

bool record_busy(const struct record_conditions *c)
{
	double share = 0.05 * (double)c->cpus, most = share < 1 ? share : 1;

	return c->idle_others > most || c->others > most || c->steal_percent > 1;
}

static void judge_conditions(struct arena *a, struct record *r)
{
	const struct record_conditions *c = &r->conditions;

	if (record_busy(c))
		record_note(a, r,
			    "the machine was busy with other things: %.2f CPUs before and %.2f "
			    "while measuring, %.1f %% of its time stolen by the hypervisor; the "
			    "figures may be too low",
			    fmax(c->idle_others, 0), fmax(c->others, 0), fmax(c->steal_percent, 0));
	if (c->before.throttles >= 0 && c->after.throttles > c->before.throttles)
		record_note(a, r, "the processor throttled for heat %lld times while measuring",
			    c->after.throttles - c->before.throttles);
	if (c->before.pm_qos_us >= 0 && c->before.pm_qos_us < 2000000000)
		record_note(a, r,
			    "another program holds /dev/cpu_dma_latency at %lld us: deep idle "
			    "states are not entered while it does",
			    c->before.pm_qos_us);
}

static void judge_series(struct arena *a, struct record *r, const struct record_case *c,
			 const struct record_series *s)
{
	const struct stat_modes *m = &s->s.modes;

	if (m->found && m->step)
		record_note(a, r,
			    "%s %s: the level changed once, from about %.4g to %.4g %s; the median "
			    "is of neither",
			    c->bench, c->name, s->x[0] > m->split ? m->high : m->low,
			    s->x[0] > m->split ? m->low : m->high, s->unit_text);
	else if (m->found)
		record_note(a, r,
			    "%s %s: flips between two states, %.4g and %.4g %s (%.0f %% of samples "
			    "in the upper one, %zu changes)",
			    c->bench, c->name, m->low, m->high, s->unit_text, 100 * m->share_high,
			    m->switches);
	else if (s->s.drift.found)
		record_note(a, r, "%s %s: drifted by %+.1f %% over the run", c->bench, c->name,
			    100 * s->s.drift.relative);
}

void record_judge(struct arena *a, struct record *r)
{
	judge_conditions(a, r);
	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (c->error)
			record_note(a, r, "%s %s: %s", c->bench, c->name, c->error);
		if (c->n && !c->steady)
			record_note(a, r, "%s %s: never became steady while warming up", c->bench,
				    c->name);
		if (c->n_series && c->series[0].has_summary)
			judge_series(a, r, c, &c->series[0]);
	}
	if (r->partial)
		record_note(a, r, "interrupted: what was measured until then");
}

const char *record_digest(struct arena *a, const struct record_pair *pairs, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		for (int part = 0; part < 2; part++)
			/* With the NUL, so that "ab" "c" is not "a" "bc". */
			for (const char *c = part ? pairs[i].value : pairs[i].name;; c++) {
				h = (h ^ (unsigned char)*c) * 0x100000001b3u;
				if (!*c)
					break;
			}
	return arena_printf(a, "%016llx", (unsigned long long)h);
}
