/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVML and CUDA providers through the real loader: against a stub of a current library, of an
 * old one (argument "old"), and without any (argument "absent"). The library path decides which is
 * found.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "stub_file.h"

#include "machine/host/ask.h"
#include "machine/host/nvml.h"

static struct arena arena;
static void *state_nvml, *state_cuda;
static char description[] = "/tmp/gputune-stub-XXXXXX";

static const char machine[] =
	"- nvmlDeviceGetCount=2\n- nvmlSystemGetDriverVersion=580.159.04\n"
	"- nvmlSystemGetNVMLVersion=13.580.159.04\n- nvmlSystemGetCudaDriverVersion=13000\n"
	"0 nvmlDeviceGetName=NVIDIA H200\n0 nvmlDeviceGetPciInfo.busId=00000000:18:00.0\n"
	"0 nvmlDeviceGetPersistenceMode=1\n"
	"0 nvmlDeviceGetClockInfo(SM)=345\n0 nvmlDeviceGetClockInfo(MEM)=3201\n"
	"0 nvmlDeviceGetMemoryInfo.total=150754820096\n0 "
	"nvmlDeviceGetMemoryInfo.reserved=644939776\n"
	"0 nvmlDeviceGetMemoryInfo.free=150109880320\n0 nvmlDeviceGetMemoryInfo.used=7\n"
	"0 nvmlDeviceGetEccMode.current=1\n0 nvmlDeviceGetEccMode.pending=0\n"
	"0 nvmlDeviceGetTotalEccErrors(UNCORRECTED,AGGREGATE)=5\n"
	"0 nvmlDeviceGetCurrentClocksEventReasons=9223372036854775807\n"
	"0 nvmlDeviceGetTemperature(GPU)=33\n"
	"0 nvmlDeviceGetGpuFabricInfo.state=3\n0 nvmlDeviceGetGpuFabricInfo.healthMask=10\n"
	"0 nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SW_POWER_CAP)=!NOT_SUPPORTED\n"
	"0 nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SYNC_BOOST)=77000\n"
	"0 nvmlDeviceGetFieldValues(NVLINK_LINK_COUNT)=2\n0 "
	"nvmlDeviceGetFieldValues(ECC_CURRENT)=1\n"
	"0 nvmlDeviceGetFieldValues(ECC_PENDING)=1\n"
	"0 nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,0)=26562\n"
	"0 nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,1)=25781\n"
	"0 nvmlDeviceGetFieldValues(NVLINK_THROUGHPUT_DATA_TX)=4096\n"
	"0 nvmlDeviceGetNvLinkState(1)=1\n0 nvmlDeviceGetP2PStatus(1,WRITE)=4\n"
	"0 nvmlDeviceGetNvLinkRemotePciInfo(1).busId=00010000:C1:00.0\n"
	"0 nvmlDeviceGetComputeRunningProcesses=2\n"
	"0 nvmlDeviceGetComputeRunningProcesses(0).pid=41\n"
	"0 nvmlDeviceGetComputeRunningProcesses(0).usedGpuMemory=1048576\n"
	"0 nvmlDeviceGetComputeRunningProcesses(1).pid=42\n"
	"0 nvmlDeviceGetAccountingMode=!NO_PERMISSION\n0 nvmlDeviceGetBrand=!DEPRECATED\n"
	"0 nvmlDeviceGetMaxClockInfo(SM)=!UNKNOWN\n0 nvmlDeviceGetComputeMode=!TIMEOUT\n"
	"1 nvmlDeviceGetName=NVIDIA GB10\n1 nvmlDeviceGetClockInfo(SM)=2418\n"
	"0000:18:00.0 cuDeviceGetAttribute(116)=1\n0000:18:00.0 cuDeviceGetAttribute(18)=0\n";

/* The machine above, and what a test adds to it. */
static void describe(const char *more)
{
	FILE *f = fopen(description, "w");

	assert_non_null(f);
	fprintf(f, "%s%s", machine, more);
	fclose(f);
}

static int start(void **state)
{
	(void)state;
	describe("");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	if (state_nvml)
		provider_nvml.close(state_nvml);
	if (state_cuda)
		provider_cuda.close(state_cuda);
	state_nvml = state_cuda = NULL;
	arena_free(&arena);
	return 0;
}

static int ask(const char *object, const char *field, struct answer *out)
{
	return provider_nvml.ask(&state_nvml, &arena, object, field, out);
}

static long long number(const char *object, const char *field)
{
	struct answer a = { .kind = ANSWER_TEXT };
	int r = ask(object, field, &a);

	if (r)
		fail_msg("%s %s: %d", object, field, r);
	assert_int_equal(a.kind, ANSWER_INT);
	return a.i;
}

static const char *text(const char *object, const char *field)
{
	struct answer a = { .kind = ANSWER_INT };
	int r = ask(object, field, &a);

	if (r)
		fail_msg("%s %s: %d", object, field, r);
	assert_int_equal(a.kind, ANSWER_TEXT);
	return a.text;
}

static int failure(const char *object, const char *field)
{
	struct answer a = { .kind = ANSWER_INT, .i = 4711 };
	int r = ask(object, field, &a);

	assert_int_not_equal(r, 0);
	assert_int_equal(a.i, 4711);
	return r;
}

static void shapes_give_exact_answers(void **state)
{
	(void)state;
	assert_string_equal(text("", "nvmlSystemGetDriverVersion"), "580.159.04");
	assert_int_equal(number("", "nvmlDeviceGetCount"), 2);
	assert_int_equal(number("", "nvmlSystemGetCudaDriverVersion"), 13000);
	assert_string_equal(text("0", "nvmlDeviceGetName"), "NVIDIA H200");
	assert_string_equal(text("0", "nvmlDeviceGetPciInfo.busId"), "00000000:18:00.0");
	assert_int_equal(number("0", "nvmlDeviceGetPersistenceMode"), 1);
	assert_int_equal(number("0", "nvmlDeviceGetClockInfo(SM)"), 345);
	assert_int_equal(number("0", "nvmlDeviceGetClockInfo(MEM)"), 3201);
	assert_int_equal(number("1", "nvmlDeviceGetClockInfo(SM)"), 2418);
	assert_true(number("0", "nvmlDeviceGetMemoryInfo.total") == 150754820096);
	assert_int_equal(number("0", "nvmlDeviceGetMemoryInfo.used"), 7);
	assert_int_equal(number("0", "nvmlDeviceGetEccMode.current"), 1);
	assert_int_equal(number("0", "nvmlDeviceGetEccMode.pending"), 0);
	assert_int_equal(number("0", "nvmlDeviceGetTotalEccErrors(UNCORRECTED,AGGREGATE)"), 5);
	assert_true(number("0", "nvmlDeviceGetCurrentClocksEventReasons") == INT64_MAX);
	assert_int_equal(number("0", "nvmlDeviceGetTemperature(GPU)"), 33);
	assert_int_equal(number("0", "nvmlDeviceGetNvLinkState(1)"), 1);
	assert_int_equal(number("0", "nvmlDeviceGetP2PStatus(1,WRITE)"), 4);
	assert_string_equal(text("0", "nvmlDeviceGetNvLinkRemotePciInfo(1).busId"),
			    "00010000:C1:00.0");
}

static void processes_are_listed(void **state)
{
	(void)state;
	assert_int_equal(number("0", "nvmlDeviceGetComputeRunningProcesses"), 2);
	assert_int_equal(number("0", "nvmlDeviceGetComputeRunningProcesses(0).pid"), 41);
	assert_int_equal(number("0", "nvmlDeviceGetComputeRunningProcesses(0).usedGpuMemory"),
			 1048576);
	assert_int_equal(number("0", "nvmlDeviceGetComputeRunningProcesses(1).pid"), 42);
	assert_int_equal(failure("0", "nvmlDeviceGetComputeRunningProcesses(1).usedGpuMemory"),
			 -EOPNOTSUPP);
	assert_int_equal(failure("0", "nvmlDeviceGetComputeRunningProcesses(2).pid"), -EINVAL);
	assert_int_equal(failure("0", "nvmlDeviceGetGraphicsRunningProcesses"), -EOPNOTSUPP);
}

static void newest_structures_are_preferred(void **state)
{
	(void)state;
	assert_int_equal(number("0", "nvmlDeviceGetMemoryInfo.reserved"), 644939776);
	assert_int_equal(number("0", "nvmlDeviceGetGpuFabricInfo.state"), 3);
	/* The stub knows the second version of the structure; the third member came with the third.
	 */
	assert_int_equal(number("0", "nvmlDeviceGetGpuFabricInfo.healthMask"), 10);
	assert_int_equal(failure("0", "nvmlDeviceGetGpuFabricInfo.healthSummary"), -ENOSYS);
}

static void fields_survive_a_refused_neighbour(void **state)
{
	(void)state;
	assert_int_equal(failure("0", "nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SW_POWER_CAP)"),
			 -EOPNOTSUPP);
	assert_int_equal(number("0", "nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SYNC_BOOST)"),
			 77000);
	assert_int_equal(number("0", "nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,0)"), 26562);
	assert_int_equal(number("0", "nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,1)"), 25781);
	/* Of all links: asked for with another scope, the stand-in refuses it. */
	assert_int_equal(number("0", "nvmlDeviceGetFieldValues(NVLINK_THROUGHPUT_DATA_TX)"), 4096);
	assert_int_equal(failure("0", "nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,2)"), -EOPNOTSUPP);
}

/* Drivers of R575 have other numbers for the slowdowns, and something else under the later ones. */
static void fields_have_the_drivers_numbers(void **state)
{
	static const char counted[] =
		"0 nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN)=1000\n"
		"0 nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN)=2000\n"
		"0 nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN)=3000\n";
	static const char *const numberings[] = { "", "- numbering=575\n" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char more[512];

		snprintf(more, sizeof(more), "%s%s", counted, numberings[i]);
		describe(more);
		assert_int_equal(number("0", "nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_"
					     "HW_POWER_BRAKE_SLOWDOWN)"),
				 3000);
		assert_int_equal(number("0", "nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_"
					     "HW_THERM_SLOWDOWN)"),
				 2000);
		assert_int_equal(number("0", "nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_"
					     "SW_THERM_SLOWDOWN)"),
				 1000);
		assert_int_equal(number("0", "nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SYNC_"
					     "BOOST)"),
				 77000);
		provider_nvml.close(state_nvml);
		state_nvml = NULL;
	}
}

static void results_become_errno(void **state)
{
	(void)state;
	assert_int_equal(failure("0", "nvmlDeviceGetAccountingMode"), -EACCES);
	assert_int_equal(failure("0", "nvmlDeviceGetBrand"), -EOPNOTSUPP);
	assert_int_equal(failure("0", "nvmlDeviceGetMaxClockInfo(SM)"), -EIO);
	assert_int_equal(failure("0", "nvmlDeviceGetComputeMode"), -ETIME);
	assert_int_equal(failure("0", "nvmlDeviceGetUUID"), -EOPNOTSUPP);
	assert_int_equal(nvml_errno(NVML_GPU_IS_LOST), -EHOSTDOWN);
	assert_int_equal(nvml_errno(NVML_LIB_RM_VERSION_MISMATCH), -ELIBBAD);
	assert_int_equal(nvml_errno(12345), -EIO);
}

static void malformed_questions_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"nvmlDeviceGetNothing",
		"nvmlDeviceGetClockInfo",
		"nvmlDeviceGetClockInfo(",
		"nvmlDeviceGetClockInfo()",
		"nvmlDeviceGetClockInfo(SMX)",
		"nvmlDeviceGetClockInfo(S)",
		"nvmlDeviceGetClockInfo(SM)x",
		"nvmlDeviceGetClockInfo(SM).x",
		"nvmlDeviceGetMemoryInfo",
		"nvmlDeviceGetMemoryInfo.",
		"nvmlDeviceGetMemoryInfo.tota",
		"nvmlDeviceGetName(1)",
		"nvmlDeviceGetNvLinkState(36)",
		"nvmlDeviceGetNvLinkState(99999999999)",
		"nvmlDeviceGetNvLinkState(-1)",
		"nvmlDeviceGetP2PStatus(1)",
		"nvmlDeviceGetP2PStatus(2,READ)",
		"nvmlDeviceGetFieldValues",
		"nvmlDeviceGetFieldValues()",
		"nvmlDeviceGetFieldValues(X)",
		"nvmlDeviceGetFieldValues(NVLINK_GET_SPEED)",
		"nvmlDeviceGetFieldValues(ECC_CURRENT,0)",
		"nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,36)",
		"nvmlDeviceGetComputeRunningProcesses(",
		"nvmlDeviceGetComputeRunningProcesses(0)",
		"nvmlDeviceGetComputeRunningProcesses(x).pid",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(failure("0", bad[i]), -EINVAL);
	assert_int_equal(failure("2", "nvmlDeviceGetName"), -EINVAL);
	assert_int_equal(failure("-1", "nvmlDeviceGetName"), -EINVAL);
	assert_int_equal(failure("x", "nvmlDeviceGetName"), -EINVAL);
	assert_int_equal(failure("", "nvmlDeviceGetName"), -EINVAL);
}

/* The stub's count of calls, out of the library that the provider has loaded. */
static int calls(void)
{
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD), *symbol;
	int (*fn)(void), n;

	assert_non_null(lib);
	symbol = dlsym(lib, "gputune_stub_calls");
	assert_non_null(symbol);
	memcpy(&fn, &symbol, sizeof(fn));
	n = fn();
	dlclose(lib);
	return n;
}

static void members_of_one_call_cost_one_call(void **state)
{
	int before;

	(void)state;
	number("0", "nvmlDeviceGetMemoryInfo.total");
	before = calls();
	number("0", "nvmlDeviceGetMemoryInfo.free");
	number("0", "nvmlDeviceGetMemoryInfo.used");
	number("0", "nvmlDeviceGetMemoryInfo.reserved");
	assert_int_equal(calls(), before);
	/* Asked a second time it is a new question: a sampler must not see the first answer again.
	 */
	number("0", "nvmlDeviceGetMemoryInfo.used");
	assert_int_equal(calls(), before + 1);
	number("0", "nvmlDeviceGetFieldValues(ECC_CURRENT)");
	before = calls();
	number("0", "nvmlDeviceGetFieldValues(ECC_PENDING)");
	assert_int_equal(calls(), before);
	number("0", "nvmlDeviceGetFieldValues(ECC_PENDING)");
	assert_true(calls() > before);
}

static void a_lost_gpu_leaves_the_others(void **state)
{
	(void)state;
	describe("stub lost_gpu=0\nstub lost_after=2\n");
	assert_int_equal(number("0", "nvmlDeviceGetClockInfo(SM)"), 345);
	assert_int_equal(number("0", "nvmlDeviceGetPersistenceMode"), 1);
	assert_int_equal(failure("0", "nvmlDeviceGetName"), -EHOSTDOWN);
	assert_int_equal(failure("0", "nvmlDeviceGetMemoryInfo.total"), -EHOSTDOWN);
	assert_int_equal(failure("0", "nvmlDeviceGetFieldValues(ECC_CURRENT)"), -EHOSTDOWN);
	assert_int_equal(failure("0", "nvmlDeviceGetComputeRunningProcesses"), -EHOSTDOWN);
	assert_string_equal(text("1", "nvmlDeviceGetName"), "NVIDIA GB10");
}

static void a_gpu_that_cannot_be_opened_says_why(void **state)
{
	(void)state;
	describe("stub handle(0)=!NO_PERMISSION\nstub handle(1)=!GPU_IS_LOST\n");
	assert_int_equal(number("", "nvmlDeviceGetCount"), 2);
	assert_int_equal(failure("0", "nvmlDeviceGetName"), -EACCES);
	assert_int_equal(failure("1", "nvmlDeviceGetName"), -EHOSTDOWN);
}

static void a_failed_start_answers_everything(void **state)
{
	static const struct {
		const char *line;
		int error;
	} cases[] = { { "stub init=!DRIVER_NOT_LOADED\n", -ENXIO },
		      { "stub init=!LIB_RM_VERSION_MISMATCH\n", -ELIBBAD },
		      { "stub init=!NO_PERMISSION\n", -EACCES } };

	for (size_t i = 0; i < 3; i++) {
		describe(cases[i].line);
		assert_int_equal(failure("", "nvmlDeviceGetCount"), cases[i].error);
		assert_int_equal(failure("0", "nvmlDeviceGetName"), cases[i].error);
		/* The library's own version is known all the same. */
		assert_string_equal(text("", "nvmlSystemGetNVMLVersion"), "13.580.159.04");
		stop(state);
	}
}

static void captured_answers_play_through_the_library(void **state)
{
	FILE *f = fopen(description, "w");

	(void)state;
	assert_non_null(f);
	fputs("{\"\": {\"nvmlDeviceGetCount\": 1}, \"0\": {\"nvmlDeviceGetName\": \"NVIDIA A100\","
	      " \"nvmlDeviceGetUUID\": {\"error\": \"EACCES\"}, \"*\": {\"error\": "
	      "\"EOPNOTSUPP\"}}}",
	      f);
	fclose(f);
	assert_int_equal(number("", "nvmlDeviceGetCount"), 1);
	assert_string_equal(text("0", "nvmlDeviceGetName"), "NVIDIA A100");
	assert_int_equal(failure("0", "nvmlDeviceGetUUID"), -EACCES);
	assert_int_equal(failure("0", "nvmlDeviceGetVbiosVersion"), -EOPNOTSUPP);
}

static void cuda_attributes(void **state)
{
	struct answer a;

	(void)state;
	assert_int_equal(provider_cuda.ask(&state_cuda, &arena, "", "cuDriverGetVersion", &a), 0);
	assert_int_equal(a.i, 13000);
	assert_int_equal(provider_cuda.ask(&state_cuda, &arena, "0000:18:00.0",
					   "cuDeviceGetAttribute(116)", &a),
			 0);
	assert_int_equal(a.i, 1);
	assert_int_equal(provider_cuda.ask(&state_cuda, &arena, "0000:18:00.0",
					   "cuDeviceGetAttribute(18)", &a),
			 0);
	assert_int_equal(a.i, 0);
	assert_int_equal(provider_cuda.ask(&state_cuda, &arena, "0000:99:00.0",
					   "cuDeviceGetAttribute(18)", &a),
			 -ENXIO);
	assert_int_equal(provider_cuda.ask(&state_cuda, &arena, "0000:18:00.0",
					   "cuDeviceGetAttribute(x)", &a),
			 -EINVAL);
	assert_int_equal(provider_cuda.ask(&state_cuda, &arena, "0000:18:00.0",
					   "cuDeviceGetAttribute(1", &a),
			 -EINVAL);
}

/* The driver's thread is older than the mask with which a verb waits for its signals. */
static void threads_of_the_driver_take_no_signals(void **state)
{
	struct timespec limit = { .tv_sec = 30 };
	struct answer a;
	sigset_t set;

	(void)state;
	assert_int_equal(provider_cuda.ask(&state_cuda, &arena, "0000:18:00.0",
					   "cuDeviceGetAttribute(18)", &a),
			 0);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(sigtimedwait(&set, NULL, &limit), SIGTERM);
	assert_int_equal(kill(getpid(), SIGCHLD), 0);
	assert_int_equal(sigtimedwait(&set, NULL, &limit), SIGCHLD);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
}

static void an_old_library_answers_what_it_can(void **state)
{
	(void)state;
	assert_int_equal(number("", "nvmlDeviceGetCount"), 2);
	assert_string_equal(text("0", "nvmlDeviceGetName"), "NVIDIA H200");
	assert_string_equal(text("0", "nvmlDeviceGetPciInfo.busId"), "00000000:18:00.0");
	assert_string_equal(text("0", "nvmlDeviceGetNvLinkRemotePciInfo(1).busId"),
			    "00010000:C1:00.0");
	assert_true(number("0", "nvmlDeviceGetMemoryInfo.total") == 150754820096);
	assert_int_equal(failure("0", "nvmlDeviceGetMemoryInfo.reserved"), -ENOSYS);
	assert_true(number("0", "nvmlDeviceGetCurrentClocksEventReasons") == INT64_MAX);
	assert_int_equal(number("0", "nvmlDeviceGetTemperature(GPU)"), 33);
	assert_int_equal(number("0", "nvmlDeviceGetComputeRunningProcesses(1).pid"), 42);
	assert_int_equal(failure("0", "nvmlDeviceGetGpuFabricInfo.state"), -ENOSYS);
	assert_int_equal(failure("0", "nvmlDeviceGetAddressingMode.value"), -ENOSYS);
	assert_int_equal(failure("0", "nvmlDeviceGetC2cModeInfo.isC2cEnabled"), -ENOSYS);
	assert_int_equal(failure("0", "nvmlDeviceGetRemappedRows.corrRows"), -ENOSYS);
	assert_int_equal(failure("0", "nvmlDeviceGetFieldValues(ECC_CURRENT)"), -ENOSYS);
	assert_int_equal(failure("0", "nvmlDeviceGetMPSComputeRunningProcesses"), -ENOSYS);
}

static void no_library_is_its_own_answer(void **state)
{
	(void)state;
	assert_int_equal(failure("", "nvmlDeviceGetCount"), -ELIBACC);
	assert_int_equal(failure("0", "nvmlDeviceGetName"), -ELIBACC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest current[] = {
	TEST(shapes_give_exact_answers),
	TEST(processes_are_listed),
	TEST(newest_structures_are_preferred),
	TEST(fields_survive_a_refused_neighbour),
	TEST(fields_have_the_drivers_numbers),
	TEST(results_become_errno),
	TEST(malformed_questions_are_refused),
	TEST(members_of_one_call_cost_one_call),
	TEST(a_lost_gpu_leaves_the_others),
	TEST(a_gpu_that_cannot_be_opened_says_why),
	TEST(a_failed_start_answers_everything),
	TEST(captured_answers_play_through_the_library),
	TEST(cuda_attributes),
	TEST(threads_of_the_driver_take_no_signals),
};

static const struct CMUnitTest old[] = { TEST(an_old_library_answers_what_it_can) };
static const struct CMUnitTest absent[] = { TEST(no_library_is_its_own_answer) };

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "current";
	int failed;

	if (!stub_file_make(description))
		return 1;
	if (strcmp(which, "old") == 0)
		failed = cmocka_run_group_tests_name("nvml-old", old, NULL, NULL);
	else if (strcmp(which, "absent") == 0)
		failed = stub_is_real()
				 ? 77
				 : cmocka_run_group_tests_name("nvml-absent", absent, NULL, NULL);
	else
		failed = cmocka_run_group_tests_name("nvml", current, NULL, NULL);
	unlink(description);
	return failed;
}
