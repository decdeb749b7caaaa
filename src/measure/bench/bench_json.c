/* SPDX-License-Identifier: Apache-2.0 */
/* Writing records and comparisons as JSON. Keys that hold figures end in their unit. */
#include <math.h>
#include <stdio.h>

#include "base/stamp.h"
#include "measure/bench/bench_json.h"
#include "look/settings/findings.h"
#include "render/json_value.h"

static json_t *total(double v)
{
	return v >= 0 ? json_figure(v) : json_null();
}

static json_t *count(long long v)
{
	return v >= 0 ? json_integer(v) : json_null();
}

static void put(json_t *o, const char *name, const char *unit, double v)
{
	char key[96];

	snprintf(key, sizeof(key), "%s_%s", name, unit);
	json_object_set_new(o, key, json_figure(v));
}

static json_t *numbers(const double *x, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_real(x[i]));
	return list;
}

static json_t *pairs(const struct record_pair *p, size_t n)
{
	json_t *o = json_object();

	for (size_t i = 0; i < n; i++)
		json_object_set_new(o, p[i].name, json_text(p[i].value));
	return o;
}

static json_t *moment(const struct record_moment *m)
{
	json_t *j = json_object();

	json_object_set_new(j, "load1", total(m->load1));
	json_object_set_new(j, "available_mib", total(m->available_mib));
	json_object_set_new(j, "busy_cpu_s", total(m->busy_s));
	json_object_set_new(j, "idle_cpu_s", total(m->idle_s));
	json_object_set_new(j, "irq_cpu_s", total(m->irq_s));
	json_object_set_new(j, "steal_cpu_s", total(m->steal_s));
	json_object_set_new(j, "own_cpu_s", total(m->own_s));
	json_object_set_new(j, "interrupts", count(m->interrupts));
	json_object_set_new(j, "context_switches", count(m->switches));
	json_object_set_new(j, "throttle_events", count(m->throttles));
	json_object_set_new(j, "min_mhz", count(m->mhz_min));
	json_object_set_new(j, "max_mhz", count(m->mhz_max));
	json_object_set_new(j, "temperature_c", json_figure(m->temp_c));
	json_object_set_new(j, "cpu_dma_latency_us", count(m->pm_qos_us));
	return j;
}

static json_t *conditions(const struct record_conditions *c)
{
	json_t *track = json_array();

	for (size_t i = 0; i < c->n_track; i++)
		json_array_append_new(track,
				      json_pack("{s:f, s:o, s:o, s:o}", "at_s", c->track[i].at_s,
						"min_mhz", count(c->track[i].mhz_min), "max_mhz",
						count(c->track[i].mhz_max), "temperature_c",
						json_figure(c->track[i].temp_c)));
	return json_pack("{s:i, s:b, s:o, s:o, s:o, s:f, s:o, s:o, s:o}", "cpus", (int)c->cpus,
			 "busy", record_busy(c), "others_before_cpus", total(c->idle_others),
			 "others_cpus", total(c->others), "steal_percent", total(c->steal_percent),
			 "sampler_percent", c->sampler_percent, "before", moment(&c->before),
			 "after", moment(&c->after), "track", track);
}

static void put_summary(json_t *j, const struct record_series *s)
{
	const struct stat_summary *v = &s->s;

	put(j, "median", s->unit, v->median);
	put(j, "low", s->unit, v->has_interval ? v->interval.low : NAN);
	put(j, "high", s->unit, v->has_interval ? v->interval.high : NAN);
	put(j, "mad", s->unit, v->mad);
	put(j, "mean", s->unit, v->mean);
	put(j, "min", s->unit, v->min);
	put(j, "p1", s->unit, v->p1);
	put(j, "p5", s->unit, v->p5);
	put(j, "p25", s->unit, v->p25);
	put(j, "p75", s->unit, v->p75);
	put(j, "p95", s->unit, v->p95);
	put(j, "p99", s->unit, v->p99);
	put(j, "max", s->unit, v->max);
	json_object_set_new(j, "effective_samples", json_figure(v->effective));
	json_object_set_new(j, "outliers_low", count((long long)v->outliers.low));
	json_object_set_new(j, "outliers_high", count((long long)v->outliers.high));
	json_object_set_new(j, "drift",
			    json_pack("{s:b, s:f, s:f}", "found", v->drift.found, "relative",
				      v->drift.relative, "p", v->drift.p));
	json_object_set_new(j, "states",
			    json_pack("{s:i, s:b, s:I}", "count", v->modes.found ? 2 : 1, "step",
				      v->modes.step, "switches",
				      (json_int_t)(v->modes.found ? v->modes.switches : 0)));
	if (v->modes.found) {
		json_t *states = json_object_get(j, "states");

		put(states, "lower", s->unit, v->modes.low);
		put(states, "upper", s->unit, v->modes.high);
		json_object_set_new(states, "share_upper", json_figure(v->modes.share_high));
	}
}

/* Where the figure lies to what is usual for this hardware. */
static json_t *band_json(const struct record_series *s)
{
	const char *place = record_place_name(record_place(s));
	json_t *j = json_pack("{s:b, s:o, s:o}", "known", s->band.known, "verdict",
			      json_text(place), "source", json_text(s->band.source));

	if (s->band.known) {
		put(j, "low", s->unit, s->band.low);
		put(j, "high", s->unit, s->band.high);
	}
	return j;
}

static json_t *figure_json(const struct record_case *c, const struct record_series *s)
{
	json_t *j =
		json_pack("{s:o, s:o, s:o, s:o, s:s, s:I}", "key", json_text(s->key), "title",
			  json_text(s->title), "unit", json_text(s->unit), "unit_text",
			  json_text(s->unit_text), "better",
			  s->better == BENCH_HIGHER ? "higher" : "lower", "n", (json_int_t)c->n);
	char key[96];

	if (s->has_summary)
		put_summary(j, s);
	snprintf(key, sizeof(key), "samples_%s", s->unit);
	json_object_set_new(j, key, numbers(s->x, c->n));
	json_object_set_new(j, "band", band_json(s));
	return j;
}

static json_t *limit_json(const struct record_case *c)
{
	json_t *j = json_pack("{s:b, s:o}", "known", c->has_limit, "source",
			      json_text(c->limit_source));
	const struct record_series *s = &c->series[0];

	if (c->has_limit && c->n_series) {
		put(j, "limit", s->unit, c->limit);
		if (s->has_summary && c->limit > 0)
			json_object_set_new(j, "percent",
					    json_figure(100 * s->s.median / c->limit));
	}
	return j;
}

static json_t *observed_json(const struct record_case *c)
{
	const struct record_observed *o = &c->observed;
	const char *unit;
	json_t *j;

	if (!o->n || o->of >= c->n_series)
		return json_null();
	unit = c->series[o->of].unit;
	j = json_pack("{s:I}", "n", (json_int_t)o->n);
	put(j, "p50", unit, o->p50);
	put(j, "p90", unit, o->p90);
	put(j, "p99", unit, o->p99);
	put(j, "p999", unit, o->p999);
	put(j, "max", unit, o->max);
	return j;
}

static json_t *early_json(const struct record_case *c)
{
	json_t *j = json_pack("{s:o}", "how", json_text(c->early.how));

	put(j, "value", c->series[0].unit, c->early.value);
	if (c->early.at_s >= 0)
		json_object_set_new(j, "process_s", json_real(c->early.at_s));
	return j;
}

static json_t *case_json(const struct record_case *c)
{
	json_t *figures = json_array(), *rounds = json_array(), *j;

	for (size_t i = 0; i < c->n_series; i++)
		json_array_append_new(figures, figure_json(c, &c->series[i]));
	for (size_t i = 0; i < c->rounds; i++)
		json_array_append_new(rounds, json_integer((json_int_t)c->first[i]));
	j = json_pack("{s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "bench", json_text(c->bench), "case",
		      json_text(c->name), "method", json_text(c->method), "method_version",
		      (int)c->version, "setup", json_text(c->setup), "placement",
		      json_text(c->placement), "variant", json_text(c->variant));
	json_object_set_new(j, "limit", limit_json(c));
	json_object_set_new(j, "verified", json_boolean(c->verified));
	json_object_set_new(j, "steady", json_boolean(c->steady));
	json_object_set_new(j, "warmup_samples", json_integer((json_int_t)c->warmup));
	if (c->early.known && c->n_series)
		json_object_set_new(j, "first_figure", early_json(c));
	json_object_set_new(j, "stop", json_string(record_stop_name(c->stop)));
	json_object_set_new(j, "error", json_text(c->error));
	json_object_set_new(j, "round_starts", rounds);
	json_object_set_new(j, "at_s", numbers(c->at_s, c->n));
	json_object_set_new(j, "figures", figures);
	json_object_set_new(j, "observed", observed_json(c));
	return j;
}

json_t *bench_json(const struct machine *m, const struct record *r, int exit_code)
{
	json_t *j = result_json("bench", m, exit_code), *cases = json_array(),
	       *notes = json_array(), *skips = json_array();

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(cases, case_json(&r->cases[i]));
	for (size_t i = 0; i < r->n_skipped; i++)
		json_array_append_new(skips, json_pack("{s:o, s:o}", "bench",
						       json_text(r->skipped[i].bench), "reason",
						       json_text(r->skipped[i].reason)));
	for (size_t i = 0; i < r->n_notes; i++)
		json_array_append_new(notes, json_text(r->notes[i]));
	json_object_set_new(j, "id", json_text(r->id));
	json_object_set_new(j, "machine", json_text(r->machine));
	json_object_set_new(j, "partial", json_boolean(r->partial));
	json_object_set_new(j, "fingerprint", pairs(r->fingerprint, r->n_fingerprint));
	json_object_set_new(j, "settings_digest", json_text(r->settings_digest));
	json_object_set_new(j, "settings", pairs(r->settings, r->n_settings));
	json_object_set_new(j, "conditions", conditions(&r->conditions));
	json_object_set_new(j, "cases", cases);
	json_object_set_new(j, "not_run", skips);
	json_object_set_new(j, "notes", notes);
	return j;
}

static json_t *row_json(const struct compare_row *r)
{
	bool can = r->verdict != COMPARE_CANNOT;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "bench",
			 json_text(r->bench), "case", json_text(r->name), "figure",
			 json_text(r->figure), "unit", json_text(r->unit_text), "median_a",
			 r->has_medians ? json_figure(r->a) : json_null(), "median_b",
			 r->has_medians ? json_figure(r->b) : json_null(), "ratio",
			 can ? json_figure(r->ratio.ratio) : json_null(), "low",
			 can ? json_figure(r->ratio.interval.low) : json_null(), "high",
			 can ? json_figure(r->ratio.interval.high) : json_null(), "verdict",
			 compare_verdict_name(r->verdict), "reason", json_text(r->reason));
}

json_t *compare_json(const struct compare *c, long long time_s, int exit_code)
{
	json_t *rows = json_array(), *differs = json_array();
	char when[STAMP_SIZE];

	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(rows, row_json(&c->rows[i]));
	for (size_t i = 0; i < c->n_differs; i++)
		json_array_append_new(differs, json_text(c->differs[i]));
	if (stamp_format(time_s, when))
		when[0] = '\0';
	return json_pack(
		"{s:s, s:s, s:s, s:i, s:o, s:o, s:f, s:f, s:{s:I, s:I, s:I, s:I}, s:o, s:o}",
		"schema", "gputune.compare/1", "tool_version", GPUTUNE_VERSION, "time", when,
		"exit_code", exit_code, "a", json_text(c->a->id), "b", json_text(c->b->id), "level",
		COMPARE_LEVEL, "threshold", c->threshold, "summary", "better",
		(json_int_t)c->count[COMPARE_BETTER], "worse", (json_int_t)c->count[COMPARE_WORSE],
		"no_difference", (json_int_t)c->count[COMPARE_SAME], "not_comparable",
		(json_int_t)c->count[COMPARE_CANNOT], "differs", differs, "rows", rows);
}
