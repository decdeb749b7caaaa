/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of recipes for builds that do nothing: rows of dead_flags.rows. */
#ifndef KNOWLEDGE_DEAD_FLAGS_H
#define KNOWLEDGE_DEAD_FLAGS_H

#include "base/rows.h"

struct dead_flag {
	const char *flag; /* "USE_CUBLAS=1" */
	const char *why;
	const char *instead; /* NULL: leave it out */
	const char *name;    /* the variable, to look whether it is set here */
};

extern const struct row_table dead_flag_table;
extern const struct dead_flag dead_flags[];
extern const size_t n_dead_flags;

#endif
