/* SPDX-License-Identifier: Apache-2.0 */
/* One run, put together: figures, traits, step time, tokens; what contradicts is noted. */
#include "models/diagnose/split.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/stat.h"

enum { NOTES_MAX = 24, STEPS_FOR_DRIFT = 20, PAIRS_OF = 64 };

void run_note(struct arena *a, struct run_seen *r, const char *fmt, ...)
{
	va_list ap;

	if (r->n_notes >= NOTES_MAX)
		return;
	if (!r->notes)
		r->notes = arena_array(a, NOTES_MAX, sizeof(*r->notes));
	va_start(ap, fmt);
	r->notes[r->n_notes++] = arena_vprintf(a, fmt, ap);
	va_end(ap);
}

void run_impossible(struct arena *a, struct run_seen *r, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(a, fmt, ap);
	va_end(ap);
	run_note(a, r, "figures contradict each other: %s", text);
	r->impossible = r->impossible ? r->impossible : text;
}

bool run_too_short(const struct run_seen *r)
{
	const struct figure_seen *at = r->sums[FIGURE_STEP_S].at;

	/* A summary is of many steps, whatever their number. */
	return !r->live && at && !at->total && !isfinite(at->over_s) &&
	       r->steps < DIAGNOSE_STEPS_LEAST;
}

static double trait_number(const struct run_seen *r, enum trait_kind k)
{
	return r->traits[k] && r->traits[k]->value > 0 ? r->traits[k]->value : (double)NAN;
}

static void see_traits(const struct evidence *ev, struct run_seen *r)
{
	double gpus = NAN;

	for (size_t i = 0; i < ev->n_traits; i++) {
		const struct trait_seen *t = &ev->traits[i];

		if (ev->files[t->file].run != r->run)
			continue;
		if (!r->traits[t->kind])
			r->traits[t->kind] = t;
		/* Communicators of parts of the ranks are smaller. */
		if (t->kind == TRAIT_WORLD_SIZE && t->value > 0 && !(gpus >= t->value)) {
			gpus = t->value;
			r->traits[t->kind] = t;
		}
		/* Who trains in FP8 says BF16 as well: the rest is computed in that. */
		if (t->kind == TRAIT_PRECISION && strcasestr(t->text, "fp8") &&
		    !strcasestr(r->traits[t->kind]->text, "fp8"))
			r->traits[t->kind] = t;
	}
	r->gpus = gpus;
	r->nodes = trait_number(r, TRAIT_NODES);
	r->global_batch = trait_number(r, TRAIT_GLOBAL_BATCH);
	r->micro_batch = trait_number(r, TRAIT_MICRO_BATCH);
	r->accumulation = trait_number(r, TRAIT_ACCUMULATION);
	r->sequence = trait_number(r, TRAIT_SEQUENCE);
	r->parameters = trait_number(r, TRAIT_PARAMETERS);
}

static bool far(double x, double y)
{
	return isfinite(x) && isfinite(y) && fabs(x - y) > 0.2 * fmax(fabs(x), fabs(y));
}

/* A step's time, where only rates are told. */
static void see_step(struct run_seen *r, double batch)
{
	const struct figure_sum *samples = &r->sums[FIGURE_SAMPLES_PER_S];

	if (isfinite(r->step_s))
		return;
	if (r->tokens_s > 0 && isfinite(batch * r->sequence)) {
		r->step_s = batch * r->sequence / r->tokens_s;
		r->step_from = "tokens of a step over tokens a second";
	} else if (samples->median > 0 && isfinite(batch)) {
		r->step_s = batch / samples->median;
		r->step_from =
			samples->at->text && strstr(samples->at->text, "SamplesPerSec")
				? "global batch over samples a second, which DeepSpeed counts "
				  "without the wait for data"
				: "global batch over samples a second";
	}
}

static void see_tokens(struct arena *a, struct run_seen *r)
{
	double batch = r->global_batch, told = r->sums[FIGURE_TOKENS_PER_S].median, counted;

	if (!isfinite(batch))
		batch = r->micro_batch * (isfinite(r->accumulation) ? r->accumulation : 1) *
			r->gpus;
	r->global_batch = batch;
	if (isfinite(told)) {
		r->tokens_s = told;
		r->tokens_from = "as the log tells it";
	} else if (r->sums[FIGURE_TOKENS_PER_S_PER_GPU].n) {
		r->tokens_s = r->sums[FIGURE_TOKENS_PER_S_PER_GPU].median * r->gpus;
		r->tokens_from = isfinite(r->gpus) ? "tokens of a GPU as the log tells them, times "
						     "GPUs"
						   : "tokens of a GPU as the log tells them";
	} else if (r->sums[FIGURE_SAMPLES_PER_S].n && isfinite(r->sequence)) {
		r->tokens_s = r->sums[FIGURE_SAMPLES_PER_S].median * r->sequence;
		r->tokens_from = "samples a second as the log tells them, times the sequence";
	}
	see_step(r, batch);
	counted = batch * r->sequence / r->step_s;
	if (!isfinite(r->tokens_s) && isfinite(counted)) {
		r->tokens_s = counted;
		r->tokens_from = "global batch x sequence / step time";
	} else if (far(r->tokens_s, counted)) {
		run_note(a, r,
			 "two figures contradict each other: %.0f tokens/s (%s), and %.0f by "
			 "global batch %.0f x sequence %.0f / step %.4g s",
			 r->tokens_s, r->tokens_from, counted, batch, r->sequence, r->step_s);
	}
	r->tokens_s_gpu = isfinite(r->gpus) ? r->tokens_s / r->gpus
					    : r->sums[FIGURE_TOKENS_PER_S_PER_GPU].median;
}

/* How much longer the later n steps take, by the middle of all pairs: where every other step saves,
 * the middles of both lie far apart by chance. */
static double later_by(struct arena *a, const struct sample *first, const struct sample *last,
		       size_t n)
{
	const size_t m = n < PAIRS_OF ? n : PAIRS_OF;
	double *x = arena_array(a, n, sizeof(*x)), *y = arena_array(a, n, sizeof(*y));
	double *pairs = arena_array(a, m * m, sizeof(*pairs));

	for (size_t i = 0; i < n; i++) {
		x[i] = first[i].value;
		y[i] = last[i].value;
	}
	stat_sort(x, n);
	stat_sort(y, n);
	for (size_t i = 0; i < m * m; i++)
		pairs[i] = y[(2 * (i % m) + 1) * n / (2 * m)] / x[(2 * (i / m) + 1) * n / (2 * m)];
	return stat_median_in_place(pairs, m * m) - 1;
}

/* Both ends of the run held beside each other. */
static void see_drift(struct arena *a, const struct run_files *rf, struct run_seen *r)
{
	struct sample *s;
	size_t n = run_samples(a, r->ev, rf, FIGURE_STEP_S, NULL, r->sums[FIGURE_STEP_S].format,
			       &s),
	       kept = 0, k;

	for (size_t i = 0; i < n; i++)
		/* One rank's steps, in their order. */
		if (s[i].f->step >= 0 && s[i].f->rank == s[0].f->rank)
			s[kept++] = s[i];
	r->drift = NAN;
	r->steps = kept ? kept : n;
	if (kept < STEPS_FOR_DRIFT)
		return;
	k = kept / 4;
	r->drift = later_by(a, s, s + kept - k, k);
}

/* Few steps that take much longer than the others: their time is in the mean, not in the middle. */
static void see_long_steps(struct arena *a, const struct run_files *rf, struct run_seen *r)
{
	const struct figure_sum *step = &r->sums[FIGURE_STEP_S];
	struct sample *s;
	size_t n = run_samples(a, r->ev, rf, FIGURE_STEP_S, NULL, step->format, &s), many = 0,
	       longest = 0;
	double more = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		all += s[i].value;
		if (!(s[i].value > 2 * step->median))
			continue;
		many++;
		more += s[i].value - step->median;
		longest = s[i].value > s[longest].value ? i : longest;
	}
	if (many && more >= DIAGNOSE_WORTH * all)
		run_note(
			a, r,
			"%zu of %zu steps take more than twice as long as the middle one, by %.0f "
			"%% "
			"of all time together; the longest %.4g s (%s:%zu). Evaluating, saving and "
			"waiting for files look so",
			many, n, 100 * more / all, s[longest].value,
			r->ev->files[s[longest].f->file].path, s[longest].f->line);
}

static void see_memory(struct arena *a, const struct run_files *rf, struct run_seen *r)
{
	struct sample *s, *t;
	size_t n = run_samples(a, r->ev, rf, FIGURE_GPU_MEMORY, NULL, NULL, &s);
	size_t m = run_samples(a, r->ev, rf, FIGURE_GPU_MEMORY_TOTAL, NULL, NULL, &t);

	r->memory_used = r->memory_total = NAN;
	for (size_t i = 0; i < n; i++)
		r->memory_used = fmax(isfinite(r->memory_used) ? r->memory_used : 0, s[i].value);
	for (size_t i = 0; i < m; i++)
		r->memory_total =
			fmin(isfinite(r->memory_total) ? r->memory_total : INFINITY, t[i].value);
}

void run_see(struct arena *a, const struct evidence *ev, size_t run, const struct diagnose_ask *ask,
	     struct run_seen *r)
{
	struct run_files rf;

	*r = (struct run_seen){ .ev = ev, .run = run, .live = ask->live, .tokens_s = NAN };
	r->name = ask->names && run < ask->n_runs ? ask->names[run] : "run";
	see_traits(ev, r);
	run_files_see(a, ev, run, &rf);
	rf.step_s = NAN;
	r->sums[FIGURE_STEP_S] = run_sum(a, ev, &rf, FIGURE_STEP_S, NULL);
	rf.step_s = r->step_s = r->sums[FIGURE_STEP_S].median;
	r->step_p95_s = r->sums[FIGURE_STEP_S].p95;
	for (size_t k = 0; k < FIGURE_KINDS; k++)
		if (k != FIGURE_STEP_S)
			r->sums[k] = run_sum(a, ev, &rf, (enum figure_kind)k, NULL);
	if (isfinite(rf.cut_s))
		run_note(a, r,
			 "the recording is longer than the steps of the log: the %.3g s in which "
			 "GPUs "
			 "had most to do are taken",
			 rf.cut_s);
	for (size_t i = 0; i < ev->n_files; i++)
		if (ev->files[i].run == run && rf.files[i].n)
			r->skipped += rf.files[i].from > rf.files[i].first;
	see_tokens(a, r);
	rf.step_s = r->step_s;
	see_drift(a, &rf, r);
	see_long_steps(a, &rf, r);
	see_memory(a, &rf, r);
	ranks_see(a, &rf, r);
	split_see(a, &rf, r);
	rate_see(a, ask, r);
}
