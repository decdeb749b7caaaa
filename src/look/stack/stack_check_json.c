/* SPDX-License-Identifier: Apache-2.0 */
/* The software stack as JSON. Keys and meanings are API: schemas/stack-check.json holds them. */
#include "look/settings/findings.h"
#include "render/json_value.h"
#include "look/stack/page_stack.h"

static json_t *finding_json(const struct stack_finding *f)
{
	static const char *const verdicts[] = { "pass", "fail", "na", "unknown" };
	json_t *j = json_object();

	json_object_set_new(j, "id", json_string(f->id));
	json_object_set_new(j, "title", json_string(f->title));
	json_object_set_new(j, "target", json_text(f->target));
	json_object_set_new(j, "verdict", json_string(verdicts[f->verdict]));
	json_object_set_new(j, "serious", json_boolean(f->verdict == VERDICT_FAIL && f->serious));
	json_object_set_new(j, "current", json_text(f->current));
	json_object_set_new(j, "wanted", json_text(f->wanted));
	json_object_set_new(j, "reason", json_text(f->reason));
	json_object_set_new(j, "source", json_text(f->source));
	json_object_set_new(j, "read_from", json_text(f->from));
	json_object_set_new(j, "command", json_text(f->command));
	return j;
}

static json_t *item_json(const struct stack_view *v, const struct stack_item *it)
{
	json_t *j = json_object(), *codes = json_array();
	struct arena a = { 0 };

	json_object_set_new(j, "component", json_string(components[it->c].id));
	json_object_set_new(j, "place", json_text(v->inv->places[it->place].path));
	json_object_set_new(j, "path", json_text(it->path));
	json_object_set_new(j, "soname", json_text(it->soname));
	json_object_set_new(j, "version", json_text(it->version));
	json_object_set_new(j, "version_from", json_text(it->version_from));
	json_object_set_new(j, "loaded_version", json_text(it->said));
	for (size_t i = 0; i < it->code.codes.n; i++)
		json_array_append_new(codes, json_string(code_name(&a, &it->code.codes.items[i])));
	json_object_set_new(j, "gpu_code", it->scanned ? codes : json_null());
	if (!it->scanned)
		json_decref(codes);
	arena_free(&a);
	return j;
}

static json_t *place_json(const struct stack_place *p)
{
	static const char *const kinds[] = { "system", "toolkit", "python" };
	json_t *j = json_object();

	json_object_set_new(j, "kind", json_string(kinds[p->kind]));
	json_object_set_new(j, "path", json_text(p->path));
	json_object_set_new(j, "version", json_text(p->version));
	json_object_set_new(j, "packages", json_text(p->packages));
	json_object_set_new(j, "torch_cuda", json_text(p->torch_cuda));
	return j;
}

json_t *stack_check_json(const struct stack_view *v, long long time_s, int exit_code)
{
	json_t *j = json_head("gputune.stack-check/1", time_s, exit_code);
	json_t *gpus = json_array(), *found = json_array(), *items = json_array(),
	       *places = json_array();
	const size_t *n = v->found->count;

	json_object_set_new(j, "host", host_json(v->m));
	json_object_set_new(j, "rootfs", json_text(v->rootfs));
	for (size_t g = 0; g < v->how->n_gpus; g++)
		json_array_append_new(gpus, json_sprintf("sm_%u", v->how->gpus[g].sm));
	json_object_set_new(j, "gpus", gpus);
	json_object_set_new(j, "gpus_from", json_text(v->gpus_from));
	json_object_set_new(j, "summary",
			    json_pack("{s:I, s:I, s:I, s:I}", "pass", (json_int_t)n[VERDICT_PASS],
				      "fail", (json_int_t)n[VERDICT_FAIL], "na",
				      (json_int_t)n[VERDICT_NA], "unknown",
				      (json_int_t)n[VERDICT_UNKNOWN]));
	for (size_t i = 0; i < v->found->n; i++)
		json_array_append_new(found, finding_json(&v->found->items[i]));
	json_object_set_new(j, "findings", found);
	for (size_t i = 0; i < v->inv->n_places; i++)
		json_array_append_new(places, place_json(&v->inv->places[i]));
	json_object_set_new(j, "places", places);
	for (size_t i = 0; i < v->inv->n_items; i++)
		json_array_append_new(items, item_json(v, &v->inv->items[i]));
	json_object_set_new(j, "items", items);
	return j;
}
