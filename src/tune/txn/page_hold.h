/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's files and what state they are in. */
#ifndef TXN_PAGE_HOLD_H
#define TXN_PAGE_HOLD_H

#include <jansson.h>

#include "machine/model/machine.h"
#include "tune/txn/journal.h"
#include "render/doc.h"

/* j: all of it. */
struct doc *page_journal(struct arena *a, const struct journal *j);
/* Schema gputune.journal/1. The caller owns the reference. */
json_t *journal_json(const char *action, const struct machine *m, const struct journal *j,
		     int exit_code);

#endif
