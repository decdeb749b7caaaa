/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results by their rows: each kind of member to JSON and back, what is not known, what is refused
 * and with which sentence, the schema, pairs of a page; and that the rows of all results hold
 * together.
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

#include "base/shape.h"
#include "front/result_shapes.h"
#include "render/shape_page.h"

enum color { COLOR_RED, COLOR_GREEN };

static const char *const colors[] = { "red", "green" };

struct part {
	const char *name;
	double v;
};

struct thing {
	int count;
	unsigned plain;
	long long wide;
	size_t size;
	double real, amount;
	bool flag, has_part, has_extra, hot;
	double extra;
	struct part *far, first;
	const char *text;
	enum color color;
	struct part part, *other, parts[2], *list;
	size_t n_parts, n_list, n_texts, n_words;
	const char *texts[2];
	const char *const *words;
	double reals[2], *samples;
	size_t n_reals, n_samples, *counts, n_counts;
	const char *unit, *read_unit; /* of what, in a row; in a key alone */
	double median, limit;
};

static const struct shape_row part_rows[] = {
	{ "name", "What it is called.", SHAPE_TEXT(part, name), .title = "name" },
	{ "v_bytes", NULL, SHAPE_REAL(part, v), .title = "size", .unit = "GB" },
};
static const struct shape part_shape = SHAPE(part, part);

static const struct shape_row size_rows[] = {
	{ "v", NULL, SHAPE_REAL(part, v) },
};
static const struct shape size_shape = SHAPE(part, size);
static const char *const heats[] = { "cold", "hot" };

static double twice(const void *object)
{
	return 2 * ((const struct thing *)object)->real;
}

static const char *greeting(const void *object)
{
	return ((const struct thing *)object)->flag ? "hello" : NULL;
}

static long long next(const void *object)
{
	return ((const struct thing *)object)->count + 1LL;
}

static const struct shape_row sizes_rows[] = {
	{ "wide", NULL, SHAPE_COUNT(thing, wide), .unknown = SHAPE_NEGATIVE },
	{ "size", NULL, SHAPE_COUNT(thing, size), .unknown = SHAPE_ZERO },
};
static const struct shape sizes_shape = SHAPE(thing, sizes);

static const struct shape_row thing_rows[] = {
	{ "count", NULL, SHAPE_COUNT(thing, count), .title = "count" },
	{ "plain", NULL, SHAPE_COUNT(thing, plain) },
	{ "sizes", NULL, SHAPE_PART(sizes_shape) },
	{ "real", NULL, SHAPE_REAL(thing, real), .unknown = SHAPE_NULL, .title = "real" },
	{ "amount_s", NULL, SHAPE_REAL(thing, amount), .unknown = SHAPE_ZERO, .absent = true,
	  .title = "amount", .unit = "s" },
	{ "flag", NULL, SHAPE_FLAG(thing, flag), .title = "flag" },
	{ "text", NULL, SHAPE_TEXT(thing, text), .unknown = SHAPE_NULL, .title = "text" },
	{ "color", NULL, SHAPE_CHOICE(thing, color, colors), .title = "color" },
	{ "part", NULL, SHAPE_OBJECT(thing, part, part), SHAPE_WHEN(thing, has_part) },
	{ "other", NULL, SHAPE_POINTER(thing, other, part), .unknown = SHAPE_NULL },
	{ "parts", NULL, SHAPE_ARRAY(thing, parts, n_parts, part) },
	{ "list", NULL, SHAPE_LIST(thing, list, n_list, part) },
	{ "texts", NULL, SHAPE_TEXT_ARRAY(thing, texts, n_texts) },
	{ "words", NULL, SHAPE_TEXT_LIST(thing, words, n_words) },
	{ "state", NULL, SHAPE_WORD("planned") },
	{ "far_name", NULL, SHAPE_TEXT(part, name), SHAPE_VIA(thing, far, part), .absent = true },
	{ "far_v", NULL, SHAPE_REAL(part, v), SHAPE_VIA(thing, far, part), .absent = true },
	{ "first", NULL, .kind = SHAPE_KIND_OBJECT, .offset = offsetof(struct thing, first),
	  .sub = &size_shape, .unknown = SHAPE_ZERO },
	{ "heat", NULL, SHAPE_EITHER(thing, hot, heats) },
	{ "extra", NULL, SHAPE_REAL(thing, extra), SHAPE_WHEN(thing, has_extra),
	  .unknown = SHAPE_NULL, .absent = true },
	{ "twice", NULL, SHAPE_REAL_OF(twice), .unknown = SHAPE_NULL },
	{ "greeting", NULL, SHAPE_TEXT_OF(greeting), .unknown = SHAPE_NULL },
	{ "next", NULL, SHAPE_COUNT_OF(next) },
	{ "reals", NULL, SHAPE_REAL_ARRAY(thing, reals, n_reals), .unknown = SHAPE_NULL },
	{ "counts", NULL, SHAPE_COUNT_LIST(thing, counts, n_counts) },
	{ "unit", NULL, SHAPE_TEXT(thing, unit), .unknown = SHAPE_NULL },
	{ "samples", NULL, SHAPE_REAL_LIST(thing, samples, n_samples), SHAPE_SUFFIX(thing, unit) },
	{ "median", NULL, SHAPE_REAL(thing, median), SHAPE_SUFFIX(thing, unit),
	  .unknown = SHAPE_ZERO },
	{ "limit", NULL, SHAPE_REAL(thing, limit), SHAPE_SUFFIX(thing, read_unit),
	  .unknown = SHAPE_ZERO },
};
static const struct shape thing_shape = SHAPE(thing, thing);

static const struct result_shape thing_result = { .name = "thing",
						  .title = "gputune thing",
						  .meaning = "A thing.",
						  .shape = &thing_shape,
						  .exit_codes = 1u << 0 | 1u << 5 };

#define EMPTY                                                                                      \
	"\"parts\":[],\"list\":[],\"texts\":[],\"words\":[],\"state\":\"planned\",\"first\":null," \
	"\"heat\":\"cold\","
#define FULL                                                                                       \
	"{\"count\":-3,\"plain\":4000000000,\"sizes\":{\"wide\":5000000000,\"size\":7},"           \
	"\"real\":1.5,\"amount_s\":2.0,\"flag\":true,\"text\":\"a \\u00e9\",\"color\":\"green\","  \
	"\"part\":{\"name\":\"p\",\"v_bytes\":1.0},\"other\":{\"name\":\"o\",\"v_bytes\":2.0},"    \
	"\"parts\":[{\"name\":\"x\",\"v_bytes\":3.0}],\"list\":[{\"name\":\"y\",\"v_bytes\":4.0}," \
	"{\"name\":\"z\",\"v_bytes\":5.0}],\"texts\":[\"t\"],\"words\":[\"v\",\"w\"],"             \
	"\"state\":\"planned\",\"far_name\":\"f\",\"far_v\":6.0,\"first\":{\"v\":7.0},\"heat\":"   \
	"\"hot\",\"extra\":null,\"twice\":3.0,\"greeting\":\"hello\",\"next\":-2,"                 \
	"\"reals\":[1.0,null],\"counts\":[3,4],\"unit\":\"ns\",\"samples_ns\":[5.0],"              \
	"\"median_ns\":6.0,\"limit_b_per_s\":7.0}"
#define BARE                                                                                       \
	"{\"count\":0,\"plain\":0,\"sizes\":{\"wide\":null,\"size\":null},\"real\":null,"          \
	"\"flag\":false,\"text\":null,\"color\":\"red\",\"part\":null,\"other\":null," EMPTY       \
	"\"twice\":null,\"greeting\":null,\"next\":1,\"reals\":[],\"counts\":[],\"unit\":null}"

static int read_text(struct arena *a, const char *text, struct thing *t, struct err *e)
{
	json_t *j = json_loads(text, 0, NULL);
	int code;

	assert_non_null(j);
	code = shape_read(a, &thing_shape, j, t, e);
	json_decref(j);
	return code;
}

/* What is read and written again is the same. */
static void same(const char *text)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	json_t *j = json_object();
	struct thing t;
	char *back;

	if (read_text(&a, text, &t, &e))
		fail_msg("%s: %s", text, e.text);
	shape_json(j, &thing_shape, &t);
	back = json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII);
	assert_non_null(back);
	for (char *c = back; *c; c++)
		if (*c >= 'A' && *c <= 'F' && c > back + 2 && c[-1] == '0')
			*c = (char)(*c + 'a' - 'A');
	assert_string_equal(back, text);
	free(back);
	json_decref(j);
	arena_free(&a);
}

static void test_there_and_back(void **state)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct thing t;

	(void)state;
	same(FULL);
	same(BARE);
	assert_int_equal(read_text(&a, FULL, &t, &e), 0);
	assert_int_equal(t.count, -3);
	assert_int_equal(t.plain, 4000000000u);
	assert_int_equal(t.wide, 5000000000);
	assert_int_equal(t.size, 7);
	assert_int_equal(t.color, COLOR_GREEN);
	assert_true(t.has_part && t.flag);
	assert_string_equal(t.other->name, "o");
	assert_string_equal(t.list[1].name, "z");
	assert_string_equal(t.words[1], "w");
	assert_int_equal(read_text(&a, BARE, &t, &e), 0);
	assert_true(isnan(t.real) && t.amount == 0 && t.wide == -1 && !t.other && !t.has_part);
	arena_free(&a);
}

/* The part of a full text that is replaced, by what, and what is said of it. */
static void test_refused(void **state)
{
	static const struct {
		const char *old, *new, *says;
	} cases[] = {
		{ "\"count\":-3,", "", "count: missing" },
		{ "\"count\":-3,", "\"count\":null,", "count: must not be null" },
		{ ":-3,", ":1.5,", "count: not a whole number" },
		{ ":-3,", ":3000000000,", "count: out of range" },
		{ ":4000000000", ":-1", "plain: out of range" },
		{ ":4000000000", ":5000000000", "plain: out of range" },
		{ "\"size\":7", "\"size\":-7", "sizes.size: out of range" },
		{ ":1.5,", ":\"1.5\",", "real: not a number" },
		{ "\"flag\":true", "\"flag\":1", "flag: not true or false" },
		{ "\"green\"", "\"blue\"", "color: not an allowed value" },
		{ "\"green\"", "7", "color: not a string" },
		{ "{\"name\":\"p\",\"v_bytes\":1.0}", "[]", "part: not an object" },
		{ "\"v_bytes\":1.0", "\"v_bytes\":[]", "part.v_bytes: not a number" },
		{ "\"o\"", "\"o\\u0000\"", "other" },
		{ "\"v_bytes\":5.0", "\"v\":5", "list[1].v_bytes: missing" },
		{ "[{\"name\":\"x\",\"v_bytes\":3.0}]", "{}", "parts: not a list" },
		{ "[\"t\"]", "[\"a\",\"b\",\"c\"]", "texts: too many items" },
		{ "\"w\"]", "7]", "words[1]: not a string" },
		{ "planned", "measured", "state: unexpected value" },
		{ ":3.0,\"greeting\"", ":\"3\",\"greeting\"", "twice: not a number" },
		{ ":-2,", ":0.5,", "next: not a whole number" },
		{ "[1.0,null]", "[1.0,true]", "reals[1]: not a number" },
		{ "[1.0,null]", "[1,2,3]", "reals: too many items" },
		{ "[3,4]", "[3,-4]", "counts[1]: out of range" },
		{ "[5.0]", "[null]", "samples_ns[0]: not a number" },
		{ "\"samples_ns\"", "\"samples_us\"", "samples_ns: missing" },
		{ "_ns\":6.0", "_ns\":\"6\"", "median_ns: not a number" },
		{ "_s\":7.0", "_s\":true", "limit_b_per_s: not a number" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *at = strstr(FULL, cases[i].old);
		struct arena a = { 0 };
		struct err e = { 0 };
		struct thing t;
		json_t *j;

		assert_non_null(at);
		j = json_loads(arena_printf(&a, "%.*s%s%s", (int)(at - FULL), FULL, cases[i].new,
					    at + strlen(cases[i].old)),
			       JSON_ALLOW_NUL, NULL);
		assert_non_null(j);
		assert_int_equal(shape_read(&a, &thing_shape, j, &t, &e), -EINVAL);
		if (strncmp(e.text, cases[i].says, strlen(cases[i].says)) != 0)
			fail_msg("%s: %s", cases[i].says, e.text);
		json_decref(j);
		arena_free(&a);
	}
}

static void result_refused(const char *text, size_t len, const char *says)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct thing t;

	assert_int_equal(result_shape_read(&a, &thing_result, text, len, &t, &e), -EINVAL);
	if (!strstr(e.text, says))
		fail_msg("%.60s: %s", text, e.text);
	arena_free(&a);
}

static void test_result(void **state)
{
	static const char other[] = "{\"schema\":\"gputune.thing/2\"}";
	struct arena a = { 0 };
	struct err e = { 0 };
	struct thing t, back;
	char *text;
	json_t *j;

	(void)state;
	assert_int_equal(read_text(&a, FULL, &t, &e), 0);
	j = result_shape_json(&thing_result, &t, 0, 5);
	assert_string_equal(json_string_value(json_object_get(j, "schema")), "gputune.thing/1");
	assert_string_equal(json_string_value(json_object_get(j, "time")), "1970-01-01T00:00:00Z");
	text = json_dumps(j, 0);
	json_decref(j);
	assert_int_equal(result_shape_read(&a, &thing_result, text, strlen(text), &back, &e), 0);
	assert_int_equal(back.count, -3);
	result_refused(text, strlen(text) - 1, "line 1: ");
	free(text);
	result_refused(other, strlen(other), "schema: \"gputune.thing/2\" is not gputune.thing/1");
	result_refused("[]", 2, "schema: \"\" is not gputune.thing/1");
	result_refused("", SHAPE_BYTES_MAX + 1u, "larger than 64 MiB");
	/* Nested as deep as it goes, in a key that no row has and in one that is a figure. */
	text = arena_alloc(&a, 1 << 16);
	memset(text, '[', (1 << 16) - 1);
	result_refused(text, (1 << 16) - 1, "line 1: ");
	arena_free(&a);
}

/* Nothing is allocated for more items than a list may have. */
static void test_long_list(void **state)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	json_t *j = json_loads(FULL, 0, NULL), *list = json_object_get(j, "words");
	struct thing t;

	(void)state;
	while (json_array_size(list) <= SHAPE_LIST_MAX)
		json_array_append_new(list, json_string("w"));
	assert_int_equal(shape_read(&a, &thing_shape, j, &t, &e), -EINVAL);
	assert_string_equal(e.text, "words: too many items");
	json_decref(j);
	arena_free(&a);
}

static void test_schema(void **state)
{
	json_t *j = result_shape_schema(&thing_result), *p = json_object_get(j, "properties");
	char *text = json_dumps(json_object_get(p, "other"), JSON_COMPACT);

	(void)state;
	assert_string_equal(text, "{\"anyOf\":[{\"$ref\":\"#/$defs/part\"},{\"type\":\"null\"}]}");
	free(text);
	text = json_dumps(json_object_get(p, "color"), JSON_COMPACT);
	assert_string_equal(text, "{\"enum\":[\"red\",\"green\"]}");
	free(text);
	text = json_dumps(json_object_get(p, "exit_code"), JSON_COMPACT);
	assert_string_equal(text, "{\"enum\":[0,5]}");
	free(text);
	text = json_dumps(json_object_get(p, "text"), JSON_COMPACT);
	assert_string_equal(text, "{\"type\":[\"string\",\"null\"]}");
	free(text);
	/* All but what may be left out. */
	assert_int_equal(json_array_size(json_object_get(j, "required")), json_object_size(p) - 4);
	json_decref(j);
}

static void test_pairs(void **state)
{
	struct arena a = { 0 };
	struct doc *d = doc_new(&a);
	struct err e = { 0 };
	struct thing t;
	struct node *n;

	(void)state;
	assert_int_equal(read_text(&a, FULL, &t, &e), 0);
	n = shape_pairs(d, "Things", &thing_shape, &t, 4);
	assert_int_equal(n->n_rows, 6);
	assert_string_equal(n->rows[2].cells[1].text, "2000 ms (50.0 %)");
	assert_int_equal(read_text(&a, BARE, &t, &e), 0);
	assert_int_equal(shape_pairs(d, "Things", &thing_shape, &t, 0)->n_rows, 3);
	arena_free(&a);
}

/* --- keys, lists and forms that follow from what there is ----------------------------------- */

struct figure {
	const char *name, *unit, *text;
	double median, low;
	bool measured;
	const double *x;
	size_t n, starts[2];
};

struct book {
	const struct figure *figures, *settings;
	const struct figure *const *far;
	size_t n_figures, n_settings, n_far, n_starts, seed;
	const size_t *starts;
	json_t *as_it_is;
};

static bool was_measured(const void *object)
{
	return ((const struct figure *)object)->measured;
}

static bool has_unit(const void *item, const void *object)
{
	(void)object;
	return ((const struct figure *)item)->unit;
}

static const void *seed_text(struct arena *a, const void *object, size_t *n)
{
	const struct book *b = object;

	(void)n;
	return b->seed ? arena_printf(a, "%zu", b->seed) : NULL;
}

static const void *two_figures(struct arena *a, const void *object, size_t *n)
{
	struct figure *f = arena_array(a, 2, sizeof(*f));

	(void)object;
	f[0].name = "one";
	f[1].name = "two";
	*n = 2;
	return f;
}

static unsigned number_or_text(const void *object)
{
	return ((const struct figure *)object)->text != NULL;
}

static const struct shape_row band_rows[] = {
	{ "low", NULL, SHAPE_REAL(figure, low), SHAPE_SUFFIX(figure, unit), .unknown = SHAPE_NULL },
};
static const struct shape band_shape = SHAPE(figure, band);
static const struct shape_row figure_rows[] = {
	{ "unit", NULL, SHAPE_TEXT(figure, unit), .unknown = SHAPE_NULL },
	{ "band", NULL, SHAPE_PART(band_shape) },
	{ "median", "Of all.", SHAPE_REAL(figure, median), SHAPE_SUFFIX(figure, unit) },
	{ "samples", NULL, SHAPE_REAL_LIST(figure, x, n), SHAPE_SUFFIX(figure, unit) },
	{ "measured", NULL, SHAPE_FLAG(figure, measured) },
	{ "low", NULL, SHAPE_REAL(figure, low), .when_of = was_measured, .absent = true },
};
static const struct shape figure_shape = SHAPE(figure, figure);

static const struct shape_row name_rows[] = {
	{ NULL, NULL, SHAPE_TEXT(figure, name), .unknown = SHAPE_NULL },
};
static const struct shape name_shape = SHAPE(figure, name);
static const struct shape_row number_rows[] = {
	{ NULL, NULL, SHAPE_REAL(figure, median), .unknown = SHAPE_NULL },
};
static const struct shape number_shape = SHAPE(figure, number);
static const struct shape_row text_rows[] = { { NULL, NULL, SHAPE_TEXT(figure, text) } };
static const struct shape text_shape = SHAPE(figure, text);
static const struct shape *const setting_forms[] = { &number_shape, &text_shape };
static const struct shape setting_shape =
	SHAPE_FORMS(figure, setting, setting_forms, number_or_text);

/* clang-format off */
static const struct shape_row book_rows[] = {
	{ "figures", NULL, SHAPE_LIST(book, figures, n_figures, figure), SHAPE_BY(figure, name), .keeps = has_unit },
	{ "settings", NULL, SHAPE_LIST_AS(book, settings, n_settings, figure, setting_shape), SHAPE_BY(figure, name) },
	{ "far", NULL, SHAPE_POINTERS_AS(book, far, n_far, figure, name_shape) },
	{ "starts", NULL, SHAPE_COUNT_LIST(book, starts, n_starts), .unknown = SHAPE_NULL },
	{ "seed", NULL, SHAPE_TEXT_MADE(seed_text), .unknown = SHAPE_NULL },
	{ "two", NULL, SHAPE_LIST_MADE_AS(two_figures, figure, name_shape) },
	{ "as_it_is", NULL, SHAPE_JSON(book, as_it_is), .unknown = SHAPE_NULL },
};
/* clang-format on */
static const struct shape book_shape = SHAPE(book, book);
static const struct result_shape book_result = { .name = "book",
						 .title = "A book",
						 .meaning = "Kept.",
						 .shape = &book_shape,
						 .no_time = true,
						 .version = 2 };

#define BOOK                                                                                       \
	"{\"figures\":{\"copy\":{\"unit\":\"us\",\"band\":{\"low_us\":1.0},\"median_us\":2.0,"     \
	"\"samples_us\":[1.0,3.0],\"measured\":true,\"low\":1.0}},"                                \
	"\"settings\":{\"a\":1.5,\"b\":\"on\",\"c\":null},\"far\":[\"copy\",null],"                \
	"\"starts\":[0,7],\"seed\":"

static void book_json(const struct book *b, const char *wanted)
{
	json_t *j = json_object();
	char *text;

	shape_json(j, &book_shape, b);
	text = json_dumps(j, JSON_COMPACT);
	assert_string_equal(text, wanted);
	free(text);
	json_decref(j);
}

static void book_refused(const char *text, const char *says)
{
	json_t *j = json_loads(text, 0, NULL);
	struct arena a = { 0 };
	struct err e = { 0 };
	struct book b;

	assert_non_null(j);
	assert_int_equal(shape_read(&a, &book_shape, j, &b, &e), -EINVAL);
	assert_string_equal(e.text, says);
	json_decref(j);
	arena_free(&a);
}

static void test_book(void **state)
{
	static const double x[] = { 1, 3 };
	static const size_t starts[] = { 0, 7 };
	static const struct figure figures[] = {
		{ .name = "copy",
		  .unit = "us",
		  .median = 2,
		  .low = 1,
		  .measured = true,
		  .x = x,
		  .n = 2 },
		{ .name = "left out" },
		{ .name = NULL },
	};
	static const struct figure settings[] = { { .name = "a", .median = 1.5 },
						  { .name = "b", .text = "on" },
						  { .name = "c", .median = NAN } };
	static const struct figure *const far[] = { &figures[0], &figures[2] };
	struct book b = { figures, settings, far, 2, 3, 2, 2, 9, starts, NULL }, back;
	json_t *j = json_loads(BOOK "\"9\"}", 0, NULL);
	struct arena a = { 0 };
	struct err e = { 0 };

	(void)state;
	book_json(&b, BOOK "\"9\",\"two\":[\"one\",\"two\"],\"as_it_is\":null}");
	assert_int_equal(shape_read(&a, &book_shape, j, &back, &e), 0);
	assert_true(back.n_figures == 1 && strcmp(back.figures[0].name, "copy") == 0);
	assert_true(back.figures[0].n == 2 && back.figures[0].x[1] == 3);
	assert_string_equal(back.far[0]->name, "copy");
	back.as_it_is = j;
	json_object_clear(j);
	book_json(&back, BOOK "null,\"two\":[\"one\",\"two\"],\"as_it_is\":{}}");
	json_decref(j);
	arena_free(&a);
	book_refused("{\"figures\":[]}", "figures: not an object");
	book_refused("{\"figures\":{\"a b\":7}}", "figures[a b]: not an object");
	book_refused("{\"figures\":{\"a\":{\"unit\":\"us\",\"measured\":true,\"band\":{}}}}",
		     "figures[a].median_us: missing");
	book_refused("{\"figures\":{},\"settings\":{\"a\":[]}}",
		     "settings[a]: matches no allowed form");
	book_refused("{\"figures\":{},\"settings\":{},\"far\":[[]]}", "far[0]: not a string");
	book_refused("{\"figures\":{},\"settings\":{},\"far\":[],\"starts\":[-1]}",
		     "starts[0]: out of range");
}

static const char *as_shown(struct arena *a, const void *object)
{
	return arena_printf(a, "%s!", ((const struct figure *)object)->name);
}

static unsigned in_red(const void *object)
{
	(void)object;
	return STYLE_BAD;
}

/* clang-format off */
static const struct shape_row lowest_rows[] = {
	{ "low", NULL, SHAPE_REAL(figure, low), .unknown = SHAPE_NULL, .title = "lowest", .unit = "GB" },
};
static const struct shape lowest_shape = SHAPE(figure, lowest);
static const struct shape_row shown_rows[] = {
	{ NULL, NULL, SHAPE_TEXT(figure, name), .title = "~name", .shown = as_shown, .style_of = in_red },
	{ "unit", NULL, SHAPE_TEXT(figure, unit), .unknown = SHAPE_NULL, .title = "unit" },
	{ "n", NULL, SHAPE_COUNT(figure, n), .title = "samples" },
	{ "lowest", NULL, SHAPE_PART(lowest_shape), .title = "", .when_of = was_measured },
};
static const struct shape shown_shape = SHAPE(figure, shown);
static const struct shape_row shelf_rows[] = {
	{ "figures", NULL, SHAPE_LIST_AS(book, figures, n_figures, figure, shown_shape), SHAPE_BY(figure, name),
	  .keeps = has_unit },
};
/* clang-format on */
static const struct shape shelf_shape = SHAPE(book, shelf);

static void test_table(void **state)
{
	static const struct figure figures[] = {
		{ .name = "a", .unit = "u\"s,", .n = 12, .low = 3e9, .measured = true },
		{ .name = "b", .low = 1 },
		{ .name = "c", .unit = "us" },
	};
	struct book b = { .figures = figures, .n_figures = 3 };
	struct arena a = { 0 };
	struct doc *d = doc_new(&a);
	struct node *t = shape_table(d, "All", &shown_shape, figures, 2);
	json_t *j = json_object();
	struct text csv = { 0 };
	char *text;

	(void)state;
	assert_int_equal(t->n_columns, 4);
	assert_string_equal(t->columns[0].title, "name");
	assert_true(t->columns[0].wrap && !t->columns[1].right && t->columns[2].right);
	assert_string_equal(t->columns[3].title, "lowest");
	assert_int_equal(t->n_rows, 2);
	assert_string_equal(t->rows[0].cells[0].text, "a!");
	assert_int_equal(t->rows[0].cells[0].style, STYLE_BAD);
	assert_string_equal(t->rows[0].cells[2].text, "12");
	assert_string_equal(t->rows[0].cells[3].text, "3.00 GB");
	assert_null(t->rows[1].cells[1].text);
	assert_null(t->rows[1].cells[3].text);
	assert_int_equal(shape_list_table(d, NULL, &shelf_shape, "figures", &b)->n_rows, 2);
	shape_csv(&csv, &shelf_shape, "figures", &b);
	assert_string_equal(csv.s, "name,unit,n,lowest.low\r\n"
				   "a,\"u\"\"s,\",12,3000000000.0\r\nc,us,0,\r\n");
	text_free(&csv);
	shape_json(j, &shelf_shape, &b);
	text = json_dumps(j, JSON_COMPACT);
	assert_string_equal(text, "{\"figures\":{\"a\":{\"unit\":\"u\\\"s,\",\"n\":12,"
				  "\"lowest\":{\"low\":3000000000.0}},"
				  "\"c\":{\"unit\":\"us\",\"n\":0,\"lowest\":null}}}");
	free(text);
	json_decref(j);
	arena_free(&a);
}

static const struct shape_row open_rows[] = {
	{ "n", NULL, SHAPE_COUNT(book, n_figures) },
	{ "settings", NULL, SHAPE_LIST_AS(book, settings, n_settings, figure, setting_shape),
	  SHAPE_BY(figure, name), .spread = true },
	{ "more", NULL, SHAPE_JSON(book, as_it_is), .word = "{\"type\":\"object\"}",
	  .absent = true },
};
static const struct shape open_shape = SHAPE(book, open);

/* Items as members of the object itself. */
static void test_spread(void **state)
{
	static const struct figure settings[] = { { .name = "a", .text = "on" } };
	struct book b = { .settings = settings, .n_settings = 1, .n_figures = 7 }, back;
	struct result_shape r = book_result;
	json_t *j = json_object(), *schema;
	struct arena a = { 0 };
	struct err e = { 0 };
	char *text;

	(void)state;
	shape_json(j, &open_shape, &b);
	text = json_dumps(j, JSON_COMPACT);
	assert_string_equal(text, "{\"n\":7,\"a\":\"on\"}");
	free(text);
	assert_int_equal(shape_read(&a, &open_shape, j, &back, &e), 0);
	assert_true(back.n_figures == 7 && back.n_settings == 0);
	json_decref(j);
	r.shape = &open_shape;
	schema = result_shape_schema(&r);
	text = json_dumps(json_object_get(schema, "additionalProperties"), JSON_COMPACT);
	assert_string_equal(text, "{\"$ref\":\"#/$defs/setting\"}");
	free(text);
	j = json_object_get(json_object_get(schema, "properties"), "more");
	assert_string_equal(json_string_value(json_object_get(j, "type")), "object");
	json_decref(schema);
	arena_free(&a);
}

static void test_book_schema(void **state)
{
	json_t *j = result_shape_schema(&book_result), *p = json_object_get(j, "properties");
	char *text = json_dumps(p, JSON_COMPACT);

	(void)state;
	assert_string_equal(
		text,
		"{\"schema\":{\"const\":\"gputune.book/2\"},\"tool_version\":{\"type\":\"string\"},"
		"\"figures\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/$defs/"
		"figure\"}},"
		"\"settings\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/$defs/"
		"setting\"}},"
		"\"far\":{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"null\"]}},"
		"\"starts\":{\"anyOf\":[{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},{"
		"\"type\":\"null\"}]},"
		"\"seed\":{\"type\":[\"string\",\"null\"]},"
		"\"two\":{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"null\"]}},"
		"\"as_it_is\":{}}");
	free(text);
	text = json_dumps(json_object_get(json_object_get(j, "$defs"), "setting"), JSON_COMPACT);
	assert_string_equal(text,
			    "{\"oneOf\":[{\"type\":[\"number\",\"null\"]},{\"type\":\"string\"}]}");
	free(text);
	p = json_object_get(json_object_get(j, "$defs"), "figure");
	text = json_dumps(json_object_get(p, "patternProperties"), JSON_COMPACT);
	assert_string_equal(
		text,
		"{\"^median_[a-z][a-z0-9_]*$\":{\"type\":\"number\",\"description\":\"Of all.\"},"
		"\"^samples_[a-z][a-z0-9_]*$\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}}"
		"}");
	free(text);
	json_decref(j);
}

/* "" where it is not known is null in JSON, and "" again when it is read. */
static void test_empty_text(void **state)
{
	static const struct shape_row rows[] = {
		{ "name", NULL, SHAPE_TEXT(part, name), .unknown = SHAPE_ZERO },
	};
	struct part part = { .name = "" };
	const struct shape shape = { .name = "named", .rows = rows, .n = 1, .size = sizeof(part) };
	json_t *j = json_object();
	struct arena a = { 0 };
	struct err e = { 0 };

	(void)state;
	shape_json(j, &shape, &part);
	assert_true(json_is_null(json_object_get(j, "name")));
	part.name = NULL;
	assert_int_equal(shape_read(&a, &shape, j, &part, &e), 0);
	assert_string_equal(part.name, "");
	json_decref(j);
	arena_free(&a);
}

static void rows_hold(const struct result_shape *r, const struct shape *s, int depth)
{
	assert_in_range(depth, 0, 8);
	for (size_t i = 0; i < s->n_forms; i++)
		rows_hold(r, s->forms[i], depth + 1);
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *row = &s->rows[i];

		for (size_t k = 0; k < i; k++)
			if (row->key && s->rows[k].key && strcmp(s->rows[k].key, row->key) == 0)
				fail_msg("%s: %s stands twice in %s", r->name, row->key, s->name);
		if (row->meaning && row->meaning[strlen(row->meaning) - 1] != '.')
			fail_msg("%s: %s: no sentence", r->name, row->key);
		for (size_t k = 0; row->names && k < row->n_names; k++)
			assert_non_null(row->names[k]);
		if (row->sub && row->sub != s)
			rows_hold(r, row->sub, depth + 1);
	}
}

static void test_all_results(void **state)
{
	struct arena a = { 0 };

	(void)state;
	for (const struct result_shape *const *r = result_shapes(&a); *r; r++) {
		json_t *j = result_shape_schema(*r);

		assert_non_null(j);
		json_decref(j);
		rows_hold(*r, (*r)->shape, 0);
	}
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_result),	       cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_schema),	       cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_book),	       cmocka_unit_test(test_book_schema),
		cmocka_unit_test(test_table),	       cmocka_unit_test(test_spread),
		cmocka_unit_test(test_all_results),    cmocka_unit_test(test_empty_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
