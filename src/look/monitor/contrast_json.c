/* SPDX-License-Identifier: Apache-2.0 */
/* gputune.compare-recordings/1. */
#include "base/stamp.h"
#include "render/json_value.h"
#include "look/monitor/page_contrast.h"

static json_t *figures_json(const struct contrast_figures *f)
{
	if (!f->n)
		return json_null();
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "samples", (json_int_t)f->n, "mean",
			 json_figure(f->mean), "deviation", json_figure(f->deviation), "p5",
			 json_figure(f->p5), "median", json_figure(f->median), "p95",
			 json_figure(f->p95), "effective_samples", json_figure(f->effective));
}

static json_t *row_json(const struct contrast_row *r)
{
	bool told = r->verdict != CONTRAST_CANNOT;

	return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "quantity",
			 json_text(r->type->name), "target", json_text(r->target), "unit",
			 json_text(r->type->unit), "is",
			 r->type->kind == COLUMN_TOTAL ? "rate" : "gauge", "a", figures_json(&r->a),
			 "b", figures_json(&r->b), "difference",
			 told ? json_figure(r->difference) : json_null(), "low",
			 told ? json_figure(r->interval.low) : json_null(), "high",
			 told ? json_figure(r->interval.high) : json_null(), "verdict",
			 contrast_verdict_name(r->verdict), "reason", json_text(r->reason));
}

static json_t *side_json(const struct contrast_side *s)
{
	const struct recording_end *end = &s->rec.end;

	return json_pack("{s:o, s:f, s:I, s:i, s:b, s:o, s:o, s:o}", "file", json_text(s->path),
			 "seconds", 1e-3 * (double)s->rec.ms, "rows", (json_int_t)end->rows,
			 "interval_ms", s->rec.interval_ms, "whole", end->whole, "exit_code",
			 end->status >= 0 ? json_integer(end->status) : json_null(),
			 "command_cpu_s",
			 end->command_cpu_s >= 0 ? json_figure(end->command_cpu_s) : json_null(),
			 "machine", json_text(s->rec.mon.machine.name));
}

json_t *contrast_json(const struct contrast *v, long long time_s, int exit_code)
{
	json_t *rows = json_array(), *differs = json_array();
	char when[STAMP_SIZE];

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(rows, row_json(&v->rows[i]));
	for (size_t i = 0; i < v->n_differs; i++)
		json_array_append_new(differs, json_text(v->differs[i]));
	if (stamp_format(time_s, when))
		when[0] = '\0';
	return json_pack(
		"{s:s, s:s, s:s, s:i, s:o, s:o, s:f, s:f, s:{s:I, s:I, s:I, s:I}, s:o, s:o}",
		"schema", "gputune.compare-recordings/1", "tool_version", GPUTUNE_VERSION, "time",
		when, "exit_code", exit_code, "a", side_json(&v->a), "b", side_json(&v->b), "level",
		v->level, "threshold", CONTRAST_THRESHOLD, "summary", "higher",
		(json_int_t)v->count[CONTRAST_HIGHER], "lower",
		(json_int_t)v->count[CONTRAST_LOWER], "no_difference",
		(json_int_t)v->count[CONTRAST_SAME], "not_comparable",
		(json_int_t)v->count[CONTRAST_CANNOT], "differs", differs, "rows", rows);
}
