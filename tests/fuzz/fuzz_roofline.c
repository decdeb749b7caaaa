/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as an export of nsys or ncu, or as a kept calibration: refused, or points that are
 * judged and drawn. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/inference/page_calibrate.h"
#include "models/inference/page_roofline.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void judge(struct arena *a, struct roof_profile *p)
{
	struct roof roof = { .machine = "m", .memory = { 273, false, "sheet" }, .sms = 48 };
	struct roofline_page page = { .roof = &roof, .profile = p, .source = "fuzz" };

	roof.math[ROOF_FP32] = (struct roof_limit){ 30, false, "sheet" };
	roof.math[ROOF_HALF] = (struct roof_limit){ 125, true, "bench" };
	roof_judge(a, &roof, p);
	for (size_t i = 0; i < p->n; i++) {
		const struct roof_point *k = &p->points[i];

		if (!isfinite(k->time_ms) || k->time_ms < 0 || !isfinite(k->intensity) ||
		    !isfinite(k->share_of_time) || !k->why || !k->next || !*k->name)
			abort();
	}
	page_roofline(a, &page, true);
	json_decref(result_shape_json(&roofline_result, &page, 0, 0));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct roof_profile p;
	struct calibration_file kept = { 0 };
	struct err e = { 0 };
	const char *text = arena_strndup(&a, (const char *)data, size);
	int r = roof_read_ncu(&a, "fuzz", text, &p, &e);
	if (r < 0 && !*e.text)
		abort();
	if (r == 0)
		judge(&a, &p);
	if (*text == '{' && calibration_file_read(&a, text, &kept, &e) == 0) {
		struct fits f;

		fits_default(&f);
		for (size_t i = 0; i < kept.n_sets; i++)
			fits_read(&f, kept.sets[i].lines, &e);
		calibration_for(&kept.sets[0], "Qwen3-8B");
	}
	arena_free(&a);
	return 0;
}
