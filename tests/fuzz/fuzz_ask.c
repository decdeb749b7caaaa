/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as the question of a verb, which the first byte names, '0' and up, sub-verbs after their
 * verb: refused with a sentence, or read. */
#include <stdlib.h>
#include <string.h>

#include "base/ask.h"
#include "verbs/verbs.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { VERBS_MAX = 256 };

static size_t add_asks(const struct ask_shape **out, size_t n, const struct verb *const *verbs)
{
	for (; verbs && *verbs && n < VERBS_MAX; verbs++) {
		if ((*verbs)->ask)
			out[n++] = (*verbs)->ask;
		n = add_asks(out, n, (*verbs)->subs);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const struct ask_shape *asks[VERBS_MAX];
	size_t n = add_asks(asks, 0, answering_verbs), which;
	struct arena a = { 0 };
	struct err e = { 0 };
	json_error_t why;
	json_t *j;

	if (!size)
		return 0;
	which = (size_t)(data[0] - '0') % n;
	j = json_loadb((const char *)data + 1, size - 1, JSON_ALLOW_NUL, &why);
	if (j && ask_read(&a, asks[which], j, arena_alloc(&a, asks[which]->size), &e) && !e.text[0])
		abort();
	json_decref(j);
	arena_free(&a);
	return 0;
}
