/* SPDX-License-Identifier: Apache-2.0 */
/* The known defects, for verbs that hold something against them. */
#ifndef VERBS_DEFECT_ROWS_H
#define VERBS_DEFECT_ROWS_H

#include "look/defects/rows.h"
#include "verbs/door.h"

/* Those of the data package or of the build; warns where a package's cannot be used. */
void defects_rows(struct door *d, struct defect_rows *rows);

extern const struct verb defects_new_verb; /* defects_new.c */

#endif
