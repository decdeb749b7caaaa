/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the verb advise. */
#ifndef VERBS_ADVISE_H
#define VERBS_ADVISE_H

#include "front/verbs/cmd.h"
#include "models/inference/sweep.h"

/* Takes the options that are lists in a sweep into *s, and out of the run, so that what remains
 * reads as one question. 0, or EXIT_USAGE after complaining. */
int advise_lists(struct run *r, struct sweep *s);
/* --goal, whose words are checked already. */
enum goal advise_goal(const struct run *r);

#endif
