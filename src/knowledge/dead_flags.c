/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of dead_flags.rows. */
#include "knowledge/dead_flags.h"

#define D struct dead_flag

static const struct row_column flag_columns[] = {
	ROW_NAME(D, flag, .meaning = "as recipes write it"),
	ROW_TEXT(D, why, "why", .required = true, .meaning = "what is wrong with it"),
	ROW_TEXT(D, instead, "instead", .meaning = "what to write; not told: leave it out"),
	ROW_TEXT(D, name, "variable", .meaning = "looked for in this environment"),
};

const struct row_table dead_flag_table =
	ROW_TABLE("dead_flags", struct dead_flag, dead_flags, "knowledge/dead_flags.h",
		  flag_columns, .finish = NULL);
