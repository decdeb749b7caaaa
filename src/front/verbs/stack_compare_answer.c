/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of the process of one side, which is not believed: its library may write anything. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "front/verbs/stack_compare_side.h"
#include "machine/host/command.h"

enum { TEXT_MAX = 4096, SAID = 200 };

static const char *text_of(struct arena *a, json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && strlen(s) <= TEXT_MAX ? arena_strdup(a, s) : NULL;
}

static bool figure_of(struct arena *a, json_t *j, struct bench_figure *out, double *value)
{
	json_t *v = json_object_get(j, "value");

	*out = (struct bench_figure){ .key = text_of(a, j, "key"),
				      .title = text_of(a, j, "title"),
				      .unit = text_of(a, j, "unit"),
				      .unit_text = text_of(a, j, "unit_text"),
				      .better = json_is_true(json_object_get(j, "lower"))
							? BENCH_LOWER
							: BENCH_HIGHER };
	*value = json_is_number(v) ? json_number_value(v) : 0;
	return out->key && out->title && out->unit && out->unit_text && isfinite(*value);
}

static bool figures_of(struct arena *a, json_t *j, struct compare_reading *out)
{
	json_t *list = json_object_get(j, "figures"), *first = json_object_get(j, "first");
	size_t n = json_array_size(list);

	if (!n || n > WINDOW_FIGURES)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!figure_of(a, json_array_get(list, i), &out->figures[i], &out->value[i]))
			return false;
	out->n = n;
	if (!json_is_number(first))
		return out->value[0] > 0;
	out->figures[n] = out->figures[0];
	out->figures[n].key = "first-proposal";
	out->figures[n].title = "by the library's first proposal, cold";
	out->value[out->n++] = json_number_value(first);
	return out->value[0] > 0;
}

static int take(struct arena *a, const struct stack_side *side, json_t *j,
		struct compare_reading *out, struct err *e)
{
	const char *library = text_of(a, j, "library");

	out->name = text_of(a, j, "name");
	out->setup = text_of(a, j, "setup");
	out->variant = text_of(a, j, "variant");
	if (!out->name || !figures_of(a, j, out))
		return err_set(e, -EBADMSG, "its answer makes no sense");
	if (!library || strcmp(library, side->file) != 0)
		return err_set(e, -EBADMSG, "%s was loaded, not %s",
			       library ? library : "no such library", side->file);
	return 0;
}

int compare_answer(struct arena *a, const struct stack_side *side, const struct command_result *r,
		   struct compare_reading *out, struct err *e)
{
	json_t *j = json_loads(r->output, JSON_REJECT_DUPLICATES, NULL);
	const char *why = text_of(a, j, "error"), *said = command_last_line(a, r->errors, SAID);
	int code;

	if (r->status > 128)
		code = err_set(
			e, -EBADMSG, "the process that measures it ended with signal %d (%s)%s%s",
			r->status - 128, strsignal(r->status - 128), *said ? ": " : "", said);
	else if (why && *why)
		code = err_set(e, r->status == EXIT_FINDINGS ? -EBADMSG : -ENODATA, "%s", why);
	else if (r->status || !j)
		code = err_set(e, -EBADMSG, "the process that measures it ended with status %d%s%s",
			       r->status, *said ? ": " : "", said);
	else
		code = take(a, side, j, out, e);
	json_decref(j);
	return code;
}
