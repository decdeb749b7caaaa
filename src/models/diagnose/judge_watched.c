/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes by a recording and the steps of the log alone: how busy GPUs and CPUs were, the pattern of
 * the steps, and whether so many operations a second can be done without tensor cores.
 */
#include <math.h>

#include "models/diagnose/judge.h"

/* A process that trains uses one CPU whole: it launches, or polls for the GPU. Far less: it sleeps;
 * much more: others work beside it. */
#define CPUS_ASLEEP 0.6
#define CPUS_BESIDE 1.7
/* GPUs that idle for longer wait for something. */
#define IDLE_MUCH 0.15
/* Mean step time over the median: steps are even up to this ratio. A verdict takes this many steps,
 * logged one by one or several per line. */
#define EVEN 1.05
enum { STEPS_EVEN = 20 };
/* Growth of what waits to be written that is no log; what a disk writes a second that is none. */
#define WRITTEN_BYTES 100e6
#define WRITTEN_GBS 0.1

/* By what ran on the GPU, where that was seen. */
static bool watched_inside(const struct run_summary *r)
{
	return r->split.gpu_clock && r->split.told[PART_IDLE];
}

static double watched_idle(const struct run_summary *r)
{
	return watched_inside(r) ? r->split.s[PART_IDLE] / r->split.step_s
				 : 1 - r->sums[FIGURE_GPU_UTIL].mean;
}

double watched_long_gaps(const struct run_summary *r)
{
	return watched_inside(r) ? r->sums[FIGURE_LONG_IDLE_S].mean / r->split.step_s : (double)NAN;
}

/* CPUs in use for each GPU of the job. */
static double cpus_each(const struct run_summary *r)
{
	return r->sums[FIGURE_CPU_BUSY].mean * r->sums[FIGURE_CPUS].high / r->gpus;
}

/*
 * judge_watched.c: what a recording and the log's steps tell where nothing told what ran on the
 * GPU. Operations a second over what the units without tensor cores can do; NAN: not known.
 */
static double watched_over_fp32(const struct run_summary *r)
{
	double busy = r->sums[FIGURE_GPU_UTIL].mean;

	if (!r->gpu || !(r->gpu->fp32 > 0) || !(busy > 0))
		return NAN;
	return r->tokens_s_gpu * r->flops_token / (busy * r->gpu->fp32 * 1e12);
}

bool watched_well(const struct run_summary *r)
{
	return r->sums[FIGURE_GPU_UTIL].mean > 0.9 && r->steps_spanned >= STEPS_EVEN &&
	       r->sums[FIGURE_STEP_S].mean < EVEN * r->step_s && r->longer.share < DIAGNOSE_WORTH &&
	       watched_over_fp32(r) > 1.1;
}

void watched_loader(const struct judging *j, struct judged_cause *out)
{
	const struct run_summary *r = j->r;
	/* Long steps are another matter. */
	double gaps = watched_long_gaps(r), cpus = cpus_each(r);
	double all = isfinite(gaps) ? gaps : watched_idle(r), idle = all - r->longer.share;

	judged_cite_sum(j, out, FIGURE_LONG_IDLE_S);
	if (isfinite(idle) && idle > IDLE_MUCH && cpus < CPUS_ASLEEP)
		judged_set_text(j, out, isfinite(gaps) ? IS_CERTAIN : IS_LIKELY, idle,
				"the GPUs idle for %.0f %% of the time, and so do the CPUs (%.2f "
				"busy per GPU): the job waits for data or another service",
				100 * idle, cpus);
	else if (isfinite(idle) && idle > WATCHED_IDLE && cpus > CPUS_BESIDE)
		judged_set_text(j, out, IS_LIKELY, idle,
				"the GPUs idle for %.0f %% of the time, while %.1f CPUs are busy "
				"per GPU: more than launches need, so they also prepare data",
				100 * idle, cpus);
	else if (isfinite(all) && all < DIAGNOSE_WORTH)
		judged_set_text(j, out, IS_EXCLUDED, fmax(all, 0),
				"the GPUs idle for %.1f %% of the time%s", 100 * fmax(all, 0),
				isfinite(gaps) ? " in gaps longer than launches cause" : "");
	else
		judged_set_text(j, out, IS_UNSEEN, NAN,
				"no file contains the time that a step waits for its batch");
	if (out->how == IS_UNSEEN)
		return;
	judged_cite_sum(j, out, FIGURE_GPU_UTIL);
	judged_cite_sum(j, out, FIGURE_CPU_BUSY);
}

void watched_checkpoint(const struct judging *j, struct judged_cause *out)
{
	const struct run_summary *r = j->r;
	const struct figure_sum *dirty = &r->sums[FIGURE_DIRTY], *disk = &r->sums[FIGURE_WRITTEN];
	double waits = dirty->n ? dirty->high - dirty->low : (double)NAN,
	       saves = judging_places(j, "saving: ", NULL);
	const char *seen =
		waits > WRITTEN_BYTES
			? arena_printf(j->a, ", while %.2g GB wait for writeback", waits / 1e9)
		: saves > 2 * DIAGNOSE_WORTH
			? arena_printf(
				  j->a,
				  ", and %.0f %% of the main thread's stack samples are saving",
				  100 * saves)
		: disk->n && disk->high > WRITTEN_GBS
			? arena_printf(j->a, ", and a disk writes at up to %.2g GB/s", disk->high)
			: NULL;

	if (!r->longer.every || r->longer.share < DIAGNOSE_WORTH || !isfinite(watched_idle(r)))
		return;
	judged_set_text(j, out, seen ? IS_CERTAIN : IS_POSSIBLE, r->longer.share,
			"one in every %lld steps takes %.3g s longer%s", r->longer.every,
			r->longer.at->value - r->step_s,
			seen ? seen : "; no recording shows the writes");
	judged_cite(j, out, r->longer.at, "the longest step");
	judged_cite_sum(j, out, FIGURE_DIRTY);
	judged_cite_sum(j, out, FIGURE_WRITTEN);
	judged_cite_sum(j, out, FIGURE_GPU_UTIL);
}

void watched_small_batch(const struct judging *j, struct judged_cause *out)
{
	const struct run_summary *r = j->r;
	double idle = watched_idle(r) - r->longer.share, each = r->global_batch / r->gpus,
	       used = r->memory_used / r->memory_total, cpus = cpus_each(r);

	if (!(each <= 2) || !(used < 0.5) || !(idle > IDLE_MUCH) || !(cpus >= CPUS_ASLEEP))
		return;
	judged_set_text(j, out, IS_LIKELY, idle,
			"%.0f sequence%s per GPU and step: the GPU idles for %.0f %% of the time "
			"while its process works, and %.0f %% of its memory is in use",
			each, PLURAL(lround(each)), 100 * idle, 100 * used);
	judged_cite_trait(j, out, r->traits[TRAIT_GLOBAL_BATCH]);
	judged_cite_sum(j, out, FIGURE_GPU_UTIL);
	judged_cite_sum(j, out, FIGURE_CPU_BUSY);
	judged_cite_sum(j, out, FIGURE_GPU_MEMORY);
}

void watched_precision(const struct judging *j, struct judged_cause *out)
{
	const struct run_summary *r = j->r;
	double over = watched_over_fp32(r), busy = r->sums[FIGURE_GPU_UTIL].mean,
	       memory = r->sums[FIGURE_GPU_MEMORY_BUSY].mean;

	/* Of what bandwidth limits the operations say nothing. */
	if (over > 1.1)
		judged_set_text(j, out, IS_EXCLUDED, 0,
				"the rate is %.1f times the peak without tensor cores", over);
	else if (over > 0.3 && busy > 0.8 && !(memory > 0.5))
		judged_set_text(j, out, IS_LIKELY, busy * 7 / 8,
				"the GPUs are busy %.0f %% of the time at an MFU of %.1f %%, which "
				"is %.0f %% of the peak without tensor cores",
				100 * busy, 100 * r->mfu, 100 * over);
	else
		judged_set_text(j, out, IS_UNSEEN, NAN, "no file names the number format");
	if (out->how == IS_UNSEEN)
		return;
	judged_cite_sum(j, out, FIGURE_GPU_UTIL);
	judged_cite_sum(j, out, FIGURE_GPU_MEMORY_BUSY);
	judged_cite_sum(j, out, FIGURE_TOKENS_PER_S);
}
