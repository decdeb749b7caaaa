/* SPDX-License-Identifier: Apache-2.0 */
/* The software stack: what is wrong first, with the command that mends it; then what is there. */
#include <string.h>

#include "base/text.h"
#include "look/stack/page_stack.h"

static const char *mark(const struct stack_finding *f)
{
	static const char *const names[] = { "ok", NULL, "n/a", "unknown" };

	return f->verdict == VERDICT_FAIL ? (f->serious ? "wrong" : "weak") : names[f->verdict];
}

static enum style mark_style(const struct stack_finding *f)
{
	static const enum style styles[] = { STYLE_GOOD, STYLE_WARN, STYLE_MUTED, STYLE_UNKNOWN };

	return f->verdict == VERDICT_FAIL && f->serious ? STYLE_BAD : styles[f->verdict];
}

static void summary(struct doc *d, const struct stack_view *v)
{
	const struct stack_findings *f = v->found;
	const char *gpus = "";

	for (size_t i = 0; i < v->how->n_gpus; i++)
		gpus = arena_printf(d->arena, "%s%ssm_%u", gpus, i ? ", " : "", v->how->gpus[i].sm);
	doc_text(d, "%s. %zu libraries and packages in %zu places, for %s%s%s.",
		 v->rootfs ? v->rootfs : "This machine", v->inv->n_items, v->inv->n_places,
		 *gpus ? gpus : "no GPU", *gpus ? "" : ": ", *gpus ? "" : v->gpus_from);
	doc_text(d, "%zu wrong, %zu could not be seen, %zu right, %zu do not apply.",
		 f->count[VERDICT_FAIL], f->count[VERDICT_UNKNOWN], f->count[VERDICT_PASS],
		 f->count[VERDICT_NA]);
}

static void findings(struct doc *d, const struct stack_view *v)
{
	static const struct column columns[] = { { .title = "Verdict" },
						 { .title = "Finding" },
						 { .title = "Where", .wrap = true },
						 { .title = "Is", .wrap = true },
						 { .title = "Wanted", .wrap = true },
						 { .title = "Why", .wrap = true } };
	struct node *t = doc_table(d, NULL, columns, 6);

	for (size_t i = 0; i < v->found->n; i++) {
		const struct stack_finding *f = &v->found->items[i];
		struct cell *c;

		if (!v->all && (f->verdict == VERDICT_PASS || f->verdict == VERDICT_NA))
			continue;
		c = node_row(d, t);
		c[0] = cell_as(mark_style(f), mark(f));
		c[1] = cell_as(STYLE_STRONG, f->id);
		c[2] = cell(f->target);
		c[3] = cell(f->current);
		c[4] = cell(f->verdict == VERDICT_PASS ? NULL : f->wanted);
		c[5] = cell(f->reason);
	}
	node_drop_empty(t);
}

/* One command mends several findings as a rule. */
static void commands(struct doc *d, const struct stack_view *v)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < v->found->n; i++) {
		const struct stack_finding *f = &v->found->items[i];
		bool wanted = f->verdict == VERDICT_FAIL || (v->all && f->verdict == VERDICT_NA);

		if (!f->command || !wanted || (t.s && strstr(t.s, f->command)))
			continue;
		text_printf(&t, "%s\n", f->command);
	}
	if (!t.len)
		return;
	doc_heading(d, 2, "What mends it");
	doc_code(d, arena_strdup(d->arena, t.s));
}

static void places(struct doc *d, const struct stack_view *v)
{
	static const struct column columns[] = {
		{ .title = "Place" },		{ .title = "Component" },
		{ .title = "Version" },		{ .title = "Known by" },
		{ .title = "GPU code for it" }, { .title = "Path", .wrap = true }
	};
	struct node *t = doc_table(d, NULL, columns, 6);

	for (size_t i = 0; i < v->inv->n_items; i++) {
		const struct stack_item *it = &v->inv->items[i];
		const struct stack_place *p = &v->inv->places[it->place];
		struct cell *c = node_row(d, t);

		c[0] = cell(p->kind == PLACE_SYSTEM ? "system" : p->path);
		c[1] = cell_as(STYLE_STRONG, components[it->c].name);
		c[2] = it->said	     ? cell(it->said)
		       : it->version ? cell(it->version)
				     : cell_as(STYLE_UNKNOWN, "unknown");
		c[3] = cell_as(STYLE_MUTED,
			       it->said ? "it was loaded and asked" : it->version_from);
		if (it->scanned && v->how->n_gpus)
			c[4] = cell(code_answer_name(
				code_best(&it->code.codes, &v->how->gpus[0], NULL)));
		c[5] = cell_as(STYLE_CODE, it->path);
	}
	node_drop_empty(t);
}

struct doc *page_stack_check(struct arena *a, const struct stack_view *v)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Software stack");
	summary(d, v);
	findings(d, v);
	commands(d, v);
	if (v->inv->n_items) {
		doc_heading(d, 2, "What is there");
		places(d, v);
	}
	return d;
}
