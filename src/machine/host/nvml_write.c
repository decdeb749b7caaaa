/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be told to a GPU through NVML: under the question that reads it back, or, for the two
 * clock locks that NVML never answers about, under the setter's own name. Everything told here is
 * forgotten by the driver when it unloads; without persistence mode that is when its last client
 * goes.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/nvml_gpu.h"

struct setter {
	const char *field;
	/* The smallest and largest value NVML has a meaning for; the board's own limits are the
	 * driver's matter. */
	long long min, max;
	size_t slot, reset; /* in struct nvml_api */
	bool range;	    /* "MIN,MAX", and "" calls reset */
};

#define SLOT(name) offsetof(struct nvml_api, name)

static const struct setter setters[] = {
	{ "nvmlDeviceGetPersistenceMode", 0, 1, .slot = SLOT(nvmlDeviceSetPersistenceMode) },
	{ "nvmlDeviceGetAccountingMode", 0, 1, .slot = SLOT(nvmlDeviceSetAccountingMode) },
	{ "nvmlDeviceGetComputeMode", 0, 3, .slot = SLOT(nvmlDeviceSetComputeMode) },
	{ "nvmlDeviceGetPowerManagementLimit", 1, UINT_MAX,
	  .slot = SLOT(nvmlDeviceSetPowerManagementLimit) },
	/* Megahertz: the largest numbers stand for symbols in NVML and are not passed on. */
	{ "nvmlDeviceSetGpuLockedClocks", 0, 1000000, .slot = SLOT(nvmlDeviceSetGpuLockedClocks),
	  .reset = SLOT(nvmlDeviceResetGpuLockedClocks), .range = true },
	{ "nvmlDeviceSetMemoryLockedClocks", 0, 1000000,
	  .slot = SLOT(nvmlDeviceSetMemoryLockedClocks),
	  .reset = SLOT(nvmlDeviceResetMemoryLockedClocks), .range = true },
};
enum { SETTERS = sizeof(setters) / sizeof(setters[0]) };

typedef int value_fn(struct nvml_device *, unsigned);
typedef int range_fn(struct nvml_device *, unsigned, unsigned);
typedef int reset_fn(struct nvml_device *);

static int tell_value(struct nvml_gpu *g, const struct setter *s, long long value)
{
	value_fn *fn;

	if (value < s->min || value > s->max)
		return -EINVAL;
	memcpy(&fn, (const char *)&g->nvml->api + s->slot, sizeof(fn));
	return nvml_errno(fn(g->dev, (unsigned)value));
}

/* "MIN,MAX" without signs and blanks. */
static int split_range(const struct setter *s, const char *text, long long out[2])
{
	const char *comma = strchr(text, ',');
	char min[16];
	size_t n = comma ? (size_t)(comma - text) : sizeof(min);

	if (n >= sizeof(min) || text[strspn(text, "0123456789,")])
		return -EINVAL;
	memcpy(min, text, n);
	min[n] = '\0';
	if (parse_i64(min, &out[0]) || parse_i64(comma + 1, &out[1]))
		return -EINVAL;
	return out[0] < s->min || out[1] > s->max || out[0] > out[1] || out[1] == 0 ? -EINVAL : 0;
}

static int tell_range(struct nvml_gpu *g, const struct setter *s, const char *text)
{
	long long v[2];
	reset_fn *reset;
	range_fn *fn;
	int r;

	if (!*text) {
		memcpy(&reset, (const char *)&g->nvml->api + s->reset, sizeof(reset));
		return nvml_errno(reset(g->dev));
	}
	r = split_range(s, text, v);
	if (r)
		return r;
	memcpy(&fn, (const char *)&g->nvml->api + s->slot, sizeof(fn));
	return nvml_errno(fn(g->dev, (unsigned)v[0], (unsigned)v[1]));
}

int nvml_tell_gpu(struct nvml_gpu *g, const char *field, const struct answer *value)
{
	const struct setter *s = NULL;
	int r;

	for (size_t i = 0; i < SETTERS; i++)
		if (strcmp(setters[i].field, field) == 0)
			s = &setters[i];
	if (!s)
		return -EOPNOTSUPP;
	if (value->kind != (s->range ? ANSWER_TEXT : ANSWER_INT))
		return -EINVAL;
	if (g->result)
		return nvml_errno(g->result);
	r = s->range ? tell_range(g, s, value->text) : tell_value(g, s, value->i);
	/* Whatever came of it. And a GPU whose memory is a NUMA node of the host loses its handle
	 * when persistence mode goes off. */
	nvml_gpu_renew(g);
	return r;
}
