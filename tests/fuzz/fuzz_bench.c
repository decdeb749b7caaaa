/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a result of bench: refused, or it can be shown, compared with itself without a
 * difference, and written so that reading it again gives the same samples. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "look/settings/findings.h"
#include "measure/bench/bench_json.h"
#include "measure/bench/page_bench.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void same_again(struct arena *a, const struct record *r)
{
	struct machine m = { 0 };
	struct record back;
	struct err e = { 0 };
	json_t *j;
	char *text;

	m.time_s = (struct fact_int){ { .seen = SEEN_OK }, r->time_s };
	j = machine_result_json(&bench_result, &m, r, 0);
	text = json_dumps(j, 0);
	json_decref(j);
	if (!text || bench_from_json(a, "again", text, &back, &e) || back.n != r->n)
		abort();
	free(text);
	for (size_t i = 0; i < r->n; i++) {
		if (back.cases[i].n != r->cases[i].n || back.cases[i].rounds != r->cases[i].rounds)
			abort();
		for (size_t k = 0; k < r->cases[i].n_series; k++)
			for (size_t s = 0; s < r->cases[i].n; s++)
				if (fabs(back.cases[i].series[k].x[s] -
					 r->cases[i].series[k].x[s]) > 0)
					abort();
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct record r;
	struct compare c;
	struct err e = { 0 };

	if (bench_from_json(&a, "fuzz", arena_strndup(&a, (const char *)data, size), &r, &e) == 0) {
		record_judge(&a, &r);
		page_bench(&a, &r, true);
		page_bench_list(&a, &r, 1);
		compare_records(&a, &r, &r, &c);
		page_compare(&a, &c);
		json_decref(result_shape_json(&compare_result, &c, 0, 0));
		if (c.count[COMPARE_BETTER] || c.count[COMPARE_WORSE])
			abort();
		same_again(&a, &r);
	} else if (!*e.text) {
		abort();
	}
	arena_free(&a);
	return 0;
}
