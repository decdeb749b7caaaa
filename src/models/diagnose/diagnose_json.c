/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis for programs: schemas/diagnose.json. */
#include <math.h>

#include "render/json_value.h"
#include "models/diagnose/page_diagnose.h"

static json_t *place_json(const struct evidence *ev, size_t file, size_t line)
{
	return json_pack("{s:o, s:o}", "file", json_text(ev->files[file].path), "line",
			 line ? json_integer((json_int_t)line) : json_null());
}

static json_t *split_json(const struct run_seen *r)
{
	static const char *const keys[PARTS] = { "compute_s",	"exposed_communication_s",
						 "wait_s",	"data_s",
						 "optimizer_s", "copy_s",
						 "host_s",	"checkpoint_s",
						 "idle_s",	"unexplained_s" };
	const struct step_split *s = &r->split;
	json_t *parts;

	if (!isfinite(s->step_s))
		return json_null();
	parts = json_object();
	for (size_t p = 0; p < PARTS; p++)
		json_object_set_new(parts, keys[p],
				    s->told[p] || p == PART_REST ? json_figure(s->s[p])
								 : json_null());
	return json_pack("{s:o, s:s, s:o, s:o}", "step_s", json_figure(s->step_s), "clock",
			 s->gpu_clock ? "gpu" : "host", "format", json_text(s->format), "parts",
			 parts);
}

static json_t *figure_json(const struct run_seen *r)
{
	json_t *out = json_object();

	json_object_set_new(out, "gpus", json_figure(r->gpus));
	json_object_set_new(out, "steps", json_integer((json_int_t)r->steps));
	json_object_set_new(out, "step_s", json_figure(r->step_s));
	json_object_set_new(out, "step_p95_s", json_figure(r->step_p95_s));
	json_object_set_new(out, "drift", json_figure(r->drift));
	json_object_set_new(out, "tokens_per_s", json_figure(r->tokens_s));
	json_object_set_new(out, "tokens_per_s_per_gpu", json_figure(r->tokens_s_gpu));
	json_object_set_new(out, "tokens_from", json_text(r->tokens_from));
	json_object_set_new(out, "mfu", json_figure(r->mfu));
	json_object_set_new(out, "mfu_with_attention", json_figure(r->mfu_attention));
	json_object_set_new(out, "hfu", json_figure(r->hfu));
	json_object_set_new(out, "flops_per_token", json_figure(r->flops_token));
	json_object_set_new(out, "flops_per_token_with_attention",
			    json_figure(r->attention_flops_token));
	json_object_set_new(out, "formula", json_text(r->formula));
	json_object_set_new(out, "peak_flops", json_figure(r->peak_flops));
	json_object_set_new(out, "peak_from", json_text(r->peak_from));
	json_object_set_new(out, "gpu_busy", json_figure(r->sums[FIGURE_GPU_UTIL].mean));
	json_object_set_new(out, "sm_activity", json_figure(r->sums[FIGURE_SM_ACTIVITY].mean));
	json_object_set_new(out, "gpu_memory_used_bytes", json_figure(r->memory_used));
	json_object_set_new(out, "gpu_memory_bytes", json_figure(r->memory_total));
	json_object_set_new(out, "sm_clock_mhz", json_figure(r->sums[FIGURE_SM_MHZ].mean));
	json_object_set_new(out, "cpu_busy", json_figure(r->sums[FIGURE_CPU_BUSY].mean));
	json_object_set_new(out, "job_cpus", json_figure(r->sums[FIGURE_PROCESS_CPUS].mean));
	return out;
}

static json_t *ranks_json(const struct run_seen *r)
{
	json_t *out = json_array();

	for (size_t i = 0; i < r->n_ranks; i++)
		json_array_append_new(out,
				      json_pack("{s:i, s:o, s:o, s:o}", "rank", r->ranks[i].rank,
						"own_s", json_figure(r->ranks[i].own_s), "wait_s",
						json_figure(r->ranks[i].wait_s), "sm_clock_mhz",
						json_figure(r->ranks[i].clock_mhz)));
	return out;
}

static json_t *cause_json(const struct evidence *ev, const struct cause_row *row,
			  const struct judged_cause *c)
{
	json_t *cites = json_array();

	for (size_t i = 0; i < c->n_cites; i++) {
		json_t *x = place_json(ev, c->cites[i].file, c->cites[i].line);

		json_object_set_new(x, "says", json_text(c->cites[i].says));
		json_array_append_new(cites, x);
	}
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "id", row->id, "title",
			 row->title, "certainty", certainty_names[c->how], "share",
			 json_figure(c->share), "says", json_text(c->says), "against",
			 json_text(c->against), "evidence", cites, "mend", json_text(row->mend),
			 "measure", json_text(row->measure));
}

static json_t *interval_json(const struct train_figure *f)
{
	return json_interval(f->value, f->low, f->high);
}

static json_t *predicted_json(const struct run_verdict *x)
{
	json_t *gains;

	if (!x->predicted)
		return json_null();
	gains = json_array();
	for (size_t i = 0; i < cause_rows_n; i++)
		if (x->gains[i])
			json_array_append_new(gains, json_pack("{s:s, s:o, s:o}", "cause",
							       cause_rows[i].id, "change",
							       json_text(x->gains[i]->name), "gain",
							       interval_json(&x->gains[i]->gain)));
	return json_pack("{s:o, s:o}", "tokens_per_s",
			 interval_json(&x->predicted->before.tokens_s), "gains", gains);
}

static json_t *run_json(const struct diagnose_view *v, size_t i)
{
	const struct run_seen *r = &v->d->runs[i];
	const struct run_verdict *x = &v->d->verdicts[i];
	json_t *causes = json_array();

	for (size_t k = 0; k < cause_rows_n; k++)
		json_array_append_new(causes, cause_json(v->d->ev, &cause_rows[x->order[k]],
							 &x->causes[x->order[k]]));
	return json_pack("{s:o, s:s, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			 json_text(r->name), "verdict",
			 x->main      ? "bottleneck"
			 : x->healthy ? "healthy"
				      : "cannot-tell",
			 "bottleneck", json_text(x->main ? x->main->id : NULL), "sentence",
			 json_text(x->verdict), "found", (int)x->found, "figures", figure_json(r),
			 "step", split_json(r), "ranks", ranks_json(r), "causes", causes, "missing",
			 json_texts(x->missing, x->n_missing), "notes",
			 json_texts(r->notes, r->n_notes), "predicted", predicted_json(x));
}

static json_t *scaling_json(const struct scaling *s)
{
	json_t *points = json_array();

	for (size_t i = 0; i < s->n; i++) {
		const struct scale_point *p = &s->points[i];

		json_array_append_new(
			points,
			json_pack("{s:i, s:o, s:o, s:o, s:o, s:s, s:o}", "run", (int)p->run, "gpus",
				  json_figure(p->gpus), "tokens_per_s", json_figure(p->tokens_s),
				  "efficiency", json_figure(p->efficiency), "step_ratio",
				  json_figure(p->step_ratio), "kind", scale_kind_names[p->kind],
				  "why", json_text(p->why)));
	}
	return json_pack("{s:o, s:o}", "points", points, "bandwidth",
			 json_text(s->bandwidth.told ? s->bandwidth.says : NULL));
}

static json_t *files_json(const struct diagnose_view *v)
{
	const struct evidence *ev = v->d->ev;
	json_t *out = json_array();

	for (size_t i = 0; i < ev->n_files; i++)
		json_array_append_new(out, json_pack("{s:o, s:o, s:i, s:I, s:I}", "path",
						     json_text(ev->files[i].path), "format",
						     json_text(ev->files[i].format), "run",
						     (int)ev->files[i].run, "lines",
						     (json_int_t)ev->files[i].lines, "used",
						     (json_int_t)ev->files[i].used));
	return out;
}

json_t *diagnose_json(struct arena *a, const struct diagnose_view *v, long long now, int exit_code)
{
	json_t *j = json_head("gputune.diagnose/1", now, exit_code), *runs = json_array(),
	       *troubles = json_array();

	(void)a;
	for (size_t i = 0; i < v->d->n; i++)
		json_array_append_new(runs, run_json(v, i));
	for (size_t i = 0; i < v->n_troubles; i++)
		json_array_append_new(troubles, json_pack("{s:o, s:o}", "path",
							  json_text(v->troubles[i].path), "why",
							  json_text(v->troubles[i].why)));
	json_object_set_new(j, "runs", runs);
	json_object_set_new(j, "scaling", scaling_json(&v->d->scale));
	json_object_set_new(j, "files", files_json(v));
	json_object_set_new(j, "not_read", troubles);
	json_object_set_new(j, "model", json_text(v->model_taken));
	return j;
}
