/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's programs for the power modes and clocks of Jetson and IGX machines, which have no other
 * interface that is documented. Object: "". Source: Jetson Linux Developer Guide r36, Platform
 * Power and Performance (nvpmodel -q, -m; jetson_clocks --show, --store, --restore).
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/ask.h"
#include "machine/host/command.h"

enum { JETSON_MS = 30000, JETSON_OUTPUT = 64 * 1024, MODES = 64 };

/* "NV Power Mode: MAXN" and the mode's number in the next line. */
int nvpmodel_parse(const char *output, long long *mode)
{
	static const char key[] = "NV Power Mode:";
	const char *row = strstr(output, key), *line;
	char number[4] = "", rest = '\n';

	if (!row)
		return -EPROTO;
	line = strchr(row, '\n');
	if (!line || sscanf(line + 1, "%3[0-9]%c", number, &rest) < 1 || rest != '\n' ||
	    parse_i64(number, mode) || *mode >= MODES)
		return -EPROTO;
	return 0;
}

static int nvpmodel_ask(void **state, struct arena *a, const char *object, const char *field,
			struct answer *out)
{
	char *argv[] = { "nvpmodel", "-q", NULL };
	const char *output;
	long long mode = 0;
	int r;

	(void)state;
	if (*object || strcmp(field, "mode") != 0)
		return -EINVAL;
	r = command_report(a, argv, JETSON_MS, JETSON_OUTPUT, &output);
	if (r == 0)
		r = nvpmodel_parse(output, &mode);
	if (r == 0)
		answer_int(out, mode);
	return r;
}

/* Some modes need another start, which the program asks about on its standard input: that is empty
 * here, so that it refuses. -ERESTART then. */
static int nvpmodel_set(void **state, struct arena *a, const char *object, const char *field,
			const struct answer *value)
{
	char *argv[] = { "nvpmodel", "-m", NULL, NULL };
	struct command_result result = { 0 };
	int r;

	(void)state;
	if (*object || strcmp(field, "mode") != 0 || value->kind != ANSWER_INT || value->i < 0 ||
	    value->i >= MODES)
		return -EINVAL;
	argv[2] = arena_printf(a, "%lld", value->i);
	r = command_run(a, argv, JETSON_MS, JETSON_OUTPUT, &result);
	if (r)
		return r;
	if (strstr(result.output, "eboot required") || strstr(result.errors, "eboot required"))
		return -ERESTART;
	if (strstr(result.output, "NVPM ERROR") || strstr(result.errors, "NVPM ERROR"))
		return -EIO;
	return command_errno(&result);
}

const struct provider provider_nvpmodel = {
	.api = "nvpmodel",
	.ask = nvpmodel_ask,
	.tell = nvpmodel_set,
};

/* What the line says behind the key; -1: the line has none. */
static long long number_behind(const char *line, size_t n, const char *key)
{
	const char *at = memmem(line, n, key, strlen(key));
	char text[20] = "";
	long long v;

	return at && sscanf(at + strlen(key), "%19[0-9]", text) == 1 && parse_i64(text, &v) == 0
		       ? v
		       : -1;
}

/* Whether all processors that are online, the GPU and the memory run at their highest clock. */
int jetson_clocks_parse(const char *output, bool *max)
{
	size_t cpus = 0, n;

	*max = true;
	for (const char *line = output; *line; line += n + (line[n] == '\n')) {
		long long least, most;

		n = strcspn(line, "\n");
		least = number_behind(line, n, "MinFreq=");
		most = number_behind(line, n, "MaxFreq=");
		if (least < 0 || most < 0 || number_behind(line, n, "Online=") == 0)
			continue;
		cpus += str_starts(line, "cpu");
		*max = *max && number_behind(line, n, "FreqOverride=") != 0 &&
		       (least == most || str_starts(line, "EMC"));
	}
	return cpus ? 0 : -EPROTO;
}

static int jetson_clocks_ask(void **state, struct arena *a, const char *object, const char *field,
			     struct answer *out)
{
	char *argv[] = { "jetson_clocks", "--show", NULL };
	const char *output;
	bool max = false;
	int r;

	(void)state;
	if (*object || strcmp(field, "max") != 0)
		return -EINVAL;
	r = command_report(a, argv, JETSON_MS, JETSON_OUTPUT, &output);
	if (r == 0)
		r = jetson_clocks_parse(output, &max);
	if (r == 0)
		answer_int(out, max);
	return r;
}

/* What the clocks were is kept by the program itself, in a file of ours that nothing else reads. It
 * asks before it overwrites one: an older one goes first. */
static int jetson_clocks_set(void **state, struct arena *a, const char *object, const char *field,
			     const struct answer *value)
{
	char kept[] = "/var/lib/gputune/jetson_clocks.conf";
	char *store[] = { "jetson_clocks", "--store", kept, NULL },
	     *restore[] = { "jetson_clocks", "--restore", kept, NULL },
	     *max[] = { "jetson_clocks", NULL };
	int r;

	(void)state;
	if (*object || strcmp(field, "max") != 0 || value->kind != ANSWER_INT)
		return -EINVAL;
	if (!value->i) {
		if (access(kept, F_OK))
			return -ENOENT;
		r = command_report(a, restore, JETSON_MS, JETSON_OUTPUT, NULL);
		return r ? r : unlink(kept) ? -errno : 0;
	}
	if (unlink(kept) && errno != ENOENT)
		return -errno;
	r = command_report(a, store, JETSON_MS, JETSON_OUTPUT, NULL);
	return r ? r : command_report(a, max, JETSON_MS, JETSON_OUTPUT, NULL);
}

const struct provider provider_jetson_clocks = {
	.api = "jetson-clocks",
	.ask = jetson_clocks_ask,
	.tell = jetson_clocks_set,
};
