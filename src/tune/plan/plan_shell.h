/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a commented POSIX shell script, for those who must not run a binary. */
#ifndef PLAN_PLAN_SHELL_H
#define PLAN_PLAN_SHELL_H

#include <stdio.h>

#include "tune/plan/plan.h"

/*
 * "sh FILE" or "sh FILE check" compares the machine with the plan's values before and writes
 * nothing; "sh FILE apply" compares, writes and reads back; "sh FILE undo" takes back newest first
 * what still has the plan's value. Changes that are refused, or that no program makes, are
 * comments. Texts of the machine and of the plan stand in single quotes or in comments, nowhere
 * else.
 */
void plan_shell(FILE *out, const struct machine *m, const struct plan *p);

#endif
