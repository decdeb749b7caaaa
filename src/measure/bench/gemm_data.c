/* SPDX-License-Identifier: Apache-2.0 */
/* Tables to the GPU, matrices and scales drawn from them there, zeros made and counted. */
#include "measure/bench/gemm_data.h"

#include <errno.h>
#include <stdlib.h>

/* What a matrix, or the scales of one, are drawn from. */
struct drawing {
	cuda_address to;
	uint64_t words, seed;
	uint32_t bits;
	const char *what;
};

static int draw(struct gemm_unit *u, const struct drawing *d, const uint64_t *table, struct err *e)
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
	uint64_t *table = calloc(GEMM_TABLE, sizeof(*table));
	struct drawing d = { to, gemm_bytes(code, n) / 8, seed, gemm_code_bits(code),
			     "drawing a matrix" };
	int r;

	*values = calloc(GEMM_TABLE, sizeof(**values));
	if (!table || !*values) {
		free(table);
		return err_set(e, -ENOMEM, "no memory");
	}
	gemm_table_fill(u->type, code, seed, table);
	for (size_t i = 0; i < GEMM_TABLE; i++)
		(*values)[i] = gemm_decode(code, table[i]);
	r = draw(u, &d, table, e);
	free(table);
	return r;
}

/* Both operands' scales, from one table. */
static int draw_scales(struct gemm_unit *u, struct err *e)
{
	const struct gemm_type *t = u->type;
	uint64_t *table = calloc(GEMM_TABLE, sizeof(*table));
	struct drawing a = { u->scales_a, gemm_scale_bytes(t, u->dims.m, u->dims.k) / 8,
			     GEMM_SEED_SCALE_A, 8, "drawing scales" },
		       b = { u->scales_b, gemm_scale_bytes(t, u->dims.n, u->dims.k) / 8,
			     GEMM_SEED_SCALE_B, 8, "drawing scales" };
	int r;

	u->values_scale = calloc(GEMM_TABLE, sizeof(*u->values_scale));
	if (!table || !u->values_scale) {
		free(table);
		return err_set(e, -ENOMEM, "no memory");
	}
	gemm_scale_table(t, GEMM_SEED_SCALE_A, table, u->values_scale);
	r = draw(u, &a, table, e);
	r = r ? r : draw(u, &b, table, e);
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
		return err_set(e, -EILSEQ, "GPU %s: the count of zeros does not work", g->pci);
	r = r ? r : cuda_launch(g, u->prune, gemm_blocks(g), GEMM_THREADS, u->stream, args, e);
	r = r ? r : count_fours(u, words, &wrong, e);
	if (r == 0 && wrong)
		r = err_set(e, -EILSEQ,
			    "GPU %s: %llu of %llu fours have fewer than two zeros after they were "
			    "made",
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

void gemm_data_end(struct gemm_unit *u)
{
	free(u->values_a);
	free(u->values_b);
	free(u->values_scale);
	u->values_a = u->values_b = u->values_scale = NULL;
}
