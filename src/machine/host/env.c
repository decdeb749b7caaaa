/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables of this process. Object: "". An unset one is -ENOENT. */
#include <stdlib.h>

#include "machine/host/ask.h"

static int env_ask(void **state, struct arena *a, const char *object, const char *field,
		   struct answer *out)
{
	const char *value = getenv(field);

	(void)state;
	(void)object;
	if (!value)
		return -ENOENT;
	answer_text(out, arena_strdup(a, value));
	return 0;
}

const struct provider provider_env = { .api = "env", .ask = env_ask };
