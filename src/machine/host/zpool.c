/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of ZFS pools by zpool(8): OpenZFS has no other interface that is kept. Object: the
 * pool. Questions: the properties below, which can be told too.
 */
#include <string.h>

#include "base/text.h"
#include "machine/host/ask.h"
#include "machine/host/command.h"

/* Setting waits for the pool's next transaction group, which a busy disk delays. */
enum { ASK_MS = 5000, TELL_MS = 30000, OUTPUT_MAX = 4096 };

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";

/* A word that can be neither an option nor two arguments. */
static bool is_plain(const char *s)
{
	return *s && *s != '-' && strlen(s) < 256 && !s[strspn(s, plain)];
}

static int check(const char *pool, const char *property)
{
	static const char *const properties[] = { "autotrim" };

	if (!is_plain(pool))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
		if (strcmp(properties[i], property) == 0)
			return 0;
	return -EINVAL;
}

static int zpool_ask(void **state, struct arena *a, const char *object, const char *field,
		     struct answer *out)
{
	char *argv[] = { "zpool",
			 "get",
			 "-Hp",
			 "-o",
			 "value",
			 arena_strdup(a, field),
			 arena_strdup(a, object),
			 NULL };
	const char *output, *value;
	size_t n;
	int r = check(object, field);

	(void)state;
	if (r == 0)
		r = command_say(a, argv, ASK_MS, OUTPUT_MAX, &output);
	if (r)
		return r;
	value = str_trim(output, strlen(output), &n);
	/* A property that this version does not have. */
	if (n == 0 || (n == 1 && *value == '-'))
		return -EOPNOTSUPP;
	answer_text(out, arena_strndup(a, value, n));
	return 0;
}

static int zpool_tell(void **state, struct arena *a, const char *object, const char *field,
		      const struct answer *value)
{
	char *argv[] = { "zpool", "set", NULL, arena_strdup(a, object), NULL };
	int r = check(object, field);

	(void)state;
	if (r)
		return r;
	if (value->kind != ANSWER_TEXT || !is_plain(value->text))
		return -EINVAL;
	argv[2] = arena_printf(a, "%s=%s", field, value->text);
	return command_say(a, argv, TELL_MS, OUTPUT_MAX, NULL);
}

const struct provider provider_zpool = { .api = "zpool", .ask = zpool_ask, .tell = zpool_tell };
