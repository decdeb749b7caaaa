/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow spots as JSON. */
#ifndef SHOW_TOPOLOGY_JSON_H
#define SHOW_TOPOLOGY_JSON_H

#include <jansson.h>

#include "machine/model/machine.h"

/* A list of {"kind", "name", "address", "fault", "now", "could", "unit", "reason"}, worst first;
 * now and could are null where the spot has no rate. The caller owns the reference. */
json_t *narrow_json(struct arena *a, const struct machine *m);

#endif
