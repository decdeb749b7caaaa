/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communication that nothing hides, step by step: ranks can be held beside each other only where
 * each step is told. Kernels come in order of their start; one that runs on into the next step is
 * of both.
 */
#include "models/diagnose/read_nvtx.h"

#include <math.h>

void nvtx_rounds_begin(struct arena *a, struct nvtx_rounds *r, const struct nvtx_process *p)
{
	*r = (struct nvtx_rounds){ .p = p };
	if (!p || !p->n_steps)
		return;
	r->exposed = arena_array(a, p->n_steps, sizeof(*r->exposed));
	while (r->at < p->n_steps && p->steps[r->at].from < p->from)
		r->exposed[r->at++] = NAN;
}

static void cover(struct nvtx_rounds *r, enum span_kind kind, int64_t from, int64_t to)
{
	const struct nvtx_step *s = &r->p->steps[r->at];

	if (from < s->from)
		from = s->from;
	spans_add(&r->now, kind, (double)(from - s->from),
		  (double)((to < s->to ? to : s->to) - s->from));
}

static void next(struct nvtx_rounds *r)
{
	r->exposed[r->at] = r->now.kernels - r->now.sum[SPAN_COMPUTE];
	r->now = (struct spans){ 0 };
	if (++r->at == r->p->n_steps)
		return;
	for (enum span_kind k = SPAN_COMPUTE; k <= SPAN_COMM; k++)
		if (r->until[k] > r->p->steps[r->at].from)
			cover(r, k, r->p->steps[r->at].from, r->until[k]);
}

void nvtx_rounds_add(struct nvtx_rounds *r, enum span_kind kind, int64_t from, int64_t to)
{
	if (!r->exposed || kind == SPAN_COPY)
		return;
	while (r->at < r->p->n_steps && from >= r->p->steps[r->at].to)
		next(r);
	if (r->at == r->p->n_steps)
		return;
	if (to > r->until[kind])
		r->until[kind] = to;
	cover(r, kind, from, to);
}

void nvtx_rounds_end(struct nvtx_rounds *r)
{
	while (r->exposed && r->at < r->p->n_steps)
		next(r);
}
