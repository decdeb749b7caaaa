/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs and every point under them as JSON. */
#include "render/json_value.h"
#include "models/inference/page_roofline.h"

static json_t *positive(double v)
{
	return v > 0 ? json_figure(v) : json_null();
}

static json_t *limit(const struct roof_limit *l)
{
	if (!(l->value > 0))
		return json_null();
	return json_pack("{s:o, s:s, s:o}", "value", json_figure(l->value), "is",
			 l->measured ? "measured" : "data-sheet", "source", json_text(l->source));
}

static json_t *limits(const struct roof *r)
{
	static const char *const ways[COPIES] = { "host_to_gpu_gb_per_s", "gpu_to_host_gb_per_s",
						  "within_gpu_gb_per_s", "gpu_to_gpu_gb_per_s",
						  "setting_gb_per_s" };
	json_t *j = json_object(), *math = json_object();

	for (int m = 0; m < ROOF_MATHS; m++)
		json_object_set_new(math, roof_math_names[m], limit(&r->math[m]));
	json_object_set_new(j, "memory_gb_per_s", limit(&r->memory));
	json_object_set_new(j, "arithmetic_tflop_per_s", math);
	for (int w = 0; w < COPIES; w++)
		json_object_set_new(j, ways[w], limit(&r->copy[w]));
	json_object_set_new(j, "launch_us", limit(&r->launch));
	return j;
}

static json_t *point(const struct roof_point *p)
{
	json_t *j = json_object();
	const struct {
		const char *key;
		double v;
	} figures[] = {
		{ "time_ms", p->time_ms },
		{ "time_ratio", p->share_of_time },
		{ "launches", p->launches },
		{ "shortest_ms", p->shortest_ms },
		{ "longest_ms", p->longest_ms },
		{ "operations", p->ops },
		{ "bytes", p->bytes },
		{ "operations_per_byte", p->intensity },
		{ "tflop_per_s", p->tflops },
		{ "gb_per_s", p->gb_s },
		{ "memory_ratio", p->memory_share },
		{ "cache_ratio", p->cache_share },
		{ "compute_ratio", p->compute_share },
		{ "occupancy_ratio", p->occupancy },
		{ "blocks", p->blocks },
		{ "reached_ratio", p->reached },
	};

	json_object_set_new(j, "name", json_text(p->name));
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		json_object_set_new(j, figures[i].key, positive(figures[i].v));
	json_object_set_new(j, "format",
			    p->math < ROOF_MATHS ? json_string(roof_math_names[p->math])
						 : json_null());
	json_object_set_new(j, "bound", json_string(roof_bound_names[p->bound]));
	json_object_set_new(j, "above_roof", json_boolean(p->over));
	json_object_set_new(j, "reason", json_text(p->why));
	json_object_set_new(j, "next", json_text(p->next));
	return j;
}

json_t *roofline_json(const struct roofline_page *p)
{
	const struct roof_profile *f = p->profile;
	json_t *j = json_head("gputune.roofline/1", p->now, p->code), *points = json_array();

	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(points, point(&f->points[i]));
	json_object_set_new(j, "machine", json_text(p->roof->machine));
	json_object_set_new(j, "source", json_text(p->source));
	json_object_set_new(j, "kind", json_text(f->source));
	json_object_set_new(j, "gpu", json_text(f->gpu));
	json_object_set_new(j, "span_ms", positive(f->span_ms));
	json_object_set_new(j, "busy_ms", positive(f->busy_ms));
	json_object_set_new(j, "host_bound", json_text(f->host_bound));
	json_object_set_new(j, "dropped_rows", json_integer((json_int_t)f->dropped));
	json_object_set_new(j, "limits", limits(p->roof));
	json_object_set_new(j, "points", points);
	return j;
}
