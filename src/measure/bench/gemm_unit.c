/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, data and batches of one product on one GPU. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure/bench/gemm_unit.h"
#include "machine/cuda/guard.h"

enum { BLOCKS_PER_SM = 8, CLOCK_NS = 200000 };

/* A grid that fills the GPU, of GEMM_THREADS each. */
static unsigned gemm_blocks(const struct cuda_gpu *g)
{
	return (unsigned)(g->sms > 0 ? g->sms : 1) * BLOCKS_PER_SM;
}

static int gemm_unit_type_of(enum gemm_code c)
{
	switch (c) {
	case CODE_F64:
		return CUDA_R_64F;
	case CODE_F32:
		return CUDA_R_32F;
	case CODE_F16:
		return CUDA_R_16F;
	case CODE_BF16:
		return CUDA_R_16BF;
	case CODE_E4M3:
		return CUDA_R_8F_E4M3;
	case CODE_E5M2:
		return CUDA_R_8F_E5M2;
	case CODE_E2M1:
		return CUDA_R_4F_E2M1;
	case CODE_I8:
		return CUDA_R_8I;
	default:
		return CUDA_R_32I;
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
		.a = gemm_unit_type_of(t->a),
		.b = gemm_unit_type_of(t->b),
		.d = gemm_unit_type_of(t->d),
		.compute = t->a == CODE_F64  ? CUBLAS_COMPUTE_64F
			   : t->a == CODE_I8 ? CUBLAS_COMPUTE_32I
			   : t->tf32	     ? CUBLAS_COMPUTE_32F_FAST_TF32
					     : CUBLAS_COMPUTE_32F,
		.scale = t->a == CODE_F64  ? CUDA_R_64F
			 : t->a == CODE_I8 ? CUDA_R_32I
					   : CUDA_R_32F,
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

/* --- setting up ------------------------------------------------------------------------------- */

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
				 .checks = u->checks,
				 .tell = u->tell,
				 .tell_ctx = u->tell_ctx };
	r = r ? r : cuda_stream_make(g, &u->stream, e);
	r = r ? r : cuda_event_make(g, &u->begin, e);
	r = r ? r : cuda_event_make(g, &u->end, e);
	r = r ? r : load_kernels(u, e);
	r = r ? r : alloc_all(u, e);
	return r ? r : gemm_data_make(u, e);
}

static void gemm_data_end(struct gemm_unit *u)
{
	free(u->values_a);
	free(u->values_b);
	free(u->values_scale);
	u->values_a = u->values_b = u->values_scale = NULL;
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

/* --- running ---------------------------------------------------------------------------------- */

static struct cusparselt_buffers buffers(const struct gemm_unit *u)
{
	return (struct cusparselt_buffers){ u->packed, u->b, u->d, u->workspace,
					    u->workspace_bytes };
}

/* Queues one. */
static int gemm_sparse_multiply(struct gemm_unit *u, struct err *e)
{
	const struct cusparselt_buffers at = buffers(u);

	return cusparselt_multiply(u->sparse, &at, u->stream, e);
}

static int multiply(struct gemm_unit *u, struct err *e)
{
	const struct cublaslt_buffers at = { u->a, u->b, u->d, u->workspace, u->workspace_bytes };
	int s;

	if (u->type->sparse)
		return gemm_sparse_multiply(u, e);
	s = cublaslt_multiply(u->plan, &u->choice.algorithm, &at, u->stream);
	if (s == CUBLAS_STATUS_SUCCESS)
		return 0;
	return err_set(e, s == CUBLAS_STATUS_NOT_SUPPORTED ? -EOPNOTSUPP : -EIO,
		       "GPU %s: computing the product: %s", u->gpu->pci, cublaslt_status_name(s));
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

/* Waits for what a kernel left at u->out. */
static int gemm_unit_out(struct gemm_unit *u, uint64_t out[2], const char *what, struct err *e)
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
		return err_set(e, -EIO, "GPU %s: its clock did not advance", u->gpu->pci);
	*mhz = out[1] ? (double)out[0] / (double)out[1] * 1e3 : 0;
	return r;
}

/* The result's checksum, and how many of its codes are none. */
static int gemm_unit_scan(struct gemm_unit *u, uint64_t out[2], struct err *e)
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
			       "GPU %s: %llu elements of the product are NaN or were never written",
			       g->pci, (unsigned long long)out[1]);
	if (u->have_sum && out[0] != u->sum)
		return err_set(e, -EILSEQ,
			       "GPU %s: a repeated product differs, after %zu identical ones",
			       g->pci, u->n_checked);
	u->have_sum = true;
	u->sum = out[0];
	u->n_checked++;
	return 0;
}

/* Tables to the GPU, matrices and scales drawn from them there, zeros made and counted. */

/* What a matrix, or the scales of one, are drawn from. */
struct drawing {
	cuda_address to;
	uint64_t words, seed;
	uint32_t bits;
	const char *what;
};

static int gemm_unit_draw(struct gemm_unit *u, const struct drawing *d, const uint64_t *table,
			  struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	size_t bytes = GEMM_TABLE * sizeof(*table);
	struct drawing own = *d;
	cuda_address at = 0;
	void *args[] = { &own.to, &own.words, &at, &own.seed, &own.bits };
	int r = cuda_alloc(g, bytes, &at, e), wait;

	r = r ? r
	      : cuda_check(g, g->api->copy_in(at, table, bytes, u->stream), e, "copying the table");
	r = r ? r : cuda_launch(g, u->fill, gemm_blocks(g), GEMM_THREADS, u->stream, args, e);
	if (at) {
		wait = cuda_wait_stream(g, u->stream, GEMM_WAIT_S, d->what, e);
		r = r ? r : wait;
		cuda_free(g, at);
	}
	return r;
}

/* *values gets what the table's codes stand for. */
static int draw_matrix(struct gemm_unit *u, cuda_address to, enum gemm_code code, uint64_t n,
		       uint64_t seed, double **values, struct err *e)
{
	uint64_t *table = heap_array(GEMM_TABLE, sizeof(*table));
	struct drawing d = { to, gemm_bytes(code, n) / 8, seed, gemm_code_bits(code),
			     "generating a matrix" };
	int r;

	*values = heap_array(GEMM_TABLE, sizeof(**values));
	gemm_table_fill(u->type, code, seed, table);
	for (size_t i = 0; i < GEMM_TABLE; i++)
		(*values)[i] = gemm_decode(code, table[i]);
	r = gemm_unit_draw(u, &d, table, e);
	free(table);
	return r;
}

/* Both operands' scales, from one table. */
static int draw_scales(struct gemm_unit *u, struct err *e)
{
	const struct gemm_type *t = u->type;
	uint64_t *table = heap_array(GEMM_TABLE, sizeof(*table));
	struct drawing a = { u->scales_a, gemm_scale_bytes(t, u->dims.m, u->dims.k) / 8,
			     GEMM_SEED_SCALE_A, 8, "generating scales" },
		       b = { u->scales_b, gemm_scale_bytes(t, u->dims.n, u->dims.k) / 8,
			     GEMM_SEED_SCALE_B, 8, "generating scales" };
	int r;

	u->values_scale = heap_array(GEMM_TABLE, sizeof(*u->values_scale));
	gemm_scale_table(t, GEMM_SEED_SCALE_A, table, u->values_scale);
	r = gemm_unit_draw(u, &a, table, e);
	r = r ? r : gemm_unit_draw(u, &b, table, e);
	free(table);
	return r;
}

/* How many fours along k have fewer than two zeros. */
static int count_fours(struct gemm_unit *u, uint64_t words, uint64_t *wrong, struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	uint32_t bits = gemm_code_bits(u->type->a);
	uint64_t out[2] = { 0, 0 };
	void *args[] = { &u->a, &words, &u->out, &bits };
	int r = cuda_check(g, g->api->set_bytes(u->out, 0, sizeof(out), u->stream), e,
			   "clearing a count");

	r = r ? r : cuda_launch(g, u->fours, gemm_blocks(g), GEMM_THREADS, u->stream, args, e);
	r = r ? r : gemm_unit_out(u, out, "counting zeros", e);
	*wrong = out[0];
	return r;
}

/* Makes the zeros, and proves the count: before, there were hardly any. */
static int prune(struct gemm_unit *u, struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	uint32_t bits = gemm_code_bits(u->type->a);
	uint64_t words = gemm_bytes(u->type->a, u->dims.m * u->dims.k) / 8, seed = GEMM_SEED_ZEROS,
		 wrong = 0;
	void *args[] = { &u->a, &words, &seed, &bits };
	int r = count_fours(u, words, &wrong, e);

	if (r == 0 && wrong < words / 2)
		return err_set(e, -EILSEQ, "GPU %s: the zero counter counted wrong", g->pci);
	r = r ? r : cuda_launch(g, u->prune, gemm_blocks(g), GEMM_THREADS, u->stream, args, e);
	r = r ? r : count_fours(u, words, &wrong, e);
	if (r == 0 && wrong)
		r = err_set(e, -EILSEQ,
			    "GPU %s: %llu of %llu groups of four have fewer than two zeros after "
			    "pruning",
			    g->pci, (unsigned long long)wrong,
			    (unsigned long long)(words * 16 / bits));
	return r;
}

int gemm_data_make(struct gemm_unit *u, struct err *e)
{
	const struct gemm_type *t = u->type;
	const struct gemm_dims *d = &u->dims;
	int r = draw_matrix(u, u->a, t->a, d->m * d->k, GEMM_SEED_A, &u->values_a, e);

	r = r ? r : draw_matrix(u, u->b, t->b, d->k * d->n, GEMM_SEED_B, &u->values_b, e);
	if (r == 0 && t->block)
		r = draw_scales(u, e);
	if (r == 0 && t->sparse)
		r = prune(u, e);
	return r;
}

/*
 * Products with a sparse matrix: its zeros checked by the library too, taken out, and the algorithm
 * that the library's own search finds. Its algorithms are not tried by number as those of dense
 * products are: one that does not fit the chip takes the context with it.
 */

#define FOUND_S 0.03

static int sparse_type_of(enum gemm_code c)
{
	return c == CODE_F16	? CUDA_R_16F
	       : c == CODE_BF16 ? CUDA_R_16BF
	       : c == CODE_E4M3 ? CUDA_R_8F_E4M3
	       : c == CODE_I8	? CUDA_R_8I
				: CUDA_R_32I;
}

/* The library must find the zeros too, and must miss them in B, which has none. */
static int gemm_unit_check(struct gemm_unit *u, struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	uint64_t out[2] = { 0, 0 };
	int r = cuda_check(g, g->api->set_bytes(u->out, 0, sizeof(out), u->stream), e,
			   "clearing a count");

	r = r ? r : cusparselt_check(u->sparse, u->a, u->out, u->stream, e);
	r = r ? r : gemm_unit_out(u, out, "checking the zeros with the library", e);
	if (r == 0 && (uint32_t)out[0])
		return err_set(e, -EILSEQ, "GPU %s: cuSPARSELt reports sparse matrix A as dense",
			       g->pci);
	if (r == 0 && u->dims.m <= u->dims.n) {
		r = cusparselt_check(u->sparse, u->b, u->out, u->stream, e);
		r = r ? r : gemm_unit_out(u, out, "checking the zeros with the library", e);
		if (r == 0 && !(uint32_t)out[0])
			r = err_set(e, -EILSEQ, "GPU %s: cuSPARSELt reports dense data as sparse",
				    g->pci);
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
	wait = cuda_wait_stream(u->gpu, u->stream, GEMM_WAIT_S, "compressing the matrix", e);
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

static int gemm_unit_prepare(struct gemm_unit *u, const struct cusparselt_choice *known,
			     struct err *e)
{
	const struct gemm_type *t = u->type;
	const struct cusparselt_shape shape = { .m = u->dims.m,
						.n = u->dims.n,
						.k = u->dims.k,
						.type = sparse_type_of(t->a),
						.d = sparse_type_of(t->d),
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
	r = r ? r : gemm_unit_check(u, e);
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
	int r = gemm_unit_prepare(u, NULL, e);

	return r ? r : time_few(u, for_s, seconds, e);
}

static int gemm_unit_search(struct gemm_unit *u, struct err *e)
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
		 "algorithm %d of %d, split %d, mode %d, found by the library's search",
		 c->sparse.word[0], c->sparse.highest, c->sparse.word[1], c->sparse.word[2]);
	return 0;
}

int gemm_sparse_choose(struct gemm_unit *u, struct gemm_choice *known, struct err *e)
{
	int r;

	if (known->made)
		u->choice = *known;
	r = gemm_unit_prepare(u, known->made ? &known->sparse : NULL, e);
	if (r == 0 && !known->made)
		r = gemm_unit_search(u, e);
	if (r == 0)
		*known = u->choice;
	return r;
}

/* The proof that a product is right: elements in double precision, and a fault that is planted. */

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
static void gemm_unit_reference(const struct gemm_unit *u, uint64_t row, uint64_t column,
				double *exact, double *magnitude)
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
		gemm_unit_reference(u, at % d->m, at / d->m, &exact, &magnitude);
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
	      : cuda_check(g, g->api->copy_in(at, &code, bytes, u->stream), e,
			   "injecting a bit flip");
	r = r ? r : gemm_unit_scan(u, out, e);
	if (r == 0 && out[0] == u->sum)
		return err_set(e, -EILSEQ,
			       "GPU %s: an injected bit flip in the result was not detected: the "
			       "check does not work",
			       g->pci);
	return r;
}
