/* SPDX-License-Identifier: Apache-2.0 */
/* Results of apply, undo, status, history, journal and verify for programs. The caller owns the
 * references.
 */
#ifndef TXN_RESULTS_H
#define TXN_RESULTS_H

#include <jansson.h>

#include "base/shape.h"
#include "tune/txn/page_txn.h"

/* Their shapes, for the schemas. */
extern const struct result_shape apply_result, undo_result, status_result, history_result,
	journal_result, verify_result, boot_report_result;

/* Of apply and undo. */
struct outcome_answer {
	const struct txn_report *report;
	const char *error, *hint; /* NULL: none */
};
struct outcome_answer outcome_answer_of(struct arena *a, const struct txn_report *r,
					const struct err *e);

struct status_answer {
	const struct hold_row *rows;
	size_t n, count[HOLD_UNKNOWN + 1];
};
struct status_answer status_answer_of(const struct hold_row *rows, size_t n);
json_t *status_json(const struct machine *m, const struct hold_row *rows, size_t n, int exit_code);

struct history_answer {
	const struct journal *journal;
	struct transaction *items; /* the newest first */
	size_t n;
};
/* only NULL: all. */
struct history_answer history_answer_of(struct arena *a, const struct journal *j,
					const struct transaction *only);
json_t *history_json(const struct machine *m, const struct journal *j,
		     const struct transaction *only, int exit_code);

/* Of the journal's files; action "check", "repair" or "compact". */
struct files_answer {
	const char *action;
	const struct journal *journal;
	size_t open;
};

/* --- the report of a boot, as it lies on the disk --- */

struct boot_report {
	const char *boot_id;
	const char *asked; /* who asked for the reboot; NULL: nobody */
	const struct machine *m;
	const char *version, *time; /* NULL: not said */
	int code;
	struct verify verify;
};

/* False: it is none. It may be anybody's: of the machine nothing is believed, and rows are counted
 * anew. */
bool boot_report_read(struct arena *a, const char *text, size_t len, struct boot_report *out);

#endif
