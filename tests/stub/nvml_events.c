/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's events, of which the stub has one kind: after "stub event_after=MS" of waiting something
 * happens to the first GPU that was enlisted; without it nothing ever does. With "stub
 * event_lost=1" that is its falling off the bus. */
#include <stdbool.h>
#include <time.h>

#include "machine/host/nvml.h"
#include "nvml.h"
#include "stub.h"

struct nvml_event_set {
	struct nvml_device *first;
	unsigned long long types;
	/* Who waits is a thread that may be here after the stand-in was told another machine. */
	long long after_ms;
	bool lost;
};

struct nvml_event {
	struct nvml_device *device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};

int nvmlDeviceGetSupportedEventTypes(struct nvml_device *d, unsigned long long *out);
int nvmlEventSetCreate(struct nvml_event_set **out);
int nvmlDeviceRegisterEvents(struct nvml_device *d, unsigned long long types,
			     struct nvml_event_set *set);
int nvmlEventSetWait_v2(struct nvml_event_set *set, struct nvml_event *out, unsigned ms);

int nvmlDeviceGetSupportedEventTypes(struct nvml_device *d, unsigned long long *out)
{
	long long v = 0;
	int r = stub_number(d, "nvmlDeviceGetSupportedEventTypes", "", &v);

	*out = (unsigned long long)v;
	return r;
}

int nvmlEventSetCreate(struct nvml_event_set **out)
{
	/* Enough for a process, and never freed. */
	static struct nvml_event_set sets[64];
	static unsigned n;

	*out = &sets[n++ % (sizeof(sets) / sizeof(sets[0]))];
	**out = (struct nvml_event_set){ .after_ms = stub_setting("event_after", -1),
					 .lost = stub_setting("event_lost", 0) == 1 };
	return NVML_SUCCESS;
}

int nvmlDeviceRegisterEvents(struct nvml_device *d, unsigned long long types,
			     struct nvml_event_set *set)
{
	unsigned long long known = 0;
	int r = nvmlDeviceGetSupportedEventTypes(d, &known);

	if (r || types & ~known)
		return r ? r : NVML_NOT_SUPPORTED;
	if (!set->first)
		set->first = d;
	set->types |= types;
	return NVML_SUCCESS;
}

#ifndef STUB_OLD
int nvmlEventSetWait_v2(struct nvml_event_set *set, struct nvml_event *out, unsigned ms)
{
	bool happens = set->after_ms >= 0 && set->after_ms < ms && set->first;
	long long wait = happens ? set->after_ms : ms;
	struct timespec t = { .tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000 };

	nanosleep(&t, NULL);
	if (!happens)
		return NVML_TIMEOUT;
	if (set->lost)
		return NVML_GPU_IS_LOST;
	*out = (struct nvml_event){ .device = set->first, .type = set->types };
	return NVML_SUCCESS;
}
#endif
