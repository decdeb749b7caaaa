/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a config.json says of a model and what the list of models says of its name: the same
 * parameters, the same cache. And what is not understood is said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/inference/config.h"
#include "models/inference/arch.h"

#define NEAR 0.01

static int bad;

static void near(const char *name, const char *what, double got, double want)
{
	if (fabs(got - want) <= NEAR * fabs(want))
		return;
	print_error("%s: %s %.5g, not %.5g\n", name, what, got, want);
	bad++;
}

/* {"cycle": ["a", "b"], "layers": 5} is the list of five that begins with a, b, a. */
static void unroll(json_t *o)
{
	const char *key;
	void *next;
	json_t *v;

	json_object_foreach_safe(o, next, key, v)
	{
		json_t *items = json_object_get(v, "cycle"), *list;
		json_int_t n = json_integer_value(json_object_get(v, "layers"));

		if (!items) {
			if (json_is_object(v))
				unroll(v);
			continue;
		}
		list = json_array();
		for (json_int_t i = 0; i < n; i++)
			json_array_append(
				list, json_array_get(items, (size_t)i % json_array_size(items)));
		json_object_set_new(o, key, list);
	}
}

static double number(const json_t *o, const char *name, double otherwise)
{
	const json_t *v = json_object_get(o, name);

	return json_is_number(v) ? json_number_value(v) : otherwise;
}

/* Against figures in the row itself. */
static void against_row(const char *name, const json_t *row, const struct arch *got)
{
	struct arch_parts p = arch_parts(got);

	near(name, "parameters", p.total, number(row, "total", 0));
	near(name, "active", p.active, number(row, "active", p.active));
	near(name, "cache", arch_cache_elements(got, 1000) / 1000, number(row, "cache", -1));
}

static void against_list(struct arena *a, const char *name, const struct arch *got)
{
	const char *taken;
	struct arch want;
	struct arch_parts p = arch_parts(got), q;
	struct err e;

	if (model_find(a, NULL, name, NULL, &want, &taken, &e) < 0)
		fail_msg("%s: %s", name, e.text);
	q = arch_parts(&want);
	near(name, "parameters", p.total, q.total);
	near(name, "active", p.active, q.active);
	for (double tokens = 100; tokens < 1e6; tokens *= 100)
		near(name, "cache", arch_cache_elements(got, tokens),
		     arch_cache_elements(&want, tokens));
	near(name, "state", arch_state_bytes(got), arch_state_bytes(&want));
}

static void check(struct arena *a, json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "name"));
	const char *doubt = json_string_value(json_object_get(row, "doubt"));
	json_t *c = json_object_get(row, "config");
	struct model_file f;
	struct err e;
	char *text;

	unroll(c);
	text = json_dumps(c, 0);
	if (config_read(a, name, text, strlen(text), &f, &e) < 0)
		fail_msg("%s: %s", name, e.text);
	free(text);
	if (!doubt == !!strstr(f.taken, "uncertain") || (doubt && !strstr(f.taken, doubt))) {
		print_error("%s: %s\n", name, f.taken);
		bad++;
	}
	assert_int_equal(f.arch.guessed, doubt != NULL);
	if (json_object_get(row, "total"))
		against_row(name, row, &f.arch);
	else
		against_list(a, name, &f.arch);
}

static void test_configs(void **state)
{
	json_error_t why;
	json_t *rows = json_load_file(SOURCE_ROOT "/tests/predict/configs.json", 0, &why), *row;
	struct arena a = { 0 };
	size_t i;

	if (!rows)
		fail_msg("line %d: %s", why.line, why.text);
	json_array_foreach(rows, i, row) check(&a, row);
	assert_true(json_array_size(rows) > 120);
	assert_int_equal(bad, 0);
	json_decref(rows);
	arena_free(&a);
	(void)state;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_configs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
