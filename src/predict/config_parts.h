/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of reading a config.json. */
#ifndef PREDICT_CONFIG_PARTS_H
#define PREDICT_CONFIG_PARTS_H

#include <jansson.h>

#include "predict/arch.h"

/* The first of these members that is an integer from 1 to 2^24; else the fallback. */
int config_int(const json_t *o, const char *const *names, int fallback);
/* Which layers are of which kind: windows, linear attention, state spaces, convolutions. */
void config_layers(const json_t *c, const char *type, struct arch *a);

#endif
