/* SPDX-License-Identifier: Apache-2.0 */
/* What was found in what people wrote: the place, what is wrong, what to do. */
#include "models/generate/page_generate.h"

static enum style style_of(enum lint_level l)
{
	return l == LINT_ERROR ? STYLE_BAD : l == LINT_WARNING ? STYLE_WARN : STYLE_MUTED;
}

static void looked(struct doc *d, const struct lint_view *v)
{
	const struct lint *l = v->l;

	doc_text(d,
		 "Looked at %zu file%s: %zu variable%s, %zu command%s of an engine, %zu line%s of "
		 "hostfiles, %zu configuration%s of trainings. %s%s%s.",
		 v->n, v->n == 1 ? "" : "s", l->variables, l->variables == 1 ? "" : "s",
		 l->commands, l->commands == 1 ? "" : "s", l->hosts, l->hosts == 1 ? "" : "s",
		 l->configs, l->configs == 1 ? "" : "s",
		 v->on->nccl ? "NCCL " : "Which NCCL will read them is not known (--nccl)",
		 v->on->nccl ? v->on->nccl : "",
		 v->on->nccl ? arena_printf(d->arena, " (%s)", v->on->nccl_from) : "");
}

struct doc *page_lint(struct arena *a, const struct lint_view *v)
{
	static const struct column columns[] = { { .title = "Level" },
						 { .title = "Place" },
						 { .title = "What", .wrap = true },
						 { .title = "What to do", .wrap = true },
						 { .title = "Source", .wrap = true },
						 { .title = "Code" } };
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, "Lint");
	looked(d, v);
	if (!v->l->n) {
		doc_text(d, "Nothing is wrong with them.");
		return d;
	}
	t = doc_table(d, NULL, columns, 6);
	for (size_t i = 0; i < v->l->n; i++) {
		const struct lint_finding *f = &v->l->findings[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_as(style_of(f->level), lint_level_names[f->level]);
		c[1] = cell_as(STYLE_CODE,
			       f->line ? arena_printf(a, "%s:%u", f->file, f->line) : f->file);
		c[2] = cell(f->says);
		c[3] = cell(f->fix);
		c[4] = cell_as(STYLE_MUTED, f->source);
		c[5] = cell_as(STYLE_MUTED, f->code);
	}
	node_drop_empty(t);
	return d;
}
