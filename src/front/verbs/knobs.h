/* SPDX-License-Identifier: Apache-2.0 */
/* The door that settings read knobs through. */
#ifndef VERBS_KNOBS_H
#define VERBS_KNOBS_H

#include "machine/knob/io.h"

/* ctx is the struct host. */
struct fact_str run_read_knob(void *ctx, struct arena *a, const struct knob *k);

#endif
