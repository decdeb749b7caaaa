/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/change.h for verbs that print by themselves: the options of the run, and positive codes. */
#ifndef FRONT_CHANGE_H
#define FRONT_CHANGE_H

#include "front/session.h"
#include "verbs/change.h"

struct host *run_change_host(struct run *r);
int run_check_overlay(struct run *r);
int run_plan(struct run *r, struct host *h, struct planned *out);
/* run_plan with the profile that is in out. */
int run_plan_of(struct run *r, struct host *h, struct planned *out);
const char *const *run_words(struct run *r, const char *list, size_t *n);
bool run_agreed(struct run *r, const char *question);
struct txn_who run_who(struct run *r);
size_t run_add_value(struct run *r, struct host *h, struct planned *p, const char *id,
		     const char *target, const char *value);

#endif
