/* SPDX-License-Identifier: Apache-2.0 */
/* A workload as one window: words without a shell, the figure in what it prints, how it fails; and
 * a bench's case as one. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/bench/bench.h"
#include "measure/prove/window.h"

static void split(const char *line, const char *const *want)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	char **argv = NULL;
	int r = words_split(&a, line, &argv, &e);

	if (!want) {
		if (r != -EINVAL)
			fail_msg("%s is taken", line);
		assert_true(strlen(e.text) > 10);
	} else {
		size_t n = 0;

		if (r)
			fail_msg("%s: %s", line, e.text);
		for (; want[n]; n++)
			assert_string_equal(argv[n], want[n]);
		assert_null(argv[n]);
	}
	arena_free(&a);
}

static void test_words(void **state)
{
	(void)state;
	split("a b  c", (const char *[]){ "a", "b", "c", NULL });
	split("  'a b'\tc ", (const char *[]){ "a b", "c", NULL });
	split("a'b'\"c\"d", (const char *[]){ "abcd", NULL });
	split("'' \"\"", (const char *[]){ "", "", NULL });
	split("\"a \\\"b\\\" \\x\"", (const char *[]){ "a \"b\" \\x", NULL });
	split("a\\ b '$x|;'", (const char *[]){ "a b", "$x|;", NULL });
	split("x=1 --y=/z", (const char *[]){ "x=1", "--y=/z", NULL });
	split("", NULL);
	split("   ", NULL);
	split("a 'b", NULL);
	split("a \"b", NULL);
	split("a \\", NULL);
	split("a | b", NULL);
	split("a; b", NULL);
	split("a > b", NULL);
	split("a $HOME", NULL);
	split("a \"$HOME\"", NULL);
	split("a `b`", NULL);
	split("a *.c", NULL);
	split("a & b", NULL);
}

/* NAN: it is not there. */
static void finds(const char *metric, const char *output, double want)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct metric *m = NULL;
	double v = -1;
	int r;

	if (metric_parse(&a, metric, &m, &e))
		fail_msg("%s: %s", metric, e.text);
	r = metric_find(m, output, &v, &e);
	if (isnan(want))
		assert_int_equal(r, -ENODATA);
	else if (r || fabs(v - want) > 1e-9)
		fail_msg("%s in \"%s\": %d, %g", metric, output, r, v);
	metric_free(m);
	arena_free(&a);
}

static void refused(const char *metric)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct metric *m = NULL;

	if (metric_parse(&a, metric, &m, &e) != -EINVAL)
		fail_msg("%s is taken", metric);
	arena_free(&a);
}

static void test_metrics(void **state)
{
	(void)state;
	finds("rate: ([0-9.]+)", "rate: 12.5 GB/s\n", 12.5);
	/* The last one. */
	finds("rate: ([0-9.]+)", "rate: 1\nrate: 2\nrate: 3.5\nend\n", 3.5);
	finds("^([0-9]+)$", "1\n2x\n3\n", 3);
	finds("x=([0-9.e+-]+)", "x=1e3 x=-2.5e-1", -0.25);
	finds("rate: ([0-9.]+)", "nothing", NAN);
	finds("rate: (.*)$", "rate: fast\n", NAN);
	finds("(a*)", "bbb", NAN);
	finds("json:.a.b[1].c", "{\"a\": {\"b\": [1, {\"c\": 4.25}]}}", 4.25);
	finds("json:a", "starting {not it}\n{\"a\": 7}\ndone\n", 7);
	finds("json:[0]", "[3]", 3);
	finds("json:.a", "{\"a\": \"7\"}", NAN);
	finds("json:.a.b", "{\"a\": 7}", NAN);
	finds("json:.a", "no JSON", NAN);
	refused("no group");
	refused("(two) (groups)");
	refused("([0-9");
	/* What would take all memory when it is written out; and what only looks like it. */
	refused("m([0-9.]+) t++++++++++++++++++++++okens");
	refused("(((((a{99}){99}){99}){99}){99})");
	refused("([0-9]+)(?:a{9999}){9999}");
	refused("([0-9]{9}){999}");
	/* And all time: forty seconds, were it compiled. */
	refused("j(a)?????????????????????????????????????????????????????????????????????????????+"
		"++");
	finds("m*[(]+([0-9]+)+[)]*", "mm((12)", 12);
	finds("[+]{3}([0-9]+)", "+++7", 7);
	finds("[]{9}+[:digit:]]{9}=([0-9]+)", "{9}+]1234=7", 7);
	finds("\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+([0-9]{1,12})", "++++++++++++++++42",
	      42);
	refused("json:");
	refused("json:.a..b");
	refused("json:.a[x]");
	refused("json:.a[1");
}

static int run(const char *command, const char *metric, double limit_s, double *v, struct err *e)
{
	struct workload w = { .command = command, .metric = metric, .limit_s = limit_s };
	struct window_reading out = { 0 };
	struct arena a = { 0 };
	struct window window;
	int r = window_command(&a, &w, &window, e);

	if (r == 0) {
		r = window.measure(&window, &out, e);
		*v = out.value[0];
		window_close(&window);
	}
	arena_free(&a);
	return r;
}

static void test_workload(void **state)
{
	struct err e = { 0 };
	double v = 0;
	int r;

	(void)state;
	assert_int_equal(run("sleep 0.1", "wall", 5, &v, &e), 0);
	assert_true(v > 0.099 && v < 2);
	assert_int_equal(run("printf '%s\\n' 'score 42'", "score ([0-9]+)", 5, &v, &e), 0);
	assert_true(v > 41.9 && v < 42.1);
	/* What fails is a fault of its own kind. */
	assert_int_equal(run("sh -c 'echo no memory >&2; exit 3'", "wall", 5, &v, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "status 3"));
	assert_non_null(strstr(e.text, "no memory"));
	assert_int_equal(run("sh -c 'kill -9 $$'", "wall", 5, &v, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "signal 9"));
	assert_int_equal(run("sleep 10", "wall", 0.2, &v, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "did not finish"));
	/* Where vfork is a plain fork only its end tells. */
	r = run("no-such-program-here", "wall", 5, &v, &e);
	assert_true(r == -ENOENT || (r == -EBADMSG && strstr(e.text, "127")));
	assert_int_equal(run("echo 0", "([0-9]+)", 5, &v, &e), -EDOM);
	assert_int_equal(run("echo x", "([0-9]+)", 5, &v, &e), -ENODATA);
	/* Much output: the end of it counts. */
	assert_int_equal(run("sh -c 'head -c 3000000 /dev/zero | tr \"\\0\" x; echo; echo r=5'",
			     "r=([0-9]+)", 20, &v, &e),
			 0);
	assert_true(v > 4.9 && v < 5.1);
}

static void test_bench(void **state)
{
	struct arena a = { 0 };
	struct machine *m = ARENA_NEW(&a, struct machine);
	struct bench_env env = { .a = &a, .m = m, .cpus = bench_allowed(&a), .small = true };
	struct window_reading out = { 0 };
	struct err e = { 0 };
	struct window w;

	(void)state;
	assert_int_equal(window_bench(&a, &env, "no-such-bench", NULL, &w, &e), -EINVAL);
	assert_int_equal(window_bench(&a, &env, "memory-bandwidth/no-such", NULL, &w, &e), -EINVAL);
	assert_int_equal(window_bench(&a, &env, "memory-bandwidth", "nothing", &w, &e), -EINVAL);
	assert_int_equal(window_bench(&a, &env, "memory-bandwidth", NULL, &w, &e), 0);
	w.seconds = 0.01;
	for (int i = 0; i < 2; i++) {
		if (w.measure(&w, &out, &e))
			fail_msg("%s: %s", w.name, e.text);
		assert_true(out.value[0] > 0 && out.samples > 0);
	}
	window_close(&w);
	arena_free(&a);
}

/* --- a bench that tells for how long it was asked --------------------------------------------- */

static double told_s;

static void told_cases(const struct bench_env *env, struct bench_cases *out)
{
	bench_case_add(env->a, out, (struct bench_case){ .name = "only" });
}

static int told_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	(void)c, (void)e, (void)state;
	told_s = env->seconds;
	*variant = "";
	return 0;
}

static int told_run(void *state, struct bench_sample *out, struct err *e)
{
	(void)state, (void)e;
	out->value[0] = 1;
	return 0;
}

static int told_verify(void *state, struct err *e)
{
	(void)state, (void)e;
	return 0;
}

static void told_teardown(void *state)
{
	(void)state;
}

static const struct bench_figure told_figures[] = { { "n", "n", "n", "n", BENCH_HIGHER } };
static const struct bench told = { .name = "told",
				   .figures = told_figures,
				   .n_figures = 1,
				   .cases = told_cases,
				   .setup = told_setup,
				   .run = told_run,
				   .verify = told_verify,
				   .teardown = told_teardown };

const struct bench *__real_bench_find(const char *name);
const struct bench *__wrap_bench_find(const char *name);

const struct bench *__wrap_bench_find(const char *name)
{
	return strcmp(name, "told") == 0 ? &told : __real_bench_find(name);
}

/* By it a bench chooses how long a sample is: not told, copies to a GPU would all be as short as
 * can be. */
static void test_seconds(void **state)
{
	struct arena a = { 0 };
	struct bench_env env = { .a = &a,
				 .m = ARENA_NEW(&a, struct machine),
				 .cpus = bench_allowed(&a) };
	struct window_reading out = { 0 };
	struct err e = { 0 };
	struct window w;

	(void)state;
	assert_int_equal(window_bench(&a, &env, "told", NULL, &w, &e), 0);
	w.seconds = 0.003;
	assert_int_equal(w.measure(&w, &out, &e), 0);
	assert_true(told_s >= w.seconds && told_s <= w.seconds);
	window_close(&w);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),	 cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_workload), cmocka_unit_test(test_bench),
		cmocka_unit_test(test_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
