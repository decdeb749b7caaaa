/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of apply, undo, status, history and verify for programs; one schema file each in
 * schemas/. The caller owns the references.
 */
#ifndef TXN_TXN_JSON_H
#define TXN_TXN_JSON_H

#include <jansson.h>

#include "tune/txn/page_txn.h"

/* verb "apply" or "undo": schema gputune.apply/1, gputune.undo/1. e NULL or without text: no error.
 */
json_t *report_json(const char *verb, const struct machine *m, const struct txn_report *r,
		    const struct err *e, int exit_code);
/* Schema gputune.status/1. */
json_t *status_json(const struct machine *m, const struct hold_row *rows, size_t n, int exit_code);
/* Schema gputune.history/1; newest first, with every change. only NULL: all. */
json_t *history_json(const struct machine *m, const struct journal *j,
		     const struct transaction *only, int exit_code);
/* Schema gputune.verify/1. */
json_t *verify_json(const struct machine *m, const struct verify *v, int exit_code);

#endif
