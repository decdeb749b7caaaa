/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The boost slider "vboost" of a GPU: NVIDIA's management library has no call for it, its program
 * nvidia-smi does. Object: the GPU's PCI address, which means the same GPU to every process, as the
 * program's own numbers do not. Questions: "vboost" (the level; can be told) and "vboost.max".
 */
#include "machine/host/boost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/host/ask.h"
#include "machine/host/command.h"

enum { LIMIT_MS = 10000, OUTPUT_MAX = 64 * 1024, LEVEL_MAX = 99 };

/* "|   0     vboost           4              0       |": largest and present level. */
int boost_parse(const char *output, unsigned *max, unsigned *level)
{
	static const char name[] = "vboost";
	const char *row = strstr(output, name);

	if (!row)
		return -EOPNOTSUPP;
	if (sscanf(row + sizeof(name) - 1, " %2u %2u", max, level) != 2)
		return -EPROTO;
	/* One GPU was asked about: a second row is somebody else's. */
	return strstr(row + 1, name) || *level > *max ? -EPROTO : 0;
}

static int boost_ask(void **state, struct arena *a, const char *object, const char *field,
		     struct answer *out)
{
	char *argv[] = { "nvidia-smi", "boost-slider", "-i", arena_strdup(a, object), "-l", NULL };
	bool ask_max = strcmp(field, "vboost.max") == 0;
	unsigned max, level;
	const char *output;
	int r;

	(void)state;
	if (!command_is_pci(object) || (!ask_max && strcmp(field, "vboost") != 0))
		return -EINVAL;
	r = command_say(a, argv, LIMIT_MS, OUTPUT_MAX, &output);
	if (r == 0)
		r = boost_parse(output, &max, &level);
	if (r)
		return r;
	answer_int(out, ask_max ? max : level);
	return 0;
}

static int boost_tell(void **state, struct arena *a, const char *object, const char *field,
		      const struct answer *value)
{
	char *argv[] = { "nvidia-smi", "boost-slider", "-i", arena_strdup(a, object),
			 "--vboost",   NULL,	       NULL };

	(void)state;
	if (strcmp(field, "vboost") != 0)
		return -EOPNOTSUPP;
	if (!command_is_pci(object) || value->kind != ANSWER_INT || value->i < 0 ||
	    value->i > LEVEL_MAX)
		return -EINVAL;
	argv[5] = arena_printf(a, "%lld", value->i);
	return command_say(a, argv, LIMIT_MS, OUTPUT_MAX, NULL);
}

const struct provider provider_boost = {
	.api = "boost-slider",
	.ask = boost_ask,
	.tell = boost_tell,
};
