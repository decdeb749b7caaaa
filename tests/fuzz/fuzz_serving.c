/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as metrics of an engine, as two looks, and as its log: figures are finite, causes have
 * sentences. */
#include <math.h>
#include <stdlib.h>

#include "models/serving/serving.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct serving_view v = { 0 };
	const char *text = arena_strndup(&a, (const char *)data, size);

	serving_is_metrics(text);
	serving_metrics(&a, text, size % 2 ? arena_strndup(&a, (const char *)data, size / 2) : NULL,
			&v);
	serving_log_read(&a, arena_strdup(&a, text), &v);
	serving_judge(&a, &v);
	for (size_t i = 0; i < v.n; i++)
		if (!isfinite(v.values[i].value))
			abort();
	for (size_t i = 0; i < v.n_causes; i++)
		if (!v.causes[i].says)
			abort();
	page_serving(&a, &v);
	arena_free(&a);
	return 0;
}
