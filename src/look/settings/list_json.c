/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of settings and of facts, from their tables. */
#include "look/settings/list_json.h"

#include <string.h>

static const char *kind_name(const struct field *f)
{
	static const char *const names[] = {
		[FIELD_INT] = "integer", [FIELD_BOOL] = "boolean", [FIELD_HEX] = "integer",
		[FIELD_STR] = "text",	 [FIELD_SET] = "set",	   [FIELD_NAME] = "name",
		[FIELD_ID] = "name",	 [FIELD_PART] = "object",  [FIELD_LIST] = "list",
	};

	return names[f->kind];
}

static void add_facts(struct arena *a, const struct schema *s, const char *prefix, json_t *out)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct field *f = &s->fields[i];
		const char *path = arena_printf(a, "%s%s%s", prefix, *prefix ? "." : "", f->key);

		if (f->kind == FIELD_PART || f->kind == FIELD_LIST)
			add_facts(a, f->sub, path, out);
		else
			json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:s?}", "path", path,
							     "title", f->title, "kind",
							     kind_name(f), "unit", f->unit));
	}
}

static json_t *list_json(const char *key, json_t *list)
{
	return json_pack("{s:s, s:s, s:o}", "schema", "gputune.list/1", "tool_version",
			 GPUTUNE_VERSION, key, list);
}

json_t *list_facts_json(struct arena *a)
{
	json_t *list = json_array();

	add_facts(a, &schema_machine, "", list);
	return list_json("facts", list);
}

json_t *list_settings_json(const struct profile *p)
{
	json_t *list = json_array();

	SETTING_FOR_EACH (s)
		if (profile_selects(p, s->id))
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:b}", "id", s->id,
						"title", s->title, "group",
						json_stringn(s->id, strcspn(s->id, ".")), "kind",
						knob_kind_name(s->knob), "risk", risk_name(s->risk),
						"effect", effect_name(s->effect), "health",
						(int)s->health));
	return list_json("settings", list);
}
