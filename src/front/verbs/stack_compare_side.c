/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the process of one side. */
#include "front/verbs/stack_compare_side.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/command.h"

enum { ANSWER_MAX = 256 << 10, WORDS = 20 };

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
		r = compare_answer(a, p->side, &said, out, e);
	else if (r == -ETIME)
		r = err_set(e, -EBADMSG, "it did not end within %.0f s", limit_s);
	else if (r == -EINTR)
		err_set(e, r, "stopped");
	else
		r = err_set(e, -ENODATA, "%s cannot be run: %s", p->argv[0], strerror(-r));
	arena_free(&own);
	return r;
}
