/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which Fabric Manager is installed. Object: "". Field: "version", as the program itself says it
 * ("570.133.20"): no file of its package does. It has to be the driver's own version.
 */
#include "machine/host/fabric_manager.h"

#include <string.h>

#include "machine/host/ask.h"
#include "machine/host/command.h"

enum { LIMIT_MS = 2000, OUTPUT_MAX = 4096, VERSION_MAX = 32 };

const char *fabric_manager_version(struct arena *a, const char *said)
{
	static const char mark[] = "Fabric Manager version is";
	const char *at = strstr(said, mark);
	size_t n;

	if (!at)
		return NULL;
	at += sizeof(mark) - 1;
	at += strspn(at, " :\t");
	n = strspn(at, "0123456789.");
	return n == 0 || n > VERSION_MAX ? NULL : arena_strndup(a, at, n);
}

static int manager_ask(void **state, struct arena *a, const char *object, const char *field,
		       struct answer *out)
{
	char *argv[] = { "nv-fabricmanager", "--version", NULL };
	const char *said, *version;
	int r;

	(void)state;
	if (*object || strcmp(field, "version") != 0)
		return -EINVAL;
	r = command_say(a, argv, LIMIT_MS, OUTPUT_MAX, &said);
	if (r)
		return r;
	version = fabric_manager_version(a, said);
	if (!version)
		return -EPROTO;
	answer_text(out, version);
	return 0;
}

const struct provider provider_fabric_manager = { .api = "fabric-manager", .ask = manager_ask };
