/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What systemctl(1) is asked for each value of a service, and what follows when it fails or does
 * not end. The linker puts __wrap_command_report in the place of the function that would run it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/ask.h"
#include "machine/host/command.h"

static struct {
	struct text said; /* a line for each call: its arguments behind the options of all */
	const char *bad;  /* the verb that fails */
	int error;
} told;

int __wrap_command_report(struct arena *a, char *const *argv, int limit_ms, size_t max,
			  const char **output);

int __wrap_command_report(struct arena *a, char *const *argv, int limit_ms, size_t max,
			  const char **output)
{
	static const char *const always[] = { "systemctl", "--no-ask-password", "--quiet",
					      "--system" };
	const char *verb = NULL;

	(void)a;
	assert_true(limit_ms > 0 && max > 0);
	assert_null(output);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(argv[i], always[i]);
	for (argv += 4; *argv; argv++) {
		text_printf(&told.said, "%s%s", *argv, argv[1] ? " " : "\n");
		if (!verb && **argv != '-')
			verb = *argv;
	}
	return told.bad && strcmp(verb, told.bad) == 0 ? told.error : 0;
}

/* Tells "x.service" field=value while verb bad fails with error; what was asked of systemctl. */
static int tell(const char *unit, const char *field, const char *value, const char *bad, int error,
		const char *want)
{
	struct arena a = { 0 };
	void *state = NULL;
	struct answer v;
	int r;

	answer_text(&v, value);
	told.bad = bad;
	told.error = error;
	r = provider_systemd.tell(&state, &a, unit, field, &v);
	assert_string_equal(told.said.s ? told.said.s : "", want);
	text_free(&told.said);
	arena_free(&a);
	return r;
}

static void each_value(void **state)
{
	(void)state;
	assert_int_equal(tell("x.service", "enabled", "enabled", NULL, 0,
			      "unmask x.service\nenable x.service\n"),
			 0);
	assert_int_equal(tell("x.service", "enabled", "disabled", NULL, 0,
			      "unmask x.service\ndisable x.service\n"),
			 0);
	assert_int_equal(tell("x.service", "enabled", "masked", NULL, 0, "mask x.service\n"), 0);
	assert_int_equal(tell("x.service", "active", "active", NULL, 0, "start x.service\n"), 0);
	assert_int_equal(tell("x.service", "active", "inactive", NULL, 0, "stop x.service\n"), 0);
}

static void nothing_else(void **state)
{
	(void)state;
	assert_int_equal(tell("x.service", "active", "enabled", NULL, 0, ""), -EINVAL);
	assert_int_equal(tell("x.service", "wanted", "active", NULL, 0, ""), -EINVAL);
	assert_int_equal(tell("--force", "active", "active", NULL, 0, ""), -EINVAL);
	assert_int_equal(tell("../x.service", "active", "active", NULL, 0, ""), -EINVAL);
}

static void a_failure_ends_it(void **state)
{
	(void)state;
	assert_int_equal(
		tell("x.service", "enabled", "enabled", "unmask", -EACCES, "unmask x.service\n"),
		-EACCES);
	assert_int_equal(
		tell("x.service", "active", "active", "start", -ENOENT, "start x.service\n"),
		-ENOENT);
}

/* A job that does not end in time is replaced, or it would end later, after what was set before it
 * has been taken back. */
static void a_job_that_does_not_end_is_replaced(void **state)
{
	(void)state;
	assert_int_equal(tell("x.service", "active", "inactive", "stop", -ETIME,
			      "stop x.service\n--no-block --job-mode=replace start x.service\n"),
			 -ETIME);
	assert_int_equal(tell("x.service", "active", "active", "start", -ETIME,
			      "start x.service\n--no-block --job-mode=replace stop x.service\n"),
			 -ETIME);
	/* Links have no job. */
	assert_int_equal(tell("x.service", "enabled", "disabled", "disable", -ETIME,
			      "unmask x.service\ndisable x.service\n"),
			 -ETIME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_value),
		cmocka_unit_test(nothing_else),
		cmocka_unit_test(a_failure_ends_it),
		cmocka_unit_test(a_job_that_does_not_end_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
