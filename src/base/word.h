/* SPDX-License-Identifier: Apache-2.0 */
/* Words in names. */
#ifndef BASE_WORD_H
#define BASE_WORD_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* text has word as a word of its own: "GB10" is in "NVIDIA GB10", not in "NVIDIA GB100". */
static inline bool word_in(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = text; (s = strstr(s, word)); s += n)
		if ((s == text || !isalnum((unsigned char)s[-1])) && !isalnum((unsigned char)s[n]))
			return true;
	return false;
}

#endif
