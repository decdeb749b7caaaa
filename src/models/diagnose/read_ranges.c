/* SPDX-License-Identifier: Apache-2.0 */
/* Names that people give the ranges of a profiler: which are steps, and their numbers. */
#include <ctype.h>
#include <string.h>

#include "models/diagnose/read.h"

enum { STEM_MOST = 64 };

/* Where the number at the end of a name begins, "step 12", "Iteration 5/100", "ProfilerStep#3";
 * its end: there is none. */
static const char *number_at(const char *name)
{
	const char *end = name + strlen(name), *p = end;

	if (end > name && strchr("])", end[-1]))
		p--;
	while (p > name && isdigit((unsigned char)p[-1]))
		p--;
	if (p == end || !isdigit((unsigned char)*p))
		return end;
	if (p - name > 1 && p[-1] == '/' && isdigit((unsigned char)p[-2]))
		for (p--; p > name && isdigit((unsigned char)p[-1]);)
			p--;
	return p;
}

const char *read_range_stem(struct arena *a, const char *name)
{
	const char *end = number_at(name);

	while (*end && end > name && strchr(" #_-:=.[(", end[-1]))
		end--;
	return end > name ? arena_strndup(a, name, (size_t)(end - name)) : name;
}

bool read_range_step(const char *name, long long *number)
{
	static const char *const stems[] = { "step",	       "iter",	       "iteration",
					     "train_step",     "trainstep",    "training_step",
					     "global_step",    "profilerstep", "train_iter",
					     "train_iteration" };
	const char *at = number_at(name), *end = at, *from = name;
	char stem[STEM_MOST];

	*number = *at ? read_whole(read_number(at, NULL), -1) : -1;
	while (end > name && strchr(" #_-:=.[(", end[-1]))
		end--;
	for (const char *c = name; c < end; c++)
		if (*c == ':' || *c == '/')
			from = c + 1;
	if (end <= from || (size_t)(end - from) >= sizeof(stem))
		return false;
	memcpy(stem, from, (size_t)(end - from));
	stem[end - from] = '\0';
	for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++)
		if (read_is_named(stem, stems[i]))
			return true;
	return false;
}
