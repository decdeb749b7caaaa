/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user or a site prefers: lines "key = value" of $XDG_CONFIG_HOME/gputune/config (not of
 * root's) and /etc/gputune/gputune.conf; the first that has the key counts. Keys: profile, waivers
 * (a profile file whose waivers hold for every profile), color (auto, never), ascii (yes, no).
 */
#ifndef BASE_PREFERENCE_H
#define BASE_PREFERENCE_H

#include "base/arena.h"
#include "base/err.h"

#define CONFIG_SITE "/etc/gputune/gputune.conf"

/* The value, NULL: neither file has the key. -EINVAL and *e with file and line: a file has what
 * cannot be read, whatever its key. */
int preference_get(struct arena *a, const char *key, const char **value, struct err *e);

#endif
