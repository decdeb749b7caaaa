/* SPDX-License-Identifier: Apache-2.0 */
/* Facts as JSON: schema gputune.show/1. */
#ifndef SHOW_SHOW_JSON_H
#define SHOW_SHOW_JSON_H

#include <jansson.h>

#include "machine/model/machine.h"

/* subject as "show" names it, "" for all; key: its part of schema_machine, NULL for all. With
 * "topology" come the narrow spots. The caller owns the reference. */
json_t *show_json(struct arena *a, const struct machine *m, const char *subject, const char *key);

#endif
