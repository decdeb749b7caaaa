/* SPDX-License-Identifier: Apache-2.0 */
/* A table of measurements predicted anew: errors by figure, engine and hardware, and every row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stamp.h"
#include "base/stat.h"
#include "render/json_value.h"
#include "models/inference/page_predict.h"

/* Rows of one kind. */
struct kind {
	const char *figure;
	const char *engine, *hardware;
	bool many;
	double *error, *ratio;
	size_t n;
};

static struct kind *kind_of(struct arena *a, struct kind **list, size_t *n,
			    const struct row_result *r, int m, size_t most)
{
	struct kind *k;

	for (size_t i = 0; i < *n; i++) {
		k = &(*list)[i];
		if (k->figure == measure_names[m] && k->many == (r->batch > 1) &&
		    strcmp(k->engine, r->engine) == 0 && strcmp(k->hardware, r->hardware) == 0)
			return k;
	}
	*list = arena_grow(a, *list, *n, sizeof(**list));
	k = &(*list)[(*n)++];
	*k = (struct kind){ .figure = measure_names[m],
			    .engine = r->engine,
			    .hardware = r->hardware,
			    .many = r->batch > 1 };
	k->error = arena_array(a, most, sizeof(double));
	k->ratio = arena_array(a, most, sizeof(double));
	return k;
}

static bool counts(const struct row_result *r, int m)
{
	return !r->skipped && !r->speculative && r->measured[m] > 0 && r->predicted[m] > 0;
}

static void table(struct doc *d, struct kind *list, size_t n)
{
	static const struct column columns[] = {
		{ "figure", false, false },	  { "requests", false, false },
		{ "engine", false, false },	  { "hardware", false, false },
		{ "rows", true, false },	  { "median error", true, false },
		{ "9 of 10 below", true, false }, { "predicted / measured", true, false }
	};
	struct node *t = doc_table(d, NULL, columns, 8);

	for (size_t i = 0; i < n; i++) {
		struct kind *k = &list[i];
		struct cell *c = node_row(d, t);

		stat_sort(k->error, k->n);
		stat_sort(k->ratio, k->n);
		c[0] = cell(k->figure);
		c[1] = cell(k->many ? "many" : "one");
		c[2] = cell(*k->engine ? k->engine : "not told");
		c[3] = cell(k->hardware);
		c[4] = cell_printf(d, STYLE_PLAIN, "%zu", k->n);
		c[5] = cell_printf(d, STYLE_STRONG, "%.1f %%",
				   100 * stat_quantile(k->error, k->n, 0.5));
		c[6] = cell_printf(d, STYLE_PLAIN, "%.1f %%",
				   100 * stat_quantile(k->error, k->n, 0.9));
		c[7] = cell_printf(d, STYLE_PLAIN, "%.2f", stat_quantile(k->ratio, k->n, 0.5));
	}
}

struct doc *page_predict_rows(struct arena *a, const struct rows *r)
{
	struct doc *d = doc_new(a);
	struct kind *list = NULL;
	size_t n = 0, skipped = 0, guesses = 0;
	size_t most = r->n ? r->n : 1;

	for (size_t i = 0; i < r->n; i++) {
		skipped += r->items[i].skipped != NULL;
		guesses += !r->items[i].skipped && r->items[i].speculative;
	}
	/* Each kind keeps room for all rows: tables are small, kinds few. */
	for (size_t i = 0; i < r->n; i++)
		for (int m = 0; m < MEASURES; m++)
			if (counts(&r->items[i], m)) {
				const struct row_result *x = &r->items[i];
				struct kind *k = kind_of(a, &list, &n, x, m, most);

				k->error[k->n] = fabs(x->predicted[m] / x->measured[m] - 1);
				k->ratio[k->n++] = x->predicted[m] / x->measured[m];
			}
	doc_heading(d, 1, "Measurements, predicted anew");
	doc_text(d,
		 "%zu rows; %zu not predicted, %zu with guesses ahead and left out of the errors.",
		 r->n, skipped, guesses);
	table(d, list, n);
	return d;
}

static json_t *row_json(const struct row_result *r)
{
	json_t *j = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:b, s:b, s:o}", "line",
			      (json_int_t)r->line, "model", json_text(r->model), "hardware",
			      json_text(r->hardware), "engine", json_text(r->engine), "weights",
			      json_text(r->weights), "family", json_text(r->family), "batch",
			      r->batch, "tp", r->tp, "fits", r->fits, "speculative", r->speculative,
			      "skipped", json_text(r->skipped));

	for (int m = 0; m < MEASURES; m++)
		json_object_set_new(
			j, measure_names[m],
			json_pack("{s:o, s:o}", "measured",
				  r->measured[m] > 0 ? json_real(r->measured[m]) : json_null(),
				  "predicted",
				  r->predicted[m] > 0 ? json_real(r->predicted[m]) : json_null()));
	return j;
}

json_t *predict_rows_json(const struct rows *r, long long now, int exit_code)
{
	char stamp[STAMP_SIZE];
	json_t *rows = json_array();

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(rows, row_json(&r->items[i]));
	return json_pack("{s:s, s:s, s:o, s:i, s:o}", "schema", "gputune.predict-rows/1",
			 "tool_version", GPUTUNE_VERSION, "time",
			 stamp_format(now, stamp) < 0 ? json_null() : json_string(stamp),
			 "exit_code", exit_code, "rows", rows);
}
