/* SPDX-License-Identifier: Apache-2.0 */
/* Causes in the GPU: clocks, memory, formats, copies. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "models/diagnose/judge.h"

enum { GPUS_MAX = 1024 };

/* The GPU that was held down most for this reason: its part of the time. */
static double held_down(const struct judging *j, const char *reason)
{
	double *sum = arena_array(j->a, GPUS_MAX, sizeof(*sum)), most = NAN;
	double *n = arena_array(j->a, GPUS_MAX, sizeof(*n));

	for (size_t i = 0; i < j->r->ev->n_figures; i++) {
		const struct figure_seen *f = &j->r->ev->figures[i];
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
	static const char *const names[] = { "warm", "brake", "hardware slowdown", "sync boost" };
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
		judged_say(j, out, IS_UNSEEN, NAN, "no recording tells clocks and why they fell");
		return;
	}
	cite_clocks(j, out);
	fault = faulty(j, &why);
	if (isfinite(slow))
		by = arena_printf(j->a, ": %.0f of %.0f MHz on average", c->mean, m->median);
	if (t->n && fmax(fault, capped) < 0.05)
		judged_say(j, out, IS_EXCLUDED, 0,
			   "nothing held a clock down for more than %.1f %% of the time",
			   100 * fmax(fault, capped));
	else if (t->n && fault >= 0.05)
		judged_say(j, out, slow >= DIAGNOSE_WORTH ? IS_CERTAIN : IS_POSSIBLE, slow,
			   "the clock of a GPU was held down for %.0f %% of the time %s%s",
			   100 * fault, why, by);
	else if (t->n) {
		/* No GPU keeps its highest clock under full load. */
		judged_say(j, out, IS_POSSIBLE, slow,
			   "the clock of a GPU was held down for %.0f %% of the time by the power "
			   "cap%s",
			   100 * capped, by);
		out->against = "at a board's own limit full load does that; it costs something "
			       "where the limit was set lower (nvidia-smi -q -d POWER)";
	} else if (slow > 0.25 && j->r->sums[FIGURE_GPU_UTIL].mean > 0.8)
		judged_say(j, out, IS_POSSIBLE, slow, "the GPUs ran at %.0f of %.0f MHz under load",
			   c->mean, m->median);
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
		judged_say(j, out, IS_CERTAIN, NAN,
			   "the allocator gave its cache back and asked again %.0f times%s",
			   retries->high,
			   isfinite(part) ? arena_printf(j->a, "; %.0f %% of the memory are in use",
							 100 * part)
					  : "");
	else
		judged_say(j, out, part > 0.97 ? IS_POSSIBLE : IS_EXCLUDED, NAN,
			   "%.1f of %.1f GiB are in use at most", j->r->memory_used / 0x1p30,
			   j->r->memory_total / 0x1p30);
}

void rule_recompute(const struct judging *j, struct judged_cause *out)
{
	const char *how = run_trait(j->a, j->r, TRAIT_CHECKPOINTING);
	double part = j->r->memory_used / j->r->memory_total,
	       compute = judging_share(j, PART_COMPUTE);

	if (!*how)
		return;
	judged_cite_trait(j, out, j->r->traits[TRAIT_CHECKPOINTING]);
	judged_cite_sum(j, out, FIGURE_GPU_MEMORY);
	/* One forward pass of three, with the backward pass two of them, is a quarter. */
	if (!strstr(how, "full"))
		judged_say(j, out, IS_EXCLUDED, 0, "activation checkpointing: %s", how);
	else if (!isfinite(part))
		judged_say(
			j, out, IS_POSSIBLE, compute / 4,
			"every forward pass runs twice; whether memory would do without it is not "
			"told");
	else
		judged_say(j, out, part < 0.6 ? IS_LIKELY : IS_EXCLUDED,
			   isfinite(compute) ? compute / 4 : 0.25,
			   "every forward pass runs twice, and %.0f %% of the memory are in use",
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
			judged_say(j, out, IS_UNSEEN, NAN,
				   "no file tells in which format is computed");
		return;
	}
	judged_cite_trait(j, out, j->r->traits[TRAIT_PRECISION]);
	judged_cite_sum(j, out, FIGURE_GEMM_S);
	/* Tensor cores are more than eight times as fast on every GPU that has them. */
	if (all > 0)
		judged_say(j, out, part > 0.3 ? IS_CERTAIN : IS_EXCLUDED,
			   part * 7 / 8 * (isfinite(compute) ? compute : 1),
			   "%.0f %% of the time of matrix products are without tensor cores",
			   100 * part);
	else if (strstr(p, "64"))
		judged_say(j, out, IS_CERTAIN, isfinite(compute) ? compute / 2 : (double)NAN,
			   "training in %s: each product takes twice the time of FP32 at least", p);
	else if (strstr(p, "fp32") || strcmp(p, "float32") == 0 || strcmp(p, "no") == 0)
		judged_say(j, out, judging_gpu(j) ? IS_LIKELY : IS_EXCLUDED,
			   isfinite(compute) ? compute / 2 : (double)NAN,
			   judging_gpu(j) ? "training in FP32: without TF32 no tensor core has work"
					  : "training in FP32, on CPUs");
	else
		judged_say(j, out, IS_EXCLUDED, 0, "training in %s", p);
}

void rule_pageable(const struct judging *j, struct judged_cause *out)
{
	const struct figure_sum *p = &j->r->sums[FIGURE_COPY_PAGEABLE_S];
	double share = judging_share(j, PART_COPY),
	       pageable = p->mean / fmax(j->r->split.step_s, j->r->traced_s);

	if (!p->n && !isfinite(share))
		return;
	judged_cite_sum(j, out, FIGURE_COPY_PAGEABLE_S);
	judged_cite_sum(j, out, FIGURE_COPY_EXPOSED_S);
	if (isfinite(share) && share < DIAGNOSE_WORTH)
		judged_say(j, out, IS_EXCLUDED, share, "copies stop the GPU for %.1f %% of a step",
			   100 * share);
	else if (pageable >= DIAGNOSE_WORTH)
		judged_say(j, out, isfinite(share) ? IS_CERTAIN : IS_LIKELY,
			   isfinite(share) ? fmin(share, pageable) : pageable,
			   "copies from memory that is not pinned take %.0f %% of a step",
			   100 * pageable);
	else
		judged_say(j, out, IS_POSSIBLE, share, "copies stop the GPU for %.0f %% of a step",
			   100 * share);
}
