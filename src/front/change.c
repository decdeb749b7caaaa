/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/change.h for verbs that print by themselves. */
#include <unistd.h>

#include "front/change.h"

static struct machine_ask machine_asked_by(const struct run *r)
{
	return (struct machine_ask){ r->value[OPT_HOST], r->value[OPT_OVERLAY] };
}

struct host *run_change_host(struct run *r)
{
	const struct machine_ask from = machine_asked_by(r);

	return door_change_host(&r->door, &from, r->value[OPT_DRY_RUN] != NULL);
}

int run_check_overlay(struct run *r)
{
	const struct machine_ask from = machine_asked_by(r);

	return -door_check_overlay(&r->door, &from, r->value[OPT_DRY_RUN] != NULL);
}

int run_plan(struct run *r, struct host *h, struct planned *out)
{
	return run_profile(r, &out->profile) ? run_plan_of(r, h, out) : EXIT_USAGE;
}

int run_plan_of(struct run *r, struct host *h, struct planned *out)
{
	return -door_plan(&r->door, h, r->value[OPT_ALLOW], out);
}

const char *const *run_words(struct run *r, const char *list, size_t *n)
{
	return door_words(&r->door, list, n);
}

bool run_agreed(struct run *r, const char *question)
{
	return run_agree(r, NULL, question) == 0;
}

struct txn_who run_who(struct run *r)
{
	return door_who(&r->door, r->value[OPT_REASON]);
}

size_t run_add_value(struct run *r, struct host *h, struct planned *planned, const char *id,
		     const char *target, const char *value)
{
	return door_add_value(&r->door, h, planned, r->value[OPT_ALLOW], id, target, value);
}
