/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A latched GPU from symptom to cause through the real loader: the CUDA driver that runs kernels on
 * the CPU shows a low clock, the stand-in for NVML low power at full use, and the load test of the
 * diagnosis runs on both.
 */
#include <unistd.h>

#include "doctor_case.h"

#include "measure/doctor/doctor.h"

#define GPU0                                                                                       \
	"{'platform': {'kind': 'dgx-spark'}, 'gpu': {'gpus': [{'index': 0, 'pci': "                \
	"'0000:41:00.0', 'name': 'NVIDIA GB10', 'integrated': 1}]}}"

static char description[] = "/tmp/gputune-doctor-XXXXXX";

/* What NVML says of the only GPU. */
static void nvml_says(long long milliwatts, long long reasons)
{
	FILE *f = fopen(description, "w");

	assert_non_null(f);
	fprintf(f,
		"- nvmlDeviceGetCount=1\n0 nvmlDeviceGetPowerUsage=%lld\n"
		"0 nvmlDeviceGetUtilizationRates.gpu=96\n0 nvmlDeviceGetTemperature(GPU)=41\n"
		"0 nvmlDeviceGetCurrentClocksEventReasons=%lld\n",
		milliwatts, reasons);
	fclose(f);
	setenv("GPUTUNE_STUB", description, 1);
}

static const struct judged *cause_of(const struct examined *x, const char *id)
{
	for (size_t i = 0; i < x->d->n; i++)
		if (strcmp(x->causes[i].c->id, id) == 0)
			return &x->causes[i].v;
	fail();
	return NULL;
}

static void diagnose(struct arena *a, struct examined *x)
{
	struct machine *m = fake_machine(a, GPU0);
	struct record *r = ARENA_NEW(a, struct record);
	struct rule_facts *e = ARENA_NEW(a, struct rule_facts);
	const struct diagnosis *d = case_diagnosis("gpu.low-clock-low-power");
	const struct doctor_plan p = { .tests = d->tests, .named = true, .seconds = 0.05 };
	struct frame f = { .env = { .a = a, .m = m, .small = true }, .samples = 8 };
	struct path_look *path = NULL;

	frame_start(&f);
	doctor_run_tests(&f, &p, r, e->not_run, &path);
	record_summarise(r);
	e->a = a;
	e->m = m;
	e->record = r;
	e->findings = case_findings(a, "gpu.power-latch=na gpu.working-clock=na", NULL);
	e->signs = case_signs(a, NULL);
	doctor_examine(e, d, x);
}

static void test_latch(void **state)
{
	struct arena a = { 0 };
	struct examined x;

	(void)state;
	setenv("GPUTUNE_STUB_CUDA", "gpus=1 gb10=1 mhz=611", 1);
	nvml_says(14200, 0);
	diagnose(&a, &x);
	if (x.state != DOCTOR_FOUND || cause_of(&x, "latch")->likelihood != CAUSE_CERTAIN)
		fail_msg("%s: %s", doctor_state_name(x.state), cause_of(&x, "latch")->text);
	assert_non_null(strstr(cause_of(&x, "latch")->text, "14 W"));
	assert_int_equal(cause_of(&x, "slow")->likelihood, CAUSE_EXCLUDED);
	assert_non_null(
		strstr(doctor_step(x.causes[0].c, fake_machine(&a, GPU0), NULL), "full minute"));
	arena_free(&a);
}

/* The same clock with a reason told is another fault: heat. */
static void test_heat(void **state)
{
	struct arena a = { 0 };
	struct examined x;

	(void)state;
	setenv("GPUTUNE_STUB_CUDA", "gpus=1 gb10=1 mhz=611", 1);
	nvml_says(14200, EVENT_HW_THERMAL);
	diagnose(&a, &x);
	assert_int_equal(cause_of(&x, "latch")->likelihood, CAUSE_EXCLUDED);
	assert_non_null(strstr(cause_of(&x, "latch")->text, "thermal"));
	arena_free(&a);
}

/* A good clock and good power; a CPU computes as slowly as a sick GPU. */
static void test_no_latch(void **state)
{
	struct arena a = { 0 };
	struct examined x;

	(void)state;
	setenv("GPUTUNE_STUB_CUDA", "gpus=1 gb10=1 mhz=2400", 1);
	nvml_says(92000, 0);
	diagnose(&a, &x);
	assert_int_equal(cause_of(&x, "latch")->likelihood, CAUSE_EXCLUDED);
	assert_int_equal(cause_of(&x, "slow")->likelihood, CAUSE_LIKELY);
	arena_free(&a);
}

static void test_no_driver(void **state)
{
	struct arena a = { 0 };
	struct examined x;

	(void)state;
	setenv("GPUTUNE_STUB_CUDA", "gpus=0", 1);
	nvml_says(92000, 0);
	diagnose(&a, &x);
	assert_int_equal(x.state, DOCTOR_OPEN);
	assert_non_null(strstr(x.why, "gpu-load did not run"));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_latch),
		cmocka_unit_test(test_heat),
		cmocka_unit_test(test_no_latch),
		cmocka_unit_test(test_no_driver),
	};
	int fd = mkstemp(description), r;

	if (fd < 0)
		return 1;
	close(fd);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(description);
	return r;
}
