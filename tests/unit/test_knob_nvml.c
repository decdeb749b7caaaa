/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU settings through knobs, the live host and the real loader, against the stub library: a GPU
 * that does as told, one that clamps, one that refuses, one that forgets, one that is lost.
 * Argument "old": an older library; "absent": none. A real library is never written to: every host
 * is opened by start(), which looks whose library it is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "stub_file.h"

#include "machine/write/write.h"
#include "machine/knob/io.h"

static const char first[] = "0000:18:00.0", second[] = "0001:2a:00.0";
static char description[] = "/tmp/gputune-stub-XXXXXX", state_file[] = "/tmp/gputune-state-XXXXXX";
static struct host *host;
static struct arena arena;
static struct err why;

static const char machine[] =
	"- nvmlDeviceGetCount=2\n- nvmlSystemGetDriverVersion=580.159.04\n"
	"0 nvmlDeviceGetPersistenceMode=0\n0 nvmlDeviceGetAccountingMode=0\n"
	"0 nvmlDeviceGetComputeMode=0\n0 nvmlDeviceGetPowerManagementLimit=700000\n"
	"0 nvmlDeviceGetPowerManagementLimitConstraints.minLimit=200000\n"
	"0 nvmlDeviceGetPowerManagementLimitConstraints.maxLimit=700000\n"
	"0 nvmlDeviceGetClockInfo(SM)=345\n0 nvmlDeviceGetMaxClockInfo(SM)=1980\n"
	"0 nvmlDeviceGetClockInfo(GRAPHICS)=345\n"
	"0 nvmlDeviceGetClockInfo(MEM)=405\n0 nvmlDeviceGetMaxClockInfo(MEM)=8001\n"
	"1 nvmlDeviceGetPersistenceMode=1\n1 nvmlDeviceGetComputeMode=3\n"
	"1 nvmlDeviceGetPowerManagementLimit=300000\n"
	"1 nvmlDeviceGetClockInfo(SM)=210\n1 nvmlDeviceGetMaxClockInfo(SM)=3003\n";
static const char places[] = "0 nvmlDeviceGetPciInfo.busId=00000000:18:00.0\n"
			     "1 nvmlDeviceGetPciInfo.busId=00000001:2A:00.0\n";

static void stop_host(void)
{
	host_close(host);
	host = NULL;
}

/* The machine anew: what was set before is still there, as in a driver that stays loaded. */
static void boot(const char *where, const char *more)
{
	FILE *f = fopen(description, "w");

	assert_non_null(f);
	fprintf(f, "%s%sstub state=%s\n%s", machine, where, state_file, more);
	assert_int_equal(fclose(f), 0);
	stop_host();
	host = host_open_live();
}

/* How often the stub was asked to set something, out of the library that the host has loaded. */
static int setters_called(void)
{
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD), *symbol;
	int (*fn)(void), n;

	if (!lib)
		return 0;
	symbol = dlsym(lib, "gputune_stub_setters");
	assert_non_null(symbol);
	memcpy(&fn, &symbol, sizeof(fn));
	n = fn();
	dlclose(lib);
	return n;
}

/* Whose library it is, before anything is set. */
static void only_the_stub(void)
{
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW);

	assert_non_null(lib);
	assert_non_null(dlsym(lib, "gputune_stub_calls"));
	dlclose(lib);
}

static int start(void **state)
{
	(void)state;
	only_the_stub();
	unlink(state_file);
	why = (struct err){ 0 };
	boot(places, "");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	stop_host();
	arena_free(&arena);
	return 0;
}

static struct knob gpu_knob(const char *name, const char *gpu)
{
	return (struct knob){ KNOB_NVML, name, gpu };
}

static int set(const char *name, const char *gpu, const char *value)
{
	struct knob k = gpu_knob(name, gpu);

	why = (struct err){ 0 };
	return knob_set(host, &arena, &k, value, &why);
}

static const char *get(const char *name, const char *gpu)
{
	struct knob k = gpu_knob(name, gpu);
	const char *value = "?";

	assert_int_equal(knob_get(host, &arena, &k, &value, &why), 0);
	return value;
}

static int get_fails(const char *name, const char *gpu)
{
	struct knob k = gpu_knob(name, gpu);
	const char *value = "?";

	return knob_get(host, &arena, &k, &value, &why);
}

static long long ask(const char *index, const char *question)
{
	long long v = -1;

	assert_int_equal(host_ask_int(host, "nvml", index, question, &v), 0);
	return v;
}

static long long sm_clock(const char *index)
{
	return ask(index, "nvmlDeviceGetClockInfo(SM)");
}

static void what_is_set_is_read_back(void **state)
{
	static const struct {
		const char *name, *before, *value;
	} rows[] = {
		{ "persistence-mode", "0", "1" },
		{ "accounting-mode", "0", "1" },
		{ "compute-mode", "default", "exclusive-process" },
		{ "compute-mode", "exclusive-process", "prohibited" },
		{ "power-limit", "700000", "450500" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_string_equal(get(rows[i].name, first), rows[i].before);
		assert_int_equal(set(rows[i].name, first, rows[i].value), 0);
		assert_string_equal(get(rows[i].name, first), rows[i].value);
		assert_int_equal(set(rows[i].name, first, rows[i].before), 0);
		assert_string_equal(get(rows[i].name, first), rows[i].before);
		assert_int_equal(set(rows[i].name, first, rows[i].value), 0);
	}
	/* The other GPU is as it was. */
	assert_string_equal(get("persistence-mode", second), "1");
	assert_string_equal(get("compute-mode", second), "prohibited");
	assert_string_equal(get("power-limit", second), "300000");
}

static void a_lock_holds_the_clock_and_is_reset(void **state)
{
	struct knob k = gpu_knob("gpu-clock-lock", first);

	(void)state;
	assert_int_equal(get_fails("gpu-clock-lock", first), -ENODATA);
	assert_string_equal(knob_neutral(&k), "unlocked");
	k.name = "power-limit";
	assert_null(knob_neutral(&k));
	assert_int_equal(set("gpu-clock-lock", first, "1200,1500"), 0);
	assert_int_equal(sm_clock("0"), 1200);
	assert_int_equal(set("gpu-clock-lock", first, "0,300"), 0);
	assert_int_equal(sm_clock("0"), 300);
	assert_int_equal(set("gpu-clock-lock", first, "unlocked"), 0);
	assert_int_equal(sm_clock("0"), 345);
	assert_int_equal(set("memory-clock-lock", first, "8001,8001"), 0);
	assert_int_equal(ask("0", "nvmlDeviceGetClockInfo(MEM)"), 8001);
	assert_int_equal(set("memory-clock-lock", first, "unlocked"), 0);
	assert_int_equal(ask("0", "nvmlDeviceGetClockInfo(MEM)"), 405);
	/* The other GPU's memory answers nothing: it takes no lock either. */
	assert_int_equal(set("memory-clock-lock", second, "8001,8001"), -EOPNOTSUPP);
	assert_int_equal(sm_clock("1"), 210);
}

static void a_gpu_is_found_by_its_address(void **state)
{
	(void)state;
	assert_int_equal(set("power-limit", "00000000:18:00.0", "600000"), 0);
	assert_string_equal(get("power-limit", "0000:18:00.0"), "600000");
	assert_int_equal(get_fails("power-limit", "0000:19:00.0"), -ENODEV);
	assert_int_equal(set("power-limit", "0000:18:00.1", "600000"), -ENODEV);
	assert_non_null(strstr(why.text, "0000:18:00.1"));
	/* Another order after the next boot. */
	boot("1 nvmlDeviceGetPciInfo.busId=00000000:18:00.0\n"
	     "0 nvmlDeviceGetPciInfo.busId=00000001:2A:00.0\n",
	     "");
	assert_int_equal(set("compute-mode", first, "default"), 0);
	assert_int_equal(ask("1", "nvmlDeviceGetComputeMode"), 0);
}

static void what_has_no_shape_reaches_no_library(void **state)
{
	static const struct {
		const char *name, *object, *value;
	} rows[] = {
		{ "persistence-mode", "0000:18:00.0", "2" },
		{ "persistence-mode", "0000:18:00.0", "" },
		{ "persistence-mode", "0000:18:00.0", "on" },
		{ "persistence-mode", "0", "1" },
		{ "persistence-mode", "", "1" },
		{ "persistence-mode", "0000:18:00.0 -pm", "1" },
		{ "ecc-mode", "0000:18:00.0", "0" },
		{ "mig-mode", "0000:18:00.0", "0" },
		{ "compute-mode", "0000:18:00.0", "0" },
		{ "compute-mode", "0000:18:00.0", "exclusive-thread" },
		{ "power-limit", "0000:18:00.0", "-1" },
		{ "power-limit", "0000:18:00.0", "0" },
		{ "power-limit", "0000:18:00.0", "99999999999999999999" },
		{ "power-limit", "0000:18:00.0", "unlocked" },
		{ "gpu-clock-lock", "0000:18:00.0", "" },
		{ "gpu-clock-lock", "0000:18:00.0", "1980" },
		{ "gpu-clock-lock", "0000:18:00.0", "1980," },
		{ "gpu-clock-lock", "0000:18:00.0", "0,0" },
		{ "gpu-clock-lock", "0000:18:00.0", "1500,1200" },
		{ "gpu-clock-lock", "0000:18:00.0", "-1,1200" },
		{ "gpu-clock-lock", "0000:18:00.0", "1,2,3" },
		{ "gpu-clock-lock", "0000:18:00.0", "4294967295,4294967295" },
		{ "gpu-clock-lock", "0000:18:00.0", "1200,1500x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(set(rows[i].name, rows[i].object, rows[i].value), -EINVAL);
	assert_int_equal(access(state_file, F_OK), -1);
}

static void the_provider_itself_is_strict(void **state)
{
	static const struct {
		const char *index, *field, *text;
		int error;
	} rows[] = {
		{ "0", "nvmlDeviceSetGpuLockedClocks", "1200", -EINVAL },
		{ "0", "nvmlDeviceSetGpuLockedClocks", "1200,-1", -EINVAL },
		{ "0", "nvmlDeviceSetGpuLockedClocks", "4294967294,4294967295", -EINVAL },
		{ "0", "nvmlDeviceSetGpuLockedClocks", "900,800", -EINVAL },
		{ "0", "nvmlDeviceGetComputeMode", "0", -EINVAL },
		{ "0", "nvmlDeviceGetName", "x", -EOPNOTSUPP },
		{ "0", "nvmlDeviceSetEccMode", "0", -EOPNOTSUPP },
		{ "2", "nvmlDeviceSetGpuLockedClocks", "", -EINVAL },
		{ "", "nvmlDeviceSetGpuLockedClocks", "", -EINVAL },
	};

	(void)state;
	/* This GPU would take nearly anything. */
	boot(places, "stub clamps=1\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
			host_set_text(host, "nvml", rows[i].index, rows[i].field, rows[i].text),
			rows[i].error);
	assert_int_equal(host_set_int(host, "nvml", "0", "nvmlDeviceGetPersistenceMode", 2),
			 -EINVAL);
	assert_int_equal(host_set_int(host, "nvml", "0", "nvmlDeviceSetGpuLockedClocks", 0),
			 -EINVAL);
	assert_int_equal(
		host_set_int(host, "nvml", "0", "nvmlDeviceGetPowerManagementLimit", 1ll << 32),
		-EINVAL);
	assert_int_equal(setters_called(), 0);
	assert_int_equal(set("power-limit", first, "500000"), 0);
	assert_int_equal(setters_called(), 1);
}

static void beyond_the_board_is_refused_with_its_limits(void **state)
{
	(void)state;
	assert_int_equal(set("power-limit", first, "900000"), -EINVAL);
	assert_non_null(strstr(why.hint, "200000 to 700000 mW"));
	assert_int_equal(set("gpu-clock-lock", first, "3003,3003"), -EINVAL);
	assert_non_null(strstr(why.hint, "1980 MHz"));
	assert_string_equal(get("power-limit", first), "700000");
}

static void a_gpu_that_clamps(void **state)
{
	(void)state;
	boot(places, "stub clamps=1\n");
	assert_int_equal(set("power-limit", first, "900000"), 0);
	assert_string_equal(get("power-limit", first), "700000");
	assert_int_equal(set("power-limit", first, "1000"), 0);
	assert_string_equal(get("power-limit", first), "200000");
	assert_int_equal(set("gpu-clock-lock", first, "3003,3003"), 0);
	assert_int_equal(sm_clock("0"), 1980);
}

static void a_gpu_that_refuses(void **state)
{
	static const struct {
		const char *name, *value, *function, *result, *says;
		int error;
	} rows[] = {
		{ "persistence-mode", "1", "PersistenceMode", "NO_PERMISSION", "permission",
		  -EACCES },
		{ "accounting-mode", "1", "AccountingMode", "NOT_SUPPORTED", "not support",
		  -EOPNOTSUPP },
		{ "compute-mode", "prohibited", "ComputeMode", "IN_USE", "in use", -EBUSY },
		{ "power-limit", "500000", "PowerManagementLimit", "TIMEOUT", "in time", -ETIME },
		{ "gpu-clock-lock", "900,900", "GpuLockedClocks", "GPU_IS_LOST", "off the bus",
		  -EHOSTDOWN },
		{ "gpu-clock-lock", "900,900", "GpuLockedClocks", "RESET_REQUIRED", "reset",
		  -ENOTRECOVERABLE },
		{ "memory-clock-lock", "900,900", "MemoryLockedClocks", "FUNCTION_NOT_FOUND",
		  "not support", -ENOSYS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char more[128];

		snprintf(more, sizeof(more), "stub refuse(nvmlDeviceSet%s)=!%s\n", rows[i].function,
			 rows[i].result);
		boot(places, more);
		assert_int_equal(set(rows[i].name, first, rows[i].value), rows[i].error);
		assert_non_null(strstr(why.text, rows[i].says));
		assert_int_equal(access(state_file, F_OK), -1);
	}
	assert_int_equal(sm_clock("0"), 345);
	boot(places, "stub refuse(nvmlDeviceSetPersistenceMode)=!NO_PERMISSION\n");
	set("persistence-mode", first, "1");
	assert_non_null(strstr(why.hint, "root"));
}

static void a_gpu_that_forgets_its_lock(void **state)
{
	(void)state;
	boot(places, "stub forgets_after=3\n");
	assert_int_equal(set("gpu-clock-lock", first, "1500,1500"), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sm_clock("0"), 1500);
	/* A CUDA program has started. */
	assert_int_equal(sm_clock("0"), 345);
	assert_int_equal(set("gpu-clock-lock", first, "unlocked"), 0);
	assert_int_equal(sm_clock("0"), 345);
}

static void a_gpu_that_falls_off_the_bus(void **state)
{
	(void)state;
	boot(places, "stub lost_gpu=0\nstub lost_after=4\n");
	/* Its address, the call; its address again, and then it is gone. */
	assert_int_equal(set("power-limit", first, "500000"), 0);
	assert_string_equal(get("power-limit", first), "500000");
	assert_int_equal(get_fails("power-limit", first), -EHOSTDOWN);
	assert_non_null(strstr(why.text, "fallen off the bus"));
	assert_int_equal(set("power-limit", first, "600000"), -EHOSTDOWN);
	assert_int_equal(set("gpu-clock-lock", first, "unlocked"), -EHOSTDOWN);
	/* Its neighbour is not disturbed. */
	assert_int_equal(set("compute-mode", second, "default"), 0);
	assert_string_equal(get("compute-mode", second), "default");
}

static void a_driver_that_unloads_forgets(void **state)
{
	(void)state;
	boot(places, "stub unloads=1\n");
	assert_int_equal(set("gpu-clock-lock", first, "1500,1500"), 0);
	assert_int_equal(sm_clock("0"), 1500);
	boot(places, "stub unloads=1\n");
	assert_int_equal(sm_clock("0"), 345);
	assert_int_equal(set("persistence-mode", first, "1"), 0);
	assert_int_equal(set("gpu-clock-lock", first, "1500,1500"), 0);
	boot(places, "stub unloads=1\n");
	assert_int_equal(sm_clock("0"), 1500);
	assert_string_equal(get("persistence-mode", first), "1");
	/* Switching it off takes the lock along. */
	assert_int_equal(set("persistence-mode", first, "0"), 0);
	boot(places, "stub unloads=1\n");
	assert_int_equal(sm_clock("0"), 345);
}

static void a_handle_that_is_void_is_got_again(void **state)
{
	(void)state;
	boot(places, "stub coherent=1\n");
	assert_int_equal(set("persistence-mode", first, "1"), 0);
	assert_int_equal(set("persistence-mode", first, "0"), 0);
	assert_string_equal(get("persistence-mode", first), "0");
	assert_int_equal(set("persistence-mode", first, "1"), 0);
}

static void a_dry_run_sets_nothing(void **state)
{
	(void)state;
	host = host_open_readonly(host);
	assert_int_equal(set("persistence-mode", first, "1"), -EROFS);
	assert_int_equal(set("gpu-clock-lock", first, "unlocked"), -EROFS);
	assert_string_equal(get("persistence-mode", first), "0");
	assert_int_equal(access(state_file, F_OK), -1);
}

static void commands_for_people(void **state)
{
	static const struct {
		const char *name, *value, *command;
	} rows[] = {
		{ "persistence-mode", "1", "nvidia-smi -i 0000:18:00.0 -pm 1" },
		{ "accounting-mode", "0", "nvidia-smi -i 0000:18:00.0 -am 0" },
		{ "compute-mode", "exclusive-process",
		  "nvidia-smi -i 0000:18:00.0 -c EXCLUSIVE_PROCESS" },
		{ "power-limit", "450000", "nvidia-smi -i 0000:18:00.0 -pl 450" },
		{ "power-limit", "450050", "nvidia-smi -i 0000:18:00.0 -pl 450.050" },
		{ "gpu-clock-lock", "1200,1500", "nvidia-smi -i 0000:18:00.0 -lgc 1200,1500" },
		{ "gpu-clock-lock", "unlocked", "nvidia-smi -i 0000:18:00.0 -rgc" },
		{ "memory-clock-lock", "8001,8001", "nvidia-smi -i 0000:18:00.0 -lmc 8001,8001" },
		{ "memory-clock-lock", "unlocked", "nvidia-smi -i 0000:18:00.0 -rmc" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct knob k = gpu_knob(rows[i].name, first);

		assert_string_equal(knob_command(&arena, &k, rows[i].value), rows[i].command);
	}
}

static void an_old_library_lacks_one_lock(void **state)
{
	(void)state;
	assert_int_equal(set("persistence-mode", first, "1"), 0);
	assert_string_equal(get("persistence-mode", first), "1");
	assert_int_equal(set("gpu-clock-lock", first, "900,900"), 0);
	assert_int_equal(sm_clock("0"), 900);
	assert_int_equal(set("memory-clock-lock", first, "900,900"), -ENOSYS);
}

static void without_a_library(void **state)
{
	(void)state;
	host = host_open_live();
	assert_int_equal(get_fails("persistence-mode", first), -ELIBACC);
	assert_int_equal(set("persistence-mode", first, "1"), -ELIBACC);
	assert_non_null(strstr(why.text, "libnvidia-ml.so.1"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest current[] = {
	TEST(what_is_set_is_read_back),
	TEST(a_lock_holds_the_clock_and_is_reset),
	TEST(a_gpu_is_found_by_its_address),
	TEST(what_has_no_shape_reaches_no_library),
	TEST(the_provider_itself_is_strict),
	TEST(beyond_the_board_is_refused_with_its_limits),
	TEST(a_gpu_that_clamps),
	TEST(a_gpu_that_refuses),
	TEST(a_gpu_that_forgets_its_lock),
	TEST(a_gpu_that_falls_off_the_bus),
	TEST(a_driver_that_unloads_forgets),
	TEST(a_handle_that_is_void_is_got_again),
	TEST(a_dry_run_sets_nothing),
	TEST(commands_for_people),
};
static const struct CMUnitTest old[] = { TEST(an_old_library_lacks_one_lock) };
static const struct CMUnitTest absent[] = {
	cmocka_unit_test_teardown(without_a_library, stop),
};

/* 77 tells the test runner that this cannot be tried here. */
static int run(const char *which)
{
	if (strcmp(which, "old") == 0)
		return cmocka_run_group_tests_name("knob-nvml-old", old, NULL, NULL);
	if (strcmp(which, "absent") != 0)
		return cmocka_run_group_tests_name("knob-nvml", current, NULL, NULL);
	if (stub_is_real())
		return 77;
	return cmocka_run_group_tests_name("knob-nvml-absent", absent, NULL, NULL);
}

int main(int argc, char **argv)
{
	int state = mkstemp(state_file), failed;

	if (state < 0 || !stub_file_make(description))
		return 1;
	close(state);
	failed = run(argc > 1 ? argv[1] : "current");
	unlink(description);
	unlink(state_file);
	return failed;
}
