/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a library, static library, wheel, fat binary, cubin or PTX, as a loader's cache and
 * as a wheel's insides. What is read has to agree with itself: scanned again it is the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "look/stack/elf.h"
#include "look/stack/fatbin.h"
#include "look/stack/wheelhouse.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int count(void *ctx, const char *name, const char *path)
{
	*(size_t *)ctx += strlen(name) + strlen(path);
	return 0;
}

static void same(const struct scan *x, const struct scan *y)
{
	size_t sum = 0;

	if (x->entries != y->entries || x->containers != y->containers || x->codes.n != y->codes.n)
		abort();
	for (size_t i = 0; i < x->codes.n; i++)
		sum += x->codes.items[i].n;
	if (x->kind != SCAN_WHEEL && sum != x->entries)
		abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const struct scan_options how = { .gpus = { { 121, 1300 }, { 90, 0 } },
						 .n_gpus = 2,
						 .deep = true },
					 quick = { 0 };
	unsigned char out[256];
	struct arena a = { 0 };
	struct input_bytes in;
	struct scan x, y;
	struct wheel w;
	struct err e = { 0 };
	size_t got = 0;

	input_bytes(&in, data, size);
	scan_input(&a, &in.in, "fuzz.so", &how, &x);
	/* Without looking into the entries there are as many of them. */
	scan_input(&a, &in.in, "fuzz.so", &quick, &y);
	same(&x, &y);
	if (x.kind == SCAN_WHEEL)
		wheel_read(&a, &in.in, "tiny-1.0-py3-none-any.whl", &quick, &w, &e);
	ld_cache_each((const char *)data, size, count, &got);
	got = 0;
	if (lz4_head(data, size, out, sizeof(out), &got) == 0 && got > sizeof(out))
		abort();
	arena_free(&a);
	return 0;
}
