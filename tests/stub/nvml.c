/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnvidia-ml.so.1 that answers from a description (stub.h). Functions of a common shape are
 * made by nvml.def, the others stand here, in nvml_structs.c and nvml_write.c. Built a second time
 * with STUB_OLD, without what newer libraries added.
 */
#include "nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/host/nvml.h"
#include "stub.h"

struct nvml_device {
	unsigned index;
	long long calls;
	int stale; /* the handle has to be got again */
	int slice; /* of MIG: its number, from 1; 0: a GPU */
};

static struct nvml_device devices[NVML_GPUS_MAX], slices[NVML_GPUS_MAX][NVML_SLICES_MAX];
static _Atomic int calls; /* GPUs are attached to from several threads */
static int initialised;

/* How many functions were called since the library was opened: tests count with it. */
int gputune_stub_calls(void);
int gputune_stub_calls(void)
{
	return calls;
}

/* What was asked since the library was opened: a question with its arguments costs a call each
 * time. */
static struct {
	char key[144];
	int n;
} asked[4096];
static int n_asked;

void stub_note(const char *object, const char *question)
{
	char key[144];
	int i = 0;

	snprintf(key, sizeof(key), "%.15s %.127s", object, question);
	while (i < n_asked && strcmp(asked[i].key, key) != 0)
		i++;
	if (i == (int)(sizeof(asked) / sizeof(asked[0])))
		return;
	if (i == n_asked)
		snprintf(asked[n_asked++].key, sizeof(asked[0].key), "%s", key);
	asked[i].n++;
}

/* The first question that was asked more than once, "" when none was: tests look at it. */
const char *gputune_stub_repeated(void);
const char *gputune_stub_repeated(void)
{
	for (int i = 0; i < n_asked; i++)
		/* Once more it tells the driver's numbering of fields. */
		if (asked[i].n > 1 + (strstr(asked[i].key, NVML_FIELD_RENUMBERED) != NULL))
			return asked[i].key;
	return "";
}

static void plain_name(const char *name, char *buf, size_t size)
{
	char *v;

	snprintf(buf, size, "%s", name);
	v = strrchr(buf, '_');
	if (v && v[1] == 'v')
		*v = '\0';
}

int stub_enter(struct nvml_device *d, const char *name, const char *rest, char object[16],
	       char question[128])
{
	char plain[96];

	calls++;
	if (!initialised)
		return NVML_UNINITIALIZED;
	if (!d || d->stale)
		return NVML_INVALID_ARGUMENT;
	if (stub_setting("lost_gpu", -1) == d->index && d->calls++ >= stub_setting("lost_after", 0))
		return NVML_GPU_IS_LOST;
	stub_time_passes(d->index);
	plain_name(name, plain, sizeof(plain));
	snprintf(object, 16, "%u", d->index);
	snprintf(question, 128, "%s%s", plain, rest);
	/* Of field values each one counts, where it is answered. */
	if (strcmp(question, "nvmlDeviceGetFieldValues") != 0)
		stub_note(object, question);
	return NVML_SUCCESS;
}

int stub_number(struct nvml_device *d, const char *name, const char *rest, long long *out)
{
	char object[16], question[128];
	int r = stub_enter(d, name, rest, object, question);

	return r ? r : stub_int(object, question, out);
}

unsigned stub_index(const struct nvml_device *d)
{
	return d->index;
}

void stub_make_stale(struct nvml_device *d)
{
	d->stale = 1;
}

static int get_uint(struct nvml_device *d, const char *name, const char *rest, unsigned *out)
{
	long long v = 0;
	int r = stub_number(d, name, rest, &v);

	if (r == NVML_SUCCESS)
		*out = (unsigned)v;
	return r;
}

static int get_uint_of(struct nvml_device *d, const char *name, const struct nvml_args *args,
		       unsigned arg, unsigned *out)
{
	char rest[64];

	if (args->numbers)
		snprintf(rest, sizeof(rest), "(%u)", arg);
	else if (arg < args->n)
		snprintf(rest, sizeof(rest), "(%s)", args->names[arg]);
	else
		return NVML_INVALID_ARGUMENT;
	return get_uint(d, name, rest, out);
}

/* What the description says of a slice, "16 9984 1 1 NAME": its numbers, and its name. */
int stub_slice(struct nvml_device *d, unsigned long long v[4], char *name, unsigned size)
{
	char object[16], question[128], rest[16], text[256], *at = text;
	int r;

	snprintf(rest, sizeof(rest), "(%d)", d->slice - 1);
	r = d->slice ? stub_enter(d, "nvmlDeviceGetMigDevice", rest, object, question)
		     : NVML_NOT_SUPPORTED;
	if (r == NVML_SUCCESS)
		r = stub_text(object, question, text, sizeof(text));
	for (int i = 0; r == NVML_SUCCESS && i < 4; i++)
		v[i] = strtoull(at, &at, 10);
	if (r == NVML_SUCCESS && name)
		snprintf(name, size, "%s", at + (*at == ' '));
	return r;
}

int stub_is_slice(const struct nvml_device *d)
{
	return d->slice != 0;
}

static int get_text(struct nvml_device *d, const char *name, char *text, unsigned size)
{
	char object[16], question[128], rest[16] = "";
	unsigned long long v[4];
	int r;

	if (d && d->slice && strcmp(name, "nvmlDeviceGetName") == 0)
		return stub_slice(d, v, text, size);
	if (d && d->slice)
		snprintf(rest, sizeof(rest), "(%d)", d->slice - 1);
	r = stub_enter(d, d && d->slice ? "nvmlDeviceGetMigDeviceUUID" : name, rest, object,
		       question);
	return r ? r : stub_text(object, question, text, size);
}

static int get_pair(struct nvml_device *d, const char *name, const char *a, const char *b,
		    unsigned *first, unsigned *second)
{
	char object[16], question[128];
	long long v = 0;
	int r = get_uint(d, name, a, first);

	if (r)
		return r;
	snprintf(object, sizeof(object), "%u", d->index);
	snprintf(question, sizeof(question), "%s%s", name, b);
	r = stub_int(object, question, &v);
	*second = (unsigned)v;
	return r;
}

#define NVML_FN(name, params) int name params;
#define NVML_UINT(name) NVML_FN(name, (struct nvml_device * d, unsigned *out))
#define NVML_UINT_OF(name, args)                                                                   \
	NVML_FN(name, (struct nvml_device * d, unsigned arg, unsigned *out))
#define NVML_TEXT(name) NVML_FN(name, (struct nvml_device * d, char *text, unsigned size))
#define NVML_PAIR(name, a, b)                                                                      \
	NVML_FN(name, (struct nvml_device * d, unsigned *first, unsigned *second))
#include "machine/host/nvml.def"

#define NVML_FN(name, params)
#define NVML_UINT(name)                                                                            \
	int name(struct nvml_device *d, unsigned *out)                                             \
	{                                                                                          \
		return get_uint(d, #name, "", out);                                                \
	}
#define NVML_UINT_OF(name, args)                                                                   \
	int name(struct nvml_device *d, unsigned arg, unsigned *out)                               \
	{                                                                                          \
		return get_uint_of(d, #name, &nvml_args_##args, arg, out);                         \
	}
#define NVML_TEXT(name)                                                                            \
	int name(struct nvml_device *d, char *text, unsigned size)                                 \
	{                                                                                          \
		return get_text(d, #name, text, size);                                             \
	}
#define NVML_PAIR(name, a, b)                                                                      \
	int name(struct nvml_device *d, unsigned *first, unsigned *second)                         \
	{                                                                                          \
		return get_pair(d, #name, "." #a, "." #b, first, second);                          \
	}
#include "machine/host/nvml.def"

/* --- the machine ------------------------------------------------------------------------------ */

static int init(void)
{
	int r;

	stub_load();
	calls = 1;
	memset(asked, 0, sizeof(asked));
	n_asked = 0;
	r = stub_error("init");
	initialised = r == NVML_SUCCESS;
	for (unsigned i = 0; i < NVML_GPUS_MAX; i++)
		devices[i] = (struct nvml_device){ .index = i };
	return r;
}

static int count(unsigned *out)
{
	long long n = 0;
	int r;

	calls++;
	r = initialised ? stub_int("", "nvmlDeviceGetCount", &n) : NVML_UNINITIALIZED;
	*out = (unsigned)n;
	return r;
}

static int handle(unsigned index, struct nvml_device **out)
{
	char question[32];
	unsigned n = 0;
	int r = count(&n);

	snprintf(question, sizeof(question), "handle(%u)", index);
	if (r)
		return r;
	if (index >= n || index >= NVML_GPUS_MAX)
		return NVML_INVALID_ARGUMENT;
	devices[index].stale = 0;
	*out = &devices[index];
	return stub_error(question);
}

int nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_device *d, unsigned index,
					struct nvml_device **out)
{
	struct nvml_device *slice;

	if (!d || d->slice || index >= NVML_SLICES_MAX)
		return NVML_INVALID_ARGUMENT;
	slice = &slices[d->index][index];
	*slice = (struct nvml_device){ .index = d->index, .slice = (int)index + 1 };
	*out = slice;
	return stub_slice(slice, (unsigned long long[4]){ 0 }, NULL, 0);
}

int nvmlInit(void)
{
	return init();
}

int nvmlDeviceGetCount(unsigned *out)
{
	return count(out);
}

int nvmlDeviceGetHandleByIndex(unsigned index, struct nvml_device **out)
{
	return handle(index, out);
}

int nvmlSystemGetCudaDriverVersion(unsigned *out)
{
	long long v = 0;
	int r = initialised ? stub_int("", "nvmlSystemGetCudaDriverVersion", &v)
			    : NVML_UNINITIALIZED;

	*out = (unsigned)v;
	return r;
}

#ifndef STUB_OLD
int nvmlInit_v2(void)
{
	return init();
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
	return count(out);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **out)
{
	return handle(index, out);
}

int nvmlSystemGetCudaDriverVersion_v2(unsigned *out)
{
	return nvmlSystemGetCudaDriverVersion(out);
}
#endif

int nvmlShutdown(void)
{
	unsigned n = 0;

	if (count(&n) == NVML_SUCCESS)
		stub_shut(n);
	initialised = 0;
	stub_unload();
	return NVML_SUCCESS;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	return initialised ? stub_text("", "nvmlSystemGetDriverVersion", text, size)
			   : NVML_UNINITIALIZED;
}

int nvmlSystemGetNVMLVersion(char *text, unsigned size)
{
	return stub_text("", "nvmlSystemGetNVMLVersion", text, size);
}
