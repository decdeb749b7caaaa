/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels around matrix products and collectives, from their contracts
 * (measure/bench/gemm_unit.h, measure/bench/collective_work.c). */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "kernels.h"
#include "settings.h"

/* All steps of the mixer but the last. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
}

static void fill(void **a)
{
	uint64_t *to = words(a[0]), *table = words(a[2]);
	uint32_t bits = u32(a[4]);

	for (uint64_t i = 0; i < u64(a[1]); i++) {
		to[i] = 0;
		for (uint64_t k = 0; k < 64 / bits; k++)
			to[i] |= table[mix((i * (64 / bits) + k + u64(a[3])) *
					   UINT64_C(0x9e3779b97f4a7c15)) >>
				       48]
				 << (k * bits);
	}
}

static void scan(void **a)
{
	const uint64_t *from = words(a[0]);
	uint64_t *out = words(a[2]);
	uint32_t bits = u32(a[5]);

	for (uint64_t i = 0; i < u64(a[1]); i++) {
		out[0] += mix(from[i] + i * UINT64_C(0x9e3779b97f4a7c15));
		for (uint64_t k = 0; k < 64; k += bits)
			out[1] += (from[i] >> k & u64(a[3])) == u64(a[4]);
	}
}

/* Which two of four stay: pairs in the order of 0xca6953's four bits. */
static void prune(void **a)
{
	static const uint8_t pairs[6][2] = { { 0, 1 }, { 0, 2 }, { 0, 3 },
					     { 1, 2 }, { 1, 3 }, { 2, 3 } };
	uint64_t *at = words(a[0]);
	uint32_t bits = u32(a[3]), fours = 16 / bits;

	for (uint64_t i = 0; i < u64(a[1]); i++)
		for (uint32_t q = 0; q < fours; q++) {
			uint64_t z =
				mix((i * fours + q + u64(a[2])) * UINT64_C(0x9e3779b97f4a7c15)) >>
				48;
			const uint8_t *stay = pairs[z * 6 >> 16];

			for (uint32_t k = 0; k < 4; k++)
				if (k != stay[0] && k != stay[1])
					at[i] &= ~(((UINT64_C(1) << bits) - 1)
						   << ((q * 4 + k) * bits));
		}
}

static void fours(void **a)
{
	const uint64_t *at = words(a[0]);
	uint32_t bits = u32(a[3]);

	for (uint64_t i = 0; i < u64(a[1]); i++)
		for (uint32_t q = 0; q < 64; q += 4 * bits) {
			unsigned n = 0;

			for (uint32_t k = 0; k < 4; k++)
				n += (at[i] >> (q + k * bits) & ((UINT64_C(1) << bits) - 1)) != 0;
			*words(a[2]) += n > 2;
		}
}

static void clock_of(void **a)
{
	struct timespec wait = { 0, 20000 };

	nanosleep(&wait, NULL);
	words(a[0])[0] = (uint64_t)stub_number("mhz", 1500) * u64(a[1]) / 1000;
	words(a[0])[1] = u64(a[1]);
}

static void collective(void **a)
{
	const uint64_t *at = words(a[0]);
	uint64_t *result = words(a[5]);

	for (uint64_t i = 0; i < u64(a[1]); i++) {
		uint64_t got = at[i];
		float want[2] = { 0, 0 };

		for (uint32_t r = 0; r < u32(a[4]); r++) {
			uint64_t z = mix((u64(a[3]) + ((uint64_t)r << 40) + u64(a[2]) + i) *
					 UINT64_C(0x9e3779b97f4a7c15));

			z ^= z >> 31;
			want[0] += 1 + (float)(z >> 16 & 127) / 128;
			want[1] += 1 + (float)(z >> 48 & 127) / 128;
		}
		if (memcmp(&got, want, sizeof(got)) == 0)
			continue;
		result[0]++;
		if (i < result[1])
			result[1] = i;
	}
}

int stub_product_kernel(const char *name, void **args)
{
	if (strcmp(name, "gemm_fill") == 0)
		fill(args);
	else if (strcmp(name, "gemm_scan") == 0)
		scan(args);
	else if (strcmp(name, "gemm_prune") == 0)
		prune(args);
	else if (strcmp(name, "gemm_fours") == 0)
		fours(args);
	else if (strcmp(name, "gemm_clock") == 0)
		clock_of(args);
	else if (strcmp(name, "collective_check") == 0)
		collective(args);
	else
		return -1;
	return 0;
}
