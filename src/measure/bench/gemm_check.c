/* SPDX-License-Identifier: Apache-2.0 */
/* The proof that a product is right: elements in double precision, and a fault that is planted. */
#include <errno.h>

#include "measure/bench/gemm_data.h"

/* Element p of the sum for one row of A, as the operand was drawn; with its scale. */
static double value_a(const struct gemm_unit *u, uint64_t row, uint64_t p)
{
	const struct gemm_dims *d = &u->dims;
	uint64_t at = u->choice.a_turned ? row * d->k + p : p * d->m + row;
	double v = u->values_a[gemm_pick(GEMM_SEED_A, at)];

	if (u->type->sparse && !gemm_stays(GEMM_SEED_ZEROS, at))
		return 0;
	return u->type->block
		       ? v * u->values_scale[gemm_pick(GEMM_SEED_SCALE_A,
						       gemm_scale_place(u->type, row, p, d->k))]
		       : v;
}

static double value_b(const struct gemm_unit *u, uint64_t column, uint64_t p)
{
	const struct gemm_dims *d = &u->dims;
	uint64_t at = u->choice.b_turned ? p * d->n + column : column * d->k + p;
	double v = u->values_b[gemm_pick(GEMM_SEED_B, at)];

	return u->type->block
		       ? v * u->values_scale[gemm_pick(GEMM_SEED_SCALE_B,
						       gemm_scale_place(u->type, column, p, d->k))]
		       : v;
}

/* One element by sums in double precision, from the tables that the operands were drawn from. */
static void reference(const struct gemm_unit *u, uint64_t row, uint64_t column, double *exact,
		      double *magnitude)
{
	*exact = *magnitude = 0;
	for (uint64_t p = 0; p < u->dims.k; p++) {
		double x = value_a(u, row, p) * value_b(u, column, p);

		*exact += x;
		*magnitude += x < 0 ? -x : x;
	}
}

int gemm_unit_sample(struct gemm_unit *u, struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	const struct gemm_dims *d = &u->dims;
	size_t bytes = gemm_code_bits(u->type->d) / 8;

	for (uint64_t i = 0; i < GEMM_SAMPLES; i++) {
		/* The corners first, then anywhere. */
		uint64_t at = i < 4 ? (i & 1) * (d->m - 1) + (i >> 1) * (d->n - 1) * d->m
				    : (gemm_pick(i, 1) << 16 | gemm_pick(i, 2)) % (d->m * d->n),
			 code = 0;
		double exact, magnitude, got;
		int r = cuda_check(g, g->api->copy_out(&code, u->d + at * bytes, bytes, u->stream),
				   e, "an element of the product");

		r = r ? r : cuda_wait_stream(g, u->stream, GEMM_WAIT_S, "an element", e);
		if (r)
			return r;
		got = gemm_decode(u->type->d, code);
		reference(u, at % d->m, at / d->m, &exact, &magnitude);
		if (!gemm_close(u->type, got, exact, magnitude, d->k))
			return err_set(e, -EILSEQ,
				       "GPU %s: element (%llu, %llu) of the product is %.9g, not "
				       "%.9g within %.2g",
				       g->pci, (unsigned long long)(at % d->m),
				       (unsigned long long)(at / d->m), got, exact,
				       gemm_tolerance(u->type, exact, magnitude, d->k));
	}
	return 0;
}

int gemm_unit_plant(struct gemm_unit *u, struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	size_t bytes = gemm_code_bits(u->type->d) / 8;
	cuda_address at = u->d + u->dims.m * u->dims.n / 2 * bytes;
	uint64_t code = 0, out[2] = { 0, 0 };
	int r = cuda_check(g, g->api->copy_out(&code, at, bytes, u->stream), e, "an element");

	r = r ? r : cuda_wait_stream(g, u->stream, GEMM_WAIT_S, "an element", e);
	code ^= 1;
	r = r ? r
	      : cuda_check(g, g->api->copy_in(at, &code, bytes, u->stream), e, "a planted fault");
	r = r ? r : gemm_unit_scan(u, out, e);
	if (r == 0 && out[0] == u->sum)
		return err_set(e, -EILSEQ,
			       "GPU %s: a flipped bit in the result was not noticed: the check "
			       "does not work",
			       g->pci);
	return r;
}
