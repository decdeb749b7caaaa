/* SPDX-License-Identifier: Apache-2.0 */
/* The hash and the keyed hash as their standards describe them. */
#include "base/sha256.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t rounds[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2
};

static uint32_t turn(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void schedule(uint32_t w[64], const uint8_t *p)
{
	for (size_t i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
		       (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
	for (size_t i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) +
		       (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
	}
}

static void compress(struct sha256 *s, const uint8_t *p)
{
	uint32_t w[64], v[8];

	schedule(w, p);
	memcpy(v, s->h, sizeof(v));
	for (size_t i = 0; i < 64; i++) {
		uint32_t e = v[4], a = v[0];
		uint32_t one = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
			       ((e & v[5]) ^ (~e & v[6])) + rounds[i] + w[i];
		uint32_t two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
			       ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += one;
		v[0] = one + two;
	}
	for (size_t i = 0; i < 8; i++)
		s->h[i] += v[i];
}

void sha256_begin(struct sha256 *s)
{
	/* From the square roots of the first eight primes. */
	*s = (struct sha256){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
				     0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *s, const void *data, size_t n)
{
	const uint8_t *p = data;
	size_t have = s->length % SHA256_BLOCK;

	s->length += n;
	while (n) {
		size_t take = SHA256_BLOCK - have < n ? SHA256_BLOCK - have : n;

		memcpy(s->block + have, p, take);
		p += take;
		n -= take;
		have = (have + take) % SHA256_BLOCK;
		if (!have)
			compress(s, s->block);
	}
}

void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES])
{
	uint64_t bits = s->length * 8;
	uint8_t pad[SHA256_BLOCK + 8] = { 0x80 };
	size_t n = (119 - s->length % SHA256_BLOCK) % SHA256_BLOCK + 1;

	for (size_t i = 0; i < 8; i++)
		pad[n + i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(s, pad, n + 8);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void hmac_begin(struct hmac *m, const void *key, size_t n)
{
	uint8_t k[SHA256_BLOCK] = { 0 }, pad[SHA256_BLOCK];

	sha256_begin(&m->inner);
	sha256_begin(&m->outer);
	if (n > SHA256_BLOCK) {
		sha256_add(&m->inner, key, n);
		sha256_end(&m->inner, k);
		sha256_begin(&m->inner);
	} else {
		memcpy(k, key, n);
	}
	for (size_t i = 0; i < SHA256_BLOCK; i++)
		pad[i] = k[i] ^ 0x36;
	sha256_add(&m->inner, pad, sizeof(pad));
	for (size_t i = 0; i < SHA256_BLOCK; i++)
		pad[i] = k[i] ^ 0x5c;
	sha256_add(&m->outer, pad, sizeof(pad));
}

void hmac_add(struct hmac *m, const void *data, size_t n)
{
	sha256_add(&m->inner, data, n);
}

void hmac_end(struct hmac *m, uint8_t out[SHA256_BYTES])
{
	sha256_end(&m->inner, out);
	sha256_add(&m->outer, out, SHA256_BYTES);
	sha256_end(&m->outer, out);
}

bool secret_equal(const void *a, const void *b, size_t n)
{
	const volatile uint8_t *x = a, *y = b;
	uint8_t differ = 0;

	for (size_t i = 0; i < n; i++)
		differ |= (uint8_t)(x[i] ^ y[i]);
	return !differ;
}
