/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the report of a boot without believing it. */
#include "front/verbs/boot_report_read.h"

#include <string.h>

enum { ROWS_MAX = 1 << 17, TEXT_MAX = 8192 };

const char *boot_text(struct arena *a, const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s && strlen(s) <= TEXT_MAX ? arena_strdup(a, s) : NULL;
}

static bool row_from(struct arena *a, const json_t *j, struct verify_row *out)
{
	const json_t *knob = json_object_get(j, "knob");
	const char *state = boot_text(a, j, "state"), *kind = boot_text(a, knob, "kind");
	int s = VERIFY_IN_FORCE, k = kind ? knob_kind_parse(kind) : -1;

	*out = (struct verify_row){ .id = boot_text(a, j, "id"),
				    .target = boot_text(a, j, "target"),
				    .wanted = boot_text(a, j, "wanted"),
				    .now = boot_text(a, j, "now"),
				    .sentence = boot_text(a, j, "sentence") };
	while (s <= VERIFY_UNKNOWN && state &&
	       strcmp(verify_name((enum verify_state)s), state) != 0)
		s++;
	if (!out->id || !out->target || !out->wanted || !state || s > VERIFY_UNKNOWN || k < 0)
		return false;
	out->state = (enum verify_state)s;
	out->knob = (struct knob){ (enum knob_kind)k, boot_text(a, knob, "name"),
				   boot_text(a, knob, "object") };
	return out->knob.name && out->knob.object;
}

static bool rows_from(struct arena *a, const json_t *list, struct verify *out)
{
	size_t n = json_array_size(list);

	*out = (struct verify){ .rows = arena_array(a, n, sizeof(*out->rows)) };
	if (!json_is_array(list) || n > ROWS_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!row_from(a, json_array_get(list, i), &out->rows[i]))
			return false;
		out->count[out->rows[i].state]++;
		out->n++;
	}
	return true;
}

bool boot_report_read(struct arena *a, const json_t *j, struct boot_report *out)
{
	const json_t *verify = json_object_get(j, "verify");
	const char *schema = boot_text(a, j, "schema");

	*out = (struct boot_report){ .boot_id = boot_text(a, j, "boot_id"),
				     .time = boot_text(a, verify, "time"),
				     .asked = boot_text(a, j, "reboot_by") };
	return out->boot_id && *out->boot_id && schema && strcmp(schema, BOOT_REPORT_SCHEMA) == 0 &&
	       rows_from(a, json_object_get(verify, "rows"), &out->verify);
}
