/* SPDX-License-Identifier: Apache-2.0 */
/* Names that launchers put before a node's line; none of them has a brace in it. */
#include <string.h>

#include "many/fleet/fleet.h"

enum { NODE_NAME_MAX = 255 };

static bool letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("-._@", c));
}

bool fleet_line(struct arena *a, const char *line, size_t len, const char **name, const char **rest)
{
	const char *brace = memchr(line, '{', len), *end = brace ? brace : line + len, *at = line;
	size_t n = 0;

	/* "[pod/gputune-x7k2p/look] ": the pod. */
	if (end - at > 5 && strncmp(at, "[pod/", 5) == 0)
		at += 5;
	while (at + n < end && n < NODE_NAME_MAX && letter(at[n]))
		n++;
	/* "node7: ", "node7 | SUCCESS | rc=0 | (stdout) "; anything else is a text. */
	if (n && at + n < end &&
	    ((at > line && at[n] == '/') || at[n] == ':' ||
	     (end - at - (ptrdiff_t)n > 2 && strncmp(at + n, " | ", 3) == 0))) {
		*name = arena_printf(a, "%.*s", (int)n, at);
		*rest = brace ? brace : at + n + 1 + strspn(at + n + 1, " |");
	} else {
		*name = "";
		*rest = brace ? brace : line;
	}
	return brace != NULL;
}
