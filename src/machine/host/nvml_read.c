/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that have no common shape: structures, versions of one call (the newest first, an older one
 * where the library or driver does not know it), and arguments. Ends in the table of all questions.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/host/nvml_read.h"
#include "machine/host/vendor.h"

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

static int read_energy(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	unsigned long long mj = 0;
	int r = g->nvml->api.nvmlDeviceGetTotalEnergyConsumption(g->dev, &mj);

	(void)arg;
	out->v[0] = (long long)mj;
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

/* Mask i of nvmlWorkloadPowerProfileCurrentProfiles_t: the numbers of those that have a name. */
static int read_power_profiles(struct nvml_gpu *g, unsigned arg, struct nvml_values *out)
{
	struct nvml_power_profiles p = { .version = NVML_VERSION(sizeof(p), 1) };
	int r = g->nvml->api.nvmlDeviceWorkloadPowerProfileGetCurrentProfiles(g->dev, &p);

	(void)arg;
	out->v[0] = p.requested[0];
	out->v[1] = p.enforced[0];
	return r;
}

/* "16 9984 1 1 NVIDIA H100 80GB HBM3 MIG 1g.10gb": SMs, MiB, slices of the GPU instance and of the
 * compute instance, and the name. */
static int text_mig(struct nvml_gpu *g, unsigned arg, char *buf, size_t size)
{
	struct nvml_attributes at = { 0 };
	struct nvml_device *slice = NULL;
	char name[NVML_TEXT_MAX] = "";
	int r = g->nvml->api.nvmlDeviceGetMigDeviceHandleByIndex(g->dev, arg, &slice);

	if (r == 0)
		r = g->nvml->api.nvmlDeviceGetAttributes_v2(slice, &at);
	if (too_old(r) && slice)
		r = g->nvml->api.nvmlDeviceGetAttributes(slice, &at);
	if (r == 0)
		r = g->nvml->api.nvmlDeviceGetName(slice, name, sizeof(name) - 1);
	snprintf(buf, size, "%u %llu %u %u %s", at.multiprocessors, at.memory_mib, at.gpu_slices,
		 at.compute_slices, name);
	return r;
}

static int text_mig_uuid(struct nvml_gpu *g, unsigned arg, char *buf, size_t size)
{
	struct nvml_device *slice = NULL;
	int r = g->nvml->api.nvmlDeviceGetMigDeviceHandleByIndex(g->dev, arg, &slice);

	return r ? r : g->nvml->api.nvmlDeviceGetUUID(slice, buf, (unsigned)size);
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
	{ "nvmlDeviceGetTotalEnergyConsumption", READ(read_energy) },
	{ "nvmlDeviceGetTemperature", &nvml_args_sensor, READ(read_temperature) },
	{ "nvmlDeviceGetMarginTemperature", .members = { "marginTemperature" }, READ(read_margin) },
	{ "nvmlDeviceGetSupportedMemoryClocks", .members = { "count" }, READ(read_memory_clocks) },
	{ "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles",
	  .members = { "requested", "enforced" }, READ(read_power_profiles) },
	{ "nvmlDeviceGetMigDevice", &nvml_args_mig, READ_TEXT(text_mig) },
	{ "nvmlDeviceGetMigDeviceUUID", &nvml_args_mig, READ_TEXT(text_mig_uuid) },
	{ "nvmlDeviceGetNvLinkErrorCounter", &nvml_args_link_error, READ(read_link_error) },
	{ "nvmlDeviceGetNvLinkRemotePciInfo",
	  &nvml_args_link,
	  { "busId" },
	  READ_TEXT(text_link_pci) },
	{ "nvmlDeviceGetP2PStatus", &nvml_args_p2p, READ(read_p2p) },
};
const size_t nvml_questions_n = sizeof(nvml_questions) / sizeof(nvml_questions[0]);

/*
 * Opening and closing NVML. Attaching to a GPU is the largest single cost (6 ms on an H200) and the
 * one thing that NVML does for several GPUs at a time, so that all handles are got at once.
 */

static void initialise(void *ctx)
{
	struct nvml *n = ctx;

	n->result = n->api.nvmlInit_v2();
	if (n->result == NVML_FUNCTION_NOT_FOUND)
		n->result = n->api.nvmlInit();
}

/* A GPU's handle, into g. For threads. */
static void *attach(void *arg)
{
	struct nvml_gpu *g = arg;
	unsigned index = (unsigned)(g - g->nvml->gpus);

	g->result = g->nvml->api.nvmlDeviceGetHandleByIndex_v2(index, &g->dev);
	if (g->result == NVML_FUNCTION_NOT_FOUND)
		g->result = g->nvml->api.nvmlDeviceGetHandleByIndex(index, &g->dev);
	return NULL;
}

static void attach_all(struct nvml *n)
{
	pthread_t threads[NVML_GPUS_MAX];
	bool started[NVML_GPUS_MAX] = { false };

	/* The last one, often the only one, is for this thread. */
	for (unsigned i = 0; i + 1 < n->n; i++)
		started[i] = pthread_create(&threads[i], NULL, attach, &n->gpus[i]) == 0;
	for (unsigned i = 0; i < n->n; i++)
		if (started[i])
			pthread_join(threads[i], NULL);
		else
			attach(&n->gpus[i]);
}

struct nvml_gpu *nvml_gpu(struct nvml *n, unsigned index)
{
	if (n->gpus)
		return &n->gpus[index];
	n->gpus = heap_array(n->n, sizeof(*n->gpus));
	for (unsigned i = 0; i < n->n; i++) {
		n->gpus[i].nvml = n;
		n->gpus[i].cache = heap_array(nvml_questions_n, sizeof(*n->gpus[i].cache));
	}
	attach_all(n);
	return &n->gpus[index];
}

void nvml_gpu_renew(struct nvml_gpu *g)
{
	memset(g->cache, 0, nvml_questions_n * sizeof(*g->cache));
	if (g->fields) {
		memset(g->fields->fresh, 0, sizeof(g->fields->fresh));
		g->fields->links = -1;
	}
	attach(g);
}

void nvml_shut(struct nvml *n)
{
	for (unsigned i = 0; n->gpus && i < n->n; i++) {
		for (unsigned k = 0; k < NVML_PROCESS_KINDS; k++)
			free(n->gpus[i].processes[k].items);
		free(n->gpus[i].fields);
		free(n->gpus[i].cache);
	}
	free(n->gpus);
	if (!n->error && !n->result)
		n->api.nvmlShutdown();
	vendor_close(n->lib);
}

/*
 * nvmlDeviceGetFieldValues: many small numbers in one call. A group is fetched when one of its
 * fields is asked for; the fields of links for all links at once.
 */

enum { BATCH_MAX = NVML_FIELD_NAMES * NVML_LINKS_MAX };

/* Drivers leave an entry as it was when another field of the same call is refused. */
enum { UNTOUCHED = -1 };

static void call(struct nvml_gpu *g, struct nvml_field *f, size_t n)
{
	int r = g->nvml->api.nvmlDeviceGetFieldValues(g->dev, (int)n, f);

	for (size_t i = 0; r && i < n; i++)
		f[i].result = r;
}

static int nvml_read_value_of(const struct nvml_field *f, long long *out)
{
	if (f->result)
		return f->result;
	switch (f->type) {
	case NVML_VALUE_UINT:
		*out = f->value.u;
		return 0;
	case NVML_VALUE_ULONG:
		*out = (long long)f->value.ul;
		return 0;
	case NVML_VALUE_ULL:
		*out = (long long)f->value.ull;
		return 0;
	case NVML_VALUE_LL:
		*out = f->value.ll;
		return 0;
	case NVML_VALUE_INT:
		*out = f->value.i;
		return 0;
	case NVML_VALUE_USHORT:
		*out = f->value.us;
		return 0;
	default:
		return NVML_UNKNOWN;
	}
}

static size_t nvml_read_find(const char *s, size_t len)
{
	size_t i = 0;

	while (i < NVML_FIELD_NAMES && (strlen(nvml_field_names[i].name) != len ||
					memcmp(nvml_field_names[i].name, s, len) != 0))
		i++;
	return i;
}

/* Times are 64 bits wide; what else has had the number (switches, per cent, Watts) is narrower. */
static bool is_time(struct nvml_gpu *g, unsigned id)
{
	struct nvml_field f = { .id = id, .result = UNTOUCHED };

	call(g, &f, 1);
	return f.result == 0 &&
	       (f.type == NVML_VALUE_ULL || f.type == NVML_VALUE_LL || f.type == NVML_VALUE_ULONG);
}

/* The driver's version does not tell: the numbers went back within R580. */
static void learn_numbering(struct nvml_gpu *g)
{
	size_t i = nvml_read_find(NVML_FIELD_RENUMBERED, strlen(NVML_FIELD_RENUMBERED));

	if (g->fields->numbered || i == NVML_FIELD_NAMES)
		return;
	g->fields->numbered = true;
	g->fields->as_575 =
		!is_time(g, nvml_field_names[i].id) && is_time(g, nvml_field_names[i].id_575);
}

static unsigned id_of(const struct nvml_gpu *g, size_t i)
{
	const struct nvml_field_name *f = &nvml_field_names[i];

	return g->fields->as_575 && f->id_575 ? f->id_575 : f->id;
}

static void nvml_read_fetch(struct nvml_gpu *g, enum nvml_field_group group, unsigned links)
{
	struct nvml_field *batch = heap_array(BATCH_MAX, sizeof(*batch));
	size_t n = 0, k = 0;

	if (group == NVML_FIELDS_SLOWDOWN || group == NVML_FIELDS_HW_SLOWDOWN)
		learn_numbering(g);
	for (size_t i = 0; i < NVML_FIELD_NAMES; i++)
		for (unsigned l = 0; nvml_field_names[i].group == group && l < links; l++)
			batch[n++] = (struct nvml_field){ .id = id_of(g, i),
							  .scope = nvml_field_names[i].scope + l,
							  .result = UNTOUCHED };
	if (n)
		call(g, batch, n);
	for (size_t i = 0; i < n; i++)
		if (batch[i].result == UNTOUCHED)
			call(g, &batch[i], 1);
	for (size_t i = 0; i < NVML_FIELD_NAMES; i++)
		for (unsigned l = 0; nvml_field_names[i].group == group && l < links; l++) {
			g->fields->f[i][l] = batch[k++];
			g->fields->fresh[i][l] = true;
		}
	free(batch);
}

#define LINK_COUNT "NVLINK_LINK_COUNT"

static unsigned link_count(struct nvml_gpu *g)
{
	long long n = g->fields->links;

	if (n < 0 && nvml_field(g, LINK_COUNT, sizeof(LINK_COUNT) - 1, &n))
		n = 0;
	g->fields->links = n;
	return n < NVML_LINKS_MAX ? (unsigned)n : NVML_LINKS_MAX;
}

int nvml_field(struct nvml_gpu *g, const char *s, size_t len, long long *out)
{
	const char *comma = memchr(s, ',', len);
	size_t n = comma ? (size_t)(comma - s) : len, i = nvml_read_find(s, n);
	unsigned link = 0, links = 1;
	int r;

	if (i == NVML_FIELD_NAMES || nvml_field_of_link(&nvml_field_names[i]) != (comma != NULL))
		return NVML_INVALID_ARGUMENT;
	if (comma && nvml_args_parse(&nvml_args_link, comma + 1, len - n - 1, &link))
		return NVML_INVALID_ARGUMENT;
	if (!g->fields) {
		g->fields = heap_array(1, sizeof(*g->fields));
		g->fields->links = -1;
	}
	if (!g->fields->fresh[i][link]) {
		if (comma)
			links = link_count(g);
		if (link >= links)
			return NVML_NOT_SUPPORTED;
		nvml_read_fetch(g, nvml_field_names[i].group, links);
	}
	g->fields->fresh[i][link] = false;
	r = nvml_read_value_of(&g->fields->f[i][link], out);
	if (strcmp(nvml_field_names[i].name, LINK_COUNT) == 0)
		g->fields->links = r || *out < 0 ? 0 : *out;
	return r;
}

/* Who uses a GPU: the lists of processes, in whichever of NVML's three versions the library has. */

enum { PROCESSES_MAX = 1024 };

typedef int list_fn(struct nvml_device *d, unsigned *n, struct nvml_process *out);
typedef int list_v1_fn(struct nvml_device *d, unsigned *n, struct nvml_process_v1 *out);

static int list_v1(struct nvml_gpu *g, list_v1_fn *fn, struct nvml_processes *p)
{
	struct nvml_process_v1 *old = heap_array(PROCESSES_MAX, sizeof(*old));
	int r;

	r = fn(g->dev, &p->n, old);
	for (unsigned i = 0; r == 0 && i < p->n && i < PROCESSES_MAX; i++)
		p->items[i] = (struct nvml_process){ .pid = old[i].pid, .memory = old[i].memory };
	free(old);
	return r;
}

static int nvml_read_list(struct nvml_gpu *g, unsigned kind, struct nvml_processes *p)
{
	const struct nvml_api *api = &g->nvml->api;
	list_fn *const newest[] = { api->nvmlDeviceGetComputeRunningProcesses_v3,
				    api->nvmlDeviceGetGraphicsRunningProcesses_v3,
				    api->nvmlDeviceGetMPSComputeRunningProcesses_v3 };
	list_fn *const second[] = { api->nvmlDeviceGetComputeRunningProcesses_v2,
				    api->nvmlDeviceGetGraphicsRunningProcesses_v2 };
	list_v1_fn *const first[] = { api->nvmlDeviceGetComputeRunningProcesses,
				      api->nvmlDeviceGetGraphicsRunningProcesses };
	int r;

	p->n = PROCESSES_MAX;
	r = newest[kind](g->dev, &p->n, p->items);
	if (r == NVML_FUNCTION_NOT_FOUND && kind != NVML_MPS) {
		p->n = PROCESSES_MAX;
		r = second[kind](g->dev, &p->n, p->items);
	}
	if (r == NVML_FUNCTION_NOT_FOUND && kind != NVML_MPS) {
		p->n = PROCESSES_MAX;
		r = list_v1(g, first[kind], p);
	}
	if (p->n > PROCESSES_MAX)
		p->n = PROCESSES_MAX;
	/* More processes than fit: the count is cut, the ones not listed stay unknown. */
	if (r == NVML_INSUFFICIENT_SIZE)
		r = NVML_INSUFFICIENT_RESOURCES;
	return r;
}

int nvml_process_ask(struct nvml_gpu *g, unsigned kind, const char *rest, long long *out)
{
	struct nvml_processes *p = &g->processes[kind];
	const char *close = strchr(rest, ')');
	unsigned i = 0;

	/* Asking how many there are starts over; asking about one of them does not. */
	if (!p->asked || !*rest) {
		p->asked = true;
		if (!p->items)
			p->items = heap_array(PROCESSES_MAX, sizeof(*p->items));
		p->result = nvml_read_list(g, kind, p);
	}
	if (p->result)
		return nvml_errno(p->result);
	if (!*rest) {
		*out = p->n;
		return 0;
	}
	if (*rest != '(' || !close ||
	    nvml_args_parse(&(struct nvml_args){ .numbers = PROCESSES_MAX }, rest + 1,
			    (size_t)(close - rest - 1), &i) ||
	    i >= p->n)
		return -EINVAL;
	if (strcmp(close, ").pid") == 0) {
		*out = p->items[i].pid;
		return 0;
	}
	if (strcmp(close, ").usedGpuMemory") != 0)
		return -EINVAL;
	if (p->items[i].memory == ~0ULL)
		return -EOPNOTSUPP;
	*out = (long long)p->items[i].memory;
	return 0;
}

/* The table of NVML's functions: what stands in for a missing one, and how it is filled. */

/* A fall-back has its function's parameters, so that a call through either is the same call. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NVML_FN(name, params)                                                                      \
	static int missing_##name params                                                           \
	{                                                                                          \
		return NVML_FUNCTION_NOT_FOUND;                                                    \
	}
#define NVML_UINT(name) NVML_FN(name, (struct nvml_device * d, unsigned *out))
#define NVML_UINT_OF(name, args)                                                                   \
	NVML_FN(name, (struct nvml_device * d, unsigned arg, unsigned *out))
#define NVML_TEXT(name) NVML_FN(name, (struct nvml_device * d, char *text, unsigned size))
#define NVML_PAIR(name, a, b)                                                                      \
	NVML_FN(name, (struct nvml_device * d, unsigned *first, unsigned *second))
#include "machine/host/nvml.def"
#pragma GCC diagnostic pop

#define NVML_FN(name, params)                                                                      \
	{ #name, offsetof(struct nvml_api, name), (void (*)(void))missing_##name },
#define NVML_UINT(name) NVML_FN(name, )
#define NVML_UINT_OF(name, args) NVML_FN(name, )
#define NVML_TEXT(name) NVML_FN(name, )
#define NVML_PAIR(name, a, b) NVML_FN(name, )
static const struct vendor_symbol symbols[] = {
#include "machine/host/nvml.def"
};

/* Fills api from libnvidia-ml.so.1, or with fall-backs. 0 and *lib, or -ELIBACC. */
static int nvml_load(struct nvml_api *api, void **lib)
{
	return vendor_open("libnvidia-ml.so.1", symbols, sizeof(symbols) / sizeof(symbols[0]), api,
			   lib);
}

void nvml_open(struct nvml *n)
{
	n->error = nvml_load(&n->api, &n->lib);
	if (n->error)
		return;
	vendor_call(initialise, n);
	if (n->result)
		return;
	n->count_result = n->api.nvmlDeviceGetCount_v2(&n->n);
	if (n->count_result == NVML_FUNCTION_NOT_FOUND)
		n->count_result = n->api.nvmlDeviceGetCount(&n->n);
	if (n->count_result)
		n->n = 0;
	if (n->n > NVML_GPUS_MAX)
		n->n = NVML_GPUS_MAX;
}
