/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a dump of a flight recorder: refused with a sentence, or entries with texts; and
 * what is judged of two of them. */
#include <stdlib.h>

#include "models/hang/hang.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct flight_dump dumps[2];
	struct hang_view v = { .dumps = dumps, .n_dumps = 2 };
	struct err e = { 0 };
	int r = flight_read(&a, "trace_rank_0", (const char *)data, size, &dumps[0], &e);

	if (r < 0 && !*e.text)
		abort();
	if (r == 0) {
		for (size_t i = 0; i < dumps[0].n; i++)
			if (!dumps[0].entries[i].operation || !dumps[0].entries[i].group)
				abort();
		dumps[1] = dumps[0];
		dumps[1].n /= 2;
		hang_judge(&a, &v);
		page_hang(&a, &v, true);
	}
	arena_free(&a);
	return 0;
}
