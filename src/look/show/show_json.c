/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a machine, or of one of its parts, under the head that every result has. */
#include "look/show/show_json.h"

#include <string.h>

#include "look/settings/findings.h"
#include "look/show/topology_json.h"

static json_t *facts_json(const struct machine *m, const char *key)
{
	json_t *all = schema_to_json(&schema_machine, m), *part;

	if (!key)
		return all;
	part = json_incref(json_object_get(all, key));
	json_decref(all);
	return part ? part : json_object();
}

json_t *show_json(struct arena *a, const struct machine *m, const char *subject, const char *key)
{
	json_t *j = result_json("show", m, 0);

	json_object_set_new(j, "subject", json_string(*subject ? subject : "all"));
	json_object_set_new(j, "facts", facts_json(m, key));
	if (strcmp(subject, "topology") == 0)
		json_object_set_new(j, "narrow", narrow_json(a, m));
	return j;
}
