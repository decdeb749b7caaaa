/* SPDX-License-Identifier: Apache-2.0 */
/* The environment in which CUDA's driver loads our object into each process of a job. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "front/inject.h"
#include "front/terminal.h"
#include "machine/host/folder.h"

#define OBJECT "gputune-trace.so"
static const char injection[] = "CUDA_INJECTION64_PATH", file_of[] = "GPUTUNE_TRACE_FILE";

/* Beside the program, as it is built, or where it is installed; NULL. */
static const char *inject_object(struct arena *a)
{
	static const char *const folders[] = { "", "../libexec/gputune/", "../lib/gputune/" };
	char self[PATH_MAX];

	folder_of_program(self, sizeof(self));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *path = arena_printf(a, "%s/%s" OBJECT, self, folders[i]);

		if (access(path, R_OK) == 0)
			return path;
	}
	return NULL;
}

/* The job's own profiler; NULL. */
static const char *inject_profiler(char *const *command)
{
	static const char *const variables[] = { "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
						 "NSYS_PROFILING_SESSION_ID", "KINETO_USE_DAEMON" };
	static const char *const programs[] = { "nsys", "ncu", "nvprof", "dlprof",
						"compute-sanitizer" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (getenv(variables[i]))
			return variables[i];
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		const char *base = strrchr(command[0], '/');

		if (strcmp(base ? base + 1 : command[0], programs[i]) == 0)
			return programs[i];
	}
	return NULL;
}

static void inject_cupti(struct arena *a, struct injection *j)
{
	const char *object = inject_object(a);

	if (!object) {
		complain_text(0, OBJECT " is not installed: no trace is made");
		return;
	}
	setenv(injection, object, 1);
	setenv(file_of, j->path, 1);
	j->on = true;
}

/* nsys has the whole run: the job is its child, and it passes on the exit code. It names report and
 * export after what stands before a last dot. */
static char **inject_nsys(struct arena *a, struct injection *j, const char *recording,
			  char **command)
{
	const char *stem = str_ends(recording, ".rec")
				   ? arena_strndup(a, recording, strlen(recording) - 4)
				   : recording;
	const char *first[] = { "nsys",
				"profile",
				"--trace=cuda,nvtx",
				"--sample=none",
				"--cpuctxsw=none",
				"--export=sqlite",
				arena_printf(a, "--output=%s-nsys", stem) };
	enum { FIRST = sizeof(first) / sizeof(first[0]) };
	size_t n = 0;
	char **all;

	while (command[n])
		n++;
	all = arena_array(a, FIRST + n + 1, sizeof(*all));
	for (size_t i = 0; i < FIRST; i++)
		all[i] = arena_strdup(a, first[i]);
	memcpy(all + FIRST, command, n * sizeof(*all));
	j->path = arena_printf(a, "%s-nsys.sqlite", stem);
	j->on = true;
	return all;
}

char **inject_begin(struct arena *a, struct injection *j, const char *recording, char **command)
{
	const char *own = inject_profiler(command);
	char folder[PATH_MAX];
	struct err e = { 0 };

	if (own) {
		complain_text(0, "the command has its own profiler (%s): no trace is made", own);
		return command;
	}
	if (j->by == TRACER_NSYS)
		return inject_nsys(a, j, recording, command);
	if (*recording != '/' && !getcwd(folder, sizeof(folder))) {
		complain_text(0, "no trace is made: cannot read the path of the current folder");
		return command;
	}
	j->path = *recording == '/' ? arena_printf(a, "%s.trace", recording)
				    : arena_printf(a, "%s/%s.trace", folder, recording);
	if (j->by == TRACER_CUPTI)
		inject_cupti(a, j);
	else if (!(j->kineto = kineto_begin(j->path, &e)))
		complain(0, &e);
	j->on |= j->kineto != NULL;
	return command;
}

void inject_environment_back(const struct injection *j)
{
	if (j->kineto)
		kineto_environment_back();
	else if (j->on && j->by == TRACER_CUPTI)
		unsetenv(injection);
	unsetenv(file_of);
}

void inject_end(struct injection *j, bool quiet)
{
	char line[600] = "", why[160] = "";
	size_t looks = 0;
	FILE *f;

	if (!j->on)
		return;
	if (j->by == TRACER_NSYS) {
		if (access(j->path, R_OK) != 0)
			complain_text(0, "no trace: nsys did not write %s", j->path);
		else if (!quiet)
			fprintf(stderr, "gputune: the trace of nsys is in %s\n", j->path);
		return;
	}
	if (j->kineto)
		kineto_end(j->kineto);
	f = fopen(j->path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		looks += strstr(line, "\"devices\":") != NULL;
		if (strstr(line, "\"none\":\""))
			sscanf(strstr(line, "\"none\":\"") + 8, "%150[^\"]", why);
	}
	if (f)
		fclose(f);
	if (*why)
		complain_text(0, "a process was not traced: %s", why);
	else if (!looks)
		complain_text(
			0, j->kineto ? "no trace: no PyTorch process requested one, or the process "
				       "ended within 10 seconds"
				     : "no trace: no process used CUDA for at least two seconds");
	if (looks && !quiet)
		fprintf(stderr, "gputune: %zu samples in %s\n", looks, j->path);
}
