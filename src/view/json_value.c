/* SPDX-License-Identifier: Apache-2.0 */
/* Values as they stand in our JSON. */
#include <math.h>

#include "base/utf8.h"
#include "view/json_value.h"

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
