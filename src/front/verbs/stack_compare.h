/* SPDX-License-Identifier: Apache-2.0 */
/* What "stack compare" and the processes that measure for it share. */
#ifndef VERBS_STACK_COMPARE_H
#define VERBS_STACK_COMPARE_H

#include "front/verbs/bench.h"
#include "front/verbs/stack.h"

/* One window of that bench with whatever library GPUTUNE_LIB_DIR holds; a line of JSON. */
int stack_compare_one(struct run *r);
/* How the names begin of the library that a bench measures ("libcublasLt.so."); NULL: none. */
const char *stack_compare_prefix(const char *bench);

#endif
