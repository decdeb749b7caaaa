/* SPDX-License-Identifier: Apache-2.0 */
/* Other entries that matter when one is taken back: a file of ours in a folder or beside the
 * request, a lower layer that an interrupted undo had reached, the other sysctl of a pair. */
#include <string.h>

#include "base/text.h"
#include "machine/knob/io.h"
#include "tune/persist/persist.h"
#include "tune/plan/owner.h"
#include "tune/txn/run.h"

static bool is_absent(struct txn_run *r, const struct knob *k)
{
	struct err ignored = { 0 };
	const char *now;

	return knob_get(r->h, r->a, k, &now, &ignored) == 0 && strcmp(now, "absent") == 0;
}

const char *run_holds_file(struct txn_run *r, const struct entry *e)
{
	if (e->knob.kind != KNOB_FILE || !str_ends(e->knob.name, "/"))
		return NULL;
	for (size_t i = 0; i < r->journal.n; i++)
		for (size_t k = 0; k < r->journal.items[i].n; k++) {
			const struct entry *x = &r->journal.items[i].entries[k];

			if (x != e && entry_is_active(x) && !x->unread &&
			    x->knob.kind == KNOB_FILE && str_starts(x->knob.name, e->knob.name) &&
			    strcmp(x->knob.name, e->knob.name) != 0 && !is_absent(r, &x->knob))
				return x->knob.name;
		}
	return NULL;
}

static bool is_newer_file(const struct entry *x, const struct entry *e)
{
	return entry_is_active(x) && !x->unread && x->knob.kind == KNOB_FILE &&
	       !str_ends(x->knob.name, "/") && entry_is_newer(x, e);
}

const char *run_needs_request(struct txn_run *r, const struct entry *e)
{
	bool is_top = !layer_above(&r->journal, e);

	if (e->knob.kind != KNOB_FILE || strcmp(e->knob.name, PERSIST_REQUEST) != 0)
		return NULL;
	for (size_t i = 0; i < r->journal.n; i++)
		for (size_t k = 0; k < r->journal.items[i].n; k++) {
			const struct entry *x = &r->journal.items[i].entries[k];

			if ((is_top || x->txn == e->txn) && is_newer_file(x, e) &&
			    strcmp(r->journal.items[i].op, "persist") == 0 &&
			    !is_absent(r, &x->knob))
				return x->knob.name;
		}
	return NULL;
}

bool run_went_further(struct txn_run *r, const struct entry *e, const char *now)
{
	const char *before = e->before;

	for (const struct entry *x = layer_below(&r->journal, e); e->undoing && before && x;
	     x = layer_below(&r->journal, x)) {
		if (!x->undoing || !x->before || !knob_same(&e->knob, before, x->after))
			return false;
		if (knob_holds(&e->knob, now, x->before))
			return true;
		before = x->before;
	}
	return false;
}

struct entry *run_pair_above(struct txn_run *r, const struct entry *e, const char **hands_down)
{
	const char *partner = e->knob.kind == KNOB_SYSCTL ? sysctl_partner(e->knob.name) : NULL;
	const struct knob other = { KNOB_SYSCTL, partner ? partner : "", "" };
	struct entry *above = partner ? layer_above_side_effect(&r->journal, &other, e) : NULL;
	size_t n = strlen(other.name);

	*hands_down = NULL;
	if (!above || !above->before || !e->before ||
	    strcmp(above->before, arena_printf(r->a, "%s=%s", e->knob.name, e->after)) != 0)
		return NULL;
	*hands_down = strncmp(e->before, other.name, n) == 0 && e->before[n] == '='
			      ? e->before + n + 1
			      : arena_printf(r->a, "%s=%s", e->knob.name, e->before);
	return above;
}

bool run_is_full_folder(const struct txn_run *r, const struct entry *e, const char *now)
{
	return r->dry && e->knob.kind == KNOB_FILE && str_ends(e->knob.name, "/") &&
	       str_starts(now, e->after);
}

/* What is in our folder and is not ours, the first few of it. */
static const char *held_by_folder(struct txn_run *r, const struct entry *e)
{
	enum { FEW = 4 };
	TEXT_AUTO out = { 0 };
	char **names;
	size_t n = 0;

	if (host_list(r->h, arena_strndup(r->a, e->knob.name, strlen(e->knob.name) - 1), r->a,
		      &names, &n))
		n = 0;
	for (size_t i = 0; i < n && i < FEW; i++)
		text_printf(&out, "%s%s", i ? ", " : "", names[i]);
	if (n > FEW)
		text_printf(&out, " and %zu more", n - FEW);
	return n ? arena_printf(r->a, "it holds %s, which gputune did not write", out.s)
		 : "somebody changed its mode";
}

const char *run_foreign(struct txn_run *r, const struct entry *e, const char *now)
{
	if (e->knob.kind != KNOB_FILE)
		return arena_printf(r->a, "somebody set it to %s since", now);
	if (strcmp(now, "absent") == 0)
		return "somebody removed it since";
	return str_ends(e->knob.name, "/") ? held_by_folder(r, e)
					   : "somebody edited it since gputune wrote it";
}

bool run_can_force(const struct entry *e, const char *now)
{
	return e->knob.kind != KNOB_FILE || knob_valid(&e->knob, now, NULL);
}

/* Half of what was asked for. */

/* Of huge pages the kernel grants as many as it finds memory for: numbers between the two. */
static bool lies_between(const char *now, const char *before, const char *after)
{
	long long x, lo, hi;

	if (!before || parse_i64(now, &x) || parse_i64(before, &lo) || parse_i64(after, &hi))
		return false;
	return lo < hi ? x >= lo && x <= hi : x >= hi && x <= lo;
}

/* Of a value of several words, which take a write each, some may be there already. */
static bool has_words_of_both(const char *now, const char *before, const char *after)
{
	const char *s[] = { now, before ? before : "", after };

	while (*s[0]) {
		size_t n[3];

		for (int i = 0; i < 3; i++)
			n[i] = strcspn(s[i], " ");
		if ((n[0] != n[1] || strncmp(s[0], s[1], n[0]) != 0) &&
		    (n[0] != n[2] || strncmp(s[0], s[2], n[0]) != 0))
			return false;
		for (int i = 0; i < 3; i++)
			s[i] += n[i] + (s[i][n[i]] == ' ');
	}
	return !*s[1] && !*s[2];
}

bool is_partial_write(const struct entry *e, const char *now)
{
	if (e->knob.kind == KNOB_UNIT)
		return has_words_of_both(now, e->before, e->after);
	if (e->knob.kind == KNOB_FILE && str_starts(e->after, "link:"))
		return strcmp(now, "absent") == 0;
	return knob_grants_part(&e->knob) && lies_between(now, e->before, e->after);
}
