/* SPDX-License-Identifier: Apache-2.0 */
/* gputune diagnose hang and serving, of diagnose.c. */
#ifndef VERBS_HANG_H
#define VERBS_HANG_H

#include "verbs/verb.h"

extern const struct verb diagnose_hang_verb, diagnose_serving_verb;

#endif
