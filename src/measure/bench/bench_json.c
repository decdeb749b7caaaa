/* SPDX-License-Identifier: Apache-2.0 */
/* Records of measurements and comparisons, a row a figure; keys that hold figures end in their
 * unit. And what is read of a record: nothing in it is believed but samples. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "look/settings/findings.h"
#include "measure/bench/bench_json.h"

enum { NOTES_MAX = 10000, ROUNDS_MAX = 10000, UNIT_MAX = 64 };

/* clang-format off */

/* --- conditions ------------------------------------------------------------------------------- */

static const struct shape record_moment_shape = SHAPE_OF(record_moment, record_moment,
	{ "load1", NULL, SHAPE_REAL(record_moment, load1), .unknown = SHAPE_NEGATIVE },
	{ "available_mib", NULL, SHAPE_REAL(record_moment, available_mib), .unknown = SHAPE_NEGATIVE },
	{ "busy_cpu_s", NULL, SHAPE_REAL(record_moment, busy_s), .unknown = SHAPE_NEGATIVE },
	{ "idle_cpu_s", NULL, SHAPE_REAL(record_moment, idle_s), .unknown = SHAPE_NEGATIVE },
	{ "irq_cpu_s", NULL, SHAPE_REAL(record_moment, irq_s), .unknown = SHAPE_NEGATIVE },
	{ "steal_cpu_s", NULL, SHAPE_REAL(record_moment, steal_s), .unknown = SHAPE_NEGATIVE },
	{ "own_cpu_s", NULL, SHAPE_REAL(record_moment, own_s), .unknown = SHAPE_NEGATIVE },
	{ "interrupts", NULL, SHAPE_COUNT(record_moment, interrupts), .unknown = SHAPE_NEGATIVE },
	{ "context_switches", NULL, SHAPE_COUNT(record_moment, switches), .unknown = SHAPE_NEGATIVE },
	{ "throttle_events", NULL, SHAPE_COUNT(record_moment, throttles), .unknown = SHAPE_NEGATIVE },
	{ "min_mhz", NULL, SHAPE_COUNT(record_moment, mhz_min), .unknown = SHAPE_NEGATIVE },
	{ "max_mhz", NULL, SHAPE_COUNT(record_moment, mhz_max), .unknown = SHAPE_NEGATIVE },
	{ "temperature_c", NULL, SHAPE_REAL(record_moment, temp_c), .unknown = SHAPE_NULL },
	{ "cpu_dma_latency_us", NULL, SHAPE_COUNT(record_moment, pm_qos_us), .unknown = SHAPE_NEGATIVE });

static const struct shape record_track_shape = SHAPE_OF(record_track, record_track,
	{ "at_s", NULL, SHAPE_REAL(record_track, at_s) },
	{ "min_mhz", NULL, SHAPE_COUNT(record_track, mhz_min), .unknown = SHAPE_NEGATIVE },
	{ "max_mhz", NULL, SHAPE_COUNT(record_track, mhz_max), .unknown = SHAPE_NEGATIVE },
	{ "temperature_c", NULL, SHAPE_REAL(record_track, temp_c), .unknown = SHAPE_NULL });

static bool conditions_busy(const void *object)
{
	return record_busy(object);
}

static const struct shape record_conditions_shape = SHAPE_OF(record_conditions, record_conditions,
	{ "cpus", NULL, SHAPE_COUNT(record_conditions, cpus) },
	{ "busy", "true: another program used the machine.", SHAPE_FLAG_OF(conditions_busy) },
	{ "others_before_cpus", NULL, SHAPE_REAL(record_conditions, idle_others), .unknown = SHAPE_NEGATIVE },
	{ "others_cpus", NULL, SHAPE_REAL(record_conditions, others), .unknown = SHAPE_NEGATIVE },
	{ "steal_percent", NULL, SHAPE_REAL(record_conditions, steal_percent), .unknown = SHAPE_NEGATIVE },
	{ "sampler_percent", NULL, SHAPE_REAL(record_conditions, sampler_percent) },
	{ "before", NULL, SHAPE_OBJECT(record_conditions, before, record_moment) },
	{ "after", NULL, SHAPE_OBJECT(record_conditions, after, record_moment) },
	{ "track", NULL, SHAPE_LIST(record_conditions, track, n_track, record_track) });

/* --- a figure of a case ------------------------------------------------------------------------ */

#define IN_UNIT SHAPE_SUFFIX(record_series, unit)
#define SUMMED SHAPE_WHEN(record_series, has_summary), .absent = true

static double interval_low(const void *object)
{
	const struct stat_summary *s = &((const struct record_series *)object)->s;

	return s->has_interval ? s->interval.low : NAN;
}

static double interval_high(const void *object)
{
	const struct stat_summary *s = &((const struct record_series *)object)->s;

	return s->has_interval ? s->interval.high : NAN;
}

SHAPE_GIVES(long long, states_count, record_series, x->s.modes.found ? 2 : 1)

static long long states_switches(const void *object)
{
	const struct stat_modes *m = &((const struct record_series *)object)->s.modes;

	return m->found ? (long long)m->switches : 0;
}

SHAPE_GIVES(bool, band_known, record_series, x->band.known)

static const char *band_verdict(const void *object)
{
	return record_place_name(record_place(object));
}

static const struct shape series_drift_shape = SHAPE_OF(record_series, series_drift,
	{ "found", NULL, SHAPE_FLAG(record_series, s.drift.found) },
	{ "relative", NULL, SHAPE_REAL(record_series, s.drift.relative) },
	{ "p", NULL, SHAPE_REAL(record_series, s.drift.p) });

#define TWO_STATES SHAPE_WHEN(record_series, s.modes.found), .absent = true
static const struct shape series_states_shape = SHAPE_OF(record_series, series_states,
	{ "count", NULL, SHAPE_COUNT_OF(states_count) },
	{ "step", "Interval between two samples.", SHAPE_FLAG(record_series, s.modes.step) },
	{ "switches", NULL, SHAPE_COUNT_OF(states_switches) },
	{ "lower", NULL, SHAPE_REAL(record_series, s.modes.low), IN_UNIT, TWO_STATES },
	{ "upper", NULL, SHAPE_REAL(record_series, s.modes.high), IN_UNIT, TWO_STATES },
	{ "share_upper", NULL, SHAPE_REAL(record_series, s.modes.share_high), TWO_STATES });

static const char *const places[] = { "below", "within", "above" };
static const struct shape series_band_shape = SHAPE_OF(record_series, series_band,
	{ "known", NULL, SHAPE_FLAG(record_series, band.known) },
	{ "verdict", "Position of the median relative to the band.",
	  SHAPE_TEXT_OF(band_verdict), SHAPE_NAMES(places), .unknown = SHAPE_NULL },
	{ "source", NULL, SHAPE_TEXT(record_series, band.source), .unknown = SHAPE_NULL },
	{ "low", NULL, SHAPE_REAL(record_series, band.low), IN_UNIT, .when_of = band_known, .absent = true },
	{ "high", NULL, SHAPE_REAL(record_series, band.high), IN_UNIT, .when_of = band_known, .absent = true });

static const char *const betters[] = { "higher", "lower" };
static const struct shape record_series_shape = SHAPE_OF(record_series, record_series,
	{ "key", NULL, SHAPE_TEXT(record_series, key) },
	{ "title", NULL, SHAPE_TEXT(record_series, title) },
	{ "unit", "Suffix of the figure's keys.", SHAPE_TEXT(record_series, unit) },
	{ "unit_text", "Display form.", SHAPE_TEXT(record_series, unit_text) },
	{ "better", NULL, SHAPE_CHOICE(record_series, better, betters) },
	{ "n", "Samples.", SHAPE_COUNT(record_series, n), .later = true },
	{ "median", NULL, SHAPE_REAL(record_series, s.median), IN_UNIT, SUMMED },
	{ "low", "Confidence level of the median's interval.", SHAPE_REAL_OF(interval_low), IN_UNIT, SUMMED,
	  .unknown = SHAPE_NULL },
	{ "high", NULL, SHAPE_REAL_OF(interval_high), IN_UNIT, SUMMED, .unknown = SHAPE_NULL },
	{ "mad", NULL, SHAPE_REAL(record_series, s.mad), IN_UNIT, SUMMED },
	{ "mean", NULL, SHAPE_REAL(record_series, s.mean), IN_UNIT, SUMMED },
	{ "min", NULL, SHAPE_REAL(record_series, s.min), IN_UNIT, SUMMED },
	{ "p1", NULL, SHAPE_REAL(record_series, s.p1), IN_UNIT, SUMMED },
	{ "p5", NULL, SHAPE_REAL(record_series, s.p5), IN_UNIT, SUMMED },
	{ "p25", NULL, SHAPE_REAL(record_series, s.p25), IN_UNIT, SUMMED },
	{ "p75", NULL, SHAPE_REAL(record_series, s.p75), IN_UNIT, SUMMED },
	{ "p95", NULL, SHAPE_REAL(record_series, s.p95), IN_UNIT, SUMMED },
	{ "p99", NULL, SHAPE_REAL(record_series, s.p99), IN_UNIT, SUMMED },
	{ "max", NULL, SHAPE_REAL(record_series, s.max), IN_UNIT, SUMMED },
	{ "effective_samples", NULL, SHAPE_REAL(record_series, s.effective), SUMMED },
	{ "outliers_low", NULL, SHAPE_COUNT(record_series, s.outliers.low), SUMMED },
	{ "outliers_high", NULL, SHAPE_COUNT(record_series, s.outliers.high), SUMMED },
	{ "drift", NULL, SHAPE_PART(series_drift_shape), SUMMED },
	{ "states", NULL, SHAPE_PART(series_states_shape), SUMMED },
	{ "samples", NULL, SHAPE_REAL_LIST(record_series, x, n), IN_UNIT, .max = RECORD_SAMPLES_MAX },
	{ "band", "Usual range for this hardware.", SHAPE_PART(series_band_shape), .absent = true });

/* --- a case ------------------------------------------------------------------------------------ */

#define IN_FIRST_UNIT SHAPE_SUFFIX(record_case, series[0].unit)

SHAPE_GIVES(bool, limit_known, record_case, x->has_limit && x->n_series)
SHAPE_GIVES(double, limit_percent, record_case,
	limit_known(x) && x->series[0].has_summary && x->limit > 0 ? 100 * x->series[0].s.median / x->limit
								   : NAN)
SHAPE_GIVES(bool, early_known, record_case, x->early.known && x->n_series)

static bool observed_known(const void *object)
{
	const struct record_observed *o = &((const struct record_case *)object)->observed;

	return o->n && o->unit;
}

static const struct shape case_limit_shape = SHAPE_OF(record_case, case_limit,
	{ "known", NULL, SHAPE_FLAG(record_case, has_limit) },
	{ "source", NULL, SHAPE_TEXT(record_case, limit_source), .later = true },
	{ "limit", NULL, SHAPE_REAL(record_case, limit), IN_FIRST_UNIT, .when_of = limit_known, .absent = true },
	{ "percent", "Median as a share of the limit.", SHAPE_REAL_OF(limit_percent), .unknown = SHAPE_NULL,
	  .absent = true });

static const struct shape case_early_shape = SHAPE_OF(record_case, case_early,
	{ "how", NULL, SHAPE_TEXT(record_case, early.how) },
	{ "value", NULL, SHAPE_REAL(record_case, early.value), IN_FIRST_UNIT },
	{ "process_s", "Time since the process started.",
	  SHAPE_REAL(record_case, early.at_s), .unknown = SHAPE_NEGATIVE, .absent = true });

#define OBSERVED(m) SHAPE_REAL(record_case, observed.m), SHAPE_SUFFIX(record_case, observed.unit)
static const struct shape case_observed_shape = SHAPE_OF(record_case, case_observed,
	{ "n", NULL, SHAPE_COUNT(record_case, observed.n) },
	{ "p50", NULL, OBSERVED(p50) },
	{ "p90", NULL, OBSERVED(p90) },
	{ "p99", NULL, OBSERVED(p99) },
	{ "p999", NULL, OBSERVED(p999) },
	{ "max", NULL, OBSERVED(max) });

static const struct shape record_case_shape = SHAPE_OF(record_case, record_case,
	{ "bench", NULL, SHAPE_TEXT(record_case, bench) },
	{ "case", NULL, SHAPE_TEXT(record_case, name) },
	{ "method", NULL, SHAPE_TEXT(record_case, method) },
	{ "method_version", NULL, SHAPE_COUNT(record_case, version) },
	{ "setup", NULL, SHAPE_TEXT(record_case, setup) },
	{ "placement", NULL, SHAPE_TEXT(record_case, placement) },
	{ "variant", NULL, SHAPE_TEXT(record_case, variant) },
	{ "limit", NULL, SHAPE_PART(case_limit_shape), .later = true },
	{ "verified", NULL, SHAPE_FLAG(record_case, verified) },
	{ "steady", NULL, SHAPE_FLAG(record_case, steady) },
	{ "warmup_samples", NULL, SHAPE_COUNT(record_case, warmup) },
	{ "first_figure", NULL, SHAPE_PART(case_early_shape), .when_of = early_known, .absent = true },
	{ "stop", NULL, SHAPE_CHOICE_BY(record_case, stop, record_stop_name, STOP_ERROR + 1) },
	{ "error", NULL, SHAPE_TEXT(record_case, error), .unknown = SHAPE_NULL },
	{ "round_starts", "Index of each round's first sample.",
	  SHAPE_COUNT_LIST(record_case, first, rounds), .max = ROUNDS_MAX },
	{ "at_s", NULL, SHAPE_REAL_LIST(record_case, at_s, n), .max = RECORD_SAMPLES_MAX },
	{ "figures", NULL, SHAPE_ARRAY(record_case, series, n_series, record_series) },
	{ "observed", "Range of all single observations.", SHAPE_PART(case_observed_shape),
	  .when_of = observed_known });

/* --- a record ---------------------------------------------------------------------------------- */

const struct shape record_pair_shape = SHAPE_OF(record_pair, record_pair,
	{ .key = NULL, SHAPE_TEXT(record_pair, value) });

static const struct shape record_skip_shape = SHAPE_OF(record_skip, record_skip,
	{ "bench", NULL, SHAPE_TEXT(record_skip, bench) },
	{ "reason", NULL, SHAPE_TEXT(record_skip, reason) });

#define BY_NAME SHAPE_BY(record_pair, name), .later = true
static const struct shape record_shape = SHAPE_OF(record, record,
	{ "tool_version", NULL, SHAPE_TEXT(record, version) },
	{ "time", "Start time.", SHAPE_TIME(record, time_s) },
	{ "id", NULL, SHAPE_TEXT(record, id) },
	{ "machine", NULL, SHAPE_TEXT(record, machine) },
	{ "partial", "true: the measurement was interrupted.", SHAPE_FLAG(record, partial) },
	{ "fingerprint", NULL, SHAPE_LIST(record, fingerprint, n_fingerprint, record_pair), BY_NAME },
	{ "settings_digest", NULL, SHAPE_TEXT(record, settings_digest), .unknown = SHAPE_NULL },
	{ "settings", NULL, SHAPE_LIST(record, settings, n_settings, record_pair), BY_NAME },
	{ "conditions", NULL, SHAPE_OBJECT(record, conditions, record_conditions) },
	{ "cases", NULL, SHAPE_LIST(record, cases, n, record_case), .max = RECORD_CASES_MAX },
	{ "not_run", "Skipped benches, with the reason.",
	  SHAPE_LIST(record, skipped, n_skipped, record_skip), .max = RECORD_CASES_MAX, .later = true },
	{ "notes", NULL, SHAPE_TEXT_LIST(record, notes, n_notes), .max = NOTES_MAX, .later = true });

const struct result_shape bench_result = {
	.name = "bench", .title = "gputune bench",
	.meaning = "A measurement: every sample, its conditions, the machine and its settings. Keys of figures end "
		"in the figure's unit.",
	.shape = &record_shape, .list = "cases",
	.host = &host_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 5,
};

/* --- the list of benches and results ----------------------------------------------------------- */

static const struct shape bench_shape = SHAPE_OF(bench, bench,
	{ "name", NULL, SHAPE_TEXT(bench, name) },
	{ "title", NULL, SHAPE_TEXT(bench, title) },
	{ "method", NULL, SHAPE_TEXT(bench, method) });

static const struct shape kept_shape = SHAPE_OF(record, kept,
	{ "id", NULL, SHAPE_TEXT(record, id) },
	{ "time_s", "Start time, seconds since 1970.", SHAPE_COUNT(record, time_s) },
	{ "partial", "true: the measurement was interrupted.", SHAPE_FLAG(record, partial) },
	{ "cases", NULL, SHAPE_COUNT(record, n) });

static const struct shape bench_list_shape = SHAPE_OF(bench_list, bench_list,
	{ "benches", NULL, SHAPE_POINTERS(bench_list, benches, n_benches, bench) },
	{ "results", "Saved results, shown by \"bench show ID\".",
	  SHAPE_LIST_AS(bench_list, kept, n, record, kept_shape) });

const struct result_shape bench_list_result = {
	.name = "bench-list", .title = "gputune bench list", .meaning = "Every bench, and the saved results.",
	.shape = &bench_list_shape, .list = "benches", .no_time = true,
};

/* --- two records ------------------------------------------------------------------------------ */

#define WITH_MEDIANS SHAPE_WHEN(compare_row, has_medians)
static const struct shape compare_row_shape = SHAPE_OF(compare_row, compare_row,
	{ "bench", NULL, SHAPE_TEXT(compare_row, bench) },
	{ "case", NULL, SHAPE_TEXT(compare_row, name) },
	{ "figure", NULL, SHAPE_TEXT(compare_row, figure) },
	{ "unit", "Display form.", SHAPE_TEXT(compare_row, unit_text) },
	{ "median_a", NULL, SHAPE_REAL(compare_row, a), WITH_MEDIANS, .unknown = SHAPE_NULL,
	  .title = "before" },
	{ "median_b", NULL, SHAPE_REAL(compare_row, b), WITH_MEDIANS, .unknown = SHAPE_NULL, .title = "after" },
	{ "ratio", "B over A.", SHAPE_REAL(compare_row, ratio.ratio), .unknown = SHAPE_NULL },
	{ "low", NULL, SHAPE_REAL(compare_row, ratio.interval.low), .unknown = SHAPE_NULL },
	{ "high", NULL, SHAPE_REAL(compare_row, ratio.interval.high), .unknown = SHAPE_NULL },
	{ "verdict", NULL, SHAPE_CHOICE_BY(compare_row, verdict, compare_verdict_name, COMPARE_CANNOT + 1) },
	{ "reason", NULL, SHAPE_TEXT(compare_row, reason), .title = "because" });

static const struct shape compare_summary_shape = SHAPE_OF(compare, compare_summary,
	{ "better", NULL, SHAPE_COUNT(compare, count[COMPARE_BETTER]) },
	{ "worse", NULL, SHAPE_COUNT(compare, count[COMPARE_WORSE]) },
	{ "no_difference", NULL, SHAPE_COUNT(compare, count[COMPARE_SAME]) },
	{ "not_comparable", NULL, SHAPE_COUNT(compare, count[COMPARE_CANNOT]) });

static const struct shape compare_shape = SHAPE_OF(compare, compare,
	{ "a", "Id of the saved result.", SHAPE_TEXT(record, id), SHAPE_VIA(compare, a, record), .title = "before" },
	{ "b", "Id of the saved result.", SHAPE_TEXT(record, id), SHAPE_VIA(compare, b, record), .title = "after" },
	{ "level", "Confidence level of the intervals.", SHAPE_REAL(compare, level) },
	{ "threshold", "Smallest difference that counts.", SHAPE_REAL(compare, threshold),
	  .title = "smallest difference that counts" },
	{ "summary", NULL, SHAPE_PART(compare_summary_shape) },
	{ "differs", "Other differences between the two, as sentences.", SHAPE_TEXT_LIST(compare, differs, n_differs) },
	{ "rows", NULL, SHAPE_LIST(compare, rows, n, compare_row) });

const struct result_shape compare_result = {
	.name = "compare", .title = "gputune compare",
	.meaning = "Two measurements: ratio of medians, B relative to A, with its interval.",
	.shape = &compare_shape, .list = "rows", .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
/* clang-format on */

/* --- reading -----------------------------------------------------------------------------------
 */

/* Where each round begins: from 0, growing, inside the samples. */
static bool rounds_fit(const struct record_case *c)
{
	for (size_t i = 0; i < c->rounds; i++)
		if (c->first[i] > c->n || c->first[i] < (i ? c->first[i - 1] : 0) ||
		    (i == 0 && c->first[0]))
			return false;
	return true;
}

static bool case_fits(const struct record_case *c)
{
	for (size_t i = 0; i < c->n_series; i++)
		if (c->series[i].n != c->n || strlen(c->series[i].unit) > UNIT_MAX)
			return false;
	return rounds_fit(c);
}

/* What the samples do not bear out is taken as not known. */
static void settle_case(struct record_case *c)
{
	struct record_observed *o = &c->observed;

	for (size_t i = 0; i < c->n_series; i++) {
		struct record_band *b = &c->series[i].band;

		b->known = b->known && b->low <= b->high;
	}
	if (!c->limit_source)
		c->limit_source = "unknown";
	c->has_limit = limit_known(c) && c->limit > 0;
	c->early.known = c->early.how && c->n_series;
	/* In the unit of one of the figures. */
	while (o->unit && o->of < c->n_series && strcmp(c->series[o->of].unit, o->unit) != 0)
		o->of++;
	if (!o->unit || o->of == c->n_series)
		o->n = 0;
}

static int take_record(struct arena *a, const json_t *j, struct record *r, struct err *e)
{
	int code = shape_read(a, &record_shape, j, r, e);

	for (size_t i = 0; code == 0 && i < r->n; i++) {
		if (!case_fits(&r->cases[i]))
			return err_set(e, -EINVAL, "case %zu is invalid", i + 1);
		settle_case(&r->cases[i]);
	}
	if (code == 0)
		record_summarise(r);
	return code;
}

int bench_from_json(struct arena *a, const char *name, const char *text, struct record *out,
		    struct err *e)
{
	json_error_t why;
	json_auto_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	const char *schema = json_string_value(json_object_get(j, "schema"));
	struct err said = { 0 };
	int r;

	*out = (struct record){ 0 };
	if (!j)
		return err_set(e, -EINVAL, "%s: line %d: %s", name, why.line, why.text);
	if (!schema || strcmp(schema, "gputune.bench/1") != 0)
		r = err_set(&said, -EINVAL, "schema \"%s\" is not gputune.bench/1",
			    schema && strlen(schema) < 64 ? schema : "");
	else
		r = take_record(a, j, out, &said);
	return r ? err_set(e, r, "%s: %s", name, said.text) : 0;
}
