/* SPDX-License-Identifier: Apache-2.0 */
/* The table of NVML's functions: what stands in for a missing one, and how it is filled. */
#include "machine/host/nvml.h"
#include "machine/host/vendor.h"

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

int nvml_load(struct nvml_api *api, void **lib)
{
	return vendor_open("libnvidia-ml.so.1", symbols, sizeof(symbols) / sizeof(symbols[0]), api,
			   lib);
}
