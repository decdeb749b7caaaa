/* SPDX-License-Identifier: Apache-2.0 */
/* Causes on the host: data, logging, saving, CPUs. */
#include <math.h>
#include <string.h>

#include "models/diagnose/judge.h"
#include "models/diagnose/read.h"

bool judging_gpu(const struct judging *j)
{
	const struct run_seen *r = j->r;

	return r->traits[TRAIT_GPU] || r->sums[FIGURE_GPU_UTIL].n || r->split.gpu_clock ||
	       r->sums[FIGURE_GPU_MEMORY].n;
}

bool judging_alone(const struct judging *j)
{
	return run_alone(j->r);
}

bool judging_by_nsys(const struct judging *j)
{
	const char *format = j->r->split.format;

	return format && strcmp(format, evidence_sqlite.name) == 0;
}

const char judging_nsys_slows[] =
	"nsys makes every launch take longer, and one process more than another: how long a step "
	"takes without it tells how much of this is its own";

static double idle_of(const struct judging *j)
{
	double idle = judging_share(j, PART_IDLE), data = judging_share(j, PART_DATA);

	if (j->r->split.gpu_clock && isfinite(idle))
		return idle + (isfinite(data) ? data : 0);
	return 1 - j->r->sums[FIGURE_GPU_UTIL].mean;
}

/* From outside: workers that never rest while the GPUs do. */
static void live_loader(const struct judging *j, struct judged_cause *out, double idle)
{
	struct figure_sum w = run_sum_text(j->a, j->r, FIGURE_THREAD_BUSY, "loader worker");

	judged_cite(j, out, w.at, arena_printf(j->a, "%zu loader workers", w.n));
	judged_cite_sum(j, out, FIGURE_GPU_UTIL);
	if (!w.n || !isfinite(idle))
		return;
	if (w.median > 0.9 && idle > 0.15)
		judged_say(j, out, IS_LIKELY, idle,
			   "%zu loader workers are busy for %.0f %% of the time, and the GPUs idle "
			   "for %.0f %%",
			   w.n, 100 * w.median, 100 * idle);
	else
		judged_say(j, out, IS_EXCLUDED, idle,
			   "%zu loader workers are busy for %.0f %% of the time, the GPUs idle for "
			   "%.0f %%",
			   w.n, 100 * w.median, 100 * fmax(idle, 0));
}

void rule_loader(const struct judging *j, struct judged_cause *out)
{
	const struct trait_seen *workers = j->r->traits[TRAIT_WORKERS];
	double share = judging_share(j, PART_DATA), idle = idle_of(j);
	bool none = workers && workers->value <= 0;

	if (!isfinite(share)) {
		if (j->r->live)
			live_loader(j, out, idle);
		else
			judged_say(j, out, IS_UNSEEN, NAN,
				   "no file tells how long a step waits for its batch");
		return;
	}
	judged_cite_sum(j, out, FIGURE_DATA_S);
	if (share < DIAGNOSE_WORTH) {
		judged_say(j, out, IS_EXCLUDED, share, "a step waits %.1f %% of its time for data",
			   100 * share);
		return;
	}
	judged_say(j, out, IS_CERTAIN, share, "a step waits %.3g of %.3g s for its batch%s",
		   j->r->split.s[PART_DATA], j->r->split.step_s,
		   none ? "; no loader worker makes batches beside it" : "");
	if (workers)
		judged_cite_trait(j, out, workers);
	/* The host may wait while the GPU still has work. */
	if (judging_gpu(j) && !j->r->split.gpu_clock) {
		out->how = isfinite(idle) && idle > 0.1 ? IS_CERTAIN : IS_LIKELY;
		if (isfinite(idle) && idle < share) {
			out->share = fmax(idle, 0);
			out->against = arena_printf(j->a,
						    "the GPUs were idle for %.0f %% of the "
						    "time alone: the rest of the waiting is hidden",
						    100 * idle);
		}
		judged_cite_sum(j, out, FIGURE_GPU_UTIL);
	}
}

void rule_disk(const struct judging *j, struct judged_cause *out)
{
	double io = j->r->sums[FIGURE_WAITING_IO].mean, share = judging_share(j, PART_DATA);

	if (!isfinite(io))
		return;
	judged_cite_sum(j, out, FIGURE_WAITING_IO);
	judged_cite_sum(j, out, FIGURE_DISK_GBS);
	if (io < 0.05)
		judged_say(j, out, IS_EXCLUDED, io, "%.1f %% of the time waits for a disk",
			   100 * io);
	else if (share >= DIAGNOSE_WORTH)
		judged_say(j, out, IS_LIKELY, fmin(io, share),
			   "%.0f %% of the time waits for a disk, and a step waits %.0f %% of its "
			   "time for data",
			   100 * io, 100 * share);
	else
		judged_say(j, out, IS_POSSIBLE, io, "%.0f %% of the time waits for a disk",
			   100 * io);
}

void rule_sync(const struct judging *j, struct judged_cause *out)
{
	const struct figure_sum *sync = &j->r->sums[FIGURE_SYNC_S], *n = &j->r->sums[FIGURE_SYNCS];
	double share = judging_share(j, PART_HOST), idle = judging_share(j, PART_IDLE);
	/* The log's own clock around it, beside the trace. */
	bool told = sync->mean / j->r->step_s >= DIAGNOSE_WORTH;

	if (!sync->n && !n->n) {
		if (!j->r->live)
			judged_say(j, out, IS_UNSEEN, NAN,
				   "no file tells how often the host waits for the GPU");
		return;
	}
	judged_cite_sum(j, out, FIGURE_SYNC_S);
	judged_cite_sum(j, out, FIGURE_SYNCS);
	if (!j->r->split.gpu_clock && isfinite(share)) {
		judged_say(j, out, share < DIAGNOSE_WORTH ? IS_EXCLUDED : IS_CERTAIN, share,
			   "fetching figures and logging take %.3g of %.3g s of a step",
			   j->r->split.s[PART_HOST], j->r->split.step_s);
		if (judging_gpu(j) && out->how == IS_CERTAIN) {
			out->how = IS_LIKELY;
			out->against =
				"the host's clock counts the GPU's work that it waits for as "
				"well";
		}
		return;
	}
	if (!isfinite(idle))
		return;
	/* A wait costs only what the GPU then idles, until work is launched again. */
	if (j->r->split.window && n->median > 0 && idle >= DIAGNOSE_WORTH)
		judged_say(j, out, IS_POSSIBLE, idle,
			   "the host waits for the GPU %.0f times in %.3g s, and the GPU idles "
			   "%.0f %% of it; how many steps that were is not told",
			   n->median, j->r->split.step_s, 100 * idle);
	else if (n->median >= 4 && idle >= DIAGNOSE_WORTH)
		judged_say(
			j, out,
			n->median < SYNCS_MANY ? IS_POSSIBLE : (told ? IS_CERTAIN : IS_LIKELY),
			idle,
			"the host waits for the GPU %.0f times a step, and the GPU idles %.0f %% "
			"of it",
			n->median, 100 * idle);
	else if (!n->n && told && idle >= DIAGNOSE_WORTH)
		judged_say(j, out, IS_POSSIBLE, fmin(idle, sync->mean / j->r->step_s),
			   "fetching figures and logging take %.3g of %.3g s of a step, and the "
			   "GPU idles %.0f %% of it",
			   sync->mean, j->r->step_s, 100 * idle);
	else if (n->n && idle >= DIAGNOSE_WORTH)
		judged_say(j, out, IS_EXCLUDED, NAN,
			   "the host waits for the GPU %.3g times a step, too seldom for the %.0f "
			   "%% that it idles",
			   n->median, 100 * idle);
	else
		judged_say(j, out, IS_EXCLUDED, fmin(idle, 1), "the GPU idles %.1f %% of a step",
			   100 * idle);
}

void rule_checkpoint(const struct judging *j, struct judged_cause *out)
{
	double share = judging_share(j, PART_CHECKPOINT);

	if (!isfinite(share))
		return;
	judged_cite_sum(j, out, FIGURE_CHECKPOINT_S);
	judged_say(j, out, share < DIAGNOSE_WORTH ? IS_EXCLUDED : IS_CERTAIN, share,
		   "saving takes %.3g s of a step on average, %.1f %% of its time",
		   j->r->split.s[PART_CHECKPOINT], 100 * share);
}

/* Seen from outside: how many CPUs the ranks may use at all, and how many they did use. */
static bool confined(const struct judging *j, struct judged_cause *out)
{
	struct figure_sum may = run_sum_text(j->a, j->r, FIGURE_CPUS, "allowed");
	double used = j->r->sums[FIGURE_PROCESS_CPUS].mean, ranks = j->r->gpus;

	if (!j->r->live || !may.n || !isfinite(ranks))
		return false;
	judged_cite(j, out, may.at,
		    arena_printf(j->a, "%.0f CPUs are allowed to the ranks", may.median));
	judged_cite_sum(j, out, FIGURE_PROCESS_CPUS);
	if (may.median < ranks)
		judged_say(j, out, IS_CERTAIN, 1 - may.median / ranks,
			   "%.0f ranks may use %.0f CPU%s alone, and used %.2f", ranks, may.median,
			   may.median > 1 ? "s" : "", used);
	else if (used > 0.97 * may.median)
		judged_say(j, out, IS_LIKELY, NAN, "the job uses %.2f of the %.0f CPUs that it may",
			   used, may.median);
	else
		judged_say(j, out, IS_EXCLUDED, NAN,
			   "the job uses %.2f of the %.0f CPUs that it may", used, may.median);
	return true;
}

void rule_starved(const struct judging *j, struct judged_cause *out)
{
	double busy = j->r->sums[FIGURE_CPU_BUSY].mean, idle = idle_of(j);
	double cpus = j->r->sums[FIGURE_CPUS].high, ranks = j->r->gpus / j->r->nodes;

	if (confined(j, out))
		return;
	if (!isfinite(busy))
		return;
	judged_cite_sum(j, out, FIGURE_CPU_BUSY);
	judged_cite_sum(j, out, FIGURE_CPUS);
	if (isfinite(cpus) && ranks > cpus)
		judged_say(j, out, IS_CERTAIN, NAN, "%.0f ranks share %.0f CPUs", ranks, cpus);
	else if (busy > 0.95 && judging_gpu(j) && idle > 0.1)
		judged_say(
			j, out, IS_LIKELY, idle,
			"all CPUs are busy for %.0f %% of the time, and the GPUs idle for %.0f %%",
			100 * busy, 100 * idle);
	else if (busy > 0.95)
		judged_say(j, out, IS_POSSIBLE, NAN, "all CPUs are busy for %.0f %% of the time",
			   100 * busy);
	else
		judged_say(j, out, IS_EXCLUDED, NAN, "CPUs are busy for %.0f %% of the time",
			   100 * busy);
}

/* The busiest thread that is no loader worker's; NULL. */
static const struct figure_seen *busiest(const struct judging *j)
{
	const struct figure_seen *out = NULL;

	for (size_t i = 0; i < j->r->ev->n_figures; i++) {
		const struct figure_seen *f = &j->r->ev->figures[i];

		if (f->kind == FIGURE_THREAD_BUSY && j->r->ev->files[f->file].run == j->r->run &&
		    !(f->text && strcmp(f->text, "loader worker") == 0) &&
		    (!out || f->value > out->value))
			out = f;
	}
	return out;
}

void rule_thread(const struct judging *j, struct judged_cause *out)
{
	const struct figure_seen *own = busiest(j);
	const struct figure_sum *one = &j->r->sums[FIGURE_CPU_ONE_MAX];
	double idle = idle_of(j), busy = own ? own->value : one->median;

	if (!judging_gpu(j) || !isfinite(busy) || !isfinite(idle))
		return;
	if (own)
		judged_cite(j, out, own, own->text);
	else
		judged_cite_sum(j, out, FIGURE_CPU_ONE_MAX);
	judged_cite_sum(j, out, FIGURE_GPU_UTIL);
	judged_say(j, out,
		   busy <= 0.95 || idle <= 0.15 ? IS_EXCLUDED
		   : own			? IS_LIKELY
						: IS_POSSIBLE,
		   idle, "%s is busy for %.0f %% of the time, the GPUs idle for %.0f %%",
		   !own	       ? "one CPU"
		   : own->text ? own->text
			       : "a thread of the job",
		   100 * busy, 100 * fmax(idle, 0));
}
