/* SPDX-License-Identifier: Apache-2.0 */
/* Where measured work stands under the roofs of a GPU: for people and for programs. */
#ifndef INFERENCE_PAGE_ROOFLINE_H
#define INFERENCE_PAGE_ROOFLINE_H

#include "base/shape.h"
#include "models/inference/roofline.h"
#include "render/doc.h"

struct roofline_page {
	const struct roof *roof;
	const struct roof_profile *profile; /* judged */
	const char *source;		    /* the file, or which results */
};

/* verbose: every point. */
struct doc *page_roofline(struct arena *a, const struct roofline_page *p, bool verbose);
/* Of a struct roofline_page. */
extern const struct result_shape roofline_result;

#endif
