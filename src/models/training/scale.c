/* SPDX-License-Identifier: Apache-2.0 */
/* The same training with more and fewer GPUs. */
#include <errno.h>

#include "models/training/change.h"

/* Where a step's time goes that does no work for the model. */
static const char *train_scale_causes(struct arena *a, const struct train_answer *p)
{
	const struct train_time *t = &p->time;
	const struct {
		const char *name;
		double s;
	} parts[] = { { "exposed communication", t->exposed },
		      { "contention with hidden communication", t->contention },
		      { "pipeline bubble", t->bubble },
		      { "launches", t->launch },
		      { "loader", t->loader },
		      { "waiting for each other", t->slack },
		      { "update", t->optimizer } };
	const char *out = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].s > 0.01 * t->total.value)
			out = arena_printf(a, "%s%s%s %.0f %%", out, *out ? ", " : "",
					   parts[i].name, 100 * parts[i].s / t->total.value);
	return *out ? out : "nothing above 1 %";
}

static bool train_scale_sized(struct arena *a, const struct train_config *q, int gpus, bool strong,
			      struct train_config *out, struct err *e)
{
	int each = (q->place.gpus + q->place.nodes - 1) / q->place.nodes;
	int cut = q->tp * q->pp * q->cp;

	if (each < q->place.gpu->per_node)
		each = q->place.gpu->per_node;
	*out = *q;
	out->place.gpus = gpus;
	out->place.nodes = (gpus + each - 1) / each;
	if (out->place.nodes < 1)
		out->place.nodes = 1;
	if (!strong && (double)q->micro_batch * q->accumulation * gpus > 1e9)
		return err_set(e, -EINVAL, "a global batch of more than a billion") == 0;
	if (!strong && gpus % cut == 0)
		out->global_batch = q->micro_batch * q->accumulation * (gpus / cut);
	if (train_config_complete(a, out, e) < 0)
		return false;
	if (out->dp * out->cp == 1 && out->way == TRAIN_HSDP)
		out->shard = 1;
	return true;
}

void train_scale(struct arena *a, const struct train_config *q, const int *gpus, size_t n,
		 bool strong, struct train_point *out)
{
	const struct train_config *first = NULL;

	for (size_t i = 0; i < n; i++) {
		struct train_config *t = ARENA_NEW(a, struct train_config);
		struct train_answer *p = ARENA_NEW(a, struct train_answer);
		struct err e = { 0 };

		out[i] = (struct train_point){ .gpus = gpus[i] };
		if (!train_scale_sized(a, q, gpus[i], strong, t, &e)) {
			out[i].nodes = t->place.nodes;
			out[i].why = arena_strdup(a, e.text);
			continue;
		}
		train_predict(a, t, p);
		out[i].nodes = t->place.nodes;
		out[i].step_s = p->time.total.value;
		out[i].tokens_s = p->tokens_s.value;
		out[i].exposed_part = p->time.exposed / p->time.total.value;
		out[i].causes = train_scale_causes(a, p);
		out[i].possible = p->memory.fits;
		if (!p->memory.fits) {
			out[i].why = arena_printf(a, "does not fit: %s", p->limit_why);
			continue;
		}
		if (!first)
			first = t;
		out[i].efficiency = t == first ? (struct figure){ 1, 1, 1 } : train_ratio(t, first);
	}
}
