/* SPDX-License-Identifier: Apache-2.0 */
/* The job as it is: what it uses, how long it takes, and whether its figure can show anything. */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <string.h>

#include "base/stat.h"
#include "base/text.h"
#include "verbs/tune/tune.h"

/* What cannot be tuned: shorter runs are their start, wider noise hides what settings are worth. */
#define SHORTEST_S 0.2
#define NOISE_MAX 0.3
/* Two standard normal quantiles (97.5 %, 80 %) times the root of two: a pair's difference. */
#define PAIR_FACTOR (2.8 * M_SQRT2)

/* Messages of programs that expected input and got none. */
static bool wants_input(const char *said)
{
	static const char pattern[] =
		"EOFError|EOF when reading|end of file|stdin|standard input|not a (tty|terminal)|"
		"[Pp]assword:|\\[y/[Nn]\\]|\\?$";
	regex_t r;
	bool out;

	if (regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	out = regexec(&r, said, 0, NULL, 0) == 0;
	regfree(&r);
	return out;
}

static int run_failed(struct tuning *t, int r, const struct err *e)
{
	struct door *d = t->g.d;
	struct err out = *e;

	if (r == -EINTR)
		return door_refuse(d, EXIT_BLIND, "interrupted%s%s; nothing was changed",
				   *e->text ? ": " : "", e->text);
	if (r == -EBADMSG && t->n_runs)
		err_hint(&out, "only the first run succeeded, but the job must run repeatedly; "
			       "perhaps it refuses to overwrite its output");
	else if (wants_input(e->text))
		err_hint(&out, "the job runs without input: pass its input as arguments or files");
	else if (r == -EBADMSG)
		err_hint(&out,
			 "the unchanged job must succeed; --timeout limits the time of one run");
	return door_fail(d, r == -EINVAL ? EXIT_USAGE : EXIT_BLIND, &out);
}

/* One run. watched: a thread looks beside it. */
static int one_run(struct tuning *t, bool watched, double *seconds, struct err *e)
{
	struct window *w = &t->g.proof.window;
	struct prove_engine *g = &t->g.engine;
	const struct engine_clock *clock = g->clock;
	struct window_reading reading = { 0 };
	HOST_AUTO *h = watched ? t->g.d->live(t->g.d->ctx) : NULL;
	struct arena own = { 0 };
	struct job_watch *look = NULL;
	double began;
	int r;

	if (h)
		look = job_seen_begin(&own, h,
				      door_machine(t->g.d, h, &(struct door_look){ .lean = true }));
	r = engine_alone(g, alone_look(g->alone), e);
	r = g->agree ? g->agree(g->agree_ctx, r, NULL, e) : r;
	began = clock->now(clock->ctx);
	r = r ? r : engine_window(g, &reading, e);
	if (g->agree)
		r = g->agree(g->agree_ctx, r, &reading, e);
	*seconds = clock->now(clock->ctx) - began;
	if (look)
		job_seen_end(look, *seconds, &t->seen);
	arena_free(&own);
	if (r == 0)
		t->runs[t->n_runs++] = reading.value[w->main];
	if (r == -EUSERS)
		engine_wait_alone(g, *seconds, e->text);
	return r == -EUSERS ? 0 : r;
}

/* Runs that are further from the later ones than noise: caches were cold. */
static size_t cold_runs(const double *x, size_t n)
{
	size_t half = n / 2;
	double middle = 0, mad = 0;

	stat_median(x + half, n - half, &middle);
	stat_mad(x + half, n - half, &mad);
	for (size_t i = 0; i < half; i++)
		if (fabs(x[i] - middle) <= fmax(6 * mad, 0.05 * middle))
			return i;
	return half;
}

static void figures(struct tuning *t, const double *seconds)
{
	size_t n = t->n_runs - cold_runs(t->runs, t->n_runs);
	double mad = 0;

	t->cold = t->n_runs - n;
	stat_median(t->runs + t->cold, n, &t->before);
	stat_median(seconds + t->cold, n, &t->seconds);
	stat_mad(t->runs + t->cold, n, &mad);
	t->spread = 1.4826 * mad / t->before;
}

/* What the figure of one run is worth, said before any time is spent on it. */
static int judge(struct tuning *t)
{
	struct door *d = t->g.d;
	const struct window *w = &t->g.proof.window;
	bool wall = strcmp(w->figures[w->main].key, "wall") == 0;
	double best = PAIR_FACTOR * t->spread / sqrt(48);

	if (wall && t->seconds < SHORTEST_S)
		return door_refuse(d, EXIT_USAGE,
				   "one run takes %.2f s, mostly start-up; repeat the work within "
				   "the command until it takes a second or more",
				   t->seconds);
	if (t->spread > NOISE_MAX && t->ask->pairs.min_effect < best)
		return door_refuse(d, EXIT_BLIND,
				   "runs vary by %.0f %%: 48 pairs (%.0f min) detect effects from "
				   "%.0f %%; make the job steadier, or give --min-effect %.0f%%",
				   100 * t->spread, ceil(48 * 2 * t->seconds / 60), 100 * best,
				   ceil(100 * best));
	if (t->cold)
		door_warn(d,
			  "the first run differed by %+.0f %%: caches were cold; later runs are "
			  "measured with warm caches",
			  100 * (t->runs[0] / t->before - 1));
	if (t->n_runs == TUNE_RUNS_MAX)
		door_warn(d,
			  "the job drifts: %.4g in the first run, %.4g in run %d; pairs in random "
			  "order compensate for that",
			  t->runs[0], t->runs[t->n_runs - 1], TUNE_RUNS_MAX);
	return 0;
}

int tune_baseline(struct tuning *t)
{
	double seconds[TUNE_RUNS_MAX] = { 0 };
	struct record_conditions ignored = { 0 };
	struct sampler *s;
	struct err e = { 0 };
	size_t least = t->dry ? TUNE_LOOKS : TUNE_RUNS;
	int r = 0;

	watch_list_make(t->g.d->arena, t->g.h, t->g.planned.m, &t->g.watch);
	s = sampler_start(t->g.h, &t->g.watch, &t->g.stop);
	while (r == 0 && t->n_runs < TUNE_RUNS_MAX) {
		/* More of them while the job still gets faster or slower. */
		if (t->n_runs >= least && cold_runs(t->runs, t->n_runs) < t->n_runs / 2)
			break;
		door_progress(t->g.d,
			      t->n_runs ? (double)(TUNE_RUNS_MAX - t->n_runs) * seconds[0] : -1,
			      true, "unchanged job, run %zu", t->n_runs + 1);
		r = one_run(t, t->n_runs == 0, &seconds[t->n_runs], &e);
	}
	if (s)
		sampler_end(t->g.d->arena, s, &ignored);
	if (r)
		return run_failed(t, r, &e);
	figures(t, seconds);
	return judge(t);
}
