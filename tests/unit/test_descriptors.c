/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel and the loader are told: all of a text or an error, captures that are on disk
 * before they are named, descriptors that no program inherits, names that are taken as they are.
 */
#include "box.h"

#include <dlfcn.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "machine/host/host.h"
#include "machine/host/sink.h"
#include "machine/host/vendor.h"

static struct {
	int takes_nothing; /* calls of write() that are answered so; then it is an endless loop */
	int synced, sync_errno;
	const char *path; /* must not be there yet when the file system is asked */
	bool no_openat2;
	int loads;
} kernel;

ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n)
{
	if (!kernel.takes_nothing)
		return __real_write(fd, data, n);
	if (--kernel.takes_nothing == 0)
		fail_msg("asked again and again");
	return 0;
}

int __wrap_syncfs(int fd);
int __wrap_syncfs(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_not_equal(lstat(kernel.path, &st), 0);
	kernel.synced++;
	errno = kernel.sync_errno;
	return kernel.sync_errno ? -1 : 0;
}

long __real_syscall(long number, long a, const void *b, const void *c, size_t d);
long __wrap_syscall(long number, long a, const void *b, const void *c, size_t d);
long __wrap_syscall(long number, long a, const void *b, const void *c, size_t d)
{
	if (number != SYS_openat2 || !kernel.no_openat2)
		return __real_syscall(number, a, b, c, d);
	errno = ENOSYS;
	return -1;
}

void *__real_dlopen(const char *name, int how);
void *__wrap_dlopen(const char *name, int how);
void *__wrap_dlopen(const char *name, int how)
{
	kernel.loads++;
	return __real_dlopen(name, how);
}

static void test_takes_nothing(void **state)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)state;
	kernel.takes_nothing = 100;
	assert_int_equal(fd_write_all(fd, "x", 1), -EIO);
	assert_int_equal(kernel.takes_nothing, 99);
	assert_int_equal(fd_write_all(fd, "x", 0), 0);
	kernel.takes_nothing = 0;
	assert_int_equal(fd_write_all(fd, "x", 1), 0);
	close(fd);
}

static int write_folder(const char *path, struct err *e)
{
	struct sink *s = sink_open(path, e);

	assert_non_null(s);
	assert_int_equal(sink_folder(s, "root", e), 0);
	assert_int_equal(sink_file(s, "root/f", "x", 1, e), 0);
	kernel.path = path;
	return sink_close(s, 1, e);
}

static void test_folder_is_on_disk(void **state)
{
	struct err e = { 0 };
	struct box box;
	char path[512];

	(void)state;
	box_make(&box);
	box_path(&box, "capture", path, sizeof(path));
	kernel.sync_errno = EIO;
	assert_int_equal(write_folder(path, &e), -EIO);
	assert_non_null(strstr(e.text, "not written"));
	assert_int_equal(rmdir(box.dir), 0); /* nothing stays */
	assert_int_equal(mkdir(box.dir, 0700), 0);
	/* A file system that cannot be asked. */
	kernel.sync_errno = EINVAL;
	assert_int_equal(write_folder(path, &e), 0);
	kernel.sync_errno = 0;
	assert_int_equal(write_folder(box_path(&box, "other", path, sizeof(path)), &e), 0);
	assert_int_equal(kernel.synced, 3);
	box_remove(&box);
}

static void no_child_has_them(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *de;

	assert_non_null(dir);
	while ((de = readdir(dir))) {
		int fd = atoi(de->d_name);
		char at[64], target[512] = "";

		snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
		if (de->d_name[0] == '.' || readlink(at, target, sizeof(target) - 1) < 0 ||
		    !strstr(target, "/gputune-test-"))
			continue;
		if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			fail_msg("%s stays open in programs", target);
	}
	closedir(dir);
}

/* Where the kernel does not know openat2 folders are walked, the first one being a copy. */
static void test_no_child_has_them(void **state)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct host *h;
	struct box box;
	char path[512], *text;

	(void)state;
	box_make(&box);
	box_file(&box, "c/meta.json", BOX_META("absent"));
	box_file(&box, "c/root/etc/hostname", "box\n");
	kernel.no_openat2 = true;
	h = host_open_capture(box_path(&box, "c", path, sizeof(path)), &e);
	assert_non_null(h);
	no_child_has_them();
	assert_int_equal(host_read(h, "/etc/hostname", 100, &a, &text, NULL), 0);
	no_child_has_them();
	host_close(h);
	kernel.no_openat2 = false;
	arena_free(&a);
	box_remove(&box);
}

/* The loader would put a folder of its own in the place of these words. */
static void test_names_are_literal(void **state)
{
	static const char *const names[] = { "/tmp/$LIB/libc.so.6", "/${ORIGIN}/libc.so.6",
					     "$PLATFORM" };
	void *lib = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(vendor_literal(names[i]));
		assert_int_equal(vendor_open(names[i], NULL, 0, NULL, &lib), -ELIBACC);
		assert_null(lib);
	}
	assert_int_equal(kernel.loads, 0);
	assert_int_equal(vendor_open("libc.so.6", NULL, 0, NULL, &lib), 0);
	assert_int_equal(kernel.loads, 1);
	vendor_close(lib);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_nothing),
		cmocka_unit_test(test_folder_is_on_disk),
		cmocka_unit_test(test_no_child_has_them),
		cmocka_unit_test(test_names_are_literal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
