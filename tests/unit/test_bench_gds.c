/* SPDX-License-Identifier: Apache-2.0 */
/* Files to a GPU on stand-ins of the CUDA driver and cuFile, and what goes wrong in each place. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/bench/bench.h"
#include "measure/bench/disk_file.h"

static char folder[64];
static bool direct; /* files there can be read past the page cache */
static atomic_bool stop;

static void put(const char *name, size_t bytes)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	for (size_t i = 0; i < bytes; i++)
		fputc((int)((i * 2654435761u) >> 13 & 255), f);
	assert_int_equal(fclose(f), 0);
}

static int make_files(void **state)
{
	char path[128];
	int fd;

	(void)state;
	/* Not in memory: it has to be read past the page cache. */
	snprintf(folder, sizeof(folder), "./gputune-gds-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	put("a", 5000001);
	put("b", 4096);
	put("c", 70000);
	snprintf(path, sizeof(path), "%s/b", folder);
	fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	/* An emulator of another processor may lose what the file system says of itself. */
	direct = fd >= 0 && disk_file_direct(fd).can;
	if (fd >= 0)
		close(fd);
	return 0;
}

static int drop_files(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	char path[128];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n == 2;
}

static bool interrupt; /* at the first sample */
static size_t samples;

/* Whatever ends it from here on, nothing can stay: its own file has no name any more. */
static void on_sample(void *ctx, const struct record_case *c, size_t done, size_t of)
{
	(void)done, (void)of;
	assert_true(!ctx || is_empty(ctx));
	samples += c->n > 0;
	if (c->n && interrupt)
		stop = true;
}

static struct record *measured(struct arena *a, const char *name, const char *dir, int *code)
{
	struct record *r = ARENA_NEW(a, struct record);
	struct frame f = { .env = { .a = a,
				    .m = ARENA_NEW(a, struct machine),
				    .ask = { .files = dir ? NULL : folder, .dir = dir },
				    .stop = &stop,
				    .small = true },
			   .progress = on_sample,
			   .ctx = (void *)(uintptr_t)dir,
			   .seconds = 0.01,
			   .samples = 3 };

	*code = frame_run(&f, &bench_gds, name, r);
	return r;
}

static void stub(const char *cuda, const char *cufile)
{
	setenv("GPUTUNE_STUB_CUDA", cuda, 1);
	setenv("GPUTUNE_STUB_CUFILE", cufile, 1);
}

static void expect(const char *name, const char *dir, const char *words)
{
	struct arena a = { 0 };
	int code;
	struct record *r = measured(&a, name, dir, &code);

	assert_int_equal(code, 0);
	assert_int_equal(r->n, 1);
	if (r->cases[0].error)
		fail_msg("%s: %s", name, r->cases[0].error);
	assert_true(r->cases[0].verified);
	assert_true(r->cases[0].series[0].x[0] > 0);
	if (!strstr(r->cases[0].variant, words))
		fail_msg("%s: \"%s\", not \"%s\"", name, r->cases[0].variant, words);
	arena_free(&a);
}

static void expect_error(const char *name, const char *words)
{
	struct arena a = { 0 };
	int code;
	struct record *r = measured(&a, name, NULL, &code);

	assert_int_equal(code, 0);
	if (!r->cases[0].error || !strstr(r->cases[0].error, words))
		fail_msg("%s: \"%s\", not \"%s\"", name,
			 r->cases[0].error ? r->cases[0].error : "no error", words);
	arena_free(&a);
}

static void test_ways(void **state)
{
	char empty[80];

	(void)state;
	if (!direct)
		skip();
	snprintf(empty, sizeof(empty), "%s/own", folder);
	assert_int_equal(mkdir(empty, 0700), 0);
	stub("gpus=2 memory=1000000000", "");
	expect("cufile:gpu0", NULL, "direct: nvidia-fs");
	expect("through-host:gpu1", NULL, "pinned memory");
	expect("cufile:gpu0", empty, "direct: nvidia-fs");
	assert_int_equal(rmdir(empty), 0); /* nothing is left in it */
	stub("gpus=1 memory=1000000000", "host");
	expect("cufile:gpu0", NULL, "compatibility mode");
	stub("gpus=1 memory=1000000000", "host silent");
	expect("cufile:gpu0", NULL, "nvidia-fs is not loaded");
	stub("gpus=1 memory=1000000000", "silent short");
	expect("cufile:gpu0", NULL, "does not count");
}

/* Ctrl-C: what was measured until then is checked like the rest, and nothing is left. */
static void test_interrupted(void **state)
{
	static const char *const ways[] = { "cufile:gpu0", "through-host:gpu0" };
	struct arena a = { 0 };
	char empty[80];

	(void)state;
	if (!direct)
		skip();
	snprintf(empty, sizeof(empty), "%s/own", folder);
	assert_int_equal(mkdir(empty, 0700), 0);
	stub("gpus=1 memory=1000000000", "");
	for (size_t i = 0; i < 2; i++) {
		const struct record_case *c;
		int code;

		interrupt = true;
		samples = 0;
		c = measured(&a, ways[i], empty, &code)->cases;
		interrupt = false;
		stop = false;
		assert_int_equal(code, 0);
		if (c->error)
			fail_msg("%s: %s", ways[i], c->error);
		assert_true(samples > 0 && c->n > 0 && c->verified);
		assert_int_equal(c->stop, STOP_INTERRUPTED);
		assert_true(is_empty(empty));
	}
	assert_int_equal(rmdir(empty), 0);
	arena_free(&a);
}

static void test_faults(void **state)
{
	(void)state;
	if (!direct)
		skip();
	stub("gpus=1 memory=1000000000", "wrong");
	expect_error("cufile:gpu0", "different data than");
	stub("gpus=1 memory=1000000000", "fail");
	expect_error("cufile:gpu0", "rejected by nvidia-fs");
	stub("gpus=1 memory=1000000000", "nofile");
	expect_error("cufile:gpu0", "file system");
	stub("gpus=1 memory=100000", "");
	expect_error("through-host:gpu0", "MiB of GPU memory");
}

static void test_absent(void **state)
{
	struct arena a = { 0 };
	struct record *r;
	int code;

	(void)state;
	stub("gpus=1 memory=1000000000", "refuse");
	r = measured(&a, "through-host:gpu0", NULL, &code);
	assert_int_equal(code, 0);
	assert_int_equal(r->n_skipped, 1);
	assert_non_null(strstr(r->skipped[0].reason, "not loaded"));
	measured(&a, NULL, "/nonexistent", &code);
	assert_int_equal(code, -EINVAL);
	stub("gpus=0", "");
	measured(&a, NULL, NULL, &code);
	assert_int_equal(code, -ENODATA);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}
