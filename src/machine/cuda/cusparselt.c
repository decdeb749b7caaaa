/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSELt's calls in the order that it wants them, and its answers as errors. */
#include "machine/cuda/cusparselt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* cusparseStatus_t, cusparseOrder_t, cusparseOperation_t, cusparseComputeType (from 0.6 on),
 * cusparseLtMatmulAlgAttribute_t. */
enum {
	CUSPARSE_STATUS_ALLOC_FAILED = 2,
	CUSPARSE_STATUS_INVALID_VALUE = 3,
	CUSPARSE_STATUS_ARCH_MISMATCH = 4,
	CUSPARSE_STATUS_INTERNAL_ERROR = 7,
	CUSPARSE_STATUS_NOT_SUPPORTED = 10,
	CUSPARSE_ORDER_COL = 1,
	CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
	CUSPARSE_OPERATION_TRANSPOSE = 1,
	CUSPARSE_COMPUTE_32I = 0,
	CUSPARSE_COMPUTE_32F = 2,
	CUSPARSELT_MATMUL_ALG_CONFIG_ID = 0,
	CUSPARSELT_MATMUL_ALG_CONFIG_MAX_ID = 1,
	CUSPARSELT_MATMUL_SPLIT_K = 3,
	ALIGNMENT = 16
};

/* Attribute numbers of a choice's words: number, split, its mode, its buffers. */
static const int choice_words[CUSPARSELT_WORDS] = { CUSPARSELT_MATMUL_ALG_CONFIG_ID,
						    CUSPARSELT_MATMUL_SPLIT_K, 4, 5 };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define CUSPARSELT_CALL(field, symbol, params)                                                     \
	static int missing_##field params                                                          \
	{                                                                                          \
		return CUSPARSE_STATUS_NOT_SUPPORTED;                                              \
	}
#include "machine/cuda/cusparselt.def"
#pragma GCC diagnostic pop

#define CUSPARSELT_CALL(field, symbol, params)                                                     \
	{ symbol, offsetof(struct cusparselt_api, field), (void (*)(void))missing_##field },
static const struct vendor_symbol symbols[] = {
#include "machine/cuda/cusparselt.def"
};

/* Storage of one descriptor. */
struct room {
	_Alignas(64) unsigned char bytes[16384];
};

struct cusparselt_plan {
	struct room handle, a, b, d, product, choice, plan;
	struct cusparselt *lt;
	struct cuda_gpu *gpu;
	bool begun, have_a, have_b, have_d, chosen, planned;
};

static int cusparselt_status(int s, struct err *e, const char *what)
{
	int r = s == CUSPARSE_STATUS_ALLOC_FAILED ? -ENOMEM
		: s == CUSPARSE_STATUS_NOT_SUPPORTED || s == CUSPARSE_STATUS_INVALID_VALUE ||
				s == CUSPARSE_STATUS_ARCH_MISMATCH
			? -EOPNOTSUPP
			: -EIO;
	const char *name = s == CUSPARSE_STATUS_ALLOC_FAILED	 ? "CUSPARSE_STATUS_ALLOC_FAILED"
			   : s == CUSPARSE_STATUS_INVALID_VALUE	 ? "CUSPARSE_STATUS_INVALID_VALUE"
			   : s == CUSPARSE_STATUS_ARCH_MISMATCH	 ? "CUSPARSE_STATUS_ARCH_MISMATCH"
			   : s == CUSPARSE_STATUS_INTERNAL_ERROR ? "CUSPARSE_STATUS_INTERNAL_ERROR"
			   : s == CUSPARSE_STATUS_NOT_SUPPORTED	 ? "CUSPARSE_STATUS_NOT_SUPPORTED"
								 : "a cuSPARSE status";

	return s ? err_set(e, r, "cuSPARSELt: %s: %s (%d)", what, name, s) : 0;
}

int cusparselt_open(struct cusparselt *l, struct err *e)
{
	int r;

	*l = (struct cusparselt){ 0 };
	r = cuda_library_open(cuda_cusparselt, false, symbols, sizeof(symbols) / sizeof(symbols[0]),
			      &l->api, &l->lib, e);
	if (r)
		return r;
	for (int i = 0; i < 3; i++)
		if (l->api.property(i, &l->version[i]))
			l->version[i] = 0;
	if (l->api.multiply == missing_multiply || l->api.search == missing_search)
		r = err_set(e, -ELIBACC, "%s has no cusparseLtMatmul", l->lib.path);
	else if (l->version[0] == 0 && l->version[1] < 6)
		r = err_set(
			e, -ELIBBAD,
			"%s is version %d.%d.%d, which has a different interface: 0.6 is required",
			l->lib.path, l->version[0], l->version[1], l->version[2]);
	if (r)
		cuda_library_close(&l->lib);
	return r;
}

void cusparselt_plan_end(struct cusparselt_plan *p)
{
	const struct cusparselt_api *api;

	if (!p)
		return;
	api = &p->lt->api;
	/* All of them may speak to the GPU; in the order of the vendor's own examples. */
	if (!*p->gpu->lost) {
		if (p->have_a)
			api->matrix_end(&p->a);
		if (p->have_b)
			api->matrix_end(&p->b);
		if (p->have_d)
			api->matrix_end(&p->d);
		if (p->chosen)
			api->choice_end(&p->choice);
		if (p->planned)
			api->plan_end(&p->plan);
		if (p->begun)
			api->end(&p->handle);
	}
	free(p);
}

static int cusparselt_describe(struct cusparselt_plan *p, const struct cusparselt_shape *s,
			       struct err *e)
{
	const struct cusparselt_api *api = &p->lt->api;
	int64_t m = (int64_t)s->m, n = (int64_t)s->n, k = (int64_t)s->k;
	int r = cusparselt_status(api->begin(&p->handle), e, "initializing on this GPU");

	p->begun = r == 0;
	r = r ? r
	      : cusparselt_status(api->sparse_make(&p->handle, &p->a, k, m, k, ALIGNMENT, s->type,
						   CUSPARSE_ORDER_COL, 0),
				  e, "setting up sparse matrix A");
	p->have_a = r == 0;
	r = r ? r
	      : cusparselt_status(api->dense_make(&p->handle, &p->b, k, n, k, ALIGNMENT, s->type,
						  CUSPARSE_ORDER_COL),
				  e, "setting up matrix B");
	p->have_b = r == 0;
	r = r ? r
	      : cusparselt_status(api->dense_make(&p->handle, &p->d, m, n, m, ALIGNMENT, s->d,
						  CUSPARSE_ORDER_COL),
				  e, "setting up matrix D");
	p->have_d = r == 0;
	r = r ? r
	      : cusparselt_status(
			api->product_make(&p->handle, &p->product, CUSPARSE_OPERATION_TRANSPOSE,
					  CUSPARSE_OPERATION_NON_TRANSPOSE, &p->a, &p->b, &p->d,
					  &p->d,
					  s->integer ? CUSPARSE_COMPUTE_32I : CUSPARSE_COMPUTE_32F),
			e, "creating the descriptor of the product");
	r = r ? r
	      : cusparselt_status(api->choice_make(&p->handle, &p->choice, &p->product, 0), e,
				  "selecting an algorithm");
	p->chosen = r == 0;
	return r;
}

/* One that a search found. It has to be taken before there is a plan: storage of a plan that was
 * ended takes no other (0.8). */
static int cusparselt_take(struct cusparselt_plan *p, const struct cusparselt_choice *c,
			   struct err *e)
{
	const struct cusparselt_api *api = &p->lt->api;

	for (size_t i = 0; i < CUSPARSELT_WORDS; i++) {
		int now = 0,
		    s = api->choice_get(&p->handle, &p->choice, choice_words[i], &now, sizeof(now));

		if (s == 0 && now != c->word[i])
			s = api->choice_set(&p->handle, &p->choice, choice_words[i], &c->word[i],
					    sizeof(c->word[i]));
		if (s && choice_words[i] == CUSPARSELT_MATMUL_ALG_CONFIG_ID)
			return cusparselt_status(s, e, "selecting the found algorithm");
	}
	return 0;
}

static int plan(struct cusparselt_plan *p, struct err *e)
{
	int r = cusparselt_status(
		p->lt->api.plan_make(&p->handle, &p->plan, &p->product, &p->choice), e,
		"creating a plan");

	p->planned = r == 0;
	return r;
}

int cusparselt_plan_make(struct cusparselt *l, struct cuda_gpu *g,
			 const struct cusparselt_shape *shape,
			 const struct cusparselt_choice *known, struct cusparselt_plan **out,
			 struct err *e)
{
	struct cusparselt_plan *p = aligned_alloc(_Alignof(struct cusparselt_plan), sizeof(*p));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	memset(p, 0, sizeof(*p));
	p->lt = l;
	p->gpu = g;
	r = cusparselt_describe(p, shape, e);
	if (r == 0 && known)
		r = cusparselt_take(p, known, e);
	r = r ? r : plan(p, e);
	if (r) {
		cusparselt_plan_end(p);
		return r;
	}
	*out = p;
	return 0;
}

int cusparselt_plan_bytes(struct cusparselt_plan *p, size_t *compressed, size_t *scratch,
			  struct err *e)
{
	*compressed = *scratch = 0;
	return cusparselt_status(p->lt->api.compressed(&p->handle, &p->plan, compressed, scratch),
				 e, "reading the compressed size");
}

int cusparselt_check(struct cusparselt_plan *p, cuda_address a, cuda_address wrong,
		     struct cuda_stream *s, struct err *e)
{
	return cusparselt_status(p->lt->api.check(&p->handle, &p->product, a, wrong, s), e,
				 "checking the sparsity");
}

int cusparselt_compress(struct cusparselt_plan *p, cuda_address a, cuda_address to,
			cuda_address scratch, struct cuda_stream *s, struct err *e)
{
	return cusparselt_status(p->lt->api.compress(&p->handle, &p->plan, a, to, scratch, s), e,
				 "compressing the matrix");
}

/* The plan's algorithm must not need more than there is. */
static int cusparselt_fits(struct cusparselt_plan *p, size_t have, struct err *e)
{
	size_t want = 0;
	int r = cusparselt_status(p->lt->api.workspace(&p->handle, &p->plan, &want), e,
				  "reading the workspace size");

	if (r == 0 && want > have)
		r = err_set(
			e, -EOPNOTSUPP,
			"cuSPARSELt requires %zu MiB of workspace, but only %zu MiB are allocated",
			want >> 20, have >> 20);
	return r;
}

int cusparselt_search(struct cusparselt_plan *p, const struct cusparselt_buffers *at,
		      struct cuda_stream *s, struct cusparselt_choice *out, struct err *e)
{
	const struct cusparselt_api *api = &p->lt->api;
	const float one = 1, zero = 0;
	int r = cusparselt_fits(p, at->workspace_bytes, e);

	r = r ? r
	      : cusparselt_status(api->search(&p->handle, &p->plan, &one, at->a, at->b, &zero,
					      at->d, at->d, at->workspace, &s, 1),
				  e, "searching for an algorithm");
	r = r ? r : cusparselt_fits(p, at->workspace_bytes, e);
	*out = (struct cusparselt_choice){ 0 };
	for (size_t i = 0; i < CUSPARSELT_WORDS && r == 0; i++)
		if (api->choice_get(&p->handle, &p->choice, choice_words[i], &out->word[i],
				    sizeof(out->word[i])))
			out->word[i] = 0;
	if (r == 0 && api->choice_get(&p->handle, &p->choice, CUSPARSELT_MATMUL_ALG_CONFIG_MAX_ID,
				      &out->highest, sizeof(out->highest)))
		out->highest = 0;
	return r;
}

int cusparselt_multiply(struct cusparselt_plan *p, const struct cusparselt_buffers *at,
			struct cuda_stream *s, struct err *e)
{
	const float one = 1, zero = 0;

	return cusparselt_status(p->lt->api.multiply(&p->handle, &p->plan, &one, at->a, at->b,
						     &zero, at->d, at->d, at->workspace, &s, 1),
				 e, "computing the product");
}
