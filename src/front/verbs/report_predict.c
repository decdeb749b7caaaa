/* SPDX-License-Identifier: Apache-2.0 */
/* Which models would fit on a machine of a report, in which format. */
#include "front/verbs/report.h"
#include "models/inference/page_predict.h"
#include "models/inference/report_predict.h"

/* The widest format in which it fits. */
static bool predict_one(struct arena *a, const struct place *place, const struct fits *fits,
			const char *model, struct report_prediction *out)
{
	static const char *const formats[] = { NULL, "fp8", "nvfp4", "int4" };

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct words w = { .model = model, .weights = formats[i], .place = place };
		struct query q = { 0 };
		struct err e = { 0 };

		if (question_make(a, &w, fits, &q, &e) < 0)
			continue;
		out->model = model;
		predict(a, &q, fits, &out->p);
		if (out->p.memory.fits)
			return true;
	}
	return false;
}

void report_part_predictions(struct reporting *g)
{
	struct report_prediction items[16];
	struct arena *a = &g->run.arena;
	json_t *list = json_array();
	struct place place;
	struct err e = { 0 };
	struct fits fits;
	struct doc *d;
	size_t n = 0;

	fits_default(&fits);
	if (place_of(a, g->p.m, &place, &e)) {
		report_add(g, "predictions", "Predictions", NULL,
			   cell(arena_printf(a, "No model can be predicted here: %s.", e.text)));
		json_decref(list);
		return;
	}
	for (size_t i = 0; report_models[i] && n < 16; i++)
		if (predict_one(a, &place, &fits, report_models[i], &items[n]))
			json_array_append_new(list, predict_json(&items[n++].p, NULL,
								 fact_or(&g->p.m->time_s, 0), 0));
	report_keep(g, "predictions", list);
	if (!n) {
		report_add(g, "predictions", "Predictions", NULL,
			   cell("None of the models that are asked for fits here."));
		return;
	}
	d = report_predictions(a, items, n, g->alone ? "predictions" : NULL);
	report_add(g, "predictions", "Predictions", d,
		   cell_printf(d, STYLE_MUTED, "%zu models that fit", n));
}
