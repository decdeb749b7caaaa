/* SPDX-License-Identifier: Apache-2.0 */
/* gputune list: every setting id, or every fact's path. */
#include <string.h>

#include "cmd/cmd.h"

static const char *kind_name(const struct field *f)
{
	static const char *const names[] = {
		[FIELD_INT] = "integer", [FIELD_BOOL] = "boolean", [FIELD_HEX] = "integer",
		[FIELD_STR] = "text",	 [FIELD_SET] = "set",	   [FIELD_NAME] = "name",
		[FIELD_ID] = "name",	 [FIELD_PART] = "object",  [FIELD_LIST] = "list",
	};

	return names[f->kind];
}

/* Paths as in show --format json, without list indices: "gpu.gpus.bar1_bytes". */
static void list_facts(struct run *r, const struct schema *s, const char *prefix, json_t *out)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct field *f = &s->fields[i];
		const char *path =
			arena_printf(&r->arena, "%s%s%s", prefix, *prefix ? "." : "", f->key);

		if (f->kind == FIELD_PART || f->kind == FIELD_LIST) {
			list_facts(r, f->sub, path, out);
			continue;
		}
		if (out)
			json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:s?}", "path", path,
							     "title", f->title, "kind",
							     kind_name(f), "unit", f->unit));
		else
			fprintf(r->out, "%-44s %s%s%s%s\n", path, f->title, f->unit ? " (" : "",
				f->unit ? f->unit : "", f->unit ? ")" : "");
	}
}

static void list_settings(struct run *r, const struct profile *p, json_t *out)
{
	SETTING_FOR_EACH (s) {
		if (!profile_selects(p, s->id))
			continue;
		if (out)
			json_array_append_new(
				out, json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:b}", "id", s->id,
					       "title", s->title, "group",
					       json_stringn(s->id, strcspn(s->id, ".")), "kind",
					       knob_kind_name(s->knob), "risk", risk_name(s->risk),
					       "effect", effect_name(s->effect), "health",
					       (int)s->health));
		else
			fprintf(r->out, "%-32s %s\n", s->id, s->title);
	}
}

int verb_list(struct run *r)
{
	const char *format = r->value[OPT_FORMAT] ? r->value[OPT_FORMAT] : "term";
	bool facts = r->value[OPT_FACTS] != NULL, json = strcmp(format, "json") == 0;
	json_t *list = json ? json_array() : NULL, *top;
	struct profile p;

	if (!json && strcmp(format, "term") != 0)
		return complain_text(EXIT_USAGE, "list has the formats term and json, not %s",
				     format);
	if (!run_profile(r, &p))
		return EXIT_USAGE;
	if (facts)
		list_facts(r, &schema_machine, "", list);
	else
		list_settings(r, &p, list);
	if (json) {
		top = json_pack("{s:s, s:s, s:o}", "schema", "gputune.list/1", "tool_version",
				GPUTUNE_VERSION, facts ? "facts" : "settings", list);
		json_dumpf(top, r->out, JSON_INDENT(2));
		fputc('\n', r->out);
		json_decref(top);
	}
	return EXIT_CLEAN;
}
