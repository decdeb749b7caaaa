/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU probe, door to facts: against a current library's stub, an old one's (argument "old"),
 * none ("absent"), and a captured machine.
 */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "stub_file.h"

#include "machine/host/ask.h"
#include "look/probe/probe.h"

/* A door with a handful of files, and the vendor libraries behind it. */
struct fake {
	struct host host;
	const char *const *files; /* path, text, path, text, NULL */
	void *nvml, *cuda;
};

static const char *fake_text(struct host *h, const char *path)
{
	const char *const *f = ((struct fake *)h)->files;

	for (; *f; f += 2)
		if (strcmp(f[0], path) == 0)
			return f[1];
	return NULL;
}

static int fake_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	const char *text = fake_text(h, path);

	if (!text)
		return -ENOENT;
	*len = strlen(text);
	memcpy(buf, text, *len < cap ? *len : cap);
	return 0;
}

static int fake_kind(struct host *h, const char *path, enum host_kind *out)
{
	*out = HOST_FILE;
	return fake_text(h, path) ? 0 : -ENOENT;
}

static int fake_ask(struct host *h, const char *api, const char *object, const char *field,
		    struct answer *out)
{
	struct fake *f = (struct fake *)h;

	if (strcmp(api, "nvml") == 0)
		return provider_nvml.ask(&f->nvml, &h->arena, object, field, out);
	if (strcmp(api, "cuda") == 0)
		return provider_cuda.ask(&f->cuda, &h->arena, object, field, out);
	return -ENOSYS;
}

static const struct host_ops fake_ops = { .read = fake_read, .kind = fake_kind, .ask = fake_ask };

static const char *const driver_files[] = { "/proc/driver/nvidia/version",
					    "NVRM version: NVIDIA UNIX Open Kernel Module for "
					    "x86_64  580.159.04  Release Build  (x@y)  \n"
					    "GCC version:  gcc version 15.3.0 (GCC) \n",
					    "/sys/module/nvidia_uvm",
					    "",
					    "/proc/41/comm",
					    "python3\n",
					    "/sys/bus/pci/devices/0000:18:00.0/local_cpulist",
					    "0-55,112-167\n",
					    NULL };
static const char *const no_files[] = { NULL };

static struct fake fake;
static struct arena arena;
static struct machine machine;
static char description[] = "/tmp/gputune-stub-XXXXXX";

static const char two_gpus[] =
	"- nvmlDeviceGetCount=2\n- nvmlSystemGetDriverVersion=580.159.04\n"
	"- nvmlSystemGetNVMLVersion=13.580.159.04\n- nvmlSystemGetCudaDriverVersion=13000\n"
	"0 nvmlDeviceGetName=NVIDIA H200\n0 nvmlDeviceGetPciInfo.busId=00000000:18:00.0\n"
	"0 nvmlDeviceGetArchitecture=9\n0 nvmlDeviceGetCudaComputeCapability.major=9\n"
	"0 nvmlDeviceGetCudaComputeCapability.minor=0\n0 nvmlDeviceGetNumGpuCores=16896\n"
	"0 nvmlDeviceGetMemoryInfo.total=150754820096\n0 nvmlDeviceGetPersistenceMode=1\n"
	"0 nvmlDeviceGetComputeMode=3\n0 nvmlDeviceGetAddressingMode.value=0\n"
	"0 nvmlDeviceGetGpuFabricInfo.state=3\n0 "
	"nvmlDeviceGetBAR1MemoryInfo.bar1Total=274877906944\n"
	"0 nvmlDeviceGetMaxClockInfo(SM)=1980\n0 nvmlDeviceGetCurrentClocksEventReasons=1\n"
	"0 nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SW_POWER_CAP)=5000999\n"
	"0 nvmlDeviceGetFieldValues(NVLINK_LINK_COUNT)=2\n"
	"0 nvmlDeviceGetNvLinkState(0)=1\n0 nvmlDeviceGetNvLinkState(1)=0\n"
	"0 nvmlDeviceGetNvLinkRemoteDeviceType(0)=2\n"
	"0 nvmlDeviceGetNvLinkRemotePciInfo(0).busId=FFFFFFFF:FF:FF.0\n"
	"0 nvmlDeviceGetNvLinkRemotePciInfo(1).busId=0000000F:C1:00.0\n"
	"0 nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,0)=26562\n"
	"0 nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,1)=0\n"
	"0 nvmlDeviceGetFieldValues(NVLINK_ERROR_DL_REPLAY,0)=3\n"
	"0 nvmlDeviceGetP2PStatus(1,READ)=1\n"
	"0 nvmlDeviceGetComputeRunningProcesses=1\n0 "
	"nvmlDeviceGetComputeRunningProcesses(0).pid=41\n"
	"0 nvmlDeviceGetComputeRunningProcesses(0).usedGpuMemory=1048576\n"
	"0 nvmlDeviceGetGraphicsRunningProcesses=0\n"
	"1 nvmlDeviceGetName=NVIDIA GB10\n1 nvmlDeviceGetPciInfo.busId=0000000F:01:00.0\n"
	"1 nvmlDeviceGetPersistenceMode=0\n1 nvmlDeviceGetMaxClockInfo(SM)=3003\n"
	"0000:18:00.0 cuDeviceGetAttribute(116)=1\n0000:18:00.0 cuDeviceGetAttribute(124)=1\n"
	"0000:18:00.0 cuDeviceGetAttribute(18)=0\n";

static void describe(const char *text, const char *more)
{
	FILE *f = fopen(description, "w");

	assert_non_null(f);
	fprintf(f, "%s%s", text, more);
	fclose(f);
}

static int start(void **state)
{
	(void)state;
	fake = (struct fake){ .host = { .ops = &fake_ops }, .files = driver_files };
	machine = (struct machine){ 0 };
	describe(two_gpus, "");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	if (fake.nvml)
		provider_nvml.close(fake.nvml);
	if (fake.cuda)
		provider_cuda.close(fake.cuda);
	arena_free(&fake.host.arena);
	arena_free(&arena);
	return 0;
}

static void probe(bool deep)
{
	struct probe p = { .h = &fake.host, .a = &arena, .m = &machine, .deep = deep };

	probe_gpu(&p);
}

static void add_pci(const char *name, long long vendor, long long class_, long long node)
{
	struct pci_function *f = list_add(&arena, &machine.pci, sizeof(*f));

	f->name = name;
	f->vendor = fact_int_of(vendor, NULL, "vendor");
	f->class_ = fact_int_of(class_, NULL, "class");
	f->numa_node = fact_int_of(node, NULL, "numa_node");
}

static void facts_of_a_discrete_gpu(void **state)
{
	const struct gpu *g;

	(void)state;
	add_pci("0000:18:00.0", 0x10de, 0x030200, 1);
	add_pci("0000:05:00.0", 0x10de, 0x068000, 0); /* a switch is no GPU */
	add_pci("0000:06:00.0", 0x8086, 0x030000, 0);
	probe(false);
	assert_string_equal(machine.gpu.driver.v, "580.159.04");
	assert_string_equal(machine.gpu.driver_flavour.v, "open");
	assert_string_equal(machine.gpu.uvm_loaded.v, "yes");
	assert_int_equal(machine.gpu.count.v, 2);
	assert_int_equal(machine.gpu.pci_count.v, 1);
	g = machine_gpu(&machine, 0);
	assert_string_equal(g->pci, "0000:18:00.0");
	assert_string_equal(g->name.v, "NVIDIA H200");
	assert_string_equal(fact_from(&arena, &g->persistence.f),
			    "nvml 0 nvmlDeviceGetPersistenceMode");
	assert_string_equal(g->architecture.v, "hopper");
	assert_string_equal(g->compute_mode.v, "exclusive-process");
	assert_string_equal(g->fabric_state.v, "completed");
	assert_int_equal(g->sm_count.v, 132);
	assert_int_equal(g->numa_node.v, 1);
	assert_int_equal(g->clock_sm_max_mhz.v, 1980);
	assert_int_equal(g->event_sw_power_us.v, 5000);
	assert_int_equal(g->integrated.v, 0);
	assert_int_equal(idset_count(&g->cpu_affinity.v), 112);
	assert_int_equal(g->vbios.f.seen, SEEN_UNSUPPORTED);
	assert_int_equal(g->cuda_dma_buf.f.seen, SEEN_UNASKED);
}

static void links_and_processes(void **state)
{
	const struct gpu *g;
	const struct nvlink *l;
	const struct gpu_process *process;

	(void)state;
	probe(false);
	g = machine_gpu(&machine, 0);
	assert_int_equal(g->links.n, 2);
	l = g->links.items;
	assert_int_equal(l[0].active.v, 1);
	assert_int_equal(l[0].speed_mbs.v, 26562);
	assert_string_equal(l[0].remote_type.v, "switch");
	assert_int_equal(l[0].remote.f.seen, SEEN_UNSUPPORTED);
	assert_int_equal(l[0].replay_errors.f.seen, SEEN_UNASKED);
	assert_int_equal(l[1].active.v, 0);
	assert_string_equal(l[1].remote.v, "000f:c1:00.0");
	assert_int_equal(g->processes.n, 1);
	process = g->processes.items;
	assert_int_equal(process->index, 41);
	assert_string_equal(process->kind.v, "compute");
	assert_string_equal(process->command.v, "python3");
	assert_int_equal(process->memory_bytes.v, 1048576);
	assert_int_equal(machine_gpu(&machine, 1)->links.n, 0);
}

static void a_deep_probe_asks_cuda_and_counters(void **state)
{
	const struct gpu *g;
	const struct nvlink *l;
	const struct gpu_peer *peer;

	(void)state;
	probe(true);
	g = machine_gpu(&machine, 0);
	l = g->links.items;
	peer = g->peers.items;
	assert_int_equal(g->cuda_dma_buf.v, 1);
	assert_int_equal(g->cuda_gpudirect_rdma.v, 1);
	assert_string_equal(g->integrated.f.leaf, "cuDeviceGetAttribute(18)");
	assert_int_equal(l[0].replay_errors.v, 3);
	assert_int_equal(l[1].replay_errors.f.seen, SEEN_UNSUPPORTED);
	assert_int_equal(g->peers.n, 1);
	assert_int_equal(peer->index, 1);
	assert_string_equal(peer->p2p_read.v, "chipset-not-supported");
	assert_int_equal(peer->p2p_write.f.seen, SEEN_UNSUPPORTED);
	/* CUDA does not know the other one; its name still does. */
	g = machine_gpu(&machine, 1);
	assert_int_equal(g->cuda_integrated.f.seen, SEEN_ABSENT);
	assert_int_equal(g->integrated.v, 1);
}

/* The first question that the library was asked more than once. */
static const char *repeated(void)
{
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD), *symbol;
	const char *(*fn)(void);

	assert_non_null(lib);
	symbol = dlsym(lib, "gputune_stub_repeated");
	assert_non_null(symbol);
	memcpy(&fn, &symbol, sizeof(fn));
	dlclose(lib);
	return fn();
}

/* Every question goes to the GPU's firmware, some for milliseconds. */
static void nothing_is_asked_twice(void **state)
{
	(void)state;
	probe(false);
	assert_string_equal(repeated(), "");
}

static void a_lean_probe_leaves_out_what_no_rule_reads(void **state)
{
	struct probe p = { .h = &fake.host, .a = &arena, .m = &machine, .lean = true };
	const struct gpu *g;

	(void)state;
	/* On one or two GPUs nothing is left out. */
	describe(two_gpus, "- nvmlDeviceGetCount=3\n");
	probe_gpu(&p);
	g = machine_gpu(&machine, 0);
	assert_int_equal(g->persistence.v, 1);
	assert_int_equal(g->clock_sm_max_mhz.f.seen, SEEN_UNASKED);
	assert_int_equal(g->links.n, 2);
	assert_int_equal(((const struct nvlink *)g->links.items)->active.v, 1);
	assert_int_equal(((const struct nvlink *)g->links.items)->speed_mbs.f.seen, SEEN_UNASKED);
	assert_int_equal(g->power_mw.f.seen, SEEN_UNASKED);
	assert_int_equal(g->vbios.f.seen, SEEN_UNASKED);
}

static void integrated_is_a_matter_of_each_gpu(void **state)
{
	static const struct {
		const char *lines;
		enum seen seen;
		long long v;
	} cases[] = {
		{ "1 nvmlDeviceGetName=NVIDIA GB10\n", SEEN_OK, 1 },
		{ "1 nvmlDeviceGetName=NVIDIA GB10\n1 nvmlDeviceGetMemoryInfo.total=1\n", SEEN_OK,
		  1 },
		{ "1 nvmlDeviceGetName=Orin (nvgpu)\n", SEEN_OK, 1 },
		{ "1 nvmlDeviceGetName=NVIDIA GB100\n1 nvmlDeviceGetMemoryInfo.total=9\n", SEEN_OK,
		  0 },
		/* Coherent with the processor, with memory of its own. */
		{ "1 nvmlDeviceGetName=NVIDIA GH200\n1 nvmlDeviceGetMemoryInfo.total=9\n"
		  "1 nvmlDeviceGetAddressingMode.value=2\n",
		  SEEN_OK, 0 },
		{ "1 nvmlDeviceGetName=N1X\n1 nvmlDeviceGetAddressingMode.value=2\n", SEEN_OK, 1 },
		{ "1 nvmlDeviceGetName=N1X\n1 nvmlDeviceGetMemoryInfo.total=!NO_PERMISSION\n",
		  SEEN_DENIED, 0 },
		{ "1 nvmlDeviceGetName=N1X\n1 nvmlDeviceGetMemoryInfo.total=!GPU_IS_LOST\n",
		  SEEN_ERROR, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(state);
		describe(two_gpus, cases[i].lines);
		probe(false);
		assert_int_equal(machine_gpu(&machine, 1)->integrated.f.seen, cases[i].seen);
		assert_int_equal(machine_gpu(&machine, 1)->integrated.v, cases[i].v);
		assert_int_equal(machine_gpu(&machine, 0)->integrated.v, 0);
		stop(state);
	}
	start(state);
}

static void a_lost_gpu_is_an_error_and_the_other_is_not(void **state)
{
	const struct gpu *g;

	(void)state;
	describe(two_gpus, "stub lost_gpu=0\nstub lost_after=9\n");
	probe(false);
	g = machine_gpu(&machine, 0);
	assert_string_equal(g->name.v, "NVIDIA H200");
	assert_int_equal(g->clock_sm_max_mhz.f.seen, SEEN_ERROR);
	assert_int_equal(g->clock_sm_max_mhz.f.err, EHOSTDOWN);
	assert_int_equal(g->links.n, 0);
	g = machine_gpu(&machine, 1);
	assert_int_equal(g->clock_sm_max_mhz.v, 3003);
}

static void a_failed_start_has_its_reason(void **state)
{
	(void)state;
	describe(two_gpus, "stub init=!LIB_RM_VERSION_MISMATCH\n");
	probe(false);
	assert_int_equal(machine.gpu.count.f.seen, SEEN_ERROR);
	assert_int_equal(machine.gpu.count.f.err, ELIBBAD);
	assert_string_equal(machine.gpu.nvml.v, "13.580.159.04");
	/* The kernel driver still says its version. */
	assert_string_equal(machine.gpu.driver.v, "580.159.04");
	assert_int_equal(machine.gpu.gpus.n, 0);
}

static void without_a_driver_nothing_is_loaded(void **state)
{
	(void)state;
	add_pci("0000:18:00.0", 0x10de, 0x030200, 1);
	fake.files = no_files;
	probe(true);
	assert_null(fake.nvml);
	assert_null(fake.cuda);
	assert_int_equal(machine.gpu.count.f.seen, SEEN_ABSENT);
	assert_int_equal(machine.gpu.driver.f.seen, SEEN_ABSENT);
	assert_int_equal(machine.gpu.pci_count.v, 1);
}

static void an_unknown_number_is_an_error(void **state)
{
	(void)state;
	describe(two_gpus, "0 nvmlDeviceGetComputeMode=9\n0 nvmlDeviceGetArchitecture=12\n");
	probe(false);
	assert_int_equal(machine_gpu(&machine, 0)->compute_mode.f.seen, SEEN_ERROR);
	assert_int_equal(machine_gpu(&machine, 0)->architecture.f.err, EPROTO);
}

static void the_proprietary_driver_is_told_apart(void **state)
{
	static const char *const files[] = { "/proc/driver/nvidia/version",
					     "NVRM version: NVIDIA UNIX x86_64 Kernel Module  "
					     "535.183.01  Sun May 12 19:39:15 UTC 2024\n",
					     NULL };

	(void)state;
	describe("", "stub init=!DRIVER_NOT_LOADED\n");
	fake.files = files;
	probe(false);
	assert_string_equal(machine.gpu.driver_flavour.v, "proprietary");
	assert_string_equal(machine.gpu.driver.v, "535.183.01");
	assert_int_equal(machine.gpu.count.f.seen, SEEN_ABSENT);
}

static void addresses_are_normalised(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   "00000000:18:00",
					   "0000:18:00.0x",
					   "FFFFFFFF:FF:FF.0",
					   "0:1:2:3",
					   "100000000:18:00.0" };

	(void)state;
	assert_string_equal(gpu_address(&arena, "00000000:18:00.0"), "0000:18:00.0");
	assert_string_equal(gpu_address(&arena, "0000000F:01:00.0"), "000f:01:00.0");
	assert_string_equal(gpu_address(&arena, "00010000:C1:1F.7"), "10000:c1:1f.7");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(gpu_address(&arena, bad[i]));
}

static void an_old_library_leaves_newer_facts_unsupported(void **state)
{
	const struct gpu *g;

	(void)state;
	probe(false);
	g = machine_gpu(&machine, 0);
	assert_string_equal(g->pci, "0000:18:00.0");
	assert_int_equal(g->clock_sm_max_mhz.v, 1980);
	assert_int_equal(g->memory_bytes.v, 150754820096);
	assert_int_equal(g->memory_reserved_bytes.f.seen, SEEN_UNSUPPORTED);
	assert_int_equal(g->fabric_state.f.seen, SEEN_UNSUPPORTED);
	assert_int_equal(g->event_sw_power_us.f.seen, SEEN_UNSUPPORTED);
	assert_int_equal(g->links.n, 2);
	assert_int_equal(((const struct nvlink *)g->links.items)->speed_mbs.f.seen,
			 SEEN_UNSUPPORTED);
	assert_int_equal(g->processes.n, 1);
}

static void a_driver_without_a_library(void **state)
{
	(void)state;
	probe(false);
	assert_int_equal(machine.gpu.count.f.seen, SEEN_ABSENT);
	assert_int_equal(machine.gpu.count.f.err, ELIBACC);
	assert_string_equal(machine.gpu.driver.v, "580.159.04");
}

static void put(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		mkdir(path, 0700);
		*s = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void a_capture_gives_the_same_facts(void **state)
{
	static const char *const files[] = { "meta.json", "root/proc/driver/nvidia/version",
					     "api/nvml.json" };
	static const char *const folders[] = {
		"root/proc/driver/nvidia", "root/proc/driver", "root/proc", "root", "api", ""
	};
	char folder[] = "/tmp/gputune-capture-XXXXXX", path[256];
	struct err e = { 0 };
	struct probe p = { .a = &arena, .m = &machine };

	(void)state;
	assert_non_null(mkdtemp(folder));
	put(folder, files[0],
	    "{\"schema\": \"gputune.capture/1\", \"tool_version\": \"0\", \"origin\": \"captured\","
	    " \"about\": \"test\", \"sources\": [], \"identity\": {\"nodename\": \"host\", "
	    "\"release\": \"6.8.0\","
	    " \"version\": \"#1\", \"machine\": \"x86_64\", \"euid\": 0, \"page_size\": 4096, "
	    "\"time_s\": 1},"
	    " \"unlisted\": \"unknown\"}");
	put(folder, files[1], driver_files[1]);
	put(folder, files[2],
	    "{\"\": {\"nvmlDeviceGetCount\": 1}, \"0\": {\"nvmlDeviceGetName\": \"NVIDIA H200\","
	    " \"nvmlDeviceGetMemoryInfo.total\": 150754820096, \"nvmlDeviceGetPersistenceMode\": 1,"
	    " \"nvmlDeviceGetVbiosVersion\": {\"error\": \"EACCES\"}}}");
	p.h = host_open_capture(folder, &e);
	if (!p.h)
		fail_msg("%s", e.text);
	probe_gpu(&p);
	assert_int_equal(machine.gpu.count.v, 1);
	assert_string_equal(machine.gpu.driver_flavour.v, "open");
	assert_string_equal(machine_gpu(&machine, 0)->name.v, "NVIDIA H200");
	assert_int_equal(machine_gpu(&machine, 0)->integrated.v, 0);
	assert_int_equal(machine_gpu(&machine, 0)->vbios.f.seen, SEEN_DENIED);
	/* What the recording never asked stays unknown, and is no "unsupported". */
	assert_int_equal(machine_gpu(&machine, 0)->power_mw.f.seen, SEEN_UNASKED);
	host_close(p.h);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
		rmdir(path);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest current[] = {
	TEST(facts_of_a_discrete_gpu),
	TEST(links_and_processes),
	TEST(a_deep_probe_asks_cuda_and_counters),
	TEST(nothing_is_asked_twice),
	TEST(a_lean_probe_leaves_out_what_no_rule_reads),
	TEST(integrated_is_a_matter_of_each_gpu),
	TEST(a_lost_gpu_is_an_error_and_the_other_is_not),
	TEST(a_failed_start_has_its_reason),
	TEST(without_a_driver_nothing_is_loaded),
	TEST(an_unknown_number_is_an_error),
	TEST(the_proprietary_driver_is_told_apart),
	TEST(addresses_are_normalised),
	TEST(a_capture_gives_the_same_facts),
};

static const struct CMUnitTest old[] = { TEST(an_old_library_leaves_newer_facts_unsupported) };
static const struct CMUnitTest absent[] = { TEST(a_driver_without_a_library) };

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "current";
	int failed;

	if (!stub_file_make(description))
		return 1;
	if (strcmp(which, "old") == 0)
		failed = cmocka_run_group_tests_name("gpu-old", old, NULL, NULL);
	else if (strcmp(which, "absent") == 0)
		failed = stub_is_real()
				 ? 77
				 : cmocka_run_group_tests_name("gpu-absent", absent, NULL, NULL);
	else
		failed = cmocka_run_group_tests_name("gpu", current, NULL, NULL);
	unlink(description);
	return failed;
}
