/* SPDX-License-Identifier: Apache-2.0 */
/* Values as they stand in our JSON. */
#include <math.h>

#include "base/stamp.h"
#include "base/utf8.h"
#include "render/json_value.h"

json_t *json_text(const char *s)
{
	struct arena a = { 0 };
	json_t *j = s ? json_string(utf8_clean(&a, s)) : json_null();

	arena_free(&a);
	return j;
}

json_t *json_figure(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *json_positive(double v)
{
	return v > 0 ? json_figure(v) : json_null();
}

json_t *json_interval(double value, double low, double high)
{
	return json_pack("{s:o, s:o, s:o}", "value", json_figure(value), "low", json_figure(low),
			 "high", json_figure(high));
}

json_t *json_texts(const char *const *items, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_text(items[i]));
	return list;
}

json_t *json_head(const char *schema, long long now, int exit_code)
{
	char stamp[STAMP_SIZE];
	json_t *j = json_object();

	json_object_set_new(j, "schema", json_string(schema));
	json_object_set_new(j, "tool_version", json_string(GPUTUNE_VERSION));
	json_object_set_new(j, "time",
			    stamp_format(now, stamp) < 0 ? json_null() : json_string(stamp));
	json_object_set_new(j, "exit_code", json_integer(exit_code));
	return j;
}
