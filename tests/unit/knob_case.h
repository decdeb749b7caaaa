/* SPDX-License-Identifier: Apache-2.0 */
/* One knob at a time on a machine in memory. */
#ifndef TEST_KNOB_CASE_H
#define TEST_KNOB_CASE_H

#include "memory_host.h"

#include "machine/knob/io.h"

struct bench {
	struct host *h;
	struct arena a;
	struct err e;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->h = memory_open();
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	host_close(b->h);
	arena_free(&b->a);
	free(b);
	return 0;
}

static const char *get(struct bench *b, const struct knob *k)
{
	const char *value = NULL;
	int r = knob_get(b->h, &b->a, k, &value, &b->e);

	if (r)
		fail_msg("%s: %s", k->name, b->e.text);
	return value;
}

#endif
