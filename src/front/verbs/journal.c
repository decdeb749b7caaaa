/* SPDX-License-Identifier: Apache-2.0 */
/* gputune journal, and what every verb that relies on the journal says of a damaged one. */
#include <string.h>

#include "front/verbs/page.h"
#include "front/verbs/plan.h"
#include "tune/txn/txn.h"
#include "tune/txn/page_txn.h"

void run_look_at_journal(struct run *r, struct host *h)
{
	struct arena a = { 0 };
	struct err ignored = { 0 };
	struct journal j;

	/* That it cannot be read at all is said by who needs it. */
	if (journal_load(h, &a, false, &j, &ignored) == 0) {
		r->unreadable = j.bad_lines != 0;
		if (j.bad_lines)
			complain_text(
				0, "%s%s: %zu line%s could not be read: a change may be missing",
				TXN_JOURNAL, j.bad_at ? arena_printf(&a, ":%zu", j.bad_at) : "",
				j.bad_lines, j.bad_lines == 1 ? "" : "s");
		else if (j.mended)
			complain_text(0, "%s: %zu damaged line%s read from %s", TXN_JOURNAL,
				      j.mended, j.mended == 1 ? " was" : "s were", TXN_COPY);
	}
	arena_free(&a);
}

int run_journal_code(const struct run *r, int code)
{
	bool mild = code == EXIT_CLEAN || code == EXIT_FINDINGS || code == EXIT_BLIND;

	return r->unreadable && mild ? EXIT_STUCK : code;
}

/* --- the verb ----------------------------------------------------------------------------------
 */

static int code_of(const struct journal *j)
{
	if (j->bad_lines)
		return EXIT_STUCK;
	return j->mended || (j->files.format > 1 && !j->files.copy_is_whole) ? EXIT_FINDINGS
									     : EXIT_CLEAN;
}

static int print(struct run *r, struct host *h, const struct journal *j, int code)
{
	int failed = 0;

	if (run_wants_json(r) && !r->value[OPT_QUIET])
		run_print_json(r, journal_json(r->args[0], run_machine(r, h, false), j, code));
	else if (!r->value[OPT_QUIET])
		failed = run_print_doc(r, page_journal(&r->arena, j), "gputune journal");
	return failed ? failed : code;
}

static int check(struct run *r, struct host *h)
{
	struct journal j;
	struct err e = { 0 };

	if (journal_load(h, &r->arena, true, &j, &e))
		return complain(EXIT_STUCK, &e);
	return print(r, h, &j, code_of(&j));
}

static int tend(struct run *r, struct host *h, enum txn_tend how, const char *question)
{
	struct txn_who who = run_who(r);
	struct txn_report report;
	struct journal j;
	struct err e = { 0 };
	int code = journal_load(h, &r->arena, true, &j, &e);

	if (code)
		return complain(EXIT_STUCK, &e);
	if (r->value[OPT_DRY_RUN] || !j.files.format)
		return print(r, h, &j, code_of(&j));
	if (!run_agreed(r, question))
		return EXIT_NOT_APPLIED;
	code = txn_tend(h, &r->arena, how, &who, &report, &e);
	if (code)
		return complain(EXIT_NOT_APPLIED, &e);
	code = journal_load(h, &r->arena, true, &j, &e);
	if (code)
		return complain(EXIT_STUCK, &e);
	r->unreadable = false;
	if (j.bad_lines && how == TXN_REPAIR)
		complain_text(
			0, "what is lost in both files cannot be mended; \"gputune journal repair "
			   "--force\" gives it up");
	return print(r, h, &j, code_of(&j));
}

static int repair(struct run *r, struct host *h)
{
	return r->value[OPT_FORCE]
		       ? tend(r, h, TXN_GIVE_UP,
			      "Forget what cannot be read? Nobody can undo it afterwards.")
		       : tend(r, h, TXN_REPAIR, "Write the journal's files anew?");
}

static int compact(struct run *r, struct host *h)
{
	return tend(r, h, TXN_COMPACT, "Move what is over to the history?");
}

static int export(struct run *r, struct host *h)
{
	struct err e = { 0 };
	const char *text;
	size_t n;

	if (r->value[OPT_FORMAT])
		return complain_text(EXIT_USAGE, "journal export writes the journal's own lines; "
						 "\"gputune history --format json\" writes JSON");
	if (txn_export(h, &r->arena, &text, &n, &e))
		return complain(EXIT_STUCK, &e);
	fwrite(text, 1, n, r->out);
	return EXIT_CLEAN;
}

int verb_journal(struct run *r)
{
	static const struct {
		const char *name;
		int (*run)(struct run *r, struct host *h);
		bool writes;
	} actions[] = { { "check", check, false },
			{ "repair", repair, true },
			{ "compact", compact, true },
			{ "export", export, false } };
	struct host *h;
	size_t i = 0;
	int code;

	while (i < 4 && strcmp(actions[i].name, r->args[0]) != 0)
		i++;
	if (i == 4)
		return complain_text(EXIT_USAGE,
				     "journal knows check, repair, compact and export, not \"%s\"",
				     r->args[0]);
	if (actions[i].writes && run_check_overlay(r))
		return EXIT_USAGE;
	h = run_change_host(r);
	if (!h)
		return EXIT_USAGE;
	code = actions[i].run(r, h);
	host_close(h);
	return code;
}
