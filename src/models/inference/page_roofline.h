/* SPDX-License-Identifier: Apache-2.0 */
/* Where measured work stands under the roofs of a GPU: for people and for programs. */
#ifndef INFERENCE_PAGE_ROOFLINE_H
#define INFERENCE_PAGE_ROOFLINE_H

#include <jansson.h>

#include "models/inference/roofline.h"
#include "render/doc.h"

struct roofline_page {
	const struct roof *roof;
	const struct roof_profile *profile; /* judged */
	const char *source;		    /* the file, or which results */
	bool verbose;			    /* every point */
	long long now;
	int code;
};

struct doc *page_roofline(struct arena *a, const struct roofline_page *p);
/* Schema gputune.roofline/1; the caller owns the reference. */
json_t *roofline_json(const struct roofline_page *p);

#endif
