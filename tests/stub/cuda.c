/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 that answers from the same description: the object is a GPU's PCI address, the
 * question "cuDeviceGetAttribute(116)". Devices are numbered in the order in which they are asked
 * for.
 */
#include "machine/host/cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine/host/nvml.h"
#include "stub.h"

#define CUDA_FN(name, params) int name params;
#include "machine/host/cuda.def"

static char addresses[64][32];
static int initialised;

/* The driver has a thread that waits for events, with the signal mask of its caller. */
static void *events(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int cuInit(unsigned flags)
{
	static int begun;
	pthread_t thread;

	(void)flags;
	if (!begun && pthread_create(&thread, NULL, events, NULL) == 0) {
		begun = 1;
		pthread_detach(thread);
	}
	stub_load();
	memset(addresses, 0, sizeof(addresses));
	initialised = stub_error("init") == NVML_SUCCESS;
	return initialised ? CUDA_SUCCESS : CUDA_NO_DEVICE;
}

int cuDriverGetVersion(int *out)
{
	long long v = 0;

	if (!initialised)
		stub_load();
	if (stub_int("", "nvmlSystemGetCudaDriverVersion", &v))
		return CUDA_UNKNOWN;
	*out = (int)v;
	return CUDA_SUCCESS;
}

int cuDeviceGetByPCIBusId(int *device, const char *address)
{
	int i = 0;

	if (!initialised || !stub_has(address))
		return CUDA_INVALID_DEVICE;
	while (i < 63 && addresses[i][0] && strcmp(addresses[i], address) != 0)
		i++;
	snprintf(addresses[i], sizeof(addresses[i]), "%s", address);
	*device = i;
	return CUDA_SUCCESS;
}

int cuDeviceGetAttribute(int *out, int attribute, int device)
{
	char question[64];
	long long v = 0;

	if (device < 0 || device >= 64 || !addresses[device][0])
		return CUDA_INVALID_DEVICE;
	snprintf(question, sizeof(question), "cuDeviceGetAttribute(%d)", attribute);
	if (stub_int(addresses[device], question, &v))
		return CUDA_INVALID_VALUE;
	*out = (int)v;
	return CUDA_SUCCESS;
}
