/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a machine's name is a name. One that could as well be a word ("spark", "nvme") is replaced
 * only there: elsewhere it is a module, a product or a service.
 */
#ifndef HOST_REDACT_HOST_H
#define HOST_REDACT_HOST_H

#include <stdbool.h>

#include "base/map.h"

/* The kernel, a module, a driver or the product is called so, as far as the recorded places (paths
 * to struct recorded) tell. */
bool redact_host_is_word(const char *nodename, const struct map *places);
/* Whether machines are named in the file, or in its path. */
bool redact_names_host(const char *path);

#endif
