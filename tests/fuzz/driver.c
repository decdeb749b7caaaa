/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target where there is no libFuzzer: over the files named, and over changes of them,
 * always the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 16, CHANGED = 4000, BLIND = 2000 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* xorshift64 */
static uint64_t next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static size_t load(const char *path, unsigned char *out)
{
	FILE *f = fopen(path, "rb");
	size_t n = 0;

	if (!f) {
		perror(path);
		exit(1);
	}
	n = fread(out, 1, LONGEST, f);
	fclose(f);
	return n;
}

/* Some bytes other, some all ones, and now and then cut short. */
static size_t change(unsigned char *b, size_t n, uint64_t *s)
{
	for (uint64_t k = 1 + next(s) % 8; n && k; k--) {
		size_t at = next(s) % n;

		b[at] = next(s) % 4 ? (unsigned char)next(s) : 0xff;
	}
	return n && next(s) % 8 == 0 ? next(s) % n : n;
}

int main(int argc, char **argv)
{
	unsigned char *seed = malloc(LONGEST), *b = malloc(LONGEST);
	uint64_t s = 0x9e3779b97f4a7c15u;
	size_t n, runs = 0;

	if (!seed || !b)
		return 1;
	for (int i = 1; i < argc; i++) {
		n = load(argv[i], seed);
		LLVMFuzzerTestOneInput(seed, n);
		for (int k = 0; k < CHANGED; k++, runs++) {
			memcpy(b, seed, n);
			LLVMFuzzerTestOneInput(b, change(b, n, &s));
		}
	}
	for (int k = 0; k < BLIND; k++, runs++) {
		n = next(&s) % 4200;
		for (size_t i = 0; i < n; i++)
			b[i] = (unsigned char)next(&s);
		LLVMFuzzerTestOneInput(b, n);
	}
	printf("%zu runs\n", runs);
	free(seed);
	free(b);
	return 0;
}
