/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet for people and for programs: groups, differences, outliers, drift. */
#ifndef FLEET_PAGE_FLEET_H
#define FLEET_PAGE_FLEET_H

#include <jansson.h>

#include "many/fleet/fleet.h"
#include "render/doc.h"

struct fleet_view {
	bool all;     /* every group, difference and outlier, every name */
	bool between; /* what differs only between platforms, too */
	bool html;    /* and a table of all machines, to be sorted and filtered */
};

/* page_fleet_bench.c: figures that were measured, who lies far from its peers, and how all lie. */
void page_fleet_benches(struct doc *d, const struct fleet *f, const struct fleet_view *how);
/* A row a machine. */
void page_fleet_machines(struct doc *d, const struct fleet *f);
struct doc *page_fleet(struct arena *a, const struct fleet *f, const struct fleet_view *how);
/* Schema gputune.fleet/1, see schemas/fleet.json. */
json_t *fleet_json(const struct fleet *f, long long time_s, int exit_code);

#endif
