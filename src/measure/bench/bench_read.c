/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a record back. A file may come from anywhere: nothing in it is believed but samples. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stamp.h"
#include "measure/bench/bench_json.h"

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

static bool take_pairs(struct arena *a, json_t *o, struct record_pair **out, size_t *n)
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
	    !take_pairs(a, json_object_get(j, "fingerprint"), &r->fingerprint, &r->n_fingerprint) ||
	    !take_pairs(a, json_object_get(j, "settings"), &r->settings, &r->n_settings) ||
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
