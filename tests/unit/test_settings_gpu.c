/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about GPUs: facts in, verdict out, one row a branch. */
#include "fake.h"

#define GPU(facts) "{'gpu': {'gpus': [{'pci': '0000:01:00.0', " facts "}]}}"
#define SLOWED(hw, sw, brake)                                                                      \
	"{'gpu': {'gpus': [{'pci': '0000:01:00.0', 'event_hw_thermal_us': " hw                     \
	", 'event_sw_thermal_us': " sw ", 'event_hw_power_us': " brake
#define END "}]}}"
#define ON(kind, facts) "{'platform': {'kind': '" kind "'}, 'gpu': {'gpus': [{" facts "}]}}"
#define CARD "{'name': '0000:01:00.0', 'vendor': 4318, 'class': 196608}"
#define CARD2 "{'name': '0000:02:00.0', 'vendor': 4318, 'class': 197120}"
#define AER(fatal, nonfatal, fixed)                                                                \
	"{'pci': [{'name': 'a', 'vendor': 4318, 'class': 197120, 'pcie_cap': 96, "                 \
	"'aer_fatal': " fatal ", 'aer_nonfatal': " nonfatal ", 'aer_correctable': " fixed "}]}"
#define RDMA "'net': {'rdma': [{'name': 'mlx5_0/1', 'device': 'mlx5_0'}]}"

/* A ConnectX without an error of its own, below a root port that counted some. */
#define BELOW_PORT_OF(fatal)                                                                       \
	"'pci': [{'name': '0002:00:00.0', 'class': 394240, 'aer_fatal': " fatal                    \
	"}, {'name': '0002:01:00.0', 'parent': '0002:00:00.0', 'vendor': 5555, 'class': 131072, "  \
	"'max_speed_mts': 32000, 'pcie_cap': 96, 'aer_fatal': 0, 'aer_nonfatal': 0, "              \
	"'aer_correctable': 0}]"
#define BELOW_PORT(fatal) "{" BELOW_PORT_OF(fatal) "}"

static void test_modes(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.persistence-mode", "{}", NA, NO_HARDWARE, "no NVIDIA GPU") },
		{ ROW("gpu.persistence-mode", "{'pci': [" CARD ", " CARD2 "]}", NA, NO_HARDWARE,
		      "2 NVIDIA GPUs, but no driver for them responds") },
		{ ROW("gpu.throttle", "{'pci': [" CARD "]}", NA, NO_HARDWARE,
		      "one NVIDIA GPU, but no driver for it responds") },
		{ ROW("gpu.nvlink", "{'pci': [" CARD "]}", NA, NO_HARDWARE,
		      "one NVIDIA GPU, but no driver for it responds") },
		{ ROW("gpu.count", "{'pci': [" CARD "]}", NA, NO_HARDWARE,
		      "one NVIDIA GPU, but no driver for it responds") },
		{ ROW("rdma.gpudirect", "{'pci': [" CARD "]}", NA, NO_HARDWARE,
		      "one NVIDIA GPU, but no driver for it responds") },
		{ ROW("rdma.peermem", "{'pci': [" CARD "]}", NA, NO_HARDWARE,
		      "one NVIDIA GPU, but no driver for it responds") },
		{ ROW("gpu.persistence-mode", GPU("'persistence': 1"), PASS, OK, NULL) },
		{ ROW("gpu.persistence-mode", GPU("'persistence': 0"), FAIL, DIFFERS, NULL) },
		{ ROW("gpu.persistence-mode", GPU("'persistence': '!unsupported'"), NA, NO_SUPPORT,
		      NULL) },
		{ ROW("gpu.persistence-mode", GPU("'persistence': '!denied'"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW("gpu.accounting-mode", GPU("'accounting': 0"), NA, LEFT_ALONE, "audit") },
		{ ROW("gpu.accounting-mode", ON("dgx-spark", "'accounting': 0"), FAIL, DIFFERS,
		      NULL),
		  .profile = PROFILE_PUBLISHED },
		{ ROW("gpu.accounting-mode", ON("hgx", "'accounting': 0"), NA, NOT_IN_PROFILE,
		      NULL),
		  .profile = PROFILE_PUBLISHED },
		{ ROW("gpu.accounting-mode", ON("dgx-spark", "'accounting': 0, 'mig': 1"), NA,
		      NO_SUPPORT, "MIG"),
		  .profile = PROFILE_PUBLISHED },
		{ ROW("gpu.compute-mode", GPU("'compute_mode': 'default'"), PASS, OK, NULL) },
		{ ROW("gpu.compute-mode", GPU("'compute_mode': 'exclusive-process'"), FAIL, DIFFERS,
		      NULL) },
		{ ROW("gpu.compute-mode", GPU("'compute_mode': 'prohibited', 'mig': 1"), NA,
		      NO_SUPPORT, "MIG") },
		{ ROW("gpu.mig", GPU("'mig': '!unsupported'"), NA, NO_SUPPORT, "no MIG") },
		{ ROW("gpu.mig", GPU("'mig': 0"), PASS, OK, "off") },
		{ ROW("gpu.mig", GPU("'mig': 1"), NA, LEFT_ALONE,
		      "on: the GPU is divided by configuration") },
		{ ROW("gpu.mig", GPU("'mig': 1"), FAIL, DIFFERS, "NVLink"),
		  .profile = PROFILE_TRAINING },
		{ ROW("gpu.ecc", GPU("'ecc': '!unsupported'"), NA, NO_SUPPORT, "no switchable") },
		{ ROW("gpu.ecc", GPU("'ecc': '!error'"), UNKNOWN, ERROR, NULL) },
		{ ROW("gpu.ecc", GPU("'ecc': 1, 'ecc_pending': 1"), PASS, OK, NULL) },
		{ ROW("gpu.ecc", GPU("'ecc': 1, 'ecc_pending': 0"), FAIL, DIFFERS, "will be off") },
		{ ROW("gpu.ecc", GPU("'ecc': 0, 'ecc_pending': 0"), NA, LEFT_ALONE, "off") },
		{ ROW("gpu.ecc", ON("hgx", "'ecc': 0"), FAIL, DIFFERS, NULL) },
		{ ROW("gpu.ecc", GPU("'ecc': 0, 'name': 'NVIDIA A100-PCIE-40GB'"), FAIL, DIFFERS,
		      "ship with ECC on") },
		{ ROW("gpu.ecc", GPU("'ecc': 0, 'name': 'NVIDIA H100 NVL'"), FAIL, DIFFERS, NULL) },
		{ ROW("gpu.ecc", GPU("'ecc': 0, 'name': 'NVIDIA RTX A3000'"), NA, LEFT_ALONE,
		      "off, the default of graphics cards; data-center cards ship") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

/* Decided per GPU: an integrated and a discrete one may sit side by side. */
static void test_bar1(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.bar1-size", GPU("'integrated': 1"), NA, INTEGRATED, NULL) },
		{ ROW("gpu.bar1-size", GPU("'integrated': 0, 'bar1_bytes': '!error'"), UNKNOWN,
		      ERROR, NULL) },
		{ ROW("gpu.bar1-size", GPU("'bar1_bytes': 268435456"), NA, NO_EFFECT, "no RDMA") },
		{ ROW("gpu.bar1-size", "{'gpu': {'gpus': [{'bar1_bytes': 268435456}]}, " RDMA "}",
		      FAIL, DIFFERS, "256 MiB") },
		{ ROW("gpu.bar1-size", "{'gpu': {'gpus': [{'bar1_bytes': 1073741824}]}, " RDMA "}",
		      PASS, OK, "at least 1 GiB") },
		{ ROW("gpu.bar1-size",
		      "{'gpu': {'gpus': [{'bar1_bytes': 1073741824, 'memory_bytes': 1000000000}]}}",
		      PASS, OK, "whole GPU memory") },
		{ ROW("gpu.bar1-size",
		      "{'gpu': {'gpus': [{'integrated': 1}, {'index': 1, 'integrated': 0, "
		      "'bar1_bytes': "
		      "268435456}]}, " RDMA "}",
		      FAIL, DIFFERS, NULL),
		  .target = "gpu1" },
		{ ROW("gpu.bar1-size",
		      "{'gpu': {'gpus': [{'integrated': 1}, {'index': 1, 'integrated': 0, "
		      "'bar1_bytes': "
		      "268435456}]}, " RDMA "}",
		      NA, INTEGRATED, NULL),
		  .target = "gpu0" },
		{ ROW("gpu.resizable-bar", GPU("'integrated': 1"), NA, INTEGRATED, NULL) },
		{ ROW("gpu.resizable-bar", GPU("'integrated': 0"), NA, VIRTUAL, "not visible") },
		{ ROW("gpu.resizable-bar",
		      "{'pci': [{'name': 'a', 'rebar_max_bytes': '!absent'}], 'gpu': {'gpus': "
		      "[{'pci': "
		      "'a'}]}}",
		      NA, NO_SUPPORT, "no Resizable BAR") },
		{ ROW("gpu.resizable-bar",
		      "{'pci': [{'name': 'a', 'rebar_max_bytes': '!denied'}], 'gpu': {'gpus': "
		      "[{'pci': "
		      "'a'}]}}",
		      UNKNOWN, DENIED, NULL) },
		/* Two sources that disagree: what the driver maps is what programs get. */
		{ ROW("gpu.resizable-bar",
		      "{'pci': [{'name': 'a', 'rebar_max_bytes': 68719476736, 'rebar_bytes': "
		      "268435456}], 'gpu': {'gpus': [{'pci': 'a', 'bar1_bytes': "
		      "2147483648}]}, " RDMA "}",
		      PASS, OK, "the register shows less") },
		/* One window, one finding. */
		{ ROW("gpu.resizable-bar",
		      "{'pci': [{'name': 'a', 'rebar_max_bytes': 68719476736, 'rebar_bytes': "
		      "268435456}], 'gpu': {'gpus': [{'pci': 'a', 'bar1_bytes': 268435456}]}, " RDMA
		      "}",
		      NA, NO_EFFECT, "gpu.bar1-size") },
		{ ROW("gpu.resizable-bar",
		      "{'pci': [{'name': 'a', 'rebar_max_bytes': 68719476736, 'rebar_bytes': "
		      "268435456}], 'gpu': "
		      "{'gpus': [{'pci': 'a'}]}}",
		      NA, NO_EFFECT, NULL) },
		{ ROW("gpu.resizable-bar",
		      "{'pci': [{'name': 'a', 'rebar_max_bytes': 268435456, 'rebar_bytes': "
		      "268435456}], 'gpu': "
		      "{'gpus': [{'pci': 'a'}]}, " RDMA "}",
		      PASS, OK, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define IDLE "'event_reasons': 1, 'util_gpu_pct': 0, 'clock_sm_max_mhz': 1980, "
#define BUSY "'event_reasons': 0, 'util_gpu_pct': 97, 'clock_sm_max_mhz': 1980, "

static void test_clock_locks(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.sm-clock-lock", GPU(IDLE "'clock_sm_mhz': 210"), NA, OPT_IN,
		      "costs nothing") },
		{ ROW("gpu.sm-clock-lock", ON("dgx-spark", IDLE "'clock_sm_mhz': 210"), NA, OPT_IN,
		      "GB10"),
		  .profile = PROFILE_MAX_PERFORMANCE },
		{ ROW("gpu.sm-clock-lock", ON("hgx", IDLE "'clock_sm_mhz': 210"), NA,
		      NOT_IN_PROFILE, NULL),
		  .profile = PROFILE_PUBLISHED },
		{ ROW("gpu.sm-clock-lock", GPU(IDLE "'clock_sm_mhz': 210"), FAIL, DIFFERS,
		      "no lock"),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("gpu.sm-clock-lock", ON("igx-orin", IDLE "'clock_sm_mhz': 210"), FAIL,
		      DIFFERS, "locked at 1980 MHz") },
		{ ROW("gpu.sm-clock-lock", GPU(IDLE "'clock_sm_mhz': 1980"), PASS, OK, NULL),
		  .profile = PROFILE_LOW_LATENCY },
		/* A working GPU shows nothing: high is load, low may be power or memory. */
		{ ROW("gpu.sm-clock-lock", GPU(BUSY "'clock_sm_mhz': 1980"), UNKNOWN, NEEDS_LOAD,
		      NULL),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("gpu.sm-clock-lock", GPU(BUSY "'clock_sm_mhz': 1200"), UNKNOWN, NEEDS_LOAD,
		      NULL),
		  .profile = PROFILE_LOW_LATENCY },
		/* At rest, but held down by power. */
		{ ROW("gpu.sm-clock-lock",
		      GPU("'event_reasons': 4, 'util_gpu_pct': 0, 'clock_sm_max_mhz': 1980, "
			  "'clock_sm_mhz': 900"),
		      UNKNOWN, NEEDS_LOAD, NULL),
		  .profile = PROFILE_LOW_LATENCY },
		/* Whether it rests was not seen. */
		{ ROW("gpu.sm-clock-lock", GPU("'clock_sm_max_mhz': 1980, 'clock_sm_mhz': 210"),
		      UNKNOWN, NEEDS_LOAD, NULL),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("gpu.sm-clock-lock", GPU(IDLE "'clock_sm_mhz': '!error'"), UNKNOWN, ERROR,
		      NULL),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("gpu.sm-clock-lock", GPU("'clock_sm_max_mhz': '!denied', 'clock_sm_mhz': 1"),
		      UNKNOWN, DENIED, NULL),
		  .profile = PROFILE_LOW_LATENCY },
		/* GB10 reaches 83 % of what is asked for. */
		{ ROW("gpu.sm-clock-lock",
		      ON("dgx-spark", "'integrated': 1, " IDLE "'clock_sm_mhz': 208"), FAIL,
		      DIFFERS, "3003"),
		  .profile = PROFILE_PUBLISHED },
		{ ROW("gpu.sm-clock-lock",
		      ON("dgx-spark", "'integrated': 1, " IDLE "'clock_sm_mhz': 2500"), PASS, OK,
		      NULL),
		  .profile = PROFILE_PUBLISHED },
		{ ROW("gpu.sm-clock-lock",
		      ON("dgx-spark", "'integrated': 1, " IDLE "'clock_sm_mhz': 1900"), UNKNOWN,
		      NEEDS_LOAD, NULL),
		  .profile = PROFILE_PUBLISHED },
		/* A profile file's own wishes: a cap, a number, nonsense. */
		{ ROW("gpu.sm-clock-lock", GPU(BUSY "'clock_sm_mhz': 2400"), FAIL, DIFFERS,
		      "no cap"),
		  .want = { .rel = WANT_AT_MOST, .value = "2100" } },
		{ ROW("gpu.sm-clock-lock", GPU(BUSY "'clock_sm_mhz': 2100"), UNKNOWN, NEEDS_LOAD,
		      "capped at 2100"),
		  .want = { .rel = WANT_AT_MOST, .value = "2100" } },
		{ ROW("gpu.sm-clock-lock", GPU(IDLE "'clock_sm_mhz': 1410"), PASS, OK, "1410"),
		  .want = { .rel = WANT_IS, .value = "1410" } },
		{ ROW("gpu.sm-clock-lock", GPU(IDLE "'clock_sm_mhz': 1410"), UNKNOWN, ERROR,
		      "neither"),
		  .want = { .rel = WANT_IS, .value = "fast" } },

		{ ROW("gpu.mem-clock-lock", GPU("'integrated': 1"), NA, INTEGRATED, NULL),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("gpu.mem-clock-lock", ON("hgx", "'index': 0"), NA, NO_EFFECT, NULL),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("gpu.mem-clock-lock", GPU("'mem_clocks': 1"), NA, NO_EFFECT, NULL),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("gpu.mem-clock-lock", GPU("'clock_mem_mhz': 405"), NA, LEFT_ALONE, "rises") },
		{ ROW("gpu.mem-clock-lock", GPU("'clock_mem_mhz': 405, 'clock_mem_max_mhz': 10001"),
		      FAIL, DIFFERS, "10001"),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("gpu.mem-clock-lock",
		      GPU("'event_reasons': 1, 'clock_mem_mhz': 10000, 'clock_mem_max_mhz': 10001"),
		      PASS, OK, NULL),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("gpu.mem-clock-lock",
		      GPU("'clock_mem_mhz': 10000, 'clock_mem_max_mhz': 10001"), UNKNOWN,
		      NEEDS_LOAD, NULL),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("gpu.mem-clock-lock",
		      GPU("'clock_mem_mhz': '!denied', 'clock_mem_max_mhz': 10001"), UNKNOWN,
		      DENIED, NULL),
		  .profile = PROFILE_LOW_LATENCY },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_power_and_clocks(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.application-clocks", GPU("'integrated': 1"), NA, INTEGRATED, NULL) },
		{ ROW("gpu.application-clocks", GPU("'clock_app_sm_mhz': '!unsupported'"), NA,
		      NO_SUPPORT, NULL) },
		{ ROW("gpu.application-clocks",
		      GPU("'clock_app_sm_mhz': 1200, 'clock_app_default_sm_mhz': 1980"), FAIL,
		      DIFFERS, "1980") },
		{ ROW("gpu.application-clocks",
		      GPU("'clock_app_sm_mhz': 1980, 'clock_app_default_sm_mhz': 1980, "
			  "'clock_app_mem_mhz': '!unsupported', "
			  "'clock_app_default_mem_mhz': '!unsupported'"),
		      PASS, OK, NULL) },
		{ ROW("gpu.application-clocks",
		      GPU("'clock_app_sm_mhz': 1980, 'clock_app_default_sm_mhz': 1980"), NA,
		      NEEDS_DEEP, NULL) },
		{ ROW("gpu.application-clocks",
		      GPU("'clock_app_sm_mhz': 1980, 'clock_app_default_sm_mhz': 1980, "
			  "'clock_app_mem_mhz': 1593, 'clock_app_default_mem_mhz': 2619"),
		      FAIL, DIFFERS, "2619") },

		{ ROW("gpu.vboost", GPU("'index': 0"), NA, LEFT_ALONE, NULL) },
		{ ROW("gpu.vboost", ON("igx-orin", "'index': 0"), NA, NOT_IN_PROFILE, NULL),
		  .profile = PROFILE_PUBLISHED },

		{ ROW("gpu.power-limit", GPU("'integrated': 1"), NA, INTEGRATED, NULL) },
		{ ROW("gpu.power-limit", GPU("'power_limit_mw': '!denied'"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW("gpu.power-limit",
		      GPU("'power_limit_mw': 300000, 'power_limit_default_mw': 700000"), FAIL,
		      DIFFERS, "700 W") },
		{ ROW("gpu.power-limit",
		      GPU("'power_limit_mw': 700000, 'power_limit_default_mw': 700000"), PASS, OK,
		      NULL) },
		{ ROW("gpu.power-limit",
		      GPU("'power_limit_mw': 700000, 'power_limit_default_mw': 700000, "
			  "'power_limit_enforced_mw': "
			  "400000"),
		      FAIL, DIFFERS, "limited to 400 W") },
		{ ROW("gpu.power-limit",
		      GPU("'power_limit_mw': 300000, 'power_limit_default_mw': 700000"), PASS, OK,
		      "profile"),
		  .want = { .rel = WANT_IS, .value = "300" } },
		{ ROW("gpu.power-limit", GPU("'power_limit_mw': 350000"), FAIL, DIFFERS,
		      "<= 300 W"),
		  .want = { .rel = WANT_AT_MOST, .value = "300" } },
		{ ROW("gpu.power-limit", GPU("'power_limit_mw': 350000"), UNKNOWN, ERROR,
		      "the profile names no value in watts"),
		  .want = { .rel = WANT_IS, .value = "much" } },
		{ ROW("gpu.power-limit", GPU("'power_limit_mw': 350000"), NA, NOT_IN_PROFILE, NULL),
		  .profile = PROFILE_PUBLISHED },

		/* An idle GPU's low clock is no finding. */
		{ ROW("gpu.working-clock", GPU(IDLE "'clock_sm_mhz': 210"), NA, NEEDS_LOAD,
		      "only the clock of a busy GPU is judged") },
		{ ROW("gpu.working-clock", GPU(BUSY "'clock_sm_mhz': 1900"), PASS, OK, NULL) },
		{ ROW("gpu.working-clock", GPU(BUSY "'clock_sm_mhz': 1000"), FAIL, DIFFERS,
		      "lock") },
		{ ROW("gpu.working-clock",
		      GPU("'event_reasons': 4, 'util_gpu_pct': 97, 'clock_sm_max_mhz': 1980, "
			  "'clock_sm_mhz': 1000"),
		      NA, NO_EFFECT, "gpu.throttle") },
		{ ROW("gpu.working-clock",
		      GPU("'event_reasons': '!error', 'util_gpu_pct': 97, 'clock_sm_max_mhz': "
			  "1980, "
			  "'clock_sm_mhz': 1000"),
		      UNKNOWN, ERROR, NULL) },
		{ ROW("gpu.working-clock", GPU("'util_gpu_pct': '!denied'"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW("gpu.working-clock", GPU("'integrated': 1"), NA, INTEGRATED, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_driver(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.driver", "{}", NA, NO_HARDWARE, "no NVIDIA GPU") },
		{ ROW("gpu.driver", "{'gpu': {'driver': '!denied'}}", UNKNOWN, DENIED, NULL) },
		{ ROW("gpu.driver", "{'gpu': {'driver': '580.142', 'gpus': [{}]}}", PASS, OK,
		      "580.142") },
		{ ROW("gpu.driver", "{'pci': [" CARD "], 'gpu': {'driver': '!absent'}}", FAIL,
		      DIFFERS, "an NVIDIA GPU is on the bus, but the driver does") },
		{ ROW("gpu.driver",
		      "{'pci': [" CARD "], 'gpu': {'driver': '580.142', 'nvml': '!error:ELIBBAD'}}",
		      FAIL, DIFFERS, "the driver's library and its kernel module have") },
		{ ROW("gpu.driver",
		      "{'pci': [" CARD
		      "], 'gpu': {'driver': '580.142', 'nvml': '!error:EHOSTDOWN'}}",
		      FAIL, DIFFERS, "fallen off the bus") },
		{ ROW("gpu.driver",
		      "{'pci': [" CARD
		      "], 'gpu': {'driver': '580.142', 'nvml': '!error:ENOTCONN'}}",
		      FAIL, DIFFERS, "lacks power") },
		{ ROW("gpu.driver",
		      "{'pci': [" CARD "], 'gpu': {'driver': '580.142', 'nvml': '!error'}}", FAIL,
		      DIFFERS, "internal driver error") },
		{ ROW("gpu.driver",
		      "{'pci': [" CARD "], 'gpu': {'driver': '580.142', 'nvml': '!error:ENXIO'}}",
		      FAIL, DIFFERS, "module is not loaded") },
		{ ROW("gpu.driver",
		      "{'pci': [" CARD "], 'gpu': {'driver': '580.142', 'nvml': '!denied'}}",
		      UNKNOWN, DENIED, NULL) },
		{ ROW("gpu.driver",
		      "{'pci': [{'name': 'a', 'vendor': 4318, 'class': 196608, 'driver': "
		      "'nouveau'}]}",
		      FAIL, DIFFERS, "nouveau") },
		{ ROW("gpu.driver",
		      "{'pci': [{'name': 'a', 'vendor': 4318, 'class': 197120, 'driver': "
		      "'vfio-pci'}]}",
		      NA, NO_HARDWARE, "virtual machines") },

		{ ROW("gpu.count", "{}", NA, NO_HARDWARE, "no NVIDIA GPU") },
		{ ROW("gpu.count", "{'gpu': {'gpus': [{}]}}", NA, NO_HARDWARE, "not visible") },
		{ ROW("gpu.count", "{'pci': [" CARD "]}", NA, NO_HARDWARE,
		      "one NVIDIA GPU, but no driver for it responds") },
		{ ROW("gpu.count",
		      "{'pci': [" CARD "], 'gpu': {'gpus': [{'pci': '0000:01:00.0'}]}}", PASS, OK,
		      "1 of 1") },
		{ ROW("gpu.count",
		      "{'pci': [" CARD ", " CARD2 "], 'gpu': {'gpus': [{'pci': '0000:01:00.0'}]}}",
		      FAIL, DIFFERS, "0000:02:00.0") },
		{ ROW("gpu.count",
		      "{'pci': [" CARD ", " CARD2
		      "], 'gpu': {'gpus': [{'pci': '0000:01:00.0'}]}, 'software': "
		      "{'container': 'docker'}}",
		      NA, NO_EFFECT, "container") },
		{ ROW("gpu.count",
		      "{'pci': [" CARD
		      ", {'name': 'b', 'vendor': 4318, 'class': 197120, 'driver': 'vfio-pci'}], "
		      "'gpu': {'gpus': [{'pci': '0000:01:00.0'}]}}",
		      PASS, OK, NULL) },
		{ ROW("gpu.count",
		      "{'platform': {'kind': 'hgx'}, 'pci': [" CARD "], 'gpu': {'gpus': [{'pci': "
		      "'0000:01:00.0'}]}}",
		      FAIL, DIFFERS, "baseboard") },
		{ ROW("gpu.count",
		      "{'platform': {'kind': 'hgx', 'virtual': 1}, 'pci': [" CARD
		      "], 'gpu': {'gpus': [{'pci': "
		      "'0000:01:00.0'}]}}",
		      PASS, OK, NULL) },

		/* A superchip has no baseboard; a card for a screen is none of it. */
		{ ROW("gpu.count",
		      "{'platform': {'kind': 'hgx'}, 'pci': [" CARD "], 'gpu': {'gpus': [{'pci': "
		      "'0000:01:00.0', 'c2c': 1}]}}",
		      PASS, OK, NULL) },
		{ ROW("gpu.count",
		      "{'platform': {'kind': 'hgx'}, 'pci': [" CARD ", " CARD2
		      "], 'gpu': {'gpus': [{'pci': '0000:01:00.0', 'name': 'NVIDIA "
		      "A100-SXM4-80GB'}, "
		      "{'pci': '0000:02:00.0', 'name': 'NVIDIA DGX Display'}]}}",
		      PASS, OK, "2 of 2") },

		{ ROW("gpu.driver-flavour", "{}", NA, NO_HARDWARE, NULL) },
		{ ROW("gpu.driver-flavour",
		      "{'gpu': {'driver_flavour': 'open', 'gpus': [{'cc_major': 12}]}}", PASS, OK,
		      NULL) },
		{ ROW("gpu.driver-flavour",
		      "{'gpu': {'driver_flavour': 'proprietary', 'gpus': [{'cc_major': 12}]}}",
		      FAIL, DIFFERS, "Blackwell") },
		{ ROW("gpu.driver-flavour",
		      "{'gpu': {'driver_flavour': 'proprietary', 'gpus': [{'cc_major': 9, 'c2c': "
		      "1}]}}",
		      FAIL, DIFFERS, "Grace Hopper") },
		{ ROW("gpu.driver-flavour",
		      "{'gpu': {'driver_flavour': 'proprietary', 'gpus': [{'cc_major': 8}]}}", NA,
		      LEFT_ALONE, "before Blackwell") },
		{ ROW("gpu.driver-flavour", "{'gpu': {'driver_flavour': '!denied', 'gpus': [{}]}}",
		      UNKNOWN, DENIED, NULL) },

		{ ROW("gpu.vbios", "{}", NA, NO_HARDWARE, "no NVIDIA GPU") },
		{ ROW("gpu.vbios", GPU("'vbios': '1'"), NA, NO_HARDWARE, "one GPU") },
		{ ROW("gpu.vbios",
		      "{'gpu': {'gpus': [{'name': 'A', 'vbios': '1'}, {'name': 'A', 'vbios': "
		      "'1'}]}}",
		      PASS, OK, NULL) },
		{ ROW("gpu.vbios",
		      "{'gpu': {'gpus': [{'name': 'A', 'vbios': '1'}, {'name': 'A', 'vbios': "
		      "'2'}]}}",
		      FAIL, DIFFERS, NULL) },
		{ ROW("gpu.vbios",
		      "{'gpu': {'gpus': [{'name': 'A', 'vbios': '1'}, {'name': 'B', 'vbios': "
		      "'2'}]}}",
		      NA, NO_EFFECT, "GPUs of different models") },
		{ ROW("gpu.vbios",
		      "{'gpu': {'gpus': [{'name': 'A', 'vbios': '1'}, {'name': 'A', 'vbios': "
		      "'!error'}]}}",
		      UNKNOWN, ERROR, NULL) },
		{ ROW("gpu.vbios", "{'gpu': {'gpus': [{}, {}]}}", NA, NEEDS_DEEP, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

/* A count over the life of a machine is no rate, but one fatal error is one too many. */
static void test_bus_errors(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("pcie.errors", AER("0", "0", "1000"), PASS, OK, NULL) },
		{ ROW("pcie.errors", AER("0", "0", "1001"), NA, NEEDS_EARLIER, "--since") },
		{ ROW("pcie.errors", AER("0", "2", "0"), NA, NEEDS_EARLIER, "--since") },
		{ ROW("pcie.errors", AER("1", "2", "0"), FAIL, DIFFERS, "a transfer was lost") },
		{ ROW("pcie.errors", BELOW_PORT("2"), FAIL, DIFFERS, "0002:00:00.0, lost"),
		  .target = "0002:01:00.0" },
		{ ROW("pcie.errors", BELOW_PORT("2"), FAIL, DIFFERS, "reboot before"),
		  .target = "0002:01:00.0" },
		{ ROW("pcie.errors",
		      "{'net': {'spark_hotplug': 'present'}, " BELOW_PORT_OF("1") "}", NA,
		      NEEDS_EARLIER, "the machine removes the adapter when no cable is plugged"),
		  .target = "0002:01:00.0" },
		{ ROW("pcie.errors", BELOW_PORT("0"), PASS, OK, NULL), .target = "0002:01:00.0" },
		{ ROW("pcie.errors", BELOW_PORT("'!absent'"), PASS, OK, NULL),
		  .target = "0002:01:00.0" },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_throttle(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.throttle", GPU("'event_reasons': 1"), PASS, OK, "idle") },
		{ ROW("gpu.throttle", GPU("'event_reasons': 0, 'integrated': 1"), PASS, OK,
		      "none reported; a GB10 does not report all limits") },
		/* A working GPU at its power limit is no fault. */
		{ ROW("gpu.throttle", GPU("'event_reasons': 4"), PASS, OK, "power limit") },
		{ ROW("gpu.throttle", GPU("'event_reasons': 16"), PASS, OK, "slowest") },
		{ ROW("gpu.throttle", GPU("'event_reasons': 32"), FAIL, HEAT, "too hot") },
		{ ROW("gpu.throttle", GPU("'event_reasons': 72"), FAIL, HEAT, "too hot") },
		{ ROW("gpu.throttle", GPU("'event_reasons': 128"), FAIL, POWER, "power supply") },
		{ ROW("gpu.throttle", GPU("'event_reasons': 136"), FAIL, POWER,
		      "hardware slowdown, hardware") },
		/* Told of a clock that changes, too. */
		{ ROW("gpu.throttle", GPU("'event_reasons': 12"), NA, NEEDS_EARLIER,
		      "software power cap, hardware") },
		{ ROW("gpu.throttle", GPU("'event_reasons': '!denied'"), UNKNOWN, DENIED, NULL) },
		/* A lifetime counter is no rate: a long software power cap is none. */
		{ ROW("gpu.throttle-history",
		      SLOWED("0", "0", "0") ", 'event_sw_power_us': 27800000000" END, PASS, OK,
		      "27800 s") },
		{ ROW("gpu.throttle-history", SLOWED("2000000", "0", "0") END, FAIL, HEAT,
		      "thermal 2 s") },
		{ ROW("gpu.throttle-history", SLOWED("0", "0", "2000000") END, FAIL, POWER,
		      "power brake throttled this GPU since driver") },
		/* What a GB10 counts when it is too warm. */
		{ ROW("gpu.throttle-history", SLOWED("0", "3600000000", "0") END, FAIL, HEAT,
		      "software thermal throttled this GPU since driver") },
		{ ROW("gpu.throttle-history", SLOWED("0", "903158", "0") END, PASS, OK,
		      "neither thermal nor power brake throttling; a software") },
		/* On many GPUs only software's is asked: what it says counts. */
		{ ROW("gpu.throttle-history", GPU("'event_sw_thermal_us': 3600000000"), FAIL, HEAT,
		      "software thermal throttled this GPU since driver") },
		{ ROW("gpu.throttle-history", GPU("'event_sw_thermal_us': 0"), NA, NEEDS_DEEP,
		      NULL) },
		{ ROW("gpu.throttle-history", SLOWED("0", "'!unsupported'", "0") END, PASS, OK,
		      "none of the driver's counters shows throttling") },
		{ ROW("gpu.throttle-history",
		      SLOWED("'!unsupported'", "'!unsupported'", "'!unsupported'") END, NA,
		      NO_SUPPORT, NULL) },
		{ ROW("gpu.throttle-history", SLOWED("0", "0", "'!error'") END, UNKNOWN, ERROR,
		      NULL) },
		/* 2^64 - 1 ns, and below zero. */
		{ ROW("gpu.throttle-history", SLOWED("0", "18446744073709551", "0") END, UNKNOWN,
		      ERROR, "wrapped") },
		{ ROW("gpu.throttle-history", SLOWED("-1", "0", "0") END, UNKNOWN, ERROR,
		      "wrapped") },
		{ ROW("gpu.count", GPU("'temperature_c': '!error:EHOSTDOWN'"), FAIL, DIFFERS,
		      "fell off the bus") },
		{ ROW("gpu.temperature", GPU("'temperature_c': 40, 'temperature_slowdown_c': 89"),
		      PASS, OK, "49 C") },
		{ ROW("gpu.temperature", GPU("'temperature_c': 86, 'temperature_slowdown_c': 89"),
		      FAIL, DIFFERS, "at the") },
		{ ROW("gpu.temperature", GPU("'temperature_c': 90, 'temperature_slowdown_c': 89"),
		      FAIL, DIFFERS, "above") },
		{ ROW("gpu.temperature", GPU("'temperature_c': 60, 'temperature_margin_c': 30"),
		      PASS, OK, "30 C") },
		{ ROW("gpu.temperature",
		      GPU("'temperature_c': '!unsupported', 'temperature_margin_c': 30"), PASS, OK,
		      "30 C below") },
		{ ROW("gpu.temperature",
		      GPU("'temperature_c': '!unsupported', 'temperature_margin_c': 1"), FAIL,
		      DIFFERS, NULL) },
		{ ROW("gpu.temperature",
		      GPU("'temperature_c': 60, 'temperature_slowdown_c': '!unsupported', "
			  "'temperature_margin_c': '!unsupported'"),
		      NA, NO_SUPPORT, "no limit") },
		/* The driver's margin comes before the absolute limit, which is said where it
		 * differs. */
		{ ROW("gpu.temperature",
		      GPU("'temperature_c': 81, 'temperature_slowdown_c': 83, "
			  "'temperature_margin_c': 13"),
		      PASS, OK,
		      "13 C below the first limit, according to the driver's margin; the "
		      "absolute limit contradicts it") },
		{ ROW("gpu.temperature",
		      GPU("'temperature_c': 81, 'temperature_slowdown_c': 95, "
			  "'temperature_margin_c': 2"),
		      FAIL, DIFFERS, "at the slowdown limit: fix cooling first, clocks later") },
		{ ROW("gpu.temperature", GPU("'temperature_c': 96, 'temperature_margin_c': -2"),
		      FAIL, DIFFERS, "above") },
		/* A margin that leads to a limit of 146 C is none. */
		{ ROW("gpu.temperature",
		      GPU("'temperature_c': 88, 'temperature_slowdown_c': 89, "
			  "'temperature_margin_c': 58"),
		      FAIL, DIFFERS, "at the slowdown limit: fix cooling first, clocks later") },
		/* Sensors that have nothing to say. */
		{ ROW("gpu.temperature",
		      GPU("'temperature_c': 60, 'temperature_slowdown_c': 95, "
			  "'temperature_margin_c': 255"),
		      PASS, OK, "35 C below the slow-down limit") },
		{ ROW("gpu.temperature",
		      GPU("'temperature_c': 60, 'temperature_slowdown_c': 95, "
			  "'temperature_margin_c': -231"),
		      PASS, OK, "the driver's margin matches no limit and is ignored") },
		{ ROW("gpu.temperature", GPU("'temperature_c': 45, 'temperature_margin_c': 0"),
		      UNKNOWN, ERROR, "the driver's margin of 0 C matches no limit") },
		{ ROW("gpu.temperature", GPU("'temperature_c': 255, 'temperature_slowdown_c': 95"),
		      UNKNOWN, ERROR, "the sensor reports 255 C") },
		{ ROW("gpu.temperature", GPU("'temperature_c': 0, 'temperature_slowdown_c': 95"),
		      UNKNOWN, ERROR, "the sensor reports 0 C") },
		{ ROW("gpu.temperature", GPU("'temperature_c': 255, 'temperature_margin_c': 30"),
		      PASS, OK, "30 C below") },
		/* On many GPUs it is left out: then there is nothing to pass. */
		{ ROW("gpu.temperature", GPU("'temperature_c': 60"), NA, NEEDS_DEEP,
		      "the limit was skipped") },
		{ ROW("gpu.temperature", GPU("'temperature_c': '!denied'"), UNKNOWN, DENIED,
		      NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define HEAT(kind, facts)                                                                          \
	"{'sensors': {'temperatures': [{'name': 'x', 'kind': '" kind "', 'chip': 'c', " facts "}]" \
	"}}"
#define SUPPLY(facts)                                                                              \
	"{'platform': {'kind': 'dgx-spark'}, 'sensors': {'supplies': [{'name': 'a', " facts "}]}}"
#define SPBM(facts) "{'platform': {'kind': 'dgx-spark'}, 'sensors': {" facts "}}"

static void test_other_heat(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("cpu.temperature",
		      HEAT("zone", "'now_c': 60, 'limit_c': 105, 'limit_kind': 'critical'"), PASS,
		      OK, "45 C below its critical trip point") },
		{ ROW("cpu.temperature", HEAT("zone", "'now_c': 101, 'limit_c': 105"), FAIL,
		      DIFFERS, "4 C below") },
		{ ROW("cpu.temperature", HEAT("zone", "'now_c': 105, 'limit_c': 105"), FAIL,
		      DIFFERS, "at or above") },
		{ ROW("cpu.temperature", HEAT("zone", "'now_c': 60, 'limit_c': '!unsupported'"), NA,
		      NO_SUPPORT, "no trip point") },
		/* What sensors say that have nothing to say. */
		{ ROW("cpu.temperature", HEAT("zone", "'now_c': 0, 'limit_c': 105"), UNKNOWN, ERROR,
		      "0 C of 105 C") },
		{ ROW("cpu.temperature", HEAT("zone", "'now_c': -231, 'limit_c': 105"), UNKNOWN,
		      ERROR, "invalid reading: -231 C of 105 C") },
		{ ROW("nic.temperature", HEAT("nic", "'now_c': 255, 'limit_c': 105"), UNKNOWN,
		      ERROR, "invalid reading: 255 C of 105 C") },
		{ ROW("nic.temperature", HEAT("nic", "'now_c': '!error', 'limit_c': 105"), UNKNOWN,
		      ERROR, NULL) },
		{ ROW("nic.temperature", HEAT("nic", "'now_c': 103, 'limit_c': 105"), FAIL, DIFFERS,
		      NULL) },
		{ ROW("disk.temperature", HEAT("disk", "'now_c': 82, 'limit_c': 85"), FAIL, DIFFERS,
		      NULL) },
		{ ROW("disk.temperature", HEAT("disk", "'now_c': 52, 'limit_c': 85"), PASS, OK,
		      "33 C") },
		{ ROW("disk.temperature", HEAT("zone", "'now_c': 82, 'limit_c': 85"), NA,
		      NO_HARDWARE, "no NVMe disk") },
		{ ROW("gpu.power-adapter",
		      SUPPLY("'type': 'USB', 'online': 1, 'current_max_ua': 5000000, "
			     "'voltage_max_uv': 48000000"),
		      PASS, OK, "the adapter supplies the required power") },
		{ ROW("gpu.power-adapter",
		      SUPPLY("'type': 'USB', 'online': 1, 'current_max_ua': 5000000, "
			     "'voltage_max_uv': 20000000"),
		      FAIL, DIFFERS,
		      "the USB-C supply negotiated less than the machine requires:") },
		/* Nothing connected, a battery, a value in another unit. */
		{ ROW("gpu.power-adapter",
		      SUPPLY("'type': 'USB', 'online': 0, 'current_max_ua': 5000000, "
			     "'voltage_max_uv': 20000000"),
		      NA, NO_SUPPORT, "the adapter's negotiated power is not") },
		{ ROW("gpu.power-adapter",
		      SUPPLY("'type': 'Battery', 'online': 1, 'current_max_ua': 5000000, "
			     "'voltage_max_uv': 20000000"),
		      NA, NO_SUPPORT, NULL) },
		{ ROW("gpu.power-adapter",
		      SUPPLY("'type': 'USB', 'online': 1, 'current_max_ua': 5000000000, "
			     "'voltage_max_uv': 20000000"),
		      NA, NO_SUPPORT, NULL) },
		{ ROW("gpu.power-adapter", "{}", NA, NOT_HERE, NULL) },
		{ ROW("cpu.prochot", SPBM("'prochot': 0, 'power_level': 0"), PASS, OK, NULL) },
		{ ROW("cpu.prochot", SPBM("'prochot': 1, 'power_level': 2"), FAIL, DIFFERS,
		      "firmware throttles the processors for temperature or power") },
		{ ROW("cpu.prochot", SPBM("'prochot': '!absent'"), NA, NO_SUPPORT, "spbm") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define SPARK(facts) ON("dgx-spark", "'integrated': 1, " facts)

static void test_health(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.power-latch", GPU("'util_gpu_pct': 96"), NA, NOT_HERE, NULL) },
		{ ROW("gpu.power-latch", ON("dgx-spark", "'integrated': 0"), NA, NOT_HERE, NULL) },
		{ ROW("gpu.power-latch",
		      SPARK("'util_gpu_pct': 0, 'clock_sm_mhz': 208, 'event_reasons': 1"), NA,
		      NEEDS_LOAD, "idle") },
		{ ROW("gpu.power-latch",
		      SPARK("'util_gpu_pct': 96, 'clock_sm_mhz': 799, 'power_mw': 19500, "
			    "'event_reasons': 0"),
		      FAIL, DIFFERS, "19 W") },
		{ ROW("gpu.power-latch",
		      SPARK("'util_gpu_pct': 96, 'clock_sm_mhz': 2400, 'event_reasons': 0"), PASS,
		      OK, NULL) },
		{ ROW("gpu.power-latch",
		      SPARK("'util_gpu_pct': 96, 'clock_sm_mhz': 799, 'event_reasons': 32"), NA,
		      NO_EFFECT, "gpu.throttle") },
		{ ROW("gpu.power-latch",
		      SPARK("'util_gpu_pct': 96, 'clock_sm_mhz': 799, 'event_reasons': '!error'"),
		      UNKNOWN, ERROR, NULL) },
		{ ROW("gpu.power-latch", SPARK("'util_gpu_pct': '!denied'"), UNKNOWN, DENIED,
		      NULL) },

		{ ROW("gpu.remapped-rows", GPU("'remap_failed': '!unsupported'"), NA, NO_SUPPORT,
		      NULL) },
		{ ROW("gpu.remapped-rows", GPU("'remap_failed': 0, 'remap_pending': 0"), PASS, OK,
		      NULL) },
		{ ROW("gpu.remapped-rows", GPU("'remap_failed': 0, 'remap_pending': 1"), FAIL,
		      DIFFERS, "reset") },
		{ ROW("gpu.remapped-rows", GPU("'remap_failed': 1, 'remap_pending': 1"), FAIL,
		      DIFFERS, "a row could not be remapped: replace the board") },

		{ ROW("gpu.ecc-errors", GPU("'ecc_uncorrected': '!unsupported'"), NA, NO_SUPPORT,
		      NULL) },
		{ ROW("gpu.ecc-errors", GPU("'ecc_uncorrected': 0, 'ecc_corrected': 7"), PASS, OK,
		      "7 corrected") },
		{ ROW("gpu.ecc-errors", GPU("'ecc_uncorrected': 2"), FAIL, DIFFERS, "growth") },
		{ ROW("gpu.ecc-errors",
		      GPU("'ecc_uncorrected': 2, 'remap_uncorrected': 1, 'remap_pending': 0, "
			  "'remap_failed': 0"),
		      PASS, OK, "remapped") },
		{ ROW("gpu.ecc-errors",
		      GPU("'ecc_uncorrected': 2, 'remap_uncorrected': 1, 'remap_pending': 1, "
			  "'remap_failed': 0"),
		      FAIL, DIFFERS, NULL) },

		{ ROW("gpu.recovery-action", GPU("'recovery_action': 'none'"), PASS, OK, NULL) },
		{ ROW("gpu.recovery-action", GPU("'recovery_action': 'reset'"), FAIL, DIFFERS,
		      "reset") },
		{ ROW("gpu.recovery-action", GPU("'recovery_action': '!unsupported'"), NA,
		      NO_SUPPORT, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define LINKS(a, b) "'links': [{'index': 0, " a "}, {'index': 1, " b "}]"
#define TWO(facts) "{'gpu': {'gpus': [{'index': 0, " facts "}, {'index': 1}]}}"

static void test_links(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.nvlink", GPU("'index': 0"), NA, NO_HARDWARE, NULL) },
		{ ROW("gpu.nvlink",
		      TWO(LINKS("'active': 1, 'crc_errors': 0", "'active': 1, 'crc_errors': 0")),
		      PASS, OK, "all up"),
		  .target = "gpu0" },
		{ ROW("gpu.nvlink", TWO(LINKS("'active': 1", "'active': 1")), PASS, OK, "all up"),
		  .target = "gpu0" },
		{ ROW("gpu.nvlink", TWO(LINKS("'active': 1", "'active': 0")), FAIL, DIFFERS,
		      "1 of 2") },
		{ ROW("gpu.nvlink", TWO(LINKS("'active': 1", "'active': '!error'")), UNKNOWN, ERROR,
		      NULL) },
		/* Replays are mended and cost nothing that shows. */
		{ ROW("gpu.nvlink-errors",
		      TWO(LINKS("'active': 1, 'crc_errors': 0, 'replay_errors': 3",
				"'active': 1, 'crc_errors': 0")),
		      PASS, OK, "replays only: no visible cost"),
		  .target = "gpu0" },
		{ ROW("gpu.nvlink", GPU(LINKS("'active': 0", "'active': 0")), NA, NO_EFFECT,
		      "one GPU") },
		{ ROW("gpu.nvlink", TWO(LINKS("'active': 0", "'active': 0")), NA, NO_EFFECT,
		      "bridge"),
		  .target = "gpu0" },
		{ ROW("gpu.nvlink",
		      "{'platform': {'kind': 'hgx'}, 'gpu': {'gpus': [{" LINKS(
			      "'active': 0", "'active': 0") "}, "
							    "{'index': 1}]}}",
		      FAIL, DIFFERS, "0 of 2") },

		{ ROW("gpu.fabric", GPU("'fabric_state': '!unsupported'"), NA, NO_SUPPORT, NULL) },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'not-supported'"), NA, NO_HARDWARE,
		      NULL) },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'not-started'"), FAIL, DIFFERS,
		      "Fabric Manager has not started to register the GPU: CUDA") },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'in-progress'"), FAIL, DIFFERS,
		      "registering") },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'completed', 'fabric_status': 3"), FAIL,
		      DIFFERS, NULL) },
		{ ROW("gpu.fabric",
		      GPU("'fabric_state': 'completed', 'fabric_status': 0, 'fabric_health': 426"),
		      PASS, OK, NULL) },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'completed', 'fabric_health': 425"), FAIL,
		      DIFFERS, "bandwidth") },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'completed', 'fabric_health': 410"), FAIL,
		      DIFFERS, "unhealthy") },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'completed', 'fabric_health': 1024"), FAIL,
		      DIFFERS, "configuration") },

		{ ROW("gpu.peer-access", GPU("'index': 0"), NA, NO_HARDWARE, "no peer GPU") },
		{ ROW("gpu.peer-access", TWO("'uuid': 'x'"), NA, NEEDS_DEEP, NULL),
		  .target = "gpu0" },
		{ ROW("gpu.peer-access",
		      TWO("'peers': [{'index': 1, 'p2p_read': 'ok', 'p2p_write': 'ok'}]"), PASS, OK,
		      NULL),
		  .target = "gpu0" },
		{ ROW("gpu.peer-access",
		      TWO("'peers': [{'index': 1, 'p2p_read': 'ok', 'p2p_write': "
			  "'disabled-by-registry'}]"),
		      FAIL, DIFFERS, "gpu1: disabled") },
		{ ROW("gpu.peer-access",
		      TWO("'peers': [{'index': 1, 'p2p_read': 'gpu-not-supported', 'p2p_write': "
			  "'ok'}]"),
		      NA, NO_SUPPORT,
		      "these GPUs have no direct access: copies go through the host"),
		  .target = "gpu0" },
		{ ROW("gpu.peer-access",
		      TWO("'peers': [{'index': 1, 'p2p_read': '!error', 'p2p_write': 'ok'}]"),
		      UNKNOWN, ERROR, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

/* Of small disks the sizes are told in a unit that fits. */
static void test_sizes(void **state)
{
#define ROOT(size, left)                                                                           \
	"{'storage': {'mounts': [{'name': '/', 'size_bytes': " size ", 'free_bytes': " left "}]}}"
#define VAR(type, device, options, left_gib)                                                       \
	"{'storage': {'mounts': [{'name': '/', 'type': 'ext4', 'device': '/dev/a', 'options': "    \
	"'rw,relatime', 'size_bytes': 107374182400, 'free_bytes': 53687091200}, {'name': "         \
	"'/var/lib/docker', 'type': '" type "', 'device': '" device "', 'options': '" options      \
	"', 'size_bytes': 107374182400, 'free_bytes': " left_gib "073741824}, {'name': '/boot', "  \
	"'type': 'ext4', 'device': '/dev/c', 'options': 'rw', 'size_bytes': 1073741824, "          \
	"'free_bytes': 1024}]}}"
	static const struct fake_row rows[] = {
		{ ROW("disk.free-space", ROOT("1073741824", "536870912"), PASS, OK,
		      "512 MiB of 1.0 GiB free") },
		{ ROW("disk.free-space", ROOT("8388608", "4096"), FAIL, DIFFERS,
		      "4 KiB of 8 MiB free") },
		{ ROW("disk.free-space", ROOT("107374182400", "53687091200"), PASS, OK,
		      "50 GiB of 100 GiB free") },
		/* Where data comes to lie, each file system once. */
		{ ROW("disk.free-space", VAR("xfs", "/dev/b", "rw,noatime", "1"), FAIL, DIFFERS,
		      "1.0 GiB of 100 GiB"),
		  .target = "/var/lib/docker" },
		{ ROW("disk.free-space", VAR("xfs", "/dev/b", "rw,noatime", "50"), PASS, OK, NULL),
		  .target = "/var/lib/docker" },
		{ ROW("disk.free-space", VAR("xfs", "/dev/a", "rw,noatime", "1"), PASS, OK, NULL),
		  .target = "" },
		{ ROW("disk.free-space", VAR("xfs", "/dev/b", "ro,noatime", "1"), PASS, OK, NULL) },
		{ ROW("disk.free-space", VAR("overlay", "overlay", "rw", "1"), PASS, OK, NULL) },
		{ ROW("disk.free-space", VAR("zfs", "tank/docker", "rw", "1"), FAIL, DIFFERS, NULL),
		  .target = "/var/lib/docker" },
		{ ROW("disk.free-space", ROOT("0", "0"), NA, NO_SUPPORT,
		      "the file system does not report its size") },
		{ ROW("disk.free-space", ROOT("1073741824", "2147483648"), NA, NO_SUPPORT, NULL) },
		{ ROW("disk.free-space", ROOT("'!error'", "0"), UNKNOWN, ERROR, NULL) },
		{ ROW("disk.free-space", "{}", NA, NO_SUPPORT,
		      "no file system of the machine reports its size") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),	    cmocka_unit_test(test_bar1),
		cmocka_unit_test(test_clock_locks), cmocka_unit_test(test_power_and_clocks),
		cmocka_unit_test(test_driver),	    cmocka_unit_test(test_bus_errors),
		cmocka_unit_test(test_throttle),    cmocka_unit_test(test_other_heat),
		cmocka_unit_test(test_health),	    cmocka_unit_test(test_links),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
