/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU code files carry, and whether it runs here: one row a file, a wheel's members below. */

#include "base/text.h"
#include "look/stack/page_stack.h"
#include "machine/knob/kinds.h"
#include "render/display_text.h"
#include "render/shape_page.h"

static enum style answer_style(enum code_answer a)
{
	static const enum style styles[] = { STYLE_GOOD, STYLE_GOOD, STYLE_WARN, STYLE_BAD,
					     STYLE_MUTED };

	return styles[a];
}

static const char *stack_page_answer_text(struct arena *a, const struct code_served *o)
{
	switch (o->answer) {
	case CODE_NATIVE:
		return arena_printf(a, "native (%s)", code_name(a, o->by));
	case CODE_FAMILY:
		return arena_printf(a, "same family (%s)", code_name(a, o->by));
	case CODE_JIT:
		return arena_printf(a, "compiled at each start (%s)", code_name(a, o->by));
	case CODE_CANNOT:
		return "cannot run";
	default:
		return "no GPU code";
	}
}

static const char *stack_page_codes_text(struct arena *a, const struct code_set *set)
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
		if (s->answers[0].containers[k])
			text_printf(&t, "%s%zu %s", t.len ? ", " : "", s->answers[0].containers[k],
				    code_answer_name((unsigned)k));
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
	for (; i < n; i++)
		c[i + 1] = cell_as(answer_style(s->answers[i].answer),
				   stack_page_answer_text(d->arena, &s->answers[i]));
	c[n + 1] = cell(stack_page_codes_text(d->arena, &s->codes));
	if (n)
		c[n + 2] = cell(containers_text(d->arena, s));
}

static struct node *stack_page_table(struct doc *d, const struct arch_view *v)
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

static void stack_page_problems(struct doc *d, const struct arch_view *v)
{
	struct node *b = NULL;

	for (size_t i = 0; i < v->n; i++)
		for (size_t k = 0; k < v->files[i].n_kept; k++) {
			if (!b) {
				doc_heading(d, 2, "Broken files");
				b = doc_bullets(d);
			}
			node_bullet(d, b,
				    cell_printf(d, STYLE_BAD, "%s: %s", v->files[i].path,
						v->files[i].problems[k]));
		}
}

static void stack_page_summary(struct doc *d, const struct arch_view *v, size_t with_code)
{
	uint64_t bytes = 0;
	size_t opened = 0;

	for (size_t i = 0; i < v->n; i++) {
		bytes += v->files[i].size;
		opened += v->files[i].opened;
	}
	doc_text(d, "%zu file%s, %.1f GB; %zu with GPU code.", v->n, PLURAL(v->n),
		 (double)bytes / 1e9, with_code);
	if (v->how->deep)
		doc_text(d, "%zu entries were unpacked and match their headers.", opened);
	for (size_t g = 0; g < v->how->n_gpus; g++) {
		size_t count[CODE_ANSWERS] = { 0 };

		for (size_t i = 0; i < v->n; i++)
			if (v->files[i].entries)
				count[v->files[i].answers[g].answer]++;
		doc_text(d,
			 "sm_%u (%s): %zu native, %zu of its family, %zu compiled at each start, "
			 "%zu cannot run.",
			 v->how->gpus[g].sm, v->gpus_from, count[CODE_NATIVE], count[CODE_FAMILY],
			 count[CODE_JIT], count[CODE_CANNOT]);
	}
	if (!v->how->n_gpus)
		doc_text(d, "Target GPU unknown: %s. Give one, such as --gpu sm_121.",
			 v->gpus_from);
}

struct doc *page_stack_arch(struct arena *a, const struct arch_view *v)
{
	struct doc *d = doc_new(a);
	struct node *t;
	size_t with_code = 0;

	for (size_t i = 0; i < v->n; i++)
		with_code += v->files[i].entries > 0;
	doc_heading(d, 1, "GPU code");
	stack_page_summary(d, v, with_code);
	t = stack_page_table(d, v);
	for (size_t i = 0; i < v->n; i++) {
		const struct scan *s = &v->files[i];

		if (!arch_shows(s, v))
			continue;
		file_row(d, t, s, v, 0);
		for (size_t k = 0; k < s->n_parts; k++)
			file_row(d, t, &s->parts[k], v, 1);
	}
	stack_page_problems(d, v);
	return d;
}

/* The software stack: what is wrong first, with the command that mends it; then what is there. */

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

static void check_summary(struct doc *d, const struct stack_view *v)
{
	const struct stack_findings *f = v->found;
	const char *gpus = "";

	for (size_t i = 0; i < v->how->n_gpus; i++)
		gpus = arena_printf(d->arena, "%s%ssm_%u", gpus, i ? ", " : "", v->how->gpus[i].sm);
	doc_verdict(d,
		    f->count[VERDICT_FAIL]	? STYLE_BAD
		    : f->count[VERDICT_UNKNOWN] ? STYLE_UNKNOWN
						: STYLE_GOOD,
		    arena_printf(d->arena,
				 "%zu failed, %zu unreadable, %zu passed, %zu do not apply",
				 f->count[VERDICT_FAIL], f->count[VERDICT_UNKNOWN],
				 f->count[VERDICT_PASS], f->count[VERDICT_NA]),
		    NULL);
	doc_text(d, "%s. %zu libraries and packages in %zu places, for %s%s%s.",
		 v->rootfs ? v->rootfs : fact_text(&v->m->nodename, "This machine"),
		 v->inv->n_items, v->inv->n_places, *gpus ? gpus : "no GPU", *gpus ? "" : ": ",
		 *gpus ? "" : v->gpus_from);
}

static void stack_page_findings(struct doc *d, const struct stack_view *v)
{
	struct node *list = doc_findings(d, NULL);

	for (size_t i = 0; i < v->found->n; i++) {
		const struct stack_finding *f = &v->found->items[i];
		bool mend = f->verdict == VERDICT_FAIL || f->verdict == VERDICT_NA;

		const char *on = f->target;

		if (!v->all && (f->verdict == VERDICT_PASS || f->verdict == VERDICT_NA))
			continue;
		/* One reason of several is shown once. */
		for (; f->verdict == VERDICT_UNKNOWN && i + 1 < v->found->n &&
		       f[1].verdict == f->verdict && f[1].reason == f->reason;
		     i++)
			on = arena_printf(d->arena, "%s, %s", on, (++f)->target);
		node_found(d, list,
			   &(struct found){ .badge = cell_as(mark_style(f), mark(f)),
					    .id = f->id,
					    .on = on,
					    .now = f->current,
					    .wanted = f->verdict == VERDICT_PASS ? NULL : f->wanted,
					    .why = f->reason,
					    .fix = cell_as(STYLE_CODE, mend ? f->command : NULL) });
	}
}

static void places(struct doc *d, const struct stack_view *v)
{
	struct node *t = DOC_TABLE(d, NULL, "!Place", "!Component", "Version", "Known by",
				   "GPU code", "~Path");

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
			       it->said ? "reported by the loaded library" : it->version_from);
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
	check_summary(d, v);
	stack_page_findings(d, v);
	if (v->inv->n_items) {
		doc_heading(d, 2, "Installed");
		places(d, v);
	}
	return d;
}

/* The build environment as a page and as lines for a shell. */

struct doc *page_stack_env(struct arena *a, const struct build_env *env)
{
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, "Build environment");
	if (env->missing)
		doc_text(d, "CUDA builds are not possible: %s (%s).", env->missing, env->gpus_from);
	if (env->unseen)
		doc_text(d, "Unreadable: %s.", env->unseen);
	t = DOC_TABLE(d, NULL, "Variable", "Value", "~Why");
	for (size_t i = 0; i < env->n; i++) {
		const struct build_line *l = &env->lines[i];

		NODE_ROW(d, t, cell_as(STYLE_STRONG, l->name),
			 cell_printf(d, STYLE_CODE, "%s%s", l->value, l->before ? ":..." : ""),
			 cell(l->reason));
	}
	doc_heading(d, 2, "Recipe flags without effect, or harmful");
	t = DOC_TABLE(d, NULL, "~Flag", "~Why not", "~Instead", "Set here");
	for (size_t i = 0; i < env->n_flags; i++) {
		const struct dead_flag *f = env->flags[i].flag;

		NODE_ROW(d, t, cell_as(STYLE_CODE, f->flag), cell(f->why),
			 cell(f->instead ? f->instead : "remove it"),
			 cell_as(STYLE_BAD, env->flags[i].set_here));
	}
	node_drop_empty(t);
	return d;
}

/* A comment ends at a line's end, whatever a version or path holds. */
static void comment(FILE *out, const char *s)
{
	TEXT_AUTO t = { 0 };

	display_clean(&t, s, false);
	fprintf(out, "%s\n", t.s ? t.s : "");
}

void stack_env_shell(FILE *out, struct arena *a, const struct build_env *env)
{
	fputs("# Source this file: it only sets variables.\n", out);
	if (env->missing) {
		fputs("# CUDA builds are not possible: ", out);
		comment(out, env->missing);
	}
	if (env->unseen) {
		fputs("# Unreadable: ", out);
		comment(out, env->unseen);
	}
	for (size_t i = 0; i < env->n; i++) {
		const struct build_line *l = &env->lines[i];

		fputs("\n# ", out);
		comment(out, l->reason);
		fprintf(out, "export %s=%s%s\n", l->name, shell_quote(a, l->value),
			l->before ? "${PATH:+:$PATH}" : "");
	}
	for (size_t i = 0; i < env->n_flags; i++)
		if (env->flags[i].set_here) {
			fputs("\n# ", out);
			comment(out, env->flags[i].flag->why);
			fprintf(out, "unset %s\n", env->flags[i].flag->name);
		}
}

/* A build plan. */

static const char *stack_page_command(struct arena *a, const struct build_step *s)
{
	TEXT_AUTO t = { 0 };

	for (char **w = s->argv; *w; w++)
		text_printf(&t, "%s%s", w == s->argv ? "" : " ", knob_quote(a, *w));
	return arena_strdup(a, t.s);
}

struct doc *page_build_plan(struct arena *a, const struct build_plan *p)
{
	static const enum style styles[] = { STYLE_PLAIN, STYLE_GOOD, STYLE_BAD };
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, "Build plan");
	doc_text(d,
		 "%s: about %u GiB of disk (%.0f are free), %u parallel compilers for %.0f GiB of "
		 "memory, about %.1f hours. Sizes and times are estimates.",
		 p->dir, p->disk_gib, p->disk_free_gib, p->jobs, p->memory_gib, p->hours);
	if (p->lacks)
		node_span(d, doc_paragraph(d), cell_as(STYLE_BAD, p->lacks));
	t = DOC_TABLE(d, NULL, "Step", "State", "~What", ">GiB", "~Command");
	for (size_t i = 0; i < p->n; i++) {
		const struct build_step *s = &p->steps[i];
		struct cell *c =
			NODE_ROW(d, t, cell_as(STYLE_STRONG, s->id),
				 cell_as(styles[s->state], step_state_names[s->state]),
				 cell(s->lacks && s->state == STEP_LACKS
					      ? arena_printf(a, "%s; but %s", s->title, s->lacks)
					      : s->title));

		if (s->disk_gib)
			c[3] = cellf(d, "%u", s->disk_gib);
		c[4] = cell_as(STYLE_CODE, stack_page_command(a, s));
	}
	return d;
}

/* A wheelhouse: what is in it, what is wrong with it, how two differ. */

static const char *target(struct arena *a, const struct wheelhouse *h)
{
	return arena_printf(a, "%s%s%s%s%s", h->arch, h->python ? ", Python " : "",
			    h->python ? h->python : "", *h->gpus ? ", " : "", h->gpus);
}

static void wheels(struct doc *d, const struct wheelhouse *h)
{
	struct node *t = DOC_TABLE(d, NULL, "Package", "Version", "Python", "Platform", ">MB",
				   "~GPU code", "SHA-256", "Added");

	for (size_t i = 0; i < h->n; i++) {
		const struct house_wheel *w = &h->wheels[i];

		NODE_ROW(d, t, cell_as(STYLE_STRONG, w->name), cell(w->version),
			 cellf(d, "%s-%s", w->python, w->abi), cell(w->platform),
			 cellf(d, "%.1f", (double)w->size / 1e6), cell(w->gpu_code),
			 cell_printf(d, STYLE_MUTED, "%.12s", w->sha256), cell(w->added));
	}
	node_drop_empty(t);
}

struct doc *page_wheelhouse(struct arena *a, const struct wheelhouse *h)
{
	const struct house_verdict *v = &h->verdict;
	struct doc *d = doc_new(a);
	struct node *b;

	doc_heading(d, 1, "Wheelhouse");
	doc_text(d, "%s: %zu wheels for %s%s.", h->dir, h->n, target(a, h),
		 h->is_signed ? "; signed" : "; not signed");
	if (h->verified) {
		doc_text(d, "%zu of %zu match the manifest%s%s.", v->checked, h->n,
			 v->signer ? "; the manifest is signed by " : "",
			 v->signer ? v->signer : "");
		b = doc_bullets(d);
		for (size_t i = 0; i < v->n; i++)
			node_bullet(d, b,
				    cell_printf(d, STYLE_BAD, "%s: %s", v->items[i].file,
						v->items[i].what));
	}
	wheels(d, h);
	return d;
}

struct doc *page_wheelhouse_diff(struct arena *a, const struct wheelhouse_diff *v)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Wheelhouses");
	doc_text(d, "%s: %zu wheels for %s. %s: %zu wheels for %s.", v->a.dir, v->a.n,
		 target(a, &v->a), v->b.dir, v->b.n, target(a, &v->b));
	if (!v->n)
		doc_text(d, "Both contain the same wheels.");
	shape_table(d, NULL, &house_difference_shape, v->items, v->n);
	return d;
}
