/* SPDX-License-Identifier: Apache-2.0 */
/* Every setting that something can be written for names the benches that show its effect, or says
 * why none does; and the benches are there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "measure/bench/bench.h"
#include "look/settings/settings.h"

static bool has_case(const struct bench_env *env, const struct bench *b, const char *prefix)
{
	struct bench_cases all = { 0 };

	b->cases(env, &all);
	for (size_t i = 0; i < all.n; i++)
		if (strncmp(all.items[i].name, prefix, strlen(prefix)) == 0)
			return true;
	for (size_t i = 0; i < all.n_absent; i++)
		if (strncmp(all.absent[i].bench, prefix, strlen(prefix)) == 0)
			return true;
	/* What another machine or a GPU is needed for has no cases here. */
	return !all.n;
}

static void check_word(const struct bench_env *env, const struct setting *s, const char *word)
{
	size_t n = strcspn(word, "/");
	const struct bench *b = bench_find(arena_strndup(env->a, word, n));

	if (!b)
		fail_msg("%s: there is no bench \"%s\"", s->id, word);
	else if (word[n] && !has_case(env, b, word + n + 1))
		fail_msg("%s: there is no case \"%s\"", s->id, word);
}

static void check_row(const struct bench_env *env, const struct setting *s)
{
	char *words, *save = NULL;

	/* "apply" refuses a danger with what can happen, which explain repeats. */
	if ((s->risk == RISK_DANGER) != (s->danger && strlen(s->danger) > 20))
		fail_msg("%s has to say what can happen, or is no danger", s->id);
	if (s->knob == KNOB_NONE && !s->remediate)
		return;
	if (!s->shown_by == !s->not_shown)
		fail_msg("%s has to name what shows its effect, or why nothing does", s->id);
	assert_true(s->settle_s >= 0 && s->settle_s <= 120 && s->warm_up_s >= 0 &&
		    s->warm_up_s <= 300);
	if (s->not_shown) {
		assert_true(strlen(s->not_shown) > 20);
		return;
	}
	words = arena_strdup(env->a, s->shown_by);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		check_word(env, s, w);
}

static void test_rows(void **state)
{
	struct arena a = { 0 };
	struct machine m = { 0 };
	struct bench_env env = { .a = &a, .m = &m };
	size_t n = 0;

	(void)state;
	m.memory.available_kb = (struct fact_int){ { .seen = SEEN_OK }, 16 << 20 };
	env.cpus = bench_allowed(&a);
	env.ask.dir = "/tmp";
	SETTING_FOR_EACH (s) {
		check_row(&env, s);
		n++;
	}
	assert_true(n > 100);
	arena_free(&a);
}

/* The check itself finds what is wrong. */
static void test_catches(void **state)
{
	struct arena a = { 0 };
	struct machine m = { 0 };
	struct bench_env env = { .a = &a, .m = &m, .ask.dir = "/tmp" };

	(void)state;
	m.memory.available_kb = (struct fact_int){ { .seen = SEEN_OK }, 16 << 20 };
	env.cpus = bench_allowed(&a);
	assert_null(bench_find("memory"));
	assert_false(has_case(&env, bench_find("memory-latency"), "7MiB"));
	assert_true(has_case(&env, bench_find("memory-latency"), "256MiB:huge"));
	assert_false(has_case(&env, bench_find("disk"), "read-seq:2MiB"));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_catches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
