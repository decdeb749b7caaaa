/* SPDX-License-Identifier: Apache-2.0 */
/* Every verb that answers, by the name of its file or folder. */
#ifndef VERBS_VERBS_H
#define VERBS_VERBS_H

#include "verbs/verb.h"

extern const struct verb lint_verb;

#endif
