/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing a file of the live machine, and its lock. What a file has besides its bytes is still
 * there afterwards, or nothing was done; on file systems of the tests' own, which needs root. And
 * nobody else gets in while the lock is held, whatever becomes of its file.
 */
#include "box.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "machine/write/write.h"

enum { GOOD, BAD, NOT_HERE };

static const char old_text[] = "what was there, and is longer\n", new_text[] = "new\n";

/* An access list: uid 7 may read. As linux/posix_acl_xattr.h lays it out. */
static const unsigned char acl[] = {
	2, 0, 0,    0,	  1,	0,    6,    0, 0xff, 0xff, 0xff, 0xff, 2,    0,	   4,
	0, 7, 0,    0,	  0,	4,    0,    4, 0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,
	6, 0, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 4,    0,	   0xff, 0xff, 0xff, 0xff,
};

/* Runs work in a process of its own with a fresh file system at dir; false: none can be had here.
 */
static bool on_own_disk(const char *type, int (*work)(const char *dir))
{
	char command[400];
	struct box box;
	int status;
	pid_t pid;

	box_make(&box);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() || unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(NOT_HERE);
		snprintf(command, sizeof(command),
			 strcmp(type, "tmpfs") == 0
				 ? "mount -t tmpfs none %s"
				 : "cd %s && truncate -s 2M image && mkfs.%s -q image && "
				   "mount -o loop image .",
			 box.dir, type);
		if (system(command) || chmod(box.dir, 0777) < 0)
			_exit(NOT_HERE);
		_exit(work(box.dir));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	box_remove(&box);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) != NOT_HERE)
		assert_int_equal(WEXITSTATUS(status), GOOD);
	return WEXITSTATUS(status) != NOT_HERE;
}

#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #what, strerror(errno));   \
			_exit(BAD);                                                                \
		}                                                                                  \
	} while (0)

static void make_old(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	MUST(fd >= 0 && write(fd, old_text, strlen(old_text)) == (ssize_t)strlen(old_text));
	close(fd);
}

static bool holds(const char *path, const char *text)
{
	char buf[256] = "";
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	close(fd);
	return n == (ssize_t)strlen(text) && strcmp(buf, text) == 0;
}

static int put(const char *path, unsigned mode, char *lost)
{
	struct host *h = host_open_live();
	int r = host_put(h, path, new_text, strlen(new_text), mode);

	snprintf(lost, 256, "%s", h->lost ? h->lost : "");
	host_close(h);
	return r;
}

static bool has(const char *path, const char *name, const void *value, size_t n)
{
	char buf[256];

	return getxattr(path, name, buf, sizeof(buf)) == (ssize_t)n && memcmp(buf, value, n) == 0;
}

static int keeps(const char *dir)
{
	static const char *const names[] = { "user.note", "trusted.note", "security.selinux" };
	char path[300], fresh[320], lost[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/hosts", dir);
	snprintf(fresh, sizeof(fresh), "%s.gputune-new", path);
	make_old(path);
	MUST(chown(path, 11, 12) == 0 && chmod(path, 0664) == 0);
	if (setxattr(path, "system.posix_acl_access", acl, sizeof(acl), 0) < 0)
		_exit(NOT_HERE);
	for (size_t i = 0; i < 3; i++)
		MUST(setxattr(path, names[i], "a value", 8, 0) == 0);
	MUST(setxattr(path, "security.ima", "of the old bytes", 16, 0) == 0);
	/* Half a file of a crash is in nobody's way. */
	make_old(fresh);
	for (int times = 0; times < 2; times++) {
		MUST(put(path, 0664, lost) == 0);
		MUST(holds(path, new_text) && access(fresh, F_OK) < 0);
		MUST(stat(path, &st) == 0 && st.st_uid == 11 && st.st_gid == 12 &&
		     (st.st_mode & 07777) == 0664);
		for (size_t i = 0; i < 3; i++)
			MUST(has(path, names[i], "a value", 8));
		MUST(has(path, "system.posix_acl_access", acl, sizeof(acl)));
		MUST(getxattr(path, "security.ima", NULL, 0) < 0 && errno == ENODATA);
	}
	return GOOD;
}

/* What the folder gives to new files lets nobody into one that replaces another. */
static int keeps_closed(const char *dir)
{
	char path[300], lost[256];

	snprintf(path, sizeof(path), "%s/hosts", dir);
	make_old(path);
	if (setxattr(dir, "system.posix_acl_default", acl, sizeof(acl), 0) < 0)
		_exit(NOT_HERE);
	MUST(put(path, 0644, lost) == 0 && holds(path, new_text));
	MUST(getxattr(path, "system.posix_acl_access", NULL, 0) < 0 && errno == ENODATA);
	return GOOD;
}

/* Who may not hand something on changes nothing, and says what. */
static int refuses(const char *dir)
{
	char path[300], fresh[320], lost[256];

	snprintf(path, sizeof(path), "%s/hosts", dir);
	snprintf(fresh, sizeof(fresh), "%s.gputune-new", path);
	make_old(path);
	MUST(chown(path, 11, 12) == 0);
	MUST(setegid(12) == 0 && seteuid(13) == 0);
	MUST(put(path, 0644, lost) == HOST_NOT_KEPT && strcmp(lost, "its owner or group") == 0);
	MUST(holds(path, old_text) && access(fresh, F_OK) < 0);
	MUST(seteuid(0) == 0 && setxattr(path, "security.note", "label", 6, 0) == 0);
	MUST(seteuid(11) == 0);
	MUST(put(path, 0644, lost) == HOST_NOT_KEPT && strcmp(lost, "security.note") == 0);
	MUST(holds(path, old_text) && access(fresh, F_OK) < 0);
	MUST(seteuid(0) == 0 && removexattr(path, "security.note") == 0 && seteuid(11) == 0);
	MUST(put(path, 0644, lost) == 0 && holds(path, new_text));
	return GOOD;
}

/* Other names of a file stay with what it was, and a link is not followed. */
static int parts_names(const char *dir)
{
	char path[300], other[300], lost[256];
	struct host_stat st;
	struct host *h = host_open_live();

	snprintf(path, sizeof(path), "%s/hosts", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	make_old(path);
	MUST(link(path, other) == 0);
	MUST(host_stat(h, path, &st) == 0 && st.links == 2 && st.kind == HOST_FILE && !st.uid);
	MUST(put(path, 0644, lost) == 0 && holds(path, new_text) && holds(other, old_text));
	MUST(unlink(path) == 0 && symlink(other, path) == 0 && chown(other, 11, 12) == 0);
	MUST(host_stat(h, path, &st) == 0 && st.kind == HOST_LINK);
	MUST(put(path, 0644, lost) == 0 && holds(path, new_text) && holds(other, old_text));
	MUST(host_stat(h, path, &st) == 0 && st.kind == HOST_FILE && st.mode == 0644 && !st.uid);
	host_close(h);
	return GOOD;
}

static void test_keeps(void **state)
{
	bool any;

	(void)state;
	any = on_own_disk("tmpfs", keeps);
	any = on_own_disk("ext4", keeps) || any;
	any = on_own_disk("tmpfs", keeps_closed) || any;
	if (!any)
		skip();
}

static void test_refuses(void **state)
{
	(void)state;
	if (!on_own_disk("tmpfs", refuses))
		skip();
}

static void test_names(void **state)
{
	(void)state;
	if (!on_own_disk("tmpfs", parts_names))
		skip();
}

/* --- the lock --------------------------------------------------------------------------------- */

/* Takes the place of the C library's: the file may be another by the time it is locked. */
static char swapped[320];
static int swaps;

int flock(int fd, int how)
{
	struct stat st;

	if (swaps && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		swaps--;
		unlink(swapped);
		close(open(swapped, O_WRONLY | O_CREAT | O_EXCL, 0600));
	}
	return (int)syscall(SYS_flock, fd, how);
}

/* In another process: what taking the lock answers. */
static int asked(const char *path, int (*ask)(const char *path))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(-ask(path));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static int by_host(const char *path)
{
	struct host *h = host_open_live();

	return host_lock(h, path);
}

/* Shared with anybody who shares. */
static int by_share(const char *path)
{
	return flock(open(path, O_RDONLY), LOCK_SH | LOCK_NB) < 0 ? -errno : 0;
}

static void test_lock(void **state)
{
	struct host *h = host_open_live();
	char path[300];
	struct box box;

	(void)state;
	box_make(&box);
	box_path(&box, "lock", path, sizeof(path));
	assert_int_equal(asked(path, by_host), 0);
	assert_int_equal(host_lock(h, path), 0);
	assert_int_equal(host_lock(h, path), 0);
	/* The file and the folder, each for one alone. */
	assert_int_equal(asked(path, by_share), -EWOULDBLOCK);
	assert_int_equal(asked(box.dir, by_share), -EWOULDBLOCK);
	assert_int_equal(asked(path, by_host), -EWOULDBLOCK);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(asked(path, by_host), -EWOULDBLOCK);
	close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
	assert_int_equal(asked(path, by_host), -EWOULDBLOCK);
	host_close(h);
	assert_int_equal(asked(path, by_host), 0);
	box_remove(&box);
}

/* Version 0.1.0 locks the file alone. */
static void test_lock_of_0_1_0(void **state)
{
	char path[300];
	struct box box;
	int fd;

	(void)state;
	box_make(&box);
	box_file(&box, "lock", "");
	box_path(&box, "lock", path, sizeof(path));
	fd = open(path, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(asked(path, by_host), -EWOULDBLOCK);
	close(fd);
	assert_int_equal(asked(path, by_host), 0);
	box_remove(&box);
}

/* One that is removed between its opening and its locking locks nothing out. */
static void test_lock_swapped(void **state)
{
	struct host *h = host_open_live();
	char path[300];
	struct box box;

	(void)state;
	box_make(&box);
	box_path(&box, "lock", path, sizeof(path));
	snprintf(swapped, sizeof(swapped), "%s", path);
	swaps = 3;
	assert_int_equal(host_lock(h, path), 0);
	assert_int_equal(swaps, 0);
	assert_int_equal(asked(path, by_share), -EWOULDBLOCK);
	host_close(h);
	/* For ever: somebody else is at it. */
	h = host_open_live();
	swaps = 1000000;
	assert_int_equal(host_lock(h, path), -EWOULDBLOCK);
	swaps = 0;
	assert_int_equal(asked(path, by_host), 0);
	host_close(h);
	box_remove(&box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps),	      cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_names),	      cmocka_unit_test(test_lock),
		cmocka_unit_test(test_lock_of_0_1_0), cmocka_unit_test(test_lock_swapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
