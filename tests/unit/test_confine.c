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
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
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

/* The ways around mount() and chroot(). */
static int mounts_anew(void)
{
	return syscall(SYS_fsopen, "tmpfs", 0) < 0 ? errno : 0;
}

static int moves_mounts(void)
{
	return syscall(SYS_move_mount, -1, "", -1, "", 0) < 0 ? errno : 0;
}

/* Asks alone, which everybody may. */
static int adjusts_clock(void)
{
	struct timex t = { 0 };

	return syscall(SYS_clock_adjtime, CLOCK_REALTIME, &t) < 0 ? errno : 0;
}

static int looks_into_others(void)
{
	char from = 'x', to = 0;
	struct iovec here = { &to, 1 }, there = { &from, 1 };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 ? errno : 0;
}

static int takes_descriptors(void)
{
	return syscall(SYS_pidfd_getfd, -1, 0, 0) < 0 ? errno : 0;
}

/* The file is ours: nothing else stands against any of it. */
static int changes_mode(void)
{
	return fchmod(kept_open, 0600) ? errno : 0;
}

static int changes_owner(void)
{
	return fchown(kept_open, geteuid(), (gid_t)-1) ? errno : 0;
}

static int changes_attributes(void)
{
	return fsetxattr(kept_open, "user.gputune", "x", 1, 0) ? errno : 0;
}

static int cuts_by_name(void)
{
	return truncate("/proc/self/gputune-is-not-there", 0) ? errno : 0;
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
	assert_int_equal(confined(false, CONFINED_CALLS, mounts_anew), EPERM);
	assert_int_equal(confined(false, CONFINED_CALLS, moves_mounts), EPERM);
	assert_int_equal(confined(false, CONFINED_CALLS, adjusts_clock), EPERM);
	assert_int_equal(confined(false, CONFINED_CALLS, looks_into_others), EPERM);
	assert_int_equal(confined(false, CONFINED_CALLS, takes_descriptors), EPERM);
	assert_int_equal(confined(false, CONFINED_CALLS, cuts_by_name), EPERM);
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
	assert_int_equal(confined(true, CONFINED_CALLS, changes_mode), EPERM);
	assert_int_equal(confined(true, CONFINED_CALLS, changes_owner), EPERM);
	assert_int_equal(confined(true, CONFINED_CALLS, changes_attributes), EPERM);
	assert_int_equal(confined(true, CONFINED_FILES, reads), 0);
	close(kept_open);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(calls), cmocka_unit_test(files) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
