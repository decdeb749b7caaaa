/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up variables of libraries, and which release of NCCL reads them. */
#include "knowledge/nccl_vars.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const struct known_var *known_var(const char *name)
{
	for (size_t i = 0; i < n_known_vars; i++)
		if (strcmp(known_vars[i].name, name) == 0)
			return &known_vars[i];
	return NULL;
}

bool var_takes_away(const struct known_var *k, const char *value)
{
	return (k->flags & VAR_SET) || ((k->flags & VAR_OFF) && *value && strcmp(value, "0") != 0);
}

const char *var_list_next(const char **list, size_t *n)
{
	const char *at = *list + strspn(*list, ",");

	if (!*at)
		return NULL;
	*n = strcspn(at, ",:");
	*list = at + strcspn(at, ",");
	return at;
}

bool var_list_names(const char *list, const char *device)
{
	bool exact = *list == '=';
	const char *name;
	size_t n;

	for (list += exact; (name = var_list_next(&list, &n)) != NULL;)
		if (n && strncmp(name, device, n) == 0 && (!exact || !device[n]))
			return true;
	return false;
}

const char nccl_oldest[] = "2.12.7", nccl_newest[] = "2.30.7";

bool nccl_name(const char *name, const char **since, const char **until)
{
	*since = *until = NULL;
	if (!str_starts(name, "NCCL_"))
		return false;
	for (size_t i = 0; i < n_nccl_releases; i++)
		if (words_have(nccl_releases[i].names, name + 5, strlen(name + 5))) {
			*since = nccl_releases[i].version;
			if (strcmp(*since, nccl_oldest) == 0)
				*since = NULL;
			*until = nccl_releases[i].until;
			return true;
		}
	return false;
}

const char *nccl_near(struct arena *a, const char *name)
{
	struct near_word near;

	if (strlen(name) < 8 || strlen(name) > 64 || !str_starts(name, "NCCL_"))
		return NULL;
	near = near_word_to(name + 5);
	near.distance = near.distance < 4 ? near.distance : 3;
	for (size_t i = 0; i < n_nccl_releases; i++)
		for (const char *at = nccl_releases[i].names; *at;
		     at += strcspn(at, " "), at += strspn(at, " ")) {
			const char *word = arena_strndup(a, at, strcspn(at, " "));

			near_word_try(&near, word, word);
		}
	return near.word ? arena_printf(a, "NCCL_%s", near.word) : NULL;
}

/* The number at *s and what stands behind its dot; false where there is none. */
static bool nccl_vars_part(const char **s, unsigned long *out)
{
	char *end;

	if (**s < '0' || **s > '9')
		return false;
	*out = strtoul(*s, &end, 10);
	*s = *end == '.' ? end + 1 : end;
	return true;
}

int version_order(const char *a, const char *b)
{
	while (*a || *b) {
		unsigned long x = 0, y = 0;

		if ((*a && !nccl_vars_part(&a, &x)) || (*b && !nccl_vars_part(&b, &y)))
			return 0;
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

enum nccl_knows nccl_knows(const char *name, const char *version)
{
	const char *since, *until;

	if (!nccl_name(name, &since, &until))
		return version && version_order(version, nccl_newest) > 0 ? NCCL_NOT_TOLD
									  : NCCL_NEVER;
	if (!version)
		return NCCL_NOT_TOLD;
	if (since && version_order(version, since) < 0)
		return NCCL_NOT_YET;
	return until && version_order(version, until) >= 0 ? NCCL_NO_MORE : NCCL_KNOWN;
}
