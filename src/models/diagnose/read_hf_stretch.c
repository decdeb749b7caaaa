/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face Trainer with include_num_input_tokens_seen: each line says the tokens and the
 * seconds since training began, and a rate of all of both, in which the first step and all saving
 * still weigh at the end. What lies between two lines is that stretch's own.
 */
#include <math.h>

#include "models/diagnose/read.h"

void hf_stretch(struct hf_stretches *h, const struct read_place *p, double tokens, double run_s)
{
	struct hf_stretch s = { tokens - h->tokens, run_s - h->run_s, tokens, p->line };
	bool after = h->run_s > 0 && s.tokens > 0 && s.seconds > 0;

	if (after) {
		read_figure(p, FIGURE_TOKENS_PER_S, s.tokens / s.seconds, "num_input_tokens_seen");
		if (h->step >= 0 && p->step > h->step)
			read_figure(p, FIGURE_STEP_S, s.seconds / (double)(p->step - h->step),
				    "train_runtime");
		h->items = arena_grow(p->ev->arena, h->items, h->n, sizeof(*h->items));
		h->items[h->n++] = s;
	}
	h->line = p->line;
	h->tokens = tokens;
	h->run_s = run_s;
	h->step = p->step;
}

void hf_stretches_end(struct hf_stretches *h, const struct read_place *p, double steps)
{
	double a_step = h->tokens / steps;

	/* One line alone: what it says of all that was before it. */
	if (!h->n && h->run_s > 0) {
		struct figure_seen f = read_seen(p, FIGURE_TOKENS_PER_S, h->tokens / h->run_s);

		f.over_s = h->run_s;
		f.line = h->line;
		f.step = -1;
		f.text = "num_input_tokens_seen";
		evidence_figure(p->ev, f);
	}
	for (size_t i = 0; i < h->n && a_step > 0 && steps >= 1; i++) {
		struct read_place at = *p;

		at.line = h->items[i].line;
		at.step = read_whole(h->items[i].until / a_step + 0.5, -1);
		read_figure(&at, FIGURE_STEP_S, h->items[i].seconds * a_step / h->items[i].tokens,
			    "train_runtime");
	}
	*h = (struct hf_stretches){ 0 };
}
