/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the process of one side, and reading its answer without believing it. */
#include "cmd/stack_compare_side.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "host/command.h"

enum { ANSWER_MAX = 256 << 10, TEXT_MAX = 4096, SAID = 200, WORDS = 20 };

static const char folder_variable[] = "GPUTUNE_LIB_DIR=";

static char **environment(struct arena *a, const char *folder)
{
	size_t n = 0, kept = 0;
	char **out;

	while (environ[n])
		n++;
	out = arena_array(a, n + 2, sizeof(*out));
	for (size_t i = 0; i < n; i++)
		if (!str_starts(environ[i], folder_variable))
			out[kept++] = environ[i];
	out[kept] = arena_printf(a, "%s%s", folder_variable, folder);
	return out;
}

int compare_process_make(struct arena *a, const struct run *r, const char *bench,
			 const struct stack_side *side, struct compare_process *out, struct err *e)
{
	static const enum option_id passed[] = { OPT_FOR, OPT_GPUS, OPT_FILES, OPT_DIR };
	char self[4096] = "", **argv = arena_array(a, WORDS, sizeof(*argv));
	size_t n = 0;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return err_set(e, -errno, "/proc/self/exe: %s", strerror(errno));
	if (strchr(side->folder, ':'))
		return err_set(e, -EINVAL, "%s: a folder with a colon in its name cannot be named",
			       side->folder);
	argv[n++] = arena_strdup(a, self);
	argv[n++] = arena_strdup(a, "stack");
	argv[n++] = arena_strdup(a, "compare-one");
	argv[n++] = arena_strdup(a, bench);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (r->value[passed[i]]) {
			argv[n++] = arena_printf(a, "--%s", option_rows[passed[i]].name);
			argv[n++] = arena_strdup(a, r->value[passed[i]]);
		}
	*out = (struct compare_process){ argv, environment(a, side->folder), side };
	return 0;
}

/* --- the answer --------------------------------------------------------------------------------
 */

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

/* The last line of what it said to its standard error. */
static const char *last_words(struct arena *a, const char *errors)
{
	size_t n = strlen(errors), from;
	char *line;

	while (n && (errors[n - 1] == '\n' || errors[n - 1] == ' '))
		n--;
	for (from = n; from && errors[from - 1] != '\n' && n - from < SAID; from--)
		;
	line = arena_strndup(a, errors + from, n - from);
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	return line;
}

static int judge(struct arena *a, const struct compare_process *p, const struct command_result *r,
		 struct compare_reading *out, struct err *e)
{
	json_t *j = json_loads(r->output, JSON_REJECT_DUPLICATES, NULL);
	const char *why = text_of(a, j, "error"), *said = last_words(a, r->errors);
	int code;

	if (r->status > 128)
		code = err_set(
			e, -EBADMSG, "the process that measures it ended with signal %d (%s)%s%s",
			r->status - 128, strsignal(r->status - 128), *said ? ": " : "", said);
	else if (why)
		code = err_set(e, r->status == EXIT_FINDINGS ? -EBADMSG : -ENODATA, "%s", why);
	else if (r->status || !j)
		code = err_set(e, -EBADMSG, "the process that measures it ended with status %d%s%s",
			       r->status, *said ? ": " : "", said);
	else
		code = take(a, p->side, j, out, e);
	json_decref(j);
	return code;
}

int compare_process_run(struct arena *a, const struct compare_process *p, double limit_s,
			const atomic_bool *stop, struct compare_reading *out, struct err *e)
{
	const struct command_own how = {
		.limit_ms = (int)(limit_s * 1e3), .max = ANSWER_MAX, .stop = stop, .env = p->env
	};
	struct command_result said;
	struct arena own = { 0 };
	int r = command_run_own(&own, p->argv, &how, &said);

	*out = (struct compare_reading){ 0 };
	if (r == 0)
		r = judge(a, p, &said, out, e);
	else if (r == -ETIME)
		r = err_set(e, -EBADMSG, "it did not end within %.0f s", limit_s);
	else if (r == -EINTR)
		err_set(e, r, "stopped");
	else
		r = err_set(e, -ENODATA, "%s cannot be run: %s", p->argv[0], strerror(-r));
	arena_free(&own);
	return r;
}
