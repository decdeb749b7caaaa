/* SPDX-License-Identifier: Apache-2.0 */
/* Causes in the GPU: clocks, memory, formats, copies. */
#include <math.h>
#include <string.h>

#include "models/diagnose/judge.h"

enum { GPUS_MAX = 1024 };

/* The GPU that was held down most for this reason: its part of the time. */
static double held_down(const struct judging *j, const char *reason)
{
	double *sum = arena_array(j->a, GPUS_MAX, sizeof(*sum)), most = NAN;
	double *n = arena_array(j->a, GPUS_MAX, sizeof(*n));

	for (size_t i = 0; i < j->r->ev->n_figures; i++) {
		const struct metric_sample *f = &j->r->ev->figures[i];
		int gpu = f->rank < 0 ? 0 : f->rank;

		if (f->kind != FIGURE_THROTTLED || j->r->ev->files[f->file].run != j->r->run ||
		    gpu >= GPUS_MAX || !f->text || !strcasestr(f->text, reason))
			continue;
		sum[gpu] += f->value;
		n[gpu]++;
	}
	for (size_t i = 0; i < GPUS_MAX; i++)
		if (n[i] > 0)
			most = fmax(isfinite(most) ? most : 0, sum[i] / n[i]);
	return most;
}

/* By anything but the power cap. */
static double faulty(const struct judging *j, const char **why)
{
	static const char *const names[] = { "thermal", "brake", "hardware slowdown",
					     "sync boost" };
	static const char *const said[] = { "by heat", "by the power brake", "by the hardware",
					    "by another GPU (sync boost)" };
	double most = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double here = held_down(j, names[i]);

		if (here > most + 1e-9) {
			most = here;
			*why = said[i];
		}
	}
	return most;
}

static void cite_clocks(const struct judging *j, struct judged_cause *out)
{
	judged_cite_sum(j, out, FIGURE_THROTTLED);
	judged_cite_sum(j, out, FIGURE_SM_MHZ);
	judged_cite_sum(j, out, FIGURE_SM_MAX_MHZ);
	judged_cite_sum(j, out, FIGURE_GPU_C);
	judged_cite_sum(j, out, FIGURE_GPU_POWER_W);
	judged_cite_sum(j, out, FIGURE_GPU_POWER_LIMIT_W);
}

void rule_throttled(const struct judging *j, struct judged_cause *out)
{
	const struct figure_sum *t = &j->r->sums[FIGURE_THROTTLED], *c = &j->r->sums[FIGURE_SM_MHZ],
				*m = &j->r->sums[FIGURE_SM_MAX_MHZ];
	double slow = 1 - c->mean / m->median, capped = fmax(0, held_down(j, "power cap")), fault;
	const char *why = "", *by = "";

	if (!judging_gpu(j))
		return;
	if (!t->n && !isfinite(slow)) {
		judged_set_text(j, out, IS_UNSEEN, NAN,
				"no recording contains clocks and throttle reasons");
		return;
	}
	cite_clocks(j, out);
	fault = faulty(j, &why);
	if (isfinite(slow))
		by = arena_printf(j->a, ": %.0f of %.0f MHz average", c->mean, m->median);
	if (t->n && fmax(fault, capped) < 0.05)
		judged_set_text(j, out, IS_EXCLUDED, 0, "throttled for at most %.1f %% of the time",
				100 * fmax(fault, capped));
	else if (t->n && fault >= 0.05)
		judged_set_text(j, out, slow >= DIAGNOSE_WORTH ? IS_CERTAIN : IS_POSSIBLE, slow,
				"a GPU clock was throttled for %.0f %% of the time %s%s",
				100 * fault, why, by);
	else if (t->n) {
		/* No GPU keeps its highest clock under full load. */
		judged_set_text(
			j, out, IS_POSSIBLE, slow,
			"a GPU clock was throttled for %.0f %% of the time by the power cap%s",
			100 * capped, by);
		out->against = "normal under full load at the board's default limit; check whether "
			       "the limit was lowered (nvidia-smi -q -d POWER)";
	} else if (slow > 0.25 && j->r->sums[FIGURE_GPU_UTIL].mean > 0.8)
		judged_set_text(j, out, IS_POSSIBLE, slow,
				"the GPUs ran at %.0f of %.0f MHz under load", c->mean, m->median);
}

void rule_memory(const struct judging *j, struct judged_cause *out)
{
	const struct figure_sum *retries = &j->r->sums[FIGURE_ALLOC_RETRIES];
	double part = j->r->memory_used / j->r->memory_total;

	if (!isfinite(part) && !retries->n)
		return;
	judged_cite_sum(j, out, FIGURE_ALLOC_RETRIES);
	judged_cite_sum(j, out, FIGURE_GPU_MEMORY);
	judged_cite_sum(j, out, FIGURE_GPU_MEMORY_TOTAL);
	if (retries->high > 0)
		judged_set_text(
			j, out, IS_CERTAIN, NAN,
			"the allocator flushed its cache and retried %.0f times%s", retries->high,
			isfinite(part) ? arena_printf(j->a, "; %.0f %% of the memory is in use",
						      100 * part)
				       : "");
	else
		judged_set_text(j, out, part > 0.97 ? IS_POSSIBLE : IS_EXCLUDED, NAN,
				"peak use %.1f of %.1f GiB", j->r->memory_used / 0x1p30,
				j->r->memory_total / 0x1p30);
}

void rule_recompute(const struct judging *j, struct judged_cause *out)
{
	const char *how = run_trait(j->a, j->r, TRAIT_CHECKPOINTING);
	double part = j->r->memory_used / j->r->memory_total,
	       compute = judging_share(j, PART_COMPUTE),
	       gaps = judging_share(j, PART_IDLE) - watched_long_gaps(j->r);

	if (!*how)
		return;
	/* What runs again is launched again. */
	compute += gaps > 0 ? gaps : 0;
	judged_cite_trait(j, out, j->r->traits[TRAIT_CHECKPOINTING]);
	judged_cite_sum(j, out, FIGURE_GPU_MEMORY);
	/* One forward pass of three, with the backward pass two of them, is a quarter. */
	if (!strstr(how, "full"))
		judged_set_text(j, out, IS_EXCLUDED, 0, "activation checkpointing: %s", how);
	else if (!isfinite(part))
		judged_set_text(j, out, IS_POSSIBLE, compute / 4,
				"every forward pass runs twice; it is unknown whether training "
				"fits without recomputation");
	else
		judged_set_text(
			j, out, part < 0.6 ? IS_LIKELY : IS_EXCLUDED,
			isfinite(compute) ? compute / 4 : 0.25,
			"every forward pass runs twice, and %.0f %% of the memory is in use",
			100 * part);
}

static double gemm(const struct judging *j, const char *text)
{
	struct figure_sum s = run_sum_text(j->a, j->r, FIGURE_GEMM_S, text);

	return s.n ? s.mean : 0;
}

void rule_precision(const struct judging *j, struct judged_cause *out)
{
	const char *p = run_trait(j->a, j->r, TRAIT_PRECISION);
	double slow = gemm(j, "fp32") + gemm(j, "fp64");
	double all = slow + gemm(j, "tf32") + gemm(j, "bf16") + gemm(j, "fp16") + gemm(j, "fp8");
	double compute = judging_share(j, PART_COMPUTE), part = slow / all;

	if (!*p && !(all > 0)) {
		if (judging_gpu(j) && !j->r->live)
			watched_precision(j, out);
		return;
	}
	judged_cite_trait(j, out, j->r->traits[TRAIT_PRECISION]);
	judged_cite_sum(j, out, FIGURE_GEMM_S);
	/* Tensor cores are more than eight times as fast on every GPU that has them. */
	if (all > 0)
		judged_set_text(
			j, out, part > 0.3 ? IS_CERTAIN : IS_EXCLUDED,
			part * 7 / 8 * (isfinite(compute) ? compute : 1),
			"%.0f %% of the matrix multiplication time runs without tensor cores",
			100 * part);
	else if (strstr(p, "64"))
		judged_set_text(j, out, IS_CERTAIN, isfinite(compute) ? compute / 2 : (double)NAN,
				"training in %s: matrix multiplications take at least twice as "
				"long as in FP32",
				p);
	else if (strstr(p, "fp32") || strcmp(p, "float32") == 0 || strcmp(p, "no") == 0)
		judged_set_text(j, out, judging_gpu(j) ? IS_LIKELY : IS_EXCLUDED,
				isfinite(compute) ? compute / 2 : (double)NAN,
				judging_gpu(j)
					? "training in FP32: without TF32 the tensor cores are idle"
					: "training in FP32, on CPUs");
	else
		judged_set_text(j, out, IS_EXCLUDED, 0, "training in %s", p);
}

/* No file has copies: a copy from pinned memory takes the main thread no time, nor the GPU's. */
static void pageable_by_stacks(const struct judging *j, struct judged_cause *out)
{
	double copying = judging_places(j, "copying: ", NULL), gaps = watched_long_gaps(j->r);
	bool traced = isfinite(gaps);

	gaps = traced ? gaps : judging_idle(j);
	if (!(copying >= DIAGNOSE_WORTH) ||
	    !(gaps >= (traced ? DIAGNOSE_WORTH : 2 * DIAGNOSE_WORTH)))
		return;
	judging_places(j, "copying: ", out);
	judged_cite_sum(j, out, FIGURE_LONG_IDLE_S);
	judged_set_text(j, out, IS_LIKELY, fmin(copying, gaps),
			"%.0f %% of the main thread's stack samples are in copies to the GPU, "
			"which idles for %.0f %% of the time%s",
			100 * copying, 100 * gaps, traced ? " in gaps of 10 ms or longer" : "");
}

void rule_pageable(const struct judging *j, struct judged_cause *out)
{
	const struct figure_sum *p = &j->r->sums[FIGURE_COPY_PAGEABLE_S];
	double share = judging_share(j, PART_COPY),
	       pageable = p->mean / fmax(j->r->split.step_s, j->r->traced_s);

	if (!p->n && !isfinite(share)) {
		pageable_by_stacks(j, out);
		return;
	}
	judged_cite_sum(j, out, FIGURE_COPY_PAGEABLE_S);
	judged_cite_sum(j, out, FIGURE_COPY_EXPOSED_S);
	if (isfinite(share) && share < DIAGNOSE_WORTH)
		judged_set_text(j, out, IS_EXCLUDED, share,
				"copies stall the GPU for %.1f %% of a step", 100 * share);
	else if (pageable >= DIAGNOSE_WORTH)
		judged_set_text(j, out, isfinite(share) ? IS_CERTAIN : IS_LIKELY,
				isfinite(share) ? fmin(share, pageable) : pageable,
				"copies from pageable memory take %.0f %% of a step",
				100 * pageable);
	else if (!j->r->split.gpu_clock && judging_idle(j) > 0.15) {
		/* A copy from pinned memory is handed over, and the host goes on. */
		judged_cite_sum(j, out, FIGURE_COPY_S);
		judged_cite_sum(j, out, FIGURE_GPU_UTIL);
		judged_set_text(j, out, IS_LIKELY, fmin(share, judging_idle(j)),
				"the host waits for copies for %.0f %% of a step, which is typical "
				"of pageable memory",
				100 * share);
	} else
		judged_set_text(j, out, IS_POSSIBLE, share,
				"copies stall the GPU for %.0f %% of a step", 100 * share);
}

/* Causes on the host: data, logging, saving, CPUs. */

double judging_idle(const struct judging *j)
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
		judged_set_text(
			j, out, IS_LIKELY, idle,
			"%zu loader workers are busy %.0f %% of the time, the GPUs idle %.0f %%",
			w.n, 100 * w.median, 100 * idle);
	else
		judged_set_text(
			j, out, IS_EXCLUDED, idle,
			"%zu loader workers are busy %.0f %% of the time, the GPUs idle %.0f %%",
			w.n, 100 * w.median, 100 * fmax(idle, 0));
}

void rule_loader(const struct judging *j, struct judged_cause *out)
{
	const struct run_attribute *workers = j->r->traits[TRAIT_WORKERS];
	double share = judging_share(j, PART_DATA), idle = judging_idle(j);
	bool none = workers && workers->value <= 0;

	if (!isfinite(share)) {
		if (j->r->live)
			live_loader(j, out, idle);
		else
			watched_loader(j, out);
		return;
	}
	judged_cite_sum(j, out, FIGURE_DATA_S);
	if (share < DIAGNOSE_WORTH) {
		judged_set_text(j, out, IS_EXCLUDED, share,
				"each step waits %.1f %% of its time for data", 100 * share);
		return;
	}
	judged_set_text(j, out, IS_CERTAIN, share, "a step waits %.3g of %.3g s for its batch%s",
			j->r->split.s[PART_DATA], j->r->split.step_s,
			none ? "; no loader worker prepares batches in parallel" : "");
	if (workers)
		judged_cite_trait(j, out, workers);
	/* The host may wait while the GPU still has work. */
	if (judging_gpu(j) && !j->r->split.gpu_clock) {
		out->how = isfinite(idle) && idle > 0.1 ? IS_CERTAIN : IS_LIKELY;
		if (isfinite(idle) && idle < share) {
			out->share = fmax(idle, 0);
			out->against = arena_printf(j->a,
						    "the GPUs were idle for only %.0f %% of the "
						    "time: computation hides the rest of the wait",
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
		judged_set_text(j, out, IS_EXCLUDED, io, "I/O wait takes %.1f %% of the time",
				100 * io);
	else if (share >= DIAGNOSE_WORTH)
		judged_set_text(j, out, IS_LIKELY, fmin(io, share),
				"I/O wait takes %.0f %% of the time, and each step waits %.0f %% "
				"of its time for data",
				100 * io, 100 * share);
	else
		judged_set_text(j, out, IS_POSSIBLE, io, "I/O wait takes %.0f %% of the time",
				100 * io);
}

bool judging_syncs_many(const struct judging *j)
{
	double n = j->r->sums[FIGURE_SYNCS].median;

	return j->r->split.window ? 40 * n >= j->r->sums[FIGURE_KERNELS].mean : n >= SYNCS_MANY;
}

void rule_sync(const struct judging *j, struct judged_cause *out)
{
	const struct figure_sum *sync = &j->r->sums[FIGURE_SYNC_S], *n = &j->r->sums[FIGURE_SYNCS];
	double share = judging_share(j, PART_HOST), idle = judging_share(j, PART_IDLE), brief;
	/* The log's own clock around it, beside the trace. */
	bool told = sync->mean / j->r->step_s >= DIAGNOSE_WORTH;

	if (!sync->n && !n->n) {
		if (!j->r->live)
			judged_set_text(j, out, IS_UNSEEN, NAN,
					"no file contains the number of host synchronizations");
		return;
	}
	judged_cite_sum(j, out, FIGURE_SYNC_S);
	judged_cite_sum(j, out, FIGURE_SYNCS);
	if (!j->r->split.gpu_clock && isfinite(share)) {
		judged_set_text(j, out, share < DIAGNOSE_WORTH ? IS_EXCLUDED : IS_CERTAIN, share,
				"fetching values and logging take %.3g of %.3g s per step",
				j->r->split.s[PART_HOST], j->r->split.step_s);
		if (judging_gpu(j) && out->how == IS_CERTAIN) {
			out->how = IS_LIKELY;
			out->against = "the host's time includes waiting for the GPU";
		}
		return;
	}
	if (!isfinite(idle))
		return;
	/* A wait costs only what the GPU then idles, until work is launched again: briefly. */
	brief = watched_long_gaps(j->r) > 0 ? idle - watched_long_gaps(j->r) : idle;
	if (j->r->split.window && judging_syncs_many(j) && brief >= 2 * DIAGNOSE_WORTH)
		judged_set_text(j, out, IS_LIKELY, brief,
				"the host synchronizes %.0f times per 1000 kernels, and the GPU "
				"idles %.0f %% of the time in gaps shorter than 10 ms",
				1000 * n->median / j->r->sums[FIGURE_KERNELS].mean, 100 * brief);
	else if (j->r->split.window && n->median > 0 && brief >= DIAGNOSE_WORTH)
		judged_set_text(j, out, IS_POSSIBLE, brief,
				"the host synchronizes %.0f times in %.3g s, and the GPU idles "
				"%.0f %% of that time; the number of steps is unknown",
				n->median, j->r->split.step_s, 100 * idle);
	else if (n->median >= 4 && brief >= DIAGNOSE_WORTH)
		judged_set_text(j, out,
				n->median < SYNCS_MANY ? IS_POSSIBLE
						       : (told ? IS_CERTAIN : IS_LIKELY),
				brief,
				"the host synchronizes %.0f times per step, and the GPU idles %.0f "
				"%% of the step",
				n->median, 100 * idle);
	else if (!n->n && told && idle >= DIAGNOSE_WORTH)
		judged_set_text(j, out, IS_POSSIBLE, fmin(idle, sync->mean / j->r->step_s),
				"fetching values and logging take %.3g of %.3g s per step, and the "
				"GPU idles %.0f %% of the step",
				sync->mean, j->r->step_s, 100 * idle);
	else if (n->n && idle >= DIAGNOSE_WORTH)
		judged_set_text(j, out, IS_EXCLUDED, NAN,
				"the host synchronizes %.3g times per step, too rarely to explain "
				"the %.0f %% GPU idle time",
				n->median, 100 * idle);
	else
		judged_set_text(j, out, IS_EXCLUDED, fmin(idle, 1),
				"the GPU idles %.1f %% of a step", 100 * idle);
}

void rule_checkpoint(const struct judging *j, struct judged_cause *out)
{
	double share = judging_share(j, PART_CHECKPOINT);

	if (!isfinite(share)) {
		watched_checkpoint(j, out);
		return;
	}
	judged_cite_sum(j, out, FIGURE_CHECKPOINT_S);
	judged_set_text(j, out, share < DIAGNOSE_WORTH ? IS_EXCLUDED : IS_CERTAIN, share,
			"saving checkpoints takes %.3g s per step on average, %.1f %% of the step",
			j->r->split.s[PART_CHECKPOINT], 100 * share);
}

/* Seen from outside: how many CPUs the ranks may use at all, and how many they did use. */
static bool confined(const struct judging *j, struct judged_cause *out)
{
	struct figure_sum may = run_sum_text(j->a, j->r, FIGURE_CPUS, "allowed");
	double used = j->r->sums[FIGURE_PROCESS_CPUS].mean, ranks = j->r->gpus;

	if (!j->r->live || !may.n || !isfinite(ranks))
		return false;
	judged_cite(j, out, may.at, arena_printf(j->a, "the ranks may use %.0f CPUs", may.median));
	judged_cite_sum(j, out, FIGURE_PROCESS_CPUS);
	if (may.median < ranks)
		judged_set_text(j, out, IS_CERTAIN, 1 - may.median / ranks,
				"%.0f ranks may use only %.0f CPU%s, and used %.2f", ranks,
				may.median, PLURAL(may.median), used);
	else if (used > 0.97 * may.median)
		judged_set_text(j, out, IS_LIKELY, NAN, "the job uses %.2f of its %.0f CPUs", used,
				may.median);
	else
		judged_set_text(j, out, IS_EXCLUDED, NAN, "the job uses %.2f of its %.0f CPUs",
				used, may.median);
	return true;
}

void rule_starved(const struct judging *j, struct judged_cause *out)
{
	double busy = j->r->sums[FIGURE_CPU_BUSY].mean, idle = judging_idle(j);
	double cpus = j->r->sums[FIGURE_CPUS].high, ranks = j->r->gpus / j->r->nodes;

	if (confined(j, out))
		return;
	if (!isfinite(busy))
		return;
	judged_cite_sum(j, out, FIGURE_CPU_BUSY);
	judged_cite_sum(j, out, FIGURE_CPUS);
	if (isfinite(cpus) && ranks > cpus)
		judged_set_text(j, out, IS_CERTAIN, NAN, "%.0f ranks share %.0f CPUs", ranks, cpus);
	else if (busy > 0.95 && judging_gpu(j) && idle > 0.1)
		judged_set_text(j, out, IS_LIKELY, idle,
				"all CPUs are busy %.0f %% of the time, the GPUs idle %.0f %%",
				100 * busy, 100 * idle);
	else if (busy > 0.95)
		judged_set_text(j, out, IS_POSSIBLE, NAN, "all CPUs are busy %.0f %% of the time",
				100 * busy);
	else
		judged_set_text(j, out, IS_EXCLUDED, NAN, "CPUs are busy %.0f %% of the time",
				100 * busy);
}

/* The busiest thread that is no loader worker's; NULL. */
static const struct metric_sample *judge_gpu_busiest(const struct judging *j)
{
	const struct metric_sample *out = NULL;

	for (size_t i = 0; i < j->r->ev->n_figures; i++) {
		const struct metric_sample *f = &j->r->ev->figures[i];

		if (f->kind == FIGURE_THREAD_BUSY && j->r->ev->files[f->file].run == j->r->run &&
		    !(f->text && strcmp(f->text, "loader worker") == 0) &&
		    (!out || f->value > out->value))
			out = f;
	}
	return out;
}

/* What may use others leaves a CPU now and then. */
bool judging_one_cpu(const struct judging *j)
{
	return j->r->sums[FIGURE_CPU_ONE_MAX].median > 0.98 &&
	       j->r->sums[FIGURE_CPU_BUSY].mean * j->r->sums[FIGURE_CPUS].high < 1.4;
}

double judging_other_work(const struct judging *j)
{
	static const char *const kinds[] = {
		"saving: ",	 "collecting: ", "compiling: ", "computing: ", "emptying: ",
		"copying: ",	 "queue: ",	 "lock: ",	"storage: ",   "network: ",
		"data-loader: ", "preparing: ",	 "sleep: "
	};
	double sum = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		sum += judging_places(j, kinds[i], NULL);
	return sum;
}

void rule_thread(const struct judging *j, struct judged_cause *out)
{
	const struct metric_sample *own = judge_gpu_busiest(j);
	const struct figure_sum *one = &j->r->sums[FIGURE_CPU_ONE_MAX];
	double idle = judging_idle(j), busy = own ? own->value : one->median;

	if (!judging_gpu(j) || !isfinite(busy) || !isfinite(idle))
		return;
	if (own)
		judged_cite(j, out, own, own->text);
	else
		judged_cite_sum(j, out, FIGURE_CPU_ONE_MAX);
	judged_cite_sum(j, out, FIGURE_GPU_UTIL);
	judged_set_text(j, out,
			busy <= 0.95 || idle <= 0.15 ? IS_EXCLUDED
			: own || judging_one_cpu(j)  ? IS_LIKELY
						     : IS_POSSIBLE,
			idle, "%s is busy %.0f %% of the time, the GPUs idle %.0f %%",
			!own	    ? "one CPU"
			: own->text ? own->text
				    : "a thread of the job",
			100 * busy, 100 * fmax(idle, 0));
	if (out->how == IS_LIKELY && judging_other_work(j) > WATCHED_IDLE / 2) {
		out->how = IS_POSSIBLE;
		out->against = "its stack samples show other work";
	}
}
