/* SPDX-License-Identifier: Apache-2.0 */
/* Our kernels on the CPU. The generator and the chain's permutation are written anew, so that the
 * host's twins of them are tested too. */
#include "kernels.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "settings.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t random_word(uint64_t seed, uint64_t i)
{
	uint64_t z = (seed + i) * UINT64_C(0x9e3779b97f4a7c15);

	z ^= z >> 30;
	z *= UINT64_C(0xbf58476d1ce4e5b9);
	z ^= z >> 27;
	z *= UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return z;
}

static uint64_t triad_word(uint64_t b, uint64_t c)
{
	float x[2], y[2];

	b = (b & UINT64_C(0x007fffff007fffff)) | UINT64_C(0x3f8000003f800000);
	c = (c & UINT64_C(0x007fffff007fffff)) | UINT64_C(0x3f8000003f800000);
	memcpy(x, &b, sizeof(x));
	memcpy(y, &c, sizeof(y));
	for (int k = 0; k < 2; k++)
		x[k] = __builtin_fmaf(y[k], 3.0f, x[k]);
	memcpy(&b, x, sizeof(b));
	return b;
}

static uint64_t write_word(uint32_t seed, uint64_t i)
{
	uint32_t x = (uint32_t)(i / 2) ^ seed;

	return i % 2 ? (uint64_t)(x ^ 0x85ebca6bu) << 32 | (uint32_t)~x
		     : (uint64_t)(x + 0x9e3779b9u) << 32 | x;
}

/* --- tools ------------------------------------------------------------------------------------ */

static void count_wrong(uint64_t *result, uint64_t i, uint64_t got, uint64_t want)
{
	if (got == want || stub_number("blind", 0))
		return;
	result[0]++;
	if (i < result[1])
		result[1] = i;
}

static uint64_t place(uint64_t i, unsigned bits, uint64_t seed)
{
	static const uint64_t by[] = { UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd1342543de82ef95),
				       UINT64_C(0xaf251af3b0f025b5) };
	uint64_t mask = (UINT64_C(1) << bits) - 1;

	for (int k = 0; k < 3; k++) {
		i = (i * by[k] + (k ? 0 : seed)) & mask;
		i ^= i >> ((bits + 1) / 2);
	}
	return i;
}

static void chain(void **a)
{
	uint64_t to = u64(a[0]), stride = u64(a[2]), seed = u64(a[3]);
	unsigned bits = u32(a[1]);
	uint64_t n = UINT64_C(1) << bits;

	for (uint64_t i = 0; i < n; i++)
		*(uint64_t *)(uintptr_t)(to + place(i, bits, seed) * stride) =
			to + place((i + 1) % n, bits, seed) * stride;
}

static void chase(void **a)
{
	uint64_t at = u64(a[0]), steps = u64(a[1]), *out = words(a[2]), begin = now_ns();

	for (uint64_t i = 0; i < steps; i++)
		at = *(uint64_t *)(uintptr_t)at;
	out[0] = at;
	out[1] = out[2] = now_ns() - begin + 1;
}

static int tool(const char *name, void **a)
{
	if (strcmp(name, "fill") == 0)
		for (uint64_t i = 0; i < u64(a[1]); i++)
			words(a[0])[i] = (random_word(u64(a[2]), i) & u64(a[3])) | u64(a[4]);
	else if (strcmp(name, "check") == 0)
		for (uint64_t i = 0; i < u64(a[1]); i++)
			count_wrong(words(a[5]), i, words(a[0])[i],
				    (random_word(u64(a[2]), i) & u64(a[3])) | u64(a[4]));
	else if (strcmp(name, "check_triad") == 0)
		for (uint64_t i = 0; i < u64(a[1]); i++)
			count_wrong(
				words(a[4]), i, words(a[0])[i],
				triad_word(random_word(u64(a[2]), i), random_word(u64(a[3]), i)));
	else if (strcmp(name, "check_write") == 0)
		for (uint64_t i = 0; i < u64(a[1]); i++)
			count_wrong(words(a[3]), i, words(a[0])[i],
				    write_word((uint32_t)u64(a[2]), i));
	else if (strcmp(name, "add") == 0)
		for (uint64_t i = 0; i < u64(a[0]); i++)
			*words(a[4]) += (random_word(u64(a[1]), i) & u64(a[2])) | u64(a[3]);
	else if (strcmp(name, "chain") == 0)
		chain(a);
	else if (strncmp(name, "chase", 5) == 0)
		chase(a);
	else if (strcmp(name, "flag") == 0)
		atomic_store((atomic_uint *)(uintptr_t)u64(a[0]), u32(a[1]));
	else if (strcmp(name, "empty") != 0 && strcmp(name, "spin") != 0)
		return 500;
	return 0;
}

struct stub_echo stub_echo_of(void **a)
{
	return (struct stub_echo){ (atomic_uint *)(uintptr_t)u64(a[0]),
				   (atomic_uint *)(uintptr_t)u64(a[1]), u32(a[2]) };
}

void stub_answer(const struct stub_echo *e)
{
	uint64_t end = now_ns() + UINT64_C(2000000000);

	for (unsigned i = 1; i <= e->n; i++) {
		while (atomic_load(e->in) < i)
			if (now_ns() > end)
				return;
		atomic_store(e->out, i);
	}
}

/* --- streaming -------------------------------------------------------------------------------- */

static int stream(const char *name, void **a)
{
	uint64_t *to = words(a[0]), *from = words(a[1]), *other = words(a[2]), n = u64(a[3]) / 8;

	if (strncmp(name, "read_", 5) == 0)
		for (uint64_t i = 0; i < n; i++)
			*words(a[5]) += from[i] * u32(a[6]);
	else if (strncmp(name, "write_", 6) == 0)
		for (uint64_t i = 0; i < n; i++)
			to[i] = write_word((uint32_t)u64(a[4]), i);
	else if (strncmp(name, "copy_", 5) == 0)
		memcpy(to, from, n * 8);
	else if (strncmp(name, "triad_", 6) == 0)
		for (uint64_t i = 0; i < n; i++)
			to[i] = triad_word(from[i], other[i]);
	else
		return 500;
	if (stub_begins("corrupt", name)) {
		if (to)
			to[n / 3] ^= 1u << 9;
		else
			*words(a[5]) ^= 1;
	}
	return 0;
}

int stub_kernel(const char *name, void **args)
{
	int r = stub_product_kernel(name, args);

	if (r >= 0)
		return r;
	return strchr(name, '_') && strncmp(name, "check_", 6) != 0 &&
			       strcmp(name, "chase_far") != 0
		       ? stream(name, args)
		       : tool(name, args);
}
