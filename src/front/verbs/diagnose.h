/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the verb diagnose. */
#ifndef VERBS_DIAGNOSE_H
#define VERBS_DIAGNOSE_H

#include "front/verbs/cmd.h"
#include "models/diagnose/diagnose.h"
#include "models/diagnose/page_diagnose.h"

enum { DIAGNOSE_RUNS_MAX = 64, DIAGNOSE_FILES_MAX = 1024 };

struct diagnosing {
	struct run *r;
	struct evidence ev;
	struct diagnose_ask ask;
	struct diagnosis_of_runs found;
	struct diagnose_view view;
	const char **names; /* of the runs */
	struct diagnose_trouble *troubles;
	size_t read; /* files that could be read */
};

/* diagnose_files.c: reads what the arguments and --run name. An exit code after complaining. */
int diagnose_files(struct diagnosing *g);
/* diagnose_attach.c: looks at a job. An exit code after complaining. */
int diagnose_attach(struct diagnosing *g);

#endif
