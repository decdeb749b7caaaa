/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health of a node with many GPUs: lines of the kernel's log, figures and their sources, growth
 * between two readings, rails, narrow spots; and faults planted into NVML, read through the real
 * loader from a library that answers as eight H100 would.
 */
#include "fake.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/ask.h"
#include "machine/model/topology.h"
#include "look/probe/probe.h"
#include "look/settings/predicates.h"
#include "knowledge/health.h"

static struct arena arena, doors[32];
static size_t n_doors;

static const char log_text[] =
	"<6>[    0.000000] Linux version 6.8.0\n"
	"<3>[  100.500000] NVRM: Xid (PCI:0000:a3:00): 31, pid=77, name=python3, Ch 00000008\n"
	"<3>[  200.250000] NVRM: Xid (PCI:0000:A3:00): 79, pid='<unknown>', GPU has fallen off the "
	"bus.\n"
	"<3>[  300.000000][  T412] NVRM: Xid (PCI:0000:a3:00): 31, pid=78, name=x, Ch 00000008\n"
	"<3>[  301.000000] NVRM: Xid (PCI:0000:a3:00 GPU-I:05): 13, pid=1\n"
	"<3>[  302.000000] NVRM: Xid (PCI:0000:83:00): 63, pid=1, row remap\n"
	"<3>[  303.000000] NVRM: Xid (PCI:0000:a3:00): many, pid=1\n"
	"<3>[  304.000000] NVRM: Xid (PCI:0000:a3:00) 48\n"
	"NVRM: Xid (PCI:0000:93:00): 119, Timeout\n"
	"<3>[  400.0] nvidia-nvswitch3: SXid (PCI:0000:75:00.0): 28006, Non-fatal, Link 46 MC\n"
	"<3>[  401.0] nvidia-nvswitch1: SXid (PCI:0000:73:00.0): 20034, Fatal, Link 30 LTSSM\n"
	"<3>[  402.0] nvidia-nvswitch1: SXid (PCI:0000:73:00.0): 20034, Fatality, Link 30\n"
	"<3>[  403.0] nvidia-nvswitch1: SXid (PCI:0000:73:00.0): garbled, Fatal\n";

static void xid_lines(void **state)
{
	(void)state;
	assert_string_equal(xid_summary(&arena, log_text, "0000:a3:00.0", 400.25),
			    "13:1:99 31:2:100 79:1:200");
	assert_string_equal(xid_summary(&arena, log_text, "0000:83:00.0", 302), "63:1:0");
	/* A clock that lies behind the log's is no negative age. */
	assert_string_equal(xid_summary(&arena, log_text, "0000:83:00.0", 10), "63:1:0");
	assert_string_equal(xid_summary(&arena, log_text, "0000:93:00.0", 500), "119:1:-1");
	assert_string_equal(xid_summary(&arena, log_text, "0000:23:00.0", 500), "");
	assert_string_equal(xid_summary(&arena, log_text, "", 500), "");
	assert_string_equal(xid_summary(&arena, "", "0000:a3:00.0", 500), "");
	assert_int_equal(sxid_count(log_text, "Fatal"), 1);
	assert_int_equal(sxid_count(log_text, "Non-fatal"), 1);
	assert_int_equal(sxid_count("", "Fatal"), 0);
}

/* Whoever may write to the log can write anything. */
static void hostile_lines(void **state)
{
	TEXT_AUTO t = { 0 };
	const char *s;

	(void)state;
	for (unsigned i = 1; i < 4000; i++)
		text_printf(&t, "[%u.5] NVRM: Xid (PCI:0000:a3:00): %u, x\n", i, i * 7 % 100003);
	text_add(&t, "[1e400] NVRM: Xid (PCI:0000:a3:00): 7, x\n"
		     "[-5] NVRM: Xid (PCI:0000:a3:00): 7, x\n"
		     "[nan] NVRM: Xid (PCI:0000:a3:00): 999999999999999999999, x\n"
		     "<<<<[1.5 NVRM: Xid (PCI:0000:a3:00): 7, x\n"
		     "NVRM: Xid (PCI:0000:a3:00): 7");
	s = xid_summary(&arena, t.s, "0000:a3:00.0", 5000);
	assert_true(strlen(s) > 100 && strlen(s) < 2000);
	assert_non_null(strstr(s, "7:"));
}

/* The log of whatever this runs on: who may read it gets counts, others are refused; nothing else
 * can be asked. */
static void the_real_log(void **state)
{
	static const char *const bad[][2] = { { "", "xids" },	 { "", "lines()" },
					      { "", "lines(x" }, { "", "sxids" },
					      { "", "text" },	 { "", "" },
					      { "", "sxids()" }, { "0", "xids()" } };
	struct answer out = { 0 };
	void *log = NULL;
	int r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(provider_kernel_log.ask(&log, &arena, bad[i][0], bad[i][1], &out),
				 -EINVAL);
	r = provider_kernel_log.ask(&log, &arena, "0000:a3:00.0", "xids", &out);
	if (r == 0)
		assert_true(out.kind == ANSWER_TEXT && out.text);
	else if (r != -EPERM && r != -EACCES && r != -ENOSYS)
		fail_msg("the kernel's log: %d", r);
	assert_int_equal(provider_kernel_log.ask(&log, &arena, "", "sxids(Fatal)", &out), r);
	provider_kernel_log.close(log);
}

static void manager_versions(void **state)
{
	(void)state;
	assert_string_equal(
		fabric_manager_version(&arena, "Fabric Manager version is : 580.159.03\n"),
		"580.159.03");
	assert_string_equal(
		fabric_manager_version(&arena, "\n\n\tFabric Manager version is : 535.161.08\n\n"),
		"535.161.08");
	assert_null(fabric_manager_version(&arena, ""));
	assert_string_equal(imex_state("READY\n"), "ready");
	assert_string_equal(imex_state("WAITING_FOR_PEERS"), "waiting_for_peers");
	assert_null(imex_state("READYISH"));
	assert_null(imex_state("Connection refused"));
	assert_null(imex_state(""));
	assert_null(fabric_manager_version(&arena, "Fabric Manager version is : unknown\n"));
	assert_null(fabric_manager_version(&arena, "Fabric Manager version is"));
	assert_null(fabric_manager_version(
		&arena, "Fabric Manager version is : 1111111111111111111111111111111111.1"));
}

static void data_is_sound(void **state)
{
	unsigned last = 0;

	(void)state;
	for (size_t i = 0; i < n_health_limits; i++) {
		const struct health_limit *l = &health_limits[i];

		if (!setting_find(l->setting))
			fail_msg("%s is no setting", l->setting);
		assert_true(l->value >= 0 && *l->unit && *l->what && strlen(l->source) > 10);
		assert_true(strlen(l->date) == 7 && l->date[4] == '-' && l->date[0] == '2');
		for (size_t k = 0; k < i; k++)
			assert_false(strcmp(l->setting, health_limits[k].setting) == 0 &&
				     strcmp(l->key, health_limits[k].key) == 0 &&
				     (l->gpu == health_limits[k].gpu ||
				      (l->gpu && health_limits[k].gpu &&
				       strcmp(l->gpu, health_limits[k].gpu) == 0)));
	}
	for (size_t i = 0; i < n_xid_rows; i++) {
		assert_true(xid_rows[i].first > last && xid_rows[i].last >= xid_rows[i].first);
		assert_true((xid_rows[i].kind == XID_PROGRAM) == (xid_rows[i].todo == NULL));
		last = xid_rows[i].last;
	}
	assert_int_equal(xid_find(79)->kind, XID_LASTING);
	assert_int_equal(xid_find(147)->kind, XID_EVENT);
	assert_int_equal(xid_find(31)->kind, XID_PROGRAM);
	/* All that the catalog had in 2026-11, and what the driver writes besides. */
	for (unsigned n = 154; n <= 172; n++)
		if (!xid_find(n))
			fail_msg("Xid %u is in no row", n);
	assert_int_equal(xid_find(159)->kind, XID_LASTING);
	assert_int_equal(xid_find(164)->kind, XID_EVENT);
	assert_int_equal(xid_find(165)->kind, XID_LASTING);
	assert_non_null(strstr(xid_find(168)->todo, "ECC"));
	assert_int_equal(xid_find(175)->kind, XID_LASTING);
	assert_null(xid_find(173)); /* a name without a meaning */
	assert_null(xid_find(9));
	assert_null(xid_find(4000000000u));
	assert_true(health_figure("gpu.nvlink", "links", "NVIDIA H100 80GB HBM3", 0) > 17.5);
	assert_true(health_figure("gpu.nvlink", "links", "NVIDIA GH100X", 0) < 0.5);
	assert_true(health_figure("gpu.nvlink", "links", NULL, -1) < 0);
}

#define A3 "'name': '0000:a3:00.0', 'vendor': 4318, 'class': 197120"
#define XID(lines, list) "{'pci': [{" A3 "}], 'gpu': {'xid_events': " lines ", 'xids': [" list "]}}"
#define X(number, more) "{'pci': '0000:a3:00.0', 'index': " #number ", 'count': 1" more "}"
#define SWITCHED(facts) "{'pci': [{'name': 's', 'vendor': 4318, 'class': 425984}], " facts "}"
#define UNIT(active)                                                                               \
	"'software': {'init': 'systemd', 'services': [{'name': 'nvidia-fabricmanager.service', "   \
	"'active': " #active "}]}"

static void log_rows(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.xid", "{}", NA, NO_HARDWARE, NULL) },
		{ ROW("gpu.xid", XID("'!denied'", ""), UNKNOWN, DENIED, NULL) },
		{ ROW("gpu.xid", XID("'!absent'", ""), UNKNOWN, ERROR, "no kernel log") },
		{ ROW("gpu.xid", XID("'!error'", ""), UNKNOWN, ERROR, NULL) },
		{ ROW("gpu.xid", XID("0", ""), PASS, OK, "none") },
		/* Of another GPU. */
		{ ROW("gpu.xid", XID("1", "{'pci': '0000:83:00.0', 'index': 79, 'count': 1}"), PASS,
		      OK, "none") },
		{ ROW("gpu.xid", XID("1", X(31, "")), PASS, OK,
		      "caused by programs: not a GPU fault") },
		{ ROW("gpu.xid", XID("2", X(31, "") "," X(79, ", 'age_s': 900000")), FAIL, DIFFERS,
		      "fell off the bus") },
		{ ROW("gpu.xid", XID("1", X(94, ", 'age_s': 60")), FAIL, DIFFERS, "contained") },
		{ ROW("gpu.xid", XID("1", X(94, ", 'age_s': '!unsupported'")), FAIL, DIFFERS,
		      "contained") },
		{ ROW("gpu.xid", XID("1", X(94, ", 'age_s': 90000")), PASS, OK, "long ago") },
		{ ROW("gpu.xid", XID("1", X(555, ", 'age_s': 60")), FAIL, DIFFERS,
		      "is not in gputune's table: see NVIDIA's Xid catalog") },

		{ ROW("gpu.sxid", "{}", NA, NO_HARDWARE, NULL) },
		{ ROW("gpu.sxid", SWITCHED("'gpu': {'sxid_fatal': '!denied'}"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW("gpu.sxid", SWITCHED("'gpu': {'sxid_fatal': 0, 'sxid_nonfatal': 4}"), PASS,
		      OK, "4 non-fatal") },
		{ ROW("gpu.sxid", SWITCHED("'gpu': {'sxid_fatal': 2, 'sxid_nonfatal': 4}"), FAIL,
		      DIFFERS, "fabric") },

		{ ROW("service.fabric-manager",
		      SWITCHED("'gpu': {'driver': '570.1', 'fabric_manager': 'installed', "
			       "'fabric_manager_version': '565.9'}, " UNIT(0)),
		      FAIL, DIFFERS, "Fabric Manager's version differs from the") },
		{ ROW("service.fabric-manager",
		      SWITCHED("'gpu': {'driver': '570.1', 'fabric_manager': 'active', "
			       "'fabric_manager_version': '570.1'}, " UNIT(1)),
		      PASS, OK, "version 570.1") },
		{ ROW("service.fabric-manager",
		      SWITCHED("'gpu': {'fabric_manager': 'installed'}, " UNIT(0)), FAIL, DIFFERS,
		      "does not start") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define ONE(facts) "{'platform': {'kind': 'hgx'}, 'gpu': {'gpus': [{" facts "}]}}"
#define H100 "'name': 'NVIDIA H100 80GB HBM3', "
#define SPEEDS(a, b)                                                                               \
	"'links': [{'index': 0, 'active': 1, 'speed_mbs': " a                                      \
	"}, {'index': 1, 'active': 1, 'speed_mbs': " b "}]"

#define COUNTED(crc, recovery, replay)                                                             \
	"'links': [{'index': 3, 'active': 1, 'crc_errors': " crc ", 'recovery_errors': " recovery  \
	", 'replay_errors': " replay "}]"

static void gpu_rows(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.nvlink-speed", ONE("'name': 'NVIDIA H100'"), NA, NO_HARDWARE,
		      "no NVLink") },
		{ ROW("gpu.nvlink-speed", ONE(H100 SPEEDS("26562", "26562")), PASS, OK, "53") },
		{ ROW("gpu.nvlink-speed", ONE(H100 SPEEDS("26562", "13281")), FAIL, DIFFERS,
		      "13.3") },
		/* All slow alike, which only the chip's own figure tells. */
		{ ROW("gpu.nvlink-speed", ONE(H100 SPEEDS("20000", "20000")), FAIL, DIFFERS,
		      "26.6") },
		{ ROW("gpu.nvlink-speed", ONE(SPEEDS("20000", "20000")), PASS, OK, NULL) },
		{ ROW("gpu.nvlink-speed", ONE(H100 SPEEDS("'!error'", "26562")), UNKNOWN, ERROR,
		      NULL) },
		{ ROW("gpu.nvlink-speed", ONE(H100 "'links': [{'active': 1}]"), NA, NEEDS_DEEP,
		      NULL) },
		/* Firmware took a link out: the driver counts what is left. */
		{ ROW("gpu.nvlink", ONE(H100 SPEEDS("26562", "26562")), FAIL, DIFFERS, "2 of 18") },

		{ ROW("gpu.pcie-replays", ONE("'integrated': 1"), NA, INTEGRATED, NULL) },
		{ ROW("gpu.pcie-replays", ONE("'pcie_replays': 0"), PASS, OK, NULL) },
		{ ROW("gpu.pcie-replays", ONE("'pcie_replays': 7"), NA, NEEDS_EARLIER, "--since") },
		{ ROW("gpu.pcie-replays", ONE("'pcie_replays': '!denied'"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW("gpu.pcie-replays", ONE("'index': 0"), NA, NEEDS_DEEP, NULL) },

		{ ROW("gpu.remapped-rows",
		      ONE("'remap_failed': 0, 'remap_pending': 0, 'remap_uncorrected': 513"), FAIL,
		      DIFFERS, "too many rows were remapped: replace the board") },
		{ ROW("gpu.remapped-rows",
		      ONE("'remap_failed': 0, 'remap_pending': 0, 'remap_uncorrected': 512"), PASS,
		      OK, NULL) },
		{ ROW("gpu.ecc-errors", ONE("'ecc_uncorrected': 0, 'ecc_corrected': 20000001"),
		      FAIL, DIFFERS, "too many corrected errors: uncorrected ones are") },
		{ ROW("gpu.ecc-errors", ONE("'ecc_uncorrected': 5, 'ecc_volatile': 2"), FAIL,
		      DIFFERS, "2 uncorrected since driver load, 5 over its life") },
		{ ROW("gpu.ecc-errors", ONE("'ecc_uncorrected': 0, 'ecc_volatile': 2"), FAIL,
		      DIFFERS, "more uncorrected memory errors since driver load than over") },
		{ ROW("gpu.ecc-errors",
		      ONE("'ecc_uncorrected': 3, 'ecc_volatile': 0, 'remap_uncorrected': 1, "
			  "'remap_pending': 0, 'remap_failed': 0"),
		      PASS, OK, "remapped") },
		{ ROW("gpu.ecc-errors", ONE("'ecc_uncorrected': '!denied', 'ecc_volatile': 1"),
		      FAIL, DIFFERS, "1 uncorrected since driver load") },
		{ ROW("gpu.ecc-errors", ONE("'ecc_uncorrected': '!denied', 'ecc_volatile': 0"),
		      UNKNOWN, DENIED, NULL) },
		{ ROW("gpu.ecc-errors", ONE("'ecc_uncorrected': 9223372036854775807"), UNKNOWN,
		      ERROR, "wrapped") },
		{ ROW("gpu.ecc-errors", ONE("'ecc_uncorrected': '!unsupported'"), NA, NO_SUPPORT,
		      NULL) },

		{ ROW("gpu.nvlink-errors", ONE("'index': 0"), NA, NO_HARDWARE, NULL) },
		{ ROW("gpu.nvlink-errors", ONE(COUNTED("0", "0", "0")), PASS, OK, "no errors") },
		{ ROW("gpu.nvlink-errors", ONE(COUNTED("7", "1", "3")), NA, NEEDS_EARLIER,
		      "link 3: 7 CRC errors, 1 recoveries, 3 replays since driver load") },
		{ ROW("gpu.nvlink-errors", ONE(COUNTED("250000", "0", "0")), FAIL, DIFFERS,
		      "250000 CRC errors") },
		{ ROW("gpu.nvlink-errors", ONE(COUNTED("0", "60", "0")), FAIL, DIFFERS,
		      "60 recoveries") },
		{ ROW("gpu.nvlink-errors", ONE(COUNTED("9223372036854775807", "0", "0")), UNKNOWN,
		      ERROR, "wrapped") },
		{ ROW("gpu.nvlink-errors", ONE(COUNTED("'!denied'", "'!denied'", "'!denied'")),
		      UNKNOWN, DENIED, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

/* Two GPUs and two ports below two switches of one processor. */
#define FN(name, path, more)                                                                       \
	"{'name': '" name "', 'path': '/sys/devices/pci0000:00/" path "'" more "}"
#define GPUFN ", 'vendor': 4318, 'class': 197120"
#define NICFN ", 'vendor': 5555, 'class': 132864"
#define TREE(nic1)                                                                                 \
	"'pci': [" FN("0000:03:00.0", "0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0",       \
		      GPUFN) ", " FN("0000:04:00.0",                                               \
				     "0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0",        \
				     NICFN) ", " FN("0000:13:00.0",                                \
						    "0000:00:02.0/0000:11:00.0/0000:12:00.0/"      \
						    "0000:13:00.0",                                \
						    GPUFN) ", " FN("0000:14:00.0", nic1,           \
								   NICFN) "]"
#define RIGHT "0000:00:02.0/0000:11:00.0/0000:12:01.0/0000:14:00.0"
#define WRONG "0000:00:01.0/0000:01:00.0/0000:02:02.0/0000:14:00.0"
#define GPUS                                                                                       \
	"'gpu': {'gpus': [{'index': 0, 'pci': '0000:03:00.0'}, {'index': 1, 'pci': "               \
	"'0000:13:00.0'}]}"
#define PORTS(a, b)                                                                                \
	"'net': {'rdma': [{'name': '" a "/1', 'device': '" a                                       \
	"', 'pci': '0000:04:00.0', 'rate_mbps': 400000, 'board_id': 'MT1'}, {'name': '" b          \
	"/1', 'device': '" b "', 'pci': '0000:14:00.0', 'rate_mbps': 10000, 'board_id': 'MT1'}]}"

static void rail_rows(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("pcie.rails", "{}", NA, NO_HARDWARE, NULL) },
		{ ROW("pcie.rails", "{" GPUS "}", NA, NO_HARDWARE, "RDMA") },
		/* A port without a link names a low rate, and is a rail by its like all the same.
		 */
		{ ROW("pcie.rails", "{" TREE(RIGHT) ", " GPUS ", " PORTS("mlx5_0", "mlx5_1") "}",
		      PASS, OK, "one port per GPU, numbered like the GPUs") },
		{ ROW("pcie.rails", "{" TREE(RIGHT) ", " GPUS ", " PORTS("mlx5_10", "mlx5_9") "}",
		      PASS, OK,
		      "one port per GPU, but numbered differently: list them for NCCL in") },
		{ ROW("pcie.rails", "{" TREE(WRONG) ", " GPUS ", " PORTS("mlx5_0", "mlx5_1") "}",
		      FAIL, DIFFERS, "gpu1 has no fast port") },
		{ ROW("pcie.rails",
		      "{" TREE(RIGHT) ", " GPUS ", 'net': {'rdma': [{'name': 'm/1', 'device': 'm', "
				      "'pci': '0000:04:00.0', 'rate_mbps': 400000}]}}",
		      NA, NO_EFFECT, "fewer fast ports") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

/* --- two readings ---------------------------------------------------------------------------- */

static const struct finding *judged(const char *id, const char *now, const char *then)
{
	static struct findings f;
	const char *only[] = { id };
	struct profile p = { .only = only, .n_only = 1 };
	struct machine *m = fake_machine(&arena, now);

	m->earlier = fake_machine(&arena, then);
	settings_check(&arena, m, &p, NULL, NULL, &f);
	assert_true(f.n > 0);
	return &f.items[0];
}

#define SLOWED(hw, sw, brake)                                                                      \
	"'event_hw_thermal_us': " hw ", 'event_sw_thermal_us': " sw ", "                           \
	"'event_hw_power_us': " brake
#define AT(time, facts) "{'time_s': " #time ", 'gpu': {'gpus': [{'pci': 'a', " facts "}]}}"
#define PORT_AT(time, facts)                                                                       \
	"{'time_s': " #time ", 'net': {'rdma': [{'name': 'm/1', 'device': 'm', " facts "}]}}"
#define AER_AT(time, facts)                                                                        \
	"{'time_s': " #time ", 'pci': [{'name': 'a', 'vendor': 4318, 'class': 197120, "            \
	"'pcie_cap': 96, " facts "}]}"

#define ABOVE_AT(time, fatal)                                                                      \
	"{'time_s': " #time ", 'pci': [{'name': 'a', 'parent': 'p', 'vendor': 4318, 'class': "     \
	"197120, 'pcie_cap': 96, 'aer_fatal': 0}, {'name': 'p', 'aer_fatal': " #fatal "}]}"

static void growth_rows(void **state)
{
	static const struct {
		const char *id, *then, *now;
		enum verdict_kind kind;
		const char *says;
	} rows[] = {
		{ "gpu.ecc-errors", AT(1000, "'ecc_uncorrected': 2"),
		  AT(4600, "'ecc_uncorrected': 2"), VERDICT_PASS, "none of them new in 60 min" },
		{ "gpu.ecc-errors", AT(1000, "'ecc_uncorrected': 2"),
		  AT(4600, "'ecc_uncorrected': 5"), VERDICT_FAIL, "3 more" },
		/* Another board in its place. */
		{ "gpu.ecc-errors", AT(1000, "'uuid': 'x', 'ecc_uncorrected': 2"),
		  AT(4600, "'uuid': 'y', 'ecc_uncorrected': 5"), VERDICT_FAIL, "over its life" },
		/* What there is since the driver was loaded, and none of it since then. */
		{ "gpu.ecc-errors", AT(1000, "'ecc_uncorrected': 2, 'ecc_volatile': 2"),
		  AT(4600, "'ecc_uncorrected': 2, 'ecc_volatile': 2"), VERDICT_PASS,
		  "none of them new" },
		{ "gpu.nvlink-errors", AT(1000, COUNTED("5", "0", "0")),
		  AT(1010, COUNTED("1005", "0", "0")), VERDICT_PASS,
		  "the errors grew slower than the limit" },
		{ "gpu.nvlink-errors", AT(1000, COUNTED("5", "0", "0")),
		  AT(1010, COUNTED("1006", "0", "0")), VERDICT_FAIL,
		  "link 3: 1001 CRC errors (1e+02 per second)" },
		{ "gpu.nvlink-errors", AT(1000, COUNTED("0", "1", "0")),
		  AT(9000, COUNTED("0", "2", "9")), VERDICT_FAIL,
		  "1 recoveries, 9 replays in 2 h" },
		{ "gpu.nvlink-errors", AT(1000, COUNTED("7", "1", "0")),
		  AT(9000, COUNTED("7", "1", "0")), VERDICT_PASS, "did not grow" },
		/* Gen5 x16: 31 a minute. */
		{ "gpu.pcie-replays",
		  AT(1000, "'pcie_replays': 100, 'pcie_gen': 5, 'pcie_width_lanes': 16"),
		  AT(1060, "'pcie_replays': 150, 'pcie_gen': 5, 'pcie_width_lanes': 16"),
		  VERDICT_PASS, "50 more" },
		{ "gpu.pcie-replays",
		  AT(1000, "'pcie_replays': 100, 'pcie_gen': 5, 'pcie_width_lanes': 16"),
		  AT(1060, "'pcie_replays': 170, 'pcie_gen': 5, 'pcie_width_lanes': 16"),
		  VERDICT_FAIL, "70 more" },
		/* Counted anew since a driver reload, or wrong: as without an earlier reading. */
		{ "gpu.pcie-replays",
		  AT(1000, "'pcie_replays': 100, 'pcie_gen': 5, 'pcie_width_lanes': 16"),
		  AT(1060, "'pcie_replays': 80, 'pcie_gen': 5, 'pcie_width_lanes': 16"), VERDICT_NA,
		  "a count is not a rate" },
		{ "gpu.throttle-history", AT(1000, SLOWED("9000000", "0", "0")),
		  AT(1100, SLOWED("9000000", "0", "0")), VERDICT_PASS, "0.0 %" },
		{ "gpu.throttle-history", AT(1000, SLOWED("0", "0", "0")),
		  AT(1100, SLOWED("0", "0", "2000000")), VERDICT_FAIL, "power brake 2.0 %" },
		{ "gpu.throttle-history", AT(1000, SLOWED("0", "3600000000", "0")),
		  AT(1100, SLOWED("0", "3640000000", "0")), VERDICT_FAIL,
		  "software thermal 40.0 %" },
		/* The driver was loaded anew in between. */
		{ "gpu.throttle-history", AT(1000, SLOWED("0", "3600000000", "0")),
		  AT(1100, SLOWED("0", "5000000", "0")), VERDICT_FAIL, "since driver load" },
		/* More than the time that passed. */
		{ "gpu.throttle-history", AT(1000, SLOWED("0", "0", "0")),
		  AT(1100, SLOWED("0", "900000000", "0")), VERDICT_UNKNOWN, "jumped or wrapped" },
		{ "rdma.errors", PORT_AT(1000, "'symbol_errors': 4000, 'link_downed': 30"),
		  PORT_AT(2000, "'symbol_errors': 4000, 'link_downed': 30"), VERDICT_PASS,
		  "no increase" },
		{ "rdma.errors", PORT_AT(1000, "'symbol_errors': 0, 'link_downed': 0"),
		  PORT_AT(2000, "'symbol_errors': 0, 'link_downed': 1"), VERDICT_FAIL,
		  "went down" },
		{ "rdma.errors", PORT_AT(1000, "'symbol_errors': 0, 'link_downed': 0"),
		  PORT_AT(2000, "'symbol_errors': 3, 'link_downed': 0"), VERDICT_FAIL,
		  "integrity errors grew" },
		{ "pcie.errors", AER_AT(1000, "'aer_fatal': 1, 'aer_nonfatal': 9"),
		  AER_AT(2000, "'aer_fatal': 1, 'aer_nonfatal': 9"), VERDICT_PASS, "no failure" },
		{ "pcie.errors", AER_AT(1000, "'aer_fatal': 1, 'aer_nonfatal': 9"),
		  AER_AT(2000, "'aer_fatal': 1, 'aer_nonfatal': 10"), VERDICT_FAIL, "failed" },
		{ "pcie.errors", ABOVE_AT(1000, 3), ABOVE_AT(2000, 3), VERDICT_PASS, "no failure" },
		{ "pcie.errors", ABOVE_AT(1000, 3), ABOVE_AT(2000, 4), VERDICT_FAIL,
		  "upstream port, p" },
		/* Counted from nought after a reset: judged as without an earlier reading. */
		{ "pcie.errors", ABOVE_AT(1000, 3), ABOVE_AT(2000, 1), VERDICT_FAIL,
		  "upstream port, p" },
		{ "pcie.errors", ABOVE_AT(1000, 3), ABOVE_AT(2000, 0), VERDICT_PASS, "no failure" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct finding *f = judged(rows[i].id, rows[i].now, rows[i].then);

		if (f->v.kind != rows[i].kind || !fake_says(&f->v, rows[i].says))
			fail_msg("row %zu, %s: %s: %s (is %s)", i, rows[i].id,
				 verdict_name(f->v.kind), f->v.reason,
				 f->v.current ? f->v.current : "-");
	}
	/* The later of the two is no earlier reading. */
	assert_null(strstr(judged("gpu.ecc-errors", AT(1000, "'ecc_uncorrected': 5"),
				  AT(4600, "'ecc_uncorrected': 2"))
				   ->v.reason,
			   "more uncorrected"));
}

/* --- narrow spots ---------------------------------------------------------------------------- */

#define LINK(mts, width, max, lanes)                                                               \
	", 'speed_mts': " #mts ", 'width_lanes': " #width ", 'max_speed_mts': " #max               \
	", 'max_width_lanes': " #lanes
#define BRIDGE ", 'vendor': 4096, 'class': 394240"

static void narrow_rows(void **state)
{
	size_t n;
	const struct narrow *s;

	(void)state;
	assert_true(pcie_mbs(32000, 16) > 63000 && pcie_mbs(32000, 16) < 63100);
	assert_true(pcie_mbs(2500, 1) > 249 && pcie_mbs(2500, 1) < 251);
	assert_true(pcie_mbs(0, 16) <= 0 && pcie_mbs(-5, 3) <= 0);
	/* A resting GPU is slow for a reason, a narrow one is not. */
	s = narrow_spots(
		&arena,
		fake_machine(
			&arena,
			"{'pci': [" FN(
				"0000:01:00.0", "0000:01:00.0",
				GPUFN LINK(
					2500, 16, 32000,
					16)) "], 'gpu': "
					     "{'gpus': [{'pci': '0000:01:00.0', 'pstate': 8}]}}"),
		&n);
	assert_int_equal(n, 0);
	s = narrow_spots(
		&arena,
		fake_machine(
			&arena,
			"{'pci': [" FN(
				"0000:01:00.0", "0000:01:00.0",
				GPUFN LINK(
					2500, 8, 32000,
					16)) "], 'gpu': "
					     "{'gpus': [{'pci': '0000:01:00.0', 'pstate': 8}]}}"),
		&n);
	assert_int_equal(n, 1);
	assert_int_equal(s[0].kind, NARROW_LANES);
	assert_string_equal(s[0].name, "GPU 0");
	assert_non_null(strstr(s[0].reason, "8 of 16 lanes"));
	assert_string_equal(s[0].address, "0000:01:00.0");
	/* A switch with a narrow way up; a NIC faster than its link; faults come first. */
	s = narrow_spots(
		&arena,
		fake_machine(
			&arena,
			"{'pci': [" FN(
				"0000:01:00.0", "0000:00:01.0/0000:01:00.0",
				BRIDGE ", 'port_type': 5" LINK(
					16000, 8, 32000,
					8)) ", " FN("0000:03:00.0",
						    "0000:00:01.0/0000:01:00.0/0000:02:00.0/"
						    "0000:03:00.0",
						    GPUFN LINK(
							    16000, 16, 16000,
							    16)) ", " FN("0000:05:00.0",
									 "0000:05:00.0",
									 NICFN LINK(
										 32000, 4, 32000,
										 4)) "], "
										     "'net': "
										     "{'rdma': "
										     "[{'name': "
										     "'m/1', "
										     "'device': "
										     "'m', 'pci': "
										     "'0000:05:00."
										     "0', "
										     "'state': "
										     "'ACTIVE', "
										     "'rate_mbps': "
										     "200000}]}, "
										     "'gpu': "
										     "{'gpus': "
										     "[{'pci': "
										     "'0000:03:00."
										     "0', "
										     "'pstate': "
										     "0}]}}"),
		&n);
	assert_int_equal(n, 2);
	assert_int_equal(s[0].kind, NARROW_SPEED);
	assert_string_equal(s[0].name, "switch 0000:01:00.0");
	assert_true(s[0].fault);
	assert_int_equal(s[1].kind, NARROW_PORT);
	assert_false(s[1].fault);
	assert_non_null(strstr(s[1].reason, "200 Gb/s"));
}

/* --- faults in NVML, through the real loader ------------------------------------------------- */

struct door {
	struct host host;
	void *nvml;
};

static const char *planted_log;

static int door_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	static const char text[] = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
				   "570.133.20  Release Build\n";

	(void)h;
	if (strcmp(path, "/proc/driver/nvidia/version") != 0)
		return -ENOENT;
	*len = sizeof(text) - 1;
	memcpy(buf, text, *len < cap ? *len : cap);
	return 0;
}

static int door_kind(struct host *h, const char *path, enum host_kind *out)
{
	(void)h;
	*out = HOST_FILE;
	return strcmp(path, "/proc/driver/nvidia/version") == 0 ? 0 : -ENOENT;
}

static int door_ask(struct host *h, const char *api, const char *object, const char *field,
		    struct answer *out)
{
	struct door *d = (struct door *)h;

	if (strcmp(api, "nvml") == 0)
		return provider_nvml.ask(&d->nvml, &h->arena, object, field, out);
	if (strcmp(api, "kernel-log") != 0)
		return -ENOSYS;
	if (!planted_log)
		return -EPERM;
	if (strcmp(field, "xids") == 0)
		answer_text(out, xid_summary(&h->arena, planted_log, object, 1000));
	else if (strncmp(field, "sxids(", 6) == 0)
		answer_int(out, sxid_count(planted_log, field[6] == 'F' ? "Fatal" : "Non-fatal"));
	else
		answer_int(out, strstr(planted_log, "NVRM: Xid") != NULL);
	return 0;
}

static const struct host_ops door_ops = { .read = door_read, .kind = door_kind, .ask = door_ask };

/* The captured H100 board with some answers of one GPU replaced. */
static void plant(const char *path, const char *gpu, const char *question, json_t *value)
{
	json_t *j = json_load_file(MACHINES "/hgx-h100/api/nvml.json", 0, NULL);

	assert_non_null(j);
	if (question)
		json_object_set_new(json_object_get(j, gpu), question, value);
	assert_int_equal(json_dump_file(j, path, 0), 0);
	json_decref(j);
}

static void add_function(struct machine *m, const char *name, long long class_)
{
	struct pci_function *f = list_add(&arena, &m->pci, sizeof(*f));

	f->name = name;
	f->path = f->parent = f->root = "";
	f->vendor = fact_int_of(0x10de, NULL, "vendor");
	f->class_ = fact_int_of(class_, NULL, "class");
}

static void look(struct findings *f)
{
	static const char *const only[] = { "gpu.xid",	       "gpu.sxid",
					    "gpu.nvlink",      "gpu.nvlink-speed",
					    "gpu.fabric",      "gpu.remapped-rows",
					    "gpu.ecc-errors",  "gpu.throttle",
					    "gpu.temperature", "gpu.recovery-action",
					    "gpu.ecc",	       "gpu.count" };
	static const char *const cards[] = { "0000:03:00.0", "0000:23:00.0", "0000:43:00.0",
					     "0000:63:00.0", "0000:83:00.0", "0000:a3:00.0",
					     "0000:c3:00.0", "0000:e3:00.0" };
	struct profile profile = { .only = (const char **)(uintptr_t)only,
				   .n_only = sizeof(only) / sizeof(only[0]) };
	struct machine *m = ARENA_NEW(&arena, struct machine);
	struct door d = { .host = { .ops = &door_ops } };
	struct probe p = { .h = &d.host, .a = &arena, .m = m, .deep = true };

	memset(m, 0, sizeof(*m));
	m->platform.kind = fact_str_of("hgx", NULL, "test");
	for (size_t i = 0; i < 8; i++)
		add_function(m, cards[i], 0x030200);
	add_function(m, "0000:75:00.0", 0x068000);
	probe_gpu(&p);
	settings_check(&arena, m, &profile, NULL, NULL, f);
	provider_nvml.close(d.nvml);
	/* Texts of findings may live in the door's arena. */
	assert_true(n_doors < sizeof(doors) / sizeof(doors[0]));
	doors[n_doors++] = d.host.arena;
}

static const struct finding *first_failed(const struct findings *f)
{
	return f->n && f->items[0].v.kind == VERDICT_FAIL ? &f->items[0] : NULL;
}

static void through_the_loader(void **state)
{
	static const struct {
		const char *gpu, *question;
		long long value;
		const char *id, *target, *says;
	} rows[] = {
		{ "5", "nvmlDeviceGetRemappedRows.isPending", 1, "gpu.remapped-rows", "gpu5",
		  "GPU reset" },
		{ "2", "nvmlDeviceGetRemappedRows.failureOccurred", 1, "gpu.remapped-rows", "gpu2",
		  "replace the board" },
		{ "2", "nvmlDeviceGetRemappedRows.uncRows", 600, "gpu.remapped-rows", "gpu2",
		  "replace the board" },
		{ "1", "nvmlDeviceGetNvLinkState(7)", 0, "gpu.nvlink", "gpu1", "17 of 18" },
		{ "1", "nvmlDeviceGetFieldValues(NVLINK_LINK_COUNT)", 17, "gpu.nvlink", "gpu1",
		  "17 of 18" },
		{ "7", "nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,0)", 13281, "gpu.nvlink-speed",
		  "gpu7", "13.3 GB/s" },
		{ "0", "nvmlDeviceGetGpuFabricInfo.state", 1, "gpu.fabric", "gpu0",
		  "Fabric Manager has not started to register the GPU: CUDA" },
		{ "3", "nvmlDeviceGetGpuFabricInfo.healthMask", 1, "gpu.fabric", "gpu3",
		  "bandwidth" },
		{ "4", "nvmlDeviceGetTotalEccErrors(UNCORRECTED,AGGREGATE)", 3, "gpu.ecc-errors",
		  "gpu4", "3 uncorrected" },
		{ "4", "nvmlDeviceGetTotalEccErrors(UNCORRECTED,VOLATILE)", 2, "gpu.ecc-errors",
		  "gpu4", "2 uncorrected since driver load" },
		{ "4", "nvmlDeviceGetFieldValues(ECC_PENDING)", 0, "gpu.ecc", "gpu4",
		  "will be off" },
		{ "4", "nvmlDeviceGetCurrentClocksEventReasons", 0x40, "gpu.throttle", "gpu4",
		  "cooling" },
		{ "2", "nvmlDeviceGetTemperature(GPU)", 88, "gpu.temperature", "gpu2", "slowdown" },
		{ "2", "nvmlDeviceGetFieldValues(GET_GPU_RECOVERY_ACTION)", 2,
		  "gpu.recovery-action", "gpu2", "reboot" },
	};
	char path[] = "/tmp/gputune-health-XXXXXX";
	struct findings f;

	(void)state;
	close(mkstemp(path));
	setenv("GPUTUNE_STUB", path, 1);
	planted_log = "";
	plant(path, "", NULL, NULL);
	look(&f);
	if (first_failed(&f))
		fail_msg("a sound board: %s %s: %s", f.items[0].s->id, f.items[0].target,
			 f.items[0].v.reason);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct finding *it;

		plant(path, rows[i].gpu, rows[i].question, json_integer(rows[i].value));
		look(&f);
		it = first_failed(&f);
		if (!it || strcmp(it->s->id, rows[i].id) != 0 ||
		    strcmp(it->target, rows[i].target) != 0 || !fake_says(&it->v, rows[i].says))
			fail_msg("row %zu, %s: %s on %s: %s (is %s)", i, rows[i].question,
				 it ? it->s->id : "nothing", it ? it->target : "-",
				 it ? it->v.reason : "-",
				 it && it->v.current ? it->v.current : "-");
		if (f.count[VERDICT_FAIL] != 1)
			fail_msg("row %zu, %s: %zu findings", i, rows[i].question,
				 f.count[VERDICT_FAIL]);
	}
	/* Old errors are no fault: nobody knows whether they grow. */
	plant(path, "6", "nvmlDeviceGetFieldValues(NVLINK_ERROR_DL_CRC,3)", json_integer(12));
	look(&f);
	assert_null(first_failed(&f));
	for (size_t i = 0; i < f.n; i++) {
		const struct finding *it = &f.items[i];

		if (strcmp(it->s->id, "gpu.nvlink") == 0 && strcmp(it->target, "gpu6") == 0) {
			assert_string_equal(it->v.code, CODE_NEEDS_EARLIER);
			assert_non_null(strstr(it->v.reason, "1 counted errors"));
		}
	}
	/* A GPU that the driver has lost is still told by the log, by its place. */
	planted_log =
		"<3>[  900.0] NVRM: Xid (PCI:0000:a3:00): 79, GPU has fallen off the bus.\n"
		"<3>[  901.0] nvidia-nvswitch1: SXid (PCI:0000:73:00.0): 20034, Fatal, Link\n";
	plant(path, "", NULL, NULL);
	look(&f);
	assert_int_equal(f.count[VERDICT_FAIL], 2);
	assert_string_equal(f.items[0].s->id, "gpu.xid");
	assert_string_equal(f.items[0].target, "0000:a3:00.0");
	assert_non_null(strstr(f.items[0].v.current, "Xid 79 x1, last 100 s ago"));
	assert_string_equal(f.items[1].s->id, "gpu.sxid");
	/* Who may not read the log is told so. */
	planted_log = NULL;
	look(&f);
	assert_int_equal(f.count[VERDICT_FAIL], 0);
	assert_true(f.count[VERDICT_UNKNOWN] >= 2);
	unlink(path);
}

static int release(void **state)
{
	(void)state;
	while (n_doors)
		arena_free(&doors[--n_doors]);
	arena_free(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(xid_lines, release),
		cmocka_unit_test_teardown(hostile_lines, release),
		cmocka_unit_test_teardown(the_real_log, release),
		cmocka_unit_test_teardown(manager_versions, release),
		cmocka_unit_test_teardown(data_is_sound, release),
		cmocka_unit_test_teardown(log_rows, release),
		cmocka_unit_test_teardown(gpu_rows, release),
		cmocka_unit_test_teardown(rail_rows, release),
		cmocka_unit_test_teardown(growth_rows, release),
		cmocka_unit_test_teardown(narrow_rows, release),
		cmocka_unit_test_teardown(through_the_loader, release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
