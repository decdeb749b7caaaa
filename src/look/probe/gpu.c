/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs: the driver, and of every GPU what NVML answers. A question that goes to the GPU's firmware
 * costs 0.1 to 3 ms, on an idle GPU twice as much as on a busy one, and NVML answers one at a time
 * for all GPUs. So what no rule reads is left out of a lean probe, and what costs most is asked in
 * a deep probe only. Answers that share a call to the firmware stand together.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "look/probe/probe.h"

/* Names of a vendor's small numbers, the number being the index; gaps are NULL. */
struct gpu_names {
	const char *const *names;
	size_t n;
};

struct int_row {
	const char *field;
	size_t offset;	 /* of a struct fact_int in struct gpu */
	long long least; /* less is no answer: a counter at its very end, a size of 0 */
};

#define FROM(least, question, member)                                                              \
	{                                                                                          \
		(question), offsetof(struct gpu, member), (least)                                  \
	}
#define ROW(question, member) FROM(0, question, member)
#define SIZE(question, member) FROM(1, question, member)
#define SIGNED(question, member) FROM(LLONG_MIN, question, member)

static const struct int_row lean_rows[] = {
	ROW("nvmlDeviceGetPersistenceMode", persistence),
	ROW("nvmlDeviceGetAccountingMode", accounting),
	SIZE("nvmlDeviceGetCudaComputeCapability.major", cc_major),
	ROW("nvmlDeviceGetCudaComputeCapability.minor", cc_minor),
	SIGNED("nvmlDeviceGetNumaNodeId", memory_numa_node),
	SIZE("nvmlDeviceGetMemoryInfo.total", memory_bytes),
	ROW("nvmlDeviceGetMemoryInfo.used", memory_used_bytes),
	ROW("nvmlDeviceGetMemoryInfo.reserved", memory_reserved_bytes),
	ROW("nvmlDeviceGetFieldValues(ECC_CURRENT)", ecc),
	ROW("nvmlDeviceGetFieldValues(ECC_PENDING)", ecc_pending),
	ROW("nvmlDeviceGetMigMode.current", mig),
	ROW("nvmlDeviceGetMigMode.pending", mig_pending),
	SIZE("nvmlDeviceGetPowerManagementLimit", power_limit_mw),
	SIZE("nvmlDeviceGetPowerManagementDefaultLimit", power_limit_default_mw),
	ROW("nvmlDeviceGetPowerManagementLimitConstraints.minLimit", power_limit_min_mw),
	SIZE("nvmlDeviceGetPowerManagementLimitConstraints.maxLimit", power_limit_max_mw),
	ROW("nvmlDeviceGetTemperatureThreshold(GPU_MAX)", temperature_max_c),
	SIZE("nvmlDeviceGetBAR1MemoryInfo.bar1Total", bar1_bytes),
	ROW("nvmlDeviceGetBAR1MemoryInfo.bar1Used", bar1_used_bytes),
	ROW("nvmlDeviceGetC2cModeInfo.isC2cEnabled", c2c),
	ROW("nvmlDeviceGetRemappedRows.corrRows", remap_corrected),
	ROW("nvmlDeviceGetRemappedRows.uncRows", remap_uncorrected),
	ROW("nvmlDeviceGetRemappedRows.isPending", remap_pending),
	ROW("nvmlDeviceGetRemappedRows.failureOccurred", remap_failed),
	ROW("nvmlDeviceGetTotalEccErrors(CORRECTED,AGGREGATE)", ecc_corrected),
	ROW("nvmlDeviceGetTotalEccErrors(UNCORRECTED,AGGREGATE)", ecc_uncorrected),
	ROW("nvmlDeviceGetTotalEccErrors(UNCORRECTED,VOLATILE)", ecc_volatile),
	ROW("nvmlDeviceGetCurrentClocksEventReasons", event_reasons),
	SIGNED("nvmlDeviceGetTemperature(GPU)", temperature_c),
	ROW("nvmlDeviceGetUtilizationRates.gpu", util_gpu_pct),
	ROW("nvmlDeviceGetUtilizationRates.memory", util_mem_pct),
	ROW("nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SW_POWER_CAP)", event_sw_power_us),
	ROW("nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN)", event_sw_thermal_us),
	ROW("nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SYNC_BOOST)", event_sync_boost_us),
	ROW("nvmlDeviceGetGpuFabricInfo.status", fabric_status),
	ROW("nvmlDeviceGetGpuFabricInfo.healthMask", fabric_health),
	ROW("nvmlDeviceGetGpuFabricInfo.cliqueId", fabric_clique),
	SIZE("nvmlDeviceGetCurrPcieLinkGeneration", pcie_gen),
	SIZE("nvmlDeviceGetMaxPcieLinkGeneration", pcie_gen_max),
	ROW("nvmlDeviceGetGpuMaxPcieLinkGeneration", pcie_gen_device_max),
	SIZE("nvmlDeviceGetCurrPcieLinkWidth", pcie_width),
	SIZE("nvmlDeviceGetMaxPcieLinkWidth", pcie_width_max),
};

static const struct int_row more_rows[] = {
	SIZE("nvmlDeviceGetMemoryBusWidth", memory_bus_bits),
	ROW("nvmlDeviceGetSupportedMemoryClocks.count", mem_clocks),
	SIZE("nvmlDeviceGetMaxClockInfo(MEM)", clock_mem_max_mhz),
	ROW("nvmlDeviceGetTemperatureThreshold(SHUTDOWN)", temperature_shutdown_c),
	ROW("nvmlDeviceGetPcieReplayCounter", pcie_replays),
	SIZE("nvmlDeviceGetClockInfo(SM)", clock_sm_mhz),
	SIZE("nvmlDeviceGetClockInfo(MEM)", clock_mem_mhz),
	ROW("nvmlDeviceGetPowerUsage", power_mw),
	SIZE("nvmlDeviceGetEnforcedPowerLimit", power_limit_enforced_mw),
	ROW("nvmlDeviceGetPerformanceState", pstate),
	ROW("nvmlDeviceGetTemperatureThreshold(SLOWDOWN)", temperature_slowdown_c),
};

static const struct int_row slow_rows[] = {
	SIZE("nvmlDeviceGetMaxClockInfo(SM)", clock_sm_max_mhz),
	SIZE("nvmlDeviceGetMaxClockInfo(GRAPHICS)", clock_graphics_max_mhz),
	ROW("nvmlDeviceGetApplicationsClock(SM)", clock_app_sm_mhz),
	ROW("nvmlDeviceGetDefaultApplicationsClock(SM)", clock_app_default_sm_mhz),
	ROW("nvmlDeviceGetApplicationsClock(MEM)", clock_app_mem_mhz),
	ROW("nvmlDeviceGetDefaultApplicationsClock(MEM)", clock_app_default_mem_mhz),
	ROW("nvmlDeviceGetMaxCustomerBoostClock(SM)", clock_boost_max_mhz),
	ROW("nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN)", event_hw_thermal_us),
	ROW("nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN)",
	    event_hw_power_us),
	SIGNED("nvmlDeviceGetMarginTemperature.marginTemperature", temperature_margin_c),
	ROW("nvmlDeviceGetFieldValues(MEMORY_TEMP)", temperature_memory_c),
	ROW("nvmlDeviceGetTemperatureThreshold(MEM_MAX)", temperature_memory_max_c),
	ROW("nvmlDeviceGetFieldValues(POWER_CURRENT_LIMIT_MODULE)", module_limit_mw),
	ROW("nvmlDeviceGetFieldValues(POWER_DEFAULT_LIMIT_MODULE)", module_limit_default_mw),
};

#define NAMES(list)                                                                                \
	{                                                                                          \
		(list), sizeof(list) / sizeof((list)[0])                                           \
	}

static const char *const brands[] = { "unknown",     "quadro",	     "tesla",
				      "nvs",	     "grid",	     "geforce",
				      "titan",	     "nvidia-vapps", "nvidia-vpc",
				      "nvidia-vcs",  "nvidia-vws",   "nvidia-cloud-gaming",
				      "quadro-rtx",  "nvidia-rtx",   "nvidia",
				      "geforce-rtx", "titan-rtx" };
static const char *const architectures[] = {
	[2] = "kepler", [3] = "maxwell", [4] = "pascal", [5] = "volta",	     [6] = "turing",
	[7] = "ampere", [8] = "ada",	 [9] = "hopper", [10] = "blackwell", [13] = "rubin"
};
static const char *const compute_modes[] = { "default", "exclusive-thread", "prohibited",
					     "exclusive-process" };
static const char *const addressing[] = { "none", "hmm", "ats" };
static const char *const virtualization[] = { "none", "passthrough", "vgpu", "host-vgpu",
					      "host-vsga" };
static const char *const fabric_states[] = { "not-supported", "not-started", "in-progress",
					     "completed" };
static const char *const fabric_summaries[] = { "not-supported", "healthy", "unhealthy",
						"limited-capacity" };
static const char *const recovery[] = { "none", "reset", "reboot", "drain-p2p", "drain-and-reset" };

struct name_row {
	const char *field;
	size_t offset; /* of a struct fact_str in struct gpu */
	struct gpu_names names;
};

static const struct name_row brand_row = { "nvmlDeviceGetBrand", offsetof(struct gpu, brand),
					   NAMES(brands) };
static const struct name_row name_rows[] = {
	{ "nvmlDeviceGetArchitecture", offsetof(struct gpu, architecture), NAMES(architectures) },
	{ "nvmlDeviceGetComputeMode", offsetof(struct gpu, compute_mode), NAMES(compute_modes) },
	{ "nvmlDeviceGetAddressingMode.value", offsetof(struct gpu, addressing_mode),
	  NAMES(addressing) },
	{ "nvmlDeviceGetVirtualizationMode", offsetof(struct gpu, virtualization),
	  NAMES(virtualization) },
	{ "nvmlDeviceGetGpuFabricInfo.state", offsetof(struct gpu, fabric_state),
	  NAMES(fabric_states) },
	{ "nvmlDeviceGetGpuFabricInfo.healthSummary", offsetof(struct gpu, fabric_summary),
	  NAMES(fabric_summaries) },
	{ "nvmlDeviceGetFieldValues(GET_GPU_RECOVERY_ACTION)",
	  offsetof(struct gpu, recovery_action), NAMES(recovery) },
};

/* The name of a number that was seen; a number without a name is an error that keeps its source. */
static struct fact_str probe_gpu_named(struct fact_int f, const struct gpu_names *names)
{
	struct fact_str out = { .f = f.f };

	if (!seen_ok(&f.f))
		return out;
	if (f.v >= 0 && (size_t)f.v < names->n && names->names[f.v])
		out.v = names->names[f.v];
	else
		out.f = fact_unseen(-EPROTO, f.f.dir, f.f.leaf);
	return out;
}

char *gpu_address(struct arena *a, const char *busid)
{
	unsigned domain, bus, device, function;
	char rest;

	if (sscanf(busid, "%8x:%2x:%2x.%1x%c", &domain, &bus, &device, &function, &rest) != 4)
		return NULL;
	if (bus == 0xff && device == 0xff)
		return NULL;
	return arena_printf(a, "%04x:%02x:%02x.%x", domain, bus, device, function);
}

static void ask_rows(struct probe *p, struct gpu *g, const char *object, const struct int_row *rows,
		     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct fact_int f = probe_ask_int(p, "nvml", object, rows[i].field);

		if (seen_ok(&f.f) && f.v < rows[i].least)
			f.f = fact_unseen(-EPROTO, f.f.dir, f.f.leaf);
		memcpy((char *)g + rows[i].offset, &f, sizeof(f));
	}
}

static void ask_name(struct probe *p, struct gpu *g, const char *object, const struct name_row *row)
{
	struct fact_str f =
		probe_gpu_named(probe_ask_int(p, "nvml", object, row->field), &row->names);

	memcpy((char *)g + row->offset, &f, sizeof(f));
}

/* NVML counts these in nanoseconds. */
static void microseconds(struct fact_int *f)
{
	if (seen_ok(&f->f))
		f->v /= 1000;
}

/* SMs from cores: how many cores one has follows from the compute capability. */
static void derive_sm_count(struct probe *p, struct gpu *g, const char *object)
{
	static const struct {
		long long cc, cores;
	} per_sm[] = { { 60, 64 },   { 61, 128 },  { 70, 64 },	 { 72, 64 },   { 75, 64 },
		       { 80, 64 },   { 86, 128 },  { 87, 128 },	 { 89, 128 },  { 90, 128 },
		       { 100, 128 }, { 103, 128 }, { 110, 128 }, { 120, 128 }, { 121, 128 } };
	struct fact_int cores = probe_ask_int(p, "nvml", object, "nvmlDeviceGetNumGpuCores");
	long long cc = fact_or(&g->cc_major, 0) * 10 + fact_or(&g->cc_minor, 0);

	g->sm_count = cores;
	if (!seen_ok(&cores.f))
		return;
	for (size_t i = 0; i < sizeof(per_sm) / sizeof(per_sm[0]); i++)
		if (per_sm[i].cc == cc && cores.v % per_sm[i].cores == 0) {
			g->sm_count.v = cores.v / per_sm[i].cores;
			return;
		}
	g->sm_count = (struct fact_int){ .f = fact_unseen(-EOPNOTSUPP, cores.f.dir, cores.f.leaf) };
}

/*
 * Its place on the bus, and what follows from it. NVML could name the CPUs too, but builds its own
 * map of the whole machine for that (28 ms on four GPUs), while the kernel has the answer in a
 * file.
 */
static void probe_gpu_place(struct probe *p, struct gpu *g, const char *object)
{
	struct fact_str busid = probe_ask_str(p, "nvml", object, "nvmlDeviceGetPciInfo.busId");
	char *address = seen_ok(&busid.f) ? gpu_address(p->a, busid.v) : NULL;
	const struct pci_function *f = address ? machine_pci(p->m, address) : NULL;

	g->pci = address ? address : "";
	if (f)
		g->numa_node = f->numa_node;
	if (address)
		g->cpu_affinity =
			probe_set(p, arena_printf(p->a, "/sys/bus/pci/devices/%s/", address),
				  "local_cpulist");
}

/* Source: nvml.h, nvmlPowerProfileType_t. */
static struct fact_str power_profiles(struct probe *p, const char *object, const char *member)
{
	static const char *const names[] = { "max-p",	      "max-q",	      "compute",
					     "memory-bound",  "network",      "balanced",
					     "llm-inference", "llm-training", "rbm",
					     "dcpcie",	      "hmma-sparse",  "hmma-dense",
					     "sync-balanced", "hpc",	      "mig" };
	struct fact_int mask = probe_ask_int(p, "nvml", object, member);
	TEXT_AUTO t = { 0 };

	if (!seen_ok(&mask.f))
		return (struct fact_str){ .f = mask.f };
	for (unsigned i = 0; i < 32; i++)
		if (mask.v >> i & 1 && i < sizeof(names) / sizeof(names[0]))
			text_printf(&t, "%s%s", t.len ? " " : "", names[i]);
		else if (mask.v >> i & 1)
			text_printf(&t, "%sprofile-%u", t.len ? " " : "", i);
	return fact_str_of(arena_strdup(p->a, t.len ? t.s : "none"), mask.f.dir, mask.f.leaf);
}

/* "16 9984 1 1 NVIDIA H100 80GB HBM3 MIG 1g.10gb", as machine/host/nvml_read.c has it. */
static void probe_slice(struct probe *p, struct gpu *g, const char *object, unsigned index)
{
	struct fact_str said = probe_ask_str(
		p, "nvml", object, arena_printf(p->a, "nvmlDeviceGetMigDevice(%u)", index));
	long long sms, mib, instance, compute;
	struct mig_slice *s;
	const char *name;

	/* Numbers of slices have gaps: what is not there is not the end. */
	if (!seen_ok(&said.f) ||
	    sscanf(said.v, "%9lld %9lld %4lld %4lld", &sms, &mib, &instance, &compute) != 4)
		return;
	s = list_add(p->a, &g->slices, sizeof(*s));
	s->index = index;
	s->sm_count = fact_int_of(sms, said.f.dir, said.f.leaf);
	s->memory_bytes = fact_int_of(mib << 20, said.f.dir, said.f.leaf);
	s->instance_slices = fact_int_of(instance, said.f.dir, said.f.leaf);
	s->compute_slices = fact_int_of(compute, said.f.dir, said.f.leaf);
	s->uuid = probe_ask_str(p, "nvml", object,
				arena_printf(p->a, "nvmlDeviceGetMigDeviceUUID(%u)", index));
	name = strstr(said.v, " MIG ");
	s->profile = name ? fact_str_of(name + strlen(" MIG "), said.f.dir, said.f.leaf)
			  : (struct fact_str){ .f = fact_unseen(-EPROTO, said.f.dir, said.f.leaf) };
}

static void probe_slices(struct probe *p, struct gpu *g, const char *object)
{
	enum { SLICES_MAX = 16 };

	if (fact_or(&g->mig, 0) != 1)
		return;
	g->slices_max = probe_ask_int(p, "nvml", object, "nvmlDeviceGetMaxMigDeviceCount");
	for (unsigned i = 0; i < SLICES_MAX && i < fact_or(&g->slices_max, 0); i++)
		probe_slice(p, g, object, i);
}

static void probe_more(struct probe *p, struct gpu *g, const char *object)
{
	g->vbios = fact_filled(probe_ask_str(p, "nvml", object, "nvmlDeviceGetVbiosVersion"));
	ask_name(p, g, object, &brand_row);
	ask_rows(p, g, object, more_rows, sizeof(more_rows) / sizeof(more_rows[0]));
	derive_sm_count(p, g, object);
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build": first
 * number with a dot. */
static char *probe_gpu_version_in(struct arena *a, const char *line)
{
	for (const char *s = line; (s = strpbrk(s, " \t"));) {
		size_t n;

		s += strspn(s, " \t");
		n = strspn(s, "0123456789.");
		if (n > 2 && memchr(s, '.', n) && (s[n] == ' ' || s[n] == '\t' || !s[n]))
			return arena_strndup(a, s, n);
	}
	return NULL;
}

static void probe_driver(struct probe *p, struct gpus *g)
{
	static const char path[] = "/proc/driver/nvidia/version";
	char *text = NULL, *line, *version;
	int r = host_read(p->h, path, 1 << 16, p->a, &text, NULL);

	g->driver_flavour.f = g->driver.f = fact_unseen(r, NULL, path);
	if (r)
		return;
	line = arena_strndup(p->a, text, strcspn(text, "\n"));
	version = probe_gpu_version_in(p->a, line);
	if (version)
		g->driver = fact_str_of(version, NULL, path);
	else
		g->driver.f = fact_unseen(-EPROTO, NULL, path);
	if (strstr(line, "NVRM version:"))
		g->driver_flavour = fact_str_of(
			strstr(line, "Open Kernel Module") ? "open" : "proprietary", NULL, path);
	else
		g->driver_flavour.f = fact_unseen(-EPROTO, NULL, path);
}

/*
 * NVML loads the kernel driver when it is not there, and a check changes nothing: without a trace
 * of a driver NVML is not asked. -ENXIO then.
 */
static int driver_there(struct probe *p)
{
	static const char *const traces[] = { "/proc/driver/nvidia/version", "/dev/nvidiactl",
					      "/dev/dxg", "/sys/module/nvgpu" };
	enum host_kind kind;

	for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
		int r = host_kind(p->h, traces[i], &kind);

		if (r != -ENOENT && r != -ENOTDIR)
			return 0;
	}
	return -ENXIO;
}

static long long count_pci(const struct machine *m)
{
	long long n = 0;

	LIST_FOR_EACH (struct pci_function, f, &m->pci)
		n += fact_or(&f->vendor, 0) == 0x10de && pci_base_class(f) == 0x03 &&
		     fact_or(&f->is_vf, 0) != 1;
	return n;
}

static void probe_library(struct probe *p, struct gpus *g)
{
	struct fact_str version;

	g->nvml = probe_ask_str(p, "nvml", "", "nvmlSystemGetNVMLVersion");
	g->count = probe_ask_int(p, "nvml", "", "nvmlDeviceGetCount");
	g->cuda_driver = probe_ask_int(p, "nvml", "", "nvmlSystemGetCudaDriverVersion");
	version = fact_filled(probe_ask_str(p, "nvml", "", "nvmlSystemGetDriverVersion"));
	probe_differ(p, "", "gpu.driver", &version, &g->driver);
	if (seen_ok(&version.f) || g->driver.f.seen != SEEN_OK)
		g->driver = version;
}

/* What a GPU is linked to: its NVLinks, and which other GPUs' memory it may use. */

/* An asked field whose text has to live as long as the fact. */
static struct fact_int link_int(struct probe *p, const char *object, const char *fmt, unsigned link)
{
	return probe_ask_int(p, "nvml", object, arena_printf(p->a, fmt, link));
}

static struct fact_str remote_type(struct fact_int f)
{
	static const char *const types[] = { "gpu", "ibm-npu", "switch" };
	static const struct gpu_names names = { types, 3 };

	if (seen_ok(&f.f) && f.v == 0xff)
		return fact_str_of("unknown", f.f.dir, f.f.leaf);
	return probe_gpu_named(f, &names);
}

static struct fact_str remote(struct probe *p, const char *object, unsigned link)
{
	struct fact_str f = probe_ask_str(
		p, "nvml", object,
		arena_printf(p->a, "nvmlDeviceGetNvLinkRemotePciInfo(%u).busId", link));

	if (!seen_ok(&f.f))
		return f;
	/* A virtual machine does not see the switch that its GPUs are linked to. */
	f.v = gpu_address(p->a, f.v);
	if (!f.v)
		f.f = fact_unseen(-EOPNOTSUPP, f.f.dir, f.f.leaf);
	return f;
}

/* The first of two questions that is answered: generations of GPUs count under different names. */
static struct fact_int probe_gpu_either(struct probe *p, const char *object, const char *first,
					const char *second, unsigned link)
{
	struct fact_int f = link_int(p, object, first, link), g;

	if (f.f.seen != SEEN_UNSUPPORTED)
		return f;
	g = link_int(p, object, second, link);
	return seen_ok(&g.f) ? g : f;
}

static void probe_gpu_link_errors(struct probe *p, struct nvlink *l, const char *object)
{
	l->replay_errors =
		probe_gpu_either(p, object, "nvmlDeviceGetFieldValues(NVLINK_ERROR_DL_REPLAY,%u)",
				 "nvmlDeviceGetNvLinkErrorCounter(%u,REPLAY)", l->index);
	l->recovery_errors = probe_gpu_either(
		p, object, "nvmlDeviceGetFieldValues(NVLINK_ERROR_DL_RECOVERY,%u)",
		"nvmlDeviceGetFieldValues(NVLINK_COUNT_LINK_RECOVERY_EVENTS,%u)", l->index);
	if (l->recovery_errors.f.seen == SEEN_UNSUPPORTED)
		l->recovery_errors = link_int(
			p, object, "nvmlDeviceGetNvLinkErrorCounter(%u,RECOVERY)", l->index);
	l->crc_errors = probe_gpu_either(
		p, object, "nvmlDeviceGetFieldValues(NVLINK_ERROR_DL_CRC,%u)",
		"nvmlDeviceGetFieldValues(NVLINK_COUNT_EFFECTIVE_ERRORS,%u)", l->index);
	if (l->crc_errors.f.seen == SEEN_UNSUPPORTED)
		l->crc_errors = link_int(p, object, "nvmlDeviceGetNvLinkErrorCounter(%u,CRC_FLIT)",
					 l->index);
}

/* Links without a count: A library that cannot count them answers "invalid" after the last one. */
enum { LINKS_MAX = 36 };

/* NVLinks and peers. */
static void probe_gpu_links(struct probe *p, struct gpu *g, const char *object)
{
	struct fact_int count =
		probe_ask_int(p, "nvml", object, "nvmlDeviceGetFieldValues(NVLINK_LINK_COUNT)");
	long long n = seen_ok(&count.f) && count.v < LINKS_MAX ? count.v : LINKS_MAX;

	for (unsigned i = 0; i < n; i++) {
		struct fact_int active = link_int(p, object, "nvmlDeviceGetNvLinkState(%u)", i);
		struct nvlink *l;

		if (active.f.seen == SEEN_UNSUPPORTED || active.f.seen == SEEN_UNASKED ||
		    (!seen_ok(&active.f) && !seen_ok(&count.f)))
			return;
		l = list_add(p->a, &g->links, sizeof(*l));
		l->index = i;
		l->active = active;
		l->version = link_int(p, object, "nvmlDeviceGetNvLinkVersion(%u)", i);
		l->remote_type = remote_type(
			link_int(p, object, "nvmlDeviceGetNvLinkRemoteDeviceType(%u)", i));
		l->remote = remote(p, object, i);
		if (p->lean && !p->deep)
			continue;
		l->speed_mbs =
			link_int(p, object, "nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,%u)", i);
		if (l->speed_mbs.f.seen == SEEN_UNSUPPORTED)
			l->speed_mbs =
				probe_ask_int(p, "nvml", object,
					      "nvmlDeviceGetFieldValues(NVLINK_SPEED_MBPS_COMMON)");
		if (p->deep)
			probe_gpu_link_errors(p, l, object);
	}
}

static struct fact_str p2p(struct probe *p, const char *object, unsigned peer, const char *caps)
{
	static const char *const states[] = { "ok",
					      "chipset-not-supported",
					      "gpu-not-supported",
					      "topology-not-supported",
					      "disabled-by-registry",
					      "not-supported",
					      "unknown" };
	static const struct gpu_names names = { states, 7 };

	return probe_gpu_named(
		probe_ask_int(p, "nvml", object,
			      arena_printf(p->a, "nvmlDeviceGetP2PStatus(%u,%s)", peer, caps)),
		&names);
}

/* After all GPUs are there: which of them may reach which. */
static void probe_gpu_peers(struct probe *p, struct gpu *g, const char *object)
{
	for (size_t i = 0; i < p->m->gpu.gpus.n; i++) {
		const struct gpu *other = machine_gpu(p->m, i);
		struct gpu_peer *peer;

		if (other->index == g->index)
			continue;
		peer = list_add(p->a, &g->peers, sizeof(*peer));
		peer->index = other->index;
		peer->p2p_read = p2p(p, object, other->index, "READ");
		peer->p2p_write = p2p(p, object, other->index, "WRITE");
		peer->p2p_nvlink = p2p(p, object, other->index, "NVLINK");
	}
}

/*
 * What the kernel's log tells of GPUs and of the switches between them. On a machine without any
 * the log is not asked. Who may not read it leaves facts that were denied. GPUs are told by their
 * place on the bus: the driver has no name any more for one that fell off it.
 */

enum { KINDS_MAX = 64, ALL_MAX = 4096 };
static const char api[] = "kernel-log", field[] = "xids";

static struct fact_int seconds(long long age, const struct fact *from)
{
	if (age >= 0)
		return fact_int_of(age, from->dir, from->leaf);
	return (struct fact_int){ .f = fact_unseen(-EOPNOTSUPP, from->dir, from->leaf) };
}

/* "79:1:340 119:2:-1", as machine/host/ask.h has it. */
static void xids(struct probe *p, const char *pci)
{
	struct fact_str said = probe_ask_str(p, api, pci, field);
	struct list *all = &p->m->gpu.xids;
	unsigned number;
	long long count, age;
	int n, kinds = 0;

	if (!seen_ok(&said.f))
		return;
	for (const char *s = said.v; kinds < KINDS_MAX && all->n < ALL_MAX; s += n, kinds++) {
		struct gpu_xid *x;

		n = 0;
		if (sscanf(s, " %5u:%18lld:%18lld%n", &number, &count, &age, &n) != 3 || n == 0) {
			if (*s && !kinds)
				p->m->gpu.xid_events.f =
					fact_unseen(-EPROTO, said.f.dir, said.f.leaf);
			return;
		}
		x = list_add(p->a, all, sizeof(*x));
		x->pci = pci;
		x->index = number;
		x->count = fact_int_of(count, said.f.dir, said.f.leaf);
		x->age_s = seconds(age, &said.f);
	}
}

/* Errors of GPUs and NVSwitches in the kernel's log; after all GPUs are there. */
static void probe_gpu_log(struct probe *p)
{
	struct gpus *g = &p->m->gpu;
	bool switches = false;

	if (!g->gpus.n && fact_or(&g->pci_count, 0) == 0)
		return;
	g->xid_events = probe_ask_int(p, api, "", "lines(NVRM: Xid)");
	/* One question where the log has none or may not be read, which is the rule. */
	LIST_FOR_EACH (struct pci_function, f, &p->m->pci) {
		if (is_nvidia_display(f) && fact_or(&g->xid_events, 0) > 0)
			xids(p, f->name);
		switches = switches || is_nvswitch(f);
	}
	if (!switches)
		return;
	g->sxid_fatal = probe_ask_int(p, api, "", "sxids(Fatal)");
	g->sxid_nonfatal = probe_ask_int(p, api, "", "sxids(Non-fatal)");
}

/* Who uses a GPU, what CUDA says of it, and whether it shares its memory with the processors. */

enum { PROCESSES_MAX = 1024 };

static void add_processes(struct probe *p, struct gpu *g, const char *object, const char *question,
			  const char *kind)
{
	struct fact_int count = probe_ask_int(p, "nvml", object, question);

	for (unsigned i = 0; i < PROCESSES_MAX && i < fact_or(&count, 0); i++) {
		const char *pid_field = arena_printf(p->a, "%s(%u).pid", question, i);
		struct fact_int pid = probe_ask_int(p, "nvml", object, pid_field);
		struct gpu_process *process;

		if (!seen_ok(&pid.f) || pid.v <= 0 || pid.v > 1 << 22)
			continue;
		process = list_add(p->a, &g->processes, sizeof(*process));
		process->index = (unsigned)pid.v;
		process->kind = fact_str_of(kind, pid.f.dir, question);
		process->memory_bytes = probe_ask_int(
			p, "nvml", object, arena_printf(p->a, "%s(%u).usedGpuMemory", question, i));
		process->command = probe_str(p, arena_printf(p->a, "/proc/%lld/", pid.v), "comm");
	}
}

/* Who uses it. */
static void probe_gpu_processes(struct probe *p, struct gpu *g, const char *object)
{
	add_processes(p, g, object, "nvmlDeviceGetComputeRunningProcesses", "compute");
	add_processes(p, g, object, "nvmlDeviceGetGraphicsRunningProcesses", "graphics");
}

static bool integrated_name(const struct gpu *g)
{
	static const char *const words[] = { "GB10", "Orin", "Thor", "Xavier", "nvgpu" };

	for (size_t i = 0; seen_ok(&g->name.f) && i < sizeof(words) / sizeof(words[0]); i++)
		if (word_in(g->name.v, words[i]))
			return true;
	return false;
}

/*
 * Never asked of the machine as a whole: an integrated and a discrete GPU may sit side by side. A
 * GPU with memory of its own reports it; coherent links (ATS) alone do not make a GPU integrated.
 */
static struct fact_int integrated(const struct gpu *g)
{
	const struct fact *memory = &g->memory_bytes.f;

	if (integrated_name(g))
		return fact_int_of(1, g->name.f.dir, g->name.f.leaf);
	if (seen_ok(memory) && g->memory_bytes.v > 0)
		return fact_int_of(0, memory->dir, memory->leaf);
	if (memory->seen != SEEN_UNSUPPORTED)
		return (struct fact_int){ .f = *memory };
	if (fact_is(&g->addressing_mode, "ats"))
		return fact_int_of(1, g->addressing_mode.f.dir, g->addressing_mode.f.leaf);
	if (g->bar1_bytes.f.seen == SEEN_UNSUPPORTED)
		return fact_int_of(1, g->bar1_bytes.f.dir, g->bar1_bytes.f.leaf);
	return (struct fact_int){ .f = *memory };
}

/* What CUDA says of it, when p->deep; and whether it is integrated, from all that is known by then.
 */
static void probe_gpu_cuda(struct probe *p, struct gpu *g, const char *name)
{
	struct fact_int guess = integrated(g);

	if (p->deep && g->pci[0]) {
		g->cuda_integrated = probe_ask_int(p, "cuda", g->pci, "cuDeviceGetAttribute(18)");
		g->cuda_gpudirect_rdma =
			probe_ask_int(p, "cuda", g->pci, "cuDeviceGetAttribute(116)");
		g->cuda_dma_buf = probe_ask_int(p, "cuda", g->pci, "cuDeviceGetAttribute(124)");
	}
	g->integrated = seen_ok(&g->cuda_integrated.f) ? g->cuda_integrated : guess;
	probe_differ_int(p, name, "gpu.gpus.integrated", &g->integrated, &guess);
}

/* The driver's word on the link and the window against that of configuration space. The link of an
 * integrated GPU is a placeholder; a virtual machine makes its own. */
static void probe_gpu_twice(struct probe *p, const struct gpu *g, const char *name)
{
	const struct pci_function *f = machine_pci(p->m, g->pci);

	if (!f || fact_or(&g->integrated, 1) || fact_or(&p->m->cpu.hypervisor, 0))
		return;
	probe_differ_int(p, f->name, "pci.width", &f->width, &g->pcie_width);
	probe_differ_int(p, name, "gpu.gpus.bar1_bytes", &g->bar1_bytes, &f->rebar_bytes);
}

static void probe_one(struct probe *p, struct gpu *g)
{
	const char *name = arena_printf(p->a, "gpu%u", g->index), *object = name + strlen("gpu");

	g->name = probe_ask_str(p, "nvml", object, "nvmlDeviceGetName");
	g->uuid = probe_ask_str(p, "nvml", object, "nvmlDeviceGetUUID");
	g->serial = probe_ask_str(p, "nvml", object, "nvmlDeviceGetSerial");
	probe_gpu_place(p, g, object);
	for (size_t i = 0; i < sizeof(name_rows) / sizeof(name_rows[0]); i++)
		ask_name(p, g, object, &name_rows[i]);
	ask_rows(p, g, object, lean_rows, sizeof(lean_rows) / sizeof(lean_rows[0]));
	if (!p->lean || p->deep) {
		probe_more(p, g, object);
		ask_rows(p, g, object, slow_rows, sizeof(slow_rows) / sizeof(slow_rows[0]));
		g->power_profiles = power_profiles(
			p, object, "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles.requested");
		g->power_profiles_enforced = power_profiles(
			p, object, "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles.enforced");
	}
	microseconds(&g->event_sw_power_us);
	microseconds(&g->event_sw_thermal_us);
	microseconds(&g->event_sync_boost_us);
	microseconds(&g->event_hw_thermal_us);
	microseconds(&g->event_hw_power_us);
	probe_slices(p, g, object);
	probe_gpu_links(p, g, object);
	probe_gpu_processes(p, g, object);
	probe_gpu_cuda(p, g, name);
	probe_gpu_twice(p, g, name);
}

void probe_gpu(struct probe *p)
{
	static const char count[] = "nvmlDeviceGetCount";
	struct gpus *g = &p->m->gpu;
	int r = driver_there(p);

	probe_driver(p, g);
	g->pci_count = fact_int_of(count_pci(p->m), NULL, "/sys/bus/pci/devices");
	g->uvm_loaded = probe_there(p, "/sys/module/nvidia_uvm", "yes");
	if (r) {
		g->count.f = fact_unseen(r, "nvml ", count);
		g->nvml.f = fact_unseen(r, "nvml ", "nvmlSystemGetNVMLVersion");
		g->cuda_driver.f = fact_unseen(r, "nvml ", "nvmlSystemGetCudaDriverVersion");
		probe_gpu_log(p);
		return;
	}
	probe_library(p, g);
	/* On one or two GPUs the whole costs less than anybody notices. */
	if (fact_or(&g->count, 0) <= 2)
		p->lean = false;
	for (long long i = 0; i < fact_or(&g->count, 0) && i < 256; i++) {
		struct gpu *one = list_add(p->a, &g->gpus, sizeof(*one));

		one->index = (unsigned)i;
		probe_one(p, one);
	}
	for (size_t i = 0; p->deep && i < g->gpus.n; i++) {
		struct gpu *one = machine_gpu(p->m, i);

		probe_gpu_peers(p, one, arena_printf(p->a, "%u", one->index));
	}
	probe_gpu_log(p);
	probe_gpu_host(p);
}
