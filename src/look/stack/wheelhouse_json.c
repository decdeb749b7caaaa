/* SPDX-License-Identifier: Apache-2.0 */
/* A wheelhouse and what was found wrong with it as JSON: schemas/stack-wheelhouse.json. */
#include "render/json_value.h"
#include "look/stack/page_stack.h"

json_t *wheelhouse_result_json(const struct wheelhouse *h, const struct house_verdict *v,
			       long long time_s, int exit_code)
{
	json_t *j = json_head("gputune.stack-wheelhouse/1", time_s, exit_code);
	json_t *manifest = wheelhouse_json(h), *problems = json_array();

	json_object_set_new(j, "dir", json_text(h->dir));
	json_object_set_new(j, "signed", json_boolean(h->is_signed));
	json_object_set(j, "arch", json_object_get(manifest, "arch"));
	json_object_set(j, "python", json_object_get(manifest, "python"));
	json_object_set(j, "gpus", json_object_get(manifest, "gpus"));
	json_object_set(j, "wheels", json_object_get(manifest, "wheels"));
	json_decref(manifest);
	for (size_t i = 0; v && i < v->n; i++)
		json_array_append_new(problems,
				      json_pack("{s:o, s:o}", "file", json_text(v->items[i].file),
						"what", json_text(v->items[i].what)));
	json_object_set_new(j, "verified", json_boolean(v != NULL));
	json_object_set_new(j, "problems", problems);
	json_object_set_new(j, "signer", json_text(v ? v->signer : NULL));
	return j;
}
