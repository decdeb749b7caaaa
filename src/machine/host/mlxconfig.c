/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link layer of a ConnectX port, which its firmware takes up at the next boot: asked and told
 * by NVIDIA's own program. Object: the adapter's PCI address. Questions: "LINK_TYPE_P1" and
 * "LINK_TYPE_P2", 1 for InfiniBand, 2 for Ethernet, 3 for whichever the cable speaks.
 */
#include "machine/host/mlxconfig.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/ask.h"
#include "machine/host/command.h"

enum { LIMIT_MS = 30000, OUTPUT_MAX = 64 * 1024, TYPE_MAX = 3 };

static bool is_type(const char *field)
{
	return strcmp(field, "LINK_TYPE_P1") == 0 || strcmp(field, "LINK_TYPE_P2") == 0;
}

int mlxconfig_parse(const char *output, const char *name, long long *out)
{
	const char *row = strstr(output, name), *end, *open;
	char number[8] = "", rest;
	long long v;

	if (!row)
		return -EOPNOTSUPP;
	row += strlen(name);
	end = row + strcspn(row, "\n");
	open = end;
	while (open > row && *open != '(')
		open--;
	if (*open != '(' || sscanf(open, "(%7[0-9]%c", number, &rest) != 2 || rest != ')' ||
	    parse_i64(number, &v))
		return -EPROTO;
	*out = v;
	return 0;
}

static int mlxconfig_ask(void **state, struct arena *a, const char *object, const char *field,
			 struct answer *out)
{
	char *argv[] = {
		"mlxconfig", "-d", arena_strdup(a, object), "query", arena_strdup(a, field), NULL
	};
	const char *output;
	long long v;
	int r;

	(void)state;
	if (!command_is_pci(object) || !is_type(field))
		return -EINVAL;
	r = command_say(a, argv, LIMIT_MS, OUTPUT_MAX, &output);
	if (r == 0)
		r = mlxconfig_parse(output, field, &v);
	if (r)
		return r;
	answer_int(out, v);
	return 0;
}

static int mlxconfig_tell(void **state, struct arena *a, const char *object, const char *field,
			  const struct answer *value)
{
	char *argv[] = { "mlxconfig", "-y", "-d", arena_strdup(a, object), "set", NULL, NULL };

	(void)state;
	if (!command_is_pci(object) || !is_type(field) || value->kind != ANSWER_INT ||
	    value->i < 1 || value->i > TYPE_MAX)
		return -EINVAL;
	argv[5] = arena_printf(a, "%s=%lld", field, value->i);
	return command_say(a, argv, LIMIT_MS, OUTPUT_MAX, NULL);
}

const struct provider provider_mlxconfig = {
	.api = "mlxconfig",
	.ask = mlxconfig_ask,
	.tell = mlxconfig_tell,
};
