/* SPDX-License-Identifier: Apache-2.0 */
/* gputune list: every setting id, or every fact's path. */
#include <string.h>

#include "front/verbs/cmd.h"
#include "front/verbs/page.h"
#include "look/settings/findings.h"

static void list_facts(struct run *r, const struct schema *s, const char *prefix)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct field *f = &s->fields[i];
		const char *path =
			arena_printf(&r->arena, "%s%s%s", prefix, *prefix ? "." : "", f->key);

		if (f->kind == FIELD_PART || f->kind == FIELD_LIST)
			list_facts(r, f->sub, path);
		else
			fprintf(r->out, "%-44s %s%s%s%s\n", path, f->title, f->unit ? " (" : "",
				f->unit ? f->unit : "", f->unit ? ")" : "");
	}
}

int verb_list(struct run *r)
{
	const char *format = r->value[OPT_FORMAT] ? r->value[OPT_FORMAT] : "term";
	bool facts = r->value[OPT_FACTS] != NULL, json = strcmp(format, "json") == 0;
	struct profile p;

	if (!json && strcmp(format, "term") != 0)
		return complain_text(EXIT_USAGE, "list has the formats term and json, not %s",
				     format);
	if (facts && (r->value[OPT_ONLY] || r->value[OPT_SKIP]))
		return complain_text(EXIT_USAGE, "--only and --skip narrow settings, not --facts");
	if (!run_profile(r, &p))
		return EXIT_USAGE;
	if (json)
		run_print_json(r, facts ? list_facts_json(&r->arena) : list_settings_json(&p));
	else if (facts)
		list_facts(r, &schema_machine, "");
	else
		SETTING_FOR_EACH (s)
			if (profile_selects(&p, s->id))
				fprintf(r->out, "%-32s %s\n", s->id, s->title);
	return EXIT_CLEAN;
}
