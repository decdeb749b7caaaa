/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider "cuda". Object "" answers cuDriverGetVersion, which needs no device. A GPU's PCI
 * address answers cuDeviceGetAttribute(N), N being the number of the CUdevice_attribute. That
 * initialises the driver library (a noticeable part of a second), so it is asked for rarely; no
 * context is ever created.
 */
#include "machine/host/cuda.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine/host/ask.h"
#include "machine/host/vendor.h"

enum { ATTRIBUTES_MAX = 4096 };

struct cuda {
	struct cuda_api api;
	void *lib;
	int error;		 /* negative errno of loading */
	int initialised, result; /* whether cuInit was called, and what it gave */
	char address[32];	 /* the device asked about last */
	int device, device_result;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define CUDA_FN(name, params)                                                                      \
	static int missing_##name params                                                           \
	{                                                                                          \
		return CUDA_NOT_FOUND;                                                             \
	}
#include "machine/host/cuda.def"
#pragma GCC diagnostic pop

#define CUDA_FN(name, params)                                                                      \
	{ #name, offsetof(struct cuda_api, name), (void (*)(void))missing_##name },
static const struct vendor_symbol symbols[] = {
#include "machine/host/cuda.def"
};

static int cuda_errno(int result)
{
#define CUDA_RESULT_ROW(name, number, error) { (number), (error) },
	static const struct {
		int number, error;
	} rows[] = { CUDA_RESULTS(CUDA_RESULT_ROW) };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].number == result)
			return -rows[i].error;
	return -EIO;
}

/* The number in "cuDeviceGetAttribute(116)"; -EINVAL for anything else. */
static int attribute_of(const char *field)
{
	static const char name[] = "cuDeviceGetAttribute(";
	const char *s = field + sizeof(name) - 1;
	int n = 0;

	if (strncmp(field, name, sizeof(name) - 1) != 0 || *s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9' && n < ATTRIBUTES_MAX; s++)
		n = n * 10 + (*s - '0');
	return strcmp(s, ")") == 0 && n < ATTRIBUTES_MAX ? n : -EINVAL;
}

static void initialise(void *ctx)
{
	struct cuda *c = ctx;

	c->result = c->api.cuInit(0);
}

static int find_device(struct cuda *c, const char *address)
{
	if (!c->initialised) {
		c->initialised = 1;
		vendor_call(initialise, c);
	}
	if (c->result)
		return c->result;
	if (strcmp(c->address, address) != 0) {
		if (strlen(address) >= sizeof(c->address))
			return CUDA_INVALID_VALUE;
		strcpy(c->address, address);
		c->device_result = c->api.cuDeviceGetByPCIBusId(&c->device, address);
	}
	return c->device_result;
}

static int cuda_ask(void **state, struct arena *a, const char *object, const char *field,
		    struct answer *out)
{
	struct cuda *c = *state;
	int attribute, r, v = 0;

	(void)a;
	if (!c) {
		c = *state = heap_array(1, sizeof(*c));
		c->error = vendor_open("libcuda.so.1", symbols,
				       sizeof(symbols) / sizeof(symbols[0]), &c->api, &c->lib);
	}
	if (c->error)
		return c->error;
	if (!*object) {
		if (strcmp(field, "cuDriverGetVersion") != 0)
			return -EINVAL;
		r = c->api.cuDriverGetVersion(&v);
	} else {
		attribute = attribute_of(field);
		if (attribute < 0)
			return attribute;
		r = find_device(c, object);
		if (r == 0)
			r = c->api.cuDeviceGetAttribute(&v, attribute, c->device);
	}
	if (r == 0)
		answer_int(out, v);
	return cuda_errno(r);
}

static void cuda_close(void *state)
{
	/* The library stays mapped: it may have started threads, and the process is about to end.
	 */
	free(state);
}

const struct provider provider_cuda = {
	.api = "cuda",
	.ask = cuda_ask,
	.close = cuda_close,
};
