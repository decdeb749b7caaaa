/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What paths between machines are known to carry: measured by somebody on healthy machines of the
 * kind, with source and date. Rows are data in the form of measure/bench/bands.h; a new platform is
 * rows.
 */
#ifndef CLUSTER_BANDS_H
#define CLUSTER_BANDS_H

#include "measure/bench/bands.h"
#include "many/cluster/check.h"

/*
 * hardware: platform.kind or the GPUs' name. bench: a test's name. name: "one:SPEED:WAY" for one
 * path, "both:SPEED:WAY" for both twins at once (SPEED in Mb/s as the port tells it, WAY cable or
 * switch), or a collective's "all-reduce:8B". figure: "rate" or "latency".
 */
extern const struct band cluster_bands[];
extern const size_t cluster_band_count;

/* Both nodes have to be of the kind. speed_mbps: 0: not told. */
struct record_band cluster_band(struct arena *a, const struct check *c,
				const struct check_result *r);

#endif
