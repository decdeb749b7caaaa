/* SPDX-License-Identifier: Apache-2.0 */
/* Causes in the amount of work: batches that are too small, launches, idle GPUs, slower steps. */
#include <math.h>
#include <string.h>

#include "models/diagnose/judge.h"

/* Below this many tokens of a micro-batch large GPUs are not filled; between, it depends. */
#define TOKENS_FEW 512
#define TOKENS_SOME 2048

enum { RANGES_MAX = 64 };

static double or_zero(double v)
{
	return isfinite(v) ? v : 0;
}

/* What a step costs whatever the batch: updating, summing, waiting for launches. */
static double fixed(const struct judging *j)
{
	return or_zero(judging_share(j, PART_OPTIMIZER)) + or_zero(judging_share(j, PART_COMM)) +
	       or_zero(judging_share(j, PART_IDLE)) + or_zero(judging_share(j, PART_WAIT));
}

void rule_small_batch(const struct judging *j, struct judged_cause *out)
{
	const struct run_seen *r = j->r;
	double tokens = r->micro_batch * r->sequence, cost = fixed(j);
	double sm = r->sums[FIGURE_SM_ACTIVITY].mean, util = r->sums[FIGURE_GPU_UTIL].mean;

	if (util > 0.8 && sm < 0.5) {
		judged_say(j, out, IS_LIKELY, 1 - sm / 0.9,
			   "kernels are resident for %.0f %% of the time, but only %.0f %% of the "
			   "multiprocessors have work",
			   100 * util, 100 * sm);
		judged_cite_sum(j, out, FIGURE_SM_ACTIVITY);
		judged_cite_sum(j, out, FIGURE_GPU_UTIL);
	}
	if (!isfinite(tokens)) {
		if (!out->says && !r->live)
			judged_say(j, out, IS_UNSEEN, NAN,
				   "neither micro-batch with sequence nor SM activity is told");
		return;
	}
	judged_cite_trait(j, out, r->traits[TRAIT_MICRO_BATCH]);
	judged_cite_trait(j, out, r->traits[TRAIT_SEQUENCE]);
	if (out->says)
		return;
	if (tokens < TOKENS_FEW && cost > 0.3 && isfinite(r->split.step_s)) {
		judged_say(j, out, IS_CERTAIN, cost,
			   "%.0f tokens a micro-batch: %.0f %% of a step goes to what does not "
			   "depend on its size",
			   tokens, 100 * cost);
		judged_cite_sum(j, out, FIGURE_OPTIMIZER_S);
	} else if (tokens < (judging_gpu(j) ? TOKENS_SOME : TOKENS_FEW / 2) &&
		   (!isfinite(r->mfu) || r->mfu < 0.2)) {
		judged_say(j, out,
			   isfinite(r->mfu) && tokens < TOKENS_FEW ? IS_LIKELY : IS_POSSIBLE,
			   isfinite(r->mfu) ? 1 - r->mfu / 0.4 : (double)NAN,
			   "%.0f tokens a micro-batch are little for a GPU", tokens);
		if (isfinite(r->mfu))
			out->says =
				arena_printf(j->a, "%s; MFU is %.1f %%", out->says, 100 * r->mfu);
	} else {
		judged_say(j, out, IS_EXCLUDED, NAN, "%.0f tokens a micro-batch", tokens);
	}
}

/* "1220 kernels a step"; where no file tells a step, in all that was watched. */
static const char *kernels_of(const struct judging *j, double kernels)
{
	return j->r->split.window
		       ? arena_printf(j->a, "%.0f kernels in %.3g s", kernels, j->r->split.step_s)
		       : arena_printf(j->a, "%.0f kernels a step", kernels);
}

void rule_launch(const struct judging *j, struct judged_cause *out)
{
	const struct run_seen *r = j->r;
	double idle = judging_share(j, PART_IDLE), kernels = r->sums[FIGURE_KERNELS].mean;
	double each = r->split.s[PART_COMPUTE] / kernels;
	double launch = r->sums[FIGURE_LAUNCH_S].mean / fmax(r->split.step_s, r->traced_s);

	if (!r->split.gpu_clock || !isfinite(idle)) {
		if (judging_gpu(j) && !r->live)
			judged_say(j, out, IS_UNSEEN, NAN,
				   "no file tells what ran on the GPU, and when");
		return;
	}
	judged_cite_sum(j, out, FIGURE_IDLE_S);
	judged_cite_sum(j, out, FIGURE_KERNELS);
	judged_cite_sum(j, out, FIGURE_LAUNCH_S);
	if (idle < DIAGNOSE_WORTH || !isfinite(each)) {
		judged_say(j, out, IS_EXCLUDED, idle, "the GPU idles %.1f %% of a step",
			   100 * idle);
	} else if (!r->split.window && r->sums[FIGURE_SYNCS].median >= SYNCS_MANY) {
		judged_say(j, out, IS_POSSIBLE, idle,
			   "%s of %.1f us each, and the GPU idles %.0f %% between them",
			   kernels_of(j, kernels), 1e6 * each, 100 * idle);
		out->against = arena_printf(j->a,
					    "the host waits for the GPU %.0f times a step: nothing "
					    "can be launched ahead",
					    r->sums[FIGURE_SYNCS].median);
	} else if (each < 15e-6 || launch > 0.5) {
		judged_say(j, out, each < 15e-6 && launch > 0.5 ? IS_CERTAIN : IS_LIKELY, idle,
			   "%s of %.1f us each, and the GPU idles %.0f %% between them",
			   kernels_of(j, kernels), 1e6 * each, 100 * idle);
	} else {
		judged_say(j, out, IS_POSSIBLE, idle,
			   "%s of %.0f us each: launching them is not what takes long",
			   kernels_of(j, kernels), 1e6 * each);
	}
}

/* Where the host was while the GPU had nothing to do: the range of the program's own that holds
 * most of it, with its seconds a step; NULL: nobody marked any. */
static const char *idle_in(const struct judging *j, double *s, const struct figure_seen **at)
{
	const struct evidence *ev = j->r->ev;
	struct map seen = { 0 };
	const char *most = NULL;

	*s = 0;
	for (size_t i = 0; i < ev->n_figures && seen.n < RANGES_MAX; i++) {
		const struct figure_seen *f = &ev->figures[i];
		struct figure_sum sum;

		if (f->kind != FIGURE_IDLE_IN_S || ev->files[f->file].run != j->r->run ||
		    !f->text || map_get(&seen, f->text))
			continue;
		*map_at(j->a, &seen, f->text) = (void *)(uintptr_t)1;
		sum = run_sum_text(j->a, j->r, FIGURE_IDLE_IN_S, f->text);
		if (!(sum.mean > *s))
			continue;
		*s = sum.mean;
		*at = sum.at;
		most = f->text;
	}
	return most;
}

/* The larger part of what idles is in one range: who reads it knows that name. */
static void say_where(const struct judging *j, struct judged_cause *out)
{
	const struct figure_seen *at = NULL;
	double s, share;
	const char *name = idle_in(j, &s, &at);

	share = s / j->r->split.s[PART_IDLE];
	if (!name || !(share > 0.2) || out->how == IS_EXCLUDED)
		return;
	out->says = arena_printf(j->a, "%s; the host is in the range \"%s\" for %.0f %% of that",
				 out->says, name, 100 * fmin(share, 1));
	judged_cite(j, out, at, arena_printf(j->a, "GPU idle in \"%s\": %.4g s a step", name, s));
}

void rule_idle(const struct judging *j, struct judged_cause *out)
{
	const struct figure_sum *util = &j->r->sums[FIGURE_GPU_UTIL];
	double idle = judging_share(j, PART_IDLE);
	bool traced = j->r->split.gpu_clock && isfinite(idle);

	if (!traced && !util->n)
		return;
	if (!traced)
		idle = 1 - util->mean;
	judged_cite_sum(j, out, traced ? FIGURE_IDLE_S : FIGURE_GPU_UTIL);
	judged_say(j, out, idle < 2 * DIAGNOSE_WORTH ? IS_EXCLUDED : IS_LIKELY, fmax(idle, 0),
		   traced ? "nothing runs on the GPU for %.0f %% of a step"
			  : "no kernel was resident for %.0f %% of the time",
		   100 * fmax(idle, 0));
	if (traced)
		say_where(j, out);
	if (judging_by_nsys(j) && out->how == IS_LIKELY)
		out->against = judging_nsys_slows;
	if (!traced && isfinite(j->r->mfu) && j->r->mfu > 0.45 && out->how == IS_LIKELY) {
		out->how = IS_POSSIBLE;
		out->against = arena_printf(j->a,
					    "an MFU of %.0f %% leaves no room for it: the "
					    "recording holds time outside of training",
					    100 * j->r->mfu);
	}
}

void rule_accumulation(const struct judging *j, struct judged_cause *out)
{
	double comm = judging_share(j, PART_COMM), room;

	if (judging_alone(j) || !isfinite(comm) || !(j->r->accumulation >= 1))
		return;
	room = j->r->memory_used / j->r->memory_total;
	judged_cite_trait(j, out, j->r->traits[TRAIT_ACCUMULATION]);
	judged_cite_sum(j, out, FIGURE_COMM_EXPOSED_S);
	if (j->r->accumulation > 1 || comm < 2 * DIAGNOSE_WORTH)
		judged_say(j, out, IS_EXCLUDED, comm,
			   "%.0f micro-batches a step, %.1f %% of it exposed communication",
			   j->r->accumulation, 100 * comm);
	else
		judged_say(j, out, IS_POSSIBLE, comm / 2,
			   "each micro-batch is a step: with two of them, and twice the global "
			   "batch%s, half of the communication goes",
			   room < 0.5 ? " or with a larger micro-batch, for which memory is free"
				      : "");
}

void rule_drift(const struct judging *j, struct judged_cause *out)
{
	double d = j->r->drift;

	if (!isfinite(d))
		return;
	judged_cite_sum(j, out, FIGURE_STEP_S);
	if (d < 0.1)
		judged_say(j, out, IS_EXCLUDED, fmax(d, 0),
			   "the last quarter of the steps takes %+.1f %% over the first one",
			   100 * d);
	else
		judged_say(j, out, IS_POSSIBLE, d / (1 + d) / 2,
			   "the last quarter of the steps takes %.0f %% longer than the first one",
			   100 * d);
}
