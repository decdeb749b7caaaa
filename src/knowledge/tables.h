/* SPDX-License-Identifier: Apache-2.0 */
/* All tables that are compiled in from rows. */
#ifndef KNOWLEDGE_TABLES_H
#define KNOWLEDGE_TABLES_H

#include "base/rows.h"

/* Ended by NULL. */
extern const struct row_table *const row_tables[];

#endif
