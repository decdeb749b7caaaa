/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a training for people: the file, why each value is there, what was tried; and changes
 * of a file of the user's as a diff. */
#include "models/generate/page_generate_train.h"

#include <math.h>

static void figure(struct doc *d, struct node *n, const char *name, const char *unit, double scale,
		   const struct train_figure *was, const struct train_figure *now)
{
	node_pair(d, n, name,
		  cell_printf(d, STYLE_PLAIN, "%.4g %s (%.4g to %.4g), before %.4g %s",
			      now->value * scale, unit, now->low * scale, now->high * scale,
			      was->value * scale, unit));
}

static void predicted(struct doc *d, const struct train_setup *s, const char *after)
{
	const struct train_answer *was = s->before, *now = s->after;
	struct node *n = doc_pairs(d, "What to expect (predicted, not measured)");

	node_pair(d, n, "before",
		  cell_printf(d, STYLE_PLAIN,
			      "%s, micro-batch %d, accumulation %d, recomputation %s: %.1f GB of "
			      "%.1f GB on each GPU%s",
			      train_way_names[was->q.way], was->q.micro_batch, was->q.accumulation,
			      train_recompute_names[was->q.recompute], was->memory.total / 1e9,
			      was->memory.limit / 1e9,
			      was->memory.fits ? "" : ", which does not fit"));
	node_pair(d, n, after,
		  cell_printf(d, STYLE_STRONG,
			      "%s, micro-batch %d, accumulation %d, recomputation %s%s: %.1f GB",
			      train_way_names[now->q.way], now->q.micro_batch, now->q.accumulation,
			      train_recompute_names[now->q.recompute],
			      now->q.compile ? ", torch.compile" : "",
			      (now->memory.total - s->offload.saved_bytes) / 1e9));
	if (s->why)
		node_pair(d, n, "because", cell(s->why));
	if (!s->fits || s->offload.optimizer) {
		node_pair(d, n, s->fits ? "offload" : "does not fit",
			  cell_as(STYLE_BAD, s->fits ? s->offload.why : s->fits_why));
		return;
	}
	node_pair(d, n, "gain",
		  cell_printf(d, STYLE_PLAIN, "%.2f times the tokens a second (%.2f to %.2f)",
			      s->gain.value, s->gain.low, s->gain.high));
	if (s->compile && !now->q.compile)
		node_pair(d, n, "torch.compile",
			  cell_printf(d, STYLE_PLAIN, "not in these figures; %s", s->compile_why));
	figure(d, n, "step", "s", 1, &was->time.total, &now->time.total);
	figure(d, n, "all GPUs", "tokens/s", 1, &was->tokens_s, &now->tokens_s);
	node_pair(d, n, "limited by",
		  cell_printf(d, STYLE_PLAIN, "%s: %s", train_limit_names[now->limit],
			      now->limit_why));
	for (size_t i = 0; i < now->q.n_notes; i++)
		node_pair(d, n, i ? "" : "taken", cell_as(STYLE_MUTED, now->q.notes[i]));
}

static bool chosen(const struct train_setup *s, const struct train_try *t)
{
	const struct train_question *q = &s->after->q;

	return t->fits && t->way == q->way && t->recompute == q->recompute &&
	       t->micro_batch == q->micro_batch && t->reshard == q->reshard;
}

static void tries(struct doc *d, const struct train_setup *s)
{
	static const struct column columns[] = { { .title = "Way" },
						 { .title = "Recomputation" },
						 { .title = "Micro-batch", .right = true },
						 { .title = "Accumulation", .right = true },
						 { .title = "All, tokens/s", .right = true },
						 { .title = "A GPU, GB", .right = true },
						 { .title = "" } };
	struct node *t;

	if (s->n_tries < 2)
		return;
	t = doc_table(d, "Ways to train it (predicted)", columns, 7);
	for (size_t i = 0; i < s->n_tries; i++) {
		const struct train_try *x = &s->tries[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_printf(d, chosen(s, x) ? STYLE_STRONG : STYLE_PLAIN, "%s%s",
				   train_way_names[x->way],
				   x->way == TRAIN_FSDP && !x->reshard ? ", not resharded" : "");
		c[1] = cell(train_recompute_names[x->recompute]);
		if (x->fits) {
			c[2] = cell_printf(d, STYLE_PLAIN, "%d", x->micro_batch);
			c[3] = cell_printf(d, STYLE_PLAIN, "%d", x->accumulation);
			c[4] = cell_printf(d, STYLE_PLAIN, "%.4g", x->tokens_s);
			c[5] = cell_printf(d, STYLE_PLAIN, "%.1f", x->memory / 1e9);
		}
		c[6] = !x->fits	      ? cell_as(STYLE_BAD, "does not fit")
		       : chosen(s, x) ? cell_as(STYLE_GOOD, "chosen")
				      : cell("");
	}
}

static void items(struct doc *d, const char *title, const struct train_items *l)
{
	static const struct column columns[] = { { .title = "Key" },
						 { .title = "Value" },
						 { .title = "Why", .wrap = true } };
	struct node *t;

	if (!l->n)
		return;
	t = doc_table(d, title, columns, 3);
	for (size_t i = 0; i < l->n; i++) {
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_STRONG, l->at[i].path);
		c[1] = cell_as(STYLE_CODE, l->at[i].value);
		c[2] = cell(l->at[i].reason);
	}
}

static void edited(struct doc *d, const struct train_view *v)
{
	static const struct column columns[] = { { .title = "Line", .right = true },
						 { .title = "What", .wrap = true },
						 { .title = "Why", .wrap = true } };
	const struct train_edit *e = v->edit;
	struct node *t;

	if (!e->edits.n) {
		doc_text(d, "Nothing in %s is worth changing.", e->name);
	} else {
		doc_heading(d, 2, arena_printf(d->arena, "Changes of %s", e->name));
		doc_code(d, v->diff);
		t = doc_table(d, NULL, columns, 3);
		for (size_t i = 0; i < e->edits.n; i++) {
			struct cell *c = node_row(d, t);

			c[0] = cell_printf(d, STYLE_PLAIN, "%u", e->edits.at[i].line);
			c[1] = cell_as(STYLE_STRONG, e->edits.at[i].what);
			c[2] = cell(e->edits.at[i].reason);
		}
	}
	if (!e->n_left)
		return;
	t = doc_table(d, "Left as it is", columns, 3);
	for (size_t i = 0; i < e->n_left; i++) {
		struct cell *c = node_row(d, t);

		c[0] = e->left[i].line ? cell_printf(d, STYLE_PLAIN, "%u", e->left[i].line)
				       : cell("");
		c[1] = cell(e->left[i].what);
		c[2] = cell(e->left[i].why);
	}
}

void page_generate_train(struct doc *d, const struct train_view *v)
{
	if (v->edit) {
		edited(d, v);
	} else if (v->file.text && v->setup->fits) {
		doc_heading(d, 2, v->file.name);
		doc_code(d, v->file.text);
		items(d, NULL, &v->file.items);
		items(d, "Arguments of transformers' Trainer that belong to it", &v->arguments);
		if (v->torch_call) {
			doc_heading(d, 2, "The same as calls of PyTorch");
			doc_code(d, v->torch_call);
		}
	}
	predicted(d, v->setup, v->edit ? "after" : "chosen");
	tries(d, v->setup);
}
