/* SPDX-License-Identifier: Apache-2.0 */
/* Arena, text, strict parsing, natural order, sets of ranges. */
#include <errno.h>
#include <math.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/idset.h"
#include "base/json.h"
#include "base/text.h"

static void arena_gives_zeroed_aligned_memory(void **state)
{
	struct arena a = { 0 };

	(void)state;
	for (size_t n = 0; n < 300000; n = n * 3 + 1) {
		unsigned char *p;

		/* A text in front of it, of any length. */
		arena_strndup(&a, "text", n % 5);
		p = arena_alloc(&a, n);

		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, n);
	}
	arena_free(&a);
	assert_null(a.head);
}

static void arena_grow_keeps_items(void **state)
{
	struct arena a = { 0 };
	int *items = NULL;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		items = arena_grow(&a, items, (size_t)i, sizeof(*items));
		items[i] = i;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	arena_free(&a);
}

/* Little of a large room is used, none, or all of it. */
static void arena_keeps_rooms(void **state)
{
	enum { ROOM = 5 << 20 };

	(void)state;
	for (int large = 0; large < 2; large++)
		for (size_t n = 0; n <= ROOM; n = n * 9 + 1) {
			size_t used = n * 9 + 1 > ROOM ? ROOM : n;
			struct arena a = { 0 };
			char *room = large ? arena_room_large(ROOM) : arena_room(ROOM), *text;

			assert_non_null(room);
			memset(room, 'x', used);
			arena_alloc(&a, 1);
			text = arena_keep(&a, room, used);
			assert_int_equal(strlen(text), used);
			assert_int_equal(strspn(text, "x"), used);
			assert_int_equal(*(char *)arena_alloc(&a, 1), 0);
			arena_free(&a);
			arena_drop(large ? arena_room_large(used) : arena_room(used));
		}
	assert_null(arena_room_large(SIZE_MAX));
}

static bool is_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* Whatever is taken after a mark, what was there before stays, and what comes later is zeroed. */
static void arena_goes_back(void **state)
{
	static const size_t sizes[] = { 0, 1, 100, 3000, 20000, 70000, 200000 };
	enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), USED = 6, ROOM = 100 };

	(void)state;
	for (size_t before = 0; before < (size_t)SIZES; before++)
		for (size_t first = 0; first < (size_t)SIZES; first++)
			for (size_t second = 0; second < (size_t)SIZES; second++) {
				size_t n = sizes[before];
				struct arena a = { 0 };
				unsigned char *old = n ? arena_alloc(&a, n) : NULL, *p;
				struct arena_mark m;

				if (old)
					memset(old, 0xaa, n);
				m = arena_mark(&a);
				for (int round = 0; round < 2; round++) {
					p = arena_alloc(&a, sizes[first]);
					assert_true(is_zero(p, sizes[first]));
					memset(p, 0xff, sizes[first]);
					p = arena_alloc(&a, sizes[second]);
					assert_true(is_zero(p, sizes[second]));
					memset(p, 0xff, sizes[second]);
					arena_keep(&a, arena_room(ROOM), USED);
					arena_back(&a, m);
				}
				for (size_t i = 0; i < n; i++)
					assert_int_equal(old[i], 0xaa);
				assert_true(is_zero(arena_alloc(&a, 5000), 5000));
				arena_free(&a);
			}
}

static void numbers_are_strict(void **state)
{
	static const struct {
		const char *s;
		int r;
		long long v;
	} rows[] = {
		{ "0", 0, 0 },
		{ " 42\n", 0, 42 },
		{ "-7", 0, -7 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ " ", -EINVAL, 0 },
		{ "12x", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1 2", -EINVAL, 0 },
		{ "--1", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "00000000000000000000000000000000000000001", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		long long v = 99;

		assert_int_equal(parse_i64(rows[i].s, &v), rows[i].r);
		assert_int_equal(v, rows[i].r ? 99 : rows[i].v);
	}
}

static void decimals_are_strict(void **state)
{
	static const struct {
		const char *s;
		int r;
		double v;
		size_t n; /* bytes of it that are the number */
	} rows[] = {
		{ "0", 0, 0, 1 },
		{ "12.5", 0, 12.5, 4 },
		{ ".5", 0, 0.5, 2 },
		{ "5.", 0, 5, 2 },
		{ "8e9", 0, 8e9, 3 },
		{ "1.5E-3x", 0, 1.5e-3, 6 },
		{ "+2", 0, 2, 2 },
		{ "-2.5%", 0, -2.5, 4 },
		{ "-0", 0, 0, 2 },
		{ "2e", 0, 2, 1 },
		{ "2e+", 0, 2, 1 },
		{ "0x10", 0, 0, 1 },
		{ "1,5", 0, 1, 1 },
		{ "1.2.3", 0, 1.2, 3 },
		{ "1e-999", 0, 0, 6 },
		{ "nan", -EINVAL, 0, 0 },
		{ "inf", -EINVAL, 0, 0 },
		{ "-inf", -EINVAL, 0, 0 },
		{ "infinity", -EINVAL, 0, 0 },
		{ "", -EINVAL, 0, 0 },
		{ ".", -EINVAL, 0, 0 },
		{ "-", -EINVAL, 0, 0 },
		{ "+.e5", -EINVAL, 0, 0 },
		{ " 1", -EINVAL, 0, 0 },
		{ "e5", -EINVAL, 0, 0 },
		{ "NAN(1)", -EINVAL, 0, 0 },
		{ "1e999", -ERANGE, 0, 0 },
		{ "-1e999", -ERANGE, 0, 0 },
		{ "1e99999999999999999999", -ERANGE, 0, 0 },
		{ "0000000000000000000000000000000000000000000000000000000000000000000001", -ERANGE,
		  0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *end = NULL;
		double v = 99, whole = 99;
		int r = parse_decimal(rows[i].s, &v, &end), left = rows[i].r;

		assert_int_equal(r, rows[i].r);
		assert_true(r ? v > 98 && !end
			      : v >= rows[i].v && v <= rows[i].v &&
					    !signbit(v) == !signbit(rows[i].v));
		assert_true(r || end == rows[i].s + rows[i].n);
		if (!left && rows[i].s[rows[i].n])
			left = -EINVAL;
		assert_int_equal(parse_real(rows[i].s, &whole), left);
		assert_true(left ? whole > 98 : whole <= v && whole >= v);
	}
}

static void times_have_units(void **state)
{
	static const struct {
		const char *s;
		int r;
		double v;
	} rows[] = {
		{ "10s", 0, 10 },	  { "500ms", 0, 0.5 },	   { "2m", 0, 120 },
		{ "24h", 0, 86400 },	  { "1.5", 0, 1.5 },	   { "1e2s", 0, 100 },
		{ "0", -ERANGE, 0 },	  { "-1s", -ERANGE, 0 },   { "25h", -ERANGE, 0 },
		{ "1e999s", -ERANGE, 0 }, { "nan", -EINVAL, 0 },   { "infs", -EINVAL, 0 },
		{ "10 s", -EINVAL, 0 },	  { "10d", -EINVAL, 0 },   { "s", -EINVAL, 0 },
		{ "", -EINVAL, 0 },	  { "0x10s", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double v = 0;

		assert_int_equal(parse_seconds(rows[i].s, &v), rows[i].r);
		assert_true(v >= rows[i].v && v <= rows[i].v);
	}
}

static void sizes_take_suffixes(void **state)
{
	unsigned long long v = 0;

	(void)state;
	assert_int_equal(parse_size("1G", &v), 0);
	assert_int_equal(v, 1ull << 30);
	assert_int_equal(parse_size("64k", &v), 0);
	assert_int_equal(v, 65536);
	assert_int_equal(parse_size("16777216T", &v), -ERANGE);
	assert_int_equal(parse_size("G", &v), -EINVAL);
	assert_int_equal(parse_size("-1", &v), -EINVAL);
	assert_int_equal(parse_hex("0x15b3", &v), 0);
	assert_int_equal(v, 0x15b3);
	assert_int_equal(parse_hex("15g", &v), -EINVAL);
}

static void natural_order_is_total(void **state)
{
	static const char *const sorted[] = { "",  "a",	   "a1",   "a01b",  "a2",    "a10",
					      "b", "cpu0", "cpu9", "cpu10", "cpu100" };
	size_t n = sizeof(sorted) / sizeof(sorted[0]);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			int c = str_natural(sorted[i], sorted[j]);

			assert_int_equal((c > 0) - (c < 0), (i > j) - (i < j));
		}
	assert_true(str_natural("99999999999999999999999", "100000000000000000000000") < 0);
	assert_int_not_equal(str_natural("a01", "a1"), 0);
}

static void distance_suggests(void **state)
{
	(void)state;
	assert_int_equal(str_distance("kitten", "sitting", 5), 3);
	assert_int_equal(str_distance("", "abc", 5), 3);
	assert_int_equal(str_distance("abcdef", "uvwxyz", 2), 3);
}

static void ids_match_by_prefix(void **state)
{
	(void)state;
	assert_true(id_matches("gpu.bar1-size", "gpu"));
	assert_true(id_matches("gpu.bar1-size", "gpu.bar1-size"));
	assert_true(id_matches("gpu.bar1-size", "gpu.*"));
	assert_true(id_matches("gpu.bar1-size", "gpu."));
	assert_false(id_matches("gpu.bar1-size", "gp"));
	assert_false(id_matches("gpu.bar1-size", "gpu.bar1"));
	assert_false(id_matches("gpu", "gpu.bar1-size"));
}

static void sets_round_trip(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "" },
		{ "\n", "" },
		{ "3", "3" },
		{ "0-4,10-14", "0-4,10-14" },
		{ "5,4,3", "3-5" },
		{ "0-9,2-3", "0-9" },
		{ "0-15:2/4", "0-1,4-5,8-9,12-13" },
		{ "1-2,3", "1-3" },
		{ "0-3,8-11,4-7", "0-11" },
	};
	static const char *const wrong[] = { "a",	"1-",	   "-1",	  "3-1",
					     "1,",	",1",	   "1;2",	  "0-3:2",
					     "0-3:0/2", "0-3:3/2", "99999999999", "1048577",
					     "1 2" };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct idset s;

		assert_int_equal(idset_parse(&a, rows[i].in, &s), 0);
		assert_string_equal(idset_format(&a, &s), rows[i].out);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct idset s = { 0 };

		assert_int_equal(idset_parse(&a, wrong[i], &s), -EINVAL);
	}
	arena_free(&a);
}

static void sets_add_in_any_order(void **state)
{
	struct arena a = { 0 };
	struct idset s = { 0 }, t, rest;

	(void)state;
	/* Every third, then every second, then all, backwards: merges at both ends and in the
	 * middle. */
	for (unsigned i = 0; i < 200; i += 3)
		idset_add(&a, &s, i);
	for (unsigned i = 200; i-- > 0;)
		if (i % 2)
			idset_add(&a, &s, i);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(idset_has(&s, i), i % 3 == 0 || i % 2);
	for (unsigned i = 200; i-- > 0;)
		idset_add(&a, &s, i);
	assert_int_equal(s.n, 1);
	assert_int_equal(idset_count(&s), 200);
	assert_int_equal(idset_parse(&a, "5-9,15-19", &t), 0);
	assert_true(idset_contains(&s, &t));
	assert_true(idset_intersects(&s, &t));
	rest = idset_minus(&a, &t, &s);
	assert_int_equal(idset_count(&rest), 0);
	assert_int_equal(idset_parse(&a, "200-210", &t), 0);
	assert_false(idset_intersects(&s, &t));
	arena_free(&a);
}

static void errno_names_round_trip(void **state)
{
	static const int numbers[] = { ENOENT,	EACCES, EPERM, EOPNOTSUPP, ENOMEDIUM,
				       ELIBACC, EFBIG,	ELOOP, EXDEV };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(errno_number(errno_name(-numbers[i])), numbers[i]);
	assert_int_equal(errno_number("ENOSUCHNAME"), 0);
}

/* C1's CSI and an override of direction are escaped; words, layout and what jansson escapes stay.
 */
static void test_json_print(void **state)
{
	const char *word = "caf\xc3\xa9 \xc2\x9b"
			   "31m \xe2\x80\xae \x7f \xf0\x9f\x9a\x80\n";
	json_t *j = json_pack("{s:s, s:i}", word, word, "n", 1), *back;
	TEXT_AUTO t = { 0 };

	(void)state;
	assert_int_equal(json_add(&t, j, JSON_INDENT(1) | JSON_SORT_KEYS), 0);
	assert_string_equal(
		t.s,
		"{\n \"caf\xc3\xa9 \\u009b31m \\u202e \\u007f \xf0\x9f\x9a\x80\\n\": "
		"\"caf\xc3\xa9 \\u009b31m \\u202e \\u007f \xf0\x9f\x9a\x80\\n\",\n \"n\": 1\n}");
	back = json_loads(t.s, 0, NULL);
	assert_true(json_equal(j, back));
	json_decref(back);
	json_decref(j);
}

/* As fnmatch, whatever the pattern. */
static void test_matches(void **state)
{
	static const char *const patterns[] = { "",	 "*",	   "a*",    "*c",  "a*c",
						"a?c",	 "a[bx]c", "a\\*c", "a[",  "]",
						"a*b*c", "/a/*/c", "abc",   "a\\", "[a-c]*",
						"*]",	 "a*\\c" };
	static const char *const texts[] = {
		"",   "a", "c",	     "abc",	 "axc", "a*c", "abbc",
		"a[", "]", "/a/b/c", "/a/b/d/c", "ab",	"a\\", "a*\\c"
	};
	static const int flags[] = { 0, FNM_PATHNAME, FNM_PATHNAME | FNM_NOESCAPE };

	(void)state;
	for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++)
		for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
			for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++)
				if (str_matches(patterns[p], texts[t], flags[f]) !=
				    (fnmatch(patterns[p], texts[t], flags[f]) == 0))
					fail_msg("%s, %s", patterns[p], texts[t]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_json_print),
		cmocka_unit_test(arena_gives_zeroed_aligned_memory),
		cmocka_unit_test(arena_grow_keeps_items),
		cmocka_unit_test(arena_keeps_rooms),
		cmocka_unit_test(arena_goes_back),
		cmocka_unit_test(numbers_are_strict),
		cmocka_unit_test(decimals_are_strict),
		cmocka_unit_test(times_have_units),
		cmocka_unit_test(sizes_take_suffixes),
		cmocka_unit_test(natural_order_is_total),
		cmocka_unit_test(distance_suggests),
		cmocka_unit_test(ids_match_by_prefix),
		cmocka_unit_test(sets_round_trip),
		cmocka_unit_test(sets_add_in_any_order),
		cmocka_unit_test(errno_names_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
