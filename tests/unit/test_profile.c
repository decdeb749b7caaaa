/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: what a file may say, and that everything else is refused with its line. */
#include "box.h"

#include <stdbool.h>

#include "look/settings/profile.h"

struct loaded {
	struct arena a;
	struct profile p;
	struct err e;
	int r;
};

static void load(struct loaded *l, const char *text, size_t len)
{
	char path[512];
	struct box b;

	*l = (struct loaded){ 0 };
	box_make(&b);
	box_bytes(&b, "site.ini", text, len);
	l->r = profile_load(&l->a, box_path(&b, "site.ini", path, sizeof(path)), &l->p, &l->e);
	box_remove(&b);
}

static void refused(const char *text, int line, const char *word, const char *word2)
{
	struct loaded l;
	char where[32];

	load(&l, text, strlen(text));
	snprintf(where, sizeof(where), "site.ini:%d: ", line);
	if (!l.r)
		fail_msg("accepted: %s", text);
	if (!strstr(l.e.text, where) || !strstr(l.e.text, word) || !strstr(l.e.text, word2))
		fail_msg("\"%s\" lacks \"%s\", \"%s\" or \"%s\"", l.e.text, where, word, word2);
	arena_free(&l.a);
}

/* What is asked for besides a file's own list narrows it: "apply --only X" must never write more
 * than X. */
static void test_only_twice(void **state)
{
	static const char text[] = "[profile]\nonly = memory, cpu.governor\n";
	struct loaded l;

	(void)state;
	load(&l, text, sizeof(text) - 1);
	assert_int_equal(l.r, 0);
	assert_true(profile_selects(&l.p, "memory.swappiness"));
	assert_true(profile_selects(&l.p, "cpu.governor"));
	assert_false(profile_selects(&l.p, "nic.mtu"));
	assert_int_equal(profile_narrow(&l.a, &l.p, "memory.swappiness,nic.mtu", false, &l.e), 0);
	assert_int_equal(profile_check_some(&l.a, &l.p, &l.e), 0);
	assert_true(profile_selects(&l.p, "memory.swappiness"));
	assert_false(profile_selects(&l.p, "memory.dirty-ratio"));
	assert_false(profile_selects(&l.p, "cpu.governor"));
	assert_false(profile_selects(&l.p, "nic.mtu"));
	arena_free(&l.a);
	load(&l, text, sizeof(text) - 1);
	assert_int_equal(profile_narrow(&l.a, &l.p, "nic", false, &l.e), 0);
	assert_int_equal(profile_check_some(&l.a, &l.p, &l.e), -EINVAL);
	assert_non_null(strstr(l.e.text, "only has memory,cpu.governor"));
	arena_free(&l.a);
}

static void test_good(void **state)
{
	static const char text[] =
		"; a comment\n[profile]\nbase = low-latency\nskip = gpu., nic.mtu\n\n"
		"[memory.swappiness]\nwant = <= 10\n# another\n[memory.dirty-ratio]\nwaive = "
		"measured\n"
		"expires = 2027-01-31\n[cpu.governor]\nwant = leave\nwaive = noisy\ntarget = "
		"cpu1*\n";
	const struct profile_override *o;
	struct loaded l;

	(void)state;
	load(&l, text, sizeof(text) - 1);
	if (l.r)
		fail_msg("%s", l.e.text);
	assert_int_equal(l.p.base, PROFILE_LOW_LATENCY);
	assert_int_equal(l.p.n_overrides, 3);
	o = profile_override_of(&l.p, setting_find("memory.swappiness"));
	assert_non_null(o);
	assert_int_equal(o->o.rel, WANT_AT_MOST);
	assert_string_equal(o->o.value, "10");
	assert_true(o->has_want);
	assert_null(o->waive);
	/* The line is where the section's first key stands. */
	assert_int_equal(o->line, 7);
	o = profile_override_of(&l.p, setting_find("memory.dirty-ratio"));
	assert_string_equal(o->waive, "measured");
	assert_string_equal(o->expires, "2027-01-31");
	o = profile_override_of(&l.p, setting_find("cpu.governor"));
	assert_int_equal(o->o.rel, WANT_LEAVE);
	assert_string_equal(o->target, "cpu1*");
	assert_false(profile_selects(&l.p, "gpu.driver"));
	assert_false(profile_selects(&l.p, "nic.mtu"));
	assert_true(profile_selects(&l.p, "nic.mps"));
	arena_free(&l.a);
}

static void test_forms(void **state)
{
	static const struct {
		const char *text;
		enum relation rel;
		const char *value;
	} forms[] = {
		{ "10", WANT_IS, "10" },	  { ">= 10", WANT_AT_LEAST, "10" },
		{ ">=10", WANT_AT_LEAST, "10" },  { "<= 10", WANT_AT_MOST, "10" },
		{ "not 60", WANT_NOT, "60" },	  { "one of 1 2 3", WANT_ONE_OF, "1 2 3" },
		{ "leave", WANT_LEAVE, "leave" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct loaded l;
		char text[128];

		snprintf(text, sizeof(text), "[memory.swappiness]\nwant = %s\n", forms[i].text);
		load(&l, text, strlen(text));
		if (l.r)
			fail_msg("%s", l.e.text);
		assert_int_equal(l.p.overrides[0].o.rel, forms[i].rel);
		assert_string_equal(l.p.overrides[0].o.value, forms[i].value);
		arena_free(&l.a);
	}
}

static void test_bad(void **state)
{
	(void)state;
	refused("[profile]\nbase = fast\n", 2, "fast", "built-in");
	refused("[profile]\n\nbases = default\n", 3, "bases", "base, only, skip");
	refused("[profile]\nonly = memory.swapiness\n", 2, "memory.swapiness", "memory.swappiness");
	refused("[profile]\nonly =\n", 2, "only", "names none");
	refused("[profile]\nonly = , ,\n", 2, "only", "names none");
	refused("[profile]\nskip = gpu., nothing.like.this\n", 2, "nothing.like.this", "");
	refused("want = 1\n", 1, "want", "before any section");
	refused("\n[memory.swapiness]\nwant = 1\n", 3, "[memory.swapiness]", "[memory.swappiness]");
	refused("[swappiness]\nwant = 1\n", 2, "unknown setting", "[memory.swappiness]");
	refused("[zzzzzzzzzzzzzzzzzzzz]\nwant = 1\n", 2, "unknown setting", "");
	refused("[memory.swappiness]\nwish = 1\n", 2, "wish", "want, waive, expires, target");
	refused("[memory.swappiness]\nwant = low\n", 2, "whole number", "low");
	refused("[memory.swappiness]\nwant = >= low\n", 2, "whole number", ">=");
	/* A number that may be bytes or mebibytes is not guessed. */
	refused("[memory.dirty-ratio]\nwant = <= 16384\n", 2, "bytes with their unit", "16384");
	refused("[memory.dirty-ratio]\nwant = 4 Gib\n", 2, "bytes with their unit", "4 Gib");
	refused("[memory.dirty-ratio]\nwant = 101 %\n", 2, "bytes with their unit", "101 %");
	refused("[cpu.frequency-cap]\nwant = 3000\n", 2, "3000 MHz", "\"3000\"");
	refused("[memory.swappiness]\nwant =\n", 2, "empty", "");
	refused("[memory.swappiness]\nwant = >=\n", 2, "empty", "");
	refused("[memory.swappiness]\nwaive =\n", 2, "reason", "");
	refused("[memory.swappiness]\nwaive = x\nexpires = soon\n", 3, "2027-01-31", "soon");
	refused("[memory.swappiness]\nwaive = x\nexpires = 2027-02-30\n", 3, "2027-02-30", "");
	refused("[memory.swappiness]\nexpires = 2027-02-28\n", 2, "no waive", "expires");
	refused("[memory.swappiness]\ntarget = x\n", 2, "no waive", "target");
	refused("[gpu.driver]\nwant = 1\n", 2, "no target value", "waived");
	refused("[profile]\nbase = default\nnonsense\n", 3, "key = value", "");
	refused("[profile\nbase = default\n", 1, "[section]", "");
	/* The first complaint is the one that is told. */
	refused("[profile]\nbase = fast\nbases = x\n", 2, "fast", "");
}

static void test_bounds(void **state)
{
	struct loaded l;
	char line[5000], *big;

	(void)state;
	for (size_t n = 185; n < 5000; n += n < 205 ? 1 : 1000) {
		memset(line, 'x', sizeof(line));
		memcpy(line, "[profile]\n; ", 12);
		line[10 + n - 1] = '\n';
		load(&l, line, 10 + n);
		if (n <= 190) {
			assert_int_equal(l.r, 0);
		} else {
			assert_int_equal(l.r, -EINVAL);
			assert_non_null(strstr(l.e.text, "site.ini:2: the line exceeds 190"));
		}
		arena_free(&l.a);
	}
	big = malloc(2 << 20);
	assert_non_null(big);
	for (size_t i = 0; i < 2 << 20; i += 2)
		memcpy(big + i, ";\n", 2);
	load(&l, big, 2 << 20);
	assert_int_equal(l.r, -EFBIG);
	assert_non_null(strstr(l.e.text, "larger than 1 MiB"));
	arena_free(&l.a);
	/* Bytes that are no text. */
	for (int seed = 1; seed < 200; seed++) {
		unsigned x = (unsigned)seed * 2654435761u;

		for (size_t i = 0; i < 512; i++) {
			x = x * 1664525u + 1013904223u;
			line[i] = (char)(x >> 24);
		}
		load(&l, line, 512);
		assert_true(l.r == 0 || l.e.text[0]);
		arena_free(&l.a);
	}
	load(&l, "", 0);
	assert_int_equal(l.r, 0);
	arena_free(&l.a);
	free(big);
}

static void test_names(void **state)
{
	struct arena a = { 0 };
	struct profile p;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(profile_load(&a, "published", &p, &e), 0);
	assert_int_equal(p.base, PROFILE_PUBLISHED);
	assert_int_equal(profile_load(&a, "no-such-profile", &p, &e), -ENOENT);
	assert_non_null(strstr(e.text, "no-such-profile"));
	assert_non_null(strstr(e.hint, "profile list"));
	assert_int_equal(profile_load(&a, "/nowhere/site.ini", &p, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nowhere/site.ini"));
	assert_int_equal(profile_load(&a, "/tmp/", &p, &e) < 0, 1);
	assert_int_equal(profile_load(&a, "default", &p, &e), 0);
	assert_int_equal(profile_narrow(&a, &p, "memory.,cpu.governor", false, &e), 0);
	assert_true(profile_selects(&p, "memory.swappiness"));
	assert_true(profile_selects(&p, "cpu.governor"));
	assert_false(profile_selects(&p, "cpu.boost"));
	assert_int_equal(profile_narrow(&a, &p, "memory.swappiness", true, &e), 0);
	assert_false(profile_selects(&p, "memory.swappiness"));
	assert_int_equal(profile_narrow(&a, &p, "cpu.govenor", false, &e), -EINVAL);
	assert_non_null(strstr(e.text, "cpu.govenor"));
	assert_non_null(strstr(e.hint, "cpu.governor"));
	arena_free(&a);
}

static void test_waivers(void **state)
{
	static const char text[] = "[memory.swappiness]\nwaive = agreed\nexpires = 2027-01-31\n"
				   "[cpu.governor]\nwaive = noisy\ntarget = cpu1*\n";
	const struct setting *swap = setting_find("memory.swappiness"),
			     *gov = setting_find("cpu.governor");
	struct loaded l;
	struct verdict v;
	long long end;

	(void)state;
	assert_int_equal(waive_deadline("2027-01-31", &end), 0);
	assert_int_equal(end, 1801440000); /* the first second of February */
	assert_int_equal(waive_deadline("2024-02-29", &end), 0);
	assert_int_not_equal(waive_deadline("2027-02-29", &end), 0);
	assert_int_not_equal(waive_deadline("2027-1-31", &end), 0);
	assert_int_not_equal(waive_deadline("2027-01-31x", &end), 0);
	assert_int_not_equal(waive_deadline("", &end), 0);
	load(&l, text, sizeof(text) - 1);
	assert_int_equal(l.r, 0);
	v = (struct verdict){ .kind = VERDICT_FAIL, .code = CODE_DIFFERS, .reason = "is 60" };
	waive(&l.a, &l.p, swap, "", 1801440000 - 1, &v);
	assert_int_equal(v.kind, VERDICT_NA);
	assert_string_equal(v.code, CODE_WAIVED);
	assert_non_null(strstr(v.reason, "agreed"));
	assert_non_null(strstr(v.reason, "2027-01-31"));
	v = (struct verdict){ .kind = VERDICT_FAIL, .code = CODE_DIFFERS, .reason = "is 60" };
	waive(&l.a, &l.p, swap, "", 1801440000, &v);
	assert_int_equal(v.kind, VERDICT_FAIL);
	assert_non_null(strstr(v.reason, "expired on 2027-01-31"));
	for (int kind = VERDICT_PASS; kind <= VERDICT_UNKNOWN; kind++) {
		v = (struct verdict){ .kind = (enum verdict_kind)kind, .reason = "r" };
		waive(&l.a, &l.p, gov, "cpu12", 0, &v);
		assert_int_equal(v.kind, kind == VERDICT_FAIL ? VERDICT_NA : kind);
		v = (struct verdict){ .kind = (enum verdict_kind)kind, .reason = "r" };
		waive(&l.a, &l.p, gov, "cpu2", 0, &v);
		assert_int_equal(v.kind, kind);
	}
	arena_free(&l.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_twice), cmocka_unit_test(test_good),
		cmocka_unit_test(test_forms),	   cmocka_unit_test(test_bad),
		cmocka_unit_test(test_bounds),	   cmocka_unit_test(test_names),
		cmocka_unit_test(test_waivers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
