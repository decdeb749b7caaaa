/* SPDX-License-Identifier: Apache-2.0 */
/* A machine that another process looks at: the same answers, and no request that is none. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine/host/asked.h"

struct both {
	struct host *live, *asked;
	int requests[2], answers[2];
	pthread_t thread;
	int ended; /* what host_answer_one said last */
	char dir[64];
	struct arena a;
};

static void *look(void *ctx)
{
	struct both *b = ctx;

	do
		b->ended = host_answer_one(b->live, b->requests[0], b->answers[1]);
	while (b->ended == 0);
	close(b->answers[1]);
	return NULL;
}

static void put(const struct both *b, const char *name, const void *data, size_t len)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static int open_both(void **state)
{
	struct both *b = calloc(1, sizeof(*b));
	char big[100000], path[96];

	memset(big, 'x', sizeof(big));
	snprintf(b->dir, sizeof(b->dir), "/tmp/gputune-asked-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	put(b, "small", "12\n", 3);
	put(b, "big", big, sizeof(big));
	put(b, "empty", "", 0);
	snprintf(path, sizeof(path), "%s/link", b->dir);
	assert_int_equal(symlink("../small", path), 0);
	snprintf(path, sizeof(path), "%s/pipe", b->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(pipe(b->requests), 0);
	assert_int_equal(pipe(b->answers), 0);
	b->live = host_open_live();
	b->asked = host_open_asked(&b->live->id, b->requests[1], b->answers[0]);
	assert_int_equal(pthread_create(&b->thread, NULL, look, b), 0);
	*state = b;
	return 0;
}

static int close_both(void **state)
{
	struct both *b = *state;
	static const char *const names[] = { "small", "big", "empty", "link", "pipe" };
	char path[96];

	close(b->requests[1]);
	pthread_join(b->thread, NULL);
	close(b->requests[0]);
	close(b->answers[0]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", b->dir, names[i]);
		unlink(path);
	}
	rmdir(b->dir);
	host_close(b->asked);
	host_close(b->live);
	arena_free(&b->a);
	free(b);
	return 0;
}

static const char *below(struct both *b, const char *name)
{
	return arena_printf(&b->a, "%s/%s", b->dir, name);
}

static void same_read(struct both *b, const char *path, size_t max)
{
	char *x = NULL, *y = NULL;
	size_t n = 0, m = 0;
	int r = host_read(b->live, path, max, &b->a, &x, &n);

	assert_int_equal(host_read(b->asked, path, max, &b->a, &y, &m), r);
	assert_int_equal(m, n);
	if (r == 0)
		assert_memory_equal(x, y, n + 1);
}

static void files(void **state)
{
	struct both *b = *state;
	char line[64], head[8192];
	size_t n = 0;

	same_read(b, below(b, "small"), HOST_READ_MAX);
	same_read(b, below(b, "big"), HOST_READ_MAX);
	same_read(b, below(b, "big"), 99999);
	same_read(b, below(b, "big"), 100000);
	same_read(b, below(b, "empty"), HOST_READ_MAX);
	same_read(b, below(b, "none"), HOST_READ_MAX);
	same_read(b, "/proc/version", HOST_READ_MAX);
	assert_int_equal(host_read_line(b->asked, below(b, "small"), line, sizeof(line)), 0);
	assert_string_equal(line, "12");
	assert_int_equal(host_read_line(b->asked, below(b, "big"), line, sizeof(line)), -EFBIG);
	/* The beginning of a file is one look. */
	memset(head, 0, sizeof(head));
	assert_int_equal(b->asked->ops->read(b->asked, below(b, "big"), head, sizeof(head) - 1, &n),
			 0);
	assert_true(n > sizeof(head) - 1);
	assert_int_equal(strspn(head, "x"), sizeof(head) - 1);
	/* Opening one may do something, or wait. */
	assert_int_equal(host_read_line(b->asked, "/dev/zero", line, sizeof(line)), -EACCES);
	assert_int_equal(host_read_line(b->asked, below(b, "pipe"), line, sizeof(line)), -EACCES);
	assert_int_equal(host_read_line(b->asked, b->dir, line, sizeof(line)), -EISDIR);
}

static void names(void **state)
{
	struct both *b = *state;
	char **x, **y, to[64], here[64];
	size_t n, m;
	enum host_kind kind;
	unsigned mode = 0;

	assert_int_equal(host_list(b->live, b->dir, &b->a, &x, &n), 0);
	assert_int_equal(host_list(b->asked, b->dir, &b->a, &y, &m), 0);
	assert_int_equal(n, m);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(x[i], y[i]);
	assert_int_equal(host_list(b->asked, below(b, "none"), &b->a, &y, &m), -ENOENT);
	assert_int_equal(host_link(b->asked, below(b, "link"), to, sizeof(to)), 0);
	assert_string_equal(to, "../small");
	assert_int_equal(host_link(b->asked, below(b, "link"), here, 8), -ENAMETOOLONG);
	assert_int_equal(host_link(b->asked, below(b, "small"), here, 8), -EINVAL);
	assert_int_equal(host_kind(b->asked, below(b, "link"), &kind), 0);
	assert_int_equal(kind, HOST_LINK);
	assert_int_equal(host_kind(b->asked, b->dir, &kind), 0);
	assert_int_equal(kind, HOST_DIR);
	assert_int_equal(host_mode(b->asked, b->dir, &mode), 0);
	assert_int_equal(mode, 0700);
	assert_false(host_exists(b->asked, below(b, "none")));
}

static void answers(void **state)
{
	struct both *b = *state;
	struct answer x, y;
	char *longest = arena_alloc(&b->a, HOST_PATH_MAX + 2);
	long long v, w;

	assert_int_equal(host_ask_int(b->live, "statfs", "/proc", "type", &v),
			 host_ask_int(b->asked, "statfs", "/proc", "type", &w));
	assert_int_equal(host_ask(b->live, "env", "", "PATH", &x), 0);
	assert_int_equal(host_ask(b->asked, "env", "", "PATH", &y), 0);
	assert_int_equal(y.kind, ANSWER_TEXT);
	assert_string_equal(x.text, y.text);
	assert_int_equal(host_ask(b->asked, "nobody", "", "", &y), -ENOSYS);
	memset(longest, 'x', HOST_PATH_MAX + 1);
	*longest = '/';
	assert_int_equal(host_ask(b->asked, "env", "", longest, &y), -ENAMETOOLONG);
	assert_false(host_exists(b->asked, longest));
}

/* It writes nothing, whatever is asked. */
static void no_writes(void **state)
{
	const struct both *b = *state;

	assert_null(b->asked->ops->writes);
}

/* What is no request ends the talk; the asking side sees no machine from then on. */
static void not_a_request(void **state)
{
	struct both *b = *state;
	static const struct {
		uint32_t what, len[3];
		uint64_t cap;
		const char *bytes;
	} bad[] = {
		{ 6, { 1, 0, 0 }, 0, "/" },	{ 0xffffffff, { 0, 0, 0 }, 0, "" },
		{ 0, { 4096, 0, 0 }, 0, "" },	{ 0, { 0xffffffff, 0, 0 }, 0, "" },
		{ 0, { 4, 0, 0 }, 10, "a/b/" }, { 0, { 4, 0, 0 }, 10, "/a\0b" },
		{ 1, { 0, 0, 0 }, 0, "" },
	};
	int to[2], from[2];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(pipe(to), 0);
		assert_int_equal(pipe(from), 0);
		assert_int_equal(write(to[1], &bad[i], 24), 24);
		if (bad[i].len[0] < 100)
			assert_int_equal(write(to[1], bad[i].bytes, bad[i].len[0]), bad[i].len[0]);
		close(to[1]);
		assert_int_equal(host_answer_one(b->live, to[0], from[1]), -EPROTO);
		close(to[0]);
		close(from[0]);
		close(from[1]);
	}
}

static void gone(void **state)
{
	struct both *b = *state;
	char line[8];

	close(b->requests[1]);
	pthread_join(b->thread, NULL);
	assert_int_equal(b->ended, -EPIPE);
	close(b->requests[0]);
	assert_int_equal(host_read_line(b->asked, "/proc/version", line, sizeof(line)), -EIO);
	b->requests[0] = b->requests[1] = dup(b->answers[0]);
	assert_int_equal(pthread_create(&b->thread, NULL, look, b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files, open_both, close_both),
		cmocka_unit_test_setup_teardown(names, open_both, close_both),
		cmocka_unit_test_setup_teardown(answers, open_both, close_both),
		cmocka_unit_test_setup_teardown(no_writes, open_both, close_both),
		cmocka_unit_test_setup_teardown(not_a_request, open_both, close_both),
		cmocka_unit_test_setup_teardown(gone, open_both, close_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
