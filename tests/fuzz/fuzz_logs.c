/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as an output of a benchmark: refused with a sentence, or runs whose figures are finite,
 * and from which constants follow that are finite and within their bounds. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/inference/calibrate.h"
#include "models/normal/normal.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void sane(const struct log_run *r)
{
	if (!r->where || r->tool >= LOG_TOOLS || r->batch < 0 || r->tp < 0 || r->pp < 0 ||
	    !isfinite(r->prompt) || r->prompt < 0 || !isfinite(r->output) || r->output < 0 ||
	    !isfinite(r->rounds) || r->rounds < 1)
		abort();
	for (int f = 0; f < LOG_FIGURES; f++)
		if (!isfinite(r->figure[f]) || r->figure[f] < 0)
			abort();
}

/* As a text of any program that is judged. */
static void judged(struct arena *a, char *text)
{
	const struct infer_options told = { .on = NULL };
	struct fits *fits = ARENA_NEW(a, struct fits);
	const struct normal_on on = { .told = &told, .fits = fits, .date = "2026-01-01" };
	struct normal_items items = { 0 };

	fits_default(fits);
	normal_read(a, "fuzz", text, &on, &items);
	for (size_t i = 0; i < items.n; i++)
		if (!items.items[i].title || !isfinite(items.items[i].value) ||
		    items.items[i].verdict >= NORMAL_VERDICTS)
			abort();
}

/* The fit costs far more than reading: one text in sixteen. */
static void fit(struct arena *a, const struct log_runs *runs)
{
	struct infer_options told = {
		.on = "dgx-spark", .model = "Qwen3-8B", .batch = 4, .prompt = 128, .output = 32
	};
	struct calibration c;
	struct fits base;

	fits_default(&base);
	calibrate(a, runs, &told, HARDWARE_UNIFIED, NULL, 0, &base, &c);
	for (size_t g = 0; g < c.n_groups; g++)
		for (int k = 0; k < FITS; k++) {
			double low, high, v = c.groups[g].constants[k].value;

			if (calibrate_prior((enum fit_id)k, &low, &high) > 0 &&
			    (!isfinite(v) ||
			     v > fmax(high, c.groups[g].constants[k].built_in) * 1.0001))
				abort();
		}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct log_runs runs = { 0 };
	struct err e = { 0 };
	unsigned sum = 0;
	int r;

	r = logs_read(&a, "fuzz", arena_strndup(&a, (const char *)data, size), &runs, &e);
	if (r < 0 && !*e.text)
		abort();
	for (size_t i = 0; i < runs.n; i++)
		sane(&runs.items[i]);
	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	if (r == 0 && sum % 16 == 0)
		fit(&a, &runs);
	judged(&a, arena_strndup(&a, (const char *)data, size));
	arena_free(&a);
	return 0;
}
