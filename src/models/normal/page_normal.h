/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of other programs, judged: for people and for programs. */
#ifndef NORMAL_PAGE_NORMAL_H
#define NORMAL_PAGE_NORMAL_H

#include "base/shape.h"
#include "models/normal/normal.h"
#include "render/doc.h"

struct normal_page {
	struct normal_items items; /* the worst first */
	bool rows;		   /* show each result as a row of normals.rows */
};

struct doc *page_normal(struct arena *a, const struct normal_page *p);
/* Of a struct normal_page. */
extern const struct result_shape normal_result;

#endif
