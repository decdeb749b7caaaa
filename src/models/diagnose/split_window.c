/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of a recording is the training: a job loads its libraries, builds its model and writes
 * its results under the recorder as well. Where a log tells every step, the steps took so long
 * together, and the training is the stretch of that length in which the GPUs had most to do.
 */
#include <math.h>

#include "models/diagnose/split.h"

/* Fewer looks than this say nothing of what they stand for. */
enum { LOOKS_LEAST = 3 };

/* Steps of one file behind warming-up, of the rank that it tells first. */
struct steps_of {
	double sum, told;
	int rank;
};

/* Seconds that the steps behind warming-up took, by the file that tells most; NAN. */
static double steps_together(struct arena *a, const struct evidence *ev, const struct run_files *rf)
{
	struct steps_of *of = arena_array(a, ev->n_files, sizeof(*of));
	double most = NAN;

	for (size_t k = 0; k < ev->n_figures; k++) {
		const struct figure_seen *f = &ev->figures[k];
		struct steps_of *x = &of[f->file];

		if (f->kind != FIGURE_STEP_S || f->step < rf->files[f->file].from ||
		    (x->told > 0 && f->rank != x->rank))
			continue;
		x->rank = f->rank;
		x->sum += f->value;
		x->told++;
	}
	for (size_t i = 0; i < ev->n_files; i++) {
		const struct file_steps *s = &rf->files[i];
		double sum = of[i].sum;

		if (ev->files[i].run != rf->run || s->n < LOOKS_LEAST)
			continue;
		/* Of every tenth step alone the time may be told. */
		if (of[i].told > 0)
			sum *= (double)(s->last - s->from + 1) / of[i].told;
		if (sum > 0 && !(most >= sum))
			most = sum;
	}
	return most;
}

/* Looks of one file, in its order, one for each moment: what all GPUs had to do together. */
static size_t looks_of(struct arena *a, const struct evidence *ev, size_t file, double *at[],
		       double *busy[])
{
	size_t n = 0, all = 0;

	for (size_t i = 0; i < ev->n_figures; i++)
		all += ev->figures[i].kind == FIGURE_GPU_UTIL && ev->figures[i].file == file;
	*at = arena_array(a, all + 1, sizeof(**at));
	*busy = arena_array(a, all + 1, sizeof(**busy));
	for (size_t i = 0; i < ev->n_figures; i++) {
		const struct figure_seen *f = &ev->figures[i];

		if (f->kind != FIGURE_GPU_UTIL || f->file != file || !isfinite(f->at))
			continue;
		if (n && (*at)[n - 1] >= f->at) {
			(*busy)[n - 1] += f->value;
			continue;
		}
		(*at)[n] = f->at;
		(*busy)[n++] = f->value;
	}
	return n;
}

/* The stretch of that many seconds with the largest sum. */
static void busiest(const double *at, const double *busy, size_t n, double seconds,
		    struct file_steps *s)
{
	double sum = 0, best = -1;
	size_t from = 0;

	for (size_t to = 0; to < n; to++) {
		sum += busy[to];
		while (from + LOOKS_LEAST <= to && at[to] - at[from] > seconds)
			sum -= busy[from++];
		if (sum > best && to + 1 >= LOOKS_LEAST) {
			best = sum;
			s->busy_first = at[from];
			s->busy_last = at[to];
		}
	}
}

void run_window_see(struct arena *a, const struct evidence *ev, struct run_files *rf)
{
	double seconds = steps_together(a, ev, rf);

	rf->cut_s = NAN;
	for (size_t i = 0; isfinite(seconds) && i < ev->n_files; i++) {
		struct file_steps *s = &rf->files[i];
		double *at, *busy, all = s->busy_last - s->busy_first;
		size_t n;

		if (ev->files[i].run != rf->run || !(all > 1.1 * seconds))
			continue;
		n = looks_of(a, ev, i, &at, &busy);
		if (n <= LOOKS_LEAST)
			continue;
		busiest(at, busy, n, seconds, s);
		rf->cut_s = s->busy_last - s->busy_first;
	}
}
