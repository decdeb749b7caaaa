/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions by their rows: each kind of member from words and from JSON, what is not given, what is
 * refused and with which sentence; and that the rows of all verbs hold together.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/ask.h"
#include "verbs/verbs.h"

enum way { WAY_FAST, WAY_SLOW };

static const char *const ways[] = { "fast", "slow" };

struct inner_ask {
	const char *only;
};
struct thing_ask {
	struct inner_ask inner;
	bool all;
	const char *name, *kind;
	struct ask_texts files, command;
	int count, from_zero;
	long long wide;
	double real, share, time, taken, rate;
	struct ask_numbers sizes, gpus;
	enum way way, chosen;
};

static int even_check(const char *text, struct err *e)
{
	return strlen(text) % 2 ? err_set(e, -EINVAL, "expected an even word, got \"%s\"", text)
				: 0;
}

static const char *kinds(size_t i)
{
	static const char *const names[] = { "memory", "memory-latency", "disk" };

	return i < 3 ? names[i] : NULL;
}

static const struct ask_row inner_ask_rows[] = {
	{ "only", "these", ASK_TEXT(inner_ask, only), .join = ',', .may_be_empty = true },
};
static const struct ask_shape inner_ask_shape = ASK_SHAPE(inner_ask, "Settings", inner_ask_rows);
static const struct ask_unit rate_units[] = { { "Gb/s", 0.125 }, { NULL, 0 } };
static const struct ask_row thing_ask_rows[] = {
	{ "NAME", "a name", ASK_TEXT(thing_ask, name), .argument = true, .required = true,
	  .check = even_check },
	{ "FILE", "files", ASK_TEXTS(thing_ask, files), .argument = true, .files = true },
	{ "COMMAND", "a command", ASK_TEXTS(thing_ask, command), .argument = true, .behind = true },
	{ ASK_PART(thing_ask, inner, inner_ask) },
	{ "only", "of things: these", .kind = ASK_KIND_NOTE },
	{ "all", "also others", ASK_FLAG(thing_ask, all), .letter = 'a' },
	{ "kind", "a kind", ASK_TEXT(thing_ask, kind), .proposal = kinds, .strict = true },
	{ "count", "how many", ASK_COUNT(thing_ask, count, 1, 100), .fallback = "8" },
	{ "from-zero", "from", ASK_COUNT(thing_ask, from_zero, 0, 10) },
	{ "wide", "bytes", ASK_COUNT(thing_ask, wide, 1, 1e13), .unit = "bytes" },
	{ "real", "a figure", ASK_REAL(thing_ask, real, 0, 1e12), .unit = "GB/s" },
	{ "rate", "a rate", ASK_REAL(thing_ask, rate, 1, 100), .unit = "GB/s",
	  .units = rate_units },
	{ "sizes", "sizes", ASK_NUMBERS(thing_ask, sizes, 0.5, 1e6) },
	{ "gpus", "GPUs", ASK_NUMBERS(thing_ask, gpus, 1, 100), .whole = true, .most = 5 },
	{ "min-effect", "a share", ASK_SHARE(thing_ask, share, 0.0001, 1), .fallback = "1%" },
	{ "for", "a time", ASK_TIME(thing_ask, time) },
	{ "settle", "a time", ASK_TIME(thing_ask, taken), .fallback = "500ms" },
	{ "way", "a way", ASK_CHOICE(thing_ask, way, ways) },
	{ "chosen", "a way", ASK_CHOICE(thing_ask, chosen, ways), .fallback = "slow" },
};
static const struct ask_shape thing_ask_shape = ASK_SHAPE(thing_ask, NULL, thing_ask_rows);

static const struct ask_row *row_named(const char *name)
{
	for (size_t i = 0; i < thing_ask_shape.n; i++)
		if (thing_ask_rows[i].name && thing_ask_rows[i].kind != ASK_KIND_NOTE &&
		    strcmp(thing_ask_rows[i].name, name) == 0)
			return &thing_ask_rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

struct fixture {
	struct arena a;
	struct thing_ask x;
	struct err e;
};

static struct fixture begin(void)
{
	struct fixture f = { 0 };

	ask_init(&f.a, &thing_ask_shape, &f.x);
	return f;
}

static int take(struct fixture *f, const char *name, const char *text, bool again)
{
	const struct ask_row *r = row_named(name);

	f->e = (struct err){ 0 };
	return ask_take(&f->a, r, (char *)&f->x + r->offset, text, again, &f->e);
}

static void takes(struct fixture *f, const char *name, const char *text)
{
	if (take(f, name, text, false))
		fail_msg("%s %s: %s", name, text, f->e.text);
}

static void refuses(struct fixture *f, const char *name, const char *text, const char *sentence)
{
	assert_int_equal(take(f, name, text, false), -EINVAL);
	if (strcmp(f->e.text, sentence) != 0)
		fail_msg("%s %s: %s", name, text, f->e.text);
}

static void test_not_given(void **state)
{
	struct fixture f = begin();

	(void)state;
	assert_null(f.x.name);
	assert_null(f.x.inner.only);
	assert_false(f.x.all);
	assert_int_equal(f.x.count, 8);
	assert_int_equal(f.x.from_zero, -1);
	assert_int_equal(f.x.wide, 0);
	assert_true(isnan(f.x.real));
	assert_true(fabs(f.x.share - 0.01) < 1e-12);
	assert_true(f.x.time == 0);
	assert_true(fabs(f.x.taken - 0.5) < 1e-12);
	assert_int_equal(f.x.way, 2);
	assert_int_equal(f.x.chosen, WAY_SLOW);
	arena_free(&f.a);
}

static void test_words(void **state)
{
	struct fixture f = begin();

	(void)state;
	takes(&f, "count", "12");
	assert_int_equal(f.x.count, 12);
	takes(&f, "wide", "8B");
	assert_true(f.x.wide == 8000000000LL);
	takes(&f, "wide", "12 bytes");
	assert_true(f.x.wide == 12);
	takes(&f, "real", "1.5k");
	assert_true(f.x.real == 1500);
	takes(&f, "min-effect", "0.5 %");
	assert_true(fabs(f.x.share - 0.005) < 1e-12);
	takes(&f, "for", "2m");
	assert_true(f.x.time == 120);
	takes(&f, "way", "slow");
	assert_int_equal(f.x.way, WAY_SLOW);
	takes(&f, "kind", "disk");
	takes(&f, "FILE", "a,b");
	assert_int_equal(take(&f, "FILE", "c", true), 0);
	assert_int_equal(f.x.files.n, 2);
	assert_string_equal(f.x.files.items[0], "a,b");
	assert_string_equal(f.x.files.items[1], "c");
	assert_int_equal(ask_take(&f.a, &inner_ask_rows[0], &f.x.inner.only, "a", false, &f.e), 0);
	assert_int_equal(ask_take(&f.a, &inner_ask_rows[0], &f.x.inner.only, "b", true, &f.e), 0);
	assert_string_equal(f.x.inner.only, "a,b");
	arena_free(&f.a);
}

static void test_lists(void **state)
{
	struct fixture f = begin();
	json_t *j = json_loads("{\"name\": \"ab\", \"sizes\": [1, 2.5], \"gpus\": 8}", 0, NULL);

	(void)state;
	takes(&f, "rate", "400 Gb/s");
	assert_true(f.x.rate >= 50 && f.x.rate <= 50);
	takes(&f, "gpus", "1,4-6,100");
	assert_int_equal(f.x.gpus.n, 5);
	assert_int_equal((int)f.x.gpus.items[3], 6);
	takes(&f, "sizes", "0.5,1e3,8k,2-3");
	assert_int_equal(f.x.sizes.n, 5);
	assert_int_equal((int)f.x.sizes.items[2], 8000);
	assert_int_equal(ask_read(&f.a, &thing_ask_shape, j, &f.x, &f.e), 0);
	assert_int_equal(f.x.sizes.n, 2);
	assert_int_equal((int)(2 * f.x.sizes.items[1]), 5);
	assert_int_equal(f.x.gpus.n, 1);
	json_decref(j);
	arena_free(&f.a);
}

static void test_refused(void **state)
{
	static const char *const lists[] = { "0",   "1,",	   ",1", "1,,2",  "1.5",
					     "4-2", "1-6",	   "-1", "1-101", "1-",
					     "1 2", "1,2,3,4,5,6", "x",	 "1-x",	  "nan" };
	struct fixture f = begin();

	(void)state;
	refuses(&f, "count", "0", "--count takes a whole number from 1 to 100, not \"0\"");
	refuses(&f, "count", "101", "--count takes a whole number from 1 to 100, not \"101\"");
	refuses(&f, "count", "1.5", "--count takes a whole number from 1 to 100, not \"1.5\"");
	refuses(&f, "count", "nan", "--count takes a whole number from 1 to 100, not \"nan\"");
	refuses(&f, "count", "0x10", "--count takes a whole number from 1 to 100, not \"0x10\"");
	refuses(&f, "count", "8 ", "--count takes a whole number from 1 to 100, not \"8 \"");
	refuses(&f, "rate", "4 Gb/s", "--rate takes a number from 1 to 100 GB/s, not \"4 Gb/s\"");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		refuses(&f, "gpus", lists[i],
			arena_printf(
				&f.a,
				"--gpus takes up to 5 numbers like 1,2,4 or 1-16, each a whole "
				"number from 1 to 100, not \"%s\"",
				lists[i]));
	refuses(&f, "count", "12 bytes",
		"--count takes a whole number from 1 to 100, not \"12 bytes\"");
	refuses(&f, "wide", "12 GB/s",
		"--wide takes a whole number from 1 to 10T bytes, not \"12 GB/s\"");
	refuses(&f, "real", "-1", "--real takes a number from 0 to 1T GB/s, not \"-1\"");
	refuses(&f, "min-effect", "101",
		"--min-effect takes a share from 0.01% to 100%, not \"101\"");
	refuses(&f, "for", "10 GB",
		"--for takes a time like 10s, 500ms or 2m, up to 24h, not \"10 GB\"");
	refuses(&f, "for", "", "--for is empty; expected TIME");
	refuses(&f, "way", "slwo", "--way takes one of fast, slow, not \"slwo\"");
	assert_string_equal(f.e.hint, "did you mean \"slow\"?");
	refuses(&f, "kind", "memroy",
		"--kind takes one of memory, memory-latency, disk, not \"memroy\"");
	assert_string_equal(f.e.hint, "did you mean \"memory\"?");
	refuses(&f, "NAME", "odd", "NAME: expected an even word, got \"odd\"");
	takes(&f, "count", "3");
	assert_int_equal(take(&f, "count", "3", true), -EINVAL);
	assert_string_equal(f.e.text, "--count is given more than once");
	arena_free(&f.a);
}

static int read_json(struct fixture *f, const char *text)
{
	json_error_t why;
	json_t *j = json_loads(text, 0, &why);
	int code;

	assert_non_null(j);
	f->e = (struct err){ 0 };
	code = ask_read(&f->a, &thing_ask_shape, j, &f->x, &f->e);
	json_decref(j);
	return code;
}

static void test_json(void **state)
{
	static const struct {
		const char *text, *sentence;
	} bad[] = {
		{ "{}", "\"name\" is missing" },
		{ "[]", "the request must be a JSON object" },
		{ "{\"name\": \"ab\", \"count\": \"many\"}",
		  "--count takes a whole number from 1 to 100, not \"many\"" },
		{ "{\"name\": \"ab\", \"count\": 101}",
		  "--count takes a whole number from 1 to 100, not \"101\"" },
		{ "{\"name\": \"ab\", \"count\": true}",
		  "\"count\" must be a number or a string with a unit" },
		{ "{\"name\": \"ab\", \"all\": 1}", "\"all\" must be true or false" },
		{ "{\"name\": \"ab\", \"file\": [1]}", "\"file\" must be a list of strings" },
		{ "{\"name\": \"ab\", \"file\": []}", "\"file\" is an empty list" },
		{ "{\"name\": [\"ab\"]}", "\"name\" must be a string" },
		{ "{\"name\": \"ab\", \"min_efect\": 1}", "unknown key \"min_efect\"" },
		{ "{\"name\": \"a\\u0000\"}", NULL },
	};
	struct fixture f = begin();

	(void)state;
	assert_int_equal(
		read_json(&f,
			  "{\"name\": \"ab\", \"file\": [\"x\", \"y\"], \"only\": [\"a\", \"b\"], "
			  "\"min_effect\": 0.02, \"for\": 1.5, \"way\": \"fast\", \"wide\": "
			  "\"8B\", \"all\": true, \"settle\": null}"),
		0);
	assert_int_equal(f.x.files.n, 2);
	assert_string_equal(f.x.inner.only, "a,b");
	assert_true(fabs(f.x.share - 0.02) < 1e-12);
	assert_true(f.x.time == 1.5);
	assert_int_equal(f.x.way, WAY_FAST);
	assert_true(f.x.wide == 8000000000LL && f.x.all);
	assert_true(fabs(f.x.taken - 0.5) < 1e-12);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_error_t why;
		json_t *j = json_loads(bad[i].text, JSON_ALLOW_NUL, &why);

		assert_non_null(j);
		assert_int_equal(ask_read(&f.a, &thing_ask_shape, j, &f.x, &f.e), -EINVAL);
		if (bad[i].sentence && strcmp(f.e.text, bad[i].sentence) != 0)
			fail_msg("%s: %s", bad[i].text, f.e.text);
		json_decref(j);
	}
	assert_int_equal(read_json(&f, "{\"name\": \"ab\", \"min_efect\": 1}"), -EINVAL);
	assert_string_equal(f.e.hint, "did you mean \"min_effect\"?");
	arena_free(&f.a);
}

static void test_help_of_parts(void **state)
{
	json_t *schema = ask_schema(&thing_ask_shape), *p = json_object_get(schema, "properties");

	(void)state;
	assert_string_equal(ask_help(&thing_ask_shape, &inner_ask_rows[0]), "of things: these");
	assert_int_equal(json_object_size(p), 18);
	assert_non_null(json_object_get(p, "min_effect"));
	assert_string_equal(json_string_value(json_object_get(json_object_get(p, "wide"), "unit")),
			    "bytes");
	json_decref(schema);
}

/* --- the rows of all verbs -------------------------------------------------------------------- */

struct looking {
	const char *verb, *seen[256];
	char letters[256];
	size_t n, n_letters;
};

static bool look_at_row(void *ctx, const struct ask_row *r, const struct ask_shape *s, void *member)
{
	struct looking *g = ctx;
	struct arena a = { 0 };
	struct err e = { 0 };
	union {
		long long whole;
		double real;
		const char *text;
		struct ask_texts texts;
	} room = { 0 };

	(void)member;
	if (!r->name || !*r->name || (!r->help && !r->argument))
		fail_msg("%s: a row without a name or help", g->verb);
	if (r->help && (r->help[strlen(r->help) - 1] == '.' || *r->help == ' '))
		fail_msg("%s --%s: help is no sentence with an end", g->verb, r->name);
	for (size_t i = 0; i < g->n; i++)
		if (strcmp(g->seen[i], r->name) == 0)
			fail_msg("%s has two rows %s", g->verb, r->name);
	g->seen[g->n++] = r->name;
	for (size_t i = 0; r->letter && i < g->n_letters; i++)
		if (g->letters[i] == r->letter)
			fail_msg("%s has two letters %c", g->verb, r->letter);
	if (r->letter)
		g->letters[g->n_letters++] = r->letter;
	if (r->offset + r->size > s->size)
		fail_msg("%s --%s lies outside of its struct", g->verb, r->name);
	if (r->fallback && ask_take(&a, r, &room, r->fallback, false, &e))
		fail_msg("%s: the default: %s", g->verb, e.text);
	if (r->example && r->kind != ASK_KIND_TEXTS &&
	    ask_take(&a, r, &room, r->example, false, &e))
		fail_msg("%s: the example: %s", g->verb, e.text);
	arena_free(&a);
	return true;
}

static void look_at_verb(const struct verb *v)
{
	struct looking g = { .verb = v->name };

	if (!v->summary || !v->about || (!v->answer && !v->subs && !v->run))
		fail_msg("%s: it says or does nothing", v->name);
	if (v->page && !v->result && !v->json)
		fail_msg("%s has a page, and no result", v->name);
	for (size_t i = 0; v->ask && i < v->ask->n; i++)
		if (v->ask->rows[i].kind == ASK_KIND_NOTE &&
		    ask_help(v->ask, &v->ask->rows[i]) != v->ask->rows[i].help)
			fail_msg("%s: two notes of %s", v->name, v->ask->rows[i].name);
	if (v->ask)
		ask_for_each(v->ask, NULL, look_at_row, &g);
	for (const struct verb *const *sub = v->subs; sub && *sub; sub++)
		look_at_verb(*sub);
}

static void test_all_verbs(void **state)
{
	(void)state;
	for (size_t i = 0; answering_verbs[i]; i++)
		look_at_verb(answering_verbs[i]);
	assert_non_null(answering_verb("lint"));
	assert_null(answering_verb("lint more"));
	assert_null(answering_verb(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_given), cmocka_unit_test(test_words),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_lists),
		cmocka_unit_test(test_json),	  cmocka_unit_test(test_help_of_parts),
		cmocka_unit_test(test_all_verbs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
