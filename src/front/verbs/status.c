/* SPDX-License-Identifier: Apache-2.0 */
/* gputune status, history and verify: what the journal says, beside what the machine says. */
#include <string.h>

#include "front/verbs/boot.h"
#include "front/session.h"
#include "front/verbs/persist.h"
#include "front/change.h"
#include "machine/knob/io.h"
#include "tune/txn/layer.h"
#include "tune/txn/txn.h"
#include "tune/txn/page_txn.h"
#include "tune/txn/results.h"

static int verb_status_load(struct run *r, struct host *h, bool all, struct journal *j)
{
	struct err e = { 0 };
	int code = journal_load(h, &r->arena, all, j, &e);

	if (code) {
		if (code == -EACCES || code == -EPERM)
			err_hint(&e, "the journal is root's: run it with sudo");
		return complain(code == -EPROTONOSUPPORT ? EXIT_STUCK : EXIT_BLIND, &e);
	}
	return 0;
}

/* What somebody else can have written is told, and not vouched for. */
static bool is_believed(struct host *h)
{
	struct err e = { 0 };

	if (state_check(h, &e) == 0)
		return true;
	complain(0, &e);
	return false;
}

static int believed_code(bool believed, int code)
{
	return believed || code == EXIT_STUCK ? code : EXIT_BLIND;
}

/* What is not as it was left is a finding; what is stuck or open is worse. What cannot be seen is
 * not as it was left for all that is known, as verify says it. */
static int status_code(const struct journal *j, bool open, const struct hold_row *rows, size_t n)
{
	int code = EXIT_CLEAN;

	for (size_t i = 0; i < j->n; i++)
		if (open || j->items[i].state == TRANSACTION_INCOMPLETE)
			return EXIT_STUCK;
	for (size_t i = 0; i < n; i++)
		if (rows[i].hold == HOLD_FOREIGN || rows[i].hold == HOLD_BACK ||
		    rows[i].hold == HOLD_LOST || rows[i].hold == HOLD_RESET)
			code = EXIT_FINDINGS;
		else if (rows[i].hold == HOLD_UNKNOWN && code == EXIT_CLEAN)
			code = EXIT_BLIND;
	return code;
}

/* Whether anything of ours is left that an undo or persist remove would find; j is of this boot. */
static bool is_anything_left(struct host *h, const struct journal *j)
{
	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; transaction_holds(&j->items[i]) && k < j->items[i].n; k++)
			if (entry_is_active(&j->items[i].entries[k]) &&
			    !j->items[i].entries[k].lost)
				return true;
	return host_exists(h, PERSIST_REQUEST);
}

/* For scripts. Lines that cannot be read make any code 4: run_journal_code. */
static int left_code(struct run *r, struct host *h, const struct journal *j, int code)
{
	if (!r->value[OPT_EXIT_CODE] || code == EXIT_STUCK)
		return code;
	if (!is_anything_left(h, j))
		return EXIT_CLEAN;
	return code == EXIT_CLEAN ? EXIT_FINDINGS : code;
}

/* With its configuration only where somebody is looked for: reading that takes longest. */
static struct machine *machine_for(struct run *r, struct host *h, struct hold_row *rows, size_t n)
{
	size_t i = 0;
	struct machine *m;

	while (i < n && rows[i].hold != HOLD_FOREIGN && rows[i].hold != HOLD_BACK)
		i++;
	if (i == n)
		return run_machine(r, h, false);
	m = run_change_machine(r, h);
	run_find_culprits(r, m, rows, n);
	return m;
}

int verb_status(struct run *r)
{
	struct host *h = run_change_host(r);
	struct hold_row *rows;
	struct journal j;
	struct machine *m;
	int code, failed = 0;
	bool believed;
	size_t n;

	if (!h)
		return EXIT_USAGE;
	code = verb_status_load(r, h, false, &j);
	if (code == 0) {
		txn_status(h, &r->arena, &j, &rows, &n);
		code = status_code(&j, run_report_open(r, h, &j), rows, n);
		believed = is_believed(h);
		code = believed_code(believed, left_code(r, h, &j, code));
		if (n)
			door_report_lost_at_boot(&r->door, h);
		m = machine_for(r, h, rows, n);
		persist_fill_entries(r, h, rows, n);
		if (!r->value[OPT_QUIET]) {
			if (run_wants_json(r))
				run_print_json(r, status_json(m, rows, n, code), EXIT_CLEAN);
			else
				failed = run_print_doc(r,
						       page_status(&r->arena, m, rows, n,
								   believed && !j.bad_lines),
						       "gputune status", EXIT_CLEAN);
		}
	}
	host_close(h);
	return failed ? failed : code;
}

static int print_history(struct run *r, struct host *h, const struct journal *j)
{
	const struct transaction *only = NULL;
	struct machine *m;
	long long n;
	int code;

	if (r->n_args) {
		if (parse_i64(r->args[0], &n) || n < 1)
			return complain_text(EXIT_USAGE, "\"%s\" is no number of a transaction",
					     r->args[0]);
		only = history_find(j, (unsigned long)n);
		if (!only)
			return complain_text(EXIT_USAGE, "there is no transaction %lld", n);
	}
	code = believed_code(is_believed(h), EXIT_CLEAN);
	m = run_machine(r, h, false);
	if (r->value[OPT_QUIET])
		return code;
	if (!run_wants_json(r)) {
		int failed = run_print_doc(r, page_history(&r->arena, m, j, only),
					   "gputune history", EXIT_CLEAN);

		return failed ? failed : code;
	}
	return run_print_json(r, history_json(m, j, only, code), code);
}

int verb_history(struct run *r)
{
	struct host *h = run_change_host(r);
	struct journal j;
	int code;

	if (!h)
		return EXIT_USAGE;
	code = verb_status_load(r, h, true, &j);
	if (code == 0) {
		run_report_open(r, h, &j);
		code = print_history(r, h, &j);
	}
	host_close(h);
	return code;
}

static int verify_code(const struct verify *v)
{
	if (v->count[VERIFY_DIFFERS] || v->count[VERIFY_WAITS])
		return EXIT_FINDINGS;
	return v->count[VERIFY_UNKNOWN] ? EXIT_BLIND : EXIT_CLEAN;
}

static int verb_status_verify(struct run *r, struct host *h)
{
	struct planned p = { 0 };
	struct hold_row *rows;
	struct verify v;
	struct journal j;
	int code;
	size_t n;

	if (r->n_args) {
		code = run_plan_file(r, h, r->args[0], &p);
		if (code)
			return code;
		verify_plan(&r->arena, p.m, &p.plan, door_exact_knob, knob_same, h, &v);
	} else {
		code = verb_status_load(r, h, false, &j);
		if (code)
			return code;
		p.m = run_machine(r, h, false);
		txn_status(h, &r->arena, &j, &rows, &n);
		verify_holds(&r->arena, rows, n, &v);
	}
	code = believed_code(is_believed(h), verify_code(&v));
	if (r->value[OPT_QUIET])
		return code;
	if (!run_wants_json(r)) {
		n = (size_t)run_print_doc(r, page_verify(&r->arena, p.m, &v), "gputune verify",
					  EXIT_CLEAN);
		return n ? (int)n : code;
	}
	return run_print_json(r, verify_json(p.m, &v, code), code);
}

int verb_verify(struct run *r)
{
	struct host *h = run_change_host(r);
	int code;

	if (!h)
		return EXIT_USAGE;
	code = r->value[OPT_REBOOT] ? boot_reboot(r, h)
	       : r->value[OPT_BOOT] ? boot_verify(r, h)
				    : verb_status_verify(r, h);
	host_close(h);
	return code;
}

/* gputune journal, and what every verb that relies on the journal says of a damaged one. */

/* --- the verb --------------------------------------------------------------------------------- */

static int code_of(const struct journal *j)
{
	if (j->bad_lines)
		return EXIT_STUCK;
	return j->mended || (j->files.format > 1 && !j->files.copy_is_whole) ? EXIT_FINDINGS
									     : EXIT_CLEAN;
}

static int verb_status_print(struct run *r, struct host *h, const struct journal *j, int code)
{
	int failed = 0;

	if (run_wants_json(r) && !r->value[OPT_QUIET])
		run_print_json(r, journal_json(r->args[0], run_machine(r, h, false), j, code),
			       EXIT_CLEAN);
	else if (!r->value[OPT_QUIET])
		failed =
			run_print_doc(r, page_journal(&r->arena, j), "gputune journal", EXIT_CLEAN);
	return failed ? failed : code;
}

static int verb_status_check(struct run *r, struct host *h)
{
	struct journal j;
	struct err e = { 0 };

	if (journal_load(h, &r->arena, true, &j, &e))
		return complain(EXIT_STUCK, &e);
	return verb_status_print(r, h, &j, code_of(&j));
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
		return verb_status_print(r, h, &j, code_of(&j));
	if (!run_agreed(r, question))
		return EXIT_NOT_APPLIED;
	code = txn_tend(h, &r->arena, how, &who, &report, &e);
	if (code)
		return complain(EXIT_NOT_APPLIED, &e);
	code = journal_load(h, &r->arena, true, &j, &e);
	if (code)
		return complain(EXIT_STUCK, &e);
	r->door.unreadable = false;
	if (j.bad_lines && how == TXN_REPAIR)
		complain_text(0, "what is lost in both files cannot be mended; \"gputune journal "
				 "repair --force\" gives it up");
	return verb_status_print(r, h, &j, code_of(&j));
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
	} actions[] = { { "check", verb_status_check, false },
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
