/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a table of measured training runs, as a curve of a collective, as constants, as a
 * shape: what comes out is finite and consistent. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/training/curve.h"
#include "models/training/fit.h"
#include "models/training/rows.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void rows(struct arena *a, const char *text)
{
	struct train_rows r;
	struct err e = { 0 };

	if (train_rows_predict(a, NULL, text, NULL, &r, &e) < 0) {
		if (!e.text[0])
			abort();
		return;
	}
	for (size_t i = 0; i < r.n; i++) {
		const struct train_row *x = &r.items[i];

		if (!x->skipped && !(isfinite(x->predicted) && x->predicted > 0 &&
				     x->low <= x->predicted && x->predicted <= x->high))
			abort();
	}
}

static void curve(struct arena *a, const char *text)
{
	static struct train_config q;
	struct err e = { 0 };

	memset(&q, 0, sizeof(q));
	if (place_parse(a, NULL, "2x h100", &q.place, &e) < 0)
		abort();
	q.place.nodes = 1;
	if (train_curve_read(a, "f", text, false, &q, &e) < 0 && !e.text[0])
		abort();
	train_curve_add(a, &q, text, "1024 bytes, 2 ranks", 1, "id");
	train_curve_add(a, &q, "all-reduce:1KiB", text, 1, "id");
	train_curves_sort(&q);
	for (size_t k = 0; k < q.n_curves; k++)
		for (size_t i = 1; i < q.curves[k].n; i++)
			if (!(q.curves[k].at[i].bytes > q.curves[k].at[i - 1].bytes))
				abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct train_fit fit;
	struct arch arch;
	struct err e = { 0 };
	char *text = arena_strndup(&a, (const char *)data, size);

	rows(&a, text);
	curve(&a, text);
	train_fit_default(&fit);
	(void)train_fit_read(&fit, text, &e);
	for (int i = 0; i < TFITS; i++)
		if (!(fit.v[i] >= 0 && fit.v[i] <= 1e6))
			abort();
	if (train_shape_parse(text, &arch, &e) == 0 && (arch.layers < 1 || arch.head_dim < 1))
		abort();
	arena_free(&a);
	return 0;
}
