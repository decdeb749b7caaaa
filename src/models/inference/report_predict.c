/* SPDX-License-Identifier: Apache-2.0 */
/* What models of different sizes would do on a machine: one fold each. */
#include "models/inference/report_predict.h"

#include "render/figure.h"
#include "models/inference/page_predict.h"

const char *const report_models[] = { "Llama-3.1-8B", "gpt-oss-20b",
				      "Qwen3-32B",    "Llama-3.3-70B",
				      "gpt-oss-120b", "Qwen3-235B-A22B",
				      "DeepSeek-V3",  NULL };

static struct cell in_short(struct doc *d, const struct report_prediction *r, bool named)
{
	const struct prediction *p = &r->p;
	struct arena *a = d->arena;

	return cell_printf(
		d, named ? STYLE_PLAIN : STYLE_MUTED,
		"%s%s%s: %s tokens/s of one request (%s to %s)", named ? r->model : "",
		named ? ", " : "", p->q.ask.weights->name, figure_number(a, 1e3 / p->tpot.value),
		figure_number(a, 1e3 / p->tpot.high), figure_number(a, 1e3 / p->tpot.low));
}

struct doc *report_predictions(struct arena *a, const struct report_prediction *items, size_t n,
			       const char *id)
{
	struct doc *d = doc_new(a);
	struct node *list;

	doc_text(d, "Predicted, not measured: from the machine's facts and data sheets, with "
		    "constants fitted to measurements of other machines. Intervals hold four of "
		    "five of those.");
	list = doc_bullets(d);
	for (size_t i = 0; i < n; i++) {
		if (!id) {
			node_bullet(d, list, in_short(d, &items[i], true));
			continue;
		}
		doc_section(d, 2, arena_printf(a, "%s-%zu", id, i + 1), items[i].model,
			    in_short(d, &items[i], false), false);
		doc_append(d, page_predict(a, &items[i].p, NULL, false), 2);
		doc_section_end(d);
	}
	return d;
}
