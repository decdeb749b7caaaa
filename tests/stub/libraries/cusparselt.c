/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcusparseLt that multiplies on the CPU, where the driver's stand-in keeps its memory, and
 * refuses what the documentation forbids. The environment variable GPUTUNE_STUB_CUSPARSELT steers
 * it, words "name=value", read at each call:
 *
 *   version=5     0.5: an interface that is not known
 *   refuse=28     no product of operands of that cudaDataType_t
 *   nosearch=1    the search fails
 *   blind=1       its check finds zeros everywhere
 *   wrong=1       one element of the result is far off
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "machine/cuda/cublaslt.h"
#include "machine/cuda/cusparselt.h"

#define CUSPARSELT_CALL(field, symbol, params) int stub_##field params __asm__(symbol);
#include "machine/cuda/cusparselt.def"

enum { INVALID = 3, NOT_SUPPORTED = 10, ALGORITHMS = 3, SIZE = 512 };

/* What lies in the caller's storage. */
struct matrix {
	uint64_t rows, columns;
	int type;
	bool sparse;
};

struct product {
	struct matrix a, b, d;
	bool integer;
};

struct choice {
	struct product product;
	int number;
};

struct plan {
	struct choice *choice;
	int number;
};

static long long setting(const char *name)
{
	const char *all = getenv("GPUTUNE_STUB_CUSPARSELT"), *at = all;
	size_t n = strlen(name);

	while (at && (at = strstr(at, name))) {
		if ((at == all || at[-1] == ' ') && at[n] == '=')
			return strtoll(at + n + 1, NULL, 0);
		at += n;
	}
	return -1;
}

int stub_begin(void *handle)
{
	memset(handle, 1, SIZE);
	return 0;
}

int stub_end(const void *handle)
{
	return handle ? 0 : INVALID;
}

int stub_property(int which, int *out)
{
	*out = which == 1 ? (setting("version") >= 0 ? (int)setting("version") : 8) : 0;
	return 0;
}

static int matrix(void *to, int64_t rows, int64_t columns, int64_t ld, uint32_t alignment, int type,
		  int order, bool sparse)
{
	/* Columns one after the other, sizes as the documentation wants them: multiples of 16 for
	 * bytes, of 8 for halves, twice that of the sparse one. */
	int64_t multiple = (type == CUDA_R_16F || type == CUDA_R_16BF ? 8 : 16) * (sparse ? 2 : 1);

	if (order != 1 || ld != rows || alignment != 16 || rows % multiple || columns % multiple)
		return INVALID;
	if (type == setting("refuse"))
		return NOT_SUPPORTED;
	memset(to, 0, SIZE);
	memcpy(to, &(struct matrix){ (uint64_t)rows, (uint64_t)columns, type, sparse },
	       sizeof(struct matrix));
	return 0;
}

int stub_sparse_make(const void *handle, void *to, int64_t rows, int64_t columns, int64_t ld,
		     uint32_t alignment, int type, int order, int sparsity)
{
	return !handle || sparsity ? INVALID
				   : matrix(to, rows, columns, ld, alignment, type, order, true);
}

int stub_dense_make(const void *handle, void *to, int64_t rows, int64_t columns, int64_t ld,
		    uint32_t alignment, int type, int order)
{
	/* 32-bit results have wider elements. */
	return !handle ? INVALID : matrix(to, rows, columns, ld, alignment, type, order, false);
}

int stub_matrix_end(const void *m)
{
	return m ? 0 : INVALID;
}

int stub_product_make(const void *handle, void *product, int turn_a, int turn_b, const void *a,
		      const void *b, const void *c, const void *d, int compute)
{
	struct product p = { .integer = compute == 0 };

	memcpy(&p.a, a, sizeof(p.a));
	memcpy(&p.b, b, sizeof(p.b));
	memcpy(&p.d, d, sizeof(p.d));
	/* Bytes only with k running fastest in both; integers sum as integers. */
	if (!handle || c != d || turn_a != 1 || turn_b != 0 || !p.a.sparse ||
	    p.a.rows != p.b.rows || p.a.columns != p.d.rows || p.b.columns != p.d.columns ||
	    p.integer != (p.a.type == CUDA_R_8I) || (compute != 0 && compute != 2))
		return INVALID;
	memset(product, 0, SIZE);
	memcpy(product, &p, sizeof(p));
	return 0;
}

int stub_choice_make(const void *handle, void *choice, const void *product, int which)
{
	struct choice c = { .number = 0 };

	memcpy(&c.product, product, sizeof(c.product));
	memset(choice, 0, SIZE);
	memcpy(choice, &c, sizeof(c));
	return !handle || which ? INVALID : 0;
}

int stub_choice_get(const void *handle, const void *choice, int attribute, void *out, size_t size)
{
	int v = attribute == 0	 ? ((const struct choice *)choice)->number
		: attribute == 1 ? ALGORITHMS
				 : 1;

	if (!handle || size != sizeof(v) || attribute > 5)
		return INVALID;
	memcpy(out, &v, sizeof(v));
	return 0;
}

int stub_choice_set(const void *handle, void *choice, int attribute, const void *value, size_t size)
{
	int v;

	if (!handle || size != sizeof(v) || attribute != 0)
		return INVALID;
	memcpy(&v, value, sizeof(v));
	((struct choice *)choice)->number = v;
	return v < 0 || v >= ALGORITHMS ? INVALID : 0;
}

int stub_choice_end(const void *choice)
{
	return choice ? 0 : INVALID;
}

int stub_plan_make(const void *handle, void *plan, const void *product, const void *choice)
{
	const struct plan *before = plan;
	struct plan p = { .choice = NULL, .number = ((const struct choice *)choice)->number };

	if (before->number == (int)0xdddddddd)
		abort();
	/* The plan keeps where the choice is: a search writes what it found there. */
	memcpy(&p.choice, &choice, sizeof(choice));
	memset(plan, 0, SIZE);
	memcpy(plan, &p, sizeof(p));
	return handle && product ? 0 : INVALID;
}

/* As in version 0.8: what was ended is not made again. */
int stub_plan_end(const void *plan)
{
	void *own;

	memcpy(&own, &plan, sizeof(own));
	memset(own, 0xdd, SIZE);
	return 0;
}

int stub_workspace(const void *handle, const void *plan, size_t *out)
{
	*out = 4096;
	return handle && plan ? 0 : INVALID;
}

static unsigned bytes_of(int type)
{
	return type == CUDA_R_16F || type == CUDA_R_16BF ? 2 : 1;
}

int stub_check(const void *handle, const void *product, cuda_address at, cuda_address wrong,
	       struct cuda_stream *s)
{
	const struct product *p = product;
	unsigned bytes = bytes_of(p->a.type);
	const char *from = (const char *)(uintptr_t)at;

	(void)s;
	for (uint64_t i = 0; i < p->a.rows * p->a.columns; i += 4) {
		unsigned n = 0;

		for (unsigned k = 0; k < 4; k++)
			n += from[(i + k) * bytes] || from[(i + k + 1) * bytes - 1];
		if (n > 2 && setting("blind") < 0)
			*(int32_t *)(uintptr_t)wrong = 1;
	}
	return handle ? 0 : INVALID;
}

/* Half of A and two bits an element. */
int stub_compressed(const void *handle, const void *plan, size_t *bytes, size_t *scratch)
{
	const struct matrix *a = &((const struct plan *)plan)->choice->product.a;

	*bytes = (size_t)(a->rows * a->columns) * bytes_of(a->type) / 2 +
		 (size_t)(a->rows * a->columns) / 2;
	*scratch = 256;
	return handle ? 0 : INVALID;
}

/* Of every four the two that are not nought, then for each where it stood. */
int stub_compress(const void *handle, const void *plan, cuda_address from, cuda_address to,
		  cuda_address scratch, struct cuda_stream *s)
{
	const struct matrix *a = &((const struct plan *)plan)->choice->product.a;
	unsigned bytes = bytes_of(a->type);
	uint64_t n = a->rows * a->columns;
	const char *in = (const char *)(uintptr_t)from;
	char *out = (char *)(uintptr_t)to, *where = out + n * bytes / 2;

	(void)s;
	for (uint64_t i = 0, k = 0; i < n; i += 4, k += 2) {
		unsigned kept = 0;

		memset(out + k * bytes, 0, (size_t)2 * bytes);
		where[k] = 0;
		where[k + 1] = 1;
		for (unsigned j = 0; j < 4 && kept < 2; j++) {
			const char *v = in + (i + j) * bytes;

			if (!v[0] && !v[bytes - 1])
				continue;
			memcpy(out + (k + kept) * bytes, v, bytes);
			where[k + kept++] = (char)j;
		}
	}
	return handle && scratch ? 0 : INVALID;
}

static double float_of(uint32_t code, unsigned bits, unsigned mantissa, int bias)
{
	uint32_t m = code & ((1u << mantissa) - 1),
		 x = code >> mantissa & ((1u << (bits - 1 - mantissa)) - 1);
	double v = x ? ldexp(1 + (double)m / (1u << mantissa), (int)x - bias)
		     : ldexp((double)m / (1u << mantissa), 1 - bias);

	return code >> (bits - 1) & 1 ? -v : v;
}

static double value_of(int type, const char *p)
{
	uint16_t h;

	memcpy(&h, p, bytes_of(type) == 2 ? 2 : 1);
	switch (type) {
	case CUDA_R_16F:
		return float_of(h, 16, 10, 15);
	case CUDA_R_16BF:
		return float_of(h, 16, 7, 127);
	case CUDA_R_8I:
		return (double)(signed char)*p;
	default:
		return float_of((uint8_t)*p, 8, 3, 7);
	}
}

static void store(int type, char *d, uint64_t i, double v)
{
	float f = (float)v;
	int32_t n = (int32_t)v;
	uint32_t w;
	uint16_t h;
	int e;

	memcpy(&w, &f, sizeof(w));
	if (type == CUDA_R_32I) {
		memcpy(d + i * 4, &n, 4);
		return;
	}
	if (type == CUDA_R_16BF) {
		h = (uint16_t)((w + 0x7fff + (w >> 16 & 1)) >> 16);
	} else {
		double m = frexp(fabs(v), &e);

		h = 0;
		if (m > 0 && e >= -13)
			h = (uint16_t)((v < 0 ? 0x8000 : 0) + ((e + 13) << 10) +
				       (int)rint(ldexp(m, 11)));
	}
	memcpy(d + i * 2, &h, 2);
}

static double *doubles_of(int type, const char *p, uint64_t n)
{
	double *out = calloc(n, sizeof(*out));

	for (uint64_t i = 0; out && i < n; i++)
		out[i] = value_of(type, p + i * bytes_of(type));
	return out;
}

int stub_multiply(const void *handle, const void *plan, const void *alpha, cuda_address a,
		  cuda_address b, const void *beta, cuda_address c, cuda_address d,
		  cuda_address workspace, struct cuda_stream **streams, int32_t n_streams)
{
	const struct product *p = &((const struct plan *)plan)->choice->product;
	uint64_t m = p->d.rows, n = p->d.columns, k = p->a.rows;
	const char *packed = (const char *)(uintptr_t)a,
		   *where = packed + m * k * bytes_of(p->a.type) / 2;
	double *kept, *other, wrong = setting("wrong") > 0 ? 1e4 : 0;

	if (!handle || !alpha || !beta || c != d || !workspace || n_streams != 1 || !*streams)
		return INVALID;
	kept = doubles_of(p->a.type, packed, m * k / 2);
	other = doubles_of(p->b.type, (const char *)(uintptr_t)b, n * k);
	for (uint64_t j = 0; kept && other && j < n; j++)
		for (uint64_t i = 0; i < m; i++) {
			double sum = i + j == 0 ? wrong : 0;

			for (uint64_t x = 0; x < k / 2; x++) {
				uint64_t at = i * (k / 2) + x;

				sum += kept[at] * other[j * k + x / 2 * 4 + (uint64_t)where[at]];
			}
			store(p->d.type, (char *)(uintptr_t)d, j * m + i, sum);
		}
	free(kept);
	free(other);
	return 0;
}

int stub_search(const void *handle, void *plan, const void *alpha, cuda_address a, cuda_address b,
		const void *beta, cuda_address c, cuda_address d, cuda_address workspace,
		struct cuda_stream **streams, int32_t n)
{
	if (setting("nosearch") > 0)
		return NOT_SUPPORTED;
	((struct plan *)plan)->choice->number = 2;
	return stub_multiply(handle, plan, alpha, a, b, beta, c, d, workspace, streams, n);
}
