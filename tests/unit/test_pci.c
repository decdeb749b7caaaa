/* SPDX-License-Identifier: Apache-2.0 */
/* PCI functions: configuration space that lies, loops or stops, and places in trees that real
 * machines have. */
#include "box.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <stdbool.h>

#include "look/probe/probe.h"

enum { CAP = 0x60, FULL = 4096 };

static void put16(unsigned char *b, size_t at, unsigned v)
{
	b[at] = (unsigned char)v;
	b[at + 1] = (unsigned char)(v >> 8);
}

static void put32(unsigned char *b, size_t at, unsigned v)
{
	put16(b, at, v & 0xffff);
	put16(b, at + 2, v >> 16);
}

/* An endpoint: Gen5 x16 capable, Gen4 x8 now, MPS 256 of 512, MRRS 4096, relaxed ordering, L1. */
static void make(unsigned char *b)
{
	memset(b, 0, FULL);
	put16(b, PCI_VENDOR_ID, 0x10de);
	put16(b, PCI_DEVICE_ID, 0x2330);
	put16(b, PCI_STATUS, PCI_STATUS_CAP_LIST);
	put32(b, PCI_CLASS_REVISION, 0x030200a1);
	put16(b, PCI_SUBSYSTEM_VENDOR_ID, 0x10de);
	put16(b, PCI_SUBSYSTEM_ID, 0x16c1);
	b[PCI_CAPABILITY_LIST] = 0x40;
	b[0x40] = PCI_CAP_ID_PM;
	b[0x41] = CAP;
	b[CAP] = PCI_CAP_ID_EXP;
	put16(b, CAP + PCI_EXP_FLAGS, 2);
	put32(b, CAP + PCI_EXP_DEVCAP, 2);
	put16(b, CAP + PCI_EXP_DEVCTL, 5 << 12 | 1 << 5 | PCI_EXP_DEVCTL_RELAX_EN);
	put32(b, CAP + PCI_EXP_LNKCAP, 16 << 4 | 5);
	put16(b, CAP + PCI_EXP_LNKCTL, 2);
	put16(b, CAP + PCI_EXP_LNKSTA, 8 << 4 | 4);
}

static void test_endpoint(void **state)
{
	unsigned char b[FULL];
	struct pci_function f = { 0 };

	(void)state;
	make(b);
	put32(b, 0x100, 0x14810001); /* AER, next 0x148 */
	put32(b, 0x148, 0x17c1000d); /* ACS, next 0x17c */
	put16(b, 0x148 + PCI_ACS_CAP, 0x5f);
	put16(b, 0x148 + PCI_ACS_CTRL, 0x1d);
	put32(b, 0x17c, 0x00010015); /* Resizable BAR, last */
	put32(b, 0x17c + PCI_REBAR_CAP, 1u << 4 << 8 | 1u << 4 << 17);
	put32(b, 0x17c + PCI_REBAR_CTRL, 8 << 8);
	assert_true(pci_config_parse(&f, b, FULL, "/d/"));
	assert_int_equal(f.vendor.v, 0x10de);
	assert_int_equal(f.class_.v, 0x030200);
	assert_int_equal(f.subdevice.v, 0x16c1);
	assert_int_equal(f.pcie_cap.v, CAP);
	assert_int_equal(f.port_type.v, 0);
	assert_int_equal(f.mps.v, 256);
	assert_int_equal(f.mps_cap.v, 512);
	assert_int_equal(f.mrrs.v, 4096);
	assert_int_equal(f.relaxed_ordering.v, 1);
	assert_int_equal(f.aspm.v, 2);
	assert_int_equal(f.max_speed_mts.v, 32000);
	assert_int_equal(f.speed_mts.v, 16000);
	assert_int_equal(f.max_width.v, 16);
	assert_int_equal(f.width.v, 8);
	assert_int_equal(f.acs_cap.v, 0x5f);
	assert_int_equal(f.acs_ctrl.v, 0x1d);
	assert_int_equal(f.rebar_bytes.v, 256ll << 20);
	assert_int_equal(f.rebar_max_bytes.v, 128ll << 30);
}

/* Six and seven are reserved; a speed of none is none. */
static void test_reserved_codes(void **state)
{
	unsigned char b[FULL];
	struct pci_function f = { 0 };

	(void)state;
	make(b);
	put16(b, CAP + PCI_EXP_DEVCTL, 6 << 12 | 7 << 5);
	put16(b, CAP + PCI_EXP_LNKSTA, 0);
	assert_true(pci_config_parse(&f, b, FULL, "/d/"));
	assert_int_equal(f.mrrs.f.seen, SEEN_ERROR);
	assert_int_equal(f.mps.f.seen, SEEN_ERROR);
	assert_int_equal(f.mps_cap.v, 512);
	assert_int_equal(f.speed_mts.f.seen, SEEN_ERROR);
	assert_int_equal(f.width.v, 0);
}

static void test_gone(void **state)
{
	unsigned char b[FULL];
	struct pci_function f = { 0 };

	(void)state;
	memset(b, 0xff, sizeof(b));
	assert_false(pci_config_parse(&f, b, FULL, "/d/"));
	assert_int_equal(f.config_bytes.f.seen, SEEN_ERROR);
	assert_int_equal(f.config_bytes.f.err, EIO);
	assert_int_equal(f.mrrs.f.seen, SEEN_ERROR);
	/* A virtual function: only vendor and device read so. */
	make(b);
	put32(b, PCI_VENDOR_ID, 0xffffffff);
	assert_true(pci_config_parse(&f, b, FULL, "/d/"));
	assert_int_equal(f.vendor.v, 0xffff);
	assert_int_equal(f.class_.v, 0x030200);
}

/* What an ordinary user gets is hidden, not missing. */
static void test_header_only(void **state)
{
	unsigned char b[FULL];
	struct pci_function f = { 0 };

	(void)state;
	make(b);
	assert_true(pci_config_parse(&f, b, 64, "/d/"));
	assert_int_equal(f.device.v, 0x2330);
	assert_int_equal(f.mrrs.f.seen, SEEN_DENIED);
	assert_int_equal(f.acs_ctrl.f.seen, SEEN_DENIED);
	assert_false(pci_config_parse(&f, b, 63, "/d/"));
	assert_int_equal(f.config_bytes.f.seen, SEEN_ERROR);
}

static void test_lists_that_never_end(void **state)
{
	unsigned char b[FULL];
	struct pci_function f = { 0 };

	(void)state;
	make(b);
	b[0x41] = 0x40; /* to itself */
	assert_true(pci_config_parse(&f, b, FULL, "/d/"));
	assert_int_equal(f.pcie_cap.f.seen, SEEN_ABSENT);
	make(b);
	b[0x41] = 0x10; /* into the header */
	assert_true(pci_config_parse(&f, b, FULL, "/d/"));
	assert_int_equal(f.pcie_cap.f.seen, SEEN_ABSENT);
	make(b);
	put32(b, 0x100, 0x20010001);
	put32(b, 0x200, 0x10010002); /* back to the first */
	assert_true(pci_config_parse(&f, b, FULL, "/d/"));
	assert_int_equal(f.acs_ctrl.f.seen, SEEN_ABSENT);
	assert_int_equal(f.mrrs.v, 4096);
	make(b);
	put32(b, 0x100, 0xffc1000d); /* the last capability leaves the space */
	put32(b, 0xffc, 0x00010015);
	assert_true(pci_config_parse(&f, b, FULL, "/d/"));
	assert_int_equal(f.rebar_bytes.f.seen, SEEN_ABSENT);
	/* The express capability itself at the very end. */
	memset(b + 0x40, 0, 256 - 0x40);
	b[PCI_CAPABILITY_LIST] = 0xfc;
	b[0xfc] = PCI_CAP_ID_EXP;
	assert_true(pci_config_parse(&f, b, 256, "/d/"));
	assert_int_equal(f.pcie_cap.f.seen, SEEN_ABSENT);
	assert_int_equal(f.acs_cap.f.seen, SEEN_ABSENT);
}

/* A device inside the root complex has no link; conventional PCI no capability. */
static void test_without_link(void **state)
{
	unsigned char b[FULL];
	struct pci_function f = { 0 };

	(void)state;
	make(b);
	put16(b, CAP + PCI_EXP_FLAGS, PCI_EXP_TYPE_RC_END << 4 | 2);
	assert_true(pci_config_parse(&f, b, FULL, "/d/"));
	assert_int_equal(f.port_type.v, 9);
	assert_int_equal(f.width.f.seen, SEEN_UNSUPPORTED);
	assert_int_equal(f.mrrs.v, 4096);
	put16(b, PCI_STATUS, 0);
	assert_true(pci_config_parse(&f, b, FULL, "/d/"));
	assert_int_equal(f.pcie_cap.f.seen, SEEN_ABSENT);
}

/* --- whole machines --------------------------------------------------------------------------- */

#define DEV "c/root/sys/bus/pci/devices/"

/* A function's folder, its link, and its class as the kernel tells it. */
static void function(struct box *b, const char *path, const char *class_)
{
	const char *address = strrchr(path, '/') + 1;
	char name[512], text[512];

	snprintf(name, sizeof(name), DEV "%s", address);
	snprintf(text, sizeof(text), "../../../devices/%s", path);
	box_link(b, name, text);
	snprintf(name, sizeof(name), "c/root/sys/devices/%s/class", path);
	snprintf(text, sizeof(text), "0x%s\n", class_);
	box_file(b, name, text);
}

static void leaf(struct box *b, const char *path, const char *name, const char *text)
{
	char at[512];

	snprintf(at, sizeof(at), "c/root/sys/devices/%s/%s", path, name);
	box_file(b, at, text);
}

static void config(struct box *b, const char *path, const unsigned char *data, size_t n)
{
	char at[512];

	snprintf(at, sizeof(at), "c/root/sys/devices/%s/config", path);
	box_bytes(b, at, data, n);
}

struct world {
	struct box box;
	struct arena arena;
	struct machine machine;
	struct host *host;
};

static void probe_world(struct world *w)
{
	struct probe p = { .a = &w->arena, .m = &w->machine };
	struct err e = { 0 };
	char path[512];

	box_file(&w->box, "c/meta.json", BOX_META("absent"));
	w->host = host_open_capture(box_path(&w->box, "c", path, sizeof(path)), &e);
	assert_non_null(w->host);
	p.h = w->host;
	probe_pci(&p);
}

static void world_end(struct world *w)
{
	host_close(w->host);
	arena_free(&w->arena);
	box_remove(&w->box);
}

static void test_places(void **state)
{
	struct world w = { 0 };
	const struct pci_function *f;

	(void)state;
	box_make(&w.box);
	function(&w.box, "pci0000:00/0000:00:1a.0", "060400");
	function(&w.box, "pci0000:00/0000:00:1a.0/0000:9a:00.0", "030200");
	function(&w.box, "pci0000:00/0000:00:1a.0/0000:10:00.0", "020000");
	function(&w.box, "platform/141a0000.pcie/pci0005:00/0005:00:00.0", "060400");
	function(&w.box, "pci0000:64/0000:64:00.5", "010400");
	function(&w.box, "pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0", "060400");
	function(&w.box, "pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0/10000:01:00.0",
		 "010802");
	box_file(&w.box, DEV "README", "no function\n");
	probe_world(&w);
	/* Hexadecimal order: 10 before 1a before 9a, whatever digits look like as decimal numbers.
	 */
	f = w.machine.pci.items;
	assert_int_equal(w.machine.pci.n, 7);
	assert_string_equal(f[0].name, "0000:00:1a.0");
	assert_string_equal(f[1].name, "0000:10:00.0");
	assert_string_equal(f[2].name, "0000:64:00.5");
	assert_string_equal(f[3].name, "0000:9a:00.0");
	assert_string_equal(f[4].name, "0005:00:00.0");
	assert_string_equal(f[6].name, "10000:01:00.0");
	assert_string_equal(f[0].parent, "");
	assert_string_equal(f[1].parent, "0000:00:1a.0");
	assert_string_equal(f[1].root, "pci0000:00");
	assert_string_equal(f[4].root, "pci0005:00");
	assert_string_equal(f[4].parent, "");
	assert_string_equal(f[5].root, "pci10000:00");
	assert_string_equal(f[5].parent, "");
	assert_string_equal(f[6].parent, "10000:00:02.0");
	world_end(&w);
}

static void test_states(void **state)
{
	static const char sleeping[] = "pci0000:00/0000:00:01.0",
			  virtual_[] = "pci0000:00/0000:00:02.0",
			  gone[] = "pci0000:00/0000:00:03.0", port[] = "pci0000:00/0000:00:04.0",
			  below[] = "pci0000:00/0000:00:04.0/0000:05:00.0";
	struct world w = { 0 };
	unsigned char b[FULL];
	const struct pci_function *f;

	(void)state;
	box_make(&w.box);
	make(b);
	function(&w.box, sleeping, "030000");
	leaf(&w.box, sleeping, "power/runtime_status", "suspended\n");
	leaf(&w.box, sleeping, "vendor", "0x10de\n");
	leaf(&w.box, sleeping, "current_link_speed", "2.5 GT/s PCIe\n");
	config(&w.box, sleeping, b, FULL);
	put32(b, PCI_CLASS_REVISION, 0x02000000);
	put32(b, PCI_VENDOR_ID, 0xffffffff);
	put16(b, CAP + PCI_EXP_DEVCTL, 0);
	function(&w.box, virtual_, "020000");
	leaf(&w.box, virtual_, "vendor", "0x15b3\n");
	leaf(&w.box, virtual_, "physfn", "");
	config(&w.box, virtual_, b, FULL);
	memset(b, 0xff, sizeof(b));
	function(&w.box, gone, "030200");
	leaf(&w.box, gone, "vendor", "0x10de\n");
	leaf(&w.box, gone, "max_link_width", "63\n");
	config(&w.box, gone, b, FULL);
	make(b);
	function(&w.box, port, "060400");
	leaf(&w.box, port, "current_link_speed", "nan GT/s PCIe\n");
	leaf(&w.box, port, "aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 3\n");
	leaf(&w.box, port, "aer_dev_correctable", "RxErr 1\nTOTAL_ERR_COR 1\n");
	leaf(&w.box, port, "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL x\n");
	function(&w.box, below, "020000");
	leaf(&w.box, below, "max_link_speed", "32.0 GT/s PCIe\n");
	leaf(&w.box, below, "max_link_width", "16\n");
	leaf(&w.box, below, "current_link_speed", "Unknown\n");
	config(&w.box, below, b, 64);
	probe_world(&w);

	f = machine_pci(&w.machine, "0000:00:01.0");
	assert_int_equal(f->vendor.v, 0x10de);
	assert_int_equal(f->mrrs.f.seen, SEEN_UNSUPPORTED);
	assert_false(seen_ok(&f->speed_mts.f));
	f = machine_pci(&w.machine, "0000:00:02.0");
	assert_int_equal(f->vendor.v, 0x15b3);
	assert_int_equal(f->is_vf.v, 1);
	assert_int_equal(f->mrrs.f.seen, SEEN_UNSUPPORTED);
	f = machine_pci(&w.machine, "0000:00:03.0");
	assert_int_equal(f->vendor.v, 0x10de);
	assert_int_equal(f->config_bytes.f.err, EIO);
	assert_false(seen_ok(&f->max_width.f));
	f = machine_pci(&w.machine, "0000:00:04.0");
	assert_int_equal(f->speed_mts.f.seen, SEEN_UNSUPPORTED);
	assert_int_equal(f->aer_fatal.v, 3);
	assert_int_equal(f->aer_correctable.v, 1);
	assert_int_equal(f->aer_nonfatal.f.seen, SEEN_ERROR);
	f = machine_pci(&w.machine, "0000:05:00.0");
	assert_int_equal(f->mrrs.f.seen, SEEN_DENIED);
	assert_int_equal(f->max_speed_mts.v, 32000);
	assert_int_equal(f->max_width.v, 16);
	assert_int_equal(f->speed_mts.f.seen, SEEN_UNSUPPORTED);
	assert_int_equal(f->is_vf.v, 0);
	world_end(&w);
}

static void test_names(void **state)
{
	static const char one[] = "pci0000:00/0000:00:01.0", two[] = "pci0000:00/0000:00:02.0",
			  three[] = "pci0000:00/0000:00:03.0";
	struct world w = { 0 };
	struct probe p;
	const struct pci_function *f;

	(void)state;
	box_make(&w.box);
	function(&w.box, one, "030200");
	leaf(&w.box, one, "vendor", "0x10de\n");
	leaf(&w.box, one, "device", "0x2335\n");
	function(&w.box, two, "010802");
	leaf(&w.box, two, "vendor", "0x144d\n");
	leaf(&w.box, two, "device", "0xa80a\n");
	function(&w.box, three, "010802");
	leaf(&w.box, three, "vendor", "0x144d\n");
	leaf(&w.box, three, "device", "0x0001\n");
	box_file(&w.box, "c/root/usr/share/misc/pci.ids",
		 "# comment\n0001  SafeNet\n\ta80a  wrong vendor\n144d  Samsung\n\n"
		 "\ta80a  PM9A1\n\t\t0001 0001  a subsystem\nrubbish\n10de  NVIDIA\n\t2335  GH100\n"
		 "C 01  Mass storage\n\t0001  a class\n");
	probe_world(&w);
	p = (struct probe){ .h = w.host, .a = &w.arena, .m = &w.machine };
	pci_names_fill(&p);
	f = w.machine.pci.items;
	assert_string_equal(f[0].device_name.v, "H200 SXM"); /* our own short name stays */
	assert_string_equal(f[0].vendor_name.v, "NVIDIA");
	assert_string_equal(f[1].device_name.v, "PM9A1");
	assert_string_equal(f[1].vendor_name.v, "Samsung");
	assert_string_equal(f[2].vendor_name.v, "Samsung");
	assert_false(seen_ok(&f[2].device_name.f));
	world_end(&w);
}

/* One file with six facts. */
static void test_uevent(void **state)
{
	static const char *const texts[] = {
		"DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:1021\nPCI_SUBSYS_ID=15B3:0023\n",
		"PCI_CLASS=20000\nPCI_ID=15B3\nPCI_SUBSYS_ID=:\nXDRIVER=no\n",
		"PCI_CLASS=30000000000000000000000000000000000000000\nPCI_ID=10DE:2330\nDRIVER=\n",
	};
	const struct pci_function *f;
	struct world w = { 0 };

	(void)state;
	box_make(&w.box);
	for (int i = 0; i < 3; i++) {
		char path[64];

		snprintf(path, sizeof(path), "pci0000:00/0000:00:0%d.0", i + 1);
		function(&w.box, path, "020000");
		leaf(&w.box, path, "uevent", texts[i]);
	}
	probe_world(&w);
	f = w.machine.pci.items;
	assert_int_equal(w.machine.pci.n, 3);
	assert_int_equal(f[0].class_.v, 0x020000);
	assert_int_equal(f[0].vendor.v, 0x15b3);
	assert_int_equal(f[0].device.v, 0x1021);
	assert_int_equal(f[0].subvendor.v, 0x15b3);
	assert_int_equal(f[0].subdevice.v, 0x23);
	assert_string_equal(f[0].driver.v, "mlx5_core");
	assert_int_equal(f[1].vendor.v, 0x15b3);
	assert_int_equal(f[1].device.f.err, EPROTO);
	assert_int_equal(f[1].subvendor.f.err, EPROTO);
	assert_int_equal(f[1].subdevice.f.err, EPROTO);
	assert_int_equal(f[1].driver.f.seen, SEEN_ABSENT);
	/* The file says nothing of use: the class is read where it stands alone. */
	assert_int_equal(f[2].class_.v, 0x020000);
	world_end(&w);
}

/* Found in bus order, and in any other that facts from elsewhere may have. */
static void test_found(void **state)
{
	struct pci_function all[] = {
		{ .name = "0000:01:00.0" },  { .name = "0000:80:00.0" }, { .name = "ffff:00:00.0" },
		{ .name = "10000:00:00.0" }, { .name = "0000:00:00.0" }, { .name = NULL },
	};
	struct machine m = { .pci = { .items = all } };

	(void)state;
	assert_null(machine_pci(&m, "0000:01:00.0"));
	m.pci.n = sizeof(all) / sizeof(all[0]);
	for (size_t i = 0; i + 1 < m.pci.n; i++)
		assert_ptr_equal(machine_pci(&m, all[i].name), &all[i]);
	assert_null(machine_pci(&m, "0000:02:00.0"));
	assert_null(machine_pci(&m, ""));
	assert_null(machine_pci(&m, NULL));
	assert_true(pci_bus_order("ffff:00:00.0", "10000:00:00.0") < 0);
}

static void test_addresses(void **state)
{
	(void)state;
	assert_int_equal(pci_address_length("0000:01:00.0"), 12);
	assert_int_equal(pci_address_length("10000:e1:1f.7/more"), 13);
	assert_int_equal(pci_address_length("0000:01:00.8"), 0);
	assert_int_equal(pci_address_length("0000:01:00.0x"), 0);
	assert_int_equal(pci_address_length("000:01:00.0"), 0);
	assert_int_equal(pci_address_length(""), 0);
	assert_int_equal(pci_root_length("pci0000:00/x"), 10);
	assert_int_equal(pci_root_length("pcie@10000000"), 0);
	assert_int_equal(pci_root_length("pci0000:0"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endpoint),
		cmocka_unit_test(test_reserved_codes),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_header_only),
		cmocka_unit_test(test_lists_that_never_end),
		cmocka_unit_test(test_without_link),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_uevent),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
