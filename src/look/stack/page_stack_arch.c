/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU code files carry, and whether it runs here: one row a file, a wheel's members below. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "look/stack/page_stack.h"

static enum style answer_style(enum code_answer a)
{
	static const enum style styles[] = { STYLE_GOOD, STYLE_GOOD, STYLE_WARN, STYLE_BAD,
					     STYLE_MUTED };

	return styles[a];
}

static const char *answer_text(struct arena *a, enum code_answer answer, const struct gpu_code *by)
{
	switch (answer) {
	case CODE_NATIVE:
		return arena_printf(a, "native (%s)", code_name(a, by));
	case CODE_FAMILY:
		return arena_printf(a, "same family (%s)", code_name(a, by));
	case CODE_JIT:
		return arena_printf(a, "compiled at each start (%s)", code_name(a, by));
	case CODE_CANNOT:
		return "cannot run";
	default:
		return "no GPU code";
	}
}

static const char *codes_text(struct arena *a, const struct code_set *set)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < set->n; i++)
		text_printf(&t, "%s%s x%zu", i ? ", " : "", code_name(a, &set->items[i]),
			    set->items[i].n);
	return arena_strdup(a, t.s ? t.s : "");
}

/* "120 same-family, 23 cannot-run": what the file's containers come to. */
static const char *containers_text(struct arena *a, const struct scan *s)
{
	TEXT_AUTO t = { 0 };

	for (size_t k = 0; k < CODE_ANSWERS; k++)
		if (s->served[0][k])
			text_printf(&t, "%s%zu %s", t.len ? ", " : "", s->served[0][k],
				    code_answer_name((enum code_answer)k));
	return arena_strdup(a, t.s ? t.s : "");
}

static void file_row(struct doc *d, struct node *t, const struct scan *s, const struct arch_view *v,
		     unsigned depth)
{
	struct cell *c = node_branch(d, t, depth);
	size_t n = v->how->n_gpus, i = 0;

	c[0] = cell_as(s->error ? STYLE_BAD : STYLE_PLAIN, s->path);
	if (s->error) {
		c[n + 1] = cell_as(STYLE_BAD, s->error);
		return;
	}
	for (; i < n; i++) {
		const struct gpu_code *by = NULL;
		enum code_answer answer = code_best(&s->codes, &v->how->gpus[i], &by);

		c[i + 1] = cell_as(answer_style(answer), answer_text(d->arena, answer, by));
	}
	c[n + 1] = cell(codes_text(d->arena, &s->codes));
	if (n)
		c[n + 2] = cell(containers_text(d->arena, s));
}

static struct node *table(struct doc *d, const struct arch_view *v)
{
	struct column columns[GPU_TARGETS_MAX + 3] = { { .title = "File" } };
	size_t n = 1;

	for (size_t i = 0; i < v->how->n_gpus; i++)
		columns[n++] = (struct column){ .title = arena_printf(d->arena, "On sm_%u",
								      v->how->gpus[i].sm),
						.wrap = true };
	columns[n++] = (struct column){ .title = "GPU code", .wrap = true };
	if (v->how->n_gpus)
		columns[n++] = (struct column){ .title = "Containers", .wrap = true };
	return doc_tree(d, NULL, columns, n);
}

static void problems(struct doc *d, const struct arch_view *v)
{
	struct node *b = NULL;

	for (size_t i = 0; i < v->n; i++)
		for (size_t k = 0; k < v->files[i].n_problems && k < SCAN_PROBLEMS; k++) {
			if (!b) {
				doc_heading(d, 2, "What is broken in them");
				b = doc_bullets(d);
			}
			node_bullet(d, b,
				    cell_printf(d, STYLE_BAD, "%s: %s", v->files[i].path,
						v->files[i].problems[k]));
		}
}

static void summary(struct doc *d, const struct arch_view *v, size_t with_code)
{
	uint64_t bytes = 0;
	size_t opened = 0;

	for (size_t i = 0; i < v->n; i++) {
		bytes += v->files[i].size;
		opened += v->files[i].opened;
	}
	doc_text(d, "%zu file%s, %.1f GB; %zu with GPU code.", v->n, v->n == 1 ? "" : "s",
		 (double)bytes / 1e9, with_code);
	if (v->how->deep)
		doc_text(d,
			 "%zu entries were unpacked and say of themselves what their headers say.",
			 opened);
	for (size_t g = 0; g < v->how->n_gpus; g++) {
		size_t count[CODE_ANSWERS] = { 0 };

		for (size_t i = 0; i < v->n; i++)
			if (v->files[i].entries)
				count[code_best(&v->files[i].codes, &v->how->gpus[g], NULL)]++;
		doc_text(d,
			 "sm_%u (%s): %zu native, %zu of its family, %zu compiled at each start, "
			 "%zu cannot run.",
			 v->how->gpus[g].sm, v->gpus_from, count[CODE_NATIVE], count[CODE_FAMILY],
			 count[CODE_JIT], count[CODE_CANNOT]);
	}
	if (!v->how->n_gpus)
		doc_text(d, "No GPU to judge for: %s. --gpu sm_121 names one.", v->gpus_from);
}

struct doc *page_stack_arch(struct arena *a, const struct arch_view *v)
{
	struct doc *d = doc_new(a);
	struct node *t;
	size_t with_code = 0;

	for (size_t i = 0; i < v->n; i++)
		with_code += v->files[i].entries > 0;
	doc_heading(d, 1, "GPU code");
	summary(d, v, with_code);
	t = table(d, v);
	for (size_t i = 0; i < v->n; i++) {
		const struct scan *s = &v->files[i];

		if (!s->entries && !s->error && !v->all && v->n > 1)
			continue;
		file_row(d, t, s, v, 0);
		for (size_t k = 0; k < s->n_parts; k++)
			file_row(d, t, &s->parts[k], v, 1);
	}
	problems(d, v);
	return d;
}
