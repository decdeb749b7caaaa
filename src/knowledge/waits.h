/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread is in, by the names in its stack: rows of waits.rows. */
#ifndef KNOWLEDGE_WAITS_H
#define KNOWLEDGE_WAITS_H

#include "base/rows.h"

struct wait_sign {
	const char *kind; /* "collective" */
	const char *function, *file, *source, *library, *syscall, *kernel;
	const char *native; /* of "LIBRARY:FUNCTION" of a C frame, while the thread runs */
	bool top;	    /* of the innermost frame alone */
	const char *says;   /* what it does, after "rank 3 " */
	const char *next;   /* what to look at */
};

extern const struct row_table wait_sign_table;
extern const struct wait_sign wait_signs[];
extern const size_t n_wait_signs;

#endif
