/* SPDX-License-Identifier: Apache-2.0 */
/* What a confined process can do, and what it cannot: each in a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/confine.h"

static int kept_open;

static int runs(void)
{
	char *const argv[] = { "true", NULL };

	execv("/bin/true", argv);
	return errno;
}

static int connects(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? errno : 0;
}

static int writes_new(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/gputune-confined-%d", (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return errno;
	unlink(path);
	return 0;
}

static int writes_open(void)
{
	return write(kept_open, "x", 1) == 1 ? 0 : errno;
}

static int reads(void)
{
	int fd = open("/proc/self/status", O_RDONLY);
	char c;

	return fd >= 0 && read(fd, &c, 1) == 1 ? 0 : errno;
}

static int mounts(void)
{
	return chroot("/") ? errno : 0;
}

/* What it comes to; 200: no fence stands here. */
static int confined(bool files, unsigned needs, int (*what)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit((confine(files) & needs) == needs ? what() : 200);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void calls(void **state)
{
	(void)state;
	if (confined(false, CONFINED_CALLS, reads) == 200)
		skip();
	assert_int_equal(confined(false, CONFINED_CALLS, runs), EPERM);
	assert_int_equal(confined(false, CONFINED_CALLS, connects), EPERM);
	assert_int_equal(confined(false, CONFINED_CALLS, mounts), EPERM);
	assert_int_equal(confined(false, CONFINED_CALLS, reads), 0);
	assert_int_equal(confined(false, CONFINED_CALLS, writes_new), 0);
}

static void files(void **state)
{
	char path[] = "/tmp/gputune-confine-XXXXXX";

	(void)state;
	if (confined(true, CONFINED_FILES, reads) == 200)
		skip();
	kept_open = mkstemp(path);
	assert_true(kept_open >= 0);
	unlink(path);
	assert_int_equal(confined(true, CONFINED_FILES, writes_new), EACCES);
	assert_int_equal(confined(true, CONFINED_FILES, writes_open), 0);
	assert_int_equal(confined(true, CONFINED_FILES, reads), 0);
	close(kept_open);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(calls), cmocka_unit_test(files) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
