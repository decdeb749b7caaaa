/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis of training for people and for programs (schemas/diagnose.json). */
#ifndef DIAGNOSE_PAGE_DIAGNOSE_H
#define DIAGNOSE_PAGE_DIAGNOSE_H

#include <jansson.h>

#include "models/diagnose/diagnose.h"
#include "render/doc.h"

/* A file that could not be read, or not to its end. */
struct diagnose_trouble {
	const char *path, *why;
};

struct diagnose_view {
	const struct diagnosis_of_runs *d;
	const struct diagnose_trouble *troubles;
	size_t n_troubles;
	const char *model_taken; /* what --model was taken for; NULL */
	bool all;		 /* also causes that are excluded, and those that nothing told of */
};

struct doc *page_diagnose(struct arena *a, const struct diagnose_view *v);
json_t *diagnose_json(struct arena *a, const struct diagnose_view *v, long long now, int exit_code);

#endif
