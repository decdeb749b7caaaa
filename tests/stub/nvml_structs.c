/* SPDX-License-Identifier: Apache-2.0 */
/* The stub's functions that fill structures or take unusual arguments. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "machine/host/nvml.h"
#include "nvml.h"
#include "stub.h"

#define NVML_FN(name, params) int name params;
#define NVML_UINT(name)
#define NVML_UINT_OF(name, args)
#define NVML_TEXT(name)
#define NVML_PAIR(name, a, b)
#include "machine/host/nvml.def"

/* One call's members, NULL-terminated, into v; what is not listed but the first stays 0. */
static int members(struct nvml_device *d, const char *name, const char *const *list, long long *v)
{
	char object[16], question[128];
	int r = stub_number(d, name, list[0], &v[0]);

	for (int i = 1; r == NVML_SUCCESS && list[i]; i++) {
		snprintf(object, sizeof(object), "%u", stub_index(d));
		snprintf(question, sizeof(question), "%s%s", name, list[i]);
		if (stub_int(object, question, &v[i]))
			v[i] = 0;
	}
	return r;
}

int nvmlDeviceGetMemoryInfo(struct nvml_device *d, struct nvml_memory *out)
{
	static const char *const list[] = { ".total", ".free", ".used", NULL };
	long long v[3] = { 0 };
	int r = members(d, "nvmlDeviceGetMemoryInfo", list, v);

	*out = (struct nvml_memory){ (unsigned long long)v[0], (unsigned long long)v[1],
				     (unsigned long long)v[2] };
	return r;
}

int nvmlDeviceGetBAR1MemoryInfo(struct nvml_device *d, struct nvml_memory *out)
{
	static const char *const list[] = { ".bar1Total", ".bar1Free", ".bar1Used", NULL };
	long long v[3] = { 0 };
	int r = members(d, "nvmlDeviceGetBAR1MemoryInfo", list, v);

	*out = (struct nvml_memory){ (unsigned long long)v[0], (unsigned long long)v[1],
				     (unsigned long long)v[2] };
	return r;
}

int nvmlDeviceGetAttributes(struct nvml_device *d, struct nvml_attributes *out)
{
	static const char *const list[] = { ".multiprocessorCount", ".memorySizeMB", NULL };
	long long v[2] = { 0 };
	unsigned long long s[4] = { 0 };
	int r = stub_is_slice(d) ? stub_slice(d, s, NULL, 0)
				 : members(d, "nvmlDeviceGetAttributes", list, v);

	*out = (struct nvml_attributes){ .multiprocessors = (unsigned)(v[0] + (long long)s[0]),
					 .memory_mib = (unsigned long long)v[1] + s[1],
					 .gpu_slices = (unsigned)s[2],
					 .compute_slices = (unsigned)s[3] };
	return r;
}

int nvmlDeviceGetUtilizationRates(struct nvml_device *d, struct nvml_utilization *out)
{
	static const char *const list[] = { ".gpu", ".memory", NULL };
	long long v[2] = { 0 };
	int r = members(d, "nvmlDeviceGetUtilizationRates", list, v);

	*out = (struct nvml_utilization){ (unsigned)v[0], (unsigned)v[1] };
	return r;
}

static int number_into(struct nvml_device *d, const char *name, const char *rest,
		       unsigned long long *out)
{
	long long v = 0;
	int r = stub_number(d, name, rest, &v);

	*out = (unsigned long long)v;
	return r;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *d, unsigned long long *out)
{
	return number_into(d, "nvmlDeviceGetCurrentClocksEventReasons", "", out);
}

/* With "stub draws=1" it grows with time and with the cube of the clock, from the power that is
 * described. */
int nvmlDeviceGetTotalEnergyConsumption(struct nvml_device *d, unsigned long long *out)
{
	static double mj, then;
	char object[16];
	long long mw = 0, own = 0, now = 0;
	struct timespec t;
	int r = number_into(d, "nvmlDeviceGetTotalEnergyConsumption", "", out);

	if (r || !stub_setting("draws", 0))
		return r;
	snprintf(object, sizeof(object), "%u", stub_index(d));
	(void)stub_int(object, "nvmlDeviceGetPowerUsage", &mw);
	(void)stub_own_int(object, "nvmlDeviceGetClockInfo(SM)", &own);
	(void)stub_int(object, "nvmlDeviceGetClockInfo(SM)", &now);
	clock_gettime(CLOCK_MONOTONIC, &t);
	if (then > 0 && own > 0)
		mj += (double)mw * pow((double)now / (double)own, 3) *
		      ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec - then);
	then = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
	*out += (unsigned long long)mj;
	return r;
}

int nvmlDeviceGetTotalEccErrors(struct nvml_device *d, unsigned type, unsigned counter,
				unsigned long long *out)
{
	char rest[64];

	if (type > 1 || counter > 1)
		return NVML_INVALID_ARGUMENT;
	snprintf(rest, sizeof(rest), "(%s)", nvml_args_ecc.names[type * 2 + counter]);
	return number_into(d, "nvmlDeviceGetTotalEccErrors", rest, out);
}

int nvmlDeviceGetNvLinkErrorCounter(struct nvml_device *d, unsigned link, unsigned counter,
				    unsigned long long *out)
{
	char rest[64];

	if (counter >= nvml_args_link_error.n)
		return NVML_INVALID_ARGUMENT;
	snprintf(rest, sizeof(rest), "(%u,%s)", link, nvml_args_link_error.names[counter]);
	return number_into(d, "nvmlDeviceGetNvLinkErrorCounter", rest, out);
}

int nvmlDeviceGetP2PStatus(struct nvml_device *d, struct nvml_device *peer, unsigned caps,
			   unsigned *out)
{
	char rest[64];
	unsigned long long v = 0;
	int r;

	if (!peer || caps >= nvml_args_p2p.n)
		return NVML_INVALID_ARGUMENT;
	snprintf(rest, sizeof(rest), "(%u,%s)", stub_index(peer), nvml_args_p2p.names[caps]);
	r = number_into(d, "nvmlDeviceGetP2PStatus", rest, &v);
	*out = (unsigned)v;
	return r;
}

int nvmlDeviceGetTemperature(struct nvml_device *d, unsigned sensor, unsigned *celsius)
{
	unsigned long long v = 0;
	int r = sensor ? NVML_INVALID_ARGUMENT
		       : number_into(d, "nvmlDeviceGetTemperature", "(GPU)", &v);

	*celsius = (unsigned)v;
	return r;
}

int nvmlDeviceGetSupportedMemoryClocks(struct nvml_device *d, unsigned *n, unsigned *mhz)
{
	unsigned long long v = 0;
	int r = number_into(d, "nvmlDeviceGetSupportedMemoryClocks", ".count", &v);
	unsigned room = *n;

	if (r)
		return r;
	for (unsigned i = 0; i < room && i < v; i++)
		mhz[i] = 8000 - i;
	*n = (unsigned)v;
	return v > room ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static int pci(struct nvml_device *d, const char *name, const char *rest, struct nvml_pci *out,
	       int newest)
{
	char object[16], question[128], text[32];
	int r = stub_enter(d, name, rest, object, question);

	if (r == NVML_SUCCESS)
		r = stub_text(object, question, text, sizeof(text));
	if (r == NVML_SUCCESS &&
	    sscanf(text, "%8x:%2x:%2x", &out->domain, &out->bus, &out->device) != 3)
		r = NVML_UNKNOWN;
	if (r == NVML_SUCCESS && newest)
		snprintf(out->bus_id, sizeof(out->bus_id), "%s", text);
	return r;
}

int nvmlDeviceGetPciInfo(struct nvml_device *d, struct nvml_pci *out)
{
	return pci(d, "nvmlDeviceGetPciInfo", ".busId", out, 0);
}

int nvmlDeviceGetNvLinkRemotePciInfo(struct nvml_device *d, unsigned link, struct nvml_pci *out)
{
	char rest[32];

	snprintf(rest, sizeof(rest), "(%u).busId", link);
	return pci(d, "nvmlDeviceGetNvLinkRemotePciInfo", rest, out, 0);
}

static int processes(struct nvml_device *d, const char *name, unsigned *n, struct nvml_process *out,
		     struct nvml_process_v1 *old)
{
	unsigned long long count = 0, pid = 0, memory = 0;
	unsigned room = *n;
	char rest[64];
	int r;

	if (stub_setting("anew", 0))
		stub_load();
	r = number_into(d, name, "", &count);
	*n = 0;
	for (unsigned i = 0; r == NVML_SUCCESS && i < count && i < room; i++) {
		snprintf(rest, sizeof(rest), "(%u).pid", i);
		r = number_into(d, name, rest, &pid);
		snprintf(rest, sizeof(rest), "(%u).usedGpuMemory", i);
		if (number_into(d, name, rest, &memory))
			memory = ~0ull;
		if (out)
			out[i] = (struct nvml_process){ (unsigned)pid, memory, ~0u, ~0u };
		else
			old[i] = (struct nvml_process_v1){ (unsigned)pid, memory };
	}
	*n = (unsigned)count;
	return r == NVML_SUCCESS && count > room ? NVML_INSUFFICIENT_SIZE : r;
}

int nvmlDeviceGetComputeRunningProcesses(struct nvml_device *d, unsigned *n,
					 struct nvml_process_v1 *out)
{
	return processes(d, "nvmlDeviceGetComputeRunningProcesses", n, NULL, out);
}

int nvmlDeviceGetGraphicsRunningProcesses(struct nvml_device *d, unsigned *n,
					  struct nvml_process_v1 *out)
{
	return processes(d, "nvmlDeviceGetGraphicsRunningProcesses", n, NULL, out);
}

/* --- what newer libraries added
 * ------------------------------------------------------------------- */
#ifndef STUB_OLD

int nvmlDeviceGetMemoryInfo_v2(struct nvml_device *d, struct nvml_memory_v2 *out)
{
	static const char *const list[] = { ".total", ".reserved", ".free", ".used", NULL };
	long long v[4] = { 0 };
	int r;

	if (out->version != NVML_VERSION(sizeof(*out), 2))
		return NVML_ARGUMENT_VERSION_MISMATCH;
	r = members(d, "nvmlDeviceGetMemoryInfo", list, v);
	out->total = (unsigned long long)v[0];
	out->reserved = (unsigned long long)v[1];
	out->free = (unsigned long long)v[2];
	out->used = (unsigned long long)v[3];
	return r;
}

int nvmlDeviceGetAttributes_v2(struct nvml_device *d, struct nvml_attributes *out)
{
	return nvmlDeviceGetAttributes(d, out);
}

int nvmlDeviceGetPciInfo_v2(struct nvml_device *d, struct nvml_pci *out)
{
	return pci(d, "nvmlDeviceGetPciInfo", ".busId", out, 1);
}

int nvmlDeviceGetPciInfo_v3(struct nvml_device *d, struct nvml_pci *out)
{
	return pci(d, "nvmlDeviceGetPciInfo", ".busId", out, 1);
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct nvml_device *d, unsigned link, struct nvml_pci *out)
{
	char rest[32];

	snprintf(rest, sizeof(rest), "(%u).busId", link);
	return pci(d, "nvmlDeviceGetNvLinkRemotePciInfo", rest, out, 1);
}

int nvmlDeviceGetCurrentClocksEventReasons(struct nvml_device *d, unsigned long long *out)
{
	return nvmlDeviceGetCurrentClocksThrottleReasons(d, out);
}

int nvmlDeviceGetAddressingMode(struct nvml_device *d, struct nvml_versioned_uint *out)
{
	unsigned long long v = 0;
	int r = out->version == NVML_VERSION(sizeof(*out), 1)
			? number_into(d, "nvmlDeviceGetAddressingMode", ".value", &v)
			: NVML_ARGUMENT_VERSION_MISMATCH;

	out->value = (unsigned)v;
	return r;
}

int nvmlDeviceGetC2cModeInfoV(struct nvml_device *d, unsigned *enabled)
{
	unsigned long long v = 0;
	int r = number_into(d, "nvmlDeviceGetC2cModeInfo", ".isC2cEnabled", &v);

	*enabled = (unsigned)v;
	return r;
}

int nvmlDeviceGetTemperatureV(struct nvml_device *d, struct nvml_temperature *out)
{
	unsigned celsius = 0;
	int r = out->version == NVML_VERSION(sizeof(*out), 1)
			? nvmlDeviceGetTemperature(d, out->sensor, &celsius)
			: NVML_ARGUMENT_VERSION_MISMATCH;

	out->celsius = (int)celsius;
	return r;
}

int nvmlDeviceWorkloadPowerProfileGetCurrentProfiles(struct nvml_device *d,
						     struct nvml_power_profiles *out)
{
	static const char *const list[] = { ".requested", ".enforced", NULL };
	long long v[2] = { 0 };
	int r = out->version == NVML_VERSION(sizeof(*out), 1)
			? members(d, "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles", list, v)
			: NVML_ARGUMENT_VERSION_MISMATCH;

	out->requested[0] = (unsigned)v[0];
	out->enforced[0] = (unsigned)v[1];
	return r;
}

int nvmlDeviceGetMarginTemperature(struct nvml_device *d, struct nvml_versioned_int *out)
{
	unsigned long long v = 0;
	int r = number_into(d, "nvmlDeviceGetMarginTemperature", ".marginTemperature", &v);

	out->value = (int)v;
	return r;
}

int nvmlDeviceGetRemappedRows(struct nvml_device *d, unsigned *corrected, unsigned *uncorrected,
			      unsigned *pending, unsigned *failed)
{
	static const char *const list[] = { ".corrRows", ".uncRows", ".isPending",
					    ".failureOccurred", NULL };
	long long v[4] = { 0 };
	int r = members(d, "nvmlDeviceGetRemappedRows", list, v);

	*corrected = (unsigned)v[0];
	*uncorrected = (unsigned)v[1];
	*pending = (unsigned)v[2];
	*failed = (unsigned)v[3];
	return r;
}

/* Knows the second version of the structure only, like drivers before the third. */
int nvmlDeviceGetGpuFabricInfoV(struct nvml_device *d, struct nvml_fabric_v *out)
{
	static const char *const list[] = { ".state", ".status", ".cliqueId", ".healthMask", NULL };
	long long v[4] = { 0 };
	int r;

	if (out->version != NVML_VERSION(NVML_FABRIC_V2_SIZE, 2))
		return NVML_ARGUMENT_VERSION_MISMATCH;
	r = members(d, "nvmlDeviceGetGpuFabricInfo", list, v);
	out->state = (unsigned char)v[0];
	out->status = (unsigned)v[1];
	out->clique = (unsigned)v[2];
	out->health_mask = (unsigned)v[3];
	return r;
}

/*
 * The field of a number. "- numbering=575": the slowdowns are numbered as drivers of R575 do, where
 * what has their later numbers is a switch of the power smoothing, which answers in 32 bits.
 */
static size_t field_of(unsigned id, struct nvml_field *out)
{
	long long numbering = 0;
	size_t k = 0;

	(void)stub_int("-", "numbering", &numbering);
	for (; k < NVML_FIELD_NAMES; k++)
		if (id == (numbering == 575 && nvml_field_names[k].id_575
				   ? nvml_field_names[k].id_575
				   : nvml_field_names[k].id))
			break;
	if (k == NVML_FIELD_NAMES && numbering == 575 && id >= 256 && id <= 273) {
		out->value.u = 1;
		out->type = NVML_VALUE_UINT;
		out->result = NVML_SUCCESS;
	} else if (k == NVML_FIELD_NAMES) {
		out->result = NVML_NOT_SUPPORTED;
	}
	return k;
}

/* As drivers do, leaves what comes after a refused field of the GPU untouched, but never a first
 * one. */
int nvmlDeviceGetFieldValues(struct nvml_device *d, int n, struct nvml_field *values)
{
	char object[16], question[128], rest[64];
	int refused = 0, r = stub_enter(d, "nvmlDeviceGetFieldValues", "", object, question);

	for (int i = 0; r == NVML_SUCCESS && i < n && !refused; i++) {
		struct nvml_field *f = &values[i];
		size_t k = field_of(f->id, f);

		if (k == NVML_FIELD_NAMES)
			continue;
		if (nvml_field_names[k].scope && nvml_field_names[k].scope != f->scope) {
			f->result = NVML_NOT_SUPPORTED;
			continue;
		}
		snprintf(rest, sizeof(rest),
			 nvml_field_of_link(&nvml_field_names[k]) ? "(%s,%u)" : "(%s)",
			 nvml_field_names[k].name, f->scope);
		snprintf(question, sizeof(question), "nvmlDeviceGetFieldValues%s", rest);
		f->value.ll = 0;
		stub_note(object, question);
		f->result = stub_int(object, question, &f->value.ll);
		f->type = NVML_VALUE_LL;
		refused = f->result != NVML_SUCCESS;
	}
	return r;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *d, unsigned *n,
					    struct nvml_process *out)
{
	return processes(d, "nvmlDeviceGetComputeRunningProcesses", n, out, NULL);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(struct nvml_device *d, unsigned *n,
					     struct nvml_process *out)
{
	return processes(d, "nvmlDeviceGetGraphicsRunningProcesses", n, out, NULL);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(struct nvml_device *d, unsigned *n,
					       struct nvml_process *out)
{
	return processes(d, "nvmlDeviceGetMPSComputeRunningProcesses", n, out, NULL);
}
#endif
