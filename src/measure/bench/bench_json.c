/* SPDX-License-Identifier: Apache-2.0 */
/* Writing records and comparisons as JSON. Keys that hold figures end in their unit. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "measure/bench/bench_json.h"
#include "look/settings/findings.h"
#include "base/json.h"

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

static json_t *bench_json_conditions(const struct record_conditions *c)
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
static json_t *bench_json_band(const struct record_series *s)
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

static json_t *bench_json_figure(const struct record_case *c, const struct record_series *s)
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
	json_object_set_new(j, "band", bench_json_band(s));
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
		json_array_append_new(figures, bench_json_figure(c, &c->series[i]));
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
	json_object_set_new(j, "conditions", bench_json_conditions(&r->conditions));
	json_object_set_new(j, "cases", cases);
	json_object_set_new(j, "not_run", skips);
	json_object_set_new(j, "notes", notes);
	return j;
}

/* --- two records ------------------------------------------------------------------------------ */

/* clang-format off */
#define WITH_MEDIANS SHAPE_WHEN(compare_row, has_medians)
static const struct shape_row compare_row_rows[] = {
	{ "bench", NULL, SHAPE_TEXT(compare_row, bench) },
	{ "case", NULL, SHAPE_TEXT(compare_row, name) },
	{ "figure", NULL, SHAPE_TEXT(compare_row, figure) },
	{ "unit", "As people write it.", SHAPE_TEXT(compare_row, unit_text) },
	{ "median_a", NULL, SHAPE_REAL(compare_row, a), WITH_MEDIANS, .unknown = SHAPE_NULL },
	{ "median_b", NULL, SHAPE_REAL(compare_row, b), WITH_MEDIANS, .unknown = SHAPE_NULL },
	{ "ratio", "B over A.", SHAPE_REAL(compare_row, ratio.ratio), .unknown = SHAPE_NULL },
	{ "low", NULL, SHAPE_REAL(compare_row, ratio.interval.low), .unknown = SHAPE_NULL },
	{ "high", NULL, SHAPE_REAL(compare_row, ratio.interval.high), .unknown = SHAPE_NULL },
	{ "verdict", NULL, SHAPE_CHOICE_BY(compare_row, verdict, compare_verdict_name, COMPARE_CANNOT + 1) },
	{ "reason", NULL, SHAPE_TEXT(compare_row, reason) },
};
static const struct shape compare_row_shape = SHAPE(compare_row, compare_row);

static const struct shape_row compare_summary_rows[] = {
	{ "better", NULL, SHAPE_COUNT(compare, count[COMPARE_BETTER]) },
	{ "worse", NULL, SHAPE_COUNT(compare, count[COMPARE_WORSE]) },
	{ "no_difference", NULL, SHAPE_COUNT(compare, count[COMPARE_SAME]) },
	{ "not_comparable", NULL, SHAPE_COUNT(compare, count[COMPARE_CANNOT]) },
};
static const struct shape compare_summary_shape = SHAPE(compare, compare_summary);

static const struct shape_row compare_rows[] = {
	{ "a", "Its id.", SHAPE_TEXT(record, id), SHAPE_VIA(compare, a, record) },
	{ "b", "Its id.", SHAPE_TEXT(record, id), SHAPE_VIA(compare, b, record) },
	{ "level", "Of the intervals.", SHAPE_REAL(compare, level) },
	{ "threshold", "The least difference that counts.", SHAPE_REAL(compare, threshold) },
	{ "summary", NULL, SHAPE_PART(compare_summary_shape) },
	{ "differs", "What else is not the same: sentences.", SHAPE_TEXT_LIST(compare, differs, n_differs) },
	{ "rows", NULL, SHAPE_LIST(compare, rows, n, compare_row) },
};
static const struct shape compare_shape = SHAPE(compare, compare);

const struct result_shape compare_result = {
	.name = "compare", .title = "gputune compare",
	.meaning = "Two measurements: ratio of medians, B over A, with its interval.",
	.shape = &compare_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
/* clang-format on */

/* Reading a record back. A file may come from anywhere: nothing in it is believed but samples. */

enum { TEXT_MAX = 16384, PAIRS_MAX = 100000, NOTES_MAX = 10000, ROUNDS_MAX = 10000 };

static const char *take_text(struct arena *a, json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && strlen(s) <= TEXT_MAX ? arena_strdup(a, s) : NULL;
}

static bool take_flag(json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

static bool bench_json_take_pairs(struct arena *a, json_t *o, struct record_pair **out, size_t *n)
{
	const char *key;
	json_t *v;

	if (json_object_size(o) > PAIRS_MAX)
		return false;
	*out = arena_array(a, json_object_size(o), sizeof(**out));
	json_object_foreach(o, key, v)
	{
		if (!json_is_string(v) || strlen(key) > TEXT_MAX)
			return false;
		(*out)[(*n)++] = (struct record_pair){ arena_strdup(a, key),
						       arena_strdup(a, json_string_value(v)) };
	}
	return true;
}

static double *take_numbers(struct arena *a, json_t *list, size_t want)
{
	double *x;

	if (!json_is_array(list) || json_array_size(list) != want)
		return NULL;
	x = arena_array(a, want, sizeof(*x));
	for (size_t i = 0; i < want; i++) {
		json_t *v = json_array_get(list, i);

		x[i] = json_number_value(v);
		if (!json_is_number(v) || !isfinite(x[i]))
			return NULL;
	}
	return x;
}

/* A file without one was written before there were bands: nobody looked. */
static void take_band(struct arena *a, json_t *j, struct record_series *s)
{
	char low[96], high[96];
	json_t *l, *h;

	s->band.source = take_text(a, j, "source");
	snprintf(low, sizeof(low), "low_%s", s->unit);
	snprintf(high, sizeof(high), "high_%s", s->unit);
	l = json_object_get(j, low);
	h = json_object_get(j, high);
	s->band.low = json_number_value(l);
	s->band.high = json_number_value(h);
	s->band.known = take_flag(j, "known") && json_is_number(l) && json_is_number(h) &&
			isfinite(s->band.low) && isfinite(s->band.high) &&
			s->band.low <= s->band.high;
}

static bool take_series(struct arena *a, json_t *j, struct record_case *c)
{
	struct record_series *s = &c->series[c->n_series];
	const char *better = json_string_value(json_object_get(j, "better"));
	char key[96];

	s->key = take_text(a, j, "key");
	s->title = take_text(a, j, "title");
	s->unit = take_text(a, j, "unit");
	s->unit_text = take_text(a, j, "unit_text");
	if (!s->key || !s->title || !s->unit || !s->unit_text || !better || strlen(s->unit) > 64)
		return false;
	if (strcmp(better, "higher") != 0 && strcmp(better, "lower") != 0)
		return false;
	s->better = strcmp(better, "higher") == 0 ? BENCH_HIGHER : BENCH_LOWER;
	snprintf(key, sizeof(key), "samples_%s", s->unit);
	s->x = take_numbers(a, json_object_get(j, key), c->n);
	take_band(a, json_object_get(j, "band"), s);
	c->n_series++;
	return s->x != NULL;
}

/* Where each round begins: from 0, growing, inside the samples. */
static bool take_rounds(struct arena *a, json_t *list, struct record_case *c)
{
	size_t last = 0;

	if (!json_is_array(list) || json_array_size(list) > ROUNDS_MAX)
		return false;
	c->rounds = json_array_size(list);
	c->first = arena_array(a, c->rounds, sizeof(*c->first));
	for (size_t i = 0; i < c->rounds; i++) {
		json_t *v = json_array_get(list, i);
		json_int_t at = json_integer_value(v);

		if (!json_is_integer(v) || at < 0 || (size_t)at > c->n || (size_t)at < last ||
		    (i == 0 && at != 0))
			return false;
		c->first[i] = last = (size_t)at;
	}
	return true;
}

static void take_limit(struct arena *a, json_t *j, struct record_case *c)
{
	char key[96];
	json_t *v;

	c->limit_source = take_text(a, j, "source");
	if (!c->limit_source)
		c->limit_source = "unknown";
	if (!c->n_series || !take_flag(j, "known"))
		return;
	snprintf(key, sizeof(key), "limit_%s", c->series[0].unit);
	v = json_object_get(j, key);
	c->limit = json_number_value(v);
	c->has_limit = json_is_number(v) && isfinite(c->limit) && c->limit > 0;
}

static void take_early(struct arena *a, json_t *j, struct record_case *c)
{
	const char *how = json_is_object(j) ? take_text(a, j, "how") : NULL;
	json_t *at = json_object_get(j, "process_s"), *v;
	char key[96];

	if (!how || !c->n_series)
		return;
	snprintf(key, sizeof(key), "value_%s", c->series[0].unit);
	v = json_object_get(j, key);
	c->early = (struct record_early){ .known = json_is_number(v),
					  .value = json_number_value(v),
					  .at_s = json_is_number(at) ? json_number_value(at) : -1,
					  .how = how };
}

static void take_observed(json_t *j, struct record_case *c)
{
	static const char *const names[] = { "p50", "p90", "p99", "p999", "max" };
	double v[5] = { 0 };
	json_int_t n = json_integer_value(json_object_get(j, "n"));
	char key[96];

	if (n <= 0 || !c->n_series)
		return;
	/* In the unit of one of the figures; the key's ending says of which. */
	for (size_t of = 0; of < c->n_series; of++) {
		snprintf(key, sizeof(key), "%s_%s", names[0], c->series[of].unit);
		if (!json_object_get(j, key))
			continue;
		c->observed.of = of;
		break;
	}
	for (size_t i = 0; i < 5; i++) {
		snprintf(key, sizeof(key), "%s_%s", names[i], c->series[c->observed.of].unit);
		v[i] = json_number_value(json_object_get(j, key));
	}
	c->observed = (struct record_observed){ (unsigned long long)n, v[0], v[1], v[2], v[3], v[4],
						c->observed.of };
}

static bool take_case(struct arena *a, json_t *j, struct record_case *c)
{
	json_t *figures = json_object_get(j, "figures"), *at = json_object_get(j, "at_s"),
	       *version = json_object_get(j, "method_version");
	const char *stop = json_string_value(json_object_get(j, "stop"));

	c->bench = take_text(a, j, "bench");
	c->name = take_text(a, j, "case");
	c->method = take_text(a, j, "method");
	c->setup = take_text(a, j, "setup");
	c->placement = take_text(a, j, "placement");
	c->variant = take_text(a, j, "variant");
	c->error = take_text(a, j, "error");
	c->version = (unsigned)json_integer_value(version);
	c->verified = take_flag(j, "verified");
	c->steady = take_flag(j, "steady");
	c->n = json_array_size(at);
	if (!c->bench || !c->name || !c->method || !c->setup || !c->placement || !c->variant ||
	    !json_is_integer(version) || !stop || record_stop_parse(stop, &c->stop) ||
	    c->n > RECORD_SAMPLES_MAX || json_array_size(figures) > BENCH_FIGURES)
		return false;
	c->warmup = (size_t)json_integer_value(json_object_get(j, "warmup_samples"));
	c->at_s = take_numbers(a, at, c->n);
	for (size_t i = 0; i < json_array_size(figures); i++)
		if (!take_series(a, json_array_get(figures, i), c))
			return false;
	take_limit(a, json_object_get(j, "limit"), c);
	take_observed(json_object_get(j, "observed"), c);
	take_early(a, json_object_get(j, "first_figure"), c);
	return c->at_s && take_rounds(a, json_object_get(j, "round_starts"), c);
}

static double or_unseen(json_t *j, const char *key)
{
	json_t *v = json_object_get(j, key);

	return json_is_number(v) ? json_number_value(v) : -1;
}

static void take_conditions(json_t *j, struct record_conditions *c)
{
	c->cpus = (unsigned)json_integer_value(json_object_get(j, "cpus"));
	c->idle_others = or_unseen(j, "others_before_cpus");
	c->others = or_unseen(j, "others_cpus");
	c->steal_percent = or_unseen(j, "steal_percent");
	c->sampler_percent = or_unseen(j, "sampler_percent");
}

/* Benches that did not run. False when there are too many or one is no text. */
static bool take_skips(struct arena *a, json_t *list, struct record *r)
{
	if (json_array_size(list) > RECORD_CASES_MAX)
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *j = json_array_get(list, i);
		const char *bench = take_text(a, j, "bench"), *reason = take_text(a, j, "reason");

		if (!bench || !reason)
			return false;
		record_skip(a, r, bench, reason);
	}
	return true;
}

static int take_record(struct arena *a, const char *name, json_t *j, struct record *r,
		       struct err *e)
{
	json_t *cases = json_object_get(j, "cases"), *notes = json_object_get(j, "notes");
	const char *time = json_string_value(json_object_get(j, "time"));

	r->id = take_text(a, j, "id");
	r->machine = take_text(a, j, "machine");
	r->version = take_text(a, j, "tool_version");
	r->settings_digest = take_text(a, j, "settings_digest");
	r->partial = take_flag(j, "partial");
	if (!r->id || !r->machine || !r->version || !time || stamp_parse(time, &r->time_s) ||
	    json_array_size(cases) > RECORD_CASES_MAX || json_array_size(notes) > NOTES_MAX ||
	    !bench_json_take_pairs(a, json_object_get(j, "fingerprint"), &r->fingerprint,
				   &r->n_fingerprint) ||
	    !bench_json_take_pairs(a, json_object_get(j, "settings"), &r->settings,
				   &r->n_settings) ||
	    !take_skips(a, json_object_get(j, "not_run"), r))
		return err_set(e, -EINVAL, "%s: not a result of gputune bench as it writes them",
			       name);
	take_conditions(json_object_get(j, "conditions"), &r->conditions);
	r->cases = arena_array(a, json_array_size(cases), sizeof(*r->cases));
	for (; r->n < json_array_size(cases); r->n++)
		if (!take_case(a, json_array_get(cases, r->n), &r->cases[r->n]))
			return err_set(e, -EINVAL, "%s: case %zu makes no sense", name, r->n + 1);
	for (size_t i = 0; i < json_array_size(notes); i++)
		if (json_is_string(json_array_get(notes, i)))
			record_note(a, r, "%s", json_string_value(json_array_get(notes, i)));
	record_summarise(r);
	return 0;
}

int bench_from_json(struct arena *a, const char *name, const char *text, struct record *out,
		    struct err *e)
{
	json_error_t why;
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	const char *schema = json_string_value(json_object_get(j, "schema"));
	int r;

	*out = (struct record){ 0 };
	if (!j)
		return err_set(e, -EINVAL, "%s: line %d: %s", name, why.line, why.text);
	if (!schema || strcmp(schema, "gputune.bench/1") != 0)
		r = err_set(e, -EINVAL, "%s: schema \"%s\" is not gputune.bench/1", name,
			    schema && strlen(schema) < 64 ? schema : "");
	else
		r = take_record(a, name, j, out, e);
	json_decref(j);
	return r;
}
