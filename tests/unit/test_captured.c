/* SPDX-License-Identifier: Apache-2.0 */
/* Captured machines: what a path means, links that stay inside, and files that are no answer; as
 * folder and as tar. */
#include "box.h"

#include <stdbool.h>
#include <jansson.h>

#include "machine/host/api_book.h"
#include "machine/host/host.h"
#include "machine/host/sink.h"

struct world {
	struct box box;
	char where[512];
};

/* The same content in a folder or, by our own writer, in a tar: all that both can hold. */
struct piece {
	const char *name, *text, *link;
};

static const struct piece pieces[] = {
	{ "root/a/file", "one\n", NULL },
	{ "root/a/empty", "", NULL },
	{ "root/a/placeholder", "", NULL },
	{ "root/a/never", "", NULL },
	{ "root/a/relative", NULL, "file" },
	{ "root/a/up", NULL, "../b/file" },
	{ "root/a/absolute", NULL, "/b/file" },
	{ "root/a/dir", NULL, "../b" },
	{ "root/a/two", NULL, "dir/again" },
	{ "root/a/climb", NULL, "../../../b/file" },
	{ "root/a/outside", NULL, "../../meta.json" },
	{ "root/a/me", NULL, "me" },
	{ "root/a/ping", NULL, "pong" },
	{ "root/a/pong", NULL, "ping/x" },
	{ "root/a/nowhere", NULL, "/b/missing" },
	{ "root/b/file", "two\n", NULL },
	{ "root/b/again", NULL, "/a/absolute" },
	{ "root/l/seen2", "", NULL },
	{ "root/l/seen10", "", NULL },
	{ "answers.tsv",
	  "/a/placeholder\tEACCES\n/a/never\tENOMEDIUM\n/a/refused\tEPERM\n/l\tLISTED\n/"
	  "gone\tENOENT\n/shut\tEACCES\n",
	  NULL },
	{ "api/nvml.json",
	  "{\"\": {\"n\": 7, \"s\": \"text\", \"e\": {\"error\": \"EOPNOTSUPP\"}}, \"1\": {\"*\": "
	  "{\"error\": \"EIO\"}}}",
	  NULL },
	{ "api/statfs.json", "{\"*\": {\"*\": {\"error\": \"ENOENT\"}}}", NULL },
	{ "api/cuda.json", "{\"*\": {\"*\": {\"error\": \"ELIBACC\"}}}", NULL },
	{ "api/exec.json", "{\"x\": 1}", NULL },
	{ "api/if.json", "{\"x\": {\"y\": 1.5}}", NULL },
	{ "api/env.json", "{\"x\": {", NULL },
};

static void make_folder(struct world *w, const char *meta)
{
	box_make(&w->box);
	box_path(&w->box, "c", w->where, sizeof(w->where));
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		char name[256];

		snprintf(name, sizeof(name), "c/%s", pieces[i].name);
		if (pieces[i].link)
			box_link(&w->box, name, pieces[i].link);
		else
			box_file(&w->box, name, pieces[i].text);
	}
	if (meta)
		box_file(&w->box, "c/meta.json", meta);
}

static void make_tar(struct world *w, const char *meta)
{
	struct err e = { 0 };
	struct sink *s;

	box_make(&w->box);
	box_path(&w->box, "c.tar", w->where, sizeof(w->where));
	s = sink_open(w->where, &e);
	assert_non_null(s);
	assert_int_equal(sink_file(s, "meta.json", meta, strlen(meta), &e), 0);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		assert_int_equal(pieces[i].link ? sink_link(s, pieces[i].name, pieces[i].link, &e)
						: sink_file(s, pieces[i].name, pieces[i].text,
							    strlen(pieces[i].text), &e),
				 0);
	assert_int_equal(sink_close(s, 1, &e), 0);
}

static struct host *opened(struct world *w, bool tar, const char *meta)
{
	struct err e = { 0 };
	struct host *h;

	(tar ? make_tar : make_folder)(w, meta);
	h = host_open_capture(w->where, &e);
	if (!h)
		fail_msg("%s", e.text);
	return h;
}

static void line_is(struct host *h, const char *path, const char *want)
{
	char buf[64];

	assert_int_equal(host_read_line(h, path, buf, sizeof(buf)), 0);
	assert_string_equal(buf, want);
}

static int line_error(struct host *h, const char *path)
{
	char buf[64];

	return host_read_line(h, path, buf, sizeof(buf));
}

static void check_links(bool tar)
{
	struct world w;
	HOST_AUTO *h = opened(&w, tar, BOX_META("absent"));
	char buf[256];

	line_is(h, "/a/file", "one");
	line_is(h, "/a/relative", "one");
	line_is(h, "/a/up", "two");
	line_is(h, "/a/absolute", "two");
	line_is(h, "/a/dir/file", "two");
	line_is(h, "/a/two", "two");
	/* On a live machine ".." stops at the root; in a capture such a link is not followed at
	 * all. */
	assert_int_equal(line_error(h, "/a/climb"), -EXDEV);
	assert_int_equal(line_error(h, "/a/climb/x"), -EXDEV);
	assert_int_equal(line_error(h, "/a/me"), -ELOOP);
	assert_int_equal(line_error(h, "/a/ping/x"), -ELOOP);
	assert_int_equal(line_error(h, "/a/nowhere"), -ENOENT);
	/* root/meta.json: what lies beside root/ is not the machine's. */
	assert_true(line_error(h, "/a/outside") < 0);
	assert_true(line_error(h, "/../meta.json") < 0);
	assert_true(line_error(h, "/a/../../meta.json") < 0);
	assert_int_equal(host_link(h, "/a/up", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "../b/file");
	assert_int_equal(host_link_path(h, "/a/up", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "/b/file");
	assert_int_equal(host_link(h, "/a/file", buf, sizeof(buf)), -EINVAL);
	assert_int_equal(host_link(h, "/a/absent", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(host_link(h, "/a/up", buf, 4), -ENAMETOOLONG);
	box_remove(&w.box);
}

static void check_states(bool tar, bool absent)
{
	struct world w;
	HOST_AUTO *h = opened(&w, tar, absent ? BOX_META("absent") : BOX_META("unknown"));
	int unlisted = absent ? -ENOENT : HOST_NOT_CAPTURED;
	char **names, path[HOST_PATH_MAX + 8];
	struct arena a = { 0 };
	enum host_kind kind;
	size_t n = 0;

	line_is(h, "/a/empty", "");
	assert_int_equal(line_error(h, "/a/placeholder"), -EACCES);
	assert_int_equal(line_error(h, "/a/never"), HOST_NOT_CAPTURED);
	assert_int_equal(line_error(h, "/a/refused"), -EPERM);
	assert_int_equal(line_error(h, "/a/other"), unlisted);
	assert_int_equal(line_error(h, "/x/y/z"), unlisted);
	/* A listed folder holds what was listed; a folder that is gone or shut holds nothing that
	 * can be seen. */
	assert_int_equal(line_error(h, "/l/seen3"), -ENOENT);
	assert_int_equal(line_error(h, "/gone/deep/file"), -ENOENT);
	assert_int_equal(line_error(h, "/shut/deep/file"), absent ? -ENOENT : -EACCES);
	assert_int_equal(host_list(h, "/l", &a, &names, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(names[0], "seen2");
	assert_string_equal(names[1], "seen10");
	assert_int_equal(host_list(h, "/b", &a, &names, &n), absent ? 0 : HOST_NOT_CAPTURED);
	assert_int_equal(host_list(h, "/gone", &a, &names, &n), -ENOENT);
	assert_int_equal(host_list(h, "/shut", &a, &names, &n), -EACCES);
	assert_int_equal(host_list(h, "/nobody", &a, &names, &n), unlisted);
	assert_true(host_list(h, "/a/file", &a, &names, &n) < 0);
	assert_int_equal(host_kind(h, "/a/dir", &kind), 0);
	assert_int_equal(kind, HOST_LINK);
	assert_int_equal(host_kind(h, "/a/dir/file", &kind), 0);
	assert_int_equal(kind, HOST_FILE);
	assert_int_equal(host_kind(h, "/b", &kind), 0);
	assert_int_equal(kind, HOST_DIR);
	assert_int_equal(host_kind(h, "/b/q", &kind), unlisted);
	assert_true(line_error(h, "/b") < 0);
	assert_true(line_error(h, "/a/file/below") < 0);
	memset(path, 'p', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_true(line_error(h, path) < 0);
	arena_free(&a);
	box_remove(&w.box);
}

static void check_api(bool tar)
{
	struct world w;
	HOST_AUTO *h = opened(&w, tar, BOX_META("unknown"));
	struct answer got;
	long long i;

	assert_int_equal(host_ask_int(h, "nvml", "", "n", &i), 0);
	assert_int_equal(i, 7);
	assert_int_equal(host_ask(h, "nvml", "", "s", &got), 0);
	assert_int_equal(got.kind, ANSWER_TEXT);
	assert_string_equal(got.text, "text");
	assert_int_equal(host_ask_int(h, "nvml", "", "s", &i), -EPROTO);
	assert_int_equal(host_ask(h, "nvml", "", "e", &got), -EOPNOTSUPP);
	assert_int_equal(host_ask(h, "nvml", "1", "anything", &got), -EIO);
	assert_int_equal(host_ask(h, "nvml", "", "other", &got), HOST_NOT_CAPTURED);
	assert_int_equal(host_ask(h, "nvml", "2", "n", &got), HOST_NOT_CAPTURED);
	assert_int_equal(host_ask(h, "cuda", "0000:01:00.0", "q", &got), -ELIBACC);
	assert_int_equal(host_ask(h, "statfs", "/", "q", &got), -ENOENT); /* said, not missing */
	assert_int_equal(host_ask(h, "ethtool", "eth0", "q", &got), HOST_NOT_CAPTURED);
	/* Broken pages are an error, not "absent", whatever is asked of them. */
	assert_int_equal(host_ask(h, "exec", "x", "y", &got), -EBADMSG);
	assert_int_equal(host_ask(h, "if", "x", "y", &got), -EBADMSG);
	assert_int_equal(host_ask(h, "if", "x", "z", &got), -EBADMSG);
	assert_int_equal(host_ask(h, "env", "", "PATH", &got), -EBADMSG);
	assert_true(host_ask(h, "../meta", "identity", "euid", &got) < 0);
	box_remove(&w.box);
}

static void test_links(void **state)
{
	(void)state;
	check_links(false);
	check_links(true);
}

/* What was asked before decides how a path is resolved, never what it means. */
static void test_any_order(void **state)
{
	static const char *const paths[] = {
		"/a/file",
		"/a/relative",
		"/a/up",
		"/a/dir/file",
		"/a/dir/again",
		"/a/dir/none",
		"/a/two",
		"/a/climb",
		"/a/climb/x",
		"/a/outside",
		"/a/me",
		"/a/ping/x",
		"/a/nowhere",
		"/a/file/below",
		"/b/file",
		"/b/again",
		"/a/../b/file",
		"/a/./file",
		"//b/file",
		"/a/dir/../a/file",
		"/b/",
		"/",
		"/a",
		"/gone/x",
		"/shut/deep/file",
		"/x/y/z",
		"b/file",
	};
	enum { N = sizeof(paths) / sizeof(paths[0]), ORDERS = 300 };
	int read[N], link[N], kind[N];
	char line[64], target[64];

	(void)state;
	srand(2);
	for (int order = 0; order <= ORDERS; order++) {
		struct world w;
		HOST_AUTO *h = opened(&w, order == 1, BOX_META("unknown"));

		for (int i = 0; i < N; i++) {
			size_t at = order > 1 ? (size_t)rand() % N : (size_t)i;
			enum host_kind k = HOST_OTHER;
			int is[3] = { host_read_line(h, paths[at], line, sizeof(line)),
				      host_link(h, paths[at], target, sizeof(target)),
				      host_kind(h, paths[at], &k) };

			if (is[0] == 0)
				is[0] = line[0];
			if (is[2] == 0)
				is[2] = (int)k + 1;
			if (order == 0) {
				read[at] = is[0];
				link[at] = is[1];
				kind[at] = is[2];
			} else if (order > 1) {
				assert_int_equal(is[0], read[at]);
				assert_int_equal(is[1], link[at]);
				assert_int_equal(is[2], kind[at]);
			}
		}
		box_remove(&w.box);
	}
}

static void test_states(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		check_states(i & 1, i & 2);
}

static void test_api(void **state)
{
	(void)state;
	check_api(false);
	check_api(true);
}

static void test_special_files(void **state)
{
	struct world w;
	HOST_AUTO *h = opened(&w, false, BOX_META("absent"));
	char path[512], *text;
	struct arena a = { 0 };
	enum host_kind kind;
	int fd;

	(void)state;
	/* Opening a FIFO for reading would wait for ever. */
	assert_int_equal(mkfifo(box_path(&w.box, "c/root/fifo", path, sizeof(path)), 0600), 0);
	alarm(20);
	assert_int_equal(line_error(h, "/fifo"), -EBADMSG);
	alarm(0);
	assert_int_equal(host_kind(h, "/fifo", &kind), 0);
	assert_int_equal(kind, HOST_OTHER);
	/* The kernel refuses device nodes to ordinary users; the link to one is what everybody can
	 * make. */
	box_link(&w.box, "c/root/zero", "/dev/zero");
	assert_int_equal(line_error(h, "/zero"), -ENOENT);
	if (mknod(box_path(&w.box, "c/root/node", path, sizeof(path)), S_IFCHR | 0600, 0x105) == 0)
		assert_true(line_error(h, "/node") < 0);
	fd = open(box_path(&w.box, "c/root/big", path, sizeof(path)),
		  O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 10 << 20), 0);
	close(fd);
	assert_int_equal(host_read(h, "/big", HOST_READ_MAX, &a, &text, NULL), -EFBIG);
	assert_int_equal(line_error(h, "/big"), -EFBIG);
	/* A folder of the capture that is a link out of it. */
	box_link(&w.box, "c/root/etc", "/etc");
	assert_true(line_error(h, "/etc/passwd") < 0);
	arena_free(&a);
	box_remove(&w.box);
}

/* Opening fails with a sentence that holds all of the words. */
static void refuses(const char *meta, const char *answers, const char *word, const char *word2)
{
	struct world w;
	struct err e = { 0 };
	struct host *h;

	make_folder(&w, meta);
	if (answers)
		box_file(&w.box, "c/answers.tsv", answers);
	h = host_open_capture(w.where, &e);
	if (h)
		fail_msg("opened, though %s %s", word, word2);
	if (!strstr(e.text, word) || !strstr(e.text, word2) || !strstr(e.text, w.where))
		fail_msg("\"%s\" lacks \"%s\" or \"%s\"", e.text, word, word2);
	box_remove(&w.box);
}

static void test_bad_meta(void **state)
{
	static const char good[] = BOX_META("absent");
	char cut[sizeof(good)];

	(void)state;
	refuses(NULL, NULL, "meta.json", "No such file");
	refuses("", NULL, "meta.json", "");
	refuses("[]", NULL, "meta.json", "");
	refuses("{\"schema\": 1}", NULL, "meta.json", "");
	refuses(BOX_META("perhaps"), NULL, "perhaps", "unlisted");
	refuses("{\"schema\": \"gputune.capture/2\", \"unlisted\": \"absent\", \"identity\": "
		"{\"nodename\": \"b\", "
		"\"release\": \"6\", \"version\": \"1\", \"machine\": \"m\", \"euid\": 0, "
		"\"page_size\": 4096, "
		"\"time_s\": 1}}",
		NULL, "gputune.capture/2", "schema");
	/* Without its last brace and shorter; a trailing newline alone may be missing. */
	for (size_t n = 0; n < sizeof(good) - 3; n += 7) {
		memcpy(cut, good, n);
		cut[n] = '\0';
		refuses(cut, NULL, "meta.json", "");
	}
}

static void test_bad_answers(void **state)
{
	static const char meta[] = BOX_META("absent");

	(void)state;
	refuses(meta, "/a\tENOENT\n\n/b ENOENT\n", "answers.tsv:3", "TAB");
	refuses(meta, "a/b\tENOENT\n", "answers.tsv:1", "TAB");
	refuses(meta, "/a\tENOENT\n/b\tEWHAT\n", "answers.tsv:2", "EWHAT");
	refuses(meta, "/a\t\n", "answers.tsv:1", "errno");
	refuses(meta, "/a\tENOENT\textra\n", "answers.tsv:1", "errno");
}

static void test_root_out_of_capture(void **state)
{
	struct box b;
	struct err e = { 0 };
	struct host *h;
	char path[512], buf[64];

	(void)state;
	box_make(&b);
	box_file(&b, "c/meta.json", BOX_META("absent"));
	box_link(&b, "c/root", "/etc");
	h = host_open_capture(box_path(&b, "c", path, sizeof(path)), &e);
	assert_non_null(h);
	assert_true(host_read_line(h, "/hostname", buf, sizeof(buf)) < 0);
	host_close(h);
	h = host_open_capture(box_path(&b, "none", path, sizeof(path)), &e);
	assert_null(h);
	assert_non_null(strstr(e.text, "none"));
	box_remove(&b);
}

/* A path of two thousand components, as a link in a capture may hold: an answer, not the end of the
 * stack. */
static void test_deep(void **state)
{
	char path[HOST_PATH_MAX] = "", buf[64];

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(path) - 1; i += 2)
		strcat(path, "/a");
	for (int tar = 0; tar < 2; tar++) {
		struct world w;
		HOST_AUTO *h = opened(&w, tar, BOX_META("absent"));
		enum host_kind kind;

		assert_int_equal(host_read_line(h, path, buf, sizeof(buf)), -ENOENT);
		assert_int_equal(host_link(h, path, buf, sizeof(buf)), -ENOENT);
		assert_int_equal(host_kind(h, path, &kind), -ENOENT);
		/* Known folders, then unknown ones below, then odd spellings of both. */
		line_is(h, "/a/dir/file", "two");
		line_is(h, "//a//dir/./../a/dir//file", "two");
		line_is(h, "/a/dir/../a/../b/again", "two");
		assert_int_equal(line_error(h, "/a/dir/../../meta.json"), -EXDEV);
		box_remove(&w.box);
	}
}

/* A file of so many bytes that notes how much room was ever offered. */
struct long_file {
	struct host host;
	size_t size, most;
};

static int long_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct long_file *f = (struct long_file *)h;

	(void)path;
	f->most = cap > f->most ? cap : f->most;
	*len = f->size > cap ? cap + 1 : f->size;
	memset(buf, 'x', *len < cap ? *len : cap);
	return 0;
}

/* A bound says what is too much; room is asked for by what is there. */
static void test_room(void **state)
{
	static const struct host_ops ops = { .read = long_read };
	static const struct {
		size_t size, bound, most;
		int r;
	} rows[] = { { 5000, 512u << 20, 1 << 20, 0 },
		     { 3 << 20, 512u << 20, 16 << 20, 0 },
		     { 5000, 5000, 5000, 0 },
		     { 5001, 5000, 5000, -EFBIG },
		     { 3 << 20, 2 << 20, 2 << 20, -EFBIG } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct long_file f = { .host = { .ops = &ops }, .size = rows[i].size };
		struct arena a = { 0 };
		char *text = NULL;
		size_t n = 0;

		assert_int_equal(host_read(&f.host, "/f", rows[i].bound, &a, &text, &n), rows[i].r);
		assert_true(f.most <= rows[i].most);
		if (rows[i].r == 0) {
			assert_int_equal(n, rows[i].size);
			assert_int_equal(strlen(text), n);
		}
		arena_free(&a);
	}
}

/* The quick reader of pages and jansson agree: on what is in one, and that something is none. */
static void test_pages(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"\": {}}",
		" {\n \"\": {\n  \"a\": 1,\n  \"b\": \"x y\"\n }\n}\n",
		"{\"0\": {\"a\": {\"error\": \"EPERM\"}, \"b\": {\"error\": \"EPERM\"}, \"c\": "
		"{\"error\": \"EIO\"}}}",
		"{\"0\": {\"a\": -9223372036854775808, \"b\": 9223372036854775807, \"c\": -0, "
		"\"d\": 0}}",
		"{\"0\": {\"a\": 999999999999999999, \"b\": 1000000000000000000}}",
		"{\"0\": {\"a\\u00e4\\n\": \"\\\"q\\\"\", \"\xc3\xa4\": \"\xc3\xb6\"}}",
		"{\"0\": {\"\": \"\"}, \"*\": {\"*\": {\"error\": \"ENOENT\"}}}",
		/* none */
		"",
		"{",
		"[]",
		"{} {}",
		"{},",
		"{\"0\": 1}",
		"{\"0\": {\"a\": 1,}}",
		"{\"0\": {\"a\" 1}}",
		"{\"0\": {\"a\": 01}}",
		"{\"0\": {\"a\": -}}",
		"{\"0\": {\"a\": 1.5}}",
		"{\"0\": {\"a\": 1e3}}",
		"{\"0\": {\"a\": 9223372036854775808}}",
		"{\"0\": {\"a\": true}}",
		"{\"0\": {\"a\": {\"error\": \"EWHAT\"}}}",
		"{\"0\": {\"a\": {\"error\": 1}}}",
		"{\"0\": {\"a\": {\"wrong\": \"EPERM\"}}}",
		"{\"0\": {\"a\": 1, \"a\": 2}}",
		"{\"0\": {}, \"0\": {}}",
		"{\"0\": {\"a\": \"\x01\"}}",
		"{\"0\": {\"a\": \"\xff\"}}",
		"{\"0\": {\"a\": \"x}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err e = { 0 };
		json_t *page = api_page_load(texts[i], strlen(texts[i]), "page", &e),
		       *same = json_loads(texts[i], JSON_REJECT_DUPLICATES, NULL);

		if (same && api_page_check(same, "page", &e)) {
			json_decref(same);
			same = NULL;
		}
		if (!page != !same || (page && !json_equal(page, same)))
			fail_msg("%s", texts[i]);
		if (!page)
			assert_non_null(strstr(e.text, "page"));
		json_decref(page);
		json_decref(same);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links),	      cmocka_unit_test(test_room),
		cmocka_unit_test(test_any_order),     cmocka_unit_test(test_states),
		cmocka_unit_test(test_api),	      cmocka_unit_test(test_pages),
		cmocka_unit_test(test_special_files), cmocka_unit_test(test_bad_meta),
		cmocka_unit_test(test_bad_answers),   cmocka_unit_test(test_root_out_of_capture),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
