/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What mending a cause would give by the model of training (models/training/train.h): predicted,
 * with its interval, beside what was measured. Only where model, GPUs and batch are known.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/judge.h"

/* A name of the model's for what a run was; NULL: not told. */
static const char *name_of(int is, const char *const *names)
{
	return is < 0 ? NULL : names[is];
}

static const char *recompute_of(struct arena *a, const struct run_seen *r)
{
	const char *s = run_trait(a, r, TRAIT_CHECKPOINTING);

	for (size_t i = 0; i < TRAIN_RECOMPUTES; i++)
		if (strcmp(s, train_recompute_names[i]) == 0)
			return train_recompute_names[i];
	return NULL;
}

static int number_of(double v)
{
	return v >= 1 && v <= 1e6 ? (int)v : 0;
}

static bool question(struct arena *a, const struct run_seen *r, const struct diagnose_ask *ask,
		     bool overlapped, struct train_question *q)
{
	const struct trait_seen *tp = r->traits[TRAIT_TP], *pp = r->traits[TRAIT_PP];
	struct train_words w;
	struct place place = { .gpu = r->gpu, .gpus = number_of(r->gpus) };
	struct err ignored = { 0 };

	if (!ask->model || !r->gpu || !place.gpus || !number_of(r->sequence) ||
	    !number_of(r->micro_batch))
		return false;
	place.nodes = number_of(r->nodes) ? number_of(r->nodes) : 1;
	train_words_none(&w);
	w.model = ask->model;
	w.file = ask->file;
	w.place = &place;
	w.way = name_of(run_way(a, r), train_way_names);
	w.precision = name_of(run_precision(a, r), train_precision_names);
	w.recompute = recompute_of(a, r);
	w.reduce_fp32 = w.way ? run_sums_fp32(a, r) : -1;
	w.tp = tp ? number_of(tp->value) : 0;
	w.pp = pp ? number_of(pp->value) : 0;
	w.micro_batch = number_of(r->micro_batch);
	w.accumulation = number_of(r->accumulation);
	/* Megatron-LM tells the global batch, from which it follows. */
	w.global_batch = w.accumulation ? 0 : number_of(r->global_batch);
	w.sequence = number_of(r->sequence);
	w.overlap = overlapped ? -1 : 0;
	return train_question_make(a, &w, q, &ignored) == 0;
}

/* The change that mends a cause and gives most. */
static const struct train_change *change_of(const struct train_what_if *w, const char *key)
{
	for (size_t i = 0; key && i < w->n; i++)
		if (str_starts(w->changes[i].key, key) && w->changes[i].fits)
			return &w->changes[i];
	return NULL;
}

void judged_gains(struct arena *a, const struct run_seen *r, const struct diagnose_ask *ask,
		  struct run_verdict *v)
{
	struct train_what_if *w = ARENA_NEW(a, struct train_what_if);
	struct train_question *q = ARENA_NEW(a, struct train_question);
	bool overlapped = true;

	for (size_t i = 0; i < cause_rows_n; i++)
		if (strcmp(cause_rows[i].id, "overlap") == 0 && v->causes[i].how <= IS_LIKELY)
			overlapped = false;
	if (!question(a, r, ask, overlapped, q))
		return;
	train_what_if(a, q, w);
	v->predicted = w;
	v->gains = arena_array(a, cause_rows_n, sizeof(*v->gains));
	for (size_t i = 0; i < cause_rows_n; i++)
		if (v->causes[i].how <= IS_POSSIBLE)
			v->gains[i] = change_of(w, cause_rows[i].change);
}
