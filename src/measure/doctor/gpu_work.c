/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU that works, but not as expected: unsteady, used by others, wrong, not shown. */
#include <string.h>

#include "measure/doctor/rule.h"
#include "measure/doctor/tables.h"
#include "knowledge/nccl_vars.h"

static bool no_gpu(const struct evidence *e, struct judged *out)
{
	if (machine_gpu(e->m, 0))
		return false;
	says(e, out, CAUSE_NOT_HERE, "%s", machine_no_gpu(e->a, e->m));
	return true;
}

/* --- two speeds ------------------------------------------------------------------------------
 */
static void flips(const struct evidence *e, struct judged *out)
{
	const struct record_case *c;
	size_t at = 0;

	if (no_gpu(e, out) || test_missing(e, TEST_GPU_STEADY, out))
		return;
	while ((c = next_case(e, "gpu-memory", "read:gpu", &at)) != NULL) {
		const struct record_series *s = &c->series[0];

		if (!c->n || !s->has_summary)
			continue;
		if (s->s.modes.found && !s->s.modes.step)
			says(e, out, CAUSE_CERTAIN,
			     "%s over %zu samples: two states, %.4g and %.4g %s, %zu changes",
			     c->name, c->n, s->s.modes.low, s->s.modes.high, s->unit_text,
			     s->s.modes.switches);
		else
			says(e, out, CAUSE_EXCLUDED, "%s over %zu samples: one state, %.4g %s",
			     c->name, c->n, s->s.median, s->unit_text);
		if (out->how == CAUSE_CERTAIN)
			return;
	}
}

/* Seen on ACUM018 and gone on eight units with ACUM027; 2026-09. */
static void old_firmware(const struct evidence *e, struct judged *out)
{
	static const char good[] = "5.36_0ACUM027";
	const char *bios = fact_text(&e->m->platform.bios_version, NULL);

	if (!is_spark(e))
		says(e, out, CAUSE_NOT_HERE, "known of DGX Spark only");
	else if (says_unseen(e, out, &e->m->platform.bios_version.f, "firmware version"))
		return;
	else if (strncmp(bios, good, strlen("5.36_0ACUM")) != 0)
		says(e, out, CAUSE_UNSEEN, "firmware %s is of another series than the known ones",
		     bios);
	else
		says(e, out, strcmp(bios, good) < 0 ? CAUSE_POSSIBLE : CAUSE_EXCLUDED,
		     "firmware %s; owners saw it on ACUM018 and no more on ACUM027 (2026-09)",
		     bios);
}

static const struct cause speeds[] = {
	{ .id = "flips",
	  .title = "memory runs at two speeds in turns",
	  .rule = flips,
	  .steps = SPARK_OR("firmware 5.36_0ACUM027 or later with kernel 6.17.0-1032 and driver "
			    "580.173.02 or later, which owners found steady",
			    "firmware, then driver; compare with a neighbour over a minute") },
	{ .id = "firmware",
	  .title = "a firmware that was seen to do it",
	  .rule = old_firmware,
	  .steps = ANYWHERE("update the firmware (fwupdmgr)") },
};

/* --- others ----------------------------------------------------------------------------------
 */
static void used(const struct evidence *e, struct judged *out)
{
	if (no_gpu(e, out))
		return;
	says(e, out, CAUSE_EXCLUDED, "nobody computes on a GPU now");
	LIST_FOR_EACH (struct gpu, g, &e->m->gpu.gpus) {
		if (g->processes.n && fact_or(&g->util_gpu_pct, 0) >= 20) {
			const struct gpu_process *p = g->processes.items;

			says(e, out, CAUSE_LIKELY,
			     "GPU %u is %lld %% busy with %zu processes, the first is %u (%s)",
			     g->index, g->util_gpu_pct.v, g->processes.n, p->index,
			     fact_text(&p->command, "unnamed"));
			return;
		}
		if (!seen_ok(&g->util_gpu_pct.f))
			(void)says_unseen(e, out, &g->util_gpu_pct.f, "how busy the GPU is");
	}
}

static void desktop(const struct evidence *e, struct judged *out)
{
	if (no_gpu(e, out))
		return;
	says(e, out, CAUSE_EXCLUDED, "no desktop session draws on a GPU");
	LIST_FOR_EACH (struct gpu, g, &e->m->gpu.gpus)
		LIST_FOR_EACH (struct gpu_process, p, &g->processes)
			if (fact_is(&p->kind, "graphics")) {
				says(e, out, CAUSE_LIKELY,
				     "process %u (%s) draws on GPU %u: its frames interrupt "
				     "kernels",
				     p->index, fact_text(&p->command, "unnamed"), g->index);
				return;
			}
}

static void blocking(const struct evidence *e, struct judged *out)
{
	static const char *const names[] = { "CUDA_LAUNCH_BLOCKING",
					     "PYTORCH_NO_CUDA_MEMORY_CACHING" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct sign_var *v = var_of(e, names[i]);

		if (!v || !var_takes_away(known_var(names[i]), fact_text(&v->value, "")))
			continue;
		says(e, out, CAUSE_LIKELY, "%s: made for finding faults, costs much",
		     var_text(e, v));
		return;
	}
	says(e, out, CAUSE_EXCLUDED,
	     "no variable that makes launches or allocations wait is set in what can be seen");
}

static const struct cause unsteady[] = {
	{ .id = "used",
	  .title = "somebody else computes on it",
	  .rule = used,
	  .steps = ANYWHERE("stop it or measure another GPU") },
	{ .id = "desktop",
	  .title = "a desktop session draws on it",
	  .rule = desktop,
	  .steps = ANYWHERE("systemctl isolate multi-user.target while measuring") },
	{ .id = "persistence",
	  .title = "the driver is unloaded between programs",
	  BY_SETTING("gpu.persistence-mode", LIKELY),
	  .fix = "gpu.persistence-mode",
	  .steps = ANYWHERE("nvidia-smi -pm 1, or the service nvidia-persistenced") },
	{ .id = "debugging",
	  .title = "variables for finding faults are set",
	  .rule = blocking,
	  .steps = ANYWHERE("take them out of the environment of the program") },
};

/* --- wrong results, and what is no fault ------------------------------------------------------
 */
static void wrong(const struct evidence *e, struct judged *out)
{
	const struct record_case *c;
	size_t at = 0;

	if (no_gpu(e, out) || (c = next_case(e, "gpu-load", "signature", &at)) == NULL) {
		if (out->how != CAUSE_NOT_HERE)
			(void)test_missing(e, TEST_GPU_LOAD, out);
		return;
	}
	if (c->error && strncmp(c->error, "the result is wrong", 19) == 0)
		says(e, out, CAUSE_CERTAIN, "%s", c->error);
	else if (c->n)
		says(e, out, CAUSE_EXCLUDED,
		     "every product of %zu samples under full load had the right bits", c->n);
	else
		(void)test_missing(e, TEST_GPU_LOAD, out);
}

static const struct cause garbage[] = {
	{ .id = "hardware",
	  .title = "the GPU computes wrong",
	  .rule = wrong,
	  .steps = ANYWHERE("take the GPU out of work and have it exchanged") },
};

static void no_figure(const struct evidence *e, struct judged *out)
{
	if (no_gpu(e, out))
		return;
	says(e, out, CAUSE_EXCLUDED, "the driver tells the memory of every GPU");
	LIST_FOR_EACH (struct gpu, g, &e->m->gpu.gpus)
		if (fact_or(&g->integrated, 0) && !seen_ok(&g->memory_bytes.f))
			says(e, out, CAUSE_CERTAIN,
			     "GPU %u shares the host's memory, so the driver has no figure of its "
			     "own: %lld MiB of %lld MiB are available to host and GPU together",
			     g->index, fact_or(&e->m->memory.available_kb, 0) / 1024,
			     fact_or(&e->m->memory.total_kb, 0) / 1024);
}

static const struct cause not_shown[] = {
	{ .id = "shared",
	  .title = "the GPU has no memory of its own",
	  .rule = no_figure,
	  .steps = ANYWHERE("no fault: watch MemAvailable of /proc/meminfo, and have monitoring "
			    "leave the absent fields out") },
};

static const struct diagnosis rows[] = {
	{ .id = "gpu.two-speeds",
	  .part = PART_GPU,
	  .symptom = "tokens come fast and slow in turns while clocks stay the same",
	  .words = "decode alternates flips bimodal memory bandwidth jitter unstable",
	  .tests = TEST_BIT(TEST_GPU_STEADY),
	  CAUSES(speeds) },
	{ .id = "gpu.unsteady",
	  .part = PART_GPU,
	  .symptom = "benchmarks give another figure each time",
	  .words = "noise jitter warm-up first token unstable variance desktop shared others",
	  CAUSES(unsteady) },
	{ .id = "gpu.wrong-results",
	  .part = PART_GPU,
	  .symptom = "a model answers nonsense",
	  .words = "garbage text silent data corruption wrong output tp3 head padding",
	  .missing = "an engine that splits heads unevenly without padding cannot be told from "
		     "here: compare a known prompt with one GPU",
	  .tests = TEST_BIT(TEST_GPU_LOAD),
	  CAUSES(garbage) },
	{ .id = "gpu.memory-not-shown",
	  .part = PART_GPU,
	  .symptom = "monitoring shows no GPU memory, or N/A",
	  .words = "nvidia-smi not supported dcgm nvtop unified total used zero",
	  .ask_only = true,
	  .normal = true,
	  CAUSES(not_shown) },
};
const struct diagnosis_table diagnoses_gpu_work = DIAGNOSIS_TABLE(rows);
