/* SPDX-License-Identifier: Apache-2.0 */
/* Releases of Python packages that are known to fail or to compute wrongly: rows of
 * release_faults.rows. */
#ifndef KNOWLEDGE_RELEASE_FAULTS_H
#define KNOWLEDGE_RELEASE_FAULTS_H

#include <stdbool.h>

#include "base/rows.h"

struct release_fault {
	const char *dist;	   /* name in pip, without -cuXX */
	const char *since, *until; /* releases from since to before until; NULL: no bound */
	const char *same_as;	   /* has to have the version of this package; NULL: no matter */
	const char *gpu;	   /* "120 121", by compute capability; NULL: any */
	const char *arch;	   /* of the processor, "aarch64"; NULL: any */
	bool wrong;		   /* it fails or gives wrong results; else it is slow */
	const char *says, *fix;	   /* sentences; fix: what to install */
	const char *source, *date;
};

extern const struct row_table release_fault_table;
extern const struct release_fault release_faults[];
extern const size_t n_release_faults;

#endif
