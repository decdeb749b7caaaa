/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a library, static library, wheel, fat binary, cubin or PTX, as a loader's cache and
 * as a wheel's insides. What is read has to agree with itself: scanned again it is the same. As the
 * read-only data of a library: a version in it is digits and dots, and is found again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "look/stack/elf.h"
#include "look/stack/fatbin.h"
#include "look/stack/rodata.h"
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

static void put(unsigned char *at, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (unsigned char)(v >> 8 * i);
}

/* An ELF file of two sections: the data as .rodata, and their names. */
static void versions(struct arena *a, const unsigned char *data, size_t size)
{
	static const char names[] = "\0.rodata\0.shstrtab";
	static const char *const ways[][2] = { { "NCCL version ", NULL },
					       { NULL, "##.##." },
					       { NULL, NULL } };
	const size_t heads = 64 + sizeof(names) + size, total = heads + 3 * 64;
	unsigned char *f = arena_alloc(a, total);
	struct input_bytes in;
	struct elf elf;
	struct err e = { 0 };

	memcpy(f, "\177ELF\2\1\1", 7);
	put(f + 16, 3, 2);
	put(f + 18, ELF_AARCH64, 2);
	put(f + 20, 1, 4);
	put(f + 40, heads, 8);
	put(f + 52, 64, 2);
	put(f + 58, 64, 2);
	put(f + 60, 3, 2);
	put(f + 62, 2, 2);
	memcpy(f + 64, names, sizeof(names));
	if (size)
		memcpy(f + 64 + sizeof(names), data, size);
	for (size_t i = 1; i < 3; i++) {
		unsigned char *h = f + heads + i * 64;

		put(h, i == 1 ? 1 : 9, 4);
		put(h + 4, i == 1 ? 1 : 3, 4);
		put(h + 24, i == 1 ? 64 + sizeof(names) : 64, 8);
		put(h + 32, i == 1 ? size : sizeof(names), 8);
	}
	input_bytes(&in, f, total);
	if (elf_open(&in.in, &elf, &e))
		abort();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char one[64], two[64];

		rodata_version(&in.in, &elf, ways[i][0], ways[i][1], 0, one, sizeof(one));
		rodata_version(&in.in, &elf, ways[i][0], ways[i][1], 0, two, sizeof(two));
		if (strcmp(one, two) != 0 || strspn(one, "0123456789.") != strlen(one) ||
		    (*one && !memmem(data, size, one, strlen(one))))
			abort();
	}
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
	versions(&a, data, size);
	arena_free(&a);
	return 0;
}
