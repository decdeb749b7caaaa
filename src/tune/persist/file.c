/* SPDX-License-Identifier: Apache-2.0 */
/* A file of ours: its backend's name, what it begins with, and what is noted of rows. */
#include <string.h>

#include "base/text.h"
#include "tune/persist/persist.h"

enum { HEADER_WIDTH = 96 };

const char *persist_backend_name(enum persist_backend k)
{
	static const char *const names[KEEPERS] = { "nothing",	     "sysctl",	 "tmpfiles",
						    "udev",	     "modprobe", "modules-load",
						    "boot-argument", "link",	 "unit",
						    "limits",	     "itself" };

	return names[k];
}

void persist_add_file(struct arena *a, struct persist *p, const char *path, unsigned mode,
		      const char *text)
{
	ARENA_ADD(a, p->files, p->n_files) =
		(struct persist_file){ path, mode, arena_strdup(a, text) };
}

void persist_note(struct arena *a, struct persist *p, const char *sentence)
{
	for (size_t i = 0; i < p->n_notes; i++)
		if (strcmp(p->notes[i], sentence) == 0)
			return;
	ARENA_ADD(a, p->notes, p->n_notes) = sentence;
}

void persist_refuse(struct persist_entry *row, const char *sentence)
{
	row->keeper = PERSIST_IN_NONE;
	row->by = "";
	row->refusal = sentence;
}

/* --- what every file begins with -------------------------------------------------------------- */

static bool is_of(const struct persist_entry *row, enum persist_backend k, const char *path)
{
	return row->keeper == k && strcmp(row->by, path) == 0;
}

/* Whether an earlier row of the file has the same setting. */
static bool is_named(const struct persist_entry *rows, size_t i, enum persist_backend k,
		     const char *path)
{
	for (size_t n = 0; n < i; n++)
		if (is_of(&rows[n], k, path) && strcmp(rows[n].id, rows[i].id) == 0)
			return true;
	return false;
}

void persist_header(struct text *t, const struct persist_entry *rows, size_t n,
		    enum persist_backend k, const char *path)
{
	size_t column;
	bool none = true;

	text_add(t, "# Written by gputune for:");
	column = t->len;
	for (size_t i = 0; i < n; i++) {
		if (!is_of(&rows[i], k, path) || is_named(rows, i, k, path))
			continue;
		if (column + strlen(rows[i].id) + 1 > HEADER_WIDTH) {
			text_add(t, "\n#  ");
			column = 4;
		}
		text_printf(t, " %s", rows[i].id);
		column += strlen(rows[i].id) + 1;
		none = false;
	}
	/* The unit, where other files keep all of it. */
	if (none)
		text_add(t, " the report of each boot");
	text_add(t,
		 "\n# \"gputune persist status\" shows it, \"gputune persist remove\" removes "
		 "it.\n# Put your lines into another file: an edited file is left unchanged.\n\n");
}
