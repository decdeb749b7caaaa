/* SPDX-License-Identifier: Apache-2.0 */
/* The line that kernels and copies of a moment become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/inject/look.h"

static char path[] = "/tmp/gputune-look-XXXXXX";

/* The file's last line. */
static const char *last(void)
{
	static char line[LOOK_LINE_BYTES];
	FILE *f = fopen(path, "re");

	line[0] = '\0';
	while (f && fgets(line, sizeof(line), f))
		;
	if (f)
		fclose(f);
	return line;
}

static void test_line(void **state)
{
	struct trace_look *l = calloc(1, sizeof(*l));

	(void)state;
	assert_non_null(l);
	assert_true(look_make(l));
	l->from = 1000000;
	l->to = 101000000;
	l->copies = true;
	/* What lies outside of the moment does not count, at its edges only what is inside. */
	look_kernel(l, "early", 0, 1, 1000000);
	look_kernel(l, "gemm \"a\"", 0, 900000, 2000000);
	look_kernel(l, "ncclDevKernel_AllReduce", 0, 1500000, 3000000);
	look_copy(l, 0, 23000000, 24000000, true);
	look_kernel(l, "gemm \"a\"", 1, 100000000, 900000000);
	look_kernel(l, "broken", 1, 5000000, 4000000);
	assert_true(look_write(l, path, 7, 3));
	assert_non_null(strstr(last(), "\"pid\":7,\"rank\":3,"));
	assert_non_null(strstr(
		last(),
		"\"ns\":100000000,\"cut\":false,\"copies_seen\":true,\"pageable_ns\":1000000,"));
	assert_non_null(strstr(
		last(),
		"{\"device\":0,\"compute_ns\":1000000,\"comm_ns\":1500000,\"copy_ns\":1000000,"
		"\"kernels_ns\":2000000,\"any_ns\":3000000,\"kernels\":1,\"comms\":1,\"copies\":1,"
		"\"gaps_ns\":[0,0,0,0,97000000]}"));
	assert_non_null(strstr(last(), "{\"device\":1,\"compute_ns\":1000000,"));
	assert_non_null(strstr(
		last(),
		"\"names\":[[\"gemm ?a?\",2000000,2],[\"ncclDevKernel_AllReduce\",1500000,1]]}"));
	/* Then it begins anew. */
	assert_true(look_write(l, path, 7, 3));
	assert_non_null(strstr(last(), "\"devices\":[],\"names\":[]}"));
	assert_null(strstr(last(), "waits"));
	assert_true(look_write_none(l, path, 7, 3, "why"));
	assert_string_equal(last(),
			    "{\"gputune_trace\":1,\"pid\":7,\"rank\":3,\"none\":\"why\"}\n");
	assert_false(look_write(l, "/nowhere/file", 7, 3));
	/* Waits, of each what lies in the moment. */
	l->waits_seen = true;
	look_wait(l, 1, 1000000);
	look_wait(l, 900000, 1500000);
	look_wait(l, 2000000, 5000000);
	assert_true(look_write(l, path, 7, 3));
	assert_non_null(strstr(last(), "\"waits\":2,\"wait_ns\":3500000,\"devices\":[]"));
	assert_true(look_write(l, path, 7, 3));
	assert_non_null(strstr(last(), "\"waits\":0,\"wait_ns\":0,"));
	look_free(l);
	free(l);
}

static void test_full(void **state)
{
	struct trace_look *l = calloc(1, sizeof(*l));
	char name[16];

	(void)state;
	assert_non_null(l);
	assert_true(look_make(l));
	l->to = 1000000;
	/* Names beyond the table share one; records beyond it are said to be missing. */
	for (unsigned i = 0; i < LOOK_RECORDS_MOST + 1u; i++) {
		snprintf(name, sizeof(name), "k%u", i % (LOOK_NAMES_MOST + 9));
		look_kernel(l, name, 0, i, i + 1);
	}
	assert_true(look_write(l, path, 7, -1));
	assert_non_null(strstr(last(), "\"cut\":true"));
	look_free(l);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_line),
					    cmocka_unit_test(test_full) };
	int fd = mkstemp(path), code;

	if (fd < 0)
		return 1;
	close(fd);
	code = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return code;
}
