/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4), HMAC with it (RFC 2104), and comparing secrets. For proving that two sides
 * know the same secret; nothing here hides data.
 */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

struct sha256 {
	uint32_t h[8];
	uint64_t length; /* bytes so far */
	uint8_t block[SHA256_BLOCK];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t n);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES]);

struct hmac {
	struct sha256 inner, outer;
};

void hmac_begin(struct hmac *m, const void *key, size_t n);
void hmac_add(struct hmac *m, const void *data, size_t n);
void hmac_end(struct hmac *m, uint8_t out[SHA256_BYTES]);

/* Takes the same time wherever the first difference is. */
bool secret_equal(const void *a, const void *b, size_t n);

#endif
