/* SPDX-License-Identifier: Apache-2.0 */
/* The build environment as a page, as lines for a shell, and as JSON. */
#include <string.h>

#include "render/glyph.h"
#include "render/json_value.h"
#include "look/stack/page_stack.h"

struct doc *page_stack_env(struct arena *a, const struct env_view *v)
{
	static const struct column columns[] = { { .title = "Variable" },
						 { .title = "Value" },
						 { .title = "Why", .wrap = true } },
				   dead[] = { { .title = "Flag", .wrap = true },
					      { .title = "Why not", .wrap = true },
					      { .title = "Instead", .wrap = true },
					      { .title = "Set here" } };
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, "Build environment");
	if (v->env->missing)
		doc_text(d, "Nothing for CUDA can be built: %s (%s).", v->env->missing,
			 v->gpus_from);
	if (v->env->unseen)
		doc_text(d, "Not seen: %s.", v->env->unseen);
	t = doc_table(d, NULL, columns, 3);
	for (size_t i = 0; i < v->env->n; i++) {
		const struct build_line *l = &v->env->lines[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_STRONG, l->name);
		c[1] = cell_printf(d, STYLE_CODE, "%s%s", l->value, l->before ? ":..." : "");
		c[2] = cell(l->reason);
	}
	doc_heading(d, 2, "Flags of common recipes that do nothing, or harm");
	t = doc_table(d, NULL, dead, 4);
	for (size_t i = 0; i < dead_flag_count; i++) {
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_CODE, dead_flags[i].flag);
		c[1] = cell(dead_flags[i].why);
		c[2] = cell(dead_flags[i].instead ? dead_flags[i].instead : "leave it out");
		c[3] = cell_as(STYLE_BAD, v->set_here[i]);
	}
	node_drop_empty(t);
	return d;
}

/* In single quotes nothing means anything but a single quote. */
static void quoted(FILE *out, const char *s)
{
	fputc('\'', out);
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", out);
		else
			fputc(*s, out);
	}
	fputc('\'', out);
}

/* A comment ends at a line's end, whatever a version or path holds. */
static void comment(FILE *out, const char *s)
{
	TEXT_AUTO t = { 0 };

	glyph_clean(&t, s, false);
	fprintf(out, "%s\n", t.s ? t.s : "");
}

void stack_env_shell(FILE *out, const struct env_view *v)
{
	fputs("# Source this file: it sets variables and does nothing else.\n", out);
	if (v->env->missing) {
		fputs("# Nothing for CUDA can be built: ", out);
		comment(out, v->env->missing);
	}
	if (v->env->unseen) {
		fputs("# Not seen: ", out);
		comment(out, v->env->unseen);
	}
	for (size_t i = 0; i < v->env->n; i++) {
		const struct build_line *l = &v->env->lines[i];

		fputs("\n# ", out);
		comment(out, l->reason);
		fprintf(out, "export %s=", l->name);
		quoted(out, l->value);
		fputs(l->before ? "${PATH:+:$PATH}\n" : "\n", out);
	}
	for (size_t i = 0; i < dead_flag_count; i++)
		if (v->set_here[i]) {
			fputs("\n# ", out);
			comment(out, dead_flags[i].why);
			fprintf(out, "unset %s\n", dead_flags[i].name);
		}
}

json_t *stack_env_json(const struct env_view *v, long long time_s, int exit_code)
{
	json_t *j = json_head("gputune.stack-env/1", time_s, exit_code);
	json_t *lines = json_array(), *dead = json_array();

	json_object_set_new(j, "toolkit", json_text(v->env->toolkit));
	json_object_set_new(j, "missing", json_text(v->env->missing));
	json_object_set_new(j, "unseen", json_text(v->env->unseen));
	json_object_set_new(j, "jobs", json_integer(v->env->jobs));
	for (size_t i = 0; i < v->env->n; i++) {
		const struct build_line *l = &v->env->lines[i];

		json_array_append_new(lines,
				      json_pack("{s:s, s:o, s:b, s:o}", "name", l->name, "value",
						json_text(l->value), "prepend", (int)l->before,
						"reason", json_text(l->reason)));
	}
	json_object_set_new(j, "variables", lines);
	for (size_t i = 0; i < dead_flag_count; i++)
		json_array_append_new(dead, json_pack("{s:s, s:s, s:o, s:o}", "flag",
						      dead_flags[i].flag, "why", dead_flags[i].why,
						      "instead", json_text(dead_flags[i].instead),
						      "set_here", json_text(v->set_here[i])));
	json_object_set_new(j, "dead_flags", dead);
	return j;
}
