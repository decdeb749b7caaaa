/* SPDX-License-Identifier: Apache-2.0 */
/* GPU code in files of every kind, sound and hostile, and which GPU runs it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "look/stack/archive.h"
#include "look/stack/fatbin.h"
#include "look/stack/inventory.h"
#include "look/stack/elf.h"
#include "look/stack/scan.h"
#include "stack_bytes.h"

static const struct scan_options on_gb10 = { .gpus = { { 121, 1300 } }, .n_gpus = 1, .deep = true };

static struct scan scanned(struct arena *a, const struct text *t, const char *name)
{
	struct input_bytes in;
	struct scan s;

	input_bytes(&in, t->s ? t->s : "", t->len);
	scan_input(a, &in.in, name, &on_gb10, &s);
	return s;
}

static const char *codes(struct arena *a, const struct scan *s)
{
	const char *text = "";

	for (size_t i = 0; i < s->codes.n; i++)
		text = arena_printf(a, "%s%s%s x%zu", text, *text ? ", " : "",
				    code_name(a, &s->codes.items[i]), s->codes.items[i].n);
	return text;
}

static const char ptx_text[] = "//\n.version 9.0\n.target sm_121a\n.address_size 64\n";

/* Plain cubin, PTX packed by zstd, and one for another GPU. */
static void make_fatbin(struct text *t)
{
	TEXT_AUTO cubin = { 0 }, other = { 0 };
	char packed[256];
	size_t n = ZSTD_compress(packed, sizeof(packed), ptx_text, sizeof(ptx_text), 3);
	size_t at = fatbin_begin(t);

	assert_false(ZSTD_isError(n));
	put_cubin(&cubin, 120);
	put_cubin(&other, 90);
	put_entry(t, 2, 120, 0, 0x200000, cubin.s, cubin.len, 0);
	put_entry(t, 2, 90, 0, 0x100000, other.s, other.len, 0);
	put_entry(t, 1, 121, 90, 0x108000, packed, n, sizeof(ptx_text));
	fatbin_end(t, at);
}

static void test_fatbin(void **state)
{
	struct arena a = { 0 };
	TEXT_AUTO t = { 0 };
	struct scan s;

	(void)state;
	make_fatbin(&t);
	s = scanned(&a, &t, "k.fatbin");
	assert_null(s.error);
	assert_int_equal(s.n_problems, 0);
	assert_int_equal(s.kind, SCAN_FATBIN);
	assert_int_equal(s.opened, 3);
	assert_string_equal(codes(&a, &s), "sm_90a x1, sm_120f x1, compute_121a (PTX 9.0) x1");
	assert_int_equal(s.answers[0].containers[CODE_FAMILY], 1);
	arena_free(&a);
}

/* What the head of an entry says is held against its header. */
static void test_lying_header(void **state)
{
	struct arena a = { 0 };
	TEXT_AUTO t = { 0 }, cubin = { 0 };
	struct scan s;
	size_t at;

	(void)state;
	at = fatbin_begin(&t);
	put_cubin(&cubin, 80);
	put_entry(&t, 2, 121, 0, 0, cubin.s, cubin.len, 0);
	put_entry(&t, 1, 121, 90, 0, "nothing of the kind", 19, 0);
	put_entry(&t, 1, 121, 90, 0x8000, "no zstd", 7, 100);
	fatbin_end(&t, at);
	s = scanned(&a, &t, "k.fatbin");
	assert_int_equal(s.n_problems, 3);
	assert_non_null(strstr(s.problems[0], "an entry for sm_121 contains a cubin for sm_80"));
	assert_non_null(strstr(s.problems[1], "an entry marked as PTX is not PTX"));
	assert_non_null(strstr(s.problems[2], "cannot be unpacked"));
	assert_int_equal(s.opened, 0);
	arena_free(&a);
}

static void test_elf_and_archive(void **state)
{
	struct arena a = { 0 };
	TEXT_AUTO fatbin = { 0 }, elf = { 0 }, ar = { 0 }, longer = { 0 };
	struct scan s;

	(void)state;
	make_fatbin(&fatbin);
	put_elf(&elf, ".nv_fatbin", &fatbin, 2);
	s = scanned(&a, &elf, "x.so");
	assert_null(s.error);
	assert_int_equal(s.containers, 1);
	assert_int_equal(s.entries, 3);
	assert_int_equal(s.codes.items[0].inside, 0);

	text_add(&ar, "!<arch>\n");
	text_add(&longer, "a_name_longer_than_fifteen.o/\n");
	put_member(&ar, "/", "\0\0\0\0", 4);
	put_member(&ar, "//", longer.s, longer.len);
	put_member(&ar, "/0", elf.s, elf.len);
	put_member(&ar, "text.txt/", "no code at all, but long enough to be looked at .........",
		   58);
	put_member(&ar, "b.o/", elf.s, elf.len);
	s = scanned(&a, &ar, "x.a");
	assert_null(s.error);
	assert_int_equal(s.kind, SCAN_ARCHIVE);
	assert_int_equal(s.containers, 2);
	/* A member that is broken is named. */
	poke(&ar, 8 + 60 + 4 + 60 + 30 + 60 + 40, 1ull << 60, 8);
	s = scanned(&a, &ar, "x.a");
	assert_int_equal(s.containers, 1);
	assert_int_equal(s.n_problems, 1);
	assert_non_null(strstr(s.problems[0], "a_name_longer_than_fifteen.o: broken ELF headers"));
	arena_free(&a);
}

/* libcufft keeps containers among its data: they count, and are told apart. */
static void test_inside_data(void **state)
{
	struct arena a = { 0 };
	TEXT_AUTO data = { 0 }, elf = { 0 };
	struct scan s;

	(void)state;
	text_add(&data, "twelve bytes");
	put(&data, 0, 4);
	put(&data, 0x00100001ba55ed50, 8); /* only looks like one */
	put(&data, 1ull << 40, 8);
	make_fatbin(&data);
	text_add(&data, "eight...and more");
	make_fatbin(&data);
	put_elf(&elf, ".ldata", &data, 2);
	s = scanned(&a, &elf, "x.so");
	assert_null(s.error);
	assert_int_equal(s.n_problems, 0);
	assert_int_equal(s.containers, 2);
	assert_int_equal(s.codes.items[0].inside, 2);
	arena_free(&a);
}

/* Each number in the headers made absurd, one after the other: no crash, no endless loop, and
 * either it is said to be broken or nothing wrong is read. */
static void test_every_byte(void **state)
{
	TEXT_AUTO fatbin = { 0 }, elf = { 0 }, t = { 0 };

	(void)state;
	make_fatbin(&fatbin);
	put_elf(&elf, "__nv_relfatbin", &fatbin, 2);
	text_add(&t, "!<arch>\n");
	put_member(&t, "a.o/", elf.s, elf.len);
	for (size_t i = 0; i < t.len; i++) {
		struct arena a = { 0 };
		char was = t.s[i];
		struct scan s;

		t.s[i] = (char)0xff;
		s = scanned(&a, &t, "x.a");
		assert_true(s.entries <= 3);
		t.s[i] = (char)(was ^ 0x41);
		s = scanned(&a, &t, "x.a");
		assert_true(s.entries <= 4);
		t.s[i] = was;
		arena_free(&a);
	}
	for (size_t n = t.len; n-- > 0;) {
		struct arena a = { 0 };
		struct text cut = { t.s, n, n };

		assert_true(scanned(&a, &cut, "x.a").entries <= 3);
		arena_free(&a);
	}
}

static int no_member(void *ctx, const char *name, uint64_t at, uint64_t size)
{
	(void)name;
	(void)at;
	(void)size;
	++*(int *)ctx;
	return 0;
}

static int archive_code(const char *text, size_t n, struct err *e)
{
	struct input_bytes in;
	int count = 0;

	input_bytes(&in, text, n);
	return archive_each(&in.in, no_member, &count, e);
}

static void test_archive_refusals(void **state)
{
	static const char thin[] = "!<thin>\n",
			  none[] = "!<arch>\nnothing that a member begins with, "
				   "although it is quite long";
	TEXT_AUTO t = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(archive_code(thin, 8, &e), -EPROTONOSUPPORT);
	assert_non_null(strstr(e.text, "thin"));
	assert_int_equal(archive_code(none, sizeof(none), &e), -EBADMSG);
	text_add(&t, "!<arch>\n");
	put_member(&t, "a.o/", "abcd", 4);
	assert_int_equal(archive_code(t.s, t.len, &e), 0);
	poke(&t, 8 + 48, 0x39393939, 4);
	assert_int_equal(archive_code(t.s, t.len, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "longer than the file"));
}

/* The first bytes of what fatbinary packs with LZ4, and sequences made by hand. */
static void test_lz4(void **state)
{
	static const unsigned char repeat[] = { 0x35, 'a', 'b', 'c', 3,	  0,
						0x50, 'x', 'y', 'z', 'x', 'y' },
				   bad[] = { 0x10, 'a', 9, 0, 0x00 };
	unsigned char longer[300] = { 0xf0, 255, 15 }, out[400];
	size_t got = 0;

	(void)state;
	assert_int_equal(lz4_head(repeat, sizeof(repeat), out, sizeof(out), &got), 0);
	assert_int_equal(got, 17);
	assert_memory_equal(out, "abcabcabcabcxyzxy", 17);
	/* No more than is wanted, in the midst of a match too. */
	assert_int_equal(lz4_head(repeat, sizeof(repeat), out, 7, &got), 0);
	assert_int_equal(got, 7);
	assert_int_equal(lz4_head(bad, sizeof(bad), out, sizeof(out), &got), -EBADMSG);
	memset(longer + 3, 'q', 285);
	assert_int_equal(lz4_head(longer, 288, out, sizeof(out), &got), 0);
	assert_int_equal(got, 285);
	assert_int_equal(lz4_head(longer, 100, out, sizeof(out), &got), 0);
	assert_int_equal(got, 97);
	assert_int_equal(lz4_head(longer, 2, out, sizeof(out), &got), 0);
	assert_int_equal(got, 0);
}

static void test_answers(void **state)
{
	static const struct {
		enum code_kind kind;
		unsigned sm;
		char suffix;
		unsigned ptx;
		struct gpu_target gpu;
		enum code_answer want;
	} rows[] = {
		{ CODE_CUBIN, 121, 0, 0, { 121, 0 }, CODE_NATIVE },
		{ CODE_CUBIN, 120, 0, 0, { 121, 0 }, CODE_FAMILY },
		{ CODE_CUBIN, 120, 'f', 0, { 121, 0 }, CODE_FAMILY },
		{ CODE_CUBIN, 120, 'a', 0, { 121, 0 }, CODE_CANNOT },
		{ CODE_CUBIN, 121, 0, 0, { 120, 0 }, CODE_CANNOT },
		{ CODE_CUBIN, 90, 'a', 0, { 90, 0 }, CODE_NATIVE },
		{ CODE_CUBIN, 100, 0, 0, { 121, 0 }, CODE_CANNOT },
		{ CODE_CUBIN, 100, 'f', 0, { 103, 0 }, CODE_FAMILY },
		{ CODE_CUBIN, 80, 0, 0, { 86, 0 }, CODE_FAMILY },
		{ CODE_CUBIN, 86, 0, 0, { 87, 0 }, CODE_CANNOT }, /* Orin's own GPU */
		{ CODE_CUBIN, 87, 0, 0, { 87, 0 }, CODE_NATIVE },
		{ CODE_CUBIN, 87, 0, 0, { 89, 0 }, CODE_CANNOT },
		{ CODE_PTX, 80, 0, 70, { 121, 1300 }, CODE_JIT },
		{ CODE_PTX, 87, 0, 84, { 121, 1300 }, CODE_JIT },
		{ CODE_PTX, 120, 0, 91, { 121, 1300 }, CODE_CANNOT }, /* the driver is older */
		{ CODE_PTX, 120, 0, 91, { 121, 0 }, CODE_JIT },
		{ CODE_PTX, 90, 'a', 80, { 121, 1300 }, CODE_CANNOT },
		{ CODE_PTX, 120, 'f', 90, { 121, 1300 }, CODE_JIT },
		{ CODE_PTX, 121, 0, 90, { 120, 1300 }, CODE_CANNOT },
		{ CODE_LTO, 80, 0, 0, { 121, 1300 }, CODE_CANNOT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gpu_code c = { .kind = rows[i].kind,
				      .sm = rows[i].sm,
				      .suffix = rows[i].suffix,
				      .ptx = rows[i].ptx,
				      .n = 1 };

		if (code_answer(&c, &rows[i].gpu) != rows[i].want)
			fail_msg("row %zu: sm_%u on sm_%u", i, c.sm, rows[i].gpu.sm);
	}
}

static void test_targets(void **state)
{
	static const char *const good[] = { "sm_121", "121", "12.1", "sm_121a" }, *const bad[] = {
		"", "sm_", "1", "12.", "12.34", "x", "sm_12x", "1211", "-1", "sm_121 ", "12.1a"
	};
	struct err e;
	unsigned sm;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		sm = 0;
		assert_int_equal(gpu_target_parse(good[i], &sm, &e), 0);
		assert_int_equal(sm, 121);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (gpu_target_parse(bad[i], &sm, &e) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);
	assert_int_equal(ptx_needs_cuda(90), 1300);
	assert_int_equal(ptx_needs_cuda(93), 1330);
	assert_int_equal(ptx_needs_cuda(78), 1180);
	assert_true(version_compare("2.28.9", "2.28.3") > 0);
	assert_true(version_compare("2.9", "2.28.3") < 0);
	assert_true(version_compare("2.9.0+cu130", "2.9.0") == 0);
	assert_true(version_compare("2.9", "2.9.0") == 0);
}

static int keep_name(void *ctx, const char *name, const char *path)
{
	text_printf(ctx, "%s=%s ", name, path);
	return 0;
}

static void make_cache(struct text *t)
{
	text_addn(t, "glibc-ld.so.cache1.1", 20);
	put(t, 2, 4);
	put(t, 0, 24);
	put(t, 3 | 0x0300, 4);
	put(t, 96, 4);
	put(t, 96 + 13, 4);
	put(t, 0, 12);
	put(t, 3, 4); /* 32 bits */
	put(t, 96, 4);
	put(t, 96, 4);
	put(t, 0, 12);
	text_addn(t, "libnccl.so.2\0/usr/lib/libnccl.so.2\0", 35);
}

static void test_ld_cache(void **state)
{
	TEXT_AUTO t = { 0 }, said = { 0 };

	(void)state;
	make_cache(&t);
	assert_int_equal(ld_cache_each(t.s, t.len, keep_name, &said), 0);
	assert_string_equal(said.s, "libnccl.so.2=/usr/lib/libnccl.so.2 ");
	assert_int_equal(ld_cache_each(t.s, t.len - 1, keep_name, &said), -EBADMSG);
	poke(&t, 20, 0xffffffff, 4);
	assert_int_equal(ld_cache_each(t.s, t.len, keep_name, &said), -EBADMSG);
	assert_int_equal(ld_cache_each("no cache at all", 15, keep_name, &said), -EBADMSG);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fatbin),
		cmocka_unit_test(test_lying_header),
		cmocka_unit_test(test_elf_and_archive),
		cmocka_unit_test(test_inside_data),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_archive_refusals),
		cmocka_unit_test(test_lz4),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_ld_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
