/* SPDX-License-Identifier: Apache-2.0 */
/* Files for the next boot: quoting by format, who keeps what, udev rules by kind of device, links
 * by owner, who would win, the request and its reader, and the knob that writes such files. */
#include "fake.h"

#include <ftw.h>
#include <stdio.h>

#include "machine/write/write.h"
#include "machine/knob/io.h"
#include "tune/persist/netplan.h"
#include "tune/persist/persist.h"
#include "tune/persist/quote.h"

/* --- quoting ---------------------------------------------------------------------------------- */

typedef const char *quoter(struct arena *a, const char *s, const char **why);

static void expect(quoter *quote, const char *s, const char *want)
{
	struct arena a = { 0 };
	const char *why = NULL, *got = quote(&a, s, &why);

	if (want) {
		assert_non_null(got);
		assert_string_equal(got, want);
	} else {
		assert_null(got);
		assert_non_null(why);
	}
	arena_free(&a);
}

static void test_quotes(void **state)
{
	(void)state;
	expect(quote_sysctl, "4096 131072 16777216", "4096 131072 16777216");
	expect(quote_sysctl, "50%;#", "50%;#");
	expect(quote_sysctl, "", NULL);
	expect(quote_sysctl, "1 ", NULL);
	expect(quote_sysctl, "1\nkernel.sysrq = 1", NULL);
	expect(quote_tmpfiles_path, "/sys/a%b", "/sys/a%%b");
	expect(quote_tmpfiles_path, "/sys/a*", NULL);
	expect(quote_tmpfiles_path, "/sys/a b", NULL);
	expect(quote_tmpfiles_path, "sys", NULL);
	expect(quote_tmpfiles, "50%", "50%%");
	expect(quote_tmpfiles, "a\\b c", "a\\\\b c");
	expect(quote_tmpfiles, "-", "\\x2d");
	expect(quote_tmpfiles, "--", "--");
	expect(quote_tmpfiles, "1\nw /x - - - - 1", NULL);
	expect(quote_udev, "mq-deadline", "\"mq-deadline\"");
	expect(quote_udev, "$x%k", "\"$$x%%k\"");
	expect(quote_udev, "a\", RUN+=\"x", NULL);
	expect(quote_udev, "a\\", NULL);
	expect(quote_udev_match, "A|B [x]*\"\\", "\"A?B ?x????\"");
	expect(quote_udev_match, "", NULL);
	expect(quote_yaml, "a\"b\\c", "\"a\\\"b\\\\c\"");
	expect(quote_yaml, "a\nb", NULL);
	expect(quote_unit, "/usr/bin/gputune", "/usr/bin/gputune");
	expect(quote_unit, "/opt/a b/50%$x", "\"/opt/a b/50%%$$x\"");
	expect(quote_unit, "/opt/\"x", "\"/opt/\\\"x\"");
	expect(quote_unit, "/opt/a\nUser=x", NULL);
	expect(quote_interface, "enp1s0f0np0", "enp1s0f0np0");
	expect(quote_interface, "eth0,interface-name:*", NULL);
	expect(quote_interface, "-x", NULL);
}

static void test_quote_modprobe(void **state)
{
	struct arena a = { 0 };

	(void)state;
	assert_string_equal(quote_modprobe(&a, "zfs_arc_max", "8", NULL), "zfs_arc_max=8");
	assert_string_equal(quote_modprobe(&a, "x", "a b", NULL), "x=\"a b\"");
	assert_null(quote_modprobe(&a, "x", "a\"b", NULL));
	assert_null(quote_modprobe(&a, "x", "a\ninstall y z", NULL));
	arena_free(&a);
}

/* --- making ----------------------------------------------------------------------------------- */

struct box {
	struct arena a;
	struct machine *m;
	struct persist_entry rows[32];
	struct persist_target w;
	struct persist p;
};

static void make_box(struct box *b, const char *facts)
{
	*b = (struct box){ .w = { .rows = b->rows, .program = "/usr/bin/gputune" } };
	b->m = fake_machine(&b->a, facts);
}

static void ask(struct box *b, const char *id, enum knob_kind kind, const char *name,
		const char *object, const char *value)
{
	b->rows[b->w.n++] = (struct persist_entry){
		.id = id, .target = "", .knob = { kind, name, object }, .value = value
	};
}

static const char *file(const struct box *b, const char *path)
{
	for (size_t i = 0; i < b->p.n_files; i++)
		if (strcmp(b->p.files[i].path, path) == 0)
			return b->p.files[i].text;
	return NULL;
}

static void has(const struct box *b, const char *path, const char *part)
{
	const char *text = file(b, path);

	if (!text || !strstr(text, part))
		fail_msg("%s has no \"%s\": %s", path, part,
			 text ? text : "no such file or folder");
}

static void test_lines(void **state)
{
	struct box b;

	(void)state;
	make_box(&b, "{'kernel': {'release': '6.8.0'}}");
	ask(&b, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "", "10");
	ask(&b, "memory.dirty-ratio", KNOB_SYSCTL, "vm.dirty_ratio", "", "vm.dirty_bytes=4096");
	ask(&b, "memory.thp-enabled", KNOB_SYSFS, "/sys/kernel/mm/transparent_hugepage/enabled", "",
	    "madvise");
	ask(&b, "zfs.arc-max", KNOB_MODPARAM, "zfs.zfs_arc_max", "", "8589934592");
	ask(&b, "memory.memlock", KNOB_NONE, "", "", "unlimited");
	ask(&b, "pcie.iommu", KNOB_BOOTARG, "iommu", "", "pt");
	ask(&b, "zfs.autotrim", KNOB_ZPROP, "autotrim", "tank", "on");
	ask(&b, "net.rmem-max", KNOB_SYSCTL, "net.core.rmem_max", "", "a\nb");
	/* Named once, however many lines it has. */
	ask(&b, "memory.dirty-ratio", KNOB_SYSCTL, "vm.dirty_background_ratio", "", "5");
	persist_make(&b.a, b.m, &b.w, &b.p);
	has(&b, PERSIST_SYSCTL, "\nvm.dirty_background_ratio = 5\n");
	has(&b, PERSIST_SYSCTL, "\nvm.swappiness = 10\n");
	has(&b, PERSIST_SYSCTL, "\nvm.dirty_bytes = 4096\n");
	has(&b, PERSIST_SYSCTL, "# Written by gputune for: memory.swappiness memory.dirty-ratio\n");
	has(&b, PERSIST_SYSCTL, "gputune persist remove");
	has(&b, PERSIST_TMPFILES,
	    "\nw /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise\n");
	has(&b, PERSIST_MODPROBE, "\noptions zfs zfs_arc_max=8589934592\n");
	has(&b, PERSIST_LIMITS, "\nroot - memlock unlimited\n");
	has(&b, PERSIST_SYSTEM_CONF, "\nDefaultLimitMEMLOCK=infinity\n");
	has(&b, PERSIST_UNIT, "\nExecStart=/usr/bin/gputune apply --boot\n");
	assert_null(strstr(file(&b, PERSIST_UNIT), "ExecStop"));
	assert_int_equal(b.p.rows[5].keeper, PERSIST_IN_BOOT_ARGUMENT);
	assert_int_equal(b.p.rows[6].keeper, PERSIST_IN_SELF);
	assert_non_null(b.p.rows[7].refusal);
	assert_int_equal(b.p.rows[7].keeper, PERSIST_IN_NONE);
	assert_string_equal(b.p.rows[7].by, "");
	assert_null(strstr(file(&b, PERSIST_SYSCTL), "rmem_max"));
	arena_free(&b.a);
}

static void test_nothing(void **state)
{
	struct box b;

	(void)state;
	make_box(&b, "{'kernel': {'release': '6.8.0'}}");
	ask(&b, "zfs.autotrim", KNOB_ZPROP, "autotrim", "tank", "on");
	persist_make(&b.a, b.m, &b.w, &b.p);
	assert_int_equal(b.p.n_files, 0);
	arena_free(&b.a);
}

/* --- udev ------------------------------------------------------------------------------------- */

static const char disks[] =
	"{'storage': {'disks': ["
	"{'name': 'nvme0n1', 'role': 'disk', 'model': 'A', 'rotational': 0, 'read_ahead_kb': 128},"
	"{'name': 'nvme1n1', 'role': 'disk', 'model': 'B', 'rotational': 0, 'read_ahead_kb': 128},"
	"{'name': 'sda', 'role': 'disk', 'model': 'C', 'transport': 'sata', 'rotational': 1,"
	" 'scheduler': 'bfq', 'read_ahead_kb': 128},"
	"{'name': 'sdb', 'role': 'disk', 'model': 'C', 'transport': 'sata', 'rotational': 1,"
	" 'scheduler': 'none', 'read_ahead_kb': 128},"
	"{'name': 'sdc', 'role': 'disk', 'model': 'D', 'transport': 'usb-uas', 'rotational': 1,"
	" 'read_ahead_kb': 128}]}}";

static void test_udev(void **state)
{
	struct box b;

	(void)state;
	make_box(&b, disks);
	ask(&b, "disk.nr-requests", KNOB_SYSFS, "/sys/block/sdc/queue/nr_requests", "", "64");
	ask(&b, "disk.read-ahead", KNOB_SYSFS, "/sys/block/nvme0n1/queue/read_ahead_kb", "",
	    "4096");
	ask(&b, "disk.read-ahead", KNOB_SYSFS, "/sys/block/sda/queue/read_ahead_kb", "", "1024");
	ask(&b, "disk.scheduler", KNOB_SYSFS, "/sys/block/sda/queue/scheduler", "", "none");
	ask(&b, "disk.read-ahead", KNOB_SYSFS, "/sys/block/sdz/queue/read_ahead_kb", "", "1024");
	persist_make(&b.a, b.m, &b.w, &b.p);
	/* The other NVMe disk has another value: only the model tells them apart. */
	has(&b, PERSIST_UDEV,
	    "KERNEL==\"nvme[0-9]*n[0-9]*\", ATTRS{model}==\"A\", "
	    "ATTR{queue/read_ahead_kb}=\"4096\"");
	/* sdb has the value already, so that the whole class agrees. */
	has(&b, PERSIST_UDEV,
	    "ENV{ID_BUS}!=\"usb\", ATTR{queue/rotational}==\"1\", ATTR{queue/scheduler}=\"none\"");
	/* Of one class and one model two values. */
	assert_non_null(strstr(b.p.rows[2].refusal, "same model"));
	has(&b, PERSIST_UDEV,
	    "ENV{ID_BUS}==\"usb\", ATTR{queue/rotational}==\"1\", "
	    "ATTR{queue/nr_requests}=\"64\"");
	assert_non_null(strstr(b.p.rows[4].refusal, "the disk was not found"));
	/* A scheduler sets the depth anew: its rule stands first. */
	assert_true(strstr(file(&b, PERSIST_UDEV), "scheduler") <
		    strstr(file(&b, PERSIST_UDEV), "ATTR{queue/nr_requests}="));
	assert_null(strstr(file(&b, PERSIST_UDEV), "sda"));
	arena_free(&b.a);
}

/* What the other disk of a class has already is the same value as what is asked for the first. */
static void test_udev_agrees(void **state)
{
	static const struct {
		const char *attribute, *fact;
		bool agrees;
	} rows[] = {
		{ "queue/nr_requests", "'nr_requests': 64", true },
		{ "queue/nr_requests", "'nr_requests': 65", false },
		{ "queue/read_ahead_kb", "'read_ahead_kb': 64", true },
		{ "queue/read_ahead_kb", "'nr_requests': 64", false },
		{ "queue/max_sectors_kb", "'max_sectors_kb': 64", true },
		{ "queue/rq_affinity", "'rq_affinity': 64", true },
		{ "queue/nomerges", "'nomerges': 64", true },
		{ "queue/wbt_lat_usec", "'wbt_lat_us': 64", true },
		{ "device/iopolicy", "'nr_requests': 64", false },
		{ "queue/nr_requests", "'wbt_lat_us': 64, 'nomerges': 64", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text;
		struct box b;

		make_box(&b, "{}");
		b.m = fake_machine(
			&b.a,
			arena_printf(&b.a,
				     "{'storage': {'disks': [{'name': 'nvme0n1', 'role': 'disk', "
				     "'model': 'A', 'rotational': 0}, {'name': 'nvme1n1', 'role': "
				     "'disk', 'model': 'B', 'rotational': 0, %s}]}}",
				     rows[i].fact));
		ask(&b, "disk.read-ahead", KNOB_SYSFS,
		    arena_printf(&b.a, "/sys/block/nvme0n1/%s", rows[i].attribute), "", "64");
		persist_make(&b.a, b.m, &b.w, &b.p);
		text = file(&b, PERSIST_UDEV);
		assert_non_null(text);
		if (!strstr(text, "ATTRS{model}") != rows[i].agrees)
			fail_msg("%s with %s: %s", rows[i].attribute, rows[i].fact, text);
		arena_free(&b.a);
	}
}

/* Numbers of mounts change from boot to boot: one rule for all of NFS, or none. */
static void test_udev_mounts(void **state)
{
	static const char mounts[] =
		"{'storage': {'mounts': [{'name': '/a', 'bdi': '0:5', 'type': 'nfs4'}, {'name': "
		"'/b', 'bdi': '0:57', 'type': 'nfs'}, {'name': '/c', 'bdi': '0:60', 'type': "
		"'cifs'}]}}";
	struct box b;

	(void)state;
	make_box(&b, mounts);
	ask(&b, "disk.nfs-read-ahead", KNOB_SYSFS, "/sys/class/bdi/0:57/read_ahead_kb", "",
	    "15360");
	ask(&b, "disk.nfs-read-ahead", KNOB_SYSFS, "/sys/class/bdi/0:5/read_ahead_kb", "", "15360");
	persist_make(&b.a, b.m, &b.w, &b.p);
	has(&b, PERSIST_UDEV,
	    "ACTION==\"add\", SUBSYSTEM==\"bdi\", PROGRAM==\"/usr/bin/awk -v d=%k "
	    "'$$4==d{f=1}END{exit !f}' /proc/fs/nfsfs/volumes\", ATTR{read_ahead_kb}=\"15360\"\n");
	assert_null(strstr(file(&b, PERSIST_UDEV), "0:5"));
	arena_free(&b.a);

	make_box(&b, mounts);
	ask(&b, "disk.nfs-read-ahead", KNOB_SYSFS, "/sys/class/bdi/0:57/read_ahead_kb", "",
	    "15360");
	ask(&b, "disk.nfs-read-ahead", KNOB_SYSFS, "/sys/class/bdi/0:5/read_ahead_kb", "", "1024");
	ask(&b, "disk.nfs-read-ahead", KNOB_SYSFS, "/sys/class/bdi/0:60/read_ahead_kb", "",
	    "15360");
	ask(&b, "disk.nfs-read-ahead", KNOB_SYSFS, "/sys/class/bdi/0:6/read_ahead_kb", "", "15360");
	persist_make(&b.a, b.m, &b.w, &b.p);
	assert_non_null(strstr(b.p.rows[0].refusal, "different values"));
	assert_non_null(strstr(b.p.rows[2].refusal, "this kind of mount"));
	assert_non_null(strstr(b.p.rows[3].refusal, "this kind of mount"));
	arena_free(&b.a);
}

static void test_udev_class(void **state)
{
	struct box b;

	(void)state;
	make_box(&b, disks);
	ask(&b, "disk.read-ahead", KNOB_SYSFS, "/sys/block/nvme0n1/queue/read_ahead_kb", "",
	    "4096");
	ask(&b, "disk.read-ahead", KNOB_SYSFS, "/sys/block/nvme1n1/queue/read_ahead_kb", "",
	    "4096");
	persist_make(&b.a, b.m, &b.w, &b.p);
	has(&b, PERSIST_UDEV,
	    "KERNEL==\"nvme[0-9]*n[0-9]*\", ATTR{queue/read_ahead_kb}=\"4096\"\n");
	assert_null(strstr(strstr(file(&b, PERSIST_UDEV), "ATTR{queue") + 1, "ATTR{queue"));
	arena_free(&b.a);
}

/* --- links ------------------------------------------------------------------------------------ */

static const char links[] =
	"{'net': {'nics': ["
	"{'name': 'eth0', 'pci': '0000:01:00.0', 'type': 'ethernet', 'owner': 'netplan', 'mac':"
	" '02:00:00:00:00:01', 'ipv4': '10.0.0.1/24'},"
	"{'name': 'eth1', 'pci': '0000:01:00.1', 'type': 'ethernet', 'owner': 'netplan', 'mac':"
	" '02:00:00:00:00:02', 'ipv4': '10.0.1.1/24'},"
	"{'name': 'eth2', 'type': 'ethernet', 'owner': 'NetworkManager'},"
	"{'name': 'ib0', 'type': 'infiniband', 'owner': 'NetworkManager'},"
	"{'name': 'eth3', 'type': 'ethernet', 'owner': 'networkd'},"
	"{'name': 'eth4', 'type': 'ethernet', 'owner': 'ifupdown'},"
	"{'name': 'eth5', 'pci': '0000:02:00.0', 'type': 'ethernet', 'owner': '!absent'},"
	"{'name': 'eth6', 'type': 'ethernet', 'owner': '!denied'},"
	"{'name': 'ens8', 'type': 'ethernet', 'owner': '!absent', 'mac': '02:00:00:00:00:08',"
	" 'ipv4': '10.0.8.1/24'},"
	"{'name': 'ens9', 'type': 'ethernet', 'owner': '!absent', 'mac': '02:00:00:00:00:09'}]}}";

static const struct persist_source sources[] = {
	{ "/etc/netplan/50-cloud-init.yaml",
	  "# cloud\nnetwork:\n  version: 2\n  ethernets:\n    uplink:\n      match:\n"
	  "        macaddress: \"02:00:00:00:00:01\"\n      set-name: eth0\n      dhcp4: true\n" },
	{ "/etc/netplan/60-rail.yaml",
	  "network:\n  ethernets:\n    rail:\n      match: {macaddress: \"02:00:00:00:00:08\"}\n" },
	{ "/etc/netplan/95-site.yaml", "network:\n  ethernets:\n    uplink:\n      mtu: 1500\n" },
	{ "/etc/systemd/network/20-lan.network",
	  "[Match]\nName=eth3 eth7\n\n[Network]\nDHCP=yes\n" },
	{ "/etc/systemd/network/30-address.network", "[Match]\nMACAddress=02:00:00:00:00:09\n" },
	{ "/run/systemd/network/10-netplan-rail.network",
	  "[Match]\nPermanentMACAddress=02:00:00:00:00:08\n\n[Network]\nAddress=10.0.8.1/24\n" },
};

static void test_links(void **state)
{
	static const char *const names[] = { "eth0", "eth1", "eth2", "ib0",  "eth3",
					     "eth4", "eth5", "eth6", "ens8", "ens9" };
	struct box b;

	(void)state;
	make_box(&b, links);
	b.w.sources = sources;
	b.w.n_sources = sizeof(sources) / sizeof(sources[0]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ask(&b, "nic.mtu", KNOB_LINK, "mtu", names[i], "9000");
	persist_make(&b.a, b.m, &b.w, &b.p);
	has(&b, PERSIST_NETPLAN,
	    "network:\n  version: 2\n  ethernets:\n    \"uplink\":\n      mtu: 9000\n");
	/* Nobody says what netplan makes of it, and it has an address: taking it over could cut it.
	 */
	assert_non_null(strstr(b.p.rows[1].refusal, "add mtu"));
	has(&b, PERSIST_NM, "match-device=interface-name:eth2\nethernet.mtu=9000\n");
	has(&b, PERSIST_NM, "match-device=interface-name:ib0\ninfiniband.mtu=9000\n");
	has(&b, "/etc/systemd/network/20-lan.network.d/90-gputune.conf", "[Link]\nMTUBytes=9000\n");
	assert_non_null(strstr(b.p.rows[5].refusal, "ifupdown"));
	assert_int_equal(b.p.rows[6].keeper, PERSIST_IN_UNIT);
	assert_string_equal(b.p.rows[6].device, "0000:02:00.0");
	assert_non_null(b.p.rows[7].refusal);
	/* No file is called after these: what netplan made of its own, and what networkd reads,
	 * tells. */
	has(&b, PERSIST_NETPLAN, "    \"rail\":\n      mtu: 9000\n      set-name: \"ens8\"\n");
	/* Its own file says how it is called. */
	assert_null(strstr(file(&b, PERSIST_NETPLAN), "eth0"));
	has(&b, "/etc/systemd/network/30-address.network.d/90-gputune.conf", "MTUBytes=9000\n");
	/* A later file has another value. */
	assert_string_equal(b.p.rows[0].loses, "/etc/netplan/95-site.yaml sets 1500");
	for (size_t i = 0; i < b.p.n_files; i++)
		if (strcmp(b.p.files[i].path, PERSIST_NETPLAN) == 0)
			assert_int_equal(b.p.files[i].mode, 0600);
	arena_free(&b.a);
}

static void test_netplan(void **state)
{
	static const char text[] =
		"network:\n  ethernets:\n    \"a b\":\n      match: {}\n"
		"    wild:\n      match:\n        name: 'en*'\n      mtu: 1400 # x\n"
		"  bonds:\n    bond0:\n      interfaces: [eth0]\n";
	static const char by_address[] =
		"network:\n  ethernets:\n    x:\n      match:\n        macaddress: 02:aa\n"
		"    y:\n      macaddress: 02:ab\n";
	struct arena a = { 0 };
	const char *section = NULL;

	(void)state;
	assert_string_equal(netplan_find(&a, text, "enp1", "", &section), "wild");
	assert_string_equal(section, "ethernets");
	assert_string_equal(netplan_value(&a, text, "ethernets", "wild", "mtu"), "1400");
	assert_false(netplan_is_by_address(&a, text, "ethernets", "wild"));
	assert_true(netplan_is_by_address(&a, by_address, "ethernets", "x"));
	assert_false(netplan_is_by_address(&a, by_address, "ethernets", "y"));
	assert_string_equal(netplan_find(&a, text, "bond0", "", &section), "bond0");
	assert_string_equal(section, "bonds");
	assert_string_equal(netplan_find(&a, text, "a b", "", &section), "a b");
	assert_null(netplan_find(&a, text, "eth0", "", &section));
	assert_null(netplan_find(&a, "network: {ethernets: {eth0: {}}}", "eth0", "", &section));
	assert_null(netplan_find(&a, ":\n  :\n :::\n\t- x:\n   eth0:", "eth0", "", &section));
	assert_true(networkd_matches(&a, "[Match]\nName=en* lo\n", "eno1", ""));
	assert_false(networkd_matches(&a, "[Network]\nName=en*\n", "eno1", ""));
	assert_true(networkd_matches(&a, "[Match]\nMACAddress=02:aa\n", "eno1", "02:AA"));
	assert_false(networkd_matches(&a, "[Match]\nMACAddress=02:aa\nName=eth*", "eno1", "02:aa"));
	assert_false(networkd_matches(&a, "[Match]\nMACAddress=\n", "eno1", ""));
	/* Blanks around the sign are no part of the key. */
	assert_true(networkd_matches(&a, "[Match]\nName = en*\n", "eno1", ""));
	assert_false(
		networkd_matches(&a, "[Match]\nMACAddress=02:aa\nName\t=eth*", "eno1", "02:aa"));
	assert_false(networkd_matches(&a, "[Match]\nNames=en*\n", "eno1", ""));
	arena_free(&a);
}

/* --- who would win ---------------------------------------------------------------------------- */

static void test_losers(void **state)
{
	static const struct persist_source menu = { "/etc/default/grub.d/zzz-image.cfg",
						    "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n" };
	struct box b;

	(void)state;
	make_box(
		&b,
		"{'software': {'services': [{'name': 'tuned.service', 'installed': 1, 'enabled': 1,"
		" 'active': 1}]}, 'config': {'assignments': ["
		"{'name': 'vm.swappiness', 'kind': 'sysctl', 'file': '/etc/sysctl.d/99-zzz.conf',"
		" 'line': 3, 'rank': 400000, 'value': '60'},"
		"{'name': 'net.core.rmem_max', 'kind': 'sysctl', 'file': '/etc/sysctl.d/50-a.conf',"
		" 'line': 1, 'rank': 300000, 'value': '1'},"
		"{'name': 'net.core.wmem_max', 'kind': 'sysctl', 'file': "
		"'/etc/sysctl.d/99-zzz.conf',"
		" 'line': 4, 'rank': 400001, 'value': '10'}]}}");
	b.w.sources = &menu;
	b.w.n_sources = 1;
	ask(&b, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "", "10");
	ask(&b, "kernel.x", KNOB_SYSCTL, "kernel.watchdog", "", "0");
	ask(&b, "net.rmem-max", KNOB_SYSCTL, "net.core.rmem_max", "", "10");
	ask(&b, "net.wmem-max", KNOB_SYSCTL, "net.core.wmem_max", "", "10");
	ask(&b, "pcie.iommu", KNOB_BOOTARG, "iommu", "", "pt");
	persist_make(&b.a, b.m, &b.w, &b.p);
	assert_string_equal(b.p.rows[0].loses, "/etc/sysctl.d/99-zzz.conf:3 sets 60");
	assert_non_null(strstr(b.p.rows[0].contested, "tuned.service"));
	assert_null(b.p.rows[1].loses);
	/* An earlier file, and one that says the same. */
	assert_null(b.p.rows[2].loses);
	assert_null(b.p.rows[3].loses);
	assert_non_null(strstr(b.p.rows[4].loses, "zzz-image.cfg resets"));
	arena_free(&b.a);
}

/* An argument of the kernel sets what a sysctl is before any file of ours is read; another file
 * for arguments that is read after ours wins. */
static void test_argument_losers(void **state)
{
	static const char facts[] =
		"{'config': {'assignments': ["
		"{'name': 'numa_balancing', 'kind': 'boot-argument', 'file': "
		"'/etc/default/grub.d/zzz-site.cfg', 'line': 1, 'rank': 1, 'value': 'enable'},"
		"{'name': 'iommu', 'kind': 'boot-argument', 'file': "
		"'/etc/default/grub.d/zzz-site.cfg', 'line': 2, 'rank': 2, 'value': 'off'}]}}";
	struct box b;

	(void)state;
	make_box(&b, facts);
	ask(&b, "kernel.numa-balancing", KNOB_SYSCTL, "kernel.numa_balancing", "", "0");
	ask(&b, "pcie.iommu", KNOB_BOOTARG, "iommu", "", "pt");
	persist_make(&b.a, b.m, &b.w, &b.p);
	assert_null(b.p.rows[0].loses);
	assert_non_null(b.p.rows[1].loses);
	assert_non_null(strstr(b.p.rows[1].loses, "zzz-site.cfg:2"));
	arena_free(&b.a);
}

/* Which of a setting's targets a knob belongs to. */
static void test_target(void **state)
{
	static const struct knob
		policy = { KNOB_SYSFS, "/sys/devices/system/cpu/cpufreq/policy4/scaling_governor",
			   "" },
		swap = { KNOB_SYSCTL, "vm.swappiness", "" };
	struct persist_targets cache = { 0 };
	struct box b;

	(void)state;
	make_box(&b, "{'cpu': {'policies': [{'index': 0, 'governor': 'x'}, {'index': 4, "
		     "'governor': 'x'}]}}");
	assert_null(persist_target(&b.a, b.m, "no.such", &swap, &cache));
	assert_string_equal(persist_target(&b.a, b.m, "memory.swappiness", &swap, &cache), "");
	assert_null(persist_target(&b.a, b.m, "memory.swappiness", &policy, &cache));
	for (int again = 0; again < 2; again++)
		assert_non_null(persist_target(&b.a, b.m, "cpu.governor", &policy, &cache));
	assert_null(persist_target(&b.a, b.m, "cpu.governor", &swap, &cache));
	arena_free(&b.a);
}

/* limits.d and system.conf.d: who comes after ours, and whom ours does not mean. */
static void test_limits_losers(void **state)
{
	static const struct {
		struct persist_source file;
		const char *loses, *contested;
	} cases[] = {
		{ { "/etc/security/limits.d/99-site.conf",
		    "# memlock\n* soft nofile 9\n*\thard memlock 65536 # small\n" },
		  "/etc/security/limits.d/99-site.conf:3 sets 65536 for *",
		  NULL },
		{ { "/etc/security/limits.d/99-site.conf", "* - memlock unlimited\n" },
		  NULL,
		  NULL },
		{ { "/etc/security/limits.d/20-site.conf", "* - memlock 64\n" }, NULL, NULL },
		{ { "/etc/security/limits.conf", "* - memlock 64\nroot hard memlock 64" },
		  NULL,
		  NULL },
		{ { "/etc/security/limits.conf", "\n@hpc hard memlock 64\n" },
		  NULL,
		  "/etc/security/limits.conf:2 sets 64 for @hpc" },
		{ { "/etc/security/limits.d/90-gputune.conf", "@hpc hard memlock 64\n" },
		  NULL,
		  NULL },
		{ { "/usr/lib/systemd/system.conf.d/95-x.conf",
		    "[Manager]\nDefaultLimitMEMLOCK = 64M \t\n" },
		  "/usr/lib/systemd/system.conf.d/95-x.conf:2 sets 64M for services",
		  NULL },
		{ { "/etc/systemd/system.conf.d/10-x.conf", "DefaultLimitMEMLOCK=64M" },
		  NULL,
		  NULL },
		{ { "/etc/systemd/system.conf.d/95-x.conf", "#DefaultLimitMEMLOCK=64M" },
		  NULL,
		  NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct box b;

		make_box(&b, "{}");
		b.w.sources = &cases[i].file;
		b.w.n_sources = 1;
		ask(&b, PERSIST_MEMLOCK, KNOB_NONE, "", "", "unlimited");
		persist_make(&b.a, b.m, &b.w, &b.p);
		assert_int_equal(b.p.rows[0].keeper, PERSIST_IN_LIMITS);
		assert_string_equal(b.p.rows[0].loses ? b.p.rows[0].loses : "",
				    cases[i].loses ? cases[i].loses : "");
		assert_string_equal(b.p.rows[0].contested ? b.p.rows[0].contested : "",
				    cases[i].contested ? cases[i].contested : "");
		arena_free(&b.a);
	}
}

/* What systemd reads in another order than by the names of the files. */
static void test_sysctl_order(void **state)
{
	static const char lines[] =
		"'config': {'assignments': ["
		"{'name': 'vm.swappiness', 'kind': 'sysctl', 'file': '/etc/sysctl.conf',"
		" 'line': 1, 'rank': 300000, 'value': '60'},"
		"{'name': 'net.core.*', 'kind': 'sysctl', 'file': '/etc/sysctl.d/zzz.conf',"
		" 'line': 2, 'rank': 400000, 'value': '7'}]}}";
	static const char *const inits[] = { "systemd", "sysvinit" };
	TEXT_AUTO facts = { 0 };
	struct box b;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		text_clear(&facts);
		text_printf(&facts, "{'software': {'init': '%s'}, %s", inits[i], lines);
		make_box(&b, facts.s);
		ask(&b, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "", "10");
		ask(&b, "net.rmem-max", KNOB_SYSCTL, "net.core.rmem_max", "", "10");
		persist_make(&b.a, b.m, &b.w, &b.p);
		/* A folder links to it as 99-sysctl.conf; elsewhere it comes last. */
		if (i == 0)
			assert_null(b.p.rows[0].loses);
		else
			assert_string_equal(b.p.rows[0].loses, "/etc/sysctl.conf:1 sets 60");
		/* A pattern never touches what is named. */
		assert_null(b.p.rows[1].loses);
		arena_free(&b.a);
	}
}

/* --- the request ------------------------------------------------------------------------------ */

static void test_request(void **state)
{
	struct persist_entry rows[300], *back;
	struct arena a = { 0 };
	struct err e = { 0 };
	const char *text;
	size_t n;

	(void)state;
	for (unsigned i = 0; i < 256; i++)
		rows[i] = (struct persist_entry){
			.id = "cpu.governor",
			.target = "",
			.knob = { KNOB_SYSFS,
				  arena_printf(&a,
					       "/sys/devices/system/cpu/cpufreq/policy%u/"
					       "scaling_governor",
					       i),
				  "" },
			.value = i == 7 ? "powersave" : "performance",
			.device = "",
			.keeper = PERSIST_IN_UNIT,
			.by = PERSIST_UNIT_NAME
		};
	rows[256] = (struct persist_entry){ .id = "nic.mrrs",
					    .knob = { KNOB_PCI, "mrrs", "0000:01:00.0" },
					    .value = "4096",
					    .device = "15b3:1021",
					    .keeper = PERSIST_IN_UNIT,
					    .by = PERSIST_UNIT_NAME };
	rows[257] = (struct persist_entry){ .id = "memory.memlock",
					    .knob = { KNOB_NONE, "", "" },
					    .value = "unlimited",
					    .device = "",
					    .keeper = PERSIST_IN_LIMITS,
					    .by = PERSIST_LIMITS };
	rows[258] = (struct persist_entry){ .id = "x", .keeper = PERSIST_IN_NONE };
	text = persist_request(&a, rows, 259);
	assert_true(strlen(text) < 3000);
	assert_non_null(strstr(text, "\"0-6,8-255\""));
	assert_int_equal(persist_request_read(&a, text, strlen(text), &back, &n, &e), 0);
	assert_int_equal(n, 258);
	assert_string_equal(persist_request(&a, back, n), text);
	assert_string_equal(back[256].device, "15b3:1021");
	arena_free(&a);
}

static void refuses(const char *text, const char *part)
{
	struct arena a = { 0 };
	struct persist_entry *rows;
	struct err e = { 0 };
	size_t n;
	char *json = arena_strdup(&a, text);

	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	assert_int_equal(persist_request_read(&a, json, strlen(json), &rows, &n, &e), -EINVAL);
	if (!strstr(e.text, part))
		fail_msg("\"%s\" does not say \"%s\"", e.text, part);
	arena_free(&a);
}

#define HEAD "{'schema': 'gputune.boot/1', 'written_by': 'x', 'rows': ["
#define REQUEST(id, kind, name, numbers, value) "{" REQUEST_KEYS(id, kind, name, numbers, value) "}"
#define REQUEST_KEYS(id, kind, name, numbers, value)                                               \
	"'id': '" id "', 'kind': '" kind "', 'name': '" name                                       \
	"', 'object': '', 'numbers': '" numbers "', 'value': '" value                              \
	"', 'device': '', 'keeper': 'unit', 'by': ''"

static void test_request_refuses(void **state)
{
	(void)state;
	refuses("", "boot.json");
	refuses("[]", "not a list of values that gputune wrote");
	refuses("{'schema': 'gputune.boot/3', 'written_by': 'x', 'rows': []}", "gputune.boot/3");
	refuses("{'schema': 'gputune.boot/1', 'written_by': 'x', 'rows': [], 'exec': 'x'}",
		"not a list of values that gputune wrote");
	refuses(HEAD "{}]}", "rows[0].id: missing");
	refuses(HEAD
		"{'exec': 'x', " REQUEST_KEYS("memory.swappiness", "sysctl", "x", "", "1") "}]}",
		"row 1: a row does not have the required 9 keys");
	refuses(HEAD REQUEST("no.such", "sysctl", "vm.swappiness", "", "1") "]}", "no.such");
	refuses(HEAD REQUEST("memory.swappiness", "shell", "x", "", "1") "]}",
		"rows[0].kind: not an allowed value");
	refuses(HEAD REQUEST("memory.swappiness", "file", "/etc/gputune/x.json", "", "absent") "]}",
		"rows[0].kind: not an allowed value");
	refuses(HEAD REQUEST("memory.swappiness", "sysfs", "/sys/../etc/shadow", "", "1") "]}",
		"row 1");
	refuses(HEAD REQUEST("memory.swappiness", "sysctl", "vm.swappiness", "", "1\\n2") "]}",
		"control characters");
	refuses(HEAD REQUEST("memory.swappiness", "sysctl", "vm.swappiness", "0-3", "1") "]}",
		"numbers");
	refuses(HEAD REQUEST("cpu.governor", "sysfs",
			     "/sys/devices/system/cpu/cpufreq/policy{}/scaling_governor", "0-99999",
			     "powersave") "]}",
		"more than");
	refuses(HEAD REQUEST("memory.swappiness", "sysctl", "kernel.core_pattern", "", "1") "]}",
		"gputune does not change kernel.core_pattern");
	refuses(HEAD REQUEST("memory.swappiness", "sysctl", "vm.swappiness", "", "201") "]}",
		"row 1: memory.swappiness: vm.swappiness takes 0 to 200, not \"201\"");
	refuses(HEAD REQUEST("memory.swappiness", "check", "", "", "1") "]}", "memory.swappiness");
	refuses(HEAD REQUEST("memory.dirty-ratio", "sysctl", "vm.dirty_ratio", "", "x") "]}",
		"not a number or NAME=NUMBER of the alternative limit");
	refuses("{'schema': 'gputune.boot/2', 'written_by': 'x', 'rows': [{"
		"'id': 'memory.dirty-ratio', 'kind': 'sysctl', 'name': 'vm.dirty_ratio', "
		"'object': '', 'numbers': '', 'value': '5', 'device': '', 'keeper': 'sysctl', "
		"'by': '', 'before': 'x'}]}",
		"not a number or NAME=NUMBER of the alternative limit");
}

static void test_find(void **state)
{
	struct arena a = { 0 };
	struct machine *m = fake_machine(
		&a, "{'net': {'nics': [{'name': 'new0', 'pci': '0000:01:00.0'},"
		    "{'name': 'old0', 'pci': '0000:02:00.0'}]}, 'pci': [{'name': '0000:01:00.0',"
		    " 'vendor': 5555, 'device': 4129}], 'cpu': {'idle': [{'cpus': '0-3', 'states':"
		    " [{'index': 2, 'name': 'C6'}]}]}}");
	struct persist_entry row = { .knob = { KNOB_LINK, "mtu", "old0" },
				     .device = "0000:01:00.0" };
	const struct knob *k;
	const char *why = NULL;

	(void)state;
	/* The name went to another device: the device counts. */
	k = persist_find(&a, m, &row, &why);
	assert_non_null(k);
	assert_string_equal(k->object, "new0");
	row.device = "0000:09:00.0";
	assert_null(persist_find(&a, m, &row, &why));
	row = (struct persist_entry){ .knob = { KNOB_PCI, "mrrs", "0000:01:00.0" },
				      .device = "15b3:1021" };
	assert_non_null(persist_find(&a, m, &row, &why));
	row.device = "10de:2330";
	assert_null(persist_find(&a, m, &row, &why));
	assert_non_null(strstr(why, "15b3:1021"));
	row = (struct persist_entry){
		.knob = { KNOB_SYSFS, "/sys/devices/system/cpu/cpu1/cpuidle/state2/disable", "" },
		.device = "C6"
	};
	assert_non_null(persist_find(&a, m, &row, &why));
	row.device = "C2";
	assert_null(persist_find(&a, m, &row, &why));
	arena_free(&a);
}

/* --- the files themselves --------------------------------------------------------------------- */

static void test_file_value(void **state)
{
	static const char bytes[] = "a\n\t\\b\001\377%\"'";
	struct arena a = { 0 };
	const char *value = knob_file_value(&a, 0640, bytes, sizeof(bytes) - 1), *text;
	unsigned mode;
	size_t len;

	(void)state;
	assert_string_equal(value, "0640:a\\n\\t\\\\b\\0001\\0377%\"'");
	assert_true(knob_file_parse(&a, value, &mode, &text, &len));
	assert_int_equal(mode, 0640);
	assert_int_equal(len, sizeof(bytes) - 1);
	assert_memory_equal(text, bytes, len);
	assert_false(knob_file_parse(&a, "0640", &mode, &text, &len));
	assert_false(knob_file_parse(&a, "06", &mode, &text, &len));
	assert_false(knob_file_parse(&a, "0680:x", &mode, &text, &len));
	assert_false(knob_file_parse(&a, "0644:\\x", &mode, &text, &len));
	assert_false(knob_file_parse(&a, "0644:\\0", &mode, &text, &len));
	assert_false(knob_file_parse(&a, "0644:\\0777", &mode, &text, &len));
	arena_free(&a);
}

static bool is_valid(const char *name, const char *value)
{
	const struct knob k = { KNOB_FILE, name, "" };

	return knob_valid(&k, value, NULL);
}

static void test_file_names(void **state)
{
	char longest[HOST_PATH_MAX + 6] = "";

	(void)state;
	assert_true(is_valid(PERSIST_SYSCTL, "0644:x"));
	assert_true(is_valid(PERSIST_UNIT, "absent"));
	assert_true(is_valid(PERSIST_UNIT_LINK, "link:" PERSIST_UNIT));
	assert_true(is_valid("/etc/systemd/network/20-lan.network.d/90-gputune.conf", "absent"));
	assert_true(is_valid("/etc/gputune/", "0755:"));
	assert_false(is_valid("/etc/gputune/", "0755:x"));
	assert_false(is_valid("/etc/passwd", NULL));
	assert_false(is_valid("/etc/sysctl.d/99-site.conf", NULL));
	assert_false(is_valid("/etc/sysctl.d/../gputune.conf", NULL));
	assert_false(is_valid("/etc/sysctl.d/x/gputune.conf", NULL));
	assert_false(is_valid("/etc/systemd/system/ssh.service", NULL));
	assert_false(is_valid("/etc/", NULL));
	assert_false(is_valid("/etc/systemd/network/../../x.d/gputune.conf", NULL));
	assert_false(is_valid(PERSIST_SYSCTL, "0644:a\nb"));
	assert_false(is_valid(PERSIST_SYSCTL, "x"));
	assert_false(is_valid(PERSIST_UNIT_LINK, "link:../x"));
	memset(longest, 'x', sizeof(longest) - 1);
	memcpy(longest, "link:/", strlen("link:/"));
	assert_false(is_valid(PERSIST_UNIT_LINK, longest));
	longest[HOST_PATH_MAX + 4] = '\0';
	assert_true(is_valid(PERSIST_UNIT_LINK, longest));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	return remove(path);
}

static void test_file_set(void **state)
{
	static const struct knob folder = { KNOB_FILE, "/etc/gputune/", "" },
				 k = { KNOB_FILE, PERSIST_REQUEST, "" },
				 link = { KNOB_FILE, PERSIST_UNIT_LINK, "" };
	char overlay[] = "/tmp/gputune-test-XXXXXX";
	struct arena a = { 0 };
	struct err e = { 0 };
	struct host *h;
	const char *v;

	(void)state;
	assert_non_null(mkdtemp(overlay));
	h = host_open_overlay(MACHINES "/nothing", overlay, &e);
	assert_non_null(h);
	assert_int_equal(knob_get(h, &a, &folder, &v, &e), 0);
	assert_string_equal(v, "absent");
	assert_int_equal(knob_set(h, &a, &folder, "0755:", &e), 0);
	assert_int_equal(knob_set(h, &a, &k, "0644:a\\n", &e), 0);
	assert_int_equal(knob_get(h, &a, &k, &v, &e), 0);
	assert_string_equal(v, "0644:a\\n");
	assert_int_equal(knob_get(h, &a, &folder, &v, &e), 0);
	assert_string_equal(v, "0755:others");
	assert_int_equal(knob_set(h, &a, &link, "link:" PERSIST_UNIT, &e), 0);
	assert_int_equal(knob_get(h, &a, &link, &v, &e), 0);
	assert_string_equal(v, "link:" PERSIST_UNIT);
	assert_int_equal(knob_set(h, &a, &link, "absent", &e), 0);
	assert_int_equal(knob_set(h, &a, &k, "absent", &e), 0);
	assert_int_equal(knob_set(h, &a, &k, "absent", &e), 0);
	assert_int_equal(knob_set(h, &a, &folder, "absent", &e), 0);
	assert_int_equal(knob_get(h, &a, &folder, &v, &e), 0);
	assert_string_equal(v, "absent");
	arena_free(&a);
	host_close(h);
	assert_int_equal(nftw(overlay, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_quote_modprobe),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_udev),
		cmocka_unit_test(test_udev_class),
		cmocka_unit_test(test_udev_mounts),
		cmocka_unit_test(test_udev_agrees),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_netplan),
		cmocka_unit_test(test_losers),
		cmocka_unit_test(test_argument_losers),
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_limits_losers),
		cmocka_unit_test(test_sysctl_order),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_request_refuses),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_file_value),
		cmocka_unit_test(test_file_names),
		cmocka_unit_test(test_file_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
