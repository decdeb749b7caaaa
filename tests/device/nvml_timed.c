/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the real NVML, passes every call of nvml.def on, and says at the end what each
 * took: lines "QUESTION, GPU, result, calls, microseconds of the first, of all" with tabs between,
 * in the file $NVML_TIMED_LOG. $NVML_TIMED_REAL is the library behind it. A question is the
 * function's name and every argument that goes in; a GPU "-" is the library itself.
 * scripts/device-nvml-cost builds and runs it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine/host/nvml.h"

enum { QUESTIONS = 65536, KEY = 256, DEVICES = 4096, ARGS = 6 };

/* Every argument is a pointer or an integer, and both go where an integer of a pointer's size does.
 */
typedef int any_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

struct asked {
	char key[KEY];
	int device, result;
	unsigned calls;
	double first_us, all_us;
};

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static struct asked table[QUESTIONS];
static size_t asked_n;
static uintptr_t devices[DEVICES];
static int devices_n;
static void *real;

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* What has a handle gets a number, by its first call. */
static int number_of(uintptr_t device)
{
	int i = 0;

	while (i < devices_n && devices[i] != device)
		i++;
	if (i == devices_n && devices_n < DEVICES)
		devices[devices_n++] = device;
	return i;
}

static void add(char *key, const char *format, unsigned long long v)
{
	size_t n = strlen(key);

	snprintf(key + n, KEY - n, format, v); // NOLINT(clang-diagnostic-format-nonliteral)
}

/* What one argument asks for: a number, another GPU, the ids of fields, or the words with which a
 * structure goes in (its version; a sensor). */
static void add_argument(char *key, const char *what, size_t len, uintptr_t v, uintptr_t before)
{
	const struct nvml_field *f = (const struct nvml_field *)v;
	char type[96];

	snprintf(type, sizeof(type), "%.*s", (int)len, what);
	if (strstr(type, "nvml_field")) {
		for (int i = 0; i < (int)before; i++) {
			add(key, " %llu", f[i].id);
			if (f[i].scope)
				add(key, ":%llu", f[i].scope);
		}
	} else if (!strchr(type, '*')) {
		if (!strstr(type, "size")) /* of a buffer */
			add(key, " %llu", (unsigned)v);
	} else if (strstr(type, "nvml_device") && !strstr(type, "**")) {
		add(key, " gpu%llu", (unsigned)number_of(v));
	} else if (v && (strstr(type, "nvml_versioned") || strstr(type, "nvml_fabric_v") ||
			 strstr(type, "nvml_power_profiles") || strstr(type, "nvml_memory_v2"))) {
		add(key, " v%llu", *(const unsigned *)v >> 24);
	} else if (v && strstr(type, "nvml_temperature")) {
		add(key, " sensor %llu", ((const struct nvml_temperature *)v)->sensor);
	}
}

/* The question of a call; params is the declaration of its parameters, "(type name, type name)".
 * Returns the GPU. */
static int question(char *key, const char *name, const char *params, const uintptr_t *arg)
{
	const char *s = params + 1;
	int device = -1;

	snprintf(key, KEY, "%s", name);
	for (unsigned i = 0; i < ARGS && *s && strcmp(s, "void)") != 0; i++) {
		size_t len = strcspn(s, ",)");

		if (i == 0 && strncmp(s, "struct nvml_device ", 19) == 0)
			device = number_of(arg[0]);
		else
			add_argument(key, s, len, arg[i], i ? arg[i - 1] : 0);
		s += len + (s[len] == ',');
		s += strspn(s, " ");
		if (*s == ')')
			break;
	}
	return device;
}

static void keep(const char *key, int device, int result, double us)
{
	size_t i = 0;

	while (i < asked_n && (table[i].device != device || strcmp(table[i].key, key) != 0))
		i++;
	if (i == QUESTIONS)
		return;
	if (i == asked_n) {
		asked_n++;
		memcpy(table[i].key, key, KEY);
		table[i].device = device;
		table[i].first_us = us;
	}
	table[i].calls++;
	table[i].result = result;
	table[i].all_us += us;
}

static void *library(void)
{
	const char *path = getenv("NVML_TIMED_REAL");

	pthread_mutex_lock(&one);
	if (!real && path)
		real = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	pthread_mutex_unlock(&one);
	return real;
}

static int pass(const char *name, const char *params, const uintptr_t *arg)
{
	void *found = library() ? dlsym(real, name) : NULL;
	char key[KEY];
	any_fn *fn;
	double begin, us;
	int device, r;

	if (!found)
		return NVML_FUNCTION_NOT_FOUND; /* as the reader takes a function that is not there
						 */
	memcpy(&fn, &found, sizeof(fn));
	pthread_mutex_lock(&one);
	device = question(key, name, params, arg);
	pthread_mutex_unlock(&one);
	begin = now_us();
	r = fn(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	us = now_us() - begin;
	pthread_mutex_lock(&one);
	keep(key, device, r, us);
	pthread_mutex_unlock(&one);
	return r;
}

__attribute__((destructor)) static void say(void)
{
	const char *path = getenv("NVML_TIMED_LOG");
	FILE *f = path && asked_n ? fopen(path, "a") : NULL;

	for (size_t i = 0; f && i < asked_n; i++) {
		fprintf(f, "%s\t", table[i].key);
		if (table[i].device < 0)
			fprintf(f, "-");
		else
			fprintf(f, "%d", table[i].device);
		fprintf(f, "\t%d\t%u\t%.1f\t%.1f\n", table[i].result, table[i].calls,
			table[i].first_us, table[i].all_us);
	}
	if (f)
		fclose(f);
}

#define NVML_FN(name, params)                                                                      \
	int name(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);                \
	int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f)     \
	{                                                                                          \
		return pass(#name, #params, (const uintptr_t[ARGS]){ a, b, c, d, e, f });          \
	}
#define NVML_UINT(name) NVML_FN(name, (struct nvml_device * d, unsigned *out))
#define NVML_UINT_OF(name, args)                                                                   \
	NVML_FN(name, (struct nvml_device * d, unsigned arg, unsigned *out))
#define NVML_TEXT(name) NVML_FN(name, (struct nvml_device * d, char *text, unsigned size))
#define NVML_PAIR(name, a, b)                                                                      \
	NVML_FN(name, (struct nvml_device * d, unsigned *first, unsigned *second))
#include "machine/host/nvml.def"
