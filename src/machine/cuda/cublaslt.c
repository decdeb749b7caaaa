/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLASLt's calls, and its answers as errors. */
#include "machine/cuda/cublaslt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* cublasLtMatmulDescAttributes_t, cublasLtMatmulPreferenceAttributes_t,
 * cublasLtMatmulAlgoConfigAttributes_t. */
enum {
	CUBLASLT_MATMUL_DESC_TRANSA = 3,
	CUBLASLT_MATMUL_DESC_TRANSB = 4,
	CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17,
	CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18,
	CUBLASLT_MATMUL_DESC_FAST_ACCUM = 25,
	CUBLASLT_MATMUL_DESC_A_SCALE_MODE = 31,
	CUBLASLT_MATMUL_DESC_B_SCALE_MODE = 32,
	CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
	CUBLASLT_ALGO_CONFIG_ID = 0,
	CUBLASLT_ALGO_CONFIG_TILE_ID = 1,
	CUBLASLT_ALGO_CONFIG_SPLITK_NUM = 2,
	CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING = 4, /* of the tiles: "swizzling" */
	CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION = 5,
	CUBLASLT_ALGO_CONFIG_STAGES_ID = 6,
	CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID = 8,
	CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT = 2,
	CUBLASLT_ALGO_CAP_TILE_IDS = 6,
	CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX = 7 /* the highest */
};

enum { TILES_MAX = 1024, OPTIONS_MAX = 64 };

_Static_assert(sizeof(struct cublaslt_algorithm) == 96, "cublasLtMatmulHeuristicResult_t");
_Static_assert(offsetof(struct cublaslt_algorithm, workspace) == 64, "workspaceSize");
_Static_assert(offsetof(struct cublaslt_algorithm, waves) == 76, "wavesCount");

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define CUBLASLT_CALL(field, symbol, params)                                                       \
	static int missing_##field params                                                          \
	{                                                                                          \
		return CUBLASLT_MISSING;                                                           \
	}
#include "machine/cuda/cublaslt.def"
#pragma GCC diagnostic pop

#define CUBLASLT_CALL(field, symbol, params)                                                       \
	{ symbol, offsetof(struct cublaslt_api, field), (void (*)(void))missing_##field },
static const struct vendor_symbol symbols[] = {
#include "machine/cuda/cublaslt.def"
};

const char *cublaslt_status_name(int status)
{
	switch (status) {
	case CUBLAS_STATUS_SUCCESS:
		return "CUBLAS_STATUS_SUCCESS";
	case CUBLAS_STATUS_NOT_INITIALIZED:
		return "CUBLAS_STATUS_NOT_INITIALIZED";
	case CUBLAS_STATUS_ALLOC_FAILED:
		return "CUBLAS_STATUS_ALLOC_FAILED";
	case CUBLAS_STATUS_INVALID_VALUE:
		return "CUBLAS_STATUS_INVALID_VALUE";
	case CUBLAS_STATUS_ARCH_MISMATCH:
		return "CUBLAS_STATUS_ARCH_MISMATCH";
	case CUBLAS_STATUS_EXECUTION_FAILED:
		return "CUBLAS_STATUS_EXECUTION_FAILED";
	case CUBLAS_STATUS_INTERNAL_ERROR:
		return "CUBLAS_STATUS_INTERNAL_ERROR";
	case CUBLAS_STATUS_NOT_SUPPORTED:
		return "CUBLAS_STATUS_NOT_SUPPORTED";
	case CUBLASLT_MISSING:
		return "the library lacks this function";
	default:
		return "unknown cuBLAS status";
	}
}

/* Sets the sentence; the errno tells what cannot be from what went wrong. */
static int cublaslt_status(int s, struct err *e, const char *what)
{
	int r = s == CUBLAS_STATUS_ALLOC_FAILED ? -ENOMEM
		: s == CUBLAS_STATUS_NOT_SUPPORTED || s == CUBLAS_STATUS_INVALID_VALUE ||
				s == CUBLAS_STATUS_ARCH_MISMATCH || s == CUBLASLT_MISSING
			? -EOPNOTSUPP
			: -EIO;

	return s ? err_set(e, r, "cuBLASLt: %s: %s", what, cublaslt_status_name(s)) : 0;
}

/* Found as texts in libcublasLt 13: they switch TF32 and emulations on and off, or override what
 * the search proposes. */
void cublaslt_clear(struct cublaslt *l)
{
	static const char *const names[] = { "NVIDIA_TF32_OVERRIDE",
					     "CUBLAS_EMULATE_SINGLE_PRECISION",
					     "CUBLAS_EMULATE_DOUBLE_PRECISION",
					     "CUBLAS_EMULATION_STRATEGY",
					     "CUBLASLT_HEURISTICS_LUT_FILE" };
	size_t at = 0;

	*l = (struct cublaslt){ 0 };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!getenv(names[i]))
			continue;
		unsetenv(names[i]);
		at += (size_t)snprintf(l->cleared + at, sizeof(l->cleared) - at, "%s%s",
				       at ? " " : "", names[i]);
	}
}

int cublaslt_load(struct cublaslt *l, struct err *e)
{
	int r = cuda_library_open(cuda_cublaslt, false, symbols,
				  sizeof(symbols) / sizeof(symbols[0]), &l->api, &l->lib, e);
	if (r)
		return r;
	if (l->api.multiply == missing_multiply || l->api.heuristic == missing_heuristic) {
		r = err_set(e, -ELIBACC,
			    "%s lacks cublasLtMatmul: cuBLASLt of CUDA 11 or later is required",
			    l->lib.path);
		cuda_library_close(&l->lib);
		return r;
	}
	for (int i = 0; i < 3; i++)
		if (l->api.property(i, &l->version[i]))
			l->version[i] = 0;
	return 0;
}

int cublaslt_open(struct cublaslt *l, struct err *e)
{
	cublaslt_clear(l);
	return cublaslt_load(l, e);
}

struct cublaslt_plan {
	struct cublaslt *lt;
	const struct cuda_gpu *gpu;
	struct cublaslt_handle *handle;
	struct cublaslt_product *product;
	struct cublaslt_layout *a, *b, *d;
	/* One and zero in the format of the factor. */
	union {
		float f;
		double d;
		int i;
	} one, zero;
};

void cublaslt_plan_end(struct cublaslt_plan *p)
{
	if (!p)
		return;
	if (p->a)
		p->lt->api.layout_end(p->a);
	if (p->b)
		p->lt->api.layout_end(p->b);
	if (p->d)
		p->lt->api.layout_end(p->d);
	if (p->product)
		p->lt->api.product_end(p->product);
	/* The rest lives on the host; this one speaks to the GPU. */
	if (p->handle && !*p->gpu->lost)
		p->lt->api.destroy(p->handle);
	free(p);
}

static int set(struct cublaslt_plan *p, int attribute, const void *value, size_t size,
	       const char *what, struct err *e)
{
	return cublaslt_status(p->lt->api.product_set(p->product, attribute, value, size), e, what);
}

static int set_scales(struct cublaslt_plan *p, const struct cublaslt_shape *s, struct err *e)
{
	int mode = s->scale_mode, r = 0;

	if (mode != CUBLASLT_SCALE_ONE) {
		r = set(p, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &mode, sizeof(mode),
			"setting the block scaling", e);
		r = r ? r
		      : set(p, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &mode, sizeof(mode),
			    "setting the block scaling", e);
	}
	if (r == 0 && s->a_scale)
		r = set(p, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &s->a_scale, sizeof(s->a_scale),
			"setting the scale of A", e);
	if (r == 0 && s->b_scale)
		r = set(p, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &s->b_scale, sizeof(s->b_scale),
			"setting the scale of B", e);
	return r;
}

static int describe_product(struct cublaslt_plan *p, const struct cublaslt_shape *s, struct err *e)
{
	int turned_a = s->a_turned, turned_b = s->b_turned;
	signed char fast = 1;
	int made = p->lt->api.product_make(&p->product, s->compute, s->scale), r;

	/* What a call that failed left there is nothing to end; so below. */
	if (made)
		p->product = NULL;
	r = cublaslt_status(made, e, "setting the compute type");
	r = r ? r
	      : set(p, CUBLASLT_MATMUL_DESC_TRANSA, &turned_a, sizeof(turned_a), "transposing A",
		    e);
	r = r ? r
	      : set(p, CUBLASLT_MATMUL_DESC_TRANSB, &turned_b, sizeof(turned_b), "transposing B",
		    e);
	if (r == 0 && s->fast)
		r = set(p, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast),
			"setting fast accumulation", e);
	return r ? r : set_scales(p, s, e);
}

static int describe_matrix(struct cublaslt_plan *p, struct cublaslt_layout **out, int type,
			   uint64_t rows, uint64_t columns, const char *what, struct err *e)
{
	int s = p->lt->api.layout_make(out, type, rows, columns, (long long)rows);

	if (s)
		*out = NULL;
	return cublaslt_status(s, e, what);
}

static int describe_matrices(struct cublaslt_plan *p, const struct cublaslt_shape *s, struct err *e)
{
	uint64_t a_rows = s->a_turned ? s->k : s->m, a_columns = s->a_turned ? s->m : s->k,
		 b_rows = s->b_turned ? s->n : s->k, b_columns = s->b_turned ? s->k : s->n;
	int r = describe_matrix(p, &p->a, s->a, a_rows, a_columns, "setting up matrix A", e);

	r = r ? r : describe_matrix(p, &p->b, s->b, b_rows, b_columns, "setting up matrix B", e);
	return r ? r : describe_matrix(p, &p->d, s->d, s->m, s->n, "setting up matrix D", e);
}

static int cublaslt_start(struct cublaslt_plan *p, const struct cuda_gpu *g, struct err *e)
{
	int s = p->lt->api.create(&p->handle), driver = g->cuda ? g->cuda->version / 1000 : 0;

	if (s)
		p->handle = NULL;
	if (s == CUBLAS_STATUS_NOT_INITIALIZED && driver && driver < p->lt->version[0])
		return err_set(e, -ELIBBAD,
			       "cuBLASLt %d.%d (%s) requires a driver for CUDA %d; this driver "
			       "supports up to CUDA %d.%d",
			       p->lt->version[0], p->lt->version[1], p->lt->lib.path,
			       p->lt->version[0], driver, g->cuda->version % 1000 / 10);
	return cublaslt_status(s, e, "initializing on this GPU");
}

int cublaslt_plan_make(struct cublaslt *l, struct cuda_gpu *g, const struct cublaslt_shape *shape,
		       struct cublaslt_plan **out, struct err *e)
{
	struct cublaslt_plan *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->lt = l;
	p->gpu = g;
	if (shape->scale == CUDA_R_64F)
		p->one.d = 1;
	else if (shape->scale == CUDA_R_32I)
		p->one.i = 1;
	else
		p->one.f = 1;
	r = cuda_use(g, e);
	r = r ? r : cublaslt_start(p, g, e);
	r = r ? r : describe_product(p, shape, e);
	r = r ? r : describe_matrices(p, shape, e);
	if (r) {
		cublaslt_plan_end(p);
		return r;
	}
	*out = p;
	return 0;
}

int cublaslt_plan_search(struct cublaslt_plan *p, size_t workspace, struct cublaslt_algorithm *out,
			 int most, int *n, struct err *e)
{
	struct cublaslt_wish *wish = NULL;
	int r = cublaslt_status(p->lt->api.wish_make(&wish), e, "creating the search preference");

	*n = 0;
	if (r)
		return r;
	r = cublaslt_status(p->lt->api.wish_set(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
						&workspace, sizeof(workspace)),
			    e, "setting the workspace size");
	r = r ? r
	      : cublaslt_status(p->lt->api.heuristic(p->handle, p->product, p->a, p->b, p->d, p->d,
						     wish, most, out, n),
				e, "searching for algorithms");
	p->lt->api.wish_end(wish);
	/* What the library says it gave is not taken beyond what there is room for. */
	if (*n < 0 || *n > most)
		*n = 0;
	return r;
}

/* The library's word on one variation. */
static bool accepted(struct cublaslt_plan *p, struct cublaslt_algorithm *a, size_t workspace)
{
	struct cublaslt_algorithm seen = { 0 };

	if (p->lt->api.algorithm_check(p->handle, p->product, p->a, p->b, p->d, p->d, a->algorithm,
				       &seen) ||
	    seen.state || seen.workspace > workspace)
		return false;
	a->workspace = seen.workspace;
	a->state = 0;
	return true;
}

int cublaslt_plan_vary(struct cublaslt_plan *p, const struct cublaslt_algorithm *a,
		       size_t workspace, struct cublaslt_algorithm *out, int most)
{
	/* cublasLtClusterShape_t: what the library likes, 1x1, 2x1, 1x2, 2x2, 4x1, 1x4. */
	static const uint16_t clusters[] = { 0, 2, 3, 5, 6, 4, 8 };
	const struct cublaslt_api *api = &p->lt->api;
	uint32_t tiles[TILES_MAX], can_order = 0;
	size_t written = 0, n_tiles;
	int n = 0;

	if (api->algorithm_can(a->algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, tiles, sizeof(tiles),
			       &written))
		return 0;
	n_tiles = written / sizeof(tiles[0]) < TILES_MAX ? written / sizeof(tiles[0]) : TILES_MAX;
	api->algorithm_can(a->algorithm, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT, &can_order,
			   sizeof(can_order), &written);
	for (size_t t = 0; t < n_tiles; t++)
		for (size_t c = 0; c < sizeof(clusters) / sizeof(clusters[0]); c++)
			for (uint32_t order = 0; order <= (can_order ? 1u : 0u) && n < most;
			     order++) {
				out[n] = *a;
				if (!api->algorithm_set(out[n].algorithm,
							CUBLASLT_ALGO_CONFIG_TILE_ID, &tiles[t],
							sizeof(tiles[t])) &&
				    !api->algorithm_set(out[n].algorithm,
							CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
							&clusters[c], sizeof(clusters[c])) &&
				    !api->algorithm_set(out[n].algorithm,
							CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &order,
							sizeof(order)) &&
				    accepted(p, &out[n], workspace))
					n++;
			}
	return n;
}

int cublaslt_plan_options(struct cublaslt_plan *p, const struct cublaslt_algorithm *a,
			  size_t workspace, struct cublaslt_algorithm *out, int most)
{
	const struct cublaslt_api *api = &p->lt->api;
	uint32_t highest = 0, own = 0;
	size_t written;
	int n = 0;

	if (api->algorithm_can(a->algorithm, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, &highest,
			       sizeof(highest), &written) ||
	    api->algorithm_get(a->algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, &own, sizeof(own),
			       &written))
		return 0;
	for (uint32_t option = 0; option <= highest && option < OPTIONS_MAX && n < most; option++) {
		out[n] = *a;
		if (option != own &&
		    !api->algorithm_set(out[n].algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
					&option, sizeof(option)) &&
		    accepted(p, &out[n], workspace))
			n++;
	}
	return n;
}

int cublaslt_multiply(struct cublaslt_plan *p, const struct cublaslt_algorithm *a,
		      const struct cublaslt_buffers *at, struct cuda_stream *s)
{
	return p->lt->api.multiply(p->handle, p->product, &p->one, at->a, p->a, at->b, p->b,
				   &p->zero, at->d, p->d, at->d, p->d, a->algorithm, at->workspace,
				   at->workspace_bytes, s);
}

void cublaslt_describe(const struct cublaslt *l, const struct cublaslt_algorithm *a, char *text,
		       size_t size)
{
	static const struct {
		int attribute;
		size_t bytes;
		const char *name;
	} rows[] = { { CUBLASLT_ALGO_CONFIG_ID, 4, "algorithm" },
		     { CUBLASLT_ALGO_CONFIG_TILE_ID, 4, "tile" },
		     { CUBLASLT_ALGO_CONFIG_STAGES_ID, 4, "stages" },
		     { CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2, "cluster" },
		     { CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4, "split" },
		     { CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4, "order" },
		     { CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4, "option" } };
	size_t at = 0, written;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && at < size; i++) {
		uint32_t wide = 0;
		uint16_t narrow = 0;

		if (l->api.algorithm_get(a->algorithm, rows[i].attribute,
					 rows[i].bytes == 2 ? (void *)&narrow : (void *)&wide,
					 rows[i].bytes, &written))
			continue;
		at += (size_t)snprintf(text + at, size - at, "%s%s %u", at ? ", " : "",
				       rows[i].name, rows[i].bytes == 2 ? narrow : wide);
	}
}
