/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What health is measured by: figures that somebody publishes for a kind of hardware, each with its
 * source and date, and what the driver's error numbers mean: rows of knowledge/health.h. Rules look
 * figures up here and hold none themselves.
 */
#ifndef SETTINGS_HEALTH_DATA_H
#define SETTINGS_HEALTH_DATA_H

#include "knowledge/health.h"

/* The row for this GPU, one that names it before one for any; NULL when there is none. gpu may be
 * NULL. */
const struct health_limit *health_limit(const char *setting, const char *key, const char *gpu);
/* Its value; fallback where there is no row. */
double health_figure(const char *setting, const char *key, const char *gpu, double fallback);

extern const char xid_source[], xid_date[];

/* NULL for a number that the table does not have. */
const struct xid_row *xid_find(unsigned number);

#endif
