/* SPDX-License-Identifier: Apache-2.0 */
/* Two recordings against each other (look/monitor/contrast.h): a page, and JSON. */
#ifndef MONITOR_PAGE_CONTRAST_H
#define MONITOR_PAGE_CONTRAST_H

#include <jansson.h>

#include "look/monitor/contrast.h"
#include "render/doc.h"

/* A table for each kind of thing; what stood still at one value on both sides is only counted. */
struct doc *page_contrast(struct arena *a, const struct contrast *v);
/* schemas/compare-recordings.json; all rows, figures in the units of the recordings. */
json_t *contrast_json(const struct contrast *v, long long time_s, int exit_code);

#endif
