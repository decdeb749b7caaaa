/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, data and batches of one product on one GPU. */
#include "bench/gemm_unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gemm_kernels.h"

enum { THREADS = 256, BLOCKS_PER_SM = 8, CLOCK_NS = 200000 };
enum { SEED_A = 0x51ed270b, SEED_B = 0x2f4b1c93 };

static unsigned blocks(const struct cuda_gpu *g)
{
	return (unsigned)(g->sms > 0 ? g->sms : 1) * BLOCKS_PER_SM;
}

/* Elements of the scale tensor of an operand: tiles of 128 rows by four blocks of k. */
static size_t scale_bytes(const struct gemm_type *t, uint64_t rows, uint64_t k)
{
	uint64_t tile = 4ull * t->block;

	return t->block ? (size_t)((k + tile - 1) / tile * 4 * ((rows + 127) / 128 * 128)) : 0;
}

static size_t scales_bytes(const struct gemm_type *t, struct gemm_dims d)
{
	size_t a = scale_bytes(t, d.m, d.k), b = scale_bytes(t, d.n, d.k);

	return a > b ? a : b;
}

size_t gemm_unit_bytes(const struct gemm_type *t, struct gemm_dims d)
{
	return gemm_bytes(t->a, d.m * d.k) + gemm_bytes(t->b, d.k * d.n) +
	       gemm_bytes(t->d, d.m * d.n) + GEMM_WORKSPACE + scales_bytes(t, d) +
	       GEMM_TABLE * sizeof(uint64_t);
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
		.a_scale = u->scales,
		.b_scale = u->scales,
	};
}

/* --- setting up ---------------------------------------------------------------------------------
 */

static int load_kernels(struct gemm_unit *u, struct err *e)
{
	int r = cuda_module_load(u->gpu, gemm_ptx, &u->module, e);

	r = r ? r : cuda_function_find(u->gpu, u->module, "gemm_fill", &u->fill, e);
	r = r ? r : cuda_function_find(u->gpu, u->module, "gemm_scan", &u->scan, e);
	return r ? r : cuda_function_find(u->gpu, u->module, "gemm_clock", &u->clock, e);
}

static int alloc_all(struct gemm_unit *u, struct err *e)
{
	const struct gemm_type *t = u->type;
	struct cuda_gpu *g = u->gpu;
	size_t scales = scales_bytes(t, u->dims);
	int r;

	u->d_bytes = gemm_bytes(t->d, u->dims.m * u->dims.n);
	u->workspace_bytes = GEMM_WORKSPACE;
	r = gpu_alloc(u->place, gemm_bytes(t->a, u->dims.m * u->dims.k), &u->a, e);
	r = r ? r : gpu_alloc(u->place, gemm_bytes(t->b, u->dims.k * u->dims.n), &u->b, e);
	r = r ? r : gpu_alloc(u->place, u->d_bytes, &u->d, e);
	r = r ? r : gpu_alloc(u->place, u->workspace_bytes, &u->workspace, e);
	r = r ? r : cuda_alloc(g, 2 * sizeof(uint64_t), &u->out, e);
	if (r == 0 && scales) {
		r = cuda_alloc(g, scales, &u->scales, e);
		/* One as UE4M3 and as UE8M0. */
		r = r ? r
		      : cuda_check(g,
				   g->api->set_bytes(u->scales, t->block == 16 ? 0x38 : 0x7f,
						     scales, u->stream),
				   e, "the scales");
	}
	return r;
}

/* Draws one matrix on the GPU from a table; *values gets what the table's codes stand for. */
static int draw(struct gemm_unit *u, cuda_address to, enum gemm_code code, uint64_t n,
		uint64_t seed, double **values, struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	uint64_t *table = calloc(GEMM_TABLE, sizeof(*table)), words = gemm_bytes(code, n) / 8;
	size_t bytes = GEMM_TABLE * sizeof(*table);
	uint32_t bits = gemm_code_bits(code);
	cuda_address at = 0;
	void *args[] = { &to, &words, &at, &seed, &bits };
	int r, wait;

	*values = calloc(GEMM_TABLE, sizeof(**values));
	if (!table || !*values) {
		free(table);
		return err_set(e, -ENOMEM, "no memory");
	}
	gemm_table_fill(u->type, code, seed, table);
	for (size_t i = 0; i < GEMM_TABLE; i++)
		(*values)[i] = gemm_decode(code, table[i]);
	r = cuda_alloc(g, bytes, &at, e);
	r = r ? r
	      : cuda_check(g, g->api->copy_in(at, table, bytes, u->stream), e, "copying the table");
	r = r ? r : cuda_launch(g, u->fill, blocks(g), THREADS, u->stream, args, e);
	if (at) {
		wait = cuda_wait_stream(g, u->stream, GEMM_WAIT_S, "drawing a matrix", e);
		r = r ? r : wait;
		cuda_free(g, at);
	}
	free(table);
	return r;
}

int gemm_unit_make(struct gemm_unit *u, struct gpu_place *place, struct cublaslt *lt,
		   const struct gemm_type *t, struct gemm_dims dims, struct err *e)
{
	struct cuda_gpu *g = place->gpu;
	const atomic_bool *stop = u->stop;
	int r = gpu_place_open(place, e);

	*u = (struct gemm_unit){
		.place = place, .gpu = g, .lt = lt, .type = t, .dims = dims, .stop = stop
	};
	r = r ? r : cuda_stream_make(g, &u->stream, e);
	r = r ? r : cuda_event_make(g, &u->begin, e);
	r = r ? r : cuda_event_make(g, &u->end, e);
	r = r ? r : load_kernels(u, e);
	r = r ? r : alloc_all(u, e);
	r = r ? r : draw(u, u->a, t->a, dims.m * dims.k, SEED_A, &u->values_a, e);
	return r ? r : draw(u, u->b, t->b, dims.k * dims.n, SEED_B, &u->values_b, e);
}

void gemm_unit_end(struct gemm_unit *u)
{
	struct cuda_gpu *g = u->gpu;

	free(u->values_a);
	free(u->values_b);
	u->values_a = u->values_b = NULL;
	if (!g || !g->context)
		return;
	/* Queued work must not outlive its memory. */
	if (u->stream && !*g->lost) {
		struct err ignored;

		cuda_wait_stream(g, u->stream, GEMM_WAIT_S, "the last product", &ignored);
	}
	cublaslt_plan_end(u->plan);
	cuda_free(g, u->a);
	cuda_free(g, u->b);
	cuda_free(g, u->d);
	cuda_free(g, u->workspace);
	cuda_free(g, u->scales);
	cuda_free(g, u->out);
	cuda_module_end(g, u->module);
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
	int s = cublaslt_multiply(u->plan, &u->choice.algorithm, &at, u->stream);

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

static int read_out(struct gemm_unit *u, uint64_t out[2], const char *what, struct err *e)
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

	r = r ? r : read_out(u, out, "reading the clock", e);
	if (r == 0 && !(out[0] && out[1]))
		return err_set(e, -EIO, "GPU %s: its clock stood still", u->gpu->pci);
	*mhz = out[1] ? (double)out[0] / (double)out[1] * 1e3 : 0;
	return r;
}

/* The result's checksum, and how many of its codes are none. */
static int scan(struct gemm_unit *u, uint64_t out[2], struct err *e)
{
	struct cuda_gpu *g = u->gpu;
	uint64_t words = u->d_bytes / 8, mask, want;
	uint32_t bits = gemm_code_bits(u->type->d);
	void *args[] = { &u->d, &words, &u->out, &mask, &want, &bits };
	int r = cuda_check(g, g->api->set_bytes(u->out, 0, 2 * sizeof(*out), u->stream), e,
			   "clearing a checksum");

	gemm_bad_bits(u->type->d, &mask, &want);
	r = r ? r : cuda_launch(g, u->scan, blocks(g), THREADS, u->stream, args, e);
	return r ? r : read_out(u, out, "the checksum of a product", e);
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
	r = r ? r : scan(u, out, e);
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

/* --- checking -----------------------------------------------------------------------------------
 */

/* One element by sums in double precision, from the tables that the operands were drawn from. */
static void reference(const struct gemm_unit *u, uint64_t row, uint64_t column, double *exact,
		      double *magnitude)
{
	const struct gemm_dims *d = &u->dims;
	bool ta = u->choice.a_turned, tb = u->choice.b_turned;

	*exact = *magnitude = 0;
	for (uint64_t p = 0; p < d->k; p++) {
		uint64_t ia = ta ? row * d->k + p : p * d->m + row,
			 ib = tb ? p * d->n + column : column * d->k + p;
		double x = u->values_a[gemm_pick(SEED_A, ia)] * u->values_b[gemm_pick(SEED_B, ib)];

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
	r = r ? r : scan(u, out, e);
	if (r == 0 && out[0] == u->sum)
		return err_set(e, -EILSEQ,
			       "GPU %s: a flipped bit in the result was not noticed: the check "
			       "does not work",
			       g->pci);
	return r;
}
