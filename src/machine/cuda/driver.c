/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the CUDA driver, its list of GPUs, contexts, and what its numbers mean in sentences. */
#include "machine/cuda/driver.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/cuda/guard.h"
#include "machine/host/vendor.h"

enum { VERSION_MIN = 11040 };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define CUDA_CALL(field, symbol, params)                                                           \
	static int missing_##field params                                                          \
	{                                                                                          \
		return CUDA_ERROR_NOT_FOUND;                                                       \
	}
#include "machine/cuda/driver.def"
#pragma GCC diagnostic pop

#define CUDA_CALL(field, symbol, params)                                                           \
	{ symbol, offsetof(struct cuda_calls, field), (void (*)(void))missing_##field },
static const struct vendor_symbol symbols[] = {
#include "machine/cuda/driver.def"
};

/* Number, errno, whether the context is dead afterwards, and our words where the driver's are poor.
 */
static const struct result {
	int number, error;
	bool deadly;
	const char *name, *words;
} results[] = {
	{ 1, EINVAL, false, "INVALID_VALUE", "invalid argument" },
	{ 2, ENOMEM, false, "OUT_OF_MEMORY", "out of memory" },
	{ 34, ELIBACC, false, "STUB_LIBRARY", "the library is a stub for linking, not a driver" },
	{ 46, EBUSY, false, "DEVICE_UNAVAILABLE",
	  "the GPU is in exclusive mode and in use, or prohibited" },
	{ 100, ENXIO, false, "NO_DEVICE", "no GPU is available to this process" },
	{ 101, ENXIO, false, "INVALID_DEVICE", "no such GPU" },
	{ 200, ENOEXEC, false, "INVALID_IMAGE", "invalid image of a GPU kernel" },
	{ 205, EIO, true, "MAP_FAILED", "mapping failed" },
	{ 214, EIO, true, "ECC_UNCORRECTABLE", "an uncorrectable ECC error in the GPU's memory" },
	{ 218, ENOEXEC, false, "INVALID_PTX", "the GPU kernel does not compile" },
	{ 220, EIO, true, "NVLINK_UNCORRECTABLE", "an uncorrectable NVLink error" },
	{ 222, ELIBBAD, false, "UNSUPPORTED_PTX_VERSION",
	  "the driver is too old for the GPU kernel's PTX" },
	{ 304, EACCES, false, "OPERATING_SYSTEM", "operating system error" },
	{ 500, ENOSYS, false, "NOT_FOUND", "the driver lacks this function" },
	{ 700, EIO, true, "ILLEGAL_ADDRESS", "illegal memory access by a kernel" },
	{ 702, EIO, true, "LAUNCH_TIMEOUT", "kernel timeout" },
	{ 709, EIO, true, "CONTEXT_IS_DESTROYED", "context destroyed" },
	{ 710, EIO, true, "ASSERT", "device-side assert" },
	{ 714, EIO, true, "HARDWARE_STACK_ERROR", "a hardware stack error" },
	{ 715, EIO, true, "ILLEGAL_INSTRUCTION", "illegal instruction in a kernel" },
	{ 716, EIO, true, "MISALIGNED_ADDRESS", "misaligned address in a kernel" },
	{ 717, EIO, true, "INVALID_ADDRESS_SPACE", "invalid address space in a kernel" },
	{ 718, EIO, true, "INVALID_PC", "invalid program counter in a kernel" },
	{ 719, EIO, true, "LAUNCH_FAILED", "kernel launch failed" },
	{ 721, EIO, true, "TENSOR_MEMORY_LEAK", "tensor memory was not released" },
	{ 800, EACCES, false, "NOT_PERMITTED", "not permitted" },
	{ 801, EOPNOTSUPP, false, "NOT_SUPPORTED", "not supported" },
	{ 802, EAGAIN, false, "SYSTEM_NOT_READY",
	  "the system is not ready; on NVSwitch machines Fabric Manager must run" },
	{ 803, ELIBBAD, false, "SYSTEM_DRIVER_MISMATCH",
	  "driver library and kernel module have different versions" },
	{ 804, ELIBBAD, false, "COMPAT_NOT_SUPPORTED_ON_DEVICE",
	  "the compatibility library does not support this GPU" },
	{ 999, EIO, true, "UNKNOWN", "unknown driver error" },
};

static const struct result *find_result(int number)
{
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i].number == number)
			return &results[i];
	return NULL;
}

/* "CUDA_ERROR_OUT_OF_MEMORY (2), out of memory" */
static void result_text(const struct cuda_calls *api, int result, char *out, size_t size)
{
	const struct result *r = find_result(result);
	const char *name = NULL, *words = NULL;

	if (r) {
		snprintf(out, size, "CUDA_ERROR_%s (%d), %s", r->name, result, r->words);
		return;
	}
	if (api->error_name(result, &name) || !name)
		name = "CUDA's error";
	if (api->error_string(result, &words) || !words)
		words = "unknown";
	snprintf(out, size, "%s (%d), %s", name, result, words);
}

int cuda_well(const struct cuda_gpu *g, struct err *e)
{
	return *g->lost ? err_set(e, -EIO, "GPU %s is lost: %s", g->pci, g->lost) : 0;
}

int cuda_lose(struct cuda_gpu *g, struct err *e, const char *why)
{
	if (!*g->lost)
		snprintf(g->lost, sizeof(g->lost), "%s", why);
	err_set(e, -EIO, "GPU %s is lost: %s", g->pci, g->lost);
	err_hint(e,
		 "check the kernel log for NVRM: Xid, and whether nvidia-smi still lists the GPU");
	return -EIO;
}

int cuda_check(struct cuda_gpu *g, int result, struct err *e, const char *fmt, ...)
{
	const struct result *r = find_result(result);
	char what[200], text[200];
	va_list ap;

	if (!result)
		return 0;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	result_text(g->api, result, text, sizeof(text));
	if (r && r->deadly) {
		char why[sizeof(g->lost)];

		snprintf(why, sizeof(why), "%.100s: %.150s", what, text);
		cuda_lose(g, e, why);
		return -r->error;
	}
	return err_set(e, r ? -r->error : -EIO, "GPU %s: %s: %s", g->pci, what, text);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int attribute(const struct cuda_gpu *g, int number)
{
	int v = 0;

	return g->api->device_attribute(&v, number, g->device) == 0 && v > 0 ? v : 0;
}

static void read_names(struct cuda_gpu *g)
{
	unsigned char id[16] = { 0 };
	char at[24] = "", *w = g->uuid;
	unsigned domain, bus, slot, function = 0;

	if (g->api->device_name(g->name, sizeof(g->name), g->device))
		snprintf(g->name, sizeof(g->name), "unnamed GPU");
	g->name[sizeof(g->name) - 1] = '\0';
	if (g->api->device_uuid(id, g->device) == 0 ||
	    g->api->device_uuid_old(id, g->device) == 0) {
		w += snprintf(w, 8, "%s", "GPU-");
		for (size_t i = 0; i < sizeof(id); i++)
			w += snprintf(w, 5,
				      i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
				      (unsigned)id[i]);
	}
	if (g->api->device_pci(at, sizeof(at) - 1, g->device) == 0 &&
	    sscanf(at, "%x:%x:%x.%x", &domain, &bus, &slot, &function) >= 3)
		snprintf(g->pci, sizeof(g->pci), "%04x:%02x:%02x.%x", domain & 0xffffffu,
			 bus & 0xffu, slot & 0xffu, function & 0xfu);
	else
		snprintf(g->pci, sizeof(g->pci), "number %d", g->ordinal);
}

static void read_gpu(struct cuda_gpu *g)
{
	read_names(g);
	g->slice = strstr(g->name, " MIG ") != NULL;
	if (g->slice && *g->uuid)
		memcpy(g->uuid, "MIG", 3);
	g->cc_major = attribute(g, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	g->cc_minor = attribute(g, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	g->sms = attribute(g, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	g->copy_engines = attribute(g, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
	g->integrated = attribute(g, CU_DEVICE_ATTRIBUTE_INTEGRATED);
	g->memory_khz = attribute(g, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
	g->bus_bits = attribute(g, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
	g->l2_bytes = (size_t)attribute(g, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
	if (g->api->device_attribute(&g->host_node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, g->device))
		g->host_node = -1;
	if (g->api->device_memory(&g->memory_bytes, g->device))
		g->memory_bytes = 0;
}

static int driver_no_gpu(int result, const struct cuda *c, struct err *e)
{
	const struct result *r = find_result(result);
	char text[200];

	result_text(&c->api, result, text, sizeof(text));
	err_set(e, r ? -r->error : -EIO, "the NVIDIA driver failed to initialize: %s", text);
	if (result == CUDA_ERROR_NO_DEVICE && getenv("CUDA_VISIBLE_DEVICES"))
		err_hint(e, "CUDA_VISIBLE_DEVICES is \"%.60s\"", getenv("CUDA_VISIBLE_DEVICES"));
	else if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
		err_hint(e, "the driver was updated: load the new kernel module, or reboot");
	else if (result == CUDA_ERROR_SYSTEM_NOT_READY)
		err_hint(e, "systemctl status nvidia-fabricmanager");
	return r ? -r->error : -EIO;
}

/* What the driver may start threads of its own for. */
struct starting {
	const struct cuda_calls *api;
	int device, result;
	struct cuda_context *context;
};

static void initialise(void *ctx)
{
	struct starting *s = ctx;

	s->result = s->api->init(0);
}

static void retain(void *ctx)
{
	struct starting *s = ctx;

	s->result = s->api->primary_retain(&s->context, s->device);
}

static int list_gpus(struct cuda *c, struct err *e)
{
	struct starting s = { .api = &c->api };
	int n = 0, r;

	vendor_call(initialise, &s);
	r = s.result;
	if (r == 0)
		r = c->api.device_count(&n);
	if (r == 0 && n <= 0)
		r = CUDA_ERROR_NO_DEVICE;
	if (r)
		return driver_no_gpu(r, c, e);
	for (int i = 0; i < n && i < CUDA_GPUS_MAX; i++) {
		struct cuda_gpu *g = &c->gpu[c->n];

		*g = (struct cuda_gpu){ .cuda = c, .api = &c->api, .ordinal = i };
		if (c->api.device_get(&g->device, i))
			continue;
		read_gpu(g);
		c->n++;
	}
	return c->n ? 0 : err_set(e, -ENXIO, "the NVIDIA driver cannot open any of its %d GPUs", n);
}

void cuda_environment(void)
{
	/* Compiled kernels would be left behind in the user's home. */
	if (!getenv("CUDA_CACHE_DISABLE"))
		setenv("CUDA_CACHE_DISABLE", "1", 0);
}

static int open_guarded(struct cuda *c, struct err *e)
{
	*c = (struct cuda){ 0 };
	cuda_environment();
	if (vendor_open("libcuda.so.1", symbols, sizeof(symbols) / sizeof(symbols[0]), &c->api,
			&c->lib)) {
		err_set(e, -ELIBACC, "there is no NVIDIA driver: libcuda.so.1 was not found");
		err_hint(e,
			 "in a container the driver's libraries come from the container runtime");
		return -ELIBACC;
	}
	if (c->api.driver_version(&c->version) || c->version < VERSION_MIN)
		return err_set(e, -ELIBBAD,
			       "the NVIDIA driver is too old: it supports CUDA %d.%d; CUDA %d.%d "
			       "is required",
			       c->version / 1000, c->version % 1000 / 10, VERSION_MIN / 1000,
			       VERSION_MIN % 1000 / 10);
	return list_gpus(c, e);
}

int cuda_open(struct cuda *c, struct err *e)
{
	struct cuda_guard guard;
	int r;

	cuda_guard_begin(&guard, CUDA_GUARD_S, "initializing the NVIDIA driver");
	r = open_guarded(c, e);
	cuda_guard_end(&guard);
	return r;
}

void cuda_close(struct cuda *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->gpu[i].context && !*c->gpu[i].lost)
			c->api.primary_release(c->gpu[i].device);
		c->gpu[i].context = NULL;
	}
}

/* --- contexts --------------------------------------------------------------------------------- */

int cuda_use(struct cuda_gpu *g, struct err *e)
{
	struct starting s = { .api = g->api, .device = g->device };
	int r = cuda_well(g, e);

	if (r == 0 && !g->context) {
		vendor_call(retain, &s);
		r = cuda_check(g, s.result, e, "creating a context");
		if (r == 0)
			g->context = s.context;
	}
	return r ? r : cuda_check(g, g->api->context_set(g->context), e, "activating a context");
}

static int peer_one_way(struct cuda_gpu *g, struct cuda_gpu *other, struct err *e)
{
	int can = 0, r;

	if (g->api->device_can_peer(&can, g->device, other->device) || !can)
		return err_set(e, -EOPNOTSUPP, "GPU %s has no peer access to GPU %s", g->pci,
			       other->pci);
	r = cuda_use(g, e);
	if (r)
		return r;
	r = g->api->context_peer(other->context, 0);
	if (r == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
		r = 0;
	return cuda_check(g, r, e, "enabling peer access to GPU %s", other->pci);
}

int cuda_peer(struct cuda_gpu *g, struct cuda_gpu *other, struct err *e)
{
	int r = cuda_use(other, e);

	r = r ? r : cuda_use(g, e);
	r = r ? r : peer_one_way(other, g, e);
	return r ? r : peer_one_way(g, other, e);
}
