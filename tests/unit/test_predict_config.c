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

/* What a name is answered with: a row's name, "class NAME", or "unknown". */
static const char *answered(struct arena *a, const char *name)
{
	const char *taken, *class, *shape;
	struct arch got;
	struct err e = { 0 };

	if (model_find(a, NULL, name, NULL, &got, &taken, &e) < 0) {
		class = strstr(e.text, "of class ");
		return class ? arena_printf(a, "class %.*s", (int)strcspn(class + 9, ","),
					    class + 9)
			     : "unknown";
	}
	shape = strstr(taken, "with the shape of ");
	if (shape)
		return arena_printf(a, "%.*s", (int)strcspn(shape + 18, " "), shape + 18);
	return got.guessed && strncmp(taken, "unknown", 7) == 0 ? "unknown model" : got.name;
}

/* Names as people write them: none is answered as another model without a word of it. */
static void test_names(void **state)
{
	FILE *in = fopen(SOURCE_ROOT "/tests/predict/names.tsv", "r");
	struct arena a = { 0 };
	char line[256], set[16], name[128], want[96];
	int told = 0, all = 0;

	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		const char *got;

		if (*line == '#' ||
		    sscanf(line, "%15[^\t]\t%127[^\t]\t%95[^\n]", set, name, want) != 3)
			continue;
		got = answered(&a, name);
		if (strncmp(want, "unknown model", 13) == 0)
			want[13] = '\0';
		if (strcmp(got, want) != 0) {
			print_error("%s: %s, not %s\n", name, got, want);
			bad++;
		}
		if (strlen(set) == 1) {
			all++;
			told += strcmp(got, "unknown") != 0;
		}
	}
	fclose(in);
	assert_int_equal(bad, 0);
	assert_true(all >= 60 && told * 100 >= 95 * all);
	arena_free(&a);
	(void)state;
}

/* Each has a row with its shape, a format that is known, and one row of its name. */
static void test_checkpoints(void **state)
{
	size_t n = 0;

	for (const struct checkpoint_row *c = checkpoint_rows; c->name; c++, n++) {
		bool found = false;

		for (size_t i = 0; i < n_model_rows && !found; i++)
			found = strcmp(model_rows[i].a.name, c->model) == 0;
		if (!found)
			fail_msg("%s: no row %s", c->name, c->model);
		if (c->format && !format_find(c->format, true))
			fail_msg("%s: no format %s", c->name, c->format);
		for (const struct checkpoint_row *o = checkpoint_rows; o < c; o++)
			assert_int_not_equal(strcmp(o->name, c->name), 0);
	}
	assert_true(n >= 250);
	for (size_t i = 0; i < n_model_rows; i++) /* a user's file reads what model add writes */
		n += !model_rows[i].a.guessed;
	assert_true(n >= 300);
	(void)state;
}

/* What row_as_text writes is read as the same row. */
static void test_row_as_text(void **state)
{
	struct arena a = { 0 };
	struct row_list rows;
	struct err e;

	for (size_t i = 0; i < n_model_rows; i++) {
		const char *line = row_as_text(&a, &model_table, &model_rows[i]);
		const struct model_row *r = &model_rows[i];
		struct model_row lean = *r;

		/* Parameters of a linear layer follow from its kind, which stands beside them. */
		if (*r->mamba || *r->mamba2 || *r->delta || r->short_conv) {
			lean.a.linear_params = lean.a.linear_state = 0;
			line = row_as_text(&a, &model_table, &lean);
		}
		if (rows_read(&a, &model_table, line, strlen(line), "t", &rows, &e) < 0)
			fail_msg("%s\n%s", line, e.text);
		assert_string_equal(
			line, row_as_text(&a, &model_table,
					  *r->mamba || *r->mamba2 || *r->delta || r->short_conv
						  ? (const void *)&lean
						  : rows.items));
		near(r->a.name, "parameters",
		     arch_parts(&((struct model_row *)rows.items)->a).total,
		     arch_parts(&r->a).total);
	}
	assert_int_equal(bad, 0);
	arena_free(&a);
	(void)state;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_configs),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_checkpoints),
		cmocka_unit_test(test_row_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
