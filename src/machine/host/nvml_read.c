/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that have no common shape: structures, versions of one call (the newest first, an older one
 * where the library or driver does not know it), and arguments. Ends in the table of all questions.
 */
#include <stdio.h>
#include <string.h>

#include "machine/host/nvml_gpu.h"

/* The installed library or driver is older than this version of a call. */
static bool too_old(int result)
{
	return result == NVML_FUNCTION_NOT_FOUND || result == NVML_ARGUMENT_VERSION_MISMATCH;
}

static int read_memory(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	struct nvml_memory_v2 v2 = { .version = NVML_VERSION(sizeof(v2), 2) };
	struct nvml_memory v1 = { 0 };
	int r = g->nvml->api.nvmlDeviceGetMemoryInfo_v2(g->dev, &v2);

	(void)arg;
	if (too_old(r)) {
		r = g->nvml->api.nvmlDeviceGetMemoryInfo(g->dev, &v1);
		v2 = (struct nvml_memory_v2){ .total = v1.total, .free = v1.free, .used = v1.used };
		out->missing = 1u << 1;
	}
	out->v[0] = (long long)v2.total;
	out->v[1] = (long long)v2.reserved;
	out->v[2] = (long long)v2.free;
	out->v[3] = (long long)v2.used;
	return r;
}

static int read_bar1(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	struct nvml_memory m = { 0 };
	int r = g->nvml->api.nvmlDeviceGetBAR1MemoryInfo(g->dev, &m);

	(void)arg;
	out->v[0] = (long long)m.total;
	out->v[1] = (long long)m.free;
	out->v[2] = (long long)m.used;
	return r;
}

static int read_attributes(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	struct nvml_attributes at = { 0 };
	int r = g->nvml->api.nvmlDeviceGetAttributes_v2(g->dev, &at);

	(void)arg;
	if (too_old(r))
		r = g->nvml->api.nvmlDeviceGetAttributes(g->dev, &at);
	out->v[0] = at.multiprocessors;
	out->v[1] = (long long)at.memory_mib;
	return r;
}

static int read_utilization(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	struct nvml_utilization u = { 0 };
	int r = g->nvml->api.nvmlDeviceGetUtilizationRates(g->dev, &u);

	(void)arg;
	out->v[0] = u.gpu;
	out->v[1] = u.memory;
	return r;
}

static int read_fabric(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	struct nvml_fabric_v f = { .version = NVML_VERSION(sizeof(f), 3) };
	struct nvml_fabric v1 = { 0 };
	int r = g->nvml->api.nvmlDeviceGetGpuFabricInfoV(g->dev, &f);

	(void)arg;
	if (too_old(r)) {
		f.version = NVML_VERSION(NVML_FABRIC_V2_SIZE, 2);
		r = g->nvml->api.nvmlDeviceGetGpuFabricInfoV(g->dev, &f);
		out->missing = 1u << 4;
	}
	if (too_old(r)) {
		r = g->nvml->api.nvmlDeviceGetGpuFabricInfo(g->dev, &v1);
		f.state = v1.state;
		f.status = v1.status;
		f.clique = v1.clique;
		out->missing = 1u << 3 | 1u << 4;
	}
	out->v[0] = f.state;
	out->v[1] = f.status;
	out->v[2] = f.clique;
	out->v[3] = f.health_mask;
	out->v[4] = f.health_summary;
	return r;
}

static int read_addressing_mode(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	struct nvml_versioned_uint m = { .version = NVML_VERSION(sizeof(m), 1) };
	int r = g->nvml->api.nvmlDeviceGetAddressingMode(g->dev, &m);

	(void)arg;
	out->v[0] = m.value;
	return r;
}

static int read_c2c(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	unsigned enabled = 0;
	int r = g->nvml->api.nvmlDeviceGetC2cModeInfoV(g->dev, &enabled);

	(void)arg;
	out->v[0] = enabled;
	return r;
}

static int read_remapped_rows(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	unsigned v[4] = { 0 };
	int r = g->nvml->api.nvmlDeviceGetRemappedRows(g->dev, &v[0], &v[1], &v[2], &v[3]);

	(void)arg;
	for (int i = 0; i < 4; i++)
		out->v[i] = v[i];
	return r;
}

static int read_ecc_errors(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	unsigned long long n = 0;
	int r = g->nvml->api.nvmlDeviceGetTotalEccErrors(g->dev, arg / 2, arg % 2, &n);

	out->v[0] = (long long)n;
	return r;
}

static int read_event_reasons(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	unsigned long long mask = 0;
	int r = g->nvml->api.nvmlDeviceGetCurrentClocksEventReasons(g->dev, &mask);

	(void)arg;
	if (too_old(r))
		r = g->nvml->api.nvmlDeviceGetCurrentClocksThrottleReasons(g->dev, &mask);
	out->v[0] = (long long)mask;
	return r;
}

static int read_temperature(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	struct nvml_temperature t = { .version = NVML_VERSION(sizeof(t), 1), .sensor = arg };
	unsigned celsius = 0;
	int r = g->nvml->api.nvmlDeviceGetTemperatureV(g->dev, &t);

	if (too_old(r)) {
		r = g->nvml->api.nvmlDeviceGetTemperature(g->dev, arg, &celsius);
		t.celsius = (int)celsius;
	}
	out->v[0] = t.celsius;
	return r;
}

static int read_margin(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	struct nvml_versioned_int m = { .version = NVML_VERSION(sizeof(m), 1) };
	int r = g->nvml->api.nvmlDeviceGetMarginTemperature(g->dev, &m);

	(void)arg;
	out->v[0] = m.value;
	return r;
}

static int read_memory_clocks(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	unsigned mhz[32], n = sizeof(mhz) / sizeof(mhz[0]);
	int r = g->nvml->api.nvmlDeviceGetSupportedMemoryClocks(g->dev, &n, mhz);

	(void)arg;
	out->v[0] = n;
	/* Too many to list is still a count. */
	return r == NVML_INSUFFICIENT_SIZE ? NVML_SUCCESS : r;
}

static int read_link_error(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	unsigned long long n = 0;
	int r = g->nvml->api.nvmlDeviceGetNvLinkErrorCounter(g->dev, NVML_ARG_NUMBER(arg),
							     NVML_ARG_NAME(arg), &n);

	out->v[0] = (long long)n;
	return r;
}

/* The other GPU of a question about two; NULL with its result in *r when it cannot be had. */
static struct nvml_device *peer_of(struct nvml_gpu *g, unsigned index, int *r)
{
	struct nvml_gpu *peer = index < g->nvml->n ? nvml_gpu(g->nvml, index) : NULL;

	*r = !peer ? NVML_INVALID_ARGUMENT : peer->result;
	return *r ? NULL : peer->dev;
}

static int read_p2p(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	unsigned status = 0;
	int r;
	struct nvml_device *peer = peer_of(g, NVML_ARG_NUMBER(arg), &r);

	if (peer)
		r = g->nvml->api.nvmlDeviceGetP2PStatus(g->dev, peer, NVML_ARG_NAME(arg), &status);
	out->v[0] = status;
	return r;
}

static void pci_text(struct nvml_pci *p, char *buf, size_t size)
{
	p->bus_id[sizeof(p->bus_id) - 1] = '\0';
	if (p->bus_id[0])
		snprintf(buf, size, "%s", p->bus_id);
	else
		snprintf(buf, size, "%08X:%02X:%02X.0", p->domain, p->bus, p->device);
}

static int text_pci(struct nvml_gpu *g, unsigned arg, char *buf, size_t size)
{
	struct nvml_pci p = { 0 };
	int r = g->nvml->api.nvmlDeviceGetPciInfo_v3(g->dev, &p);

	(void)arg;
	if (too_old(r))
		r = g->nvml->api.nvmlDeviceGetPciInfo_v2(g->dev, &p);
	if (too_old(r)) {
		r = g->nvml->api.nvmlDeviceGetPciInfo(g->dev, &p);
		/* The first version ends before bus_id. */
		p.bus_id[0] = '\0';
	}
	pci_text(&p, buf, size);
	return r;
}

static int text_link_pci(struct nvml_gpu *g, unsigned arg, char *buf, size_t size)
{
	struct nvml_pci p = { 0 };
	int r = g->nvml->api.nvmlDeviceGetNvLinkRemotePciInfo_v2(g->dev, arg, &p);

	if (too_old(r)) {
		r = g->nvml->api.nvmlDeviceGetNvLinkRemotePciInfo(g->dev, arg, &p);
		p.bus_id[0] = '\0';
	}
	pci_text(&p, buf, size);
	return r;
}

/* The list format of the kernel: "0-55,112-167". */
static int text_affinity(struct nvml_gpu *g, unsigned arg, char *buf, size_t size)
{
	enum { WORDS = 64 }; /* 4,096 CPUs */
	unsigned long set[WORDS] = { 0 };
	int r = g->nvml->api.nvmlDeviceGetCpuAffinity(g->dev, WORDS, set);
	size_t len = 0;

	(void)arg;
	buf[0] = '\0';
	for (unsigned i = 0; i < WORDS * 64 && len + 24 < size; i++) {
		unsigned lo = i;

		if (!(set[i / 64] >> i % 64 & 1))
			continue;
		while (i + 1 < WORDS * 64 && set[(i + 1) / 64] >> (i + 1) % 64 & 1)
			i++;
		len += (size_t)snprintf(buf + len, size - len, lo == i ? "%s%u" : "%s%u-%u",
					len ? "," : "", lo, i);
	}
	return r;
}

#define SLOT(name) .slot = offsetof(struct nvml_api, name)
#define NVML_FN(name, params)
#define NVML_UINT(name) { #name, .how = NVML_ASK_UINT, SLOT(name) },
#define NVML_UINT_OF(name, a) { #name, &nvml_args_##a, .how = NVML_ASK_UINT_OF, SLOT(name) },
#define NVML_TEXT(name) { #name, .how = NVML_ASK_TEXT, SLOT(name) },
#define NVML_PAIR(name, a, b) { #name, .members = { #a, #b }, .how = NVML_ASK_PAIR, SLOT(name) },

#define READ(fn) .how = NVML_ASK_READ, .read = (fn)
#define READ_TEXT(fn) .how = NVML_ASK_READ_TEXT, .read_text = (fn)

const struct nvml_question nvml_questions[] = {
#include "machine/host/nvml.def"
	{ "nvmlDeviceGetPciInfo", .members = { "busId" }, READ_TEXT(text_pci) },
	{ "nvmlDeviceGetMemoryInfo", .members = { "total", "reserved", "free", "used" },
	  READ(read_memory) },
	{ "nvmlDeviceGetBAR1MemoryInfo", .members = { "bar1Total", "bar1Free", "bar1Used" },
	  READ(read_bar1) },
	{ "nvmlDeviceGetAttributes", .members = { "multiprocessorCount", "memorySizeMB" },
	  READ(read_attributes) },
	{ "nvmlDeviceGetUtilizationRates", .members = { "gpu", "memory" }, READ(read_utilization) },
	{ "nvmlDeviceGetGpuFabricInfo",
	  .members = { "state", "status", "cliqueId", "healthMask", "healthSummary" },
	  READ(read_fabric) },
	{ "nvmlDeviceGetAddressingMode", .members = { "value" }, READ(read_addressing_mode) },
	{ "nvmlDeviceGetC2cModeInfo", .members = { "isC2cEnabled" }, READ(read_c2c) },
	{ "nvmlDeviceGetRemappedRows",
	  .members = { "corrRows", "uncRows", "isPending", "failureOccurred" },
	  READ(read_remapped_rows) },
	{ "nvmlDeviceGetTotalEccErrors", &nvml_args_ecc, READ(read_ecc_errors) },
	{ "nvmlDeviceGetCurrentClocksEventReasons", READ(read_event_reasons) },
	{ "nvmlDeviceGetTemperature", &nvml_args_sensor, READ(read_temperature) },
	{ "nvmlDeviceGetMarginTemperature", .members = { "marginTemperature" }, READ(read_margin) },
	{ "nvmlDeviceGetSupportedMemoryClocks", .members = { "count" }, READ(read_memory_clocks) },
	{ "nvmlDeviceGetNvLinkErrorCounter", &nvml_args_link_error, READ(read_link_error) },
	{ "nvmlDeviceGetNvLinkRemotePciInfo",
	  &nvml_args_link,
	  { "busId" },
	  READ_TEXT(text_link_pci) },
	{ "nvmlDeviceGetP2PStatus", &nvml_args_p2p, READ(read_p2p) },
	{ "nvmlDeviceGetCpuAffinity", READ_TEXT(text_affinity) },
};
const size_t nvml_questions_n = sizeof(nvml_questions) / sizeof(nvml_questions[0]);
