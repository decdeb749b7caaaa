/* SPDX-License-Identifier: Apache-2.0 */
/* What is drawn or said for people: nothing in it moves a terminal's cursor or ends a line. */
#ifndef FUZZ_PLAIN_H
#define FUZZ_PLAIN_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* besides: the control characters that such a text is made of, "\n" of a page. */
static inline void fuzz_plain(const char *text, size_t n, const char *besides)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < ' ' && (!c || !strchr(besides, c))) || c == 0x7f)
			abort();
	}
}

#endif
