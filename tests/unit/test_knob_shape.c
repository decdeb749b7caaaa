/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan or a journal may say of a knob: names and values at their bounds, the modes that our
 * files have, the commands and sentences that people read. */
#include "box.h"

#include <limits.h>
#include <net/if.h>

#include "machine/host/host.h"
#include "machine/knob/io.h"

#define EQUAL(a, b) assert_string_equal(a, b)

static bool is_valid(enum knob_kind kind, const char *name, const char *object, const char *value)
{
	const struct knob k = { kind, name, object };

	return knob_valid(&k, value, NULL);
}

/* So many letters. */
static const char *letters(struct arena *a, size_t n)
{
	char *s = arena_alloc(a, n + 1);

	memset(s, 'x', n);
	s[n] = '\0';
	return s;
}

static void test_lengths(void **state)
{
	static const char conf[] = "/etc/sysctl.d/99-gputune.conf";
	struct arena a = { 0 };

	(void)state;
	assert_true(is_valid(KNOB_LINK, "mtu", letters(&a, IFNAMSIZ - 1), NULL));
	assert_false(is_valid(KNOB_LINK, "mtu", letters(&a, IFNAMSIZ), NULL));
	assert_true(is_valid(KNOB_SYSCTL, "vm.x", "", letters(&a, 4096)));
	assert_false(is_valid(KNOB_SYSCTL, "vm.x", "", letters(&a, 4097)));
	assert_true(is_valid(KNOB_FILE, conf, "", arena_printf(&a, "0644:%s", letters(&a, 5000))));
	assert_false(is_valid(KNOB_FILE, conf, "", letters(&a, (1 << 20) + 1)));
	assert_false(is_valid(KNOB_FILE, conf, "x", NULL));
	assert_false(is_valid(KNOB_SYSCTL, "", "", NULL));
	assert_false(is_valid(KNOB_SYSCTL, "vm.x\n", "", NULL));
	assert_false(is_valid(KNOB_SYSCTL, "vm.x", "", "\x7f"));
	assert_false(is_valid(KNOB_KINDS, "vm.x", "", "1"));
	assert_false(is_valid(KNOB_NONE, "vm.x", "", "1"));
	arena_free(&a);
}

static void test_numbers(void **state)
{
	static const struct {
		const char *name, *value;
		bool sound;
	} rows[] = {
		{ "mtu", "68", true },		 { "mtu", "67", false },
		{ "mtu", "65536", true },	 { "mtu", "65537", false },
		{ "mtu", "x", false },		 { "mtu", "", false },
		{ "mtu", "-1", false },		 { "speed", "1", false },
		{ "rx-ring", "1024", true },	 { "rx-ring", "1048576", true },
		{ "rx-ring", "1048577", false }, { "rx-ring", "x", false },
		{ "adaptive-rx", "1", true },	 { "adaptive-rx", "2", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (is_valid(KNOB_LINK, rows[i].name, "eth0", rows[i].value) != rows[i].sound)
			fail_msg("%s %s is %s", rows[i].name, rows[i].value,
				 rows[i].sound ? "refused" : "taken");
}

static void test_addresses(void **state)
{
	static const struct {
		const char *address;
		bool sound;
	} rows[] = {
		{ "192.168.100.1/24", true },
		{ "10.0.0.1/32", true },
		{ "10.0.0.1/1", true },
		{ "10.0.0.1/33", false },
		{ "10.0.0.1/0", false },
		{ "10.0.0.1/024", false },
		{ "10.0.0.1", false },
		{ "10.0.0.01/24", false },
		{ "10.0.0.256/24", false },
		{ "10.0.0/24", false },
		{ "fe80::1/64", false },
		{ "10.0.0.1/x", false },
		{ "/24", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (is_valid(KNOB_ADDRESS, rows[i].address, "eth0", "present") != rows[i].sound)
			fail_msg("%s is %s", rows[i].address, rows[i].sound ? "refused" : "taken");
	assert_true(is_valid(KNOB_ADDRESS, "10.0.0.1/24", "eth0", "absent"));
	assert_false(is_valid(KNOB_ADDRESS, "10.0.0.1/24", "eth0", "there"));
	assert_false(is_valid(KNOB_ADDRESS, "10.0.0.1/24", "a b", "absent"));
}

/* A capture does not say of a file which mode it had: it has the one that its kind has. */
static void test_modes(void **state)
{
	static const struct {
		const char *name, *mode;
	} rows[] = {
		{ "/etc/gputune/boot.json", "0644" },
		{ "/etc/sysctl.d/99-zz-gputune.conf", "0644" },
		{ "/etc/tmpfiles.d/zz-gputune.conf", "0644" },
		{ "/etc/udev/rules.d/99-gputune.rules", "0644" },
		{ "/etc/modprobe.d/gputune.conf", "0644" },
		{ "/etc/systemd/system/gputune-boot.service", "0644" },
		{ "/etc/systemd/system/multi-user.target.wants/gputune-boot.service", "0644" },
		{ "/etc/systemd/system/x.service.d/90-gputune.conf", "0644" },
		{ "/etc/systemd/system.conf.d/90-gputune.conf", "0644" },
		{ "/etc/systemd/network/20-lan.network.d/90-gputune.conf", "0644" },
		{ "/etc/systemd/network/10-gputune.network", "0644" },
		{ "/run/systemd/network/10-gputune.network", "0644" },
		{ "/etc/default/grub.d/zz-gputune.cfg", "0644" },
		{ "/etc/netplan/99-gputune.yaml", "0600" },
		{ "/run/netplan/99-gputune.yaml", "0600" },
		{ "/etc/NetworkManager/conf.d/90-gputune.conf", "0644" },
		{ "/etc/NetworkManager/system-connections/gputune.nmconnection", "0600" },
		{ "/run/NetworkManager/system-connections/gputune.nmconnection", "0600" },
		{ "/etc/security/limits.d/90-gputune.conf", "0644" },
		{ "/etc/gputune/", "0755" },
		{ "/etc/sysctl.d/", "0755" },
		{ "/etc/tmpfiles.d/", "0755" },
		{ "/etc/udev/", "0755" },
		{ "/etc/udev/rules.d/", "0755" },
		{ "/etc/modprobe.d/", "0755" },
		{ "/etc/systemd/", "0755" },
		{ "/etc/systemd/system/", "0755" },
		{ "/etc/systemd/system/multi-user.target.wants/", "0755" },
		{ "/etc/systemd/system/x.service.d/", "0755" },
		{ "/etc/systemd/system.conf.d/", "0755" },
		{ "/etc/systemd/network/", "0755" },
		{ "/etc/systemd/network/20-lan.network.d/", "0755" },
		{ "/run/systemd/network/", "0755" },
		{ "/etc/netplan/", "0755" },
		{ "/run/netplan/", "0755" },
		{ "/etc/NetworkManager/", "0755" },
		{ "/etc/NetworkManager/conf.d/", "0755" },
		{ "/etc/NetworkManager/system-connections/", "0700" },
		{ "/run/NetworkManager/", "0755" },
		{ "/run/NetworkManager/system-connections/", "0755" },
		{ "/etc/security/", "0755" },
		{ "/etc/security/limits.d/", "0755" },
	};
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
	struct arena a = { 0 };
	struct err e = { 0 };
	struct box box;
	struct host *h;

	(void)state;
	box_make(&box);
	box_file(&box, "meta.json", BOX_META("absent"));
	for (size_t i = 0; i < ROWS; i++)
		if (!strchr("/", rows[i].name[strlen(rows[i].name) - 1]))
			box_file(&box, arena_printf(&a, "root%s", rows[i].name), "x");
	h = host_open_capture(box.dir, &e);
	if (!h)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < ROWS; i++) {
		const struct knob k = { KNOB_FILE, rows[i].name, "" };
		const char *now = "";

		assert_int_equal(knob_get(h, &a, &k, &now, &e), 0);
		if (strncmp(now, rows[i].mode, 4) != 0)
			fail_msg("%s is %s", rows[i].name, now);
	}
	host_close(h);
	arena_free(&a);
	box_remove(&box);
}

static const char *command(struct arena *a, const char *name, const char *value)
{
	const struct knob k = { KNOB_FILE, name, "" };

	return knob_command(a, &k, value);
}

static void test_commands(void **state)
{
	static const char conf[] = "/etc/sysctl.d/99-gputune.conf",
			  wants[] = "/etc/systemd/system/x.wants/gputune-boot.service";
	static const struct knob address = { KNOB_ADDRESS, "10.0.0.1/24", "eth0" };
	struct arena a = { 0 };

	(void)state;
	EQUAL(command(&a, conf, "absent"), "rm -f /etc/sysctl.d/99-gputune.conf");
	EQUAL(command(&a, "/etc/gputune/", "absent"), "rmdir /etc/gputune/");
	EQUAL(command(&a, "/etc/gputune/", "0755:"), "mkdir -m 0755 /etc/gputune/");
	EQUAL(command(&a, wants, "link:/etc/systemd/system/x y"),
	      arena_printf(&a, "ln -sfn '/etc/systemd/system/x y' %s", wants));
	EQUAL(command(&a, conf, "0640:a = 1\\n"),
	      arena_printf(&a, "printf %%b 'a = 1\\n' > %s && chmod 0640 %s", conf, conf));
	EQUAL(knob_command(&a, &address, "present"),
	      "ip address add 10.0.0.1/24 dev eth0 broadcast +");
	EQUAL(knob_command(&a, &address, "absent"), "ip address del 10.0.0.1/24 dev eth0");
	assert_null(command(&a, conf, "0640"));
	assert_null(command(&a, conf, NULL));
	arena_free(&a);
}

/* What is as it shall be needs no command. */
static void test_command_here(void **state)
{
	static const struct {
		const char *address, *value, *command;
	} rows[] = {
		{ "10.0.0.1/24", "present", NULL },
		{ "10.0.0.1/24", "absent", "ip address del 10.0.0.1/24 dev eth0" },
		{ "10.0.0.2/24", "present", "ip address add 10.0.0.2/24 dev eth0 broadcast +" },
		{ "10.0.0.2/24", "absent", NULL },
	};
	struct arena a = { 0 };
	struct err e = { 0 };
	struct box box;
	struct host *h;

	(void)state;
	box_make(&box);
	box_file(&box, "meta.json", BOX_META("absent"));
	box_file(&box, "api/if.json", "{\"eth0\": {\"ipv4\": \"10.0.0.1/24\"}}\n");
	h = host_open_capture(box.dir, &e);
	if (!h)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct knob k = { KNOB_ADDRESS, rows[i].address, "eth0" };
		const char *got = knob_command_here(h, &a, &k, rows[i].value);

		EQUAL(got ? got : "", rows[i].command ? rows[i].command : "");
	}
	host_close(h);
	arena_free(&a);
	box_remove(&box);
}

/* Of some kinds the name is all there is; of the others the object counts too. */
static void test_equal(void **state)
{
	static const enum knob_kind whole[] = { KNOB_SYSCTL,  KNOB_SYSFS,  KNOB_MODPARAM,
						KNOB_BOOTARG, KNOB_UNIT,   KNOB_FILE,
						KNOB_BLOCK,   KNOB_MODULE, KNOB_POWER };
	struct arena a = { 0 };

	(void)state;
	for (int kind = KNOB_NONE; kind < KNOB_KINDS; kind++) {
		const struct knob x = { (enum knob_kind)kind, "n", "o" },
				  y = { (enum knob_kind)kind, "n", "p" },
				  z = { (enum knob_kind)kind, "m", "o" },
				  bare = { (enum knob_kind)kind, "n", NULL };
		bool in_full = false;

		for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
			in_full = in_full || (int)whole[i] == kind;
		assert_true(knob_equal(&x, &x));
		assert_false(knob_equal(&x, &z));
		assert_int_equal(knob_equal(&x, &y), in_full);
		assert_int_equal(knob_equal(&x, &bare), in_full);
		EQUAL(knob_text(&a, &x), in_full ? "n" : "n of o");
		EQUAL(knob_text(&a, &bare), "n");
	}
	arena_free(&a);
}

static void test_sentences(void **state)
{
	struct arena a = { 0 };
	const char *plain, *holed;
	const struct knob k = knob_make(&a, KNOB_SYSFS, "/sys/a/{}/b", "x7");

	(void)state;
	EQUAL(k.name, "/sys/a/x7/b");
	for (int kind = KNOB_NONE; kind < KNOB_KINDS; kind++) {
		const char *said[] = { knob_how_read(&a, (enum knob_kind)kind, "vm.a_{}_z"),
				       knob_how_write(&a, (enum knob_kind)kind, "vm.a_{}_z"),
				       knob_persistence(&a, (enum knob_kind)kind, "vm.a_{}_z") };

		for (size_t i = 0; i < 3; i++)
			if (said[i] && (strchr(said[i], '%') || strstr(said[i], "{}")))
				fail_msg("kind %d: \"%s\"", kind, said[i]);
	}
	plain = knob_how_read(&a, KNOB_SYSCTL, "vm.z");
	holed = knob_how_read(&a, KNOB_SYSCTL, "vm.a_{}_z");
	assert_non_null(strstr(plain, "vm/z"));
	assert_non_null(strstr(holed, "vm/a_*_z"));
	EQUAL(strstr(plain, "vm/z") + strlen("vm/z"),
	      strstr(holed, "vm/a_*_z") + strlen("vm/a_*_z"));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),	     cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_addresses),    cmocka_unit_test(test_modes),
		cmocka_unit_test(test_commands),     cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_command_here), cmocka_unit_test(test_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
