/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with a sparse matrix: its zeros checked by the library too, taken out, and the algorithm
 * that the library's own search finds. Its algorithms are not tried by number as those of dense
 * products are: one that does not fit the chip takes the context with it.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/bench/gemm_data.h"
#include "machine/cuda/guard.h"

#define FOUND_S 0.03

static int type_of(enum gemm_code c)
{
	return c == CODE_F16	? CUBLASLT_R16F
	       : c == CODE_BF16 ? CUBLASLT_R16BF
	       : c == CODE_E4M3 ? CUBLASLT_E4M3
	       : c == CODE_I8	? CUBLASLT_R8I
				: CUBLASLT_R32I;
}

static struct cusparselt_buffers buffers(const struct gemm_unit *u)
{
	return (struct cusparselt_buffers){ u->packed, u->b, u->d, u->workspace,
					    u->workspace_bytes };
}

int gemm_sparse_multiply(struct gemm_unit *u, struct err *e)
{
	const struct cusparselt_buffers at = buffers(u);

	return cusparselt_multiply(u->sparse, &at, u->stream, e);
}

/* The library must find the zeros too, and must miss them in B, which has none. */
static int check(struct gemm_unit *u, struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	uint64_t out[2] = { 0, 0 };
	int r = cuda_check(g, g->api->set_bytes(u->out, 0, sizeof(out), u->stream), e,
			   "clearing a count");

	r = r ? r : cusparselt_check(u->sparse, u->a, u->out, u->stream, e);
	r = r ? r : gemm_unit_out(u, out, "the library's check of the zeros", e);
	if (r == 0 && (uint32_t)out[0])
		return err_set(e, -EILSEQ, "GPU %s: cuSPARSELt misses zeros in A", g->pci);
	if (r == 0 && u->dims.m <= u->dims.n) {
		r = cusparselt_check(u->sparse, u->b, u->out, u->stream, e);
		r = r ? r : gemm_unit_out(u, out, "the library's check of the zeros", e);
		if (r == 0 && !(uint32_t)out[0])
			r = err_set(e, -EILSEQ,
				    "GPU %s: cuSPARSELt finds zeros where there are none", g->pci);
	}
	return r;
}

/* A without its zeros, in memory of its own; A itself goes. */
static int compress(struct gemm_unit *u, struct err *e)
{
	size_t packed, scratch;
	cuda_address at = 0;
	int r = cusparselt_plan_bytes(u->sparse, &packed, &scratch, e), wait;

	r = r ? r : gpu_alloc(u->place, packed, &u->packed, e);
	if (r == 0 && scratch)
		r = gpu_alloc(u->place, scratch, &at, e);
	r = r ? r : cusparselt_compress(u->sparse, u->a, u->packed, at, u->stream, e);
	wait = cuda_wait_stream(u->gpu, u->stream, GEMM_WAIT_S, "taking the zeros out", e);
	r = r ? r : wait;
	cuda_free(u->gpu, at);
	if (r) {
		cuda_free(u->gpu, u->packed);
		u->packed = 0;
		return r;
	}
	cuda_free(u->gpu, u->a);
	u->a = 0;
	return 0;
}

static int prepare(struct gemm_unit *u, const struct cusparselt_choice *known, struct err *e)
{
	const struct gemm_type *t = u->type;
	const struct cusparselt_shape shape = { .m = u->dims.m,
						.n = u->dims.n,
						.k = u->dims.k,
						.type = type_of(t->a),
						.d = type_of(t->d),
						.integer = t->a == CODE_I8 };
	int r;

	u->choice.a_turned = true;
	u->choice.b_turned = false;
	if (u->packed)
		return 0;
	/* One that did not get as far is made anew, and fails again with its reason. */
	cusparselt_plan_end(u->sparse);
	u->sparse = NULL;
	r = cusparselt_plan_make(u->sparse_lt, u->gpu, &shape, known, &u->sparse, e);
	r = r ? r : check(u, e);
	return r ? r : compress(u, e);
}

static int time_some(struct gemm_unit *u, size_t n, double *seconds, struct err *e)
{
	int r = gemm_unit_start(u, n, e);

	return r ? r : gemm_unit_finish(u, n, seconds, e);
}

/* What is loaded at first use does not count. */
static int time_few(struct gemm_unit *u, double for_s, double *seconds, struct err *e)
{
	int r = time_some(u, 1, seconds, e);

	r = r ? r : time_some(u, 1, seconds, e);
	return r ? r : time_some(u, (size_t)fmax(for_s / *seconds, 1), seconds, e);
}

int gemm_sparse_glance(struct gemm_unit *u, double for_s, double *seconds, struct err *e)
{
	int r = prepare(u, NULL, e);

	return r ? r : time_few(u, for_s, seconds, e);
}

static int search(struct gemm_unit *u, struct err *e)
{
	const struct cusparselt_buffers at = buffers(u);
	struct gemm_choice *c = &u->choice;
	struct cuda_guard guard;
	int r;

	/* It waits for the GPU itself, without a limit. */
	cuda_guard_begin(&guard, CUDA_GUARD_S, u->gpu->pci);
	r = cusparselt_search(u->sparse, &at, u->stream, &c->sparse, e);
	cuda_guard_end(&guard);
	r = r ? r : time_few(u, FOUND_S, &c->seconds, e);
	if (r)
		return r;
	c->made = true;
	c->tried = (size_t)(c->sparse.highest > 0 ? c->sparse.highest : 1);
	snprintf(c->text, sizeof(c->text),
		 "algorithm %d of %d, split %d, mode %d, by the library's own search",
		 c->sparse.word[0], c->sparse.highest, c->sparse.word[1], c->sparse.word[2]);
	return 0;
}

int gemm_sparse_choose(struct gemm_unit *u, struct gemm_choice *known, struct err *e)
{
	int r;

	if (known->made)
		u->choice = *known;
	r = prepare(u, known->made ? &known->sparse : NULL, e);
	if (r == 0 && !known->made)
		r = search(u, e);
	if (r == 0)
		*known = u->choice;
	return r;
}
