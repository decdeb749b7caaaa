/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, data and batches of one product on one GPU. */
#include "measure/bench/gemm_unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/gemm_data.h"
#include "measure/bench/gemm_kernels.h"

enum { BLOCKS_PER_SM = 8, CLOCK_NS = 200000 };

unsigned gemm_blocks(const struct cuda_gpu *g)
{
	return (unsigned)(g->sms > 0 ? g->sms : 1) * BLOCKS_PER_SM;
}

static int type_of(enum gemm_code c)
{
	switch (c) {
	case CODE_F64:
		return CUBLASLT_R64F;
	case CODE_F32:
		return CUBLASLT_R32F;
	case CODE_F16:
		return CUBLASLT_R16F;
	case CODE_BF16:
		return CUBLASLT_R16BF;
	case CODE_E4M3:
		return CUBLASLT_E4M3;
	case CODE_E5M2:
		return CUBLASLT_E5M2;
	case CODE_E2M1:
		return CUBLASLT_E2M1;
	case CODE_I8:
		return CUBLASLT_R8I;
	default:
		return CUBLASLT_R32I;
	}
}

void gemm_unit_shape(const struct gemm_unit *u, const struct gemm_choice *c,
		     struct cublaslt_shape *out)
{
	const struct gemm_type *t = u->type;

	*out = (struct cublaslt_shape){
		.m = u->dims.m,
		.n = u->dims.n,
		.k = u->dims.k,
		.a = type_of(t->a),
		.b = type_of(t->b),
		.d = type_of(t->d),
		.compute = t->a == CODE_F64  ? CUBLASLT_COMPUTE_64F
			   : t->a == CODE_I8 ? CUBLASLT_COMPUTE_32I
			   : t->tf32	     ? CUBLASLT_COMPUTE_TF32
					     : CUBLASLT_COMPUTE_32F,
		.scale = t->a == CODE_F64  ? CUBLASLT_R64F
			 : t->a == CODE_I8 ? CUBLASLT_R32I
					   : CUBLASLT_R32F,
		.a_turned = c->a_turned,
		.b_turned = c->b_turned,
		.fast = c->fast,
		.scale_mode = t->block == 16   ? CUBLASLT_SCALE_VEC16
			      : t->block == 32 ? CUBLASLT_SCALE_VEC32
					       : CUBLASLT_SCALE_ONE,
		.a_scale = u->scales_a,
		.b_scale = u->scales_b,
	};
}

/* --- setting up ---------------------------------------------------------------------------------
 */

static int load_kernels(struct gemm_unit *u, struct err *e)
{
	int r = cuda_module_load(u->gpu, gemm_ptx, &u->module, e);

	r = r ? r : cuda_function_find(u->gpu, u->module, "gemm_fill", &u->fill, e);
	r = r ? r : cuda_function_find(u->gpu, u->module, "gemm_scan", &u->scan, e);
	r = r ? r : cuda_function_find(u->gpu, u->module, "gemm_clock", &u->clock, e);
	if (r || !u->type->sparse)
		return r;
	r = cuda_module_load(u->gpu, gemm_zeros_ptx, &u->zeros, e);
	r = r ? r : cuda_function_find(u->gpu, u->zeros, "gemm_prune", &u->prune, e);
	return r ? r : cuda_function_find(u->gpu, u->zeros, "gemm_fours", &u->fours, e);
}

static int alloc_all(struct gemm_unit *u, struct err *e)
{
	const struct gemm_type *t = u->type;
	struct cuda_gpu *g = u->gpu;
	size_t scales_a = gemm_scale_bytes(t, u->dims.m, u->dims.k),
	       scales_b = gemm_scale_bytes(t, u->dims.n, u->dims.k);
	int r;

	u->d_bytes = gemm_bytes(t->d, u->dims.m * u->dims.n);
	u->workspace_bytes = GEMM_WORKSPACE;
	r = gpu_alloc(u->place, gemm_bytes(t->a, u->dims.m * u->dims.k), &u->a, e);
	r = r ? r : gpu_alloc(u->place, gemm_bytes(t->b, u->dims.k * u->dims.n), &u->b, e);
	r = r ? r : gpu_alloc(u->place, u->d_bytes, &u->d, e);
	r = r ? r : gpu_alloc(u->place, u->workspace_bytes, &u->workspace, e);
	r = r ? r : cuda_alloc(g, 2 * sizeof(uint64_t), &u->out, e);
	if (r == 0 && scales_a)
		r = cuda_alloc(g, scales_a, &u->scales_a, e);
	if (r == 0 && scales_b)
		r = cuda_alloc(g, scales_b, &u->scales_b, e);
	return r;
}

int gemm_unit_make(struct gemm_unit *u, struct gpu_place *place, struct cublaslt *lt,
		   const struct gemm_type *t, struct gemm_dims dims, struct err *e)
{
	struct cuda_gpu *g = place->gpu;
	int r = gpu_place_use(place, e);

	*u = (struct gemm_unit){ .place = place,
				 .gpu = g,
				 .lt = lt,
				 .type = t,
				 .dims = dims,
				 .sparse_lt = u->sparse_lt,
				 .stop = u->stop,
				 .tell = u->tell,
				 .tell_ctx = u->tell_ctx };
	r = r ? r : cuda_stream_make(g, &u->stream, e);
	r = r ? r : cuda_event_make(g, &u->begin, e);
	r = r ? r : cuda_event_make(g, &u->end, e);
	r = r ? r : load_kernels(u, e);
	r = r ? r : alloc_all(u, e);
	return r ? r : gemm_data_make(u, e);
}

void gemm_unit_end(struct gemm_unit *u)
{
	struct cuda_gpu *g = u->gpu;

	gemm_data_end(u);
	if (!g || !g->context)
		return;
	/* Queued work must not outlive its memory. */
	if (u->stream && !*g->lost) {
		struct err ignored;

		cuda_wait_stream(g, u->stream, GEMM_WAIT_S, "the last product", &ignored);
	}
	cublaslt_plan_end(u->plan);
	cusparselt_plan_end(u->sparse);
	cuda_free(g, u->packed);
	cuda_free(g, u->a);
	cuda_free(g, u->b);
	cuda_free(g, u->d);
	cuda_free(g, u->workspace);
	cuda_free(g, u->scales_a);
	cuda_free(g, u->scales_b);
	cuda_free(g, u->out);
	cuda_module_end(g, u->module);
	cuda_module_end(g, u->zeros);
	cuda_event_end(g, u->begin);
	cuda_event_end(g, u->end);
	cuda_stream_end(g, u->stream);
	*u = (struct gemm_unit){ 0 };
}

/* --- running ------------------------------------------------------------------------------------
 */

static int multiply(struct gemm_unit *u, struct err *e)
{
	const struct cublaslt_buffers at = { u->a, u->b, u->d, u->workspace, u->workspace_bytes };
	int s;

	if (u->type->sparse)
		return gemm_sparse_multiply(u, e);
	s = cublaslt_multiply(u->plan, &u->choice.algorithm, &at, u->stream);
	if (s == CUBLASLT_OK)
		return 0;
	return err_set(e, s == CUBLASLT_NOT_SUPPORTED ? -EOPNOTSUPP : -EIO,
		       "GPU %s: the product: %s", u->gpu->pci, cublaslt_status_name(s));
}

int gemm_unit_start(struct gemm_unit *u, size_t n, struct err *e)
{
	int r = cuda_use(u->gpu, e);

	r = r ? r : cuda_record(u->gpu, u->begin, u->stream, e);
	for (size_t i = 0; i < n && r == 0; i++)
		r = multiply(u, e);
	return r ? r : cuda_record(u->gpu, u->end, u->stream, e);
}

int gemm_unit_finish(struct gemm_unit *u, size_t n, double *seconds, struct err *e)
{
	int r = cuda_wait_event(u->gpu, u->end, GEMM_WAIT_S, "a batch of products", e);

	r = r ? r : cuda_elapsed(u->gpu, u->begin, u->end, seconds, e);
	*seconds /= (double)n;
	return r;
}

int gemm_unit_out(struct gemm_unit *u, uint64_t out[2], const char *what, struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	int r = cuda_check(g, g->api->copy_out(out, u->out, 2 * sizeof(*out), u->stream), e, "%s",
			   what);

	return r ? r : cuda_wait_stream(g, u->stream, GEMM_WAIT_S, what, e);
}

int gemm_unit_clock(struct gemm_unit *u, double *mhz, struct err *e)
{
	uint64_t ns = CLOCK_NS, out[2] = { 0, 0 };
	void *args[] = { &u->out, &ns };
	int r = cuda_launch(u->gpu, u->clock, 1, 1, u->stream, args, e);

	r = r ? r : gemm_unit_out(u, out, "reading the clock", e);
	if (r == 0 && !(out[0] && out[1]))
		return err_set(e, -EIO, "GPU %s: its clock stood still", u->gpu->pci);
	*mhz = out[1] ? (double)out[0] / (double)out[1] * 1e3 : 0;
	return r;
}

int gemm_unit_scan(struct gemm_unit *u, uint64_t out[2], struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	uint64_t words = u->d_bytes / 8, mask, want;
	uint32_t bits = gemm_code_bits(u->type->d);
	void *args[] = { &u->d, &words, &u->out, &mask, &want, &bits };
	int r = cuda_check(g, g->api->set_bytes(u->out, 0, 2 * sizeof(*out), u->stream), e,
			   "clearing a checksum");

	gemm_bad_bits(u->type->d, &mask, &want);
	r = r ? r : cuda_launch(g, u->scan, gemm_blocks(g), GEMM_THREADS, u->stream, args, e);
	return r ? r : gemm_unit_out(u, out, "the checksum of a product", e);
}

int gemm_unit_repeat(struct gemm_unit *u, struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	uint64_t out[2] = { 0, 0 };
	/* Only what belongs to the matrix: the rest of the last 16 bytes stays zero. */
	size_t exact = (size_t)(u->dims.m * u->dims.n * gemm_code_bits(u->type->d) / 8);
	int r = cuda_check(g, g->api->set_bytes(u->d, 0, u->d_bytes, u->stream), e, "poisoning");

	r = r ? r
	      : cuda_check(g, g->api->set_bytes(u->d, gemm_poison(u->type->d), exact, u->stream), e,
			   "poisoning the result");
	r = r ? r : multiply(u, e);
	r = r ? r : gemm_unit_scan(u, out, e);
	if (r)
		return r;
	if (out[1])
		return err_set(e, -EILSEQ,
			       "GPU %s: %llu elements of the product are no numbers or were never "
			       "written",
			       g->pci, (unsigned long long)out[1]);
	if (u->have_sum && out[0] != u->sum)
		return err_set(
			e, -EILSEQ,
			"GPU %s: the same product gave other bits than the first time, after "
			"%zu that were the same",
			g->pci, u->n_checked);
	u->have_sum = true;
	u->sum = out[0];
	u->n_checked++;
	return 0;
}
