/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets by their shape: replaced, the same everywhere, and nothing of them left in what is saved.
 */
#include "box.h"

#include <stdbool.h>

#include "machine/host/record.h"

static char *redacted(struct redactor *r, const char *s)
{
	size_t len = strlen(s);
	char *out = redact_text(r, s, &len);

	assert_int_equal(strlen(out), len);
	return out;
}

static void test_untouched(void **state)
{
	static const char *const keep[] = {
		"0000:01:00.0",
		"000f:01:00.0\n",
		"pci0000:00/0000:00:00.0/0000:01:00.0",
		"10000:e1:00.0",
		"580.159.04",
		"28.45.4028",
		"6.17.0-1014-nvidia",
		"00:00:00:00:00:00",
		"ff:ff:ff:ff:ff:ff",
		"0-19,32-63",
		"0000:0000:0000:0000:0000:0000:0000:0000",
		"8086:1234",
		"deadbeef",
		"1:2:3:4:5:6",
		"2026-01-31 12:30:45",
		"MemTotal:       127600000 kB",
		"/homes/alice",
		"host",
		"0x410fd850",
		"",
	};
	struct arena a = { 0 };
	struct redactor r = { .arena = &a, .nodename = "spark-7" };

	(void)state;
	for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++)
		assert_string_equal(redacted(&r, keep[i]), keep[i]);
	arena_free(&a);
}

static void test_replaced(void **state)
{
	static const char *const secrets[] = {
		"3c:6d:66:12:34:56",
		"3C:6D:66:AB:CD:EF",
		"GPU-f1d2a3b4-1111-2222-3333-444455556666",
		"f1d2a3b4-1111-2222-3333-444455557777",
		"3c6d:6603:0012:3456",
		"fe80:0000:0000:0000:3e6d:66ff:fe12:3456",
		"0000:0000:0000:0000:0000:ffff:c0a8:0a01",
		"/home/alice/.bashrc",
		"spark-7",
		"spark-7.example.org",
	};
	static const char *const parts[] = { "3c:6d", "12:34:56", "ab:cd:ef", "f1d2a3b4", "4444",
					     "6603",  "3456",	  "c0a8",     "alice",	  "spark" };
	struct arena a = { 0 };
	struct redactor r = { .arena = &a, .nodename = "spark-7" };

	(void)state;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		const char *in = arena_printf(&a, "x=%s y (%s)\n", secrets[i], secrets[i]),
			   *out = redacted(&r, in);

		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			if (strcasestr(out, parts[k]))
				fail_msg("\"%s\" still holds \"%s\"", out, parts[k]);
		assert_int_equal(strncmp(out, "x=", 2), 0);
		assert_string_equal(out, redacted(&r, in));
	}
	arena_free(&a);
}

static void test_consistent(void **state)
{
	struct arena a = { 0 };
	struct redactor r = { .arena = &a, .nodename = "spark-7" };
	char *first = redacted(&r, "3c:6d:66:12:34:56"), *other = redacted(&r, "3c:6d:66:12:34:57"),
	     *net;

	(void)state;
	assert_string_not_equal(first, other);
	/* Case is no difference, nor what stands around it. */
	assert_string_equal(first, redacted(&r, "3C:6D:66:12:34:56"));
	assert_string_equal(redacted(&r, "a 3c:6d:66:12:34:56,3c:6d:66:12:34:57"),
			    arena_printf(&a, "a %s,%s", first, other));
	/* One net stays one, two stay two, and the loopback means what it means. */
	net = redact_addresses(&r, "192.168.77.5/24 192.168.77.6/24 192.168.78.5/24 127.0.0.1/8");
	assert_null(strstr(net, "192.168"));
	assert_non_null(strstr(net, ".5/24"));
	assert_non_null(strstr(net, "127.0.0.1/8"));
	assert_int_equal(strncmp(net, redact_addresses(&r, "192.168.77.6/24"), 7), 0);
	assert_string_not_equal(redact_addresses(&r, "192.168.77.5"),
				redact_addresses(&r, "192.168.78.5"));
	assert_string_not_equal(redacted(&r, "/home/alice"), redacted(&r, "/home/bob"));
	/* More than 65536 of a kind: pseudonyms are of two bytes, and must not repeat before that.
	 */
	for (unsigned i = 0; i < 1000; i++)
		redacted(&r, arena_printf(&a, "3c:6d:66:99:%02x:%02x", i >> 8, i & 255));
	assert_string_not_equal(redacted(&r, "3c:6d:66:99:01:00"),
				redacted(&r, "3c:6d:66:99:02:00"));
	assert_string_equal(first, redacted(&r, "3c:6d:66:12:34:56"));
	arena_free(&a);
}

/* IPv6 as the interface provider writes it, shortened or not. */
static void test_ipv6(void **state)
{
	static const char *const secrets[] = { "2001:db8:77:1:3e6d:66ff:fe12:3456", "2001:db8::77",
					       "fe80::3e6d:66ff:fe12:3456" };
	struct arena a = { 0 };
	struct redactor r = { .arena = &a };

	(void)state;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		const char *out = redact_addresses(&r, arena_printf(&a, "%s/64", secrets[i]));

		if (strstr(out, "db8") || strstr(out, "3456"))
			fail_msg("\"%s\" came from \"%s\"", out, secrets[i]);
	}
	assert_string_equal(redact_addresses(&r, "::1/128"), "::1/128");
	/* Two ways to write one address. */
	assert_string_equal(redact_addresses(&r, "2001:db8::77"),
			    redact_addresses(&r, "2001:0db8:0::0077"));
	assert_string_equal(redact_addresses(&r, "0000:01:00.0 580.159.04 12:30:45"),
			    "0000:01:00.0 580.159.04 12:30:45");
	arena_free(&a);
}

static void test_binary(void **state)
{
	unsigned char config[4096] = { 0 };
	struct arena a = { 0 };
	struct redactor r = { .arena = &a };
	static const char data[] = "\0"
				   "3c:6d:66:12:34:56";
	size_t len = sizeof(data) - 1;

	(void)state;
	assert_memory_equal(redact_text(&r, data, &len), data, sizeof(data) - 1);
	assert_int_equal(len, sizeof(data) - 1);
	/* AER at 0x100, the serial number at 0x140, a list that loops. */
	memcpy(config + 0x100, (unsigned char[]){ 0x01, 0x00, 0x02, 0x14 }, 4);
	memcpy(config + 0x140,
	       (unsigned char[]){ 0x03, 0x00, 0x01, 0x10, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, 13);
	redact_config_space(config, sizeof(config));
	for (int i = 0; i < 8; i++)
		assert_int_equal(config[0x144 + i], 0);
	assert_int_equal(config[0x14c], 9);
	assert_int_equal(config[0x100], 1);
	/* A header whose capability would end behind the data. */
	memcpy(config + 0x100, (unsigned char[]){ 0x01, 0x00, 0xc2, 0xff }, 4);
	memset(config + 0xffc, 3, 4);
	redact_config_space(config, sizeof(config));
	redact_config_space(config, 64);
	redact_config_space(config, 0x101);
	arena_free(&a);
}

static void test_secret_files(void **state)
{
	(void)state;
	assert_true(redact_is_secret_file("/sys/class/dmi/id/product_serial"));
	assert_true(redact_is_secret_file("/sys/class/dmi/id/chassis_asset_tag"));
	assert_true(redact_is_secret_file("/etc/machine-id"));
	assert_true(redact_is_secret_file("/sys/block/nvme0n1/wwid"));
	assert_true(redact_is_secret_file("/sys/class/nvme/nvme0/serial"));
	assert_false(redact_is_secret_file("/sys/class/dmi/id/product_name"));
	assert_false(redact_is_secret_file("/proc/meminfo"));
}

/* Two ways to write one thing have one pseudonym, two things have two. */
static void test_relations(void **state)
{
	struct arena a = { 0 };
	struct redactor r = { .arena = &a, .nodename = "node7.corp.example" };
	char *guid = redacted(&r, "3c6d:6603:0012:3456"), *mac = redacted(&r, "3c:6d:66:12:34:56"),
	     *p;
	const char *x, *y;

	(void)state;
	/* A port's GUID, its GID, its address in IP over InfiniBand, its EUI-64. */
	p = redacted(&r, "fe80:0000:0000:0000:3c6d:6603:0012:3456");
	assert_int_equal(strncmp(p, "fe80:0000:0000:0000:", 20), 0);
	assert_string_equal(p + 20, guid);
	p = redacted(&r, "00:00:10:29:fe:80:00:00:00:00:00:00:3c:6d:66:03:00:12:34:56");
	assert_int_equal(strlen(p), 59);
	assert_null(strstr(p, "3c:6d"));
	assert_null(strstr(p, "10:29"));
	assert_memory_equal(p + 54, arena_printf(&a, "%.2s:%.2s", guid + 15, guid + 17), 5);
	assert_string_equal(redacted(&r, "3c:6d:66:03:00:12:34:56"), p + 36);
	/* Two subnets of one fabric manager each. */
	x = redacted(&r, "fec0:0000:0000:0001:3c6d:6603:0012:3456");
	y = redacted(&r, "fec0:0000:0000:0002:3c6d:6603:0012:3456");
	assert_memory_not_equal(x, y, 19);
	assert_string_equal(x + 20, y + 20);
	/* An IPv4 GID is the interface's address. */
	x = redact_addresses(&r, "192.168.77.5/24");
	y = redacted(&r, "0000:0000:0000:0000:0000:ffff:c0a8:4d05");
	assert_string_equal(x, "10.1.0.5/24");
	assert_string_equal(y, "0000:0000:0000:0000:0000:ffff:0a01:0005");
	/* Nets longer than /16 stay as near or far as they are; two /16 stay two. */
	assert_string_equal(redact_addresses(&r, "192.168.78.5/22 192.169.77.5/16"),
			    "10.1.3.5/22 10.2.0.5/16");
	assert_string_equal(redact_addresses(&r, "0.0.0.0 255.255.255.0"), "0.0.0.0 255.255.255.0");
	x = redact_addresses(&r,
			     "2001:db8:0:1::5/64 2001:db8:0:1::6/64 2001:db8:0:2::5/64 fe80::5/64");
	assert_string_equal(x, "fd00:0:0:0003::0001/64 fd00:0:0:0003::0002/64 "
			       "fd00:0:0:0004::0003/64 fe80::0004/64");
	/* The name that udev makes from a MAC. */
	p = redacted(&r, "/sys/class/net/enx3c6d66123456/mtu");
	assert_string_equal(p, arena_printf(&a, "/sys/class/net/enx%.2s%.2s%.2s%.2s%.2s%.2s/mtu",
					    mac, mac + 3, mac + 6, mac + 9, mac + 12, mac + 15));
	/* With and without the domain. */
	assert_string_equal(redacted(&r, "on node7.corp.example, node7: node77 anode7"),
			    "on host, host: node77 anode7");
	arena_free(&a);
}

static void test_serials(void **state)
{
	static const char *const none[] = {
		"None", "To Be Filled By O.E.M.", "Default string", "", " \n", "0"
	};
	struct arena a = { 0 };
	struct redactor r = { .arena = &a };
	const char *one = redact_serial(&r, "S7KHNJ0W123456\n", 15),
		   *two = redact_serial(&r, "1654922006536", 13), *odd;

	(void)state;
	assert_string_not_equal(one, two);
	assert_string_equal(one, redact_serial(&r, " S7KHNJ0W123456 ", 16));
	assert_null(strstr(one, "S7KH"));
	assert_string_equal(
		redacted(&r,
			 "nvme-Samsung_SSD_990_PRO_S7KHNJ0W123456_1-part1 ONLINE 1654922006536"),
		arena_printf(&a, "nvme-Samsung_SSD_990_PRO_%s_1-part1 ONLINE %s", one, two));
	assert_string_equal(redacted(&r, "S7KHNJ0W1234567 xS7KHNJ0W123456"),
			    "S7KHNJ0W1234567 xS7KHNJ0W123456");
	/* Replaced where it is one, but no word to look for elsewhere. */
	odd = redact_serial(&r, "123456", 6);
	assert_string_not_equal(odd, "123456");
	assert_string_not_equal(odd, redact_serial(&r, "nvidia", 6));
	assert_string_equal(redacted(&r, "nvidia 123456 kB"), "nvidia 123456 kB");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_string_equal(redact_serial(&r, none[i], strlen(none[i])), i < 3	  ? none[i]
										 : i == 5 ? "0"
											  : "");
	/* Binary: what stands before the first NUL is all there is. */
	assert_int_equal(strncmp(redact_serial(&r, "\x82SN1\0SN2", 8), "SERIAL", 6), 0);
	arena_free(&a);
}

/* Every byte that was written, name by name, link by link. */
static void search(int parent, const char *name, const char *const *secrets)
{
	int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char buf[65536];
	struct stat st;
	ssize_t n;
	DIR *dir;

	for (const char *const *s = secrets; *s; s++)
		if (strcasestr(name, *s))
			fail_msg("the name %s holds %s", name, *s);
	n = readlinkat(parent, name, buf, sizeof(buf) - 1);
	if (n < 0) {
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		if (S_ISDIR(st.st_mode)) {
			dir = fdopendir(fd);
			assert_non_null(dir);
			for (struct dirent *de; (de = readdir(dir));)
				if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
					search(fd, de->d_name, secrets);
			closedir(dir);
			return;
		}
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
	}
	assert_true(n >= 0 && (size_t)n < sizeof(buf) - 1);
	for (const char *const *s = secrets; *s; s++)
		if (memmem(buf, (size_t)n, *s, strlen(*s)))
			fail_msg("%s holds %s", name, *s);
}

static void fill(const struct box *b)
{
	box_file(b, "c/meta.json",
		 "{\"schema\": \"gputune.capture/1\", \"unlisted\": \"absent\", \"identity\": "
		 "{\"nodename\": "
		 "\"alicebox\", \"release\": \"6.8.0-alicebox\", \"version\": \"#1\", \"machine\": "
		 "\"aarch64\", \"euid\": 0, "
		 "\"page_size\": 4096, \"time_s\": 1}}");
	box_file(b, "c/root/proc/mounts",
		 "alicebox:/x /home/alice nfs rw,addr=192.168.77.9,mac=3c:6d:66:12:34:56 0 "
		 "0\n[2001:db8:77::1]:/y /y nfs rw 0 0\n");
	box_file(b, "c/root/proc/cmdline", "root=UUID=f1d2a3b4-1111-2222-3333-444455556666 ro\n");
	box_file(b, "c/root/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
	box_file(b, "c/root/sys/class/dmi/id/product_serial", "SN1980400\n");
	box_file(b, "c/root/sys/dev/address", "3c:6d:66:12:34:56\n");
	box_file(b, "c/root/sys/ports/gid", "fe80:0000:0000:0000:3e6d:66ff:fe12:3456\n");
	box_file(b, "c/root/sys/nodes/by-uuid/f1d2a3b4-1111-2222-3333-444455556666/name", "x\n");
	box_file(b, "c/root/home/alice/file", "x\n");
	box_link(b, "c/root/sys/link", "/home/alice/file");
	box_file(
		b, "c/api/nvml.json",
		"{\"0\": {\"nvmlDeviceGetUUID\": \"GPU-f1d2a3b4-1111-2222-3333-444455556666\", "
		"\"nvmlDeviceGetSerial\": \"SN1980400\", \"nvmlDeviceGetName\": \"NVIDIA GB10\"}}");
	box_file(b, "c/api/if.json", "{\"eth0\": {\"ipv4\": \"192.168.77.5/24\"}}");
	box_file(b, "c/api/exec.json",
		 "{\"run by alicebox\": {\"stdout\": \"on alicebox in /home/alice\\n\"}}");
	box_file(b, "c/answers.tsv", "/home/alice/secret\tEACCES\n");
}

static void test_whole_capture(void **state)
{
	static const char *const files[] = {
		"/proc/mounts",
		"/proc/cmdline",
		"/etc/machine-id",
		"/sys/class/dmi/id/product_serial",
		"/sys/dev/address",
		"/sys/ports/gid",
		"/sys/nodes/by-uuid/f1d2a3b4-1111-2222-3333-444455556666/name",
		"/sys/link",
		"/home/alice/secret",
		"/home/alice/absent"
	};
	static const char *const secrets[] = {
		"alice",      "3c:6d:66", "f1d2a3b4", "0123456789abcdef", "SN1980400", "3e6d",
		"192.168.77", "db8",	  NULL
	};
	struct err e = { 0 };
	struct host *h;
	struct answer got;
	struct box b;
	char path[512], buf[512];

	(void)state;
	box_make(&b);
	fill(&b);
	h = host_open_capture(box_path(&b, "c", path, sizeof(path)), &e);
	assert_non_null(h);
	h = record_open(h);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		host_read_line(h, files[i], buf, sizeof(buf));
	host_link(h, "/sys/link", buf, sizeof(buf));
	assert_int_equal(host_ask(h, "nvml", "0", "nvmlDeviceGetUUID", &got), 0);
	assert_int_equal(host_ask(h, "nvml", "0", "nvmlDeviceGetSerial", &got), 0);
	assert_int_equal(host_ask(h, "nvml", "0", "nvmlDeviceGetName", &got), 0);
	assert_int_equal(host_ask(h, "if", "eth0", "ipv4", &got), 0);
	assert_int_equal(host_ask(h, "exec", "run by alicebox", "stdout", &got), 0);
	if (record_save(h, box_path(&b, "out", path, sizeof(path)), true, &e))
		fail_msg("%s", e.text);
	host_close(h);
	search(AT_FDCWD, path, secrets);
	/* What is left is a capture, and what is no secret stands in it. */
	h = host_open_capture(path, &e);
	if (!h)
		fail_msg("%s", e.text);
	assert_string_equal(h->id.nodename, "host");
	assert_int_equal(host_ask(h, "nvml", "0", "nvmlDeviceGetName", &got), 0);
	assert_string_equal(got.text, "NVIDIA GB10");
	assert_int_equal(host_read_line(h, "/sys/dev/address", buf, sizeof(buf)), 0);
	assert_int_equal(strncmp(buf, "02:00:00:00:", 12), 0);
	host_close(h);
	box_remove(&b);
}

/* A machine that is called like a module, or like what it is. */
static void called(const char *nodename, const char *file, const char *text, const char *want)
{
	struct err e = { 0 };
	struct host *h;
	struct box b;
	char path[512], buf[512];

	box_make(&b);
	snprintf(buf, sizeof(buf),
		 "{\"schema\": \"gputune.capture/1\", \"unlisted\": \"absent\", \"identity\": "
		 "{\"nodename\": \"%s\", \"release\": \"6.8.0\", \"version\": \"#1\", "
		 "\"machine\": \"aarch64\", \"euid\": 0, \"page_size\": 4096, \"time_s\": 1}}",
		 nodename);
	box_file(&b, "c/meta.json", buf);
	box_file(&b, "c/root/proc/modules", "nvme 61440 0 - Live 0x0\nmlx5_core 9 0 - Live 0x0\n");
	box_file(&b, "c/root/sys/class/dmi/id/product_name", "NVIDIA DGX Spark\n");
	snprintf(buf, sizeof(buf), "c/root%s", file);
	box_file(&b, buf, text);
	h = host_open_capture(box_path(&b, "c", path, sizeof(path)), &e);
	assert_non_null(h);
	h = record_open(h);
	host_read_line(h, "/proc/modules", buf, sizeof(buf));
	host_read_line(h, "/sys/class/dmi/id/product_name", buf, sizeof(buf));
	host_read_line(h, file, buf, sizeof(buf));
	if (record_save(h, box_path(&b, "out", path, sizeof(path)), true, &e))
		fail_msg("%s", e.text);
	host_close(h);
	h = host_open_capture(path, &e);
	assert_non_null(h);
	assert_string_equal(h->id.nodename, "host");
	assert_int_equal(host_read_line(h, "/sys/class/dmi/id/product_name", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "NVIDIA DGX Spark");
	assert_int_equal(host_read_line(h, "/proc/modules", buf, sizeof(buf)), 0);
	assert_int_equal(strncmp(buf, "nvme ", 5), 0);
	assert_int_equal(host_read_line(h, file, buf, sizeof(buf)), 0);
	assert_string_equal(buf, want);
	host_close(h);
	box_remove(&b);
}

static void test_word(void **state)
{
	(void)state;
	called("nvme", "/sys/module/nvme/parameters/poll_queues", "2", "2");
	called("nvme", "/etc/modprobe.d/x.conf", "options nvme poll_queues=2",
	       "options nvme poll_queues=2");
	called("nvme", "/etc/hosts", "10.1.1.1 nvme nvme.corp # Nvme",
	       "10.1.1.1 host host.corp # Nvme");
	called("spark", "/etc/dgx-release", "DGX_NAME=\"DGX Spark\" spark",
	       "DGX_NAME=\"DGX Spark\" spark");
	called("spark.corp.example", "/proc/mounts", "spark:/x /y nfs rw 0 0",
	       "host:/x /y nfs rw 0 0");
	/* Called like nothing else: anywhere. */
	called("node7", "/etc/dgx-release", "built on NODE7 for node7", "built on host for host");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_word),	     cmocka_unit_test(test_untouched),
		cmocka_unit_test(test_replaced),     cmocka_unit_test(test_consistent),
		cmocka_unit_test(test_ipv6),	     cmocka_unit_test(test_binary),
		cmocka_unit_test(test_secret_files), cmocka_unit_test(test_relations),
		cmocka_unit_test(test_serials),	     cmocka_unit_test(test_whole_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
