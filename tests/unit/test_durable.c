/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel is asked, in which order, when files of ours are written: data on disk before a
 * name, names on disk before anything counts on them, no error dropped, one writer at a time.
 */
#include "box.h"

#include <errno.h>
#include <libgen.h>
#include <sys/file.h>

#include "machine/host/host.h"
#include "machine/write/write.h"

static struct {
	struct box box;
	char log[1024];
	const char *fails; /* the entry of the log that is answered by an error instead */
	int error;
	bool lasts;    /* and each time again */
	bool is_mount; /* "file" cannot be renamed to */
	bool rival;    /* the next name that is removed is somebody's again at once */
} kernel;

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "call name; ": true where it is to fail. Only of what lies in our folder, which is called ".". */
static bool asked(const char *call, int fd, const char *path)
{
	char self[64], text[512], entry[640];
	ssize_t n;

	if (!*kernel.box.dir)
		return false;
	if (!path) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		n = readlink(self, text, sizeof(text) - 1);
		text[n < 0 ? 0 : n] = '\0';
		if (strncmp(text, kernel.box.dir, strlen(kernel.box.dir)) != 0)
			return false;
		path = strcmp(text, kernel.box.dir) == 0 ? "." : text;
	}
	snprintf(entry, sizeof(entry), "%s %s", call, name_of(path));
	if (strlen(kernel.log) + strlen(entry) + 3 > sizeof(kernel.log))
		fail_msg("too much is asked: %s", kernel.log);
	if (*kernel.log)
		strcat(kernel.log, "; ");
	strcat(kernel.log, entry);
	if (!kernel.fails || strcmp(kernel.fails, entry) != 0)
		return false;
	if (!kernel.lasts)
		kernel.fails = NULL;
	errno = kernel.error;
	return true;
}

/* What is passed on, but for what is to fail. */
#define ASKED(result, name, fd, path, parameters, ...)                                             \
	result __real_##name parameters;                                                           \
	result __wrap_##name parameters;                                                           \
	result __wrap_##name parameters                                                            \
	{                                                                                          \
		return asked(#name, fd, path) ? -1 : __real_##name(__VA_ARGS__);                   \
	}

ASKED(ssize_t, write, fd, NULL, (int fd, const void *data, size_t n), fd, data, n)
ASKED(int, fsync, fd, NULL, (int fd), fd)
ASKED(int, fdatasync, fd, NULL, (int fd), fd)
ASKED(int, fchmod, fd, NULL, (int fd, mode_t mode), fd, mode)
ASKED(int, flock, fd, NULL, (int fd, int how), fd, how)
ASKED(int, close, fd, NULL, (int fd), fd)
ASKED(int, linkat, -1, to, (int a, const char *from, int b, const char *to, int how), a, from, b,
      to, how)
ASKED(int, mkdirat, -1, path, (int at, const char *path, mode_t mode), at, path, mode)
ASKED(int, symlinkat, -1, path, (const char *to, int at, const char *path), to, at, path)

int __real_unlinkat(int at, const char *path, int how);
int __wrap_unlinkat(int at, const char *path, int how);
int __wrap_unlinkat(int at, const char *path, int how)
{
	int r = asked("unlinkat", -1, path) ? -1 : __real_unlinkat(at, path, how);

	if (kernel.rival) {
		int error = errno;

		kernel.rival = false;
		box_file(&kernel.box, name_of(path), "theirs\n");
		errno = error;
	}
	return r;
}

int __real_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to)
{
	if (asked("renameat", -1, to))
		return -1;
	if (!kernel.is_mount)
		return __real_renameat(a, from, b, to);
	errno = EBUSY;
	return -1;
}

static char *in_box(const char *name)
{
	static char path[2][512];
	static int turn;

	turn = !turn;
	return box_path(&kernel.box, name, path[turn], sizeof(path[turn]));
}

static int begin(void **state)
{
	struct box box;

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	box_make(&box);
	chmod(box.dir, 0700);
	kernel.box = box;
	return 0;
}

static int end(void **state)
{
	struct box box = kernel.box;

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	box_remove(&box);
	return 0;
}

static void fail_at(const char *entry, int error)
{
	kernel.fails = entry;
	kernel.error = error;
	*kernel.log = '\0';
}

/* What was asked since the last look. */
static void assert_asked(const char *what)
{
	assert_string_equal(kernel.log, what);
	*kernel.log = '\0';
}

static bool is_there(const char *name)
{
	return access(in_box(name), F_OK) == 0;
}

static void assert_holds(const char *name, const char *text)
{
	char got[256] = "";
	FILE *f = fopen(in_box(name), "r");

	assert_non_null(f);
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(got, text);
	*kernel.log = '\0';
}

static struct host *open_locked(void)
{
	struct host *h = host_open_live();

	assert_int_equal(host_lock(h, in_box("lock")), 0);
	*kernel.log = '\0';
	return h;
}

static int append(struct host *h, const char *text)
{
	return host_append(h, in_box("journal"), text, strlen(text));
}

static int put(struct host *h, const char *text)
{
	return host_put(h, in_box("file"), text, strlen(text), 0640);
}

/* --- adding ----------------------------------------------------------------------------------- */

static void test_append(void **state)
{
	struct host *h = open_locked();

	(void)state;
	assert_int_equal(append(h, "one\n"), 0);
	assert_asked("write journal; fdatasync journal; close journal; fsync .; close .");
	/* Its name is there already. */
	assert_int_equal(append(h, "two\n"), 0);
	assert_asked("write journal; fdatasync journal; close journal");
	assert_holds("journal", "one\ntwo\n");
	host_close(h);
}

static void test_append_fails(void **state)
{
	static const char *const entries[] = { "write journal", "fdatasync journal",
					       "close journal", "fsync ." };

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		struct host *h = open_locked();

		unlink(in_box("journal"));
		fail_at(entries[i], ENOSPC);
		assert_int_equal(append(h, "one\n"), -ENOSPC);
		assert_null(kernel.fails);
		host_close(h);
		end(state);
		begin(state);
	}
}

/* Before there is a lock as well, and a link is followed by none of the two. */
static void test_append_link(void **state)
{
	struct host *h = host_open_live();

	(void)state;
	assert_int_equal(append(h, "one\n"), 0);
	assert_asked("write journal; fdatasync journal; close journal; fsync .; close .");
	assert_int_equal(symlink("/dev/null", in_box("link")), 0);
	assert_int_equal(host_append(h, in_box("link"), "x", 1), -ELOOP);
	host_close(h);
}

/* --- replacing -------------------------------------------------------------------------------- */

static void test_put(void **state)
{
#define FILLED                                                                                     \
	"unlinkat file.gputune-new; write file.gputune-new; fchmod file.gputune-new; "             \
	"fsync file.gputune-new; close file.gputune-new; "
#define NAMED "renameat file; fsync .; close ."
	struct host *h = open_locked();
	struct stat st;
	mode_t mask = umask(077);

	(void)state;
	assert_int_equal(put(h, "one\n"), 0);
	assert_asked(FILLED NAMED);
	assert_holds("file", "one\n");
	/* Left by a crash. */
	box_file(&kernel.box, "file.gputune-new", "half");
	assert_int_equal(put(h, "two\n"), 0);
	/* The one that it replaces was asked for its attributes. */
	assert_asked(FILLED "close file; " NAMED);
	umask(mask);
	assert_holds("file", "two\n");
	assert_int_equal(stat(in_box("file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_false(is_there("file.gputune-new"));
	host_close(h);
}

static void test_put_fails(void **state)
{
	/* Up to the one that counts nothing has changed. */
	static const char *const entries[] = { "unlinkat file.gputune-new",
					       "write file.gputune-new",
					       "fchmod file.gputune-new",
					       "fsync file.gputune-new",
					       "close file.gputune-new",
					       "renameat file",
					       "fsync ." };
	enum { ENTRIES = sizeof(entries) / sizeof(entries[0]) };

	for (size_t i = 0; i < ENTRIES; i++) {
		struct host *h = open_locked();

		assert_int_equal(put(h, "old\n"), 0);
		fail_at(entries[i], EIO);
		assert_int_equal(put(h, "new\n"), -EIO);
		assert_null(kernel.fails);
		assert_holds("file", i < ENTRIES - 1 ? "old\n" : "new\n");
		assert_false(is_there("file.gputune-new"));
		host_close(h);
		end(state);
		begin(state);
	}
}

/* What somebody lays under the new name is not written to. */
static void test_put_rival(void **state)
{
	struct host *h = open_locked();

	(void)state;
	assert_int_equal(put(h, "old\n"), 0);
	kernel.rival = true;
	assert_int_equal(put(h, "new\n"), -EEXIST);
	assert_holds("file", "old\n");
	host_close(h);
}

static void test_put_on_mount(void **state)
{
	struct host *h = open_locked();
	struct stat st;

	(void)state;
	box_file(&kernel.box, "file", "old, and what is longer\n");
	*kernel.log = '\0';
	kernel.is_mount = true;
	assert_int_equal(put(h, "new\n"), 0);
	assert_asked("unlinkat file.gputune-new; write file.gputune-new; fchmod file.gputune-new; "
		     "fsync file.gputune-new; close file.gputune-new; close file; renameat file; "
		     "unlinkat file.gputune-new; "
		     /* The copy, whole and by its name, before a byte of the file changes. */
		     "unlinkat file.gputune-old.part; write file.gputune-old.part; "
		     "fchmod file.gputune-old.part; fsync file.gputune-old.part; "
		     "close file.gputune-old.part; linkat file.gputune-old; "
		     "unlinkat file.gputune-old.part; fsync .; close .; "
		     "fchmod file; write file; fsync file; "
		     /* And gone only when the new text is on disk. */
		     "unlinkat file.gputune-old; close file");
	assert_holds("file", "new\n");
	assert_int_equal(stat(in_box("file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	/* A whole copy that is there already is of an earlier crash. */
	box_file(&kernel.box, "file.gputune-old", "oldest\n");
	assert_int_equal(put(h, "newer\n"), 0);
	assert_holds("file", "newer\n");
	assert_holds("file.gputune-old", "oldest\n");
	assert_false(is_there("file.gputune-old.part"));
	host_close(h);
}

/* Whatever fails, the old text is there again, and nothing beside it. */
static void test_put_on_mount_fails(void **state)
{
	static const char *const entries[] = { "unlinkat file.gputune-old.part",
					       "write file.gputune-old.part",
					       "fchmod file.gputune-old.part",
					       "fsync file.gputune-old.part",
					       "close file.gputune-old.part",
					       "linkat file.gputune-old",
					       "fsync .",
					       "fchmod file",
					       "write file",
					       "fsync file" };

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		struct host *h = open_locked();
		struct stat st;

		box_file(&kernel.box, "file", "old\n");
		assert_int_equal(chmod(in_box("file"), 0600), 0);
		fail_at(entries[i], EIO);
		kernel.is_mount = true;
		assert_int_equal(put(h, "new\n"), -EIO);
		assert_null(kernel.fails);
		assert_holds("file", "old\n");
		assert_int_equal(stat(in_box("file"), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		assert_false(is_there("file.gputune-new"));
		assert_false(is_there("file.gputune-old"));
		assert_false(is_there("file.gputune-old.part"));
		host_close(h);
		end(state);
		begin(state);
	}
}

/* Where even the old text cannot be put back the copy stays. */
static void test_put_on_mount_lost(void **state)
{
	struct host *h = open_locked();

	(void)state;
	box_file(&kernel.box, "file", "old\n");
	fail_at("fsync file", EIO);
	kernel.is_mount = kernel.lasts = true;
	assert_int_equal(put(h, "new\n"), -EIO);
	assert_holds("file.gputune-old", "old\n");
	host_close(h);
}

/* --- folders, links, names -------------------------------------------------------------------- */

static void test_names(void **state)
{
	struct host *h = open_locked();
	mode_t mask = umask(077);
	struct stat st;

	(void)state;
	assert_int_equal(host_make_dir(h, in_box("folder"), 0755), 0);
	assert_asked("mkdirat folder; fsync .; close .");
	assert_int_equal(stat(in_box("folder"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	umask(mask);
	assert_int_equal(host_make_dir(h, in_box("folder"), 0755), -EEXIST);
	assert_int_equal(host_own_dir(h, in_box("folder")), 0);
	/* Nobody else looks into ours. */
	assert_int_equal(host_own_dir(h, in_box("ours")), 0);
	assert_int_equal(stat(in_box("ours"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	*kernel.log = '\0';
	assert_int_equal(host_make_link(h, in_box("link"), "target"), 0);
	assert_asked("symlinkat link; fsync .; close .");
	assert_int_equal(host_make_link(h, in_box("link"), "target"), -EEXIST);
	*kernel.log = '\0';
	assert_int_equal(host_remove(h, in_box("link")), 0);
	assert_asked("unlinkat link; fsync .; close .");
	assert_int_equal(host_remove(h, in_box("link")), -ENOENT);
	*kernel.log = '\0';
	assert_int_equal(host_remove(h, in_box("folder")), 0);
	assert_asked("unlinkat folder; unlinkat folder; fsync .; close .");
	fail_at("fsync .", EIO);
	assert_int_equal(host_make_dir(h, in_box("folder"), 0700), -EIO);
	fail_at("fsync .", EIO);
	assert_int_equal(host_make_link(h, in_box("link"), "target"), -EIO);
	fail_at("fsync .", EIO);
	assert_int_equal(host_remove(h, in_box("link")), -EIO);
	/* A file system of the kernel's own has nothing to sync. */
	fail_at("fsync .", EINVAL);
	assert_int_equal(host_remove(h, in_box("folder")), 0);
	host_close(h);
}

/* --- files of the kernel ---------------------------------------------------------------------- */

static void test_write(void **state)
{
	struct host *h = host_open_live();

	(void)state;
	assert_int_equal(host_write(h, in_box("value"), "1"), -ENOENT);
	assert_false(is_there("value"));
	box_file(&kernel.box, "value", "old and longer");
	*kernel.log = '\0';
	assert_int_equal(host_write(h, in_box("value"), "new"), 0);
	assert_asked("write value; close value");
	assert_holds("value", "new");
	assert_int_equal(host_write_at(h, in_box("value"), 0, "N", 1), 0);
	assert_int_equal(host_write_at(h, in_box("value"), 2, "W!", 2), 0);
	assert_holds("value", "NeW!");
	fail_at("write value", EINVAL);
	assert_int_equal(host_write(h, in_box("value"), "x"), -EINVAL);
	/* A signal is no answer. */
	fail_at("write value", EINTR);
	assert_int_equal(host_write(h, in_box("value"), "again"), 0);
	assert_asked("write value; write value; close value");
	assert_holds("value", "again");
	host_close(h);
}

/* --- the lock --------------------------------------------------------------------------------- */

static void test_lock(void **state)
{
	struct host *one = open_locked(), *two = host_open_live();

	(void)state;
	assert_int_equal(host_lock(one, in_box("lock")), 0);
	assert_asked("");
	assert_int_equal(host_lock(two, in_box("lock")), -EWOULDBLOCK);
	host_close(one);
	assert_int_equal(host_lock(two, in_box("lock")), 0);
	host_close(two);
}

/* The file may be gone, and version 0.1 locks nothing else: either of the two locks keeps the
 * second out. */
static void test_lock_twice(void **state)
{
	struct host *one = open_locked(), *two = host_open_live();
	int fd;

	(void)state;
	assert_int_equal(unlink(in_box("lock")), 0);
	assert_int_equal(host_lock(two, in_box("lock")), -EWOULDBLOCK);
	host_close(one);
	fd = open(in_box("lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(__real_flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(host_lock(two, in_box("lock")), -EWOULDBLOCK);
	close(fd);
	assert_int_equal(host_lock(two, in_box("lock")), 0);
	host_close(two);
	/* Over NFS a folder cannot be locked. */
	kernel.fails = "flock .";
	kernel.error = ENOLCK;
	kernel.lasts = true;
	one = open_locked();
	two = host_open_live();
	assert_int_equal(host_lock(two, in_box("lock")), -EWOULDBLOCK);
	kernel.lasts = false;
	kernel.fails = NULL;
	host_close(one);
	host_close(two);
}

static void test_lock_folder(void **state)
{
	static const struct {
		unsigned mode;
		int code;
	} rows[] = { { 0700, 0 },
		     { 0755, 0 },
		     { 0720, HOST_NOT_OURS },
		     { 0702, HOST_NOT_OURS },
		     { 01777, HOST_NOT_OURS } };
	char path[600];
	struct host *h;

	(void)state;
	assert_int_equal(mkdir(in_box("own"), 0700), 0);
	assert_int_equal(symlink("own", in_box("link")), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		h = host_open_live();
		assert_int_equal(chmod(in_box("own"), rows[i].mode), 0);
		assert_int_equal(host_lock(h, in_box("own/lock")), rows[i].code);
		host_close(h);
	}
	assert_int_equal(chmod(in_box("own"), 0700), 0);
	h = host_open_live();
	assert_int_equal(host_lock(h, in_box("link/lock")), HOST_NOT_OURS);
	assert_int_equal(host_lock(h, in_box("own/lock/lock")), HOST_NOT_OURS);
	assert_int_equal(host_lock(h, in_box("none/lock")), -ENOENT);
	/* What lies in the folder is named by it from then on, wherever it is moved. */
	assert_int_equal(host_lock(h, in_box("own/lock")), 0);
	assert_int_equal(rename(in_box("own"), in_box("moved")), 0);
	snprintf(path, sizeof(path), "%s", in_box("own/journal"));
	assert_int_equal(host_append(h, path, "x", 1), 0);
	assert_true(is_there("moved/journal"));
	host_close(h);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)
	const struct CMUnitTest tests[] = { TEST(append),
					    TEST(append_fails),
					    TEST(append_link),
					    TEST(put),
					    TEST(put_fails),
					    TEST(put_rival),
					    TEST(put_on_mount),
					    TEST(put_on_mount_fails),
					    TEST(put_on_mount_lost),
					    TEST(names),
					    TEST(write),
					    TEST(lock),
					    TEST(lock_twice),
					    TEST(lock_folder) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
