/* SPDX-License-Identifier: Apache-2.0 */
/* A captured machine that takes writes: what was written, removed and made again is seen, the
 * capture below stays as it is, and nothing leaves the overlay's folder. */
#include "box.h"

#include <stdbool.h>
#include <sys/wait.h>

#include "machine/host/record.h"
#include "machine/write/write.h"

struct two {
	struct box box;
	struct arena a;
	struct host *h;
};

static void two_again(struct two *t, const char *capture)
{
	char lower[512], upper[512];
	struct err e = { 0 };

	if (t->h)
		host_close(t->h);
	t->h = host_open_overlay(box_path(&t->box, capture, lower, sizeof(lower)),
				 box_path(&t->box, "o", upper, sizeof(upper)), &e);
	if (!t->h)
		fail_msg("%s", e.text);
}

static void two_open(struct two *t)
{
	*t = (struct two){ 0 };
	box_make(&t->box);
	box_file(&t->box, "m/meta.json", BOX_META("absent"));
	box_file(&t->box, "m/root/etc/d/one", "1\n");
	box_file(&t->box, "m/root/etc/d/two", "2\n");
	box_file(&t->box, "m/root/etc/deep/a/b/c", "c\n");
	box_link(&t->box, "m/root/etc/link", "d");
	box_file(&t->box, "m/root/proc/sys/vm/swappiness", "60\n");
	box_link(&t->box, "m/root/sys/q", "devices/q");
	box_file(&t->box, "m/root/sys/devices/q/scheduler", "[none] bfq\n");
	box_file(&t->box, "m/api/nvml.json",
		 "{\"0\": {\"nvmlDeviceGetPciInfo.busId\": \"0000:01:00.0\","
		 "\"nvmlDeviceGetPersistenceMode\": 0}}\n");
	two_again(t, "m");
}

static void two_close(struct two *t)
{
	host_close(t->h);
	arena_free(&t->a);
	box_remove(&t->box);
}

static const char *text_of(struct two *t, const char *path)
{
	char *text;
	int r = host_read(t->h, path, HOST_READ_MAX, &t->a, &text, NULL);

	return r ? errno_name(r) : text;
}

static const char *names_in(struct two *t, const char *path)
{
	char **names, *out = arena_strdup(&t->a, "");
	size_t n;
	int r = host_list(t->h, path, &t->a, &names, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		out = arena_printf(&t->a, "%s%s%s", out, i ? " " : "", names[i]);
	return r ? errno_name(r) : out;
}

static int put(struct two *t, const char *path, const char *text)
{
	return host_put(t->h, path, text, strlen(text), 0644);
}

static void test_put(void **state)
{
	struct two t;

	(void)state;
	two_open(&t);
	assert_int_equal(put(&t, "/etc/d/one", "other\n"), 0);
	assert_int_equal(put(&t, "/etc/d/three", ""), 0);
	assert_int_equal(put(&t, "/etc/new/deep/x", "x"), 0);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(text_of(&t, "/etc/d/one"), "other\n");
		assert_string_equal(text_of(&t, "/etc/d/two"), "2\n");
		assert_string_equal(text_of(&t, "/etc/link/one"), "other\n");
		assert_string_equal(text_of(&t, "/etc/d/three"), "");
		assert_string_equal(text_of(&t, "/etc/new/deep/x"), "x");
		assert_string_equal(names_in(&t, "/etc/d"), "one three two");
		assert_string_equal(names_in(&t, "/etc/link"), "one three two");
		assert_string_equal(names_in(&t, "/etc"), "d deep link new");
		two_again(&t, "m");
	}
	two_close(&t);
}

static void test_append(void **state)
{
	struct two t;

	(void)state;
	two_open(&t);
	assert_int_equal(host_append(t.h, "/etc/d/one", "+\n", 2), 0);
	assert_int_equal(host_append(t.h, "/etc/d/one", "++\n", 3), 0);
	assert_int_equal(host_append(t.h, "/var/lib/x/log", "a", 1), 0);
	assert_int_equal(host_append(t.h, "/var/lib/x/log", "b", 1), 0);
	assert_string_equal(text_of(&t, "/etc/d/one"), "1\n+\n++\n");
	assert_string_equal(text_of(&t, "/var/lib/x/log"), "ab");
	two_close(&t);
}

static void test_remove(void **state)
{
	struct two t;
	enum host_kind kind;

	(void)state;
	two_open(&t);
	assert_int_equal(host_remove(t.h, "/etc/d"), -ENOTEMPTY);
	assert_int_equal(host_remove(t.h, "/etc/d/none"), -ENOENT);
	assert_int_equal(host_remove(t.h, "/etc/d/one"), 0);
	assert_int_equal(host_remove(t.h, "/etc/d/one"), -ENOENT);
	assert_string_equal(names_in(&t, "/etc/d"), "two");
	assert_string_equal(text_of(&t, "/etc/d/one"), "ENOENT");
	/* There again, and gone again. */
	assert_int_equal(put(&t, "/etc/d/one", "again\n"), 0);
	assert_string_equal(text_of(&t, "/etc/d/one"), "again\n");
	assert_int_equal(host_remove(t.h, "/etc/d/one"), 0);
	two_again(&t, "m");
	assert_string_equal(text_of(&t, "/etc/d/one"), "ENOENT");
	assert_int_equal(host_remove(t.h, "/etc/d/two"), 0);
	assert_string_equal(names_in(&t, "/etc/d"), "");
	assert_int_equal(host_remove(t.h, "/etc/d"), 0);
	assert_int_equal(host_kind(t.h, "/etc/d", &kind), -ENOENT);
	assert_string_equal(names_in(&t, "/etc"), "deep link");
	assert_string_equal(text_of(&t, "/etc/link/one"), "ENOENT");
	/* The folder made again is empty: what the capture holds in it is gone. */
	assert_int_equal(host_make_dir(t.h, "/etc/d", 0755), 0);
	assert_string_equal(names_in(&t, "/etc/d"), "");
	assert_string_equal(text_of(&t, "/etc/d/one"), "ENOENT");
	assert_int_equal(put(&t, "/etc/d/one", "third\n"), 0);
	assert_string_equal(text_of(&t, "/etc/d/one"), "third\n");
	assert_string_equal(names_in(&t, "/etc/d"), "one");
	two_again(&t, "m");
	assert_string_equal(names_in(&t, "/etc/d"), "one");
	two_close(&t);
}

/* Reading keeps folders open: one that is removed and made again is another folder. */
static void test_made_again(void **state)
{
	struct two t;

	(void)state;
	two_open(&t);
	for (int i = 0; i < 3; i++) {
		const char *text = arena_printf(&t.a, "round %d", i);

		assert_int_equal(host_make_dir(t.h, "/etc/mine", 0755), 0);
		assert_int_equal(host_make_dir(t.h, "/etc/mine", 0755), -EEXIST);
		assert_int_equal(put(&t, "/etc/mine/f", text), 0);
		assert_string_equal(text_of(&t, "/etc/mine/f"), text);
		assert_string_equal(names_in(&t, "/etc/mine"), "f");
		assert_int_equal(host_remove(t.h, "/etc/mine"), -ENOTEMPTY);
		assert_int_equal(host_remove(t.h, "/etc/mine/f"), 0);
		assert_string_equal(text_of(&t, "/etc/mine/f"), "ENOENT");
		assert_int_equal(host_remove(t.h, "/etc/mine"), 0);
		assert_string_equal(names_in(&t, "/etc/mine"), "ENOENT");
	}
	two_close(&t);
}

static void test_links(void **state)
{
	struct two t;
	char buf[256];

	(void)state;
	two_open(&t);
	assert_int_equal(host_make_link(t.h, "/etc/masked", "/dev/null"), 0);
	assert_int_equal(host_make_link(t.h, "/etc/masked", "/dev/null"), -EEXIST);
	assert_int_equal(host_make_link(t.h, "/etc/link", "x"), -EEXIST);
	assert_int_equal(host_link(t.h, "/etc/masked", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "/dev/null");
	assert_int_equal(host_remove(t.h, "/etc/masked"), 0);
	assert_int_equal(host_remove(t.h, "/etc/link"), 0);
	assert_string_equal(text_of(&t, "/etc/link/one"), "ENOENT");
	assert_string_equal(text_of(&t, "/etc/d/one"), "1\n");
	two_close(&t);
}

/* What was known of a folder is not believed once it may be another. */
static void test_folder_becomes_link(void **state)
{
	struct two t;

	(void)state;
	two_open(&t);
	assert_string_equal(text_of(&t, "/etc/deep/a/b/c"), "c\n");
	assert_string_equal(text_of(&t, "/etc/d/one"), "1\n");
	assert_string_equal(text_of(&t, "/etc/link/one"), "1\n");
	assert_string_equal(text_of(&t, "/etc/d/none"), "ENOENT");
	assert_int_equal(host_remove(t.h, "/etc/d/one"), 0);
	assert_int_equal(host_remove(t.h, "/etc/d/two"), 0);
	assert_int_equal(host_remove(t.h, "/etc/d"), 0);
	assert_string_equal(text_of(&t, "/etc/link/one"), "ENOENT");
	assert_int_equal(host_make_link(t.h, "/etc/d", "deep/a/b"), 0);
	assert_string_equal(text_of(&t, "/etc/d/c"), "c\n");
	assert_string_equal(text_of(&t, "/etc/link/c"), "c\n");
	assert_true(host_exists(t.h, "/etc/link/c"));
	assert_false(host_exists(t.h, "/etc/link/one"));
	two_close(&t);
}

static void test_kernel_files(void **state)
{
	struct answer one = { .kind = ANSWER_INT, .i = 1 };
	struct two t;
	long long v;

	(void)state;
	two_open(&t);
	assert_int_equal(host_write(t.h, "/sys/q/scheduler", "bfq"), 0);
	assert_string_equal(text_of(&t, "/sys/q/scheduler"), "none [bfq]\n");
	assert_string_equal(text_of(&t, "/sys/devices/q/scheduler"), "none [bfq]\n");
	assert_int_equal(host_write(t.h, "/sys/q/scheduler", "cfq"), -EINVAL);
	assert_int_equal(host_write(t.h, "/proc/sys/vm/swappiness", "many"), -EINVAL);
	/* Octal, as Linux reads it; shown without. */
	assert_int_equal(host_write(t.h, "/proc/sys/vm/swappiness", "08"), -EINVAL);
	assert_int_equal(host_write(t.h, "/proc/sys/vm/swappiness", "012"), 0);
	assert_string_equal(text_of(&t, "/proc/sys/vm/swappiness"), "10\n");
	/* Files of the kernel are never made. */
	assert_int_equal(host_write(t.h, "/proc/sys/vm/none", "1"), -ENOENT);
	assert_int_equal(host_write_at(t.h, "/proc/sys/vm/swappiness", 3, "11", 2), -EINVAL);
	assert_int_equal(host_set(t.h, "nvml", "0", "nvmlDeviceGetPersistenceMode", &one), 0);
	assert_int_equal(host_set(t.h, "nvml", "1", "nvmlDeviceGetPersistenceMode", &one), -ENOENT);
	assert_int_equal(host_set(t.h, "../x", "0", "nvmlDeviceGetPersistenceMode", &one), -EINVAL);
	two_again(&t, "m");
	assert_int_equal(host_ask_int(t.h, "nvml", "0", "nvmlDeviceGetPersistenceMode", &v), 0);
	assert_int_equal(v, 1);
	two_close(&t);
}

/* The same machine as a tar. */
static void test_tar(void **state)
{
	struct err e = { 0 };
	char path[512];
	struct host *h;
	struct two t;
	char *text, **names;
	size_t n;

	(void)state;
	two_open(&t);
	h = record_open(host_open_capture(box_path(&t.box, "m", path, sizeof(path)), &e));
	assert_int_equal(host_read(h, "/etc/d/one", 100, &t.a, &text, NULL), 0);
	assert_int_equal(host_read(h, "/etc/d/two", 100, &t.a, &text, NULL), 0);
	assert_int_equal(host_read(h, "/proc/sys/vm/swappiness", 100, &t.a, &text, NULL), 0);
	assert_int_equal(host_list(h, "/etc/d", &t.a, &names, &n), 0);
	if (record_save(h, box_path(&t.box, "m.tar", path, sizeof(path)), false, &e))
		fail_msg("%s", e.text);
	host_close(h);
	two_again(&t, "m.tar");
	assert_string_equal(text_of(&t, "/etc/d/one"), "1\n");
	assert_int_equal(put(&t, "/etc/d/one", "other\n"), 0);
	assert_int_equal(host_remove(t.h, "/etc/d/two"), 0);
	assert_int_equal(host_write(t.h, "/proc/sys/vm/swappiness", "10"), 0);
	two_again(&t, "m.tar");
	assert_string_equal(text_of(&t, "/etc/d/one"), "other\n");
	assert_string_equal(text_of(&t, "/etc/d/two"), "ENOENT");
	assert_string_equal(text_of(&t, "/proc/sys/vm/swappiness"), "10\n");
	two_close(&t);
}

/* Somebody put links into the overlay that lead out of it: nothing is read or written through
 * them. */
static void test_hostile(void **state)
{
	char out[512];
	struct stat st;
	struct two t;
	FILE *f;
	char buf[16] = "";

	(void)state;
	two_open(&t);
	box_file(&t.box, "out/one", "outside\n");
	box_path(&t.box, "out", out, sizeof(out));
	box_link(&t.box, "o/root/etc/d", out);
	box_link(&t.box, "o/told", out);
	box_link(&t.box, "o/root/proc/sys/vm/swappiness",
		 box_path(&t.box, "out/one", out, sizeof(out)));
	two_again(&t, "m");
	assert_string_not_equal(text_of(&t, "/etc/d/one"), "outside\n");
	assert_int_not_equal(put(&t, "/etc/d/two", "x"), 0);
	assert_int_not_equal(host_append(t.h, "/etc/d/one", "x", 1), 0);
	assert_int_not_equal(host_remove(t.h, "/etc/d/one"), 0);
	assert_int_not_equal(host_make_dir(t.h, "/etc/d/sub", 0755), 0);
	assert_int_not_equal(host_lock(t.h, "/etc/d/lock"), 0);
	assert_string_not_equal(text_of(&t, "/proc/sys/vm/swappiness"), "outside\n");
	host_write(t.h, "/proc/sys/vm/swappiness", "10");
	host_append(t.h, "/proc/sys/vm/swappiness", "x", 1);
	host_set_int(t.h, "nvml", "0", "nvmlDeviceGetPersistenceMode", 1);
	f = fopen(out, "r");
	assert_non_null(f);
	assert_non_null(fgets(buf, sizeof(buf), f));
	assert_string_equal(buf, "outside\n");
	assert_null(fgets(buf, sizeof(buf), f));
	fclose(f);
	assert_int_equal(stat(box_path(&t.box, "out/two", out, sizeof(out)), &st), -1);
	assert_int_equal(stat(box_path(&t.box, "out/nvml.json", out, sizeof(out)), &st), -1);
	two_close(&t);
}

/* Odd paths do not get out either. */
static void test_paths(void **state)
{
	struct stat st;
	char out[512];
	struct two t;

	(void)state;
	two_open(&t);
	put(&t, "/../../evil", "x");
	put(&t, "/etc/../../../evil", "x");
	put(&t, "/new/../../../../evil", "x");
	host_make_dir(t.h, "/etc/d/../../../../evil-dir", 0755);
	assert_int_equal(stat(box_path(&t.box, "evil", out, sizeof(out)), &st), -1);
	assert_int_equal(stat(box_path(&t.box, "../evil", out, sizeof(out)), &st), -1);
	assert_int_equal(stat(box_path(&t.box, "evil-dir", out, sizeof(out)), &st), -1);
	two_close(&t);
}

/* The folder comes with the first write, and who looked before sees it then. Below a folder that is
 * not there it never can. */
static void test_made_by_writing(void **state)
{
	struct host *mine, *other;
	struct err e = { 0 };
	char lower[512], upper[512];
	struct stat st;
	struct two t;

	(void)state;
	two_open(&t);
	assert_string_equal(text_of(&t, "/etc/d/one"), "1\n");
	assert_int_equal(stat(box_path(&t.box, "o", upper, sizeof(upper)), &st), -1);
	other = host_open_overlay(box_path(&t.box, "m", lower, sizeof(lower)), upper, &e);
	assert_non_null(other);
	put(&t, "/etc/d/one", "x");
	mine = t.h;
	t.h = other;
	assert_string_equal(text_of(&t, "/etc/d/one"), "x");
	t.h = mine;
	host_close(other);
	assert_int_equal(stat(upper, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_string_equal(text_of(&t, "/etc/d/one"), "x");
	two_again(&t, "m");
	assert_string_equal(text_of(&t, "/etc/d/one"), "x");
	box_path(&t.box, "m", lower, sizeof(lower));
	assert_null(host_open_overlay(lower, box_path(&t.box, "none/o", upper, sizeof(upper)), &e));
	assert_non_null(strstr(e.text, "none/o: No such file"));
	two_close(&t);
}

static void test_locks(void **state)
{
	int status;
	struct two t;
	pid_t pid;

	(void)state;
	two_open(&t);
	assert_int_equal(host_lock(t.h, "/var/lib/x/lock"), 0);
	assert_int_equal(host_lock(t.h, "/var/lib/x/lock"), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct err e = { 0 };
		char lower[512], upper[512];
		struct host *h = host_open_overlay(box_path(&t.box, "m", lower, sizeof(lower)),
						   box_path(&t.box, "o", upper, sizeof(upper)), &e);

		_exit(host_lock(h, "/var/lib/x/lock") == -EWOULDBLOCK ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	two_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put),	     cmocka_unit_test(test_append),
		cmocka_unit_test(test_remove),	     cmocka_unit_test(test_made_again),
		cmocka_unit_test(test_links),	     cmocka_unit_test(test_folder_becomes_link),
		cmocka_unit_test(test_kernel_files), cmocka_unit_test(test_tar),
		cmocka_unit_test(test_hostile),	     cmocka_unit_test(test_paths),
		cmocka_unit_test(test_locks),	     cmocka_unit_test(test_made_by_writing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
