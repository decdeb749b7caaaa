/* SPDX-License-Identifier: Apache-2.0 */
/* gputune predict inference --rows: a table of measurements against what is predicted. */
#include <time.h>

#include "front/verbs/page.h"
#include "front/verbs/predict.h"
#include "models/inference/rows.h"
#include "models/inference/page_predict.h"

#define MOST_TABLE (256u << 20)

int predict_table(struct run *r, const struct fits *fits)
{
	struct err e = { 0 };
	struct rows rows;
	size_t len;
	char *text = predict_file(r, r->value[OPT_ROWS], MOST_TABLE, &len, NULL);

	if (!text)
		return EXIT_USAGE;
	if (rows_predict(&r->arena, text, fits, &rows, &e) < 0)
		return complain_text(EXIT_USAGE, "%s: %s", r->value[OPT_ROWS], e.text);
	if (run_wants_json(r)) {
		run_print_json(r, predict_rows_json(&rows, (long long)time(NULL), EXIT_CLEAN));
		return EXIT_CLEAN;
	}
	return run_print_doc(r, page_predict_rows(&r->arena, &rows), "gputune predict");
}
