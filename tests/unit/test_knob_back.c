/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the way of taking a value back: lines that came later, comments, limits that ZFS does
 * not give up, and the command by hand for those. */
#include "box.h"
#include "knob_case.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/boot_menu.h"

#define HOSTS "/etc/hosts"
#define LINES "0644:10.0.0.1\\tspark-1\\n"
#define BEGIN_OPEN "# gputune cluster: begin (the line above had no end)\n"
#define END "# gputune cluster: end\n"
#define ARC_MAX "/sys/module/zfs/parameters/zfs_arc_max"

static void set(struct bench *b, const struct knob *k, const char *value)
{
	if (knob_set(b->h, &b->a, k, value, &b->e))
		fail_msg("%s = %s: %s", k->name, value, b->e.text);
}

/* The end that we gave to the last line goes only while nothing stands behind it. */
static void test_open_line(void **state)
{
	static const struct knob block = { KNOB_BLOCK, HOSTS, "" };
	struct bench *b = *state;

	memory_folder(b->h, "/etc");
	memory_file(b->h, HOSTS, "127.0.0.1 localhost");
	set(b, &block, LINES);
	assert_string_equal(memory_text(b->h, HOSTS),
			    "127.0.0.1 localhost\n" BEGIN_OPEN "10.0.0.1\tspark-1\n" END);
	set(b, &block, "absent");
	assert_string_equal(memory_text(b->h, HOSTS), "127.0.0.1 localhost");
	set(b, &block, LINES);
	memory_file(b->h, HOSTS,
		    arena_printf(&b->a, "%s10.0.0.5 fileserver\n", memory_text(b->h, HOSTS)));
	set(b, &block, "absent");
	assert_string_equal(memory_text(b->h, HOSTS), "127.0.0.1 localhost\n10.0.0.5 fileserver\n");
}

/* What ZFS chose itself is what goes back, as a number: 0 would leave our limit. */
static void test_arc_limit(void **state)
{
	static const struct knob max = { KNOB_MODPARAM, "zfs.zfs_arc_max", "" };
	struct bench *b = *state;
	const char *before;

	memory_file(b->h, ARC_MAX, "0\n");
	/* 0 could not be put back, so that nothing is changed where no more is known. */
	assert_int_equal(knob_get(b->h, &b->a, &max, &before, &b->e), -EIO);
	memory_file(b->h, "/proc/spl/kstat/zfs/arcstats",
		    "13 1 0x01 147 39984 5 9\nname type data\nc_min 4 5\nc_max   4    64000\n");
	before = get(b, &max);
	assert_string_equal(before, "c_max=64000");
	assert_true(knob_same(&max, before, "0"));
	assert_true(knob_same(&max, before, "64000"));
	assert_false(knob_same(&max, before, "16000"));
	assert_false(knob_same(&max, "0", "16000"));
	set(b, &max, "16000");
	assert_string_equal(get(b, &max), "16000");
	assert_null(knob_remains(&max, "16000", "16000"));
	set(b, &max, before);
	assert_string_equal(get(b, &max), "64000");
	assert_non_null(strstr(knob_remains(&max, get(b, &max), before),
			       "the limit is restored; the parameter was 0 before, but shows the"));
	assert_string_equal(knob_command(&b->a, &max, before), "printf %s 64000 > " ARC_MAX);
	assert_int_equal(knob_set(b->h, &b->a, &max, "0", &b->e), -EOPNOTSUPP);
	assert_non_null(strstr(b->e.text, "ZFS does not accept 0 for"));
	/* An older journal says so of what was there: such an entry is one that can be read. */
	assert_true(knob_valid(&max, "0", NULL));
	assert_false(knob_valid(&max, "c_max=1;reboot", NULL));
}

/* Comments are no arguments; what is taken out is never too long; the command names our file. */
static void test_cmdline(void **state)
{
	static const struct knob nosmt = { KNOB_BOOTARG, "nosmt", "" },
				 cpus = { KNOB_BOOTARG, "isolcpus", "" };
	struct bench *b = *state;
	TEXT_AUTO comments = { 0 };
	const char *theirs;

	for (int i = 0; i < 30; i++)
		text_printf(&comments, "# %070d\n", i);
	theirs = arena_printf(&b->a, "%sroot=UUID=1 ro\n", comments.s);
	memory_folder(b->h, "/etc/kernel");
	memory_file(b->h, "/etc/kernel/cmdline", theirs);
	set(b, &nosmt, "");
	set(b, &cpus, "2-7");
	assert_string_equal(
		knob_command_here(b->h, &b->a, &cpus, "not set"),
		"sed -i 's| gputune\\.args=2 nosmt isolcpus=2-7| gputune.args=1 nosmt|' "
		"/etc/kernel/cmdline && kernel-install add-all");
	set(b, &cpus, "not set");
	set(b, &nosmt, "not set");
	assert_string_equal(memory_text(b->h, "/etc/kernel/cmdline"), theirs);
	set(b, &nosmt, "");
	memory_file(b->h, "/etc/kernel/cmdline",
		    arena_printf(&b->a, "ro gputune.args=1 nosmt a=%02040d\n", 1));
	set(b, &nosmt, "not set");
	assert_string_equal(memory_text(b->h, "/etc/kernel/cmdline"),
			    arena_printf(&b->a, "ro a=%02040d\n", 1));
}

/* Ceilings of processors go with boost, tunables of a scheduler with the scheduler. */
static void test_listed(void **state)
{
	static const struct knob boost = { KNOB_SYSFS, "/sys/devices/system/cpu/cpufreq/boost",
					   "" },
				 scheduler = { KNOB_SYSFS, "/sys/block/sda/queue/scheduler",
					       "sda" };
	struct bench *b = *state;
	struct host *h;
	struct knob *k;
	struct box box;
	char path[256];
	size_t n;

	box_make(&box);
	box_file(&box, "c/meta.json", BOX_META("absent"));
	box_file(&box, "c/root/sys/devices/system/cpu/cpufreq/boost", "0\n");
	box_file(&box, "c/root/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "9\n");
	box_file(&box, "c/root/sys/block/sda/queue/scheduler", "[mq-deadline] none\n");
	box_file(&box, "c/root/sys/block/sda/queue/iosched/read_expire", "500\n");
	snprintf(path, sizeof(path), "%s/c", box.dir);
	h = host_open_capture(path, &b->e);
	if (!h)
		fail_msg("%s", b->e.text);
	k = knob_disturbs(h, &b->a, &boost, &n);
	assert_int_equal(n, 1);
	assert_string_equal(k[0].name, "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq");
	assert_true(knob_valid(&k[0], "9", NULL));
	k = knob_disturbs(h, &b->a, &scheduler, &n);
	assert_int_equal(n, 3);
	assert_string_equal(k[2].name, "/sys/block/sda/queue/iosched/read_expire");
	assert_true(knob_valid(&k[2], "500", NULL));
	host_close(h);
	box_remove(&box);
}

enum { MOUNTED_GOOD, MOUNTED_BAD, MOUNTED_NOT };

/* In a process of its own: a file that is a mount point, as a container's /etc/hosts is. */
static int put_on_mount(const char *source, const char *path)
{
	static const char text[] = "127.0.0.1 localhost\n";
	struct host *h;
	int r;

	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(source, path, NULL, MS_BIND, NULL) < 0)
		return MOUNTED_NOT;
	h = host_open_live();
	r = h ? host_put(h, path, text, strlen(text), 0600) : -ENOMEM;
	host_close(h);
	return r ? MOUNTED_BAD : MOUNTED_GOOD;
}

static void test_mounted(void **state)
{
	char source[256], path[256], left[300], text[64] = "";
	struct box box;
	pid_t child;
	FILE *f;
	int status;

	(void)state;
	box_make(&box);
	box_file(&box, "source", "127.0.0.1 localhost\n10.0.0.1 spark-1, and what is longer\n");
	box_file(&box, "hosts", "");
	snprintf(source, sizeof(source), "%s/source", box.dir);
	snprintf(path, sizeof(path), "%s/hosts", box.dir);
	child = fork();
	if (child == 0)
		_exit(put_on_mount(source, path));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == MOUNTED_NOT) {
		box_remove(&box);
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), MOUNTED_GOOD);
	f = fopen(source, "r");
	assert_non_null(f);
	assert_int_equal(fread(text, 1, sizeof(text) - 1, f), 20);
	fclose(f);
	assert_string_equal(text, "127.0.0.1 localhost\n");
	snprintf(left, sizeof(left), "%s.gputune-old", path);
	assert_int_equal(access(left, F_OK), -1);
	snprintf(left, sizeof(left), "%s.gputune-new", path);
	assert_int_equal(access(left, F_OK), -1);
	box_remove(&box);
}

/* In a process of its own, with an /etc of its own: a file that has another name. */
static int set_in_linked(struct bench *b)
{
	static const struct knob hosts = { KNOB_BLOCK, "/etc/hosts", "" },
				 args = { KNOB_BOOTARG, "nosmt", "" };
	static const char *const files[] = { "/etc/hosts", "/etc/kernel/cmdline" };
	struct host *h;
	char *text;

	if (geteuid() || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/etc", "tmpfs", 0, NULL) < 0 || mkdir("/etc/kernel", 0755) < 0)
		return MOUNTED_NOT;
	h = host_open_live();
	for (size_t i = 0; i < 2; i++)
		if (host_put(h, files[i], "ro\n", 3, 0644) || link(files[i], "/etc/other") < 0 ||
		    knob_set(h, &b->a, i ? &args : &hosts, i ? "" : "0644:10.0.0.1 a\\n", &b->e) !=
			    -EMLINK ||
		    !strstr(b->e.text, files[i]) || !strstr(b->e.text, "2 hard links") ||
		    host_read(h, files[i], 100, &b->a, &text, NULL) || strcmp(text, "ro\n") != 0 ||
		    unlink("/etc/other") < 0 ||
		    knob_set(h, &b->a, i ? &args : &hosts, i ? "" : "0644:10.0.0.1 a\\n", &b->e))
			return fprintf(stderr, "%s: %s\n", files[i], b->e.text), MOUNTED_BAD;
	host_close(h);
	return MOUNTED_GOOD;
}

static void test_linked(void **state)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(set_in_linked(*state));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == MOUNTED_NOT)
		skip();
	assert_int_equal(WEXITSTATUS(status), MOUNTED_GOOD);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(open_line), TEST(arc_limit), TEST(cmdline),
					    TEST(listed),    TEST(mounted),   TEST(linked) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
