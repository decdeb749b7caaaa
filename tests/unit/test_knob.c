/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs that are files, kernel arguments, configuration space and links: what was read is what
 * restores, what is refused says why, and names from files do not lead anywhere else. */
#include "box.h"
#include "knob_case.h"

#include <linux/pci_regs.h>

#include "base/text.h"
#include "machine/host/boot_menu.h"
#include "machine/model/pci.h"

#define DROP_IN "/etc/default/grub.d/zz-gputune.cfg"
#define LOADER_INFO "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

static void set(struct bench *b, const struct knob *k, const char *value)
{
	if (knob_set(b->h, &b->a, k, value, &b->e))
		fail_msg("%s = %s: %s", k->name, value, b->e.text);
}

static void refuse(struct bench *b, const struct knob *k, const char *value, int code,
		   const char *says)
{
	int before = memory_of(b->h)->writes;

	memset(&b->e, 0, sizeof(b->e));
	assert_int_equal(knob_set(b->h, &b->a, k, value, &b->e), code);
	if (!strstr(b->e.text, says))
		fail_msg("\"%s\" does not say \"%s\"", b->e.text, says);
	assert_int_equal(memory_of(b->h)->writes, before);
}

static struct knob sysctl(const char *name)
{
	return (struct knob){ KNOB_SYSCTL, name, "" };
}

static struct knob sysfs(const char *path)
{
	return (struct knob){ KNOB_SYSFS, path, "" };
}

/* --- files ------------------------------------------------------------------------------------ */

static void test_sysctl(void **state)
{
	struct bench *b = *state;
	const struct knob k = sysctl("net.ipv4.tcp_rmem"), name = sysctl("kernel.domainname"),
			  vlan = sysctl("net.ipv4.conf.eth0/100.rp_filter");
	const char *before;

	memory_file(b->h, "/proc/sys/net/ipv4/tcp_rmem", "  4096\t131072 \t 6291456 \n");
	before = get(b, &k);
	assert_string_equal(before, "4096 131072 6291456");
	set(b, &k, "1 2 3");
	assert_string_equal(get(b, &k), "1 2 3");
	set(b, &k, before);
	assert_true(knob_same(&k, get(b, &k), "4096  131072\t6291456"));
	assert_false(knob_same(&k, get(b, &k), "4096 131072"));

	/* Empty is a value that has to arrive; brackets of a sysctl are its own. */
	memory_file(b->h, "/proc/sys/kernel/domainname", "a [b] c\n");
	assert_string_equal(get(b, &name), "a [b] c");
	memory_file(b->h, "/proc/sys/kernel/domainname", "x\n");
	set(b, &name, "");
	assert_int_equal(memory_text(b->h, "/proc/sys/kernel/domainname")[0], '\n');
	assert_string_equal(get(b, &name), "");

	memory_file(b->h, "/proc/sys/net/ipv4/conf/eth0.100/rp_filter", "1\n");
	assert_string_equal(get(b, &vlan), "1");
}

static void test_choice(void **state)
{
	struct bench *b = *state;
	const char *path = "/sys/block/sda/queue/scheduler";
	const struct knob k = sysfs(path), odd = sysfs("/sys/class/x/y/label");

	memory_file(b->h, path, "none [mq-deadline] kyber\n");
	assert_string_equal(get(b, &k), "mq-deadline");
	set(b, &k, "none");
	assert_string_equal(memory_text(b->h, path), "[none] mq-deadline kyber\n");
	refuse(b, &k, "bfq", -EINVAL, "[none] mq-deadline kyber");
	set(b, &k, "mq-deadline");
	assert_string_equal(memory_text(b->h, path), "none [mq-deadline] kyber\n");
	/* No choice: not a word of its own, or not closed. */
	memory_file(b->h, "/sys/class/x/y/label", "a[0] b [c\n");
	assert_string_equal(get(b, &odd), "a[0] b [c");
}

static void test_file_refusals(void **state)
{
	struct bench *b = *state;
	const char *path = "/sys/block/sda/queue/nr_requests";
	const struct knob k = sysfs(path), absent = sysctl("vm.nothing");
	const char *value = "kept";

	memory_file(b->h, path, "64\n")->refuses = -EINVAL;
	refuse(b, &k, "9999", -EINVAL,
	       "the device's maximum is lower; without a scheduler the maximum is the");
	memory_find(b->h, path)->refuses = -EACCES;
	b->h->id.euid = 1000;
	refuse(b, &k, "9999", -EACCES, "permission denied");
	assert_non_null(strstr(b->e.hint, "root"));
	b->h->id.euid = 0;
	refuse(b, &k, "9999", -EACCES, "even to root");
	memory_find(b->h, path)->refuses = -EBUSY;
	refuse(b, &k, "9999", -EBUSY, "in use");
	refuse(b, &absent, "1", -ENOENT, "not found on the machine");
	assert_int_equal(knob_get(b->h, &b->a, &absent, &value, &b->e), -ENOENT);
	assert_string_equal(value, "kept");
}

/* The kernel's half of a pair: writing one zeroes the other. */
static void kernel_zeroes(struct bench *b, const char *name)
{
	memory_file(b->h, arena_printf(&b->a, "/proc/sys/vm/%s", name), "0\n");
}

static void test_pair(void **state)
{
	struct bench *b = *state;
	const struct knob ratio = sysctl("vm.dirty_ratio"), bytes = sysctl("vm.dirty_bytes"),
			  alone = sysctl("vm.overcommit_ratio");
	const char *before;
	struct fact_str judged;

	memory_file(b->h, "/proc/sys/vm/dirty_ratio", "20\n");
	memory_file(b->h, "/proc/sys/vm/dirty_bytes", "0\n");
	assert_string_equal(get(b, &ratio), "20");
	before = get(b, &bytes);
	assert_string_equal(before, "vm.dirty_ratio=20");
	/* For judging it is what is in force as well. */
	judged = knob_read(b->h, &b->a, &bytes);
	assert_string_equal(judged.v, "vm.dirty_ratio=20");

	set(b, &bytes, "4096000");
	kernel_zeroes(b, "dirty_ratio");
	assert_string_equal(get(b, &bytes), "4096000");
	assert_string_equal(get(b, &ratio), "vm.dirty_bytes=4096000");
	judged = knob_read(b->h, &b->a, &ratio);
	assert_string_equal(judged.v, "vm.dirty_bytes=4096000");

	set(b, &bytes, before);
	kernel_zeroes(b, "dirty_bytes");
	assert_string_equal(memory_text(b->h, "/proc/sys/vm/dirty_ratio"), "20\n");
	assert_string_equal(get(b, &bytes), before);
	assert_true(knob_same(&bytes, before, "vm.dirty_ratio=0x14"));
	assert_false(knob_same(&bytes, before, "20"));
	assert_false(knob_same(&bytes, before, "vm.dirty_ratio=21"));
	assert_string_equal(knob_command(&b->a, &bytes, before), "sysctl -w vm.dirty_ratio=20");

	refuse(b, &bytes, "vm.swappiness=1", -EINVAL, "alternative limit");
	refuse(b, &bytes, "vm.dirty_ratio=1 2", -EINVAL, "alternative limit");
	refuse(b, &bytes, "20%", -EINVAL, "alternative limit");
	refuse(b, &bytes, "0", -EINVAL, "when vm.dirty_ratio is set");
	/* Both zero: no one write leads back to that from bytes. */
	memory_file(b->h, "/proc/sys/vm/dirty_ratio", "0\n");
	assert_string_equal(get(b, &ratio), "0");
	assert_string_equal(get(b, &bytes), "vm.dirty_ratio=0");
	assert_false(knob_valid(&bytes, "vm.dirty_ratio=0", &before));
	refuse(b, &bytes, "vm.dirty_ratio=0", -EINVAL, "both limits are 0");
	/* A kernel without the other half. */
	memory_file(b->h, "/proc/sys/vm/overcommit_ratio", "0\n");
	assert_string_equal(get(b, &alone), "0");
}

static void test_parameter(void **state)
{
	struct bench *b = *state;
	const struct knob k = { KNOB_MODPARAM, "nvme.use_cmb", "" };

	memory_file(b->h, "/sys/module/nvme/parameters/use_cmb", "Y\n");
	assert_string_equal(get(b, &k), "Y");
	assert_true(knob_same(&k, "Y", "1"));
	assert_true(knob_same(&k, "0", "N"));
	assert_false(knob_same(&k, "Y", "0"));
	set(b, &k, "0");
	assert_string_equal(get(b, &k), "0");
}

/* --- names ------------------------------------------------------------------------------------ */

static const struct {
	struct knob k;
	const char *value;
} hostile[] = {
	{ { KNOB_SYSCTL, "vm.../etc/passwd", "" }, NULL },
	{ { KNOB_SYSCTL, "../../etc/passwd", "" }, NULL },
	{ { KNOB_SYSCTL, "vm.//.swappiness", "" }, NULL },
	{ { KNOB_SYSCTL, "net.//.//.//.etc", "" }, NULL },
	{ { KNOB_SYSCTL, "vm..swappiness", "" }, NULL },
	{ { KNOB_SYSCTL, "vm.swappiness.", "" }, NULL },
	{ { KNOB_SYSCTL, "vm./.swappiness", "" }, NULL },
	{ { KNOB_SYSCTL, "swappiness", "" }, NULL },
	{ { KNOB_SYSCTL, "vm.swap piness", "" }, NULL },
	{ { KNOB_SYSCTL, "vm.swap;reboot", "" }, NULL },
	{ { KNOB_SYSCTL, "", "" }, NULL },
	{ { KNOB_SYSCTL, NULL, "" }, NULL },
	{ { KNOB_SYSCTL, "vm.swappiness", NULL }, NULL },
	{ { KNOB_SYSCTL, "vm.swappiness", "" }, "1\n2" },
	{ { KNOB_SYSCTL, "vm.swappiness", "" }, "1\x1b[2J" },
	{ { KNOB_SYSFS, "/etc/passwd", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/../etc/passwd", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/block/../../etc/passwd", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/block/./x", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/block//x", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/block/x/", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/block/x/..", "" }, NULL },
	{ { KNOB_SYSFS, "sys/block/x", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/power/state", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/kernel/debug/x", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/firmware/efi/x", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/bus/pci/devices/0000:01:00.0/remove", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/bus/pci/devices/0000:01:00.0/reset", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/bus/pci/drivers/nvme/unbind", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/block/{}/queue/scheduler", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/block/a b/queue/scheduler", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/block/\xff/queue/scheduler", "" }, NULL },
	{ { KNOB_MODPARAM, "zfs", "" }, NULL },
	{ { KNOB_MODPARAM, "zfs.", "" }, NULL },
	{ { KNOB_MODPARAM, ".x", "" }, NULL },
	{ { KNOB_MODPARAM, "zfs.a.b", "" }, NULL },
	{ { KNOB_MODPARAM, "../x.y", "" }, NULL },
	{ { KNOB_MODPARAM, "zfs.../../x", "" }, NULL },
	{ { KNOB_BOOTARG, "isolcpus=1", "" }, "2" },
	{ { KNOB_BOOTARG, "-x", "" }, "2" },
	{ { KNOB_BOOTARG, "a b", "" }, "2" },
	{ { KNOB_BOOTARG, "isolcpus", "" }, "1 init=/bin/sh" },
	{ { KNOB_BOOTARG, "isolcpus", "" }, "1\"" },
	{ { KNOB_BOOTARG, "isolcpus", "" }, "$(reboot)" },
	{ { KNOB_BOOTARG, "isolcpus", "" }, "`reboot`" },
	{ { KNOB_BOOTARG, "isolcpus", "" }, "1\\" },
	{ { KNOB_BOOTARG, "isolcpus", "" }, "1'" },
	{ { KNOB_BOOTARG, "isolcpus", "" }, "1;reboot" },
	{ { KNOB_BOOTARG, "isolcpus", "" }, "not finished" },
	{ { KNOB_PCI, "mrrs", "0000:01:00.0/../x" }, "512" },
	{ { KNOB_PCI, "mrrs", "01:00.0" }, "512" },
	{ { KNOB_PCI, "mrrs", "0000:01:00.8" }, "512" },
	{ { KNOB_PCI, "mrrs", "" }, "512" },
	{ { KNOB_PCI, "command", "0000:01:00.0" }, "512" },
	{ { KNOB_PCI, "mrrs", "0000:01:00.0" }, "513" },
	{ { KNOB_PCI, "mrrs", "0000:01:00.0" }, "64" },
	{ { KNOB_PCI, "mrrs", "0000:01:00.0" }, "8192" },
	{ { KNOB_PCI, "mrrs", "0000:01:00.0" }, "" },
	{ { KNOB_PCI, "acs-control", "0000:01:00.0" }, "0x10000" },
	{ { KNOB_LINK, "mtu", "" }, "1500" },
	{ { KNOB_LINK, "mtu", "../../x" }, "1500" },
	{ { KNOB_LINK, "mtu", ".." }, "1500" },
	{ { KNOB_LINK, "mtu", "a/b" }, "1500" },
	{ { KNOB_LINK, "mtu", "a b" }, "1500" },
	{ { KNOB_LINK, "mtu", "-rf" }, "1500" },
	{ { KNOB_LINK, "mtu", "longer-than-kernel-names" }, "1500" },
	{ { KNOB_LINK, "speed", "eth0" }, "1500" },
	{ { KNOB_LINK, "mtu", "eth0" }, "67" },
	{ { KNOB_LINK, "mtu", "eth0" }, "70000" },
	{ { KNOB_LINK, "mtu", "eth0" }, "-1" },
	{ { KNOB_LINK, "rx-ring", "eth0" }, "99999999999999999999" },
	{ { KNOB_LINK, "adaptive-rx", "eth0" }, "2" },
	{ { KNOB_SYSFS, "/sys/bus/pci/devices/0000:01:00.0/config", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/class/nvme/nvme0/reset_controller", "" }, NULL },
	{ { KNOB_SYSFS, "/sys/class/a/b", "" }, "x\xff" },
	{ { KNOB_NONE, "vm.swappiness", "" }, NULL },
	{ { KNOB_KINDS, "vm.swappiness", "" }, NULL },
};

static void test_hostile(void **state)
{
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		const struct knob *k = &hostile[i].k;
		const char *why = NULL, *v = hostile[i].value;

		if (knob_valid(k, v, &why))
			fail_msg("sound: %s of %s = %s", k->name, k->object, v ? v : "-");
		assert_non_null(why);
		assert_int_equal(knob_set(b->h, &b->a, k, v ? v : "1", &b->e), -EINVAL);
		assert_null(knob_command(&b->a, k, v ? v : "1"));
		if (!v) {
			const char *value;

			assert_int_equal(knob_get(b->h, &b->a, k, &value, &b->e), -EINVAL);
			assert_string_equal(knob_place(b->h, &b->a, k), "");
		}
	}
	assert_int_equal(memory_of(b->h)->writes, 0);
}

static const struct {
	struct knob k;
	const char *value;
	const char *command;
} good[] = {
	{ { KNOB_SYSCTL, "vm.swappiness", "" }, "10", "sysctl -w vm.swappiness=10" },
	{ { KNOB_SYSCTL, "net.ipv4.tcp_rmem", "" },
	  "4096 131072 16777216",
	  "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 16777216'" },
	{ { KNOB_SYSCTL, "net.ipv4.conf.enP2p1s0f0np0.rp_filter", "" },
	  "0",
	  "sysctl -w net.ipv4.conf.enP2p1s0f0np0.rp_filter=0" },
	{ { KNOB_SYSCTL, "net.ipv4.conf.eth0/100.rp_filter", "" },
	  "0",
	  "sysctl -w net.ipv4.conf.eth0/100.rp_filter=0" },
	{ { KNOB_SYSFS, "/sys/block/sda/queue/scheduler", "sda" },
	  "mq-deadline",
	  "printf %s mq-deadline > /sys/block/sda/queue/scheduler" },
	{ { KNOB_SYSFS, "/sys/class/a/b;c/d", "" },
	  "it's $HOME",
	  "printf %s 'it'\\''s $HOME' > '/sys/class/a/b;c/d'" },
	{ { KNOB_SYSFS, "/sys/class/a/b", "" }, "", "echo > /sys/class/a/b" },
	{ { KNOB_MODPARAM, "zfs.zfs_arc_max", "" },
	  "1073741824",
	  "printf %s 1073741824 > /sys/module/zfs/parameters/zfs_arc_max" },
	{ { KNOB_BOOTARG, "isolcpus", "" },
	  "managed_irq,domain,1-3",
	  "echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT "
	  "isolcpus=managed_irq,domain,1-3\"' >> " DROP_IN " && update-grub" },
	{ { KNOB_BOOTARG, "nosmt", "" },
	  "not set",
	  "sed -i '/ nosmt[=\"]/d' " DROP_IN " && update-grub" },
	{ { KNOB_PCI, "mrrs", "0000:01:00.0" },
	  "4096",
	  "setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000" },
	{ { KNOB_PCI, "acs-control", "0000:00:01.0" },
	  "0x1d",
	  "setpci -s 0000:00:01.0 ECAP_ACS+6.w=001d" },
	{ { KNOB_LINK, "mtu", "eth0.100" }, "9000", "ip link set dev eth0.100 mtu 9000" },
	{ { KNOB_LINK, "rx-ring", "eth0" }, "8192", "ethtool -G eth0 rx 8192" },
	{ { KNOB_LINK, "tx-ring", "eth0" }, "8192", "ethtool -G eth0 tx 8192" },
	{ { KNOB_LINK, "channels", "eth0" }, "8", "ethtool -L eth0 combined 8" },
	{ { KNOB_LINK, "tx-usecs", "eth0" }, "0", "ethtool -C eth0 tx-usecs 0" },
	{ { KNOB_LINK, "adaptive-rx", "eth0" }, "0", "ethtool -C eth0 adaptive-rx off" },
	{ { KNOB_LINK, "adaptive-tx", "eth0" }, "1", "ethtool -C eth0 adaptive-tx on" },
};

static void test_commands(void **state)
{
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const char *why = NULL;

		if (!knob_valid(&good[i].k, good[i].value, &why))
			fail_msg("%s: %s", good[i].k.name, why);
		assert_string_equal(knob_command(&b->a, &good[i].k, good[i].value),
				    good[i].command);
	}
}

static void test_kinds(void **state)
{
	struct bench *b = *state;
	const struct knob x = { KNOB_SYSFS, "/sys/block/sda/queue/scheduler", "sda" },
			  y = { KNOB_SYSFS, "/sys/block/sda/queue/scheduler", "" },
			  mrrs = { KNOB_PCI, "mrrs", "0000:01:00.0" },
			  other = { KNOB_PCI, "mrrs", "0000:02:00.0" };

	for (int i = 0; i < KNOB_KINDS; i++)
		assert_int_equal(knob_kind_parse(knob_kind_name((enum knob_kind)i)), i);
	assert_int_equal(knob_kind_parse("unheard"), -1);
	assert_int_equal(knob_kind_parse(""), -1);
	assert_int_equal(knob_kind_parse(NULL), -1);
	assert_true(knob_equal(&x, &y));
	assert_true(knob_equal(&mrrs, &mrrs));
	assert_false(knob_equal(&mrrs, &other));
	assert_string_equal(knob_text(&b->a, &x), "/sys/block/sda/queue/scheduler");
	assert_string_equal(knob_text(&b->a, &mrrs), "mrrs of 0000:01:00.0");
	assert_true(knob_is_runtime(KNOB_SYSCTL));
	assert_true(knob_is_runtime(KNOB_LINK));
	assert_false(knob_is_runtime(KNOB_BOOTARG));
	assert_false(knob_is_runtime(KNOB_UNIT));
	assert_true(knob_same(&mrrs, "0x200", "512"));
	assert_false(knob_same(&mrrs, NULL, "512"));
	assert_true(knob_same(&mrrs, NULL, NULL));
	assert_null(knob_neutral(&mrrs));
}

static void test_disturbs(void **state)
{
	struct bench *b = *state;
	const struct knob scheduler = { KNOB_SYSFS, "/sys/block/sda/queue/scheduler", "sda" },
			  channels = { KNOB_LINK, "channels", "eth0" },
			  mtu = { KNOB_LINK, "mtu", "eth0" },
			  thp = sysfs("/sys/kernel/mm/transparent_hugepage/enabled");
	struct knob *k;
	size_t n;

	k = knob_disturbs(b->h, &b->a, &scheduler, &n);
	assert_int_equal(n, 2);
	assert_string_equal(k[0].name, "/sys/block/sda/queue/nr_requests");
	assert_int_equal(k[0].kind, KNOB_SYSFS);
	assert_string_equal(k[0].object, "sda");
	k = knob_disturbs(b->h, &b->a, &channels, &n);
	assert_int_equal(n, 6);
	for (size_t i = 0; i < n; i++)
		assert_true(knob_valid(&k[i], "1", NULL) && strcmp(k[i].object, "eth0") == 0);
	k = knob_disturbs(b->h, &b->a, &thp, &n);
	assert_int_equal(n, 1);
	assert_int_equal(k[0].kind, KNOB_SYSCTL);
	assert_string_equal(k[0].name, "vm.min_free_kbytes");
	assert_true(knob_known(&k[0]));
	knob_disturbs(b->h, &b->a, &mtu, &n);
	assert_int_equal(n, 0);
	/* A reader of the journal takes no other names. */
	k = knob_disturbs(b->h, &b->a, &scheduler, &n);
	for (size_t i = 0; i < n; i++)
		assert_true(knob_known(&k[i]));
}

/* value NULL: the name is none that is ever written. says: NULL when it is allowed. */
struct bounded {
	struct knob k;
	const char *value, *says;
};

#define POLICY0 "/sys/devices/system/cpu/cpufreq/policy0/"

static const struct bounded bounded[] = {
	{ { KNOB_SYSCTL, "kernel.core_pattern", "" }, NULL, NULL },
	{ { KNOB_SYSCTL, "vm.swappiness2", "" }, NULL, NULL },
	{ { KNOB_SYSCTL, "vm.swappines", "" }, NULL, NULL },
	{ { KNOB_SYSFS, "/sys/block/sda/queue/x/scheduler", "" }, NULL, NULL },
	{ { KNOB_SYSFS, "/sys/block/sda/queue/nomerges", "" }, NULL, NULL },
	{ { KNOB_SYSFS, "/sys/module/firmware_class/parameters/path", "" }, NULL, NULL },
	{ { KNOB_MODPARAM, "firmware_class.path", "" }, NULL, NULL },
	{ { KNOB_BOOTARG, "init", "" }, NULL, NULL },
	{ { KNOB_UNIT, "ssh.service", "" }, NULL, NULL },
	{ { KNOB_NONE, "vm.swappiness", "" }, NULL, NULL },
	{ { KNOB_SYSCTL, "vm.swappiness", "" }, "0", NULL },
	{ { KNOB_SYSCTL, "vm.swappiness", "" }, "200", NULL },
	{ { KNOB_SYSCTL, "vm.swappiness", "" }, "201", "0 to 200" },
	{ { KNOB_SYSCTL, "vm.swappiness", "" }, "-1", "0 to 200" },
	{ { KNOB_SYSCTL, "vm.swappiness", "" }, "x", "not a number" },
	{ { KNOB_SYSCTL, "vm.dirty_ratio", "" }, "vm.dirty_bytes=1048576", "1 to 90 %" },
	{ { KNOB_SYSCTL, "vm.min_free_kbytes", "" },
	  "1048576",
	  "there is no new value; gputune can only restore the old value" },
	{ { KNOB_SYSCTL, "net.ipv4.tcp_rmem", "" }, "4096 131072 6291456", NULL },
	{ { KNOB_SYSCTL, "net.ipv4.tcp_rmem", "" }, "4096 131072", "three non-decreasing numbers" },
	{ { KNOB_SYSCTL, "net.ipv4.tcp_rmem", "" },
	  "4096 131072 65536",
	  "three non-decreasing numbers" },
	{ { KNOB_SYSCTL, "net.ipv4.tcp_rmem", "" }, "4096 131072 2147483647", "1073741824" },
	{ { KNOB_SYSFS, POLICY0 "scaling_governor", "" }, "schedutil", NULL },
	{ { KNOB_SYSFS, POLICY0 "scaling_governor", "" }, "sched", "one of: conservative" },
	{ { KNOB_SYSFS, POLICY0 "scaling_governor", "" }, "", "the value is not a single word" },
	{ { KNOB_BOOTARG, "isolcpus", "" }, "managed_irq,domain,2-5,8", NULL },
	{ { KNOB_BOOTARG, "isolcpus", "" }, "managed_irq", "list of CPUs" },
	{ { KNOB_BOOTARG, "nohz_full", "" }, "managed_irq,2", "list of CPUs" },
	{ { KNOB_BOOTARG, "rcu_nocb_poll", "" }, "", NULL },
	{ { KNOB_BOOTARG, "rcu_nocb_poll", "" }, "1", "no value" },
	{ { KNOB_BOOTARG, "pci", "" },
	  "pcie_bus_perf",
	  "there is no new value; gputune can only restore the old value" },
	{ { KNOB_LINK, "mtu", "eth0" }, "9000", NULL },
	{ { KNOB_LINK, "mtu", "eth0" }, "67", "68 to 65536" },
	{ { KNOB_UNIT, "irqbalance.service", "" }, "disabled inactive", NULL },
};

static void test_bounds(void **state)
{
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(bounded) / sizeof(bounded[0]); i++) {
		const struct bounded *row = &bounded[i];
		const char *why = NULL;
		bool allowed = knob_allows(&b->a, &row->k, row->value ? row->value : "1", &why);

		if (knob_known(&row->k) != (row->value != NULL))
			fail_msg("%s: known or not", row->k.name);
		if (row->value && allowed != !row->says)
			fail_msg("%s = %s: %s", row->k.name, row->value, why ? why : "allowed");
		if (!row->value && allowed)
			fail_msg("%s was allowed", row->k.name);
		if (row->says && !strstr(why, row->says))
			fail_msg("%s = %s: \"%s\" does not say \"%s\"", row->k.name, row->value,
				 why, row->says);
	}
}

/* What is put back is whatever the machine held, if it is of the place's form. */
static void test_put_back(void **state)
{
	const struct knob pressure = { KNOB_SYSCTL, "vm.vfs_cache_pressure", "" },
			  arc = { KNOB_MODPARAM, "zfs.zfs_arc_max", "" },
			  thp = sysfs("/sys/kernel/mm/transparent_hugepage/enabled");

	(void)state;
	assert_true(knob_valid(&pressure, "0", NULL));
	assert_true(knob_valid(&pressure, "2147483647", NULL));
	assert_false(knob_valid(&pressure, "|/tmp/x", NULL));
	assert_false(knob_valid(&pressure, "", NULL));
	assert_true(knob_valid(&arc, "c_max=8589934592", NULL));
	assert_false(knob_valid(&arc, "c_max=", NULL));
	assert_true(knob_valid(&thp, "inherit", NULL));
	assert_false(knob_valid(&thp, "always never", NULL));
}

static void test_place(void **state)
{
	struct bench *b = *state;
	const struct knob disk = sysfs("/sys/block/sda/queue/scheduler"),
			  policy = sysfs("/sys/devices/system/cpu/cpufreq/policy0/x"),
			  nic = { KNOB_LINK, "mtu", "eth0" },
			  pci = { KNOB_PCI, "mrrs", "0000:01:00.0" },
			  astray = sysfs("/sys/block/sdb/queue/scheduler"),
			  swap = sysctl("vm.swappiness");

	memory_link(b->h, "/sys/block/sda", "../devices/pci0/ata1/block/sda");
	memory_link(b->h, "/sys/block/sdb", "../../etc");
	memory_link(b->h, "/sys/class/net/eth0", "../../devices/pci0/0000:01:00.0/net/eth0");
	memory_link(b->h, "/sys/bus/pci/devices/0000:01:00.0",
		    "../../../devices/pci0/0000:01:00.0");
	assert_string_equal(knob_place(b->h, &b->a, &disk), "/sys/devices/pci0/ata1/block/sda");
	assert_string_equal(knob_place(b->h, &b->a, &nic),
			    "/sys/devices/pci0/0000:01:00.0/net/eth0");
	assert_string_equal(knob_place(b->h, &b->a, &pci), "/sys/devices/pci0/0000:01:00.0");
	assert_string_equal(knob_place(b->h, &b->a, &policy), "");
	assert_string_equal(knob_place(b->h, &b->a, &astray), "");
	assert_string_equal(knob_place(b->h, &b->a, &swap), "");
}

/* --- configuration space ---------------------------------------------------------------------- */

#define CONFIG "/sys/bus/pci/devices/0000:01:00.0/config"
enum { CAP = 0x9c, ACS = 0x148, SPACE = 4096 };

static const struct knob mrrs = { KNOB_PCI, "mrrs", "0000:01:00.0" },
			 acs = { KNOB_PCI, "acs-control", "0000:01:00.0" };

static void put16(unsigned char *c, size_t at, unsigned v)
{
	c[at] = (unsigned char)v;
	c[at + 1] = (unsigned char)(v >> 8);
}

/* A function whose PCI Express capability stands behind two others, with 512 bytes. */
static unsigned char *config(struct bench *b, size_t len)
{
	unsigned char c[SPACE] = { 0 };

	put16(c, PCI_VENDOR_ID, 0x15b3);
	put16(c, PCI_STATUS, PCI_STATUS_CAP_LIST);
	c[PCI_CAPABILITY_LIST] = 0x40;
	c[0x40] = PCI_CAP_ID_PM;
	c[0x41] = 0x60;
	c[0x60] = PCI_CAP_ID_MSIX;
	c[0x61] = CAP;
	c[CAP] = PCI_CAP_ID_EXP;
	put16(c, CAP + PCI_EXP_FLAGS, 2);
	put16(c, CAP + PCI_EXP_DEVCTL, 2 << 12 | 1 << 5 | 0x91f);
	put16(c, 0x100, 0x0001);
	put16(c, 0x102, ACS << 4 | 1);
	put16(c, ACS, PCI_EXT_CAP_ID_ACS);
	put16(c, ACS + PCI_ACS_CAP, 0x5f);
	put16(c, ACS + PCI_ACS_CTRL, 0x1d);
	return (unsigned char *)memory_bytes(b->h, CONFIG, c, len)->data;
}

static void test_mrrs(void **state)
{
	struct bench *b = *state;
	unsigned char *c = config(b, SPACE), before[SPACE];
	const struct pci_space s = { c, SPACE };

	memcpy(before, c, SPACE);
	assert_string_equal(get(b, &mrrs), "512");
	set(b, &mrrs, "4096");
	assert_string_equal(get(b, &mrrs), "4096");
	assert_int_equal(pci_get16(&s, CAP + PCI_EXP_DEVCTL), 5 << 12 | 1 << 5 | 0x91f);
	set(b, &mrrs, "128");
	assert_int_equal(pci_get16(&s, CAP + PCI_EXP_DEVCTL), 1 << 5 | 0x91f);
	set(b, &mrrs, "512");
	assert_memory_equal(c, before, SPACE);
	assert_int_equal(memory_of(b->h)->writes, 3);

	/* The bit that resets the function is never written as one, even where it reads as one. */
	c[CAP + PCI_EXP_DEVCTL + 1] |= 0x80;
	set(b, &mrrs, "1024");
	assert_int_equal(c[CAP + PCI_EXP_DEVCTL + 1] & 0x80, 0);
	/* Of a bridge to conventional PCI the same bit is a setting. */
	put16(c, CAP + PCI_EXP_FLAGS, PCI_EXP_TYPE_PCI_BRIDGE << 4 | 2);
	c[CAP + PCI_EXP_DEVCTL + 1] |= 0x80;
	set(b, &mrrs, "2048");
	assert_int_equal(c[CAP + PCI_EXP_DEVCTL + 1] & 0x80, 0x80);
	put16(c, CAP + PCI_EXP_DEVCTL, 6 << 12);
	assert_int_equal(knob_get(b->h, &b->a, &mrrs, &(const char *){ NULL }, &b->e), -EPROTO);
}

static void test_mrrs_refused(void **state)
{
	struct bench *b = *state;
	unsigned char *c = config(b, PCI_SPACE_HEADER);
	const char *lockdown = "/sys/kernel/security/lockdown";

	refuse(b, &mrrs, "4096", -EACCES, "permission denied");
	c = config(b, SPACE);
	memset(c, 0xff, SPACE);
	refuse(b, &mrrs, "4096", -ENODEV, "all ones");
	/* It goes between the header and the capability. */
	c = config(b, SPACE);
	memset(c + CAP + 2, 0xff, SPACE - CAP - 2);
	refuse(b, &mrrs, "4096", -ENODEV, "all ones");
	/* Lists that loop, leave, or have no such thing. */
	c = config(b, SPACE);
	c[0x61] = 0x40;
	refuse(b, &mrrs, "4096", -EOPNOTSUPP, "lacks this capability");
	c[0x61] = 0x60;
	refuse(b, &mrrs, "4096", -EOPNOTSUPP, "lacks this capability");
	c[0x61] = 0x10;
	refuse(b, &mrrs, "4096", -EOPNOTSUPP, "lacks this capability");
	c[0x61] = 0;
	refuse(b, &mrrs, "4096", -EOPNOTSUPP, "lacks this capability");
	/* The capability begins where the space ends. */
	c = config(b, PCI_CFG_SPACE_SIZE);
	c[0x61] = 0xfc;
	c[0xfc] = PCI_CAP_ID_EXP;
	refuse(b, &mrrs, "4096", -EOPNOTSUPP, "lacks this capability");

	config(b, SPACE);
	memory_find(b->h, CONFIG)->refuses = -EPERM;
	refuse(b, &mrrs, "4096", -EPERM, "permission denied");
	memory_file(b->h, lockdown, "none [integrity] confidentiality\n");
	refuse(b, &mrrs, "4096", -EPERM, "locked down (integrity)");
	assert_non_null(strstr(b->e.hint, "Secure Boot"));
	memory_file(b->h, lockdown, "[none] integrity confidentiality\n");
	refuse(b, &mrrs, "4096", -EPERM, "permission denied");
}

static void test_acs(void **state)
{
	struct bench *b = *state;
	unsigned char *c = config(b, SPACE), before[SPACE];

	memcpy(before, c, SPACE);
	assert_string_equal(get(b, &acs), "0x1d");
	set(b, &acs, "0x11");
	assert_string_equal(get(b, &acs), "0x11");
	assert_true(knob_same(&acs, "0x1d", "29"));
	refuse(b, &acs, "0x20", -ERANGE, "only the bits 0x5f");
	set(b, &acs, "0x1d");
	assert_memory_equal(c, before, SPACE);
	/* A list that points at itself. */
	put16(c, 0x102, 0x100 << 4 | 1);
	refuse(b, &acs, "0", -EOPNOTSUPP, "lacks this capability");
	config(b, PCI_CFG_SPACE_SIZE);
	refuse(b, &acs, "0", -EOPNOTSUPP, "lacks this capability");
}

/* --- links ------------------------------------------------------------------------------------ */

static void test_link(void **state)
{
	struct bench *b = *state;
	static const char *const numbers[][2] = {
		{ "rx-ring", "rx_pending" },
		{ "tx-ring", "tx_pending" },
		{ "channels", "combined_count" },
		{ "rx-usecs", "rx_coalesce_usecs" },
		{ "tx-usecs", "tx_coalesce_usecs" },
		{ "adaptive-rx", "use_adaptive_rx_coalesce" },
		{ "adaptive-tx", "use_adaptive_tx_coalesce" },
	};
	const struct knob mtu = { KNOB_LINK, "mtu", "eth0" },
			  ring = { KNOB_LINK, "rx-ring", "eth0" };
	const char *value;

	memory_file(b->h, "/sys/class/net/eth0/mtu", "1500\n");
	assert_string_equal(get(b, &mtu), "1500");
	set(b, &mtu, "9000");
	assert_string_equal(get(b, &mtu), "9000");
	memory_answer(b->h, "if eth0 max_mtu", 4000);
	memory_find(b->h, "/sys/class/net/eth0/mtu")->refuses = -EINVAL;
	refuse(b, &mtu, "9000", -EINVAL, "maximum is 4000");
	refuse(b, &mtu, "3000", -EINVAL, "its driver rejects the value");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct knob k = { KNOB_LINK, numbers[i][0], "eth0" };
		const char *words = arena_printf(&b->a, "ethtool eth0 %s", numbers[i][1]);

		refuse(b, &k, "1", -EOPNOTSUPP, "not supported");
		memory_answer(b->h, words, 1);
		assert_string_equal(get(b, &k), "1");
		set(b, &k, "0");
		assert_int_equal(memory_find(b->h, words)->answer, 0);
		assert_string_equal(get(b, &k), "0");
	}
	assert_int_equal(get(b, &ring)[0], '0');
	memory_answer(b->h, "ethtool eth0 rx_max_pending", 0);
	assert_int_equal(knob_get(b->h, &b->a, &ring, &value, &b->e), -EOPNOTSUPP);
	memory_answer(b->h, "ethtool eth0 rx_max_pending", 8192);
	set(b, &ring, "8192");
	memory_find(b->h, "ethtool eth0 rx_pending")->refuses = -EINVAL;
	refuse(b, &ring, "8193", -EINVAL, "maximum is 8192");
}

/* A library that counts more GPUs than there can be is not asked for each. */
static void test_gpus_without_end(void **state)
{
	struct bench *b = *state;
	const struct knob k = { KNOB_NVML, "persistence-mode", "0000:01:00.0" };
	const char *value;

	memory_answer(b->h, "nvml  nvmlDeviceGetCount", INT64_MAX);
	assert_int_equal(knob_get(b->h, &b->a, &k, &value, &b->e), -EOPNOTSUPP);
	refuse(b, &k, "1", -EOPNOTSUPP, "not supported");
}

/* --- kernel arguments ------------------------------------------------------------------------- */

static const struct knob isolcpus = { KNOB_BOOTARG, "isolcpus", "" },
			 nohz = { KNOB_BOOTARG, "nohz_full", "" },
			 nosmt = { KNOB_BOOTARG, "nosmt", "" };

static void grub(struct bench *b, bool folder)
{
	memory_folder(b->h, "/etc/default");
	memory_file(b->h, "/etc/default/grub", "GRUB_TIMEOUT=0\n");
	if (folder)
		memory_folder(b->h, "/etc/default/grub.d");
}

static int places(struct bench *b)
{
	int n = 0;

	for (int i = 0; i < MEMORY_PLACES; i++)
		n += memory_of(b->h)->places[i].path[0] != '\0';
	return n;
}

static void arguments(struct bench *b, bool folder)
{
	const char *text;
	int before;

	grub(b, folder);
	before = places(b);
	assert_string_equal(get(b, &isolcpus), "not set");
	set(b, &isolcpus, "not set");
	set(b, &isolcpus, "2-7");
	set(b, &nosmt, "");
	set(b, &nohz, "2-7");
	set(b, &isolcpus, "domain,2-7");
	assert_string_equal(get(b, &isolcpus), "domain,2-7");
	assert_string_equal(get(b, &nosmt), "");
	assert_string_equal(get(b, &nohz), "2-7");
	text = memory_text(b->h, DROP_IN);
	assert_non_null(strstr(text, "# Written by gputune"));
	assert_non_null(strstr(text, "\nGRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT "
				     "isolcpus=domain,2-7\"\n"
				     "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT "
				     "nosmt\"\n"
				     "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT "
				     "nohz_full=2-7\"\n"));
	set(b, &nosmt, "not set");
	assert_string_equal(get(b, &nosmt), "not set");
	assert_string_equal(get(b, &nohz), "2-7");
	set(b, &isolcpus, "not set");
	set(b, &nohz, "not set");
	assert_int_equal(places(b), before);
	assert_int_equal(memory_find(b->h, "/etc/default/grub.d") != NULL, folder);
}

static void test_arguments(void **state)
{
	arguments(*state, true);
}

static void test_arguments_folder(void **state)
{
	struct bench *b = *state;

	arguments(b, false);
	/* Somebody put a file of their own into our folder: it stays. */
	set(b, &nosmt, "");
	memory_file(b->h, "/etc/default/grub.d/50-theirs.cfg", "x\n");
	set(b, &nosmt, "not set");
	assert_non_null(memory_find(b->h, "/etc/default/grub.d/50-theirs.cfg"));
	assert_null(memory_find(b->h, DROP_IN));
	assert_int_equal(places(b), 4);
}

/* Every write fails once, and all behind it: taking back makes it as it was. */
static void test_arguments_cut_short(void **state)
{
	struct bench *b = *state;
	struct memory_host *m = memory_of(b->h);
	int before, stages[2] = { 0 };

	grub(b, false);
	before = places(b);
	for (int at = 1; at < 10; at++)
		for (int undoing = 0; undoing < 2; undoing++) {
			const char *now;

			if (undoing)
				set(b, &nosmt, "");
			m->fail_at = at;
			m->tried = 0;
			stages[undoing] +=
				knob_set(b->h, &b->a, &nosmt, undoing ? "not set" : "", &b->e) != 0;
			m->fail_at = 0;
			now = get(b, &nosmt);
			if (!knob_same(&nosmt, now, "not set")) {
				assert_true(knob_same(&nosmt, now, ""));
				set(b, &nosmt, "not set");
			}
			assert_string_equal(get(b, &nosmt), "not set");
			assert_int_equal(places(b), before);
		}
	/* mark, folder, file; file, folder, mark */
	assert_int_equal(stages[0], 3);
	assert_int_equal(stages[1], 3);

	/* One write fails and the machine goes on: nothing is left. */
	m->fail_once = true;
	for (int at = 1; at < 4; at++) {
		m->fail_at = at;
		m->tried = 0;
		assert_int_equal(knob_set(b->h, &b->a, &nosmt, "", &b->e), -EIO);
		m->fail_at = 0;
		assert_int_equal(places(b), before);
	}
	/* The file stands although its put failed: still ours, with its folder, to take back. */
	m->fail_at = 3;
	m->tried = 0;
	m->fail_late = true;
	assert_int_equal(knob_set(b->h, &b->a, &nosmt, "", &b->e), -EIO);
	m->fail_at = 0;
	assert_string_equal(get(b, &nosmt), "");
	set(b, &nosmt, "not set");
	assert_int_equal(places(b), before);
}

static void test_arguments_refused(void **state)
{
	struct bench *b = *state;
	const char *value;

	refuse(b, &nosmt, "", -EOPNOTSUPP, "reads no drop-in files");
	assert_non_null(strstr(b->e.hint, "to its configuration"));
	assert_int_equal(knob_get(b->h, &b->a, &nosmt, &value, &b->e), -EOPNOTSUPP);
	grub(b, true);
	memory_file(b->h, "/usr/sbin/grub-mkconfig", "#!/bin/sh\n. /etc/default/grub\n");
	refuse(b, &nosmt, "", -EOPNOTSUPP, "reads no drop-in files");
	memory_file(b->h, "/usr/sbin/grub-mkconfig", "for x in /etc/default/grub.d/*.cfg\n");
	set(b, &nosmt, "");
	/* Lines of somebody else in our file are not for us to lose. */
	memory_file(b->h, DROP_IN,
		    arena_printf(&b->a, "%sGRUB_TIMEOUT=5\n", memory_text(b->h, DROP_IN)));
	refuse(b, &nosmt, "not set", -EBADMSG, "did not write");
	assert_int_equal(knob_get(b->h, &b->a, &nosmt, &value, &b->e), -EBADMSG);
	memory_remove(b->h, DROP_IN);
	set(b, &nosmt, "");
	memory_file(b->h, DROP_IN,
		    arena_printf(&b->a,
				 "%sGRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT "
				 "a=$(reboot)\"\n",
				 memory_text(b->h, DROP_IN)));
	refuse(b, &nosmt, "not set", -EBADMSG, "did not write");
	memory_file(b->h, DROP_IN, "");
	refuse(b, &nosmt, "not set", -EBADMSG, "did not write");
}

static void cmdline(struct bench *b, const char *text)
{
	assert_string_equal(memory_text(b->h, "/etc/kernel/cmdline"), text);
}

/* kernel-install's file is somebody else's: ours stand behind theirs, and go to the byte. */
static void test_kernel_cmdline(void **state)
{
	static const char theirs[] = "# of the installer\nroot=UUID=1 ro isolcpus=1 \n# end\n";
	struct bench *b = *state;
	const char *value;

	memory_folder(b->h, "/etc/kernel");
	memory_file(b->h, "/etc/kernel/cmdline", theirs);
	assert_string_equal(get(b, &isolcpus), "not set");
	set(b, &isolcpus, "not set");
	cmdline(b, theirs);
	set(b, &isolcpus, "2-7");
	cmdline(b, "# of the installer\nroot=UUID=1 ro isolcpus=1 gputune.args=1 isolcpus=2-7 \n"
		   "# end\n");
	set(b, &nosmt, "");
	set(b, &isolcpus, "domain,2-7");
	assert_string_equal(get(b, &isolcpus), "domain,2-7");
	assert_string_equal(get(b, &nosmt), "");
	assert_string_equal(get(b, &nohz), "not set");
	/* What somebody adds behind ours stays theirs. */
	memory_file(b->h, "/etc/kernel/cmdline",
		    "root=UUID=1 ro gputune.args=2 isolcpus=domain,2-7 nosmt nohz_full=3\n");
	assert_string_equal(get(b, &nohz), "not set");
	set(b, &isolcpus, "not set");
	cmdline(b, "root=UUID=1 ro gputune.args=1 nosmt nohz_full=3\n");
	set(b, &nosmt, "not set");
	cmdline(b, "root=UUID=1 ro nohz_full=3\n");
	/* Fewer than it says; a line that the kernel would cut; a link. */
	memory_file(b->h, "/etc/kernel/cmdline", "ro gputune.args=2 nosmt\n");
	refuse(b, &nosmt, "not set", -EBADMSG, "were edited");
	assert_int_equal(knob_get(b->h, &b->a, &nosmt, &value, &b->e), -EBADMSG);
	memory_file(b->h, "/etc/kernel/cmdline", "\n");
	refuse(b, &nosmt, "", -EBADMSG, "no arguments");
	memory_file(b->h, "/etc/kernel/cmdline", arena_printf(&b->a, "a=%02040d\n", 1));
	refuse(b, &nosmt, "", -ENOSPC, "a kernel command line cannot have 2063");
}

#define CONF "/boot/extlinux/extlinux.conf"

static const char conf[] = "# of the installer\r\nTIMEOUT 30\nDEFAULT primary\n\nLABEL backup\n"
			   "  LINUX /boot/Image.old\n  APPEND ${cbootargs} single\n"
			   "LABEL primary\n\tMENU LABEL x\n\tLINUX /boot/Image\n"
			   "\tINITRD /boot/initrd\n\tAPPEND ${cbootargs} root=/dev/a rw  \r\n";

/* The text with what stands for the first of it replaced by the second. */
static const char *with(struct bench *b, const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);

	assert_non_null(at);
	return arena_printf(&b->a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* Of an extlinux.conf the entry that is started: ours behind its arguments, and nothing else. */
static void test_extlinux(void **state)
{
	struct bench *b = *state;
	const char *two;

	memory_folder(b->h, "/boot/extlinux");
	memory_file(b->h, CONF, conf);
	assert_string_equal(get(b, &isolcpus), "not set");
	set(b, &isolcpus, "not set");
	assert_string_equal(memory_text(b->h, CONF), conf);
	set(b, &isolcpus, "2-7");
	set(b, &nosmt, "");
	two = with(b, conf, "a rw", "a rw gputune.args=2 isolcpus=2-7 nosmt");
	assert_string_equal(memory_text(b->h, CONF), two);
	assert_string_equal(get(b, &nosmt), "");
	assert_string_equal(knob_command_here(b->h, &b->a, &nosmt, "not set"),
			    "sed -i 's| gputune\\.args=2 isolcpus=2-7 nosmt| gputune.args=1 "
			    "isolcpus=2-7|' " CONF);
	/* What others add stays; and what was ours goes when GRUB starts the machine by now. */
	memory_file(b->h, CONF, with(b, two, "nosmt", "nosmt quiet"));
	set(b, &isolcpus, "not set");
	grub(b, true);
	memory_folder(b->h, "/proc");
	memory_file(b->h, "/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz ro\n");
	assert_string_equal(get(b, &nosmt), "");
	set(b, &nosmt, "not set");
	assert_string_equal(memory_text(b->h, CONF), with(b, conf, "a rw", "a rw quiet"));
	set(b, &nosmt, "");
	assert_non_null(memory_find(b->h, DROP_IN));
}

/* A file without its last line end, lower-case keywords, no DEFAULT, no initial disk. */
static void test_extlinux_forms(void **state)
{
	static const char *const forms[] = {
		"label a\nkernel /Image\nappend ro",
		"LABEL a\n LINUX /Image\n APPEND ro\nLABEL b\n LINUX /Image\n APPEND rw\n",
		("DEFAULT b\nLABEL a\n APPEND x\n APPEND y\nLABEL b\n#APPEND z\n KERNEL /I\n"
		 " APPEND\tro\n"),
	};
	struct bench *b = *state;

	memory_folder(b->h, "/boot/extlinux");
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		memory_file(b->h, CONF, forms[i]);
		set(b, &isolcpus, "2-7");
		assert_string_equal(memory_text(b->h, CONF),
				    with(b, forms[i], "ro", "ro gputune.args=1 isolcpus=2-7"));
		assert_string_equal(get(b, &isolcpus), "2-7");
		set(b, &isolcpus, "not set");
		assert_string_equal(memory_text(b->h, CONF), forms[i]);
	}
}

/* What loaders read in different ways, and what somebody made of ours, is left alone. */
static void test_extlinux_refused(void **state)
{
	static const struct {
		const char *from, *to, *says;
	} rows[] = {
		{ "DEFAULT primary", "DEFAULT primary\nDEFAULT backup", "two DEFAULT" },
		{ "DEFAULT primary", "DEFAULT gone", "missing LABEL" },
		{ "LABEL backup", "LABEL primary", "two LABEL" },
		{ "rw  \r\n", "rw\n\tAPPEND ro\n", "two APPEND" },
		{ "\tAPPEND ${cbootargs} root=/dev/a rw  \r\n", "", "no arguments" },
		{ "root=/dev/a", "root=/dev/a#b", "comment" },
		{ "\tLINUX /boot/Image\n", "", "no LINUX" },
		{ "a rw", "a rw gputune.args=2 nosmt", "were edited" },
		{ "a rw", "a rw gputune.args=1 nosmt gputune.args=1 nosmt", "twice" },
		{ "cbootargs} single", "cbootargs} single gputune.args=1 nosmt", "another LABEL" },
	};
	struct bench *b = *state;
	const char *value;

	memory_folder(b->h, "/boot/extlinux");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = with(b, conf, rows[i].from, rows[i].to);

		memory_file(b->h, CONF, text);
		refuse(b, &nosmt, "", -EBADMSG, rows[i].says);
		refuse(b, &nosmt, "not set", -EBADMSG, rows[i].says);
		assert_int_equal(knob_get(b->h, &b->a, &nosmt, &value, &b->e), -EBADMSG);
		assert_string_equal(memory_text(b->h, CONF), text);
	}
	/* A line that the kernel would cut, with what the loader puts in place of ${cbootargs}. */
	memory_file(b->h, CONF, conf);
	memory_folder(b->h, "/proc");
	memory_file(b->h, "/proc/cmdline", arena_printf(&b->a, "a=%02030d\n", 1));
	refuse(b, &isolcpus, "2-7", -ENOSPC, "a kernel command line cannot have 2061");
	memory_file(b->h, "/proc/cmdline", "ro\n");
	memory_file(b->h, CONF, arena_printf(&b->a, "# by u-boot-update\n%s", conf));
	refuse(b, &nosmt, "", -EOPNOTSUPP, "reads no drop-in files");
	assert_non_null(strstr(b->e.hint, "U_BOOT_PARAMETERS"));
	memory_remove(b->h, CONF);
	memory_link(b->h, CONF, "/boot/other.conf");
	memory_file(b->h, "/boot/other.conf", conf);
	refuse(b, &nosmt, "", -EBADMSG, "is not a regular file");
}

/* Which loader, where files of two are there. */
static void test_boot_evidence(void **state)
{
	static const struct {
		const char *cmdline;
		bool grub, syslinux;
		enum boot_menu menu;
		const char *why;
	} rows[] = {
		{ "root=/dev/a rw console=x\n", false, false, BOOT_MENU_EXTLINUX,
		  "and no GRUB files" },
		{ "root=/dev/a rw console=x\n", true, false, BOOT_MENU_EXTLINUX, "all arguments" },
		{ "root=/dev/b rw\n", true, false, BOOT_MENU_UNCLEAR, "neither" },
		{ "BOOT_IMAGE=/I root=/dev/a rw\n", true, false, BOOT_MENU_GRUB, "BOOT_IMAGE" },
		{ "BOOT_IMAGE=/I root=/dev/a rw\n", false, false, BOOT_MENU_UNCLEAR, "BOOT_IMAGE" },
		{ "BOOT_IMAGE=/I root=/dev/a rw\n", true, true, BOOT_MENU_EXTLINUX, "all arg" },
	};
	struct bench *b = *state;
	const char *why;

	memory_folder(b->h, "/proc");
	memory_folder(b->h, "/boot/extlinux");
	memory_file(b->h, CONF, with(b, conf, "a rw", "a rw gputune.args=1 nosmt"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memory_file(b->h, "/proc/cmdline", rows[i].cmdline);
		memory_remove(b->h, "/etc/default/grub");
		memory_remove(b->h, "/boot/extlinux/ldlinux.sys");
		if (rows[i].grub)
			grub(b, false);
		if (rows[i].syslinux)
			memory_file(b->h, "/boot/extlinux/ldlinux.sys", "");
		assert_int_equal(host_boot_menu_why(b->h, &why), rows[i].menu);
		assert_non_null(strstr(why, rows[i].why));
	}
	for (int m = 0; m < BOOT_MENUS; m++)
		assert_int_equal(boot_menu_parse(boot_menu_name((enum boot_menu)m)), m);
}

/* What makes the entries, by the files that it leaves. */
static void test_boot_menu(void **state)
{
	struct bench *b = *state;

	assert_int_equal(host_boot_menu(b->h), BOOT_MENU_OTHER);
	memory_folder(b->h, "/etc/kernel");
	memory_file(b->h, "/etc/kernel/cmdline", "ro\n");
	assert_int_equal(host_boot_menu(b->h), BOOT_MENU_KERNEL_INSTALL);
	grub(b, false);
	assert_int_equal(host_boot_menu(b->h), BOOT_MENU_GRUB);
	memory_file(b->h, "/etc/default/grub", "A=b\nGRUB_ENABLE_BLSCFG=\"true\"\n");
	assert_int_equal(host_boot_menu(b->h), BOOT_MENU_GRUBBY);
	memory_file(b->h, "/etc/default/grub",
		    "GRUB_ENABLE_BLSCFG=true\nGRUB_ENABLE_BLSCFG=false\n");
	assert_int_equal(host_boot_menu(b->h), BOOT_MENU_GRUB);
	memory_file(b->h, "/usr/sbin/grub2-mkconfig", "#!/bin/sh\n. /etc/default/grub\n");
	assert_int_equal(host_boot_menu(b->h), BOOT_MENU_OTHER);
	memory_file(b->h, "/usr/sbin/grubby", "#!/bin/sh\n");
	assert_int_equal(host_boot_menu(b->h), BOOT_MENU_GRUBBY);
	/* The firmware was told who started the kernel: GRUB's files are left over. */
	memory_bytes(b->h, LOADER_INFO, "\7\0\0\0s\0y\0s\0t\0e\0m\0d\0-\0b\0o\0o\0t\0 \0002", 31);
	assert_int_equal(host_boot_menu(b->h), BOOT_MENU_KERNEL_INSTALL);
	memory_remove(b->h, "/etc/kernel/cmdline");
	assert_int_equal(host_boot_menu(b->h), BOOT_MENU_NO_CMDLINE);
	memory_bytes(b->h, LOADER_INFO, "\7\0\0\0G\0R\0U\0B\0", 12);
	assert_int_equal(host_boot_menu(b->h), BOOT_MENU_GRUBBY);
}

/* --- a host that takes no writes -------------------------------------------------------------- */

static void test_readonly(void **state)
{
	struct bench *b = *state;
	struct memory_host *m = memory_of(b->h);
	const struct knob swap = sysctl("vm.swappiness"), mtu = { KNOB_LINK, "mtu", "eth0" },
			  ring = { KNOB_LINK, "rx-ring", "eth0" };
	const struct {
		const struct knob *k;
		const char *value;
	} rows[] = { { &swap, "1" },	{ &mtu, "9000" }, { &ring, "100" },
		     { &mrrs, "4096" }, { &acs, "0" },	  { &nosmt, "" } };

	memory_file(b->h, "/proc/sys/vm/swappiness", "60\n");
	memory_file(b->h, "/sys/class/net/eth0/mtu", "1500\n");
	memory_answer(b->h, "ethtool eth0 rx_pending", 512);
	config(b, SPACE);
	grub(b, false);
	b->h = host_open_readonly(b->h);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(knob_set(b->h, &b->a, rows[i].k, rows[i].value, &b->e), -EROFS);
		assert_non_null(strstr(b->e.text, "dry run"));
		assert_string_not_equal(get(b, rows[i].k), rows[i].value);
	}
	assert_int_equal(m->writes, 0);
}

/* --- captured machines ------------------------------------------------------------------------ */

/* A value that k takes and that is not the one it has; NULL when there is none. */
static const char *another(struct bench *b, const struct knob *k, const char *now)
{
	long long v;

	if (k->kind == KNOB_BOOTARG)
		return "1-3";
	if (str_ends(k->name, "/scheduler"))
		return strcmp(now, "none") == 0 ? "mq-deadline" : NULL;
	if (str_ends(k->name, "/enabled"))
		return strcmp(now, "never") == 0 ? "always" : "never";
	if (str_ends(k->name, "_governor"))
		return strcmp(now, "powersave") == 0 ? "performance" : "powersave";
	if (strcmp(k->name, "mrrs") == 0)
		return strcmp(now, "128") == 0 ? "256" : "128";
	if (strcmp(k->name, "acs-control") == 0)
		return strcmp(now, "0x0") == 0 ? NULL : "0";
	if (strncmp(k->name, "adaptive", 8) == 0)
		return strcmp(now, "0") == 0 ? "1" : "0";
	if (parse_i64(now, &v))
		return "1048576";
	return arena_printf(&b->a, "%lld", v < 2 ? v + 1 : v - 1);
}

/* Sets another value and the old one again; false when unreadable here. */
static bool there_and_back(struct bench *b, const struct knob *k, const struct knob *sides,
			   size_t n)
{
	const char *before = NULL, *after, *side[8] = { NULL };

	if (knob_get(b->h, &b->a, k, &before, &b->e))
		return false;
	after = another(b, k, before);
	if (!after)
		return false;
	assert_true(n <= 8);
	for (size_t i = 0; i < n; i++)
		if (knob_get(b->h, &b->a, &sides[i], &side[i], &b->e))
			side[i] = NULL;
	set(b, k, after);
	if (!knob_same(k, get(b, k), after))
		fail_msg("%s: asked for %s, found %s", knob_text(&b->a, k), after, get(b, k));
	assert_false(knob_same(k, get(b, k), before));
	set(b, k, before);
	assert_string_equal(get(b, k), before);
	for (size_t i = 0; i < n; i++)
		if (side[i] && !knob_same(&sides[i], get(b, &sides[i]), side[i]))
			set(b, &sides[i], side[i]);
	return true;
}

static size_t try(struct bench *b, enum knob_kind kind, const char *name, const char *object)
{
	const struct knob k = knob_make(&b->a, kind, name, object);
	size_t n;
	const struct knob *sides = knob_disturbs(b->h, &b->a, &k, &n);

	return there_and_back(b, &k, sides, n);
}

static size_t each(struct bench *b, const char *folder, enum knob_kind kind,
		   const char *const *names)
{
	char **objects = NULL;
	size_t n = 0, done = 0;

	if (host_list(b->h, folder, &b->a, &objects, &n))
		return 0;
	/* Not all of some hundred functions: the overlay syncs every write. */
	for (size_t i = 0; i < n && done < 40; i++)
		for (const char *const *name = names; *name; name++)
			done += try(b, kind, *name, objects[i]);
	return done;
}

/* Every file that the overlay holds in the end says what the capture says. */
static void compare(struct bench *b, struct host *capture, const char *dir, const char *place,
		    size_t *files)
{
	DIR *d = opendir(dir);
	struct dirent *de;

	assert_non_null(d);
	while ((de = readdir(d))) {
		char *path = arena_printf(&b->a, "%s/%s", dir, de->d_name),
		     *at = arena_printf(&b->a, "%s/%s", place, de->d_name), *x = NULL, *y = NULL;
		size_t nx = 0, ny = 0;
		struct stat st;

		if (de->d_name[0] == '.' && (!de->d_name[1] || de->d_name[1] == '.'))
			continue;
		assert_int_equal(lstat(path, &st), 0);
		if (S_ISDIR(st.st_mode)) {
			compare(b, capture, path, at, files);
			continue;
		}
		if (host_read(capture, at, HOST_READ_MAX, &b->a, &x, &nx))
			fail_msg("%s is new", at);
		assert_int_equal(host_read(b->h, at, HOST_READ_MAX, &b->a, &y, &ny), 0);
		if (nx != ny || memcmp(x, y, nx) != 0)
			fail_msg("%s: \"%s\" became \"%s\"", at, x, y);
		++*files;
	}
	closedir(d);
}

static void machine(struct bench *b, const char *name, size_t least)
{
	static const char *const disk[] = { "/sys/block/{}/queue/scheduler",
					    "/sys/block/{}/queue/nr_requests", NULL };
	static const char *const policy[] = { "/sys/devices/system/cpu/cpufreq/{}/scaling_governor",
					      "/sys/devices/system/cpu/cpufreq/{}/scaling_max_freq",
					      NULL };
	static const char *const function[] = { "mrrs", "acs-control", NULL };
	static const char *const link[] = { "mtu",	"rx-ring",     "tx-ring",     "channels",
					    "rx-usecs", "adaptive-rx", "adaptive-tx", NULL };
	static const char *const sysctls[] = { "vm.swappiness", "vm.dirty_ratio", "vm.dirty_bytes",
					       "vm.dirty_background_bytes",
					       "kernel.numa_balancing" };
	const char *source = arena_printf(&b->a, MACHINES "/%s", name);
	struct host *memory = b->h, *capture = host_open_capture(source, &b->e);
	struct box box;
	size_t done, files = 0;

	box_make(&box);
	b->h = host_open_overlay(source, box.dir, &b->e);
	if (!b->h || !capture)
		fail_msg("%s", b->e.text);
	done = each(b, "/sys/block", KNOB_SYSFS, disk) +
	       each(b, "/sys/devices/system/cpu/cpufreq", KNOB_SYSFS, policy) +
	       each(b, "/sys/bus/pci/devices", KNOB_PCI, function) +
	       each(b, "/sys/class/net", KNOB_LINK, link) +
	       try(b, KNOB_SYSFS, "/sys/kernel/mm/transparent_hugepage/enabled", "") +
	       try(b, KNOB_MODPARAM, "zfs.zfs_txg_timeout", "") +
	       try(b, KNOB_BOOTARG, "isolcpus", "");
	/* Only where a boot menu takes it. */
	assert_int_equal(knob_get(b->h, &b->a, &isolcpus, &(const char *){ NULL }, &b->e),
			 host_exists(capture, "/etc/default/grub") || host_exists(capture, CONF)
				 ? 0
				 : -EOPNOTSUPP);
	for (size_t i = 0; i < sizeof(sysctls) / sizeof(sysctls[0]); i++)
		done += try(b, KNOB_SYSCTL, sysctls[i], "");
	assert_int_equal(host_exists(b->h, "/etc/default/grub.d"),
			 host_exists(capture, "/etc/default/grub.d"));
	print_message("%s: %zu knobs there and back\n", name, done);
	assert_true(done >= least);
	compare(b, capture, arena_printf(&b->a, "%s/root", box.dir), "", &files);
	assert_true(files > 10);
	host_close(b->h);
	host_close(capture);
	b->h = memory;
	box_remove(&box);
}

static void test_machines(void **state)
{
	machine(*state, "hgx-h100", 100);
	machine(*state, "dgx-spark", 40);
	machine(*state, "igx-orin", 20);
	machine(*state, "cpu-256", 20);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(sysctl),
		TEST(choice),
		TEST(file_refusals),
		TEST(pair),
		TEST(parameter),
		TEST(hostile),
		TEST(commands),
		TEST(kinds),
		TEST(disturbs),
		TEST(bounds),
		TEST(put_back),
		TEST(place),
		TEST(mrrs),
		TEST(mrrs_refused),
		TEST(acs),
		TEST(link),
		TEST(gpus_without_end),
		TEST(arguments),
		TEST(arguments_folder),
		TEST(arguments_cut_short),
		TEST(arguments_refused),
		TEST(kernel_cmdline),
		TEST(extlinux),
		TEST(extlinux_forms),
		TEST(extlinux_refused),
		TEST(boot_evidence),
		TEST(boot_menu),
		TEST(readonly),
		TEST(machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
