/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of given.h's kinds, and how they are written. */
#ifndef REPORT_GIVEN_ROWS_H
#define REPORT_GIVEN_ROWS_H

#include "front/report/given.h"

#define GIVEN_N(list) (sizeof(list) / sizeof((list)[0]))
#define GIVEN_FIELDS(list) (list), GIVEN_N(list)
#define GIVEN_PAIRS(list) .pairs = (list), .n_pairs = GIVEN_N(list)
#define GIVEN_TABLES(list) .tables = (list), .n_tables = GIVEN_N(list)
#define GIVEN_RATIOS(list) .ratios = (list), .n_ratios = GIVEN_N(list)

/* A kind without schema ends each. */
extern const struct given_kind given_machine_kinds[]; /* given_rows.c */
extern const struct given_kind given_model_kinds[];   /* given_rows_model.c */

#endif
