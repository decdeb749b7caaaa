/* SPDX-License-Identifier: Apache-2.0 */
/* A build plan as a page and as JSON (schemas/stack-build-plan.json). */
#include <string.h>

#include "base/text.h"
#include "render/json_value.h"
#include "look/stack/page_stack.h"

static const char *const states[] = { "to do", "done", "lacks" };

static const char *command(struct arena *a, const struct build_step *s)
{
	TEXT_AUTO t = { 0 };

	for (char **w = s->argv; *w; w++)
		text_printf(&t, strpbrk(*w, " ;'\"$&|<>*?") ? "%s'%s'" : "%s%s",
			    w == s->argv ? "" : " ", *w);
	return arena_strdup(a, t.s);
}

struct doc *page_build_plan(struct arena *a, const struct build_plan *p)
{
	static const enum style styles[] = { STYLE_PLAIN, STYLE_GOOD, STYLE_BAD };
	static const struct column columns[] = { { .title = "Step" },
						 { .title = "State" },
						 { .title = "What", .wrap = true },
						 { .title = "GiB", .right = true },
						 { .title = "Command", .wrap = true } };
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, "Build plan");
	doc_text(d,
		 "%s: about %u GiB of disk (%.0f are free), %u compilers at a time for %.0f GiB of "
		 "memory, about %.1f hours. Sizes and times are estimates.",
		 p->dir, p->disk_gib, p->disk_free_gib, p->jobs, p->memory_gib, p->hours);
	if (p->lacks)
		node_span(d, doc_paragraph(d), cell_as(STYLE_BAD, p->lacks));
	t = doc_table(d, NULL, columns, 5);
	for (size_t i = 0; i < p->n; i++) {
		const struct build_step *s = &p->steps[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_STRONG, s->id);
		c[1] = cell_as(styles[s->state], states[s->state]);
		c[2] = cell(s->lacks && s->state == STEP_LACKS
				    ? arena_printf(a, "%s; but %s", s->title, s->lacks)
				    : s->title);
		if (s->disk_gib)
			c[3] = cell_printf(d, STYLE_PLAIN, "%u", s->disk_gib);
		c[4] = cell_as(STYLE_CODE, command(a, s));
	}
	return d;
}

json_t *build_plan_json(const struct build_plan *p, long long time_s, int exit_code)
{
	json_t *j = json_head("gputune.stack-build-plan/1", time_s, exit_code);
	json_t *steps = json_array();

	json_object_set_new(j, "dir", json_text(p->dir));
	json_object_set_new(j, "disk_gib", json_integer(p->disk_gib));
	json_object_set_new(j, "disk_free_gib", json_real(p->disk_free_gib));
	json_object_set_new(j, "memory_available_gib", json_real(p->memory_gib));
	json_object_set_new(j, "jobs", json_integer(p->jobs));
	json_object_set_new(j, "hours", json_real(p->hours));
	json_object_set_new(j, "lacks", json_text(p->lacks));
	for (size_t i = 0; i < p->n; i++) {
		const struct build_step *s = &p->steps[i];
		json_t *o = json_object(), *argv = json_array();

		json_object_set_new(o, "id", json_text(s->id));
		json_object_set_new(o, "title", json_text(s->title));
		json_object_set_new(o, "state", json_string(states[s->state]));
		json_object_set_new(o, "lacks", json_text(s->lacks));
		for (char **w = s->argv; *w; w++)
			json_array_append_new(argv, json_text(*w));
		json_object_set_new(o, "argv", argv);
		json_object_set_new(o, "disk_gib", json_integer(s->disk_gib));
		json_object_set_new(o, "memory_gib", json_integer(s->memory_gib));
		json_object_set_new(o, "log", json_text(s->log));
		json_array_append_new(steps, o);
	}
	json_object_set_new(j, "steps", steps);
	return j;
}
