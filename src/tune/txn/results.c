/* SPDX-License-Identifier: Apache-2.0 */
/* What was done, a row a figure. Keys and meanings are API. Journals may hold any bytes: texts are
 * cleaned. */
#include <string.h>

#include "look/settings/findings.h"
#include "tune/txn/results.h"

/* clang-format off */

/* What every row about a knob begins with. What the journal says of it may be unreadable. */
#define IN_ROW .via = 0
#define KNOB_ROWS(type, of)                                                                        \
	{ "id", "Id of the setting at that time.", SHAPE_TEXT(type, id), of },               \
	{ "target", NULL, SHAPE_TEXT(type, target), of, .unknown = SHAPE_BLANK },           \
	{ "knob", NULL, SHAPE_OBJECT(type, knob, knob), of, .unknown = SHAPE_ZERO }

/* --- apply, undo --- */

static const struct shape outcome_row_shape = SHAPE_OF(outcome_row, outcome_row,
	KNOB_ROWS(outcome_row, IN_ROW),
	{ "from", "Value before.", SHAPE_TEXT(outcome_row, from), .unknown = SHAPE_NULL },
	{ "to", "Target value.", SHAPE_TEXT(outcome_row, to), .unknown = SHAPE_NULL },
	{ "found", "Current value.", SHAPE_TEXT(outcome_row, found), .unknown = SHAPE_NULL },
	{ "outcome", NULL, SHAPE_CHOICE_BY(outcome_row, outcome, outcome_name, OUTCOME_GONE + 1) },
	{ "sentence", "Result.", SHAPE_TEXT(outcome_row, sentence), .unknown = SHAPE_NULL },
	{ "command", "Command to run by hand if the undo failed.", SHAPE_TEXT(outcome_row, command),
	  .unknown = SHAPE_NULL });

/* Of a dry run no transaction remains, and the rows say what would become of it. */
SHAPE_GIVES(long long, report_transaction, txn_report, x->dry ? 0 : (long long)x->txn)

#define OF_REPORT SHAPE_VIA(outcome_answer, report, txn_report)
#define TRANSACTION_ROW \
	{ "transaction", NULL, SHAPE_COUNT_OF(report_transaction), OF_REPORT, .unknown = SHAPE_ZERO }
#define REPORT_ROWS                                                                                                  \
	{ "recovered", "Interrupted transactions that were rolled back first.",                             \
	  SHAPE_COUNT(txn_report, recovered), OF_REPORT },                                                  \
	{ "error", NULL, SHAPE_TEXT(outcome_answer, error), .unknown = SHAPE_NULL },                                  \
	{ "hint", "Next step.", SHAPE_TEXT(outcome_answer, hint), .unknown = SHAPE_NULL },                      \
	{ "recovery", "Results of the changes in them.",                                                      \
	  SHAPE_LIST(txn_report, recovery, n_recovery, outcome_row), OF_REPORT },                           \
	{ "rows", NULL, SHAPE_LIST(txn_report, rows, n, outcome_row), OF_REPORT },                                   \
	{ "leftovers", "Messages about files that an interrupted write left, and what was done with each.",         \
	  SHAPE_TEXT_LIST(txn_report, leftovers, n_leftovers), OF_REPORT }

static const struct shape_row apply_rows[] = { TRANSACTION_ROW, REPORT_ROWS };
static const struct shape_row undo_rows[] = {
	TRANSACTION_ROW,
	{ "dry_run", "true: nothing was written, and the rows show what would happen.",
	  SHAPE_FLAG(txn_report, dry), OF_REPORT },
	REPORT_ROWS,
};
static const struct shape apply_shape = SHAPE(outcome_answer, apply), undo_shape = SHAPE(outcome_answer, undo);

const struct result_shape apply_result = {
	.name = "apply", .title = "gputune apply", .meaning = "Result of each change of a plan.",
	.shape = &apply_shape, .list = "rows",
	.host = &host_shape, .exit_codes = 1u << 0 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5,
};
const struct result_shape undo_result = {
	.name = "undo", .title = "gputune undo", .meaning = "Result of undoing each change.",
	.shape = &undo_shape, .list = "rows", .host = &host_shape, .exit_codes = 0x3f,
};

struct outcome_answer outcome_answer_of(struct arena *a, const struct txn_report *r,
				      const struct err *e)
{
	bool failed = *e->text;

	return (struct outcome_answer){ r, failed ? arena_strdup(a, e->text) : NULL,
				       failed && *e->hint ? arena_strdup(a, e->hint) : NULL };
}

/* --- status --- */

#define OF_ENTRY SHAPE_VIA(hold_row, e, entry)

SHAPE_GIVES(bool, entry_stuck, entry, x->state == ENTRY_STUCK)

static const struct shape hold_row_shape = SHAPE_OF(hold_row, hold_row,
	KNOB_ROWS(entry, OF_ENTRY),
	{ "transaction", NULL,
	  SHAPE_COUNT(transaction, txn), SHAPE_VIA(hold_row, t, transaction), .unknown = SHAPE_ZERO },
	{ "before", NULL, SHAPE_TEXT(entry, before), OF_ENTRY, .unknown = SHAPE_NULL },
	{ "after", "Requested value.", SHAPE_TEXT(entry, after), OF_ENTRY, .unknown = SHAPE_NULL },
	{ "now", NULL, SHAPE_TEXT(hold_row, now), .unknown = SHAPE_NULL },
	{ "state", NULL, SHAPE_CHOICE_BY(hold_row, hold, hold_name, HOLD_UNKNOWN + 1) },
	{ "stuck", "true: an undo of the change failed.", SHAPE_FLAG_OF(entry_stuck), OF_ENTRY },
	{ "kept_by", "File that sets it at the next boot.", SHAPE_TEXT(hold_row, kept), .unknown = SHAPE_NULL },
	{ "changed_by", "Program or user that may have changed it.", SHAPE_TEXT(hold_row, by), .unknown = SHAPE_NULL });

static const struct shape status_summary_shape = SHAPE_OF(status_answer, status_summary,
	{ "ours", "true: gputune's value is in effect.", SHAPE_COUNT(status_answer, count[HOLD_OURS]) },
	{ "waits", "true: it takes effect after a reboot.", SHAPE_COUNT(status_answer, count[HOLD_WAITS]) },
	{ "missed", "true: the reboot after the change did not set the value.", SHAPE_COUNT(status_answer,
	  count[HOLD_MISSED]) },
	{ "foreign", "true: another program or user changed it later.", SHAPE_COUNT(status_answer,
	  count[HOLD_FOREIGN]) },
	{ "back", "true: the old value is restored.", SHAPE_COUNT(status_answer, count[HOLD_BACK]) },
	{ "lost", "true: the machine was rebooted after the change.", SHAPE_COUNT(status_answer, count[HOLD_LOST]) },
	{ "reset", "true: a later change by gputune overwrote it.", SHAPE_COUNT(status_answer, count[HOLD_RESET]) },
	{ "unknown", "true: its value is unreadable.", SHAPE_COUNT(status_answer, count[HOLD_UNKNOWN]) });

static const struct shape status_shape = SHAPE_OF(status_answer, status,
	{ "summary", NULL, SHAPE_PART(status_summary_shape) },
	{ "rows", NULL, SHAPE_LIST(status_answer, rows, n, hold_row) });

const struct result_shape status_result = {
	.name = "status", .title = "gputune status", .meaning = "State of every change that is not undone.",
	.shape = &status_shape, .list = "rows",
	.host = &host_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 4 | 1u << 5,
};

struct status_answer status_answer_of(const struct hold_row *rows, size_t n)
{
	struct status_answer answer = { .rows = rows, .n = n };

	for (size_t i = 0; i < n; i++)
		answer.count[rows[i].hold]++;
	return answer;
}

json_t *status_json(const struct machine *m, const struct hold_row *rows, size_t n, int exit_code)
{
	const struct status_answer answer = status_answer_of(rows, n);

	return machine_result_json(&status_result, m, &answer, exit_code);
}

/* --- history --- */

static const struct shape side_effect_shape = SHAPE_OF(side_effect, side_effect,
	{ "kind", NULL, SHAPE_CHOICE_BY(side_effect, knob.kind, knob_kind_name, KNOB_KINDS) },
	{ "name", NULL, SHAPE_TEXT(side_effect, knob.name) },
	{ "object", NULL, SHAPE_TEXT(side_effect, knob.object) },
	{ "before", NULL, SHAPE_TEXT(side_effect, before), .unknown = SHAPE_NULL });

static const struct shape entry_shape = SHAPE_OF(entry, entry,
	KNOB_ROWS(entry, IN_ROW),
	{ "before", NULL, SHAPE_TEXT(entry, before), .unknown = SHAPE_NULL },
	{ "after", "Requested value.", SHAPE_TEXT(entry, after), .unknown = SHAPE_NULL },
	{ "read_back", NULL, SHAPE_TEXT(entry, read), .unknown = SHAPE_NULL },
	{ "state", NULL, SHAPE_CHOICE_BY(entry, state, entry_state_name, ENTRY_STUCK + 1) },
	{ "note", "Time of the last state.", SHAPE_TEXT(entry, note), .unknown = SHAPE_NULL },
	{ "sides", "Other knobs that a write resets.", SHAPE_LIST(entry, sides, n_sides, side_effect) });

static const char *const transaction_ops[] = { "apply", "cluster", "persist", "prove", "undo" };

static const struct shape transaction_shape = SHAPE_OF(transaction, transaction,
	{ "transaction", NULL, SHAPE_COUNT(transaction, txn), .unknown = SHAPE_ZERO },
	{ "op", "Verb that made the change.", SHAPE_TEXT(transaction, op), SHAPE_NAMES(transaction_ops) },
	{ "time", NULL, SHAPE_TIME(transaction, time_s) },
	{ "boot_id", NULL, SHAPE_TEXT(transaction, boot_id), .unknown = SHAPE_NULL },
	{ "user", NULL, SHAPE_TEXT(transaction, user), .unknown = SHAPE_NULL },
	{ "reason", NULL, SHAPE_TEXT(transaction, reason), .unknown = SHAPE_NULL },
	{ "profile", NULL, SHAPE_TEXT(transaction, profile), .unknown = SHAPE_NULL },
	{ "tool_version", NULL, SHAPE_TEXT(transaction, version), .unknown = SHAPE_NULL },
	{ "state", NULL, SHAPE_CHOICE_BY(transaction, state, transaction_state_name, TRANSACTION_UNDONE + 1) },
	{ "changes", "Changes in the order of writing.", SHAPE_LIST(transaction, entries, n, entry) });

static const struct shape journal_shape = SHAPE_OF(journal, journal,
	{ "torn", "true: the last line was truncated.", SHAPE_FLAG(journal, torn) },
	{ "bad_lines", "Unreadable lines.", SHAPE_COUNT(journal, bad_lines) });

static const struct shape history_shape = SHAPE_OF(history_answer, history,
	{ "journal", NULL, SHAPE_POINTER(history_answer, journal, journal) },
	{ "transactions", "Newest first.", SHAPE_LIST(history_answer, items, n, transaction) });

const struct result_shape history_result = {
	.name = "history", .title = "gputune history", .meaning = "Every transaction with every change.",
	.shape = &history_shape, .list = "transactions",
	.host = &host_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 5,
};

struct history_answer history_answer_of(struct arena *a, const struct journal *j,
					const struct transaction *only)
{
	struct history_answer answer = { .journal = j };

	answer.items = arena_array(a, j->n + 1, sizeof(*answer.items));
	for (size_t i = j->n; i > 0; i--)
		if (!only || only == &j->items[i - 1])
			answer.items[answer.n++] = j->items[i - 1];
	return answer;
}

json_t *history_json(const struct machine *m, const struct journal *j,
		     const struct transaction *only, int exit_code)
{
	ARENA_AUTO a = { 0 };
	const struct history_answer answer = history_answer_of(&a, j, only);

	return machine_result_json(&history_result, m, &answer, exit_code);
}

/* --- journal --- */

#define OF_JOURNAL SHAPE_VIA(files_answer, journal, journal)

static const char *const journal_actions[] = { "check", "repair", "compact" };

static const struct shape files_shape = SHAPE_OF(files_answer, files,
	{ "action", NULL, SHAPE_TEXT(files_answer, action), SHAPE_NAMES(journal_actions) },
	{ "format", "Format of the journal's lines: 1 has no checksums; null: no journal.",
	  SHAPE_COUNT(journal, files.format), OF_JOURNAL, .unknown = SHAPE_ZERO },
	{ "copy_is_whole", "true: the copy has the same bytes as the journal.",
	  SHAPE_FLAG(journal, files.copy_is_whole), OF_JOURNAL },
	{ "journal_bytes", NULL, SHAPE_COUNT(journal, files.bytes), OF_JOURNAL },
	{ "copy_bytes", NULL, SHAPE_COUNT(journal, files.copy_bytes), OF_JOURNAL },
	{ "history_bytes", NULL, SHAPE_COUNT(journal, files.history_bytes), OF_JOURNAL },
	{ "bad_lines", "Lines unreadable in both the journal and its copy.",
	  SHAPE_COUNT(journal, bad_lines), OF_JOURNAL },
	{ "first_bad_line", NULL, SHAPE_COUNT(journal, bad_at), OF_JOURNAL, .unknown = SHAPE_ZERO },
	{ "lines_from_copy", "Lines that only the copy has.", SHAPE_COUNT(journal, mended),
	  OF_JOURNAL },
	{ "torn", "The journal's last line was truncated by a crash.", SHAPE_FLAG(journal, torn), OF_JOURNAL },
	{ "transactions", NULL, SHAPE_COUNT(journal, n), OF_JOURNAL },
	{ "open_transactions", "Lines that may still contain a change.", SHAPE_COUNT(files_answer, open) });

const struct result_shape journal_result = {
	.name = "journal", .title = "gputune journal",
	.meaning = "The files of the journal, and their readable contents.",
	.shape = &files_shape, .host = &host_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 4 | 1u << 5,
};

/* --- verify --- */

static const struct shape verify_row_shape = SHAPE_OF(verify_row, verify_row,
	KNOB_ROWS(verify_row, IN_ROW),
	{ "wanted", NULL, SHAPE_TEXT(verify_row, wanted), .unknown = SHAPE_NULL },
	{ "now", NULL, SHAPE_TEXT(verify_row, now), .unknown = SHAPE_NULL },
	{ "state", NULL, SHAPE_CHOICE_BY(verify_row, state, verify_name, VERIFY_UNKNOWN + 1) },
	{ "sentence", NULL, SHAPE_TEXT(verify_row, sentence), .unknown = SHAPE_NULL });

static const struct shape verify_summary_shape = SHAPE_OF(verify, verify_summary,
	{ "in-force", NULL, SHAPE_COUNT(verify, count[VERIFY_IN_FORCE]) },
	{ "waits-for-reboot", NULL, SHAPE_COUNT(verify, count[VERIFY_WAITS]) },
	{ "differs", NULL, SHAPE_COUNT(verify, count[VERIFY_DIFFERS]) },
	{ "unknown", "true: its value is unreadable.", SHAPE_COUNT(verify, count[VERIFY_UNKNOWN]) });

static const struct shape verify_shape = SHAPE_OF(verify, verify,
	{ "summary", NULL, SHAPE_PART(verify_summary_shape) },
	{ "rows", NULL, SHAPE_LIST(verify, rows, n, verify_row) });

const struct result_shape verify_result = {
	.name = "verify", .title = "gputune verify", .meaning = "Whether requested values are in effect.",
	.shape = &verify_shape, .list = "rows", .host = &host_shape,
	.exit_codes = 1u << 0 | 1u << 1 | 1u << 4 | 1u << 5,
};

/* --- the report of a boot --- */

static const struct shape kept_verify_shape = SHAPE_OF(boot_report, kept_verify,
	{ "schema", NULL, SHAPE_WORD("gputune.verify/1"), .later = true },
	{ "tool_version", NULL, SHAPE_TEXT(boot_report, version), .unknown = SHAPE_BLANK, .later = true },
	{ "host", NULL, SHAPE_POINTER_AS(boot_report, m, machine, host_shape), .later = true },
	{ "time", NULL, SHAPE_TEXT(boot_report, time), .unknown = SHAPE_NULL },
	{ "exit_code", NULL, SHAPE_COUNT(boot_report, code), .later = true },
	{ "summary", NULL, SHAPE_OBJECT_AS(boot_report, verify, verify, verify_summary_shape), .later = true },
	{ "rows", NULL, SHAPE_LIST(boot_report, verify.rows, verify.n, verify_row) });

static const struct shape boot_report_shape = SHAPE_OF(boot_report, boot_report,
	{ "boot_id", NULL, SHAPE_TEXT(boot_report, boot_id) },
	{ "reboot_by", "User that requested the reboot.", SHAPE_TEXT(boot_report, asked), .unknown = SHAPE_NULL },
	{ "verify", "Output of verify --boot when the report was written.", SHAPE_PART(kept_verify_shape) });

const struct result_shape boot_report_result = {
	.name = "boot-report", .title = "/var/lib/gputune/boot-report.json",
	.meaning = "Requested values in effect after a boot.",
	.shape = &boot_report_shape, .no_time = true, .no_version = true,
};

bool boot_report_read(struct arena *a, const char *text, size_t len, struct boot_report *out)
{
	struct err ignored = { 0 };
	struct verify *v = &out->verify;

	if (result_shape_read(a, &boot_report_result, text, len, out, &ignored) || !*out->boot_id)
		return false;
	memset(v->count, 0, sizeof(v->count));
	for (size_t i = 0; i < v->n; i++) {
		if (!v->rows[i].wanted || !v->rows[i].knob.name)
			return false;
		v->count[v->rows[i].state]++;
	}
	return true;
}
