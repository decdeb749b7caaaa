/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to ask about, as JSON: schema gputune.list/1. */
#ifndef SETTINGS_LIST_JSON_H
#define SETTINGS_LIST_JSON_H

#include <jansson.h>

#include "machine/model/machine.h"
#include "look/settings/profile.h"

/* Every setting that the profile selects. The caller owns the reference. */
json_t *list_settings_json(const struct profile *p);
/* Every fact's path, as in show --format json without list indices: "gpu.gpus.bar1_bytes". */
json_t *list_facts_json(struct arena *a);

#endif
