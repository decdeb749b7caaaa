/* SPDX-License-Identifier: Apache-2.0 */
/* Listing a folder that another takes away between its opening and its reading. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine/host/folder.h"

/* A process that ends takes its folder of descriptors along. That is an absent folder, and nothing
 * of our memory: host_list() ends the program where memory is short. */
static void test_of_a_process_that_ended(void **state)
{
	struct arena a = { 0 };
	char path[64], **names;
	pid_t pid = fork();
	size_t n = 0;
	int fd;

	(void)state;
	if (pid == 0) {
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(folder_names(fd, &a, &names, &n) == -ENOENT);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	arena_free(&a);
}

static void test_removed(void **state)
{
	char dir[] = "/tmp/gputune-folder-XXXXXX", **names;
	struct arena a = { 0 };
	size_t n = 7;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(folder_names(fd, &a, &names, &n), 0);
	assert_int_equal(n, 0);
	arena_free(&a);
}

static void test_no_folder(void **state)
{
	struct arena a = { 0 };
	char **names;
	size_t n;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(folder_names(fd, &a, &names, &n), -ENOTDIR);
	assert_int_equal(folder_names(-EACCES, &a, &names, &n), -EACCES);
	arena_free(&a);
}

/* Somebody else renames without end: the way over ".." is found all the same. */
static void test_renamed_meanwhile(void **state)
{
	char dir[] = "/tmp/gputune-folder-XXXXXX";
	int at, failed = 0;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(at, "d", 0700) | mkdirat(at, "x", 0700), 0);
	pid = fork();
	assert_true(pid >= 0);
	while (pid == 0)
		(void)(renameat(at, "x", at, "y") + renameat(at, "y", at, "x"));
	for (int i = 0; i < 5000; i++) {
		int fd = folder_open_below(at, "d/../d/../d/..", O_RDONLY | O_DIRECTORY,
					   RESOLVE_IN_ROOT);

		failed += fd < 0;
		if (fd >= 0)
			close(fd);
		else if (fd == -ENOSYS || fd == -EPERM)
			break; /* an emulator without it */
		assert_true(fd >= 0 || fd == -EAGAIN);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)(unlinkat(at, "d", AT_REMOVEDIR) + unlinkat(at, "x", AT_REMOVEDIR) +
	       unlinkat(at, "y", AT_REMOVEDIR));
	close(at);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(failed > 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_a_process_that_ended),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_no_folder),
		cmocka_unit_test(test_renamed_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
