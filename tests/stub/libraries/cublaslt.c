/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcublasLt that multiplies on the CPU, where the driver's stand-in keeps its memory. The
 * environment variable GPUTUNE_STUB_CUBLASLT steers it, words "name=value", read at each call:
 *
 *   notinit=1     handles cannot be made: the driver is too old
 *   nomemory=1    the same, without memory
 *   refuse=28     no algorithm for operands of that cudaDataType_t
 *   broken=1      the first algorithm proposed fails when it is run
 *   wrong=1       one element of the result is far off
 *   nan=1         one element is no number
 *   skip=1        the last column is not written
 *   flips=20      from the 20th product on every one has other bits than the one before
 *
 * Compiled with STUB_OLDER it is another build of it: version 12.8.4, whose algorithms have other
 * numbers and are slower.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine/cuda/cublaslt.h"

#define CUBLASLT_CALL(field, symbol, params) int stub_##field params __asm__(symbol);
#include "machine/cuda/cublaslt.def"

enum { ALGORITHMS = 3 };
#ifdef STUB_OLDER
enum { OLDER = 1, MAJOR = 12, MINOR = 8, PATCH = 4, FIRST = 41, SLOW_NS = 300000 };
#else
enum { OLDER = 0, MAJOR = 13, MINOR = 1, PATCH = 0, FIRST = 1, SLOW_NS = 0 };
#endif

struct cublaslt_handle {
	int unused;
};

struct cublaslt_product {
	int compute, scale, turned[2], mode[2]; /* the last two: of A and B */
	cuda_address scales[2];
};

struct cublaslt_layout {
	int type;
	uint64_t rows, columns;
	long long ld;
};

struct cublaslt_wish {
	size_t workspace;
};

static int products;

static long long setting_or(const char *name, long long fallback)
{
	const char *all = getenv("GPUTUNE_STUB_CUBLASLT"), *at = all;
	size_t n = strlen(name);

	while (at && (at = strstr(at, name))) {
		if ((at == all || at[-1] == ' ') && at[n] == '=')
			return strtoll(at + n + 1, NULL, 0);
		at += n;
	}
	return fallback;
}

static long long setting(const char *name)
{
	return setting_or(name, 0);
}

int stub_create(struct cublaslt_handle **out)
{
	if (setting("notinit"))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (setting("nomemory"))
		return CUBLAS_STATUS_ALLOC_FAILED;
	/* One for all: of a GPU that is lost it is not given back. */
	static struct cublaslt_handle handle;

	*out = &handle;
	return 0;
}

int stub_destroy(struct cublaslt_handle *h)
{
	(void)h;
	return 0;
}

int stub_property(int which, int *out)
{
	static const int version[] = { MAJOR, MINOR, PATCH };

	*out = version[which];
	return 0;
}

int stub_product_make(struct cublaslt_product **out, int compute, int scale)
{
	*out = calloc(1, sizeof(**out));
	if (*out)
		**out = (struct cublaslt_product){ .compute = compute, .scale = scale };
	return *out ? 0 : CUBLAS_STATUS_ALLOC_FAILED;
}

int stub_product_end(struct cublaslt_product *p)
{
	free(p);
	return 0;
}

int stub_product_set(struct cublaslt_product *p, int attribute, const void *value, size_t size)
{
	if (attribute == 3 || attribute == 4) {
		if (size != sizeof(int))
			return CUBLAS_STATUS_INVALID_VALUE;
		memcpy(&p->turned[attribute - 3], value, size);
	}
	if (attribute == 17 || attribute == 18) {
		if (size != sizeof(cuda_address))
			return CUBLAS_STATUS_INVALID_VALUE;
		memcpy(&p->scales[attribute - 17], value, size);
	}
	if (attribute == 31 || attribute == 32) {
		if (size != sizeof(int))
			return CUBLAS_STATUS_INVALID_VALUE;
		memcpy(&p->mode[attribute - 31], value, size);
	}
	return attribute == 25 && size != 1 ? CUBLAS_STATUS_INVALID_VALUE : 0;
}

int stub_layout_make(struct cublaslt_layout **out, int type, unsigned long long rows,
		     unsigned long long columns, long long ld)
{
	*out = calloc(1, sizeof(**out));
	if (*out)
		**out = (struct cublaslt_layout){ type, rows, columns, ld };
	return *out ? 0 : CUBLAS_STATUS_ALLOC_FAILED;
}

int stub_layout_end(struct cublaslt_layout *l)
{
	free(l);
	return 0;
}

int stub_wish_make(struct cublaslt_wish **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : CUBLAS_STATUS_ALLOC_FAILED;
}

int stub_wish_end(struct cublaslt_wish *w)
{
	free(w);
	return 0;
}

int stub_wish_set(struct cublaslt_wish *w, int attribute, const void *value, size_t size)
{
	if (attribute != 1 || size != sizeof(w->workspace))
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&w->workspace, value, size);
	return 0;
}

/*
 * Scales in blocks as the documentation wants them: of both operands, on the device, one way; k in
 * multiples of 32; BF16 comes out of it.
 */
static bool scaled_right(const struct cublaslt_product *p, const struct cublaslt_layout *a,
			 const struct cublaslt_layout *b, const struct cublaslt_layout *d)
{
	int mode = p->mode[0];

	if (a->type != CUDA_R_4F_E2M1 && mode == CUBLASLT_SCALE_ONE)
		return p->mode[1] == CUBLASLT_SCALE_ONE;
	return mode == (a->type == CUDA_R_4F_E2M1 ? CUBLASLT_SCALE_VEC16 : CUBLASLT_SCALE_VEC32) &&
	       p->mode[1] == mode && p->scales[0] && p->scales[1] && p->scales[0] % 16 == 0 &&
	       p->scales[1] % 16 == 0 && p->scales[0] != p->scales[1] && a->type == b->type &&
	       (a->type == CUDA_R_4F_E2M1 || a->type == CUDA_R_8F_E4M3) && a->rows % 32 == 0 &&
	       a->ld % 32 == 0 && d->type == CUDA_R_16BF && p->compute == CUBLAS_COMPUTE_32F &&
	       p->scale == CUDA_R_32F;
}

int stub_heuristic(struct cublaslt_handle *h, struct cublaslt_product *p, struct cublaslt_layout *a,
		   struct cublaslt_layout *b, struct cublaslt_layout *c, struct cublaslt_layout *d,
		   struct cublaslt_wish *w, int most, struct cublaslt_algorithm *out, int *n)
{
	(void)h;
	(void)c;
	*n = 0;
	if (!scaled_right(p, a, b, d))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	/* As on the chips that have FP8: only with k running fastest. */
	if (a->type == setting_or("refuse", -1) ||
	    (a->type >= 28 && (!p->turned[0] || p->turned[1])))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	for (; *n < ALGORITHMS && *n < most; ++*n) {
		out[*n] = (struct cublaslt_algorithm){ .workspace = w->workspace / 2 };
		out[*n].algorithm[0] = (uint64_t)*n + FIRST;
	}
	return 0;
}

int stub_algorithm_get(const void *algorithm, int attribute, void *out, size_t size,
		       size_t *written)
{
	uint64_t id;

	memcpy(&id, algorithm, sizeof(id));
	memset(out, 0, size);
	memcpy(out, &id, attribute == 0 ? 4 : 0);
	*written = size;
	return 0;
}

int stub_algorithm_set(void *algorithm, int attribute, const void *value, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, value, size);
	memcpy((char *)algorithm + 8 * (attribute % 8), &word, attribute % 8 ? sizeof(word) : 0);
	return 0;
}

int stub_algorithm_can(const void *algorithm, int capability, void *out, size_t size,
		       size_t *written)
{
	static const uint32_t tiles[] = { 4, 5 };

	(void)algorithm;
	memcpy(out, tiles, capability == 6 && size >= sizeof(tiles) ? sizeof(tiles) : 0);
	*written = capability == 6 ? sizeof(tiles) : 0;
	return 0;
}

/* Accepts the first tile. */
int stub_algorithm_check(struct cublaslt_handle *h, struct cublaslt_product *p,
			 struct cublaslt_layout *a, struct cublaslt_layout *b,
			 struct cublaslt_layout *c, struct cublaslt_layout *d,
			 const void *algorithm, struct cublaslt_algorithm *out)
{
	uint64_t words[2];

	(void)h;
	(void)p;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	memcpy(words, algorithm, sizeof(words));
	memset(out, 0, sizeof(*out));
	return words[1] == 4 ? 0 : CUBLAS_STATUS_NOT_SUPPORTED;
}

/* --- arithmetic ------------------------------------------------------------------------------- */

/* The sign is the highest bit. */
static double small_float(unsigned code, unsigned mantissa, int bias)
{
	unsigned e = (code & 0x7fffffff) >> mantissa, m = code & ((1u << mantissa) - 1);
	double v = e ? 1 + (double)m / (1u << mantissa) : (double)m / (1u << mantissa);

	for (int i = e ? (int)e : 1; i > bias; i--)
		v *= 2;
	for (int i = e ? (int)e : 1; i < bias; i++)
		v /= 2;
	return code >> 31 ? -v : v;
}

static double value_of(int type, cuda_address base, uint64_t i)
{
	const char *p = (const char *)(uintptr_t)base;
	double d;
	float f;
	uint32_t w;
	uint16_t s;
	uint8_t b;

	switch (type) {
	case CUDA_R_64F:
		memcpy(&d, p + i * 8, 8);
		return d;
	case CUDA_R_32F:
		memcpy(&f, p + i * 4, 4);
		return (double)f;
	case CUDA_R_16F:
		memcpy(&s, p + i * 2, 2);
		return small_float((s & 0x7fffu) | (s & 0x8000u) << 16, 10, 15);
	case CUDA_R_16BF:
		memcpy(&s, p + i * 2, 2);
		w = (uint32_t)s << 16;
		memcpy(&f, &w, 4);
		return (double)f;
	case CUDA_R_8I:
		return (double)(int8_t)p[i];
	case CUDA_R_4F_E2M1:
		/* Two a byte, the first in the low half. */
		w = (uint32_t)(unsigned char)p[i / 2] >> (i % 2 * 4) & 15u;
		return small_float((w & 7u) | (w & 8u) << 28, 1, 1);
	default:
		memcpy(&b, p + i, 1);
		w = (b & 0x7fu) | (b & 0x80u) << 24;
		return type == CUDA_R_8F_E4M3 ? small_float(w, 3, 7) : small_float(w, 2, 15);
	}
}

/* To the nearest, of what is neither tiny nor huge. */
static uint16_t half_of(double v)
{
	int e;
	double m = frexp(fabs(v), &e);

	if (m <= 0 || e < -13)
		return 0;
	return (uint16_t)((v < 0 ? 0x8000 : 0) + ((e + 13) << 10) + (int)rint(ldexp(m, 11)));
}

static void store(int type, cuda_address base, uint64_t i, double v)
{
	char *p = (char *)(uintptr_t)base;
	float f = (float)v;
	int32_t n = (int32_t)v;
	uint32_t w;
	uint16_t s;

	switch (type) {
	case CUDA_R_64F:
		memcpy(p + i * 8, &v, 8);
		return;
	case CUDA_R_32F:
		memcpy(p + i * 4, &f, 4);
		return;
	case CUDA_R_16F:
		s = half_of(v);
		memcpy(p + i * 2, &s, 2);
		return;
	case CUDA_R_16BF:
		memcpy(&w, &f, 4);
		w += 0x7fff + (w >> 16 & 1);
		s = (uint16_t)(w >> 16);
		memcpy(p + i * 2, &s, 2);
		return;
	default:
		memcpy(p + i * 4, &n, 4);
	}
}

/*
 * Every scale of an operand by its place in memory, the other way round than who wrote it: byte o
 * of a tile of 512 belongs to row o / 16 + 32 (o % 16 / 4), block o % 4.
 */
static double *scales_of(cuda_address at, int mode, uint64_t rows, uint64_t k)
{
	uint64_t block = mode == CUBLASLT_SCALE_VEC16 ? 16 : 32, blocks = k / block,
		 across = (blocks + 3) / 4, down = (rows + 127) / 128;
	double *out = calloc(rows * blocks, sizeof(*out));

	for (uint64_t o = 0; out && o < across * down * 512; o++) {
		uint64_t tile = o / 512, in = o % 512,
			 row = tile / across * 128 + in / 16 + 32 * (in % 16 / 4),
			 b = tile % across * 4 + in % 4;
		uint8_t code = ((const uint8_t *)(uintptr_t)at)[o];

		if (row < rows && b < blocks)
			out[row * blocks + b] = block == 16 ? small_float(code & 0x7fu, 3, 7)
							    : ldexp(1, code - 127);
	}
	return out;
}

/* An operand as doubles, its k running fastest; scaled. */
static double *doubles_of(const struct cublaslt_product *p, int which, cuda_address at,
			  const struct cublaslt_layout *l, uint64_t rows, uint64_t k)
{
	bool fast = which ? !p->turned[1] : p->turned[0];
	double *out = calloc(rows * k, sizeof(*out)), *scales = NULL;
	uint64_t block = p->mode[which] == CUBLASLT_SCALE_VEC16 ? 16 : 32;

	if (p->mode[which])
		scales = scales_of(p->scales[which], p->mode[which], rows, k);
	for (uint64_t i = 0; out && i < rows; i++)
		for (uint64_t x = 0; x < k; x++) {
			out[i * k + x] = value_of(l->type, at, fast ? i * k + x : x * rows + i);
			if (scales)
				out[i * k + x] *= scales[i * (k / block) + x / block];
		}
	free(scales);
	return out;
}

/* In four sums, which do not wait for one another. */
static double dot(const double *x, const double *y, uint64_t k)
{
	double sum[4] = { 0 };

	for (uint64_t q = 0; q + 4 <= k; q += 4)
		for (int i = 0; i < 4; i++)
			sum[i] += x[q + (uint64_t)i] * y[q + (uint64_t)i];
	for (uint64_t q = k & ~3ull; q < k; q++)
		sum[0] += x[q] * y[q];
	return sum[0] + sum[1] + (sum[2] + sum[3]);
}

static void product(const struct cublaslt_product *p, cuda_address a,
		    const struct cublaslt_layout *la, cuda_address b,
		    const struct cublaslt_layout *lb, cuda_address d,
		    const struct cublaslt_layout *ld)
{
	uint64_t k = p->turned[0] ? la->rows : la->columns, m = ld->rows,
		 n = ld->columns - (setting("skip") != 0);
	double *x = doubles_of(p, 0, a, la, m, k), *y = doubles_of(p, 1, b, lb, ld->columns, k);

	for (uint64_t j = 0; x && y && j < n; j++)
		for (uint64_t i = 0; i < m; i++)
			store(ld->type, d, j * m + i, dot(x + i * k, y + j * k, k));
	free(x);
	free(y);
}

int stub_multiply(struct cublaslt_handle *h, struct cublaslt_product *p, const void *alpha,
		  cuda_address a, struct cublaslt_layout *la, cuda_address b,
		  struct cublaslt_layout *lb, const void *beta, cuda_address c,
		  struct cublaslt_layout *lc, cuda_address d, struct cublaslt_layout *ld,
		  const void *algorithm, cuda_address workspace, size_t workspace_bytes,
		  struct cuda_stream *s)
{
	struct timespec slow = { 0, SLOW_NS };
	uint64_t id;
	long long flips = setting("flips");

	if (OLDER)
		nanosleep(&slow, NULL);
	(void)h;
	(void)alpha;
	(void)beta;
	(void)c;
	(void)lc;
	(void)workspace;
	(void)workspace_bytes;
	(void)s;
	memcpy(&id, algorithm, sizeof(id));
	if (id == FIRST && setting("broken"))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	product(p, a, la, b, lb, d, ld);
	if (setting("wrong"))
		store(ld->type, d, 0, value_of(ld->type, d, 0) + 1e4);
	if (setting("nan"))
		memset((char *)(uintptr_t)d + 64, 0xff, 8);
	if (flips && ++products >= flips)
		*(char *)(uintptr_t)d = (char)(*(char *)(uintptr_t)d ^ products % 128);
	return 0;
}
