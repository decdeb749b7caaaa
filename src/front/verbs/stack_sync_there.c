/* SPDX-License-Identifier: Apache-2.0 */
/* Which wheels another machine lacks, by what its sftp said, and the lines that bring them. */
#include "front/verbs/stack_sync_there.h"

#include <stdio.h>
#include <string.h>

/* "-rw-r--r--    1 0        0          1234 Nov 21 18:00 /srv/wheels/NAME": its size; -1: it is not
 * there. */
static long long size_there(const char *list, const char *name)
{
	size_t n = strlen(name);

	while (*list) {
		size_t len = strcspn(list, "\n");
		unsigned long long size;
		char word[32];

		if (len > n && strncmp(list + len - n, name, n) == 0 &&
		    (list[len - n - 1] == '/' || list[len - n - 1] == ' ') &&
		    sscanf(list, "%*s %*s %*s %*s %31s", word) == 1 &&
		    parse_u64(word, &size) == 0 && size < 1ull << 62)
			return (long long)size;
		list += len + (list[len] == '\n');
	}
	return -1;
}

/* The other side's manifest has it with these contents, and a file of its size lies there. */
static bool is_there(const struct over_there *t, const struct house_wheel *w)
{
	json_t *list = json_object_get(t->manifest, "wheels"), *it;
	size_t i;

	if (size_there(t->list, w->file) != (long long)w->size)
		return false;
	json_array_foreach(list, i, it)
	{
		const char *file = json_string_value(json_object_get(it, "file"));
		const char *sum = json_string_value(json_object_get(it, "sha256"));

		if (file && sum && strcmp(file, w->file) == 0 && strcmp(sum, w->sha256) == 0)
			return true;
	}
	return false;
}

/*
 * Each goes under a name that holds its SHA-256, so that only its own beginning is ever gone on
 * from; at the end all get their names, and the manifest replaces the old one as a whole.
 */
void sync_lines(struct arena *a, const struct sync_pair *s, const struct over_there *t,
		struct text *out)
{
	TEXT_AUTO names = { 0 };

	for (size_t i = 0; i < s->h->n; i++) {
		const struct house_wheel *w = &s->h->wheels[i];
		const char *part = arena_printf(a, ".gputune-%.16s-%s", w->sha256, w->file);
		long long there = size_there(t->list, part), here = (long long)w->size;

		if (is_there(t, w))
			continue;
		if (there > here)
			text_printf(out, "rm %s/%s\n", s->place, part);
		if (there != here)
			text_printf(out, "%s %s/%s %s/%s\n",
				    there > 0 && there < here ? "reput" : "put", s->dir, w->file,
				    s->place, part);
		text_printf(&names, "rename %s/%s %s/%s\n", s->place, part, s->place, w->file);
	}
	if (s->h->is_signed)
		text_printf(out, "put %s/%s %s/%s\n", s->dir, WHEELHOUSE_SIGNATURE, s->place,
			    WHEELHOUSE_SIGNATURE);
	text_printf(out, "put %s/%s %s/.%s.new\n%srename %s/.%s.new %s/%s\n", s->dir,
		    WHEELHOUSE_MANIFEST, s->place, WHEELHOUSE_MANIFEST, names.s ? names.s : "",
		    s->place, WHEELHOUSE_MANIFEST, s->place, WHEELHOUSE_MANIFEST);
}
