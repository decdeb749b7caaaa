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

/* verb "apply" or "undo". e NULL or without text: no error. */
json_t *report_json(const char *verb, const struct machine *m, const struct txn_report *r,
		    const struct err *e, int exit_code);
json_t *status_json(const struct machine *m, const struct hold_row *rows, size_t n, int exit_code);
/* Newest first, with every change. only NULL: all. */
json_t *history_json(const struct machine *m, const struct journal *j,
		     const struct transaction *only, int exit_code);
/* Of the journal's files; action "check", "repair" or "compact". */
json_t *journal_json(const char *action, const struct machine *m, const struct journal *j,
		     int exit_code);
json_t *verify_json(const struct machine *m, const struct verify *v, int exit_code);

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
