/* SPDX-License-Identifier: Apache-2.0 */
/* Data on the GPU: made there by a generator, poisoned, compared, and the comparison proven. */
#include <errno.h>

#include "measure/bench/gpu_common.h"

enum { DATA_MOST_S = 30, DATA_THREADS = 256, POISON = 0xa5 };

static unsigned data_blocks(const struct gpu_place *p)
{
	return (unsigned)(p->gpu->sms > 0 ? p->gpu->sms : 16) * 8;
}

static struct cuda_stream *first_stream(const struct gpu_timer *t, const struct gpu_place *p)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->lane[i].place == p)
			return t->lane[i].s;
	return NULL;
}

static int run(struct gpu_place *p, struct gpu_timer *t, struct cuda_function *f, void **args,
	       const char *what, struct err *e)
{
	struct cuda_stream *s = first_stream(t, p);
	int r = cuda_use(p->gpu, e);

	cuda_guard_touch(&t->guard);
	r = r ? r : cuda_launch(p->gpu, f, data_blocks(p), DATA_THREADS, s, args, e);
	return r ? r : cuda_wait_stream(p->gpu, s, DATA_MOST_S, what, e);
}

static uint64_t and_of(struct gpu_data d)
{
	return d.floats ? CUDA_FLOAT_AND : ~0ull;
}

static uint64_t or_of(struct gpu_data d)
{
	return d.floats ? CUDA_FLOAT_OR : 0;
}

int gpu_fill(struct gpu_place *p, struct gpu_timer *t, cuda_address at, size_t bytes,
	     struct gpu_data d, struct err *e)
{
	uint64_t n = bytes / 8, and = and_of(d), or = or_of(d);
	void *args[] = { &at, &n, &d.seed, &and, & or };

	return run(p, t, p->tools.fill, args, "making data", e);
}

int gpu_poison(struct gpu_place *p, struct gpu_timer *t, cuda_address at, size_t bytes,
	       struct err *e)
{
	struct cuda_stream *s = first_stream(t, p);
	int r = cuda_use(p->gpu, e);

	r = r ? r
	      : cuda_check(p->gpu, p->gpu->api->set_bytes(at, POISON, bytes, s), e,
			   "poisoning memory");
	return r ? r : cuda_wait_stream(p->gpu, s, DATA_MOST_S, "poisoning memory", e);
}

unsigned gpu_set_word(struct gpu_data d)
{
	return (unsigned)cuda_random(d.seed, 0);
}

/* Either address may be pinned memory of the host: the driver tells by the address. */
static int fetch(struct gpu_place *p, struct cuda_stream *s, void *to, cuda_address from,
		 size_t bytes, struct err *e)
{
	int r = cuda_check(p->gpu,
			   p->gpu->api->copy_any((cuda_address)(uintptr_t)to, from, bytes, s), e,
			   "fetching a word");

	return r ? r : cuda_wait_stream(p->gpu, s, DATA_MOST_S, "fetching a word", e);
}

static int put(struct gpu_place *p, struct cuda_stream *s, cuda_address to, const void *from,
	       size_t bytes, struct err *e)
{
	int r = cuda_check(p->gpu,
			   p->gpu->api->copy_any(to, (cuda_address)(uintptr_t)from, bytes, s), e,
			   "placing a word");

	return r ? r : cuda_wait_stream(p->gpu, s, DATA_MOST_S, "placing a word", e);
}

/* One comparison under way. */
struct compare {
	struct gpu_place *p;
	struct gpu_timer *t;
	struct cuda_stream *s;
	enum gpu_check how;
	cuda_address at, result;
	uint64_t n, seed, and, or, second;
};

/* found[0]: how many words are wrong, found[1]: the first. */
static int compare(struct compare *c, uint64_t found[2], struct err *e)
{
	static const uint64_t none[2] = { 0, UINT64_MAX };
	struct gpu_tools *tools = &c->p->tools;
	void *data[] = { &c->at, &c->n, &c->seed, &c->and, &c->or, &c->result };
	void *triad[] = { &c->at, &c->n, &c->seed, &c->second, &c->result };
	void *wrote[] = { &c->at, &c->n, &c->seed, &c->result };
	int r = put(c->p, c->s, c->result, none, sizeof(none), e);

	if (r == 0)
		r = c->how == GPU_CHECK_DATA
			    ? run(c->p, c->t, tools->check, data, "checking data", e)
		    : c->how == GPU_CHECK_TRIAD
			    ? run(c->p, c->t, tools->check_triad, triad, "checking data", e)
			    : run(c->p, c->t, tools->check_write, wrote, "checking data", e);
	return r ? r : fetch(c->p, c->s, found, c->result, 2 * sizeof(uint64_t), e);
}

/* Turns one bit in the middle, looks whether it is found, and turns it back. */
static int prove(struct compare *c, struct err *e)
{
	uint64_t at = c->n / 2, found[2] = { 0 }, word = 0, turned;
	cuda_address address = c->at + at * 8;
	int r = fetch(c->p, c->s, &word, address, sizeof(word), e);

	turned = word ^ 1ull << (at % 64);
	r = r ? r : put(c->p, c->s, address, &turned, sizeof(turned), e);
	r = r ? r : compare(c, found, e);
	if (r == 0 && (found[0] != 1 || found[1] != at))
		r = err_set(e, -EILSEQ,
			    "GPU %u: the check is blind: one bit was turned in word %llu, and %llu "
			    "wrong words were found",
			    c->p->index, (unsigned long long)at, (unsigned long long)found[0]);
	return r ? r : put(c->p, c->s, address, &word, sizeof(word), e);
}

int gpu_verify(struct gpu_place *p, struct gpu_timer *t, enum gpu_check how, cuda_address at,
	       size_t bytes, struct gpu_data d, uint64_t second, const char *what, struct err *e)
{
	struct compare c = { p,		t,	first_stream(t, p), how,      at,    0,
			     bytes / 8, d.seed, and_of(d),	    or_of(d), second };
	uint64_t found[2] = { 0 };
	int r = cuda_use(p->gpu, e);

	if (how == GPU_CHECK_SET) {
		c.how = GPU_CHECK_DATA;
		c.and = 0;
		c.or = (uint64_t)gpu_set_word(d) << 32 | gpu_set_word(d);
	}
	r = r ? r : cuda_alloc(p->gpu, 16, &c.result, e);
	r = r ? r : compare(&c, found, e);
	if (r == 0 && found[0])
		r = err_set(e, -EILSEQ,
			    "GPU %u: %s: %llu of %llu words are wrong, the first is number %llu",
			    p->index, what, (unsigned long long)found[0], (unsigned long long)c.n,
			    (unsigned long long)found[1]);
	r = r ? r : prove(&c, e);
	cuda_free(p->gpu, c.result);
	return r;
}

int gpu_sum(struct gpu_place *p, struct gpu_timer *t, size_t bytes, struct gpu_data d,
	    uint64_t *out, struct err *e)
{
	uint64_t n = bytes / 8, and = and_of(d), or = or_of(d), zero = 0;
	cuda_address sum = 0;
	void *args[] = { &n, &d.seed, &and, & or, &sum };
	struct cuda_stream *s = first_stream(t, p);
	int r = cuda_use(p->gpu, e);

	r = r ? r : cuda_alloc(p->gpu, 8, &sum, e);
	r = r ? r : put(p, s, sum, &zero, sizeof(zero), e);
	r = r ? r : run(p, t, p->tools.add, args, "adding up data", e);
	r = r ? r : fetch(p, s, out, sum, sizeof(*out), e);
	cuda_free(p->gpu, sum);
	return r;
}
