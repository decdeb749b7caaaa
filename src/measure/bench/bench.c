/* SPDX-License-Identifier: Apache-2.0 */
/* What benches share: the list of cases, the state of one set-up, figures of single times. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/bench.h"

/* Two cache lines: threads of a bench may spin on words of their own in it. */
enum { STATE_ALIGN = 128 };

void bench_case_add(struct arena *a, struct bench_cases *cases, struct bench_case c)
{
	cases->items = arena_grow(a, cases->items, cases->n, sizeof(*cases->items));
	cases->items[cases->n++] = c;
}

void bench_case_absent(struct arena *a, struct bench_cases *cases, const char *name,
		       const char *why)
{
	cases->absent = arena_grow(a, cases->absent, cases->n_absent, sizeof(*cases->absent));
	cases->absent[cases->n_absent++] = (struct record_skip){ name, why };
}

int bench_set_up(const struct bench *b, const struct bench_env *env, const struct bench_case *c,
		 void **state, const char **variant, struct err *e)
{
	size_t size = (b->state_size / STATE_ALIGN + 1) * STATE_ALIGN;
	void *s = aligned_alloc(STATE_ALIGN, size);
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	memset(s, 0, size);
	r = b->setup(env, c, s, variant, e);
	if (r)
		bench_tear_down(b, s);
	else
		*state = s;
	return r;
}

void bench_tear_down(const struct bench *b, void *state)
{
	b->teardown(state);
	free(state);
}

const struct bench_figure bench_times_figures[2] = {
	{ "p50", "median of a window", "us", "us", BENCH_LOWER },
	{ "p99", "99th percentile of a window", "us", "us", BENCH_LOWER },
};

void bench_times(struct bench_sample *out, double *us, size_t n)
{
	for (size_t i = 0; out->observed && i < n; i++)
		histogram_add(out->observed, us[i] * 1e3);
	stat_sort(us, n);
	out->value[0] = stat_quantile(us, n, 0.5);
	out->value[1] = stat_quantile(us, n, 0.99);
}
