/* SPDX-License-Identifier: Apache-2.0 */
/* What stays when files for the next boot are taken away: those that somebody edited, and texts of
 * ours under a name that somebody gave them. */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "front/verbs/persist.h"
#include "machine/write/write.h"
#include "machine/knob/io.h"
#include "tune/txn/layer.h"

enum { COPY_MAX = 1 << 18 };

const char *persist_copy_of(struct persisting *s, const char *path, const char *value)
{
	struct arena *a = &s->r->arena;
	const char *folder = path_folder(a, path), *text;
	char **names, *other;
	size_t n = 0, len, other_len;
	unsigned mode;

	if (!knob_file_parse(a, value, &mode, &text, &len) || !len ||
	    host_list(s->h, folder, a, &names, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *at = arena_printf(a, "%s/%s", folder, names[i]);

		if (strcmp(at, path) != 0 && !str_ends(at, HOST_NEW) && !str_ends(at, HOST_OLD) &&
		    host_read(s->h, at, COPY_MAX, a, &other, &other_len) == 0 && other_len == len &&
		    memcmp(other, text, len) == 0)
			return at;
	}
	return NULL;
}

/* The newest entry of each file that was left to somebody, and not written since. */
static bool is_left(const struct journal *j, const struct entry *e)
{
	if (e->unread || e->knob.kind != KNOB_FILE || entry_is_active(e) || !e->note ||
	    strcmp(e->note, NOTE_LEFT) != 0)
		return false;
	for (size_t i = j->n; i-- > 0;)
		for (size_t k = j->items[i].n; k-- > 0;) {
			const struct entry *x = &j->items[i].entries[k];

			if (!x->unread && knob_equal(&x->knob, &e->knob))
				return x == e;
		}
	return false;
}

static size_t name_left(struct persisting *s, const struct entry *e)
{
	struct err ignored = { 0 };
	const char *now;

	if (knob_get(s->h, &s->r->arena, &e->knob, &now, &ignored) || strcmp(now, "absent") == 0 ||
	    (e->before && strcmp(now, e->before) == 0))
		return 0;
	if (str_ends(e->knob.name, "/"))
		complain_text(0, "%s stays: there is something in it that gputune did not write",
			      e->knob.name);
	else
		complain_text(0,
			      "%s stays: somebody edited it since gputune wrote it; \"gputune "
			      "persist remove --force\" takes it away",
			      e->knob.name);
	return 1;
}

size_t persist_rest(struct persisting *s, const struct txn_report *report)
{
	struct err ignored = { 0 };
	struct journal j;
	size_t n = 0;

	for (size_t i = 0; i < report->n; i++) {
		const struct outcome_row *o = &report->rows[i];
		const char *copy = o->knob.kind == KNOB_FILE && o->outcome == OUTCOME_ALREADY
					   ? persist_copy_of(s, o->knob.name, o->to)
					   : NULL;

		if (!copy)
			continue;
		complain_text(0,
			      "%s stays: somebody moved or copied %s there, and it counts at the "
			      "next boot",
			      copy, o->knob.name);
		n++;
	}
	if (journal_load(s->h, &s->r->arena, true, &j, &ignored))
		return n;
	for (size_t i = 0; i < j.n; i++)
		for (size_t k = 0; strcmp(j.items[i].op, "persist") == 0 && k < j.items[i].n; k++)
			n += is_left(&j, &j.items[i].entries[k])
				     ? name_left(s, &j.items[i].entries[k])
				     : 0;
	return n;
}
