/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis of training for people and for programs. */
#ifndef DIAGNOSE_PAGE_DIAGNOSE_H
#define DIAGNOSE_PAGE_DIAGNOSE_H

#include "base/shape.h"
#include "models/diagnose/diagnose.h"
#include "render/doc.h"

/* A file that could not be read, or not to its end. */
struct diagnose_trouble {
	const char *path, *why;
};

struct diagnose_view {
	const struct diagnosis_of_runs *d;
	const struct run_evidence *ev; /* that it is made from */
	const struct diagnose_trouble *troubles;
	size_t n_troubles;
	const char *model_taken; /* what --model was taken for; NULL */
	bool all;		 /* also causes that are excluded, and those that nothing told of */
};

struct doc *page_diagnose(struct arena *a, const struct diagnose_view *v);
/* Of a struct diagnose_view. */
extern const struct result_shape diagnose_result;

#endif
