/* SPDX-License-Identifier: Apache-2.0 */
/* Captures in tar files that nobody made by accident: every one is read right or refused with a
 * sentence. */
#include "box.h"
#include "tar_bytes.h"

#include <stdbool.h>
#include <zstd.h>

#include "machine/host/host.h"
#include "machine/host/libraries.h"
#include "machine/host/sink.h"

static void start(struct bytes *b)
{
	*b = (struct bytes){ 0 };
	file(b, "meta.json", BOX_META("absent"));
}

/* Opens the archive; frees it. NULL: refused, and *e names the file. */
static struct host *open_bytes(struct bytes *b, struct err *e)
{
	struct box box;
	struct host *h;
	char path[512];

	box_make(&box);
	box_bytes(&box, "c.tar", b->s, b->n);
	free(b->s);
	*e = (struct err){ 0 };
	h = host_open_capture(box_path(&box, "c.tar", path, sizeof(path)), e);
	if (!h)
		assert_non_null(strstr(e->text, "c.tar"));
	box_remove(&box); /* the descriptor stays open */
	return h;
}

static void refused(struct bytes *b, const char *why)
{
	struct err e;
	struct host *h = open_bytes(b, &e);

	if (h)
		fail_msg("opened, though: %s", why);
	if (!strstr(e.text, why))
		fail_msg("\"%s\" does not say \"%s\"", e.text, why);
}

static void reads(struct host *h, const char *path, const char *want)
{
	char buf[256];
	int r = host_read_line(h, path, buf, sizeof(buf));

	if (r)
		fail_msg("%s: %d", path, r);
	assert_string_equal(buf, want);
}

static struct host *accepted(struct bytes *b)
{
	struct err e;
	struct host *h = open_bytes(b, &e);

	if (!h)
		fail_msg("%s", e.text);
	return h;
}

static void test_plain(void **state)
{
	struct bytes b;
	struct host *h;
	char h0[RECORD] = { 0 };

	(void)state;
	start(&b);
	member(&b, "root/", '5', "", "", 0, NULL);
	member(&b, "./root//a/", '5', "", "", 0, NULL);
	file(&b, "./root/a/x", "one\n");
	member(&b, "root/a/old", '\0', "", "two\n", 4, NULL);
	member(&b, "root/a/l", '2', "../a/x", "", 0, NULL);
	/* A name in two parts, as ustar has it. */
	memcpy(h0, "split", 5);
	memcpy(h0 + 124, "00000000000", 11);
	memcpy(h0 + 257, "ustar\00000", 8);
	memcpy(h0 + 345, "root/deep/er", 12);
	h0[156] = '0';
	seal(h0);
	put(&b, h0, RECORD);
	end(&b);
	h = accepted(&b);
	reads(h, "/a/x", "one");
	reads(h, "/a/old", "two");
	reads(h, "/a/l", "one");
	reads(h, "/deep/er/split", "");
	host_close(h);
}

/* Each path is looked up from where the one before it led. */
static void test_order(void **state)
{
	static const char *const paths[] = { "/a/b/c/d", "/a/bc/d", "/a/b/d",
					     "/d",	 "/ab/d",   "/a/b/c/dd" };
	enum { PATHS = sizeof(paths) / sizeof(paths[0]) };
	struct bytes b;
	struct host *h;
	char name[64], buf[64];

	(void)state;
	start(&b);
	for (size_t i = 0; i < PATHS; i++) {
		snprintf(name, sizeof(name), "root%s", paths[i]);
		file(&b, name, paths[i]);
	}
	end(&b);
	h = accepted(&b);
	for (size_t i = 0; i < PATHS * PATHS; i++) {
		reads(h, paths[i / PATHS], paths[i / PATHS]);
		reads(h, paths[i % PATHS], paths[i % PATHS]);
		assert_int_equal(host_read_line(h, "/a/b/x/d", buf, sizeof(buf)), -ENOENT);
		assert_int_equal(host_read_line(h, "/a/b/c/x", buf, sizeof(buf)), -ENOENT);
	}
	host_close(h);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "../x", "root/../../x", "/etc/passwd", "root/a/..",
					   ".." };
	struct bytes b;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start(&b);
		file(&b, bad[i], "x");
		end(&b);
		refused(&b, "path outside the archive");
	}
	for (int folder_first = 0; folder_first < 2; folder_first++) {
		start(&b);
		if (folder_first)
			member(&b, "root/a", '5', "", "", 0, NULL);
		file(&b, "root/a", "x");
		if (!folder_first)
			member(&b, "root/a", '5', "", "", 0, NULL);
		end(&b);
		refused(&b, "duplicate");
	}
	start(&b);
	file(&b, "root/a", "x");
	file(&b, "./root/a", "y");
	end(&b);
	refused(&b, "duplicate");
	start(&b);
	file(&b, "root/a", "x");
	file(&b, "root/a/b", "y");
	end(&b);
	refused(&b, "used as a folder");
	start(&b);
	member(&b, "root/a", '2', "/b", "", 0, NULL);
	file(&b, "root/a/b", "y");
	end(&b);
	refused(&b, "used as a folder");
}

static void test_kinds(void **state)
{
	static const char kinds[] = "13467SDMVZ";
	struct bytes b;

	(void)state;
	for (const char *k = kinds; *k; k++) {
		start(&b);
		member(&b, "root/a", *k, "meta.json", "", 0, NULL);
		end(&b);
		refused(&b, "not a file, folder or symbolic link");
	}
}

static void test_headers(void **state)
{
	static const char *const sizes[] = { "77777777777",
					     "777777777777",
					     "00000100000",
					     "0000000x000",
					     "-0000000001",
					     "\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01",
					     "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" };
	struct bytes b;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		start(&b);
		member(&b, "root/a", '0', "", "x", 1, sizes[i]);
		end(&b);
		refused(&b, "larger than the archive");
	}
	for (size_t at = 0; at < RECORD; at += 37) {
		start(&b);
		b.s[at] ^= 1;
		end(&b);
		/* Blanks and an end mark in the sum's own field are the only bytes that do not
		 * count. */
		if (at < 148 || at >= 156)
			refused(&b, "checksum");
		else
			free(b.s);
	}
	b = (struct bytes){ 0 };
	put(&b, "not a tar at all", 16);
	refused(&b, "truncated");
	b = (struct bytes){ 0 };
	put(&b, "", 0);
	refused(&b, "truncated");
	b = (struct bytes){ 0 };
	end(&b);
	refused(&b, "meta.json");
}

/* Cut at every record and beside it: refused, except where only the second half of the end mark is
 * missing. */
static void test_truncated(void **state)
{
	struct bytes whole, b;
	size_t len;

	(void)state;
	start(&whole);
	file(&whole, "root/a", "one\n");
	member(&whole, "x", 'x', "", "30 path=root/a-name-from-pax.\n", 30, NULL);
	file(&whole, "short", "two\n");
	file(&whole, "answers.tsv", "/b\tEACCES\n");
	end(&whole);
	len = whole.n;
	for (size_t n = 0; n < len - RECORD; n += RECORD)
		for (int d = -1; d <= 1; d++) {
			if (n == 0 && d < 0)
				continue;
			b = (struct bytes){ 0 };
			put(&b, whole.s, (size_t)((long)n + d));
			refused(&b, "invalid tar");
		}
	b = (struct bytes){ 0 };
	put(&b, whole.s, len - RECORD);
	host_close(accepted(&b));
	free(whole.s);
}

static void pax(struct bytes *b, const char *text)
{
	member(b, "pax", 'x', "", text, strlen(text), NULL);
}

static void test_pax(void **state)
{
	static const char *const bad[] = {
		"9 path=x",
		"99 path=x\n",
		"0 path=x\n",
		"-9 path=x\n",
		"9path=xx\n",
		"8 pathx\n",
		"    \n5 a=b\n", /* the number starts after what it counts */
		"         \n10 path=y\n",
		"00000000000000000000000000005 path=x\n",
		"18446744073709551615 path=x\n",
		"\n",
		"path=x\n",
		" ",
	};
	struct bytes b;
	struct host *h;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start(&b);
		pax(&b, bad[i]);
		file(&b, "root/a", "x");
		end(&b);
		refused(&b, "broken pax record");
	}
	start(&b);
	pax(&b, "12 path=../x\n");
	file(&b, "root/a", "x");
	end(&b);
	refused(&b, "pax");
	start(&b);
	pax(&b, "13 path=../x\n");
	file(&b, "root/a", "x");
	end(&b);
	refused(&b, "path outside the archive");
	start(&b);
	pax(&b, "11 size=99\n");
	file(&b, "root/a", "x");
	end(&b);
	refused(&b, "unsupported pax extension");
	start(&b);
	pax(&b, "22 GNU.sparse.major=1\n");
	file(&b, "root/a", "x");
	end(&b);
	refused(&b, "unsupported pax extension");
	/* An extension is for one member only. */
	start(&b);
	pax(&b, "15 path=root/a\n15 linkpath=/b\n");
	member(&b, "short", '2', "short", "", 0, NULL);
	file(&b, "root/b", "y");
	end(&b);
	h = accepted(&b);
	reads(h, "/a", "y");
	reads(h, "/b", "y");
	host_close(h);
}

static void test_long_names(void **state)
{
	char name[400] = "root/", path[400] = "/", *huge;
	struct bytes b;
	struct host *h;

	(void)state;
	for (int i = 0; i < 12; i++) {
		strcat(name, "a-folder-with-a-long-name/");
		strcat(path, "a-folder-with-a-long-name/");
	}
	strcat(name, "x");
	strcat(path, "x");
	start(&b);
	member(&b, "././@LongLink", 'L', "", name, strlen(name) + 1, NULL);
	file(&b, "cut", "one\n");
	member(&b, "././@LongLink", 'K', "", path, strlen(path) + 1, NULL);
	member(&b, "root/l", '2', "cut", "", 0, NULL);
	end(&b);
	h = accepted(&b);
	reads(h, path, "one");
	reads(h, "/l", "one");
	host_close(h);
	huge = calloc(1, 70000);
	assert_non_null(huge);
	memset(huge, 'n', 69999);
	start(&b);
	member(&b, "././@LongLink", 'L', "", huge, 70000, NULL);
	file(&b, "cut", "one\n");
	end(&b);
	refused(&b, "too large");
	start(&b);
	member(&b, "././@LongLink", 'L', "", huge, 60000, NULL);
	file(&b, "cut", "one\n");
	end(&b);
	refused(&b, "too long");
	free(huge);
}

static void test_members(void **state)
{
	struct bytes b;
	char name[32];

	(void)state;
	start(&b);
	for (int i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "root/%d", i);
		member(&b, name, '0', "", "", 0, NULL);
	}
	end(&b);
	refused(&b, "more than 200000");
}

/* Three megabytes that would become gigabytes of folder names. */
static void test_implied_folders(void **state)
{
	struct bytes b;
	char name[4090] = "root";

	(void)state;
	for (size_t i = 4; i + 2 < sizeof(name) - 8; i += 2)
		memcpy(name + i, "/a", 3);
	start(&b);
	for (int i = 0; i < 600; i++) {
		char digits[16];

		snprintf(digits, sizeof(digits), "%04d", i);
		memcpy(name + 5, digits, 4); /* another top folder each time */
		member(&b, "././@LongLink", 'L', "", name, strlen(name) + 1, NULL);
		file(&b, "cut", "x");
	}
	end(&b);
	refused(&b, "all names together are too long");
}

static void test_bounded_read(void **state)
{
	struct arena a = { 0 };
	struct bytes b;
	struct host *h;
	char *big = calloc(1, 2 << 20), *text;

	(void)state;
	assert_non_null(big);
	start(&b);
	member(&b, "root/big", '0', "", big, 2 << 20, NULL);
	end(&b);
	h = accepted(&b);
	assert_int_equal(host_read(h, "/big", HOST_READ_MAX, &a, &text, NULL), -EFBIG);
	host_close(h);
	arena_free(&a);
	free(big);
}

/* A FIFO is no tar, and waiting for a writer would be for ever. */
/* The archive as zstd packs it, in one frame. */
static void pack(struct bytes *b)
{
	size_t room = b->n + b->n / 128 + 1024;
	char *packed = malloc(room);
	ZSTD_CCtx *z = ZSTD_createCCtx();
	ZSTD_inBuffer in = { b->s, b->n, 0 };
	ZSTD_outBuffer out = { packed, room, 0 };

	assert_non_null(packed);
	assert_non_null(z);
	assert_int_equal(ZSTD_compressStream2(z, &out, &in, ZSTD_e_end), 0);
	ZSTD_freeCCtx(z);
	free(b->s);
	*b = (struct bytes){ .s = packed, .n = out.pos };
}

static void test_packed(void **state)
{
	struct bytes b;
	struct host *h;
	struct err e;

	(void)state;
	assert_int_equal(library_open(LIBRARY_ZSTD, &e), 0);
	start(&b);
	file(&b, "root/proc/uptime", "12\n");
	end(&b);
	pack(&b);
	h = accepted(&b);
	reads(h, "/proc/uptime", "12");
	host_close(h);

	start(&b);
	end(&b);
	pack(&b);
	b.n -= 5;
	refused(&b, "truncated");

	start(&b);
	end(&b);
	pack(&b);
	memset((char *)b.s + 8, 0x5a, b.n - 8);
	refused(&b, "invalid zstd file");

	/* Packs to some kilobytes. */
	b = (struct bytes){ .s = calloc(1, 257 << 20), .n = 257 << 20 };
	assert_non_null(b.s);
	pack(&b);
	refused(&b, "more than 256 MiB");
}

static void test_fifo(void **state)
{
	struct err e = { 0 };
	struct box box;
	char path[512];

	(void)state;
	box_make(&box);
	assert_int_equal(mkfifo(box_path(&box, "c.tar", path, sizeof(path)), 0600), 0);
	alarm(20);
	assert_null(host_open_capture(path, &e));
	alarm(0);
	assert_non_null(strstr(e.text, "neither a folder nor a tar"));
	box_remove(&box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	     cmocka_unit_test(test_order),
		cmocka_unit_test(test_names),	     cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_headers),	     cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_pax),	     cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_members),	     cmocka_unit_test(test_implied_folders),
		cmocka_unit_test(test_bounded_read), cmocka_unit_test(test_packed),
		cmocka_unit_test(test_fifo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
