/* SPDX-License-Identifier: Apache-2.0 */
/* compare of two recordings, for verb_compare alone. */
#ifndef VERBS_MONITOR_REPLAY_H
#define VERBS_MONITOR_REPLAY_H

#include "front/verbs/cmd.h"

/* True when at least one of the two arguments is a recording: all is said then, and *code is the
 * exit code. */
bool compare_are_recordings(struct run *r, int *code);

#endif
