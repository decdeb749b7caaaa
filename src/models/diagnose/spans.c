/* SPDX-License-Identifier: Apache-2.0 */
/* Times that lie over one another. The object that looks into a job has it too: no library of ours.
 */
#include <math.h>
#include <string.h>

#include "models/diagnose/spans.h"

/*
 * Times of kernels and copies of one GPU, laid over one another. In order of start the time that
 * any of a set covers needs only the end of the last one, and what one set covers alone is the
 * difference of two such times.
 */

static void cover(double *sum, double *end, double from, double to)
{
	if (to > *end) {
		*sum += to - fmax(from, *end);
		*end = to;
	}
}

void spans_add(struct spans *s, enum span_kind kind, double from, double to)
{
	if (!(to >= from))
		return;
	if (!s->begun) {
		s->begun = true;
		s->first = s->last = from;
		for (int i = 0; i < SPAN_KINDS; i++)
			s->to[i] = from;
		s->kernels_to = s->any_to = from;
	}
	s->last = fmax(s->last, to);
	s->n[kind]++;
	cover(&s->sum[kind], &s->to[kind], from, to);
	cover(&s->any, &s->any_to, from, to);
	if (kind != SPAN_COPY)
		cover(&s->kernels, &s->kernels_to, from, to);
}

bool span_is_comm(const char *kernel)
{
	static const char *const words[] = { "nccl",
					     "rccl",
					     "nvshmem",
					     "multimem_",
					     "cross_device_reduce",
					     "deep_ep::",
					     "one_shot_all_reduce",
					     "two_shot_all_reduce" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(kernel, words[i]))
			return true;
	return false;
}
