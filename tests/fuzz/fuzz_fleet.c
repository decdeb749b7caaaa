/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of results, after a good one: refused or compared, and what is said holds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "many/fleet/fleet.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static const char good[] =
	"{\"schema\":\"gputune.check/"
	"1\",\"time\":\"2026-01-01T00:00:00Z\",\"host\":{\"nodename\":\"a1\","
	"\"platform\":\"hgx\"},\"findings\":[{\"id\":\"a.b\",\"target\":\"\",\"verdict\":\"fail\","
	"\"current\":\"1\",\"wanted\":\"2\"},{\"id\":\"c.d\",\"target\":\"\",\"verdict\":\"pass\"}]"
	"}";

static void holds(const struct fleet *f)
{
	size_t grouped = 0;

	for (size_t i = 0; i < f->n_groups; i++)
		grouped += f->groups[i]->n;
	if (grouped != f->n || f->n < 1 || f->documents < f->n)
		abort();
	for (size_t s = 0; s < f->n_subjects; s++) {
		size_t given = f->subjects[s]->silent;

		for (size_t i = 0; i < f->subjects[s]->n_answers; i++)
			given += f->subjects[s]->answers[i]->count;
		if (given > f->n)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct fleet *f = fleet_new(&a, size % 2);
	char *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	/* Of its own size: a byte too far is seen. */
	memcpy(copy, data, size);
	fleet_add(f, "good.json", "good", good, sizeof(good) - 1);
	fleet_add(f, "any.json", "any", copy, size);
	fleet_golden(f, true);
	fleet_add(f, "golden.json", "golden", copy, size);
	fleet_golden(f, false);
	if (!f->golden->name)
		f->golden = NULL;
	fleet_settle(f);
	holds(f);
	for (size_t i = 0; i < f->n_groups; i++)
		if (!*fleet_hosts(&a, f->groups[i]->machines, f->groups[i]->n, 20) &&
		    *f->groups[i]->machines[0]->name)
			abort();
	free(copy);
	fleet_free(f);
	arena_free(&a);
	return 0;
}
