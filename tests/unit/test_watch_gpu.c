/* SPDX-License-Identifier: Apache-2.0 */
/* Hearing of GPUs through the real loader: a stub of a current library that has something to say,
 * of one that has not the functions (argument "old"), and none (argument "absent"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "stub_file.h"

#include "tune/watch/live.h"

static char description[] = "/tmp/gputune-stub-XXXXXX";

static void describe(const char *gpus)
{
	FILE *f = fopen(description, "w");

	assert_non_null(f);
	fprintf(f, "- nvmlDeviceGetCount=2\n%s", gpus);
	fclose(f);
}

/* Whether a hint of NVML's comes within half a second; *started: somebody listens. */
static bool hears(bool gpus, bool *started)
{
	struct host *h = host_open_live();
	struct err e = { 0 };
	struct source *s = live_source_open(h, NULL, true, &e);
	struct hint hints[8];
	long long until;
	bool heard = false;

	assert_non_null(s);
	s->ops->listen(s, NULL, 0, gpus);
	*started = ((struct live_source *)s)->gpu != NULL;
	until = s->ops->now(s) + 500;
	while (!heard && s->ops->now(s) < until) {
		size_t n = s->ops->wait(s, until, hints, 8);

		for (size_t i = 0; i < n; i++)
			heard = heard || (hints[i].kind == HINT_GPU && !*hints[i].what &&
					  strcmp(hints[i].via, "nvml") == 0);
	}
	s->ops->close(s);
	host_close(h);
	return heard;
}

static void test_event(void **state)
{
	bool started;

	(void)state;
	describe("1 nvmlDeviceGetSupportedEventTypes=28\nstub event_after=50\n");
	assert_false(hears(false, &started));
	assert_false(started);
	assert_true(hears(true, &started));
	assert_true(started);
}

static void test_silence(void **state)
{
	bool started;

	(void)state;
	describe("0 nvmlDeviceGetSupportedEventTypes=1\n");
	/* Nothing of what it could tell is of use: nobody waits. */
	assert_false(hears(true, &started));
	assert_false(started);
	describe("0 nvmlDeviceGetSupportedEventTypes=28\n");
	assert_false(hears(true, &started));
	assert_true(started);
}

/* Waiting fails from then on: that is looked into, and nobody waits any more. */
static void test_lost(void **state)
{
	bool started;

	(void)state;
	describe("1 nvmlDeviceGetSupportedEventTypes=12\nstub event_after=50\nstub event_lost=1\n");
	assert_true(hears(true, &started));
	assert_true(started);
}

/* No thread that spins on a function which is not there. */
static void test_without(void **state)
{
	bool started;

	(void)state;
	describe("0 nvmlDeviceGetSupportedEventTypes=28\nstub event_after=50\n");
	assert_false(hears(true, &started));
	assert_false(started);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest current[] = { cmocka_unit_test(test_event),
					      cmocka_unit_test(test_silence),
					      cmocka_unit_test(test_lost) },
				without[] = { cmocka_unit_test(test_without) };
	int failed;

	(void)argv;
	if (!stub_file_make(description))
		return 1;
	failed = argc > 1 ? cmocka_run_group_tests_name("watch-gpu-without", without, NULL, NULL)
			  : cmocka_run_group_tests_name("watch-gpu", current, NULL, NULL);
	unlink(description);
	return failed;
}
