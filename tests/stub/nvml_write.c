/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setting a GPU of the stub. What is set is what the getters answer from then on; a clock lock,
 * which has no getter, moves the clock that a GPU at rest shows. stub.h says how GPUs are made that
 * clamp, refuse or forget.
 */
#include "nvml.h"

#include <stdio.h>

#include "machine/host/nvml.h"
#include "stub.h"

/* NVML_FN is needed for the prototypes alone. */
#define NVML_FN(name, params) int name params;
#define NVML_UINT(name)
#define NVML_UINT_OF(name, args)
#define NVML_TEXT(name)
#define NVML_PAIR(name, a, b)
#include "machine/host/nvml.def"

static const char sm_clock[] = "nvmlDeviceGetClockInfo(SM)",
		  graphics_clock[] = "nvmlDeviceGetClockInfo(GRAPHICS)",
		  mem_clock[] = "nvmlDeviceGetClockInfo(MEM)", lock_age[] = "stub lock age";

static int setters;

/* How many of them were called since the library was opened: tests count with it. */
int gputune_stub_setters(void);
int gputune_stub_setters(void)
{
	return setters;
}

/* The result of a setter that is refused, 0 otherwise; object is the GPU's. */
static int enter(struct nvml_device *d, const char *name, char object[16])
{
	char question[128], refuse[128];
	int r = stub_enter(d, name, "", object, question);

	setters++;
	snprintf(refuse, sizeof(refuse), "refuse(%s)", name);
	return r ? r : stub_error(refuse);
}

/* A setter whose getter answers it; a GPU without the getter does not have the setter either. */
static int set(struct nvml_device *d, const char *name, const char *getter, unsigned v,
	       unsigned max)
{
	char object[16];
	long long old;
	int r = enter(d, name, object);

	if (r == NVML_SUCCESS)
		r = stub_int(object, getter, &old);
	if (r == NVML_SUCCESS && v > max)
		r = NVML_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		stub_set_int(object, getter, v);
	return r;
}

int nvmlDeviceSetPersistenceMode(struct nvml_device *d, unsigned mode)
{
	int r = set(d, "nvmlDeviceSetPersistenceMode", "nvmlDeviceGetPersistenceMode", mode, 1);

	if (r == NVML_SUCCESS && !mode && stub_setting("coherent", 0))
		stub_make_stale(d);
	return r;
}

int nvmlDeviceSetAccountingMode(struct nvml_device *d, unsigned mode)
{
	return set(d, "nvmlDeviceSetAccountingMode", "nvmlDeviceGetAccountingMode", mode, 1);
}

int nvmlDeviceSetComputeMode(struct nvml_device *d, unsigned mode)
{
	return set(d, "nvmlDeviceSetComputeMode", "nvmlDeviceGetComputeMode", mode, 3);
}

int nvmlDeviceSetPowerManagementLimit(struct nvml_device *d, unsigned mw)
{
	static const char limits[] = "nvmlDeviceGetPowerManagementLimitConstraints";
	char object[16], least[96], most[96];
	long long min = 0, max = 0;
	int r = enter(d, "nvmlDeviceSetPowerManagementLimit", object);

	snprintf(least, sizeof(least), "%s.minLimit", limits);
	snprintf(most, sizeof(most), "%s.maxLimit", limits);
	if (r == NVML_SUCCESS)
		r = stub_int(object, least, &min);
	if (r == NVML_SUCCESS)
		r = stub_int(object, most, &max);
	if (r)
		return r;
	if (mw < min || mw > max) {
		if (!stub_setting("clamps", 0))
			return NVML_INVALID_ARGUMENT;
		mw = (unsigned)(mw < min ? min : max);
	}
	stub_set_int(object, "nvmlDeviceGetPowerManagementLimit", mw);
	return NVML_SUCCESS;
}

/* Moves a resting GPU's clock into the range. */
static void move(const char *object, const char *clock, long long min, long long max)
{
	long long now;

	stub_forget(object, clock);
	if (stub_own_int(object, clock, &now) == NVML_SUCCESS && (now < min || now > max))
		stub_set_int(object, clock, now < min ? min : max);
}

static int lock(struct nvml_device *d, const char *name, const char *limit,
		const char *const clocks[2], unsigned min, unsigned max)
{
	char object[16];
	long long highest = 0;
	int r = enter(d, name, object);

	if (r == NVML_SUCCESS)
		r = stub_int(object, limit, &highest);
	if (r)
		return r;
	if (min > max)
		return NVML_INVALID_ARGUMENT;
	if (max > highest) {
		if (!stub_setting("clamps", 0))
			return NVML_INVALID_ARGUMENT;
		max = (unsigned)highest;
		min = min < max ? min : max;
	}
	for (int i = 0; i < 2 && clocks[i]; i++)
		move(object, clocks[i], min, max);
	stub_set_int(object, lock_age, 0);
	return NVML_SUCCESS;
}

static int unlock(struct nvml_device *d, const char *name, const char *const clocks[2])
{
	char object[16];
	int r = enter(d, name, object);

	for (int i = 0; r == NVML_SUCCESS && i < 2 && clocks[i]; i++)
		stub_forget(object, clocks[i]);
	return r;
}

static const char *const sm_clocks[2] = { sm_clock, graphics_clock };

int nvmlDeviceSetGpuLockedClocks(struct nvml_device *d, unsigned min_mhz, unsigned max_mhz)
{
	return lock(d, "nvmlDeviceSetGpuLockedClocks", "nvmlDeviceGetMaxClockInfo(SM)", sm_clocks,
		    min_mhz, max_mhz);
}

int nvmlDeviceResetGpuLockedClocks(struct nvml_device *d)
{
	return unlock(d, "nvmlDeviceResetGpuLockedClocks", sm_clocks);
}

#ifndef STUB_OLD
static const char *const mem_clocks[2] = { mem_clock, NULL };

int nvmlDeviceSetMemoryLockedClocks(struct nvml_device *d, unsigned min_mhz, unsigned max_mhz)
{
	return lock(d, "nvmlDeviceSetMemoryLockedClocks", "nvmlDeviceGetMaxClockInfo(MEM)",
		    mem_clocks, min_mhz, max_mhz);
}

int nvmlDeviceResetMemoryLockedClocks(struct nvml_device *d)
{
	return unlock(d, "nvmlDeviceResetMemoryLockedClocks", mem_clocks);
}
#endif

void stub_time_passes(unsigned index)
{
	long long after = stub_setting("forgets_after", 0), age;
	char object[16];

	snprintf(object, sizeof(object), "%u", index);
	if (!after || stub_int(object, lock_age, &age) != NVML_SUCCESS)
		return;
	if (age < after) {
		stub_set_int(object, lock_age, age + 1);
		return;
	}
	stub_forget(object, lock_age);
	stub_forget(object, sm_clock);
	stub_forget(object, graphics_clock);
	stub_forget(object, mem_clock);
}

void stub_shut(unsigned gpus)
{
	long long on = 0;
	char object[16];

	for (unsigned i = 0; stub_setting("unloads", 0) && i < gpus; i++) {
		snprintf(object, sizeof(object), "%u", i);
		if (stub_int(object, "nvmlDeviceGetPersistenceMode", &on) || !on)
			stub_forget_all(object);
	}
}
